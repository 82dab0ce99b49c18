//! Renders a claimed mail to the bytes that go on the wire.
//!
//! The message is a pure function of the mail's row, its content, the base URL, the project's name and language, and
//! the tag in links. Rendering it again for another attempt gives the same message with the same `Message-ID`, unless
//! one of these has changed meanwhile.

use std::sync::Arc;

use mailwright_core::address::EmailAddress;
use mailwright_core::custom_data::Data;
use mailwright_core::ids::ContactId;
use mailwright_core::template::TemplateType;
use mailwright_core::template_language::{Escape, MAX_OUTPUT, Mark, Scope, Template, escape_html};
use mailwright_mail::message::{Mailbox, Message};
use mailwright_mail::text::html_to_text;
use mailwright_store::sending::email::Claimed;

use crate::feedback::tracked::{Addresses, track};
use crate::sending::content::{Prepared, Spot};
use crate::sending::footer::Footers;
use crate::sending::headers;
use crate::settings::BaseUrl;

/// A mail ready for the wire.
pub(crate) struct Rendered {
    /// The subject as the recipient sees it.
    pub(crate) subject: String,
    /// The sender as the recipient sees it.
    pub(crate) sender: String,
    /// The message, unsigned.
    pub(crate) raw: Vec<u8>,
    /// The targets of tracked links that the mail's values made, as JSON text.
    pub(crate) own_links: Option<Arc<str>>,
}

/// Addresses of a contact's own pages.
struct Links {
    unsubscribe: String,
    subscribe: String,
    manage: String,
}

impl Links {
    fn new(base_url: &BaseUrl, mail: &Claimed, tag: &str) -> Self {
        let to = |page: &str| base_url.link(&format!("/{page}/{}?e={}&t={tag}", mail.contact, mail.id));
        Self::by(to)
    }

    fn by(to: impl Fn(&str) -> String) -> Self {
        Self { unsubscribe: to("unsubscribe"), subscribe: to("subscribe"), manage: to("manage") }
    }

    /// Addresses that lead to places in the mail itself.
    fn nowhere() -> Self {
        Self::by(|page| format!("#{page}"))
    }
}

/// Who reads a mail, as far as its texts depend on that.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reader<'a> {
    /// The contact.
    pub(crate) contact: ContactId,
    /// Its address.
    pub(crate) address: &'a str,
    /// The values that the mail has for it.
    pub(crate) variables: &'a Data,
    /// What kind of mail it is.
    pub(crate) kind: TemplateType,
}

/// What a mail says to its reader.
struct Said {
    subject: String,
    html: String,
    /// Where the marks of the content are in the HTML.
    marks: Vec<Mark>,
    /// The plain text, unless it is made from the HTML.
    text: Option<String>,
}

/// A mail to which values and loops add more than it has room for.
#[derive(Debug)]
pub(crate) struct Outgrown;

/// Renders a mail for its recipient. `tag` is what links to the recipient's pages carry, `tracked` is what the addresses of
/// tracked links begin with, if the mail is tracked. `reply_to` is where answers go, if not to the mail's own reply address.
pub(crate) fn render(
    base_url: &BaseUrl,
    footers: &Footers,
    mail: &Claimed,
    content: &Prepared,
    tag: &str,
    tracked: Option<String>,
    reply_to: Option<&EmailAddress>,
) -> Result<Rendered, Outgrown> {
    let links = Links::new(base_url, mail, tag);
    let reader = Reader {
        contact: mail.contact,
        address: mail.recipient.as_str(),
        variables: &mail.variables,
        kind: mail.kind,
    };
    let Said { subject, mut html, marks, mut text } = say(footers, reader, content, &links)?;
    let mut own_links = None;
    if let Some(tracked) = tracked {
        // the text keeps the addresses that the sender wrote
        text.get_or_insert_with(|| html_to_text(&html));
        let pages = ["unsubscribe", "subscribe", "manage"].map(|page| base_url.link(&format!("/{page}/")));
        let own_pages = [pages[0].as_str(), pages[1].as_str(), pages[2].as_str()];
        let tracked = track(&html, &marks, content, &Addresses { tracked, own_pages });
        (html, own_links) = (tracked.html, tracked.own);
    }
    let from_name = mail.from_name.as_deref().map(str::trim).filter(|name| !name.is_empty());
    let from_name = from_name.unwrap_or(footers.project.name.trim()).to_owned();
    let sender = format!("{from_name} <{}>", mail.from);
    let message = Message {
        from: Mailbox { name: Some(from_name), address: mail.from.to_string() },
        to: Mailbox { name: mail.recipient_name.clone(), address: mail.recipient.to_string() },
        reply_to: reply_to
            .or(mail.reply_to.as_ref())
            .map(|to| Mailbox { name: None, address: to.to_string() }),
        subject: &subject,
        html: &html,
        text: text.as_deref(),
        headers: &headers::of(mail, content, (&links.unsubscribe, base_url.is_https()), footers.project.id),
        attachments: &content.attachments,
        report: headers::report_type(&footers.project, content),
        message_id: &mail.message_id,
        date: mail.first_attempt_at.unwrap_or(mail.created_at),
    };
    let raw = message.to_mime();
    Ok(Rendered { subject, sender, raw, own_links })
}

/// Writes what a mail says, and the footer if it is marketing mail.
fn say(footers: &Footers, reader: Reader<'_>, content: &Prepared, links: &Links) -> Result<Said, Outgrown> {
    let contact = reader.contact.to_string();
    let pages = [&links.unsubscribe, &links.subscribe, &links.manage].map(String::as_str);
    let scope = scope(&contact, reader.address, pages, reader.variables, content);
    let mut writer = Writer { scope: &scope, room: content.room };
    let subject = single_line(&writer.render(&content.subject, Escape::Text)?);
    let (mut html, mut marks) = writer.render_marked(&content.body)?;
    let mut text = match &content.text {
        Some(text) => Some(writer.render(text, Escape::Text)?),
        None => None,
    };
    if reader.kind == TemplateType::Marketing {
        let locale = reader.variables.get("locale").or_else(|| content.shared.get("locale"));
        let locale = locale.and_then(|locale| locale.as_str());
        let (unsubscribe, manage) = (escape_html(&links.unsubscribe), escape_html(&links.manage));
        let footer = footers.footer(locale);
        let footing = footer.insert(&mut html, &unsubscribe, &manage);
        for mark in marks.iter_mut().filter(|mark| mark.range.start >= footing.start) {
            mark.range = mark.range.start + footing.len()..mark.range.end + footing.len();
        }
        let has_own_text = text.is_some();
        let text = text.get_or_insert_with(|| html_to_text(&html));
        if has_own_text || !text.contains(&links.unsubscribe) {
            let mut below = String::new();
            footer.insert(&mut below, &unsubscribe, &manage);
            text.truncate(text.trim_end().len());
            text.push_str("\n\n");
            text.push_str(&html_to_text(&below));
        }
    }
    Ok(Said { subject, html, marks, text })
}

/// A mail that is not sent, as its reader would see it: subject, HTML and plain text, without tracking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// Subject.
    pub subject: String,
    /// HTML, whose links to the reader's own pages lead to places in the mail itself.
    pub html: String,
    /// Plain text.
    pub text: String,
}

/// Renders the HTML of a mail that is not sent, in which tracked links lead to their own numbers: `#link-0`.
pub(crate) fn numbered(
    footers: &Footers,
    reader: Reader<'_>,
    content: &Prepared,
) -> Result<String, Outgrown> {
    let Said { html, marks, .. } = say(footers, reader, content, &Links::nowhere())?;
    let mut numbered = String::with_capacity(html.len());
    let mut from = 0;
    for mark in marks {
        let Some(Spot::Link(number)) = content.links.spots.get(mark.number as usize) else { continue };
        if mark.range.start >= from {
            numbered.push_str(&html[from..mark.range.start]);
            numbered.push_str(&format!("#link-{number}"));
            from = mark.range.end;
        }
    }
    numbered.push_str(&html[from..]);
    Ok(numbered)
}

/// Renders a mail that somebody edits as a reader would see it. In its plain text the links to the reader's own pages
/// look as they will, and lead to nobody's.
pub(crate) fn draft(
    base_url: &BaseUrl,
    footers: &Footers,
    reader: Reader<'_>,
    content: &Prepared,
) -> Result<Draft, Outgrown> {
    let Said { subject, html, .. } = say(footers, reader, content, &Links::nowhere())?;
    let shown = Links::by(|page| base_url.link(&format!("/{page}/preview")));
    let said = say(footers, reader, content, &shown)?;
    Ok(Draft { subject, html, text: said.text.unwrap_or_else(|| html_to_text(&said.html)) })
}

/// The values that a mail can name: the recipient's, the addresses of the recipient's pages (to unsubscribe, to subscribe,
/// and to choose), the mail's, and those that all mails of the content share.
fn scope<'s>(
    contact: &'s str,
    recipient: &'s str,
    [unsubscribe, subscribe, manage]: [&'s str; 3],
    variables: &'s Data,
    content: &'s Prepared,
) -> Scope<'s> {
    Scope::new()
        .fixed("id", contact)
        .fixed("svc_id", contact)
        .fixed("email", recipient)
        .fixed("svc_email", recipient)
        .fixed("unsubscribeUrl", unsubscribe)
        .fixed("subscribeUrl", subscribe)
        .fixed("manageUrl", manage)
        .layer(variables)
        .layer(&content.shared)
}

/// Subject and, if it is wanted, HTML of a mail that is not sent, as its recipient would have seen them: without links to
/// the recipient's pages, without footer and tracking. `None` where a part would be too large.
pub(crate) fn preview(
    contact: ContactId,
    recipient: &str,
    variables: &Data,
    content: &Prepared,
    with_body: bool,
) -> (Option<String>, Option<String>) {
    let contact = contact.to_string();
    let scope = scope(&contact, recipient, ["#"; 3], variables, content);
    let mut writer = Writer { scope: &scope, room: content.room };
    let subject = writer.render(&content.subject, Escape::Text).ok().map(|subject| single_line(&subject));
    let body = with_body.then(|| writer.render(&content.body, Escape::Html).ok()).flatten();
    (subject, body)
}

/// Writes the parts of a mail, which share its room.
struct Writer<'s> {
    scope: &'s Scope<'s>,
    /// What is left of it; `None` where every part has as much as it may.
    room: Option<usize>,
}

impl Writer<'_> {
    /// Renders an HTML body with its marks.
    fn render_marked(&mut self, part: &Template) -> Result<(String, Vec<Mark>), Outgrown> {
        let room = self.room.unwrap_or(MAX_OUTPUT);
        let (written, marks) = part.render_marked(self.scope, Escape::Html, room).ok_or(Outgrown)?;
        self.spend(part, &written);
        Ok((written, marks))
    }

    fn render(&mut self, part: &Template, mode: Escape) -> Result<String, Outgrown> {
        let Some(room) = self.room else { return Ok(part.render(self.scope, mode)) };
        let written = part.render_within(self.scope, mode, room).ok_or(Outgrown)?;
        self.spend(part, &written);
        Ok(written)
    }

    /// Takes what a part grew by from the room, where that is bounded.
    fn spend(&mut self, part: &Template, written: &str) {
        let grown = written.len().saturating_sub(part.source_len());
        self.room = self.room.map(|room| room.saturating_sub(grown));
    }
}

/// A rendered value can hold line ends; a subject cannot.
fn single_line(text: &str) -> String {
    text.split(['\r', '\n']).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ").replace('\0', "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_has_one_line() {
        assert_eq!(single_line("a\r\nBcc: x@y.zz\0"), "a Bcc: x@y.zz");
    }
}
