//! Mails as they stand.

use mailwright_core::ids::EmailId;
use mailwright_core::project::Project;
use mailwright_store::Door;
use mailwright_store::email::{self as store, List};

use crate::App;
use crate::error::{Error, Resource, Result};

pub use mailwright_store::email::Email;

/// A page of mails.
#[derive(Debug)]
pub struct Page {
    /// The mails, newest first.
    pub emails: Vec<Email>,
    /// Whether more follow.
    pub has_more: bool,
    /// How many there are in all, on the first page; 0 on later ones.
    pub total: i64,
}

impl App {
    /// A page of mails.
    pub async fn emails(&self, project: &Project, list: List) -> Result<Page> {
        let number = project.number;
        // what is filtered may have to be looked for
        let is_filtered = list.contact.is_some() || list.status.is_some();
        let door = if is_filtered { Door::Slow(number) } else { Door::Fast };
        let (mut emails, total) = self
            .0
            .db
            .read_by(door, move |rx| {
                Box::pin(async move {
                    let total = if list.after.is_none() { store::total(rx, number, list).await? } else { 0 };
                    Ok((store::list(rx, number, List { limit: list.limit + 1, ..list }).await?, total))
                })
            })
            .await?;
        let has_more = emails.len() > list.limit;
        emails.truncate(list.limit);
        Ok(Page { emails, has_more, total })
    }

    /// One mail.
    pub async fn email(&self, project: &Project, id: EmailId) -> Result<Email> {
        let number = project.number;
        let found =
            self.0.db.read(move |rx| Box::pin(async move { store::get(rx, number, id).await })).await?;
        found.ok_or_else(|| Error::not_found(Resource::Email, id))
    }
}
