//! The header section of a message (RFC 5322 sections 2.2 and 3.6, RFC 2047).

use std::borrow::Cow;
use std::collections::HashSet;

use mail_builder::headers::Header;
use mail_builder::headers::address::Address;
use mail_builder::headers::date::Date;
use mail_builder::headers::message_id::MessageId;
use mail_builder::headers::raw::Raw;
use mail_builder::headers::text::Text;

use super::{Mailbox, Message};

/// Names that a custom header cannot have: the structure of the message, its author, and what RFC 5322 section 3.6.3
/// and RFC 5321 section 4.4 keep out of a message that is handed over.
const RESERVED: [&str; 6] =
    ["From", "Bcc", "Return-Path", "MIME-Version", "Content-Type", "Content-Transfer-Encoding"];
/// The longest name of a custom header; leaves room for a value on the same line.
const MAX_NAME: usize = 255;
/// Words up to this length, spaces before them included, are written as they are, on a line of their own if need be (RFC 5322 section 2.1.1: a line
/// has at most 998 bytes). A longer one can only be sent encoded.
const MAX_WORD: usize = 990;

/// Writes all headers but the content type, each with its line end.
pub(super) fn write(message: &Message<'_>, out: &mut Vec<u8>) {
    let custom = effective(message.headers);
    let is_default = |name: &str| !custom.iter().any(|(custom, _)| custom.eq_ignore_ascii_case(name));

    if is_default("Date") {
        put(out, "Date", &Date::new(message.date.0.div_euclid(1000)));
    }
    put(out, "From", &address(&message.from));
    if is_default("To") {
        put(out, "To", &address(&message.to));
    }
    if let Some(reply_to) = message.reply_to.as_ref().filter(|_| is_default("Reply-To")) {
        put(out, "Reply-To", &address(reply_to));
    }
    if is_default("Subject") {
        put_text(out, "Subject", &without_controls(message.subject));
    }
    if is_default("Message-ID") {
        put(out, "Message-ID", &MessageId::new(id_text(message.message_id)));
    }
    for (name, value) in custom {
        put_text(out, name, &without_controls(value));
    }
    out.extend_from_slice(b"MIME-Version: 1.0\r\n");
}

/// The custom headers that are written, in order: allowed names, the last of several with the same name.
fn effective(headers: &[(String, String)]) -> Vec<(&str, &str)> {
    let mut seen = HashSet::with_capacity(headers.len());
    let mut kept: Vec<_> = headers
        .iter()
        .rev()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .filter(|(name, _)| {
            is_name(name) && !RESERVED.iter().any(|reserved| reserved.eq_ignore_ascii_case(name))
        })
        .filter(|(name, _)| seen.insert(name.to_ascii_lowercase()))
        .collect();
    kept.reverse();
    kept
}

/// RFC 5322 section 2.2: printable ASCII but the colon.
fn is_name(name: &str) -> bool {
    (1..=MAX_NAME).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_graphic() && b != b':')
}

fn put(out: &mut Vec<u8>, name: &str, value: &impl Header) {
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    value.write_header(out, name.len() + 2);
}

/// Writes an unstructured value: as it is and folded when it is ASCII, which keeps addresses and links in it intact;
/// in encoded words otherwise.
fn put_text(out: &mut Vec<u8>, name: &str, value: &str) {
    if !value.is_ascii() || longest_unit(value) > MAX_WORD {
        put(out, name, &Text::new(value));
        return;
    }
    let first = value.split(' ').next().map_or(0, str::len);
    if name.len() + 2 + first <= MAX_WORD {
        put(out, name, &Raw::new(value));
    } else {
        // The first word does not fit beside the name; the writer only folds between words.
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b":\r\n ");
        Raw::new(value).write_header(out, 1);
    }
}

/// The length of the longest run of spaces with the word after it: what cannot be folded.
fn longest_unit(value: &str) -> usize {
    let (mut longest, mut start, mut previous) = (0, 0, b' ');
    for (at, byte) in value.bytes().enumerate() {
        if byte == b' ' && previous != b' ' {
            start = at;
        }
        longest = longest.max(at + 1 - start);
        previous = byte;
    }
    longest
}

fn address(mailbox: &Mailbox) -> Address<'_> {
    let name = mailbox.name.as_deref().map(without_controls).filter(|name| !name.is_empty());
    Address::new_address(name, id_text(&mailbox.address))
}

/// An address or an id as it stands between angle brackets: printable ASCII only, and no bracket of its own.
pub(super) fn id_text(text: &str) -> Cow<'_, str> {
    let fits = |c: char| c.is_ascii_graphic() && c != '<' && c != '>';
    if text.chars().all(fits) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().filter(|c| fits(*c)).collect())
}

/// `value` trimmed, with every run of control characters, CR and LF among them, made one space: it stays on its line.
pub(super) fn without_controls(value: &str) -> Cow<'_, str> {
    let value = value.trim_matches(|c: char| c.is_whitespace() || c.is_control());
    if !value.chars().any(char::is_control) {
        return Cow::Borrowed(value);
    }
    let mut out = String::with_capacity(value.len());
    let mut spaced = false;
    for c in value.chars() {
        if !c.is_control() {
            out.push(c);
        } else if !spaced {
            out.push(' ');
        }
        spaced = c.is_control();
    }
    Cow::Owned(out)
}
