//! The addresses of a project that get no mail.

use mailwright_core::address::EmailAddress;
use mailwright_core::audit::{Action, Actor};
use mailwright_core::ids::ProjectNumber;
use mailwright_core::project::Project;
use mailwright_core::suppression::{MAX_ADDRESSES, SuppressionReason};
use mailwright_core::time::Timestamp;
use mailwright_store::audience::suppression::address::{self as store, Entry, List, New, Same};
use mailwright_store::project::audit::{self, Entry as AuditEntry};
use mailwright_store::{Door, body};
use serde_json::json;

use crate::App;
use crate::error::{Error, Resource, Result};

/// What is to be added.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// The addresses.
    pub emails: Vec<EmailAddress>,
    /// Why; `manual` when absent.
    pub reason: Option<SuppressionReason>,
    /// When it ends by itself.
    pub expires_at: Option<Timestamp>,
}

/// The result of adding addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Added {
    /// Different addresses of the request.
    pub total: u64,
    /// Those that are new on the list, or whose entry was replaced.
    pub added: u64,
}

/// A page of the list.
#[derive(Debug)]
pub struct AddressPage {
    /// The entries, in the order of their addresses.
    pub entries: Vec<Entry>,
    /// The last address of the page, where more follow.
    pub next: Option<EmailAddress>,
    /// How many there are in all, counted up to 10,000, on the first page of the whole list; 0 otherwise.
    pub total: i64,
}

/// How far the list is counted.
const COUNTED: i64 = 10_000;

impl App {
    /// A page of the addresses of a project that get no mail.
    pub async fn suppressions(&self, project: &Project, list: List) -> Result<AddressPage> {
        let (number, now, limit) = (project.number, self.0.clock.now(), list.limit);
        let is_filtered = list.search.is_some() || list.reason.is_some();
        let counts = !is_filtered && list.after.is_none();
        // what is filtered may have to be looked for
        let door = if is_filtered || counts { Door::Slow(number) } else { Door::Fast };
        let list = List { limit: limit + 1, ..list };
        let (mut entries, total) = self
            .read_by(
                door,
                body!(async |rx| {
                    let total = if counts { store::count(rx, number, COUNTED).await? } else { 0 };
                    Ok((store::list(rx, number, &list, now).await?, total))
                }),
            )
            .await?;
        let has_more = entries.len() > limit;
        entries.truncate(limit);
        let next = entries.last().filter(|_| has_more).map(|entry| entry.email.clone());
        Ok(AddressPage { entries, next, total })
    }

    /// Puts one address on the list. Returns the entry that holds now, and whether it was added by this: one that holds
    /// back more, or ends later, stays as it is.
    pub async fn suppress(
        &self,
        project: &Project,
        actor: &Actor,
        email: EmailAddress,
        reason: Option<SuppressionReason>,
        expires_at: Option<Timestamp>,
    ) -> Result<(Entry, bool)> {
        let (number, now) = (project.number, self.0.clock.now());
        self.check_room(number, 1).await?;
        let actor = actor.clone();
        let new = New { email, reason: reason.unwrap_or(SuppressionReason::Manual), mail: None, expires_at };
        self.write(body!(async |tx| {
            let email = new.email.clone();
            let entry = AuditEntry::new(Action::SuppressionAdded, email.as_str())
                .with(json!({ "reason": new.reason, "expiresAt": new.expires_at }));
            let added = store::add(tx, number, &[new], Same::Replaced, now).await? > 0;
            if added {
                audit::record(tx, number, &actor, &entry, now).await?;
            }
            let found = store::get(tx, number, &email, now).await?;
            let found = found.ok_or_else(|| Error::Internal("an address was not put on the list".into()))?;
            Ok((found, added))
        }))
        .await
    }

    /// Puts up to 1,000 addresses on the list.
    pub async fn suppress_many(&self, project: &Project, actor: &Actor, wanted: Wanted) -> Result<Added> {
        let (number, now) = (project.number, self.0.clock.now());
        let reason = wanted.reason.unwrap_or(SuppressionReason::Manual);
        let mut emails = wanted.emails;
        // in one order everywhere, so that two requests cannot wait for each other
        emails.sort_unstable();
        emails.dedup();
        self.check_room(number, emails.len() as i64).await?;
        let actor = actor.clone();
        let new: Vec<_> = emails
            .into_iter()
            .map(|email| New { email, reason, mail: None, expires_at: wanted.expires_at })
            .collect();
        self.write(body!(async |tx| {
            let added = store::add(tx, number, &new, Same::Replaced, now).await?;
            let entry = AuditEntry::of_project(Action::SuppressionsAdded).with(json!({
                "addresses": new.len(), "added": added, "reason": reason, "expiresAt": wanted.expires_at
            }));
            audit::record(tx, number, &actor, &entry, now).await?;
            Ok(Added { total: new.len() as u64, added })
        }))
        .await
    }

    /// Takes an address off the list.
    pub async fn unsuppress(&self, project: &Project, actor: &Actor, email: EmailAddress) -> Result<()> {
        let (number, now) = (project.number, self.0.clock.now());
        let actor = actor.clone();
        self.write(body!(async |tx| {
            let reason = store::remove(tx, number, &email).await?;
            let reason = reason.ok_or_else(|| Error::not_found(Resource::Suppression, &email))?;
            let entry =
                AuditEntry::new(Action::SuppressionRemoved, email.as_str()).with(json!({ "reason": reason }));
            Ok(audit::record(tx, number, &actor, &entry, now).await?)
        }))
        .await
    }

    /// How many more addresses fit on the list of a project. Counted before anything is written, so requests at the same
    /// time may go over it by what they add.
    pub(super) async fn room(&self, number: ProjectNumber) -> Result<i64> {
        let counted =
            self.read_slow(number, body!(async |rx| store::count(rx, number, MAX_ADDRESSES).await)).await?;
        Ok(MAX_ADDRESSES - counted)
    }

    async fn check_room(&self, number: ProjectNumber, wanted: i64) -> Result<()> {
        if self.room(number).await? >= wanted {
            return Ok(());
        }
        Err(Error::Conflict(format!(
            "A project can have {MAX_ADDRESSES} suppressed addresses. Remove some first, or use a rule."
        )))
    }
}
