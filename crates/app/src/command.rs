//! What commands of the program need beyond the use cases of the API.

use mailwright_core::ids::ProjectId;
use mailwright_core::project::Project;
use mailwright_store::project;

use crate::App;
use crate::error::{Error, Resource, Result};

impl App {
    /// The project that a person names on the command line: by its id, or by its name (of several, the oldest).
    pub async fn find_project(&self, name_or_id: &str) -> Result<Project> {
        let wanted = name_or_id.to_owned();
        let found = self
            .0
            .db
            .read(move |rx| {
                Box::pin(async move {
                    let by_id = match wanted.parse::<ProjectId>() {
                        Ok(id) => project::by_id(rx, id).await?,
                        Err(_) => None,
                    };
                    match by_id {
                        Some(found) => Ok(Some(found)),
                        None => project::by_name(rx, &wanted).await,
                    }
                })
            })
            .await?;
        found.ok_or_else(|| Error::not_found(Resource::Project, name_or_id))
    }
}
