//! A mail that came in, taken apart for people to read and for programs to act on.
//!
//! Nothing in it is proof: anybody can write any `From`. [`crate::authentication`] tells what its sender's domain says
//! of it.
//!
//! # Bounds
//!
//! At most 100 parts of a message are looked at, multiparts are opened eight deep, and a message within the message is an
//! attachment. Text and HTML are at most 256 KiB each. The time is linear in the message, but for its HTML, whose tags are
//! bounded. Nothing in a message makes this panic.

mod html;
#[cfg(test)]
mod tests;

use crate::authentication;
use crate::report::address;
use crate::report::fields::{Field, Head, one_line};
use crate::report::mime::{Leaf, Message};
use crate::text::html_to_text;

/// The longest text, and the longest HTML, in bytes.
pub const MAX_BODY: usize = 256 * 1024;
/// The longest subject, name and header, in bytes (RFC 5322 section 2.1.1).
const MAX_LINE: usize = 998;
/// The longest name of a file, in bytes.
const MAX_NAME: usize = 255;

/// A mail that came in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Received {
    /// The first address of `From`.
    pub from: Option<String>,
    /// Whether the field `From` names one address and no other, so that a verdict of DMARC is about it.
    pub has_one_author: bool,
    /// The name before it.
    pub from_name: Option<String>,
    /// `From` in one line.
    pub from_header: String,
    /// The subject in one line.
    pub subject: String,
    /// `Message-ID` without angle brackets.
    pub message_id: Option<String>,
    /// What a person reads: the first plain text, or else the first HTML as text.
    pub text: Option<String>,
    /// The first HTML, made harmless.
    pub html: Option<String>,
    /// The other parts, in their order; at most 100.
    pub attachments: Vec<Attachment>,
}

/// A part that is not the body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    /// The file's name, without folders.
    pub filename: Option<String>,
    /// Type and subtype, as the sender calls them, such as `image/png`.
    pub content_type: String,
    /// Bytes, decoded.
    pub size: usize,
    /// Name by which the HTML refers to it, without angle brackets.
    pub content_id: Option<String>,
    /// Whether it is to be shown within the mail.
    pub is_inline: bool,
}

impl Received {
    /// Takes a mail apart: header, empty line, body; any line ends.
    pub fn parse(raw: &[u8]) -> Self {
        let message = Message::parse(raw);
        let head = &message.head;
        let from = head.get("from");
        let author = authentication::author(raw);
        // what is shown is what the sender's domain is asked about, wherever else addresses stand in the field
        let shown = from.and_then(|field| address::first(&field.text()));
        let is_same = shown.as_deref().zip(author.as_deref()).is_some_and(|(a, b)| a.eq_ignore_ascii_case(b));
        let parts = Parts::of(&message);
        let html_source = parts.html.map(|leaf| leaf.text(MAX_BODY));
        let plain = parts.text.map(|leaf| readable(&leaf.text(MAX_BODY)));
        let plain = plain.filter(|text| !text.trim().is_empty());
        let text = plain.or_else(|| html_source.as_deref().map(|html| readable(&html_to_text(html))));
        Self {
            has_one_author: author.is_some(),
            from: if is_same { shown } else { author.or(shown) },
            from_name: from.and_then(name),
            from_header: from.map(|field| cut(field.decoded(), MAX_LINE)).unwrap_or_default(),
            subject: head.get("subject").map(|field| cut(field.decoded(), MAX_LINE)).unwrap_or_default(),
            message_id: message_id(head),
            text: text.filter(|text| !text.trim().is_empty()),
            html: html_source.as_deref().and_then(|source| html::sanitised(cut_at(source, MAX_BODY))),
            attachments: parts.attachments.into_iter().map(Attachment::of).collect(),
        }
    }
}

/// A file of a mail, with its content.
pub type File = (Attachment, Vec<u8>);

/// A mail that came in as it is shown: its HTML, made harmless, and the pictures that stand in it by the names under
/// which the HTML has them. `None` where it has no HTML that can be shown.
pub fn shown(raw: &[u8]) -> Option<(String, Vec<File>)> {
    let message = Message::parse(raw);
    let parts = Parts::of(&message);
    let source = parts.html?.text(MAX_BODY);
    let html = html::sanitised_with_pictures(cut_at(&source, MAX_BODY))?;
    let is_picture = |leaf: &&&Leaf<'_>| leaf.content_id.is_some() && leaf.media.starts_with("image/");
    let pictures = parts.attachments.iter().filter(is_picture);
    let with_content = |leaf: &&Leaf<'_>| (Attachment::of(leaf), leaf.content(usize::MAX).into_owned());
    Some((html, pictures.map(with_content).collect()))
}

/// The attachment with a number, counted from 0 as in [`Received::attachments`], and its content.
pub fn attachment(raw: &[u8], number: usize) -> Option<(Attachment, Vec<u8>)> {
    let message = Message::parse(raw);
    let leaf = *Parts::of(&message).attachments.get(number)?;
    Some((Attachment::of(leaf), leaf.content(usize::MAX).into_owned()))
}

/// The parts of a message by what they are for.
struct Parts<'m> {
    text: Option<&'m Leaf<'m>>,
    html: Option<&'m Leaf<'m>>,
    attachments: Vec<&'m Leaf<'m>>,
}

impl<'m> Parts<'m> {
    fn of(message: &'m Message<'m>) -> Self {
        let mut parts = Self { text: None, html: None, attachments: Vec::new() };
        for leaf in &message.leaves {
            let is_body = leaf.disposition.as_deref() != Some("attachment") && leaf.name.is_none();
            match leaf.media.as_str() {
                "text/plain" if is_body && parts.text.is_none() => parts.text = Some(leaf),
                "text/html" if is_body && parts.html.is_none() => parts.html = Some(leaf),
                _ => parts.attachments.push(leaf),
            }
        }
        parts
    }
}

impl Attachment {
    fn of(leaf: &Leaf<'_>) -> Self {
        let filename = leaf.name.as_deref().map(|name| {
            let name = name.rsplit(['/', '\\']).next().unwrap_or_default();
            cut(one_line(name), MAX_NAME)
        });
        let content_id = leaf.content_id.as_deref();
        Self {
            filename: filename.filter(|name| !name.is_empty()),
            content_type: cut(one_line(&leaf.media), MAX_NAME),
            size: leaf.content(usize::MAX).len(),
            content_id: content_id.map(|id| cut(id.trim_matches(['<', '>', ' ']).to_owned(), MAX_NAME)),
            is_inline: leaf.disposition.as_deref() == Some("inline"),
        }
    }
}

/// The name before the address.
fn name(from: &Field<'_>) -> Option<String> {
    let decoded = from.decoded();
    let (name, _) = decoded.split_once('<')?;
    let name = cut(name.trim().trim_matches('"').trim().to_owned(), MAX_NAME);
    (!name.is_empty()).then_some(name)
}

fn message_id(head: &Head<'_>) -> Option<String> {
    let text = head.text("message-id")?;
    let id = text.trim().trim_start_matches('<').split(['>', ' ']).next().unwrap_or_default();
    (!id.is_empty()).then(|| cut(id.to_owned(), MAX_LINE))
}

/// A text without what no database and no reader takes.
fn readable(text: &str) -> String {
    cut(text.replace('\0', ""), MAX_BODY)
}

fn cut(mut text: String, limit: usize) -> String {
    text.truncate(cut_at(&text, limit).len());
    text
}

fn cut_at(text: &str, limit: usize) -> &str {
    &text[..text.floor_char_boundary(limit)]
}
