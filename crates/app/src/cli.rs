//! What the commands of the program need beyond the use cases of the API.

use mailwright_core::ids::ProjectId;
use mailwright_core::project::Project;
use mailwright_store::body;
use mailwright_store::project::{self, Named};

use crate::App;
use crate::error::{Error, Resource, Result};

/// Most projects of a name that are listed to choose from.
const LISTED: i64 = 20;

/// The result of looking for a project by a name or an id.
enum Meant {
    Id(Option<Project>),
    Name(Vec<Named>),
}

impl App {
    /// The project that a person names on the command line, by its id or by its name. Everybody can give a project any
    /// name, so a name is accepted only for a project that `bootstrap` created with it, and only if no other project
    /// has the name.
    pub async fn find_project(&self, name_or_id: &str) -> Result<Project> {
        let wanted = name_or_id.to_owned();
        let meant = self
            .read(body!(async |rx| {
                match wanted.parse::<ProjectId>() {
                    Ok(id) => project::by_id(rx, id).await.map(Meant::Id),
                    Err(_) => project::named(rx, &wanted, LISTED).await.map(Meant::Name),
                }
            }))
            .await?;
        let mut named = match meant {
            Meant::Id(found) => return found.ok_or_else(|| Error::not_found(Resource::Project, name_or_id)),
            Meant::Name(named) => named,
        };
        match &named[..] {
            [] => Err(Error::not_found(Resource::Project, name_or_id)),
            [one] if one.by_operator => Ok(named.remove(0).project),
            several => Err(Error::Conflict(to_choose_from(name_or_id, several))),
        }
    }
}

/// Why a name is not enough, and the ids to choose from.
fn to_choose_from(name: &str, found: &[Named]) -> String {
    let why = if found.len() == 1 {
        format!(
            "The project {name:?} was not made with `mailwright bootstrap`, and anybody can give a project that name."
        )
    } else {
        format!("There are several projects with the name {name:?}.")
    };
    let mut text = format!("{why} Give the id of the one that is meant:");
    for Named { project, by_operator, owner, created_at } in found {
        let maker = if *by_operator { "made with bootstrap" } else { "made by an account" };
        let owner = owner.as_ref().map_or_else(|| "nobody".to_owned(), ToString::to_string);
        text.push_str(&format!("\n  {}  created {created_at}, {maker}, owned by {owner}", project.id));
    }
    text
}
