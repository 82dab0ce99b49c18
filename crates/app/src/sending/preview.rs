//! How a mail that somebody writes will look.

use std::sync::Arc;

use mailwright_core::address::EmailAddress;
use mailwright_core::contact::Contact;
use mailwright_core::custom_data::{Data, DataPatch};
use mailwright_core::ids::ContactId;
use mailwright_core::project::Project;

use crate::App;
use crate::error::{Error, Result};
use crate::sending::check::{Report, Written, report};
use crate::sending::content::{Prepared, compose};
use crate::sending::footer::Footers;
use crate::sending::render::{Reader, draft};
use crate::sending::source::invalid_mjml;
use crate::sending::test_mail::stranger;

pub use crate::sending::render::Draft;

/// The address of who reads a mail if no contact is named.
const READER: &str = "reader@example.com";

/// How a mail will look, and what there is to say about it.
#[derive(Debug)]
pub struct Preview {
    /// The mail as its reader sees it.
    pub draft: Draft,
    /// What there is to say about it.
    pub report: Report,
}

impl App {
    /// Renders a mail that somebody writes as a contact would see it, or a stranger, with values that its request would
    /// bring. Nothing is stored.
    pub async fn preview(
        &self,
        project: &Project,
        written: Written,
        contact: Option<ContactId>,
        data: Data,
    ) -> Result<Preview> {
        let reader = match contact {
            Some(id) => self.contact(project, id).await?,
            None => nobody(self)?,
        };
        let known = self.known_to_mails(project, None).await?;
        let footers = Footers::new(project, false);
        let base_url = self.settings().base_url.clone();
        let rendered = self.apart(project, move || {
            let html = written.content.html().map_err(|fault| invalid_mjml(&fault))?;
            let (content, _) = compose(written.subject.clone(), html, None, &[], &[], Some(false));
            let prepared = Arc::new(Prepared::new(&content, Vec::new()));
            let variables = prepared.variables(&reader, &DataPatch::new(data).request);
            let seen_by = Reader {
                contact: reader.id,
                address: reader.email.as_str(),
                variables: &variables,
                kind: written.kind,
            };
            // only mails of requests with very many recipients have a room that can be too small
            let draft = draft(&base_url, &footers, seen_by, &prepared)
                .map_err(|outgrown| Error::Internal(format!("a preview was {outgrown:?}")))?;
            Ok(Preview { draft, report: report(&written, &known) })
        });
        rendered.await?
    }
}

/// Who reads a mail if no contact is named.
pub(crate) fn nobody(app: &App) -> Result<Contact> {
    let address = EmailAddress::parse(READER).ok_or_else(|| Error::Internal("no reader".into()))?;
    Ok(stranger(&address, app.clock().now()))
}
