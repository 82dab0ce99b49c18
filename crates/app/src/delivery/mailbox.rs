//! The captured mailbox: mails that were kept instead of sent. It is bounded, and drops its oldest mails.

use mail_parser::{MessageParser, MessagePart, MimeHeaders};
use mailwright_core::audit::{Action, Actor};
use mailwright_core::ids::EmailId;
use mailwright_core::project::Project;
use mailwright_store::body;
use mailwright_store::delivery::mailbox as store;
use mailwright_store::insight::counter::{self, Counter};
use mailwright_store::project::audit::{self, Entry};

use crate::App;
use crate::error::{Error, Resource, Result};

pub use mailwright_store::delivery::mailbox::{Captured, Quota};

/// Purpose under which captured mails of the instance itself are encrypted.
const PURPOSE: &str = "mailbox";

/// An attachment of a captured mail.
#[derive(Debug, Clone)]
pub struct Attachment {
    /// Name.
    pub filename: String,
    /// MIME type.
    pub content_type: String,
    /// Bytes.
    pub size: usize,
    /// Name by which the HTML refers to it.
    pub content_id: Option<String>,
}

/// A captured mail, taken apart the way a mail reader does.
#[derive(Debug, Clone)]
pub struct Message {
    /// The fields that lists show.
    pub captured: Captured,
    /// Header fields in order, unfolded but not decoded.
    pub headers: Vec<(String, String)>,
    /// Plain text part.
    pub text: Option<String>,
    /// HTML part.
    pub html: Option<String>,
    /// Attached and inline files.
    pub attachments: Vec<Attachment>,
    /// The bytes as they would have been sent.
    pub raw: Vec<u8>,
}

/// A page of captured mails.
#[derive(Debug)]
pub struct Page {
    /// The mails, newest first.
    pub mails: Vec<Captured>,
    /// Whether more follow.
    pub has_more: bool,
    /// How many there are in all, on the first page; 0 on later ones.
    pub total: i64,
}

impl App {
    /// A page of captured mails.
    pub async fn captured(&self, project: &Project, after: Option<EmailId>, limit: usize) -> Result<Page> {
        let number = project.number;
        let (mut mails, total) = self
            .read(body!(async |rx| {
                let total =
                    if after.is_none() { counter::value(rx, number, Counter::Mailbox, "").await? } else { 0 };
                Ok((store::list(rx, number, after, limit + 1).await?, total))
            }))
            .await?;
        let has_more = mails.len() > limit;
        mails.truncate(limit);
        Ok(Page { mails, has_more, total })
    }

    /// A captured mail with its content, as the mailbox shows it.
    pub async fn captured_message(&self, project: &Project, id: EmailId) -> Result<Message> {
        let (captured, raw) = self.captured_source(project, id).await?;
        Ok(take_apart(captured, raw))
    }

    /// A file of a captured mail, counted from 0, and its bytes.
    pub async fn captured_file(
        &self,
        project: &Project,
        id: EmailId,
        index: usize,
    ) -> Result<(Attachment, Vec<u8>)> {
        let (_, raw) = self.captured_source(project, id).await?;
        let found = self.apart(project, move || {
            let parsed = MessageParser::default().parse(&raw)?;
            let file = parsed.attachments().nth(index)?;
            Some((attachment(file), file.contents().to_vec()))
        });
        found.await?.ok_or_else(|| Error::not_found(Resource::Attachment, index))
    }

    /// A captured mail, and its bytes as they would have been sent; nothing if the mailbox does not have it.
    pub(crate) async fn captured_bytes(
        &self,
        project: &Project,
        id: EmailId,
    ) -> Result<Option<(Captured, Vec<u8>)>> {
        let number = project.number;
        let found = self.read(body!(async |rx| store::get(rx, number, id).await)).await?;
        let Some((captured, raw)) = found else { return Ok(None) };
        // before they were sealed, they were kept as they are sent
        let sealed = project.is_system() && !raw.starts_with(b"DKIM-Signature:");
        let raw = if sealed { self.0.secret.open(PURPOSE, &raw)? } else { raw };
        Ok(Some((captured, raw)))
    }

    /// The same for whoever asks for this mail.
    pub(crate) async fn captured_source(
        &self,
        project: &Project,
        id: EmailId,
    ) -> Result<(Captured, Vec<u8>)> {
        let found = self.captured_bytes(project, id).await?;
        found.ok_or_else(|| Error::not_found(Resource::CapturedEmail, id))
    }

    /// A captured mail of the instance itself as it is stored: its links open accounts, and a person who reads the
    /// database must not find them.
    pub(crate) fn seal_captured(&self, raw: &[u8]) -> Result<Vec<u8>> {
        self.0.secret.seal(PURPOSE, raw)
    }

    /// Removes one captured mail.
    pub async fn delete_captured(&self, project: &Project, id: EmailId) -> Result<()> {
        let number = project.number;
        let gone = self.0.db.write(body!(async |tx| store::delete(tx, number, id).await)).await?;
        if gone { Ok(()) } else { Err(Error::not_found(Resource::CapturedEmail, id)) }
    }

    /// Removes every captured mail of a project.
    pub async fn clear_mailbox(&self, project: &Project, actor: &Actor) -> Result<()> {
        let (number, now, actor) = (project.number, self.0.clock.now(), actor.clone());
        self.0
            .db
            .write(body!(async |tx| {
                let entry = Entry::of_project(Action::MailboxCleared);
                audit::record(tx, number, &actor, &entry, now).await?;
                store::delete_some(tx, number).await
            }))
            .await?;
        while self.0.db.write_bulk(body!(async |tx| store::delete_some(tx, number).await)).await? > 0 {}
        Ok(())
    }
}

pub(crate) fn attachment(part: &MessagePart<'_>) -> Attachment {
    Attachment {
        filename: part.attachment_name().unwrap_or_default().to_owned(),
        content_type: part.content_type().map_or_else(String::new, |t| match t.subtype() {
            Some(subtype) => format!("{}/{subtype}", t.ctype()),
            None => t.ctype().to_owned(),
        }),
        size: part.contents().len(),
        content_id: part.content_id().map(str::to_owned),
    }
}

fn take_apart(captured: Captured, raw: Vec<u8>) -> Message {
    let parsed = MessageParser::default().parse(&raw);
    let parsed = parsed.as_ref();
    let headers = parsed
        .into_iter()
        .flat_map(mail_parser::Message::headers)
        .map(|header| {
            // the parser knows common names in a spelling of its own; here they are shown as they were written
            let name = raw.get(header.offset_field as usize..).unwrap_or_default();
            let name = name.split(|b| *b == b':').next().unwrap_or_default();
            let value = raw.get(header.offset_start as usize..header.offset_end as usize).unwrap_or_default();
            let value = String::from_utf8_lossy(value);
            (
                String::from_utf8_lossy(name).trim().to_owned(),
                value.split_whitespace().collect::<Vec<_>>().join(" "),
            )
        })
        .collect();
    let attachments =
        parsed.into_iter().flat_map(mail_parser::Message::attachments).map(attachment).collect();
    Message {
        headers,
        text: parsed.and_then(|m| m.body_text(0)).map(Into::into),
        html: parsed.and_then(|m| m.body_html(0)).map(Into::into),
        attachments,
        captured,
        raw,
    }
}
