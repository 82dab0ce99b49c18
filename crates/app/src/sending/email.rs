//! Mails and their state, as their project sees them.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use mailwright_core::ids::{EmailId, ProjectNumber};
use mailwright_core::project::Project;
use mailwright_store::Door;
use mailwright_store::body;
use mailwright_store::sending::email::{self as store, Illegible, List};

use crate::App;
use crate::error::{Error, Resource, Result};

pub use mailwright_store::sending::email::Email;

/// A page of mails.
#[derive(Debug)]
pub struct Page {
    /// The mails, newest first, as far as they can be read.
    pub emails: Vec<Email>,
    /// The last row of the page, where more follow.
    pub next: Option<EmailId>,
    /// How many there are in all, on the first page; 0 on later ones.
    pub total: i64,
}

/// Most unreadable mails that a process remembers having logged.
const MOST_TOLD: usize = 1_000;

/// The mails that cannot be read and that were logged already.
#[derive(Debug, Default)]
pub(crate) struct Told(Mutex<HashSet<EmailId>>);

impl Told {
    /// Whether the log does not tell of a mail yet; from now on it does.
    fn is_news(&self, id: EmailId) -> bool {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if told.len() >= MOST_TOLD {
            told.clear();
        }
        told.insert(id)
    }
}

impl App {
    /// The mails of a list that can be read. The others are left out, and the log tells of each once: one row that is
    /// damaged, or that a newer program wrote, must not keep all the others from being seen.
    pub(crate) fn legible(
        &self,
        project: ProjectNumber,
        rows: Vec<std::result::Result<Email, Illegible>>,
    ) -> Vec<Email> {
        let mut legible = Vec::with_capacity(rows.len());
        for row in rows {
            match row {
                Ok(email) => legible.push(email),
                Err(row) => {
                    if self.0.sending.illegible.is_news(row.id) {
                        tracing::error!(error = %row.error, table = "emails", email = %row.id, project = project.0,
                            "a mail cannot be read and is left out of lists");
                    }
                }
            }
        }
        legible
    }

    /// A page of mails.
    pub async fn emails(&self, project: &Project, list: List) -> Result<Page> {
        let number = project.number;
        // what is filtered may have to be looked for
        let is_filtered = list.contact.is_some() || list.status.is_some();
        let door = if is_filtered { Door::Slow(number) } else { Door::Fast };
        let (mut emails, total) = self
            .read_by(
                door,
                body!(async |rx| {
                    let total = if list.after.is_none() { store::total(rx, number, list).await? } else { 0 };
                    Ok((store::list(rx, number, List { limit: list.limit + 1, ..list }).await?, total))
                }),
            )
            .await?;
        let has_more = emails.len() > list.limit;
        emails.truncate(list.limit);
        let id = |row: &std::result::Result<Email, Illegible>| {
            row.as_ref().map_or_else(|row| row.id, |email| email.id)
        };
        let next = emails.last().filter(|_| has_more).map(id);
        Ok(Page { emails: self.legible(number, emails), next, total })
    }

    /// One mail.
    pub async fn email(&self, project: &Project, id: EmailId) -> Result<Email> {
        let number = project.number;
        let found = self.read(body!(async |rx| store::get(rx, number, id).await)).await?;
        found.ok_or_else(|| Error::not_found(Resource::Email, id))
    }
}
