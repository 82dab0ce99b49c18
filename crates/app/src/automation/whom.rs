//! The contact that a question about a workflow is about.

use mailwright_core::address::EmailAddress;
use mailwright_core::ids::ContactId;
use mailwright_core::project::Project;
use mailwright_store::audience::contact::{self, Contacts};
use mailwright_store::body;

use crate::App;
use crate::error::{Error, Resource, Result};

/// A contact that somebody names.
#[derive(Debug, Clone)]
pub enum Whom {
    /// By its id.
    Id(ContactId),
    /// By its address.
    Email(EmailAddress),
}

impl Whom {
    /// Reads an id or an address.
    pub fn parse(text: &str) -> Result<Self> {
        let id = text.parse().map(Self::Id).ok();
        let whom = id.or_else(|| EmailAddress::parse(text).map(Self::Email));
        whom.ok_or_else(|| Error::not_found(Resource::Contact, text))
    }
}

impl App {
    /// The contact that is meant.
    pub(super) async fn find_contact(&self, project: &Project, whom: Whom) -> Result<ContactId> {
        let number = project.number;
        match whom {
            Whom::Id(id) => {
                let found = self.read(body!(async |rx| contact::get(rx, number, id).await)).await?;
                found.map(|contact| contact.id).ok_or_else(|| Error::not_found(Resource::Contact, id))
            }
            Whom::Email(email) => {
                let wanted = email.clone();
                let found = self
                    .read(body!(async |rx| Contacts::load(rx, [(number, &wanted)].into_iter()).await))
                    .await?;
                let found = found.get(number, &email).map(|contact| contact.id);
                found.ok_or_else(|| Error::not_found(Resource::Contact, email))
            }
        }
    }
}
