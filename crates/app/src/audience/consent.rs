//! The evidence of contacts' consent, as their project sees it.

use mailwright_core::audit::Actor;
use mailwright_core::consent::{CONFIRMATION_VALID, ConsentWay, Evidence};
use mailwright_core::ids::{ConsentId, ContactId};
use mailwright_core::project::Project;
use mailwright_core::time::Timestamp;
use mailwright_store::audience::confirmation::{self, Open};
use mailwright_store::audience::consent::{self as store, Consent};
use mailwright_store::audience::contact;
use mailwright_store::body;

use crate::App;
use crate::error::{Error, Resource, Result};

/// A page of the evidence of a contact.
#[derive(Debug)]
pub struct ConsentPage {
    /// The entries, newest first.
    pub entries: Vec<Consent>,
    /// The last of the page, where more follow.
    pub next: Option<ConsentId>,
    /// How many there are in all, on the first page; 0 on later ones.
    pub total: i64,
    /// What the contact was asked to confirm and has not.
    pub open: Vec<Open>,
}

/// Until when a request can be confirmed.
pub fn expires_at(open: &Open) -> Timestamp {
    open.requested_at.plus(CONFIRMATION_VALID)
}

/// What is known of a change that somebody makes by a request.
pub(crate) fn by(actor: &Actor) -> Evidence {
    Evidence::by(match actor {
        Actor::User { .. } => ConsentWay::Dashboard,
        Actor::Key { .. } | Actor::Operator | Actor::Service => ConsentWay::Api,
    })
}

impl App {
    /// The evidence of a contact's consent, newest first, and what it was asked to confirm.
    pub async fn consent(
        &self,
        project: &Project,
        id: ContactId,
        after: Option<ConsentId>,
        limit: usize,
    ) -> Result<ConsentPage> {
        let number = project.number;
        let found = self
            .read(body!(async |rx| {
                if contact::get(rx, number, id).await?.is_none() {
                    return Ok(None);
                }
                let total = if after.is_none() { store::count(rx, number, id).await? } else { 0 };
                let entries = store::list(rx, number, id, after, limit + 1).await?;
                let open = confirmation::of_contact(rx, number, id).await?;
                Ok(Some((entries, total, open)))
            }))
            .await?;
        let (mut entries, total, open) = found.ok_or_else(|| Error::not_found(Resource::Contact, id))?;
        let has_more = entries.len() > limit;
        entries.truncate(limit);
        let next = entries.last().filter(|_| has_more).map(|entry| entry.id);
        Ok(ConsentPage { entries, next, total, open })
    }
}
