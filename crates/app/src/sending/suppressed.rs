//! The mails that were held back, as their project sees them.

use mailwright_core::email::EmailStatus;
use mailwright_core::ids::{EmailId, ProjectNumber};
use mailwright_core::project::Project;
use mailwright_store::body;
use mailwright_store::sending::email::{self as store, Email, Source};

use crate::App;
use crate::error::{Error, Resource, Result};
use crate::sending::render::preview;

/// A mail that was held back.
#[derive(Debug)]
pub struct Suppressed {
    /// The mail.
    pub email: Email,
    /// Its subject as the recipient would have seen it; `None` once its content is gone.
    pub subject: Option<String>,
    /// Its HTML in the same way, where it was asked for.
    pub body: Option<String>,
}

/// A page of these mails.
#[derive(Debug)]
pub struct SuppressedPage {
    /// The mails, newest first.
    pub emails: Vec<Suppressed>,
    /// The last one of the page, where more follow.
    pub next: Option<EmailId>,
}

impl App {
    /// A page of the mails of a project that were held back.
    pub async fn suppressed_emails(
        &self,
        project: &Project,
        after: Option<EmailId>,
        limit: usize,
    ) -> Result<SuppressedPage> {
        let number = project.number;
        let (mut rows, sources) = self
            .read(body!(async |rx| {
                let rows = store::suppressed(rx, number, after, limit + 1).await?;
                let ids: Vec<_> = rows.iter().flatten().map(|email| email.id).collect();
                Ok((rows, store::sources(rx, number, &ids).await?))
            }))
            .await?;
        let has_more = rows.len() > limit;
        rows.truncate(limit);
        let id = |row: &std::result::Result<Email, store::Illegible>| {
            row.as_ref().map_or_else(|row| row.id, |email| email.id)
        };
        let next = rows.last().filter(|_| has_more).map(id);
        let mut emails = Vec::with_capacity(rows.len());
        for email in self.legible(number, rows) {
            let source = sources.iter().find(|source| source.id == email.id);
            emails.push(self.seen(number, email, source, false).await?);
        }
        Ok(SuppressedPage { emails, next })
    }

    /// One such mail, with its HTML.
    pub async fn suppressed_email(&self, project: &Project, id: EmailId) -> Result<Suppressed> {
        let (email, _) = self.email(project, id).await?;
        if email.status != EmailStatus::Suppressed {
            return Err(Error::not_found(Resource::Email, id));
        }
        let number = project.number;
        let sources = self.read(body!(async |rx| store::sources(rx, number, &[id]).await)).await?;
        self.seen(number, email, sources.first(), true).await
    }

    async fn seen(
        &self,
        project: ProjectNumber,
        email: Email,
        source: Option<&Source>,
        with_body: bool,
    ) -> Result<Suppressed> {
        let gone = |email| Ok(Suppressed { email, subject: None, body: None });
        let recipient = email.contact.zip(email.recipient.as_deref());
        let (Some(source), Some((contact, recipient))) = (source, recipient) else {
            return gone(email);
        };
        let content = self.0.sending.contents.get(project, &source.content_hash).await?;
        let Some(content) = content else { return gone(email) };
        let (subject, body) = preview(contact, recipient, &source.variables, &content, with_body);
        Ok(Suppressed { email, subject, body })
    }
}
