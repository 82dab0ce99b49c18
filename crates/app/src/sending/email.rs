//! Mails and their state, as their project sees them.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use mailwright_core::email::EmailStatus;
use mailwright_core::ids::{EmailId, ProjectNumber};
use mailwright_core::project::Project;
use mailwright_store::Door;
use mailwright_store::body;
use mailwright_store::feedback::inbound;
use mailwright_store::sending::email::{self as store, Illegible, List};

use crate::App;
use crate::error::{Error, Resource, Result};

pub use mailwright_store::feedback::inbound::{Contents, Inbound};
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
                    let list = List { limit: list.limit + 1, ..list };
                    let sent = if list.status == Some(EmailStatus::Received) {
                        Vec::new()
                    } else {
                        store::list(rx, number, list).await?
                    };
                    let received = if list.status.is_none_or(|status| status == EmailStatus::Received) {
                        inbound::list(rx, number, list.contact, list.after, list.limit).await?
                    } else {
                        Vec::new()
                    };
                    Ok((merged(sent, received), total))
                }),
            )
            .await?;
        let has_more = emails.len() > list.limit;
        emails.truncate(list.limit);
        let next = emails.last().filter(|_| has_more).map(id_of);
        Ok(Page { emails: self.legible(number, emails), next, total })
    }

    /// One mail, and what more is known of one that came in.
    pub async fn email(
        &self,
        project: &Project,
        id: EmailId,
    ) -> Result<(Email, Option<(Inbound, Contents)>)> {
        let number = project.number;
        let found = self.read(body!(async |rx| {
            if let Some(email) = store::get(rx, number, id).await? {
                return Ok(Some((email, None)));
            }
            let found = inbound::get(rx, number, id).await?;
            Ok(found.map(|(email, mail, contents)| (email, Some((mail, contents)))))
        }));
        found.await?.ok_or_else(|| Error::not_found(Resource::Email, id))
    }
}

/// A row of a list, which may be damaged.
type Row = std::result::Result<Email, Illegible>;

fn id_of(row: &Row) -> EmailId {
    row.as_ref().map_or_else(|row| row.id, |email| email.id)
}

/// The mails that were sent with those that came in, newest first.
fn merged(mut sent: Vec<Row>, received: Vec<Email>) -> Vec<Row> {
    if !received.is_empty() {
        sent.extend(received.into_iter().map(Ok));
        sent.sort_by_key(|row| std::cmp::Reverse(id_of(row)));
    }
    sent
}
