//! The mails that came in, as their project sees them.

use mailwright_core::ids::EmailId;
use mailwright_core::project::Project;
use mailwright_mail::received::{self, Attachment};
use mailwright_store::body;
use mailwright_store::feedback::inbound;
use serde_json::Value;

use crate::App;
use crate::error::{Error, Resource, Result};

impl App {
    /// What is attached to a mail that came in: a JSON array.
    pub async fn attachments(&self, project: &Project, id: EmailId) -> Result<Value> {
        let number = project.number;
        let found = self.read(body!(async |rx| inbound::get(rx, number, id).await)).await?;
        found.map(|(_, mail, _)| mail.attachments).ok_or_else(|| Error::not_found(Resource::Email, id))
    }

    /// A file that is attached to a mail that came in, counted from 0, and its bytes.
    pub async fn attachment(
        &self,
        project: &Project,
        id: EmailId,
        index: usize,
    ) -> Result<(Attachment, Vec<u8>)> {
        let raw = self.received_source(project, id).await?;
        received::attachment(&raw, index).ok_or_else(|| Error::not_found(Resource::Attachment, index))
    }

    /// A mail as it came in. It is there for as long as the operator lets it be kept.
    pub async fn received_source(&self, project: &Project, id: EmailId) -> Result<Vec<u8>> {
        let number = project.number;
        let found = self.read(body!(async |rx| inbound::raw(rx, number, id).await)).await?;
        found.ok_or_else(|| Error::not_found(Resource::Email, id))
    }
}
