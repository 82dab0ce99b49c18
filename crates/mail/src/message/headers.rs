//! The header section of a message (RFC 5322 sections 2.2 and 3.6, RFC 2047).

use std::borrow::Cow;
use std::collections::HashSet;

use mail_builder::headers::Header;
use mail_builder::headers::date::Date;
use mail_builder::headers::message_id::MessageId;
use mail_builder::headers::raw::Raw;
use mailwright_core::header::{self, HeaderKind};

use super::encoded_word::{self, Place};
use super::{Mailbox, Message};

/// Words up to this length, spaces before them included, are written as they are, on a line of their own if need be
/// (RFC 5322 section 2.1.1: a line has at most 998 bytes). A longer one can only be sent encoded.
const MAX_WORD: usize = 990;
/// The same for a name before an address, whose quotes and header name stand on its line.
const MAX_PHRASE_WORD: usize = 900;
/// Where lines are folded that hold no encoded word (RFC 5322 section 2.1.1).
const FOLD: usize = 78;

/// Writes all headers but the content type, each with its line end.
pub(super) fn write(message: &Message<'_>, out: &mut Vec<u8>) {
    let custom = effective(message.headers);
    let is_default = |name: &str| !custom.iter().any(|(custom, _)| custom.eq_ignore_ascii_case(name));

    put(out, "Date", &Date::new(message.date.0.div_euclid(1000)));
    put_addresses(out, "From", std::slice::from_ref(&message.from));
    put_addresses(out, "To", std::slice::from_ref(&message.to));
    if let Some(reply_to) = message.reply_to.as_ref().filter(|_| is_default("Reply-To")) {
        put_addresses(out, "Reply-To", std::slice::from_ref(reply_to));
    }
    put_text(out, "Subject", &without_controls(message.subject));
    put(out, "Message-ID", &MessageId::new(id_text(message.message_id)));
    for (name, value) in custom {
        put_custom(out, name, &without_controls(value));
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
        .filter(|(name, _)| header::is_name(name) && header::kind(name) != HeaderKind::Reserved)
        .filter(|(name, _)| seen.insert(name.to_ascii_lowercase()))
        .collect();
    kept.reverse();
    kept
}

fn put(out: &mut Vec<u8>, name: &str, value: &impl Header) {
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    value.write_header(out, name.len() + 2);
}

fn put_custom(out: &mut Vec<u8>, name: &str, value: &str) {
    match header::kind(name) {
        HeaderKind::Addresses => match Mailbox::parse_list(value) {
            Some(list) => put_addresses(out, name, &list),
            None => put_text(out, name, value),
        },
        HeaderKind::Structured if value.is_ascii() && longest_unit(value) <= MAX_WORD => {
            put_plain(out, name, value);
        }
        HeaderKind::Structured | HeaderKind::Text | HeaderKind::Reserved => put_text(out, name, value),
    }
}

/// Writes an unstructured value: as it is and folded when it is ASCII, which keeps addresses and links in it intact; in
/// encoded words otherwise, and where a reader would decode what is meant literally.
fn put_text(out: &mut Vec<u8>, name: &str, value: &str) {
    if value.is_ascii() && !encoded_word::resembles(value) && longest_unit(value) <= MAX_WORD {
        put_plain(out, name, value);
        return;
    }
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    encoded_word::write(out, value, Place::Text, name.len() + 2);
    out.extend_from_slice(b"\r\n");
}

fn put_plain(out: &mut Vec<u8>, name: &str, value: &str) {
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

/// Writes a list of addresses: each name as a quoted string when it is ASCII, in encoded words otherwise, and each
/// address as it is.
fn put_addresses(out: &mut Vec<u8>, name: &str, list: &[Mailbox]) {
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    let phrases: Vec<_> = list.iter().map(|mailbox| Phrase::of(mailbox.name.as_deref())).collect();
    let is_encoded = phrases.iter().any(|phrase| matches!(phrase, Phrase::Encoded(_)));
    let limit = if is_encoded { encoded_word::MAX_LINE } else { FOLD };
    let mut column = name.len() + 2;
    for (nth, (mailbox, phrase)) in list.iter().zip(&phrases).enumerate() {
        let address = id_text(&mailbox.address);
        let comma = usize::from(nth + 1 < list.len());
        match phrase {
            Phrase::None => {}
            Phrase::Quoted(quoted) => {
                if nth > 0 {
                    column = separate(out, column, quoted.split(' ').next().map_or(0, str::len), limit);
                }
                column = put_quoted(out, quoted, column, limit);
            }
            Phrase::Encoded(text) => {
                if nth > 0 {
                    column = separate(out, column, encoded_word::LEAST, limit);
                }
                column = encoded_word::write(out, text, Place::Phrase, column);
            }
        }
        if nth > 0 || !matches!(phrase, Phrase::None) {
            column = separate(out, column, address.len() + 2 + comma, limit);
        }
        out.push(b'<');
        out.extend_from_slice(address.as_bytes());
        out.push(b'>');
        column += address.len() + 2;
        if comma > 0 {
            out.push(b',');
            column += 1;
        }
    }
    out.extend_from_slice(b"\r\n");
}

/// The name before an address, as it is written.
enum Phrase {
    None,
    Quoted(String),
    Encoded(String),
}

impl Phrase {
    fn of(name: Option<&str>) -> Self {
        let name = without_controls(name.unwrap_or_default());
        if name.is_empty() {
            return Self::None;
        }
        let quoted = format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""));
        if quoted.is_ascii() && !encoded_word::resembles(&quoted) && longest_unit(&quoted) <= MAX_PHRASE_WORD
        {
            Self::Quoted(quoted)
        } else {
            Self::Encoded(name.into_owned())
        }
    }
}

/// Writes the space before something of this length, with a line end before it where the line would pass the limit.
/// Returns the column after it.
fn separate(out: &mut Vec<u8>, column: usize, length: usize, limit: usize) -> usize {
    if column + 1 + length > limit {
        out.extend_from_slice(b"\r\n ");
        return 1;
    }
    out.push(b' ');
    column + 1
}

/// Writes a quoted string (RFC 5322 section 3.2.4), folded between its words. Returns the column after it.
fn put_quoted(out: &mut Vec<u8>, quoted: &str, mut column: usize, limit: usize) -> usize {
    let mut rest = quoted;
    while !rest.is_empty() {
        let spaces = rest.bytes().take_while(|byte| *byte == b' ').count();
        let unit = rest[spaces..].find(' ').map_or(rest.len(), |end| spaces + end);
        if spaces > 0 && column + unit > limit {
            // the white space belongs to the name: it begins the next line
            out.extend_from_slice(b"\r\n");
            column = 0;
        }
        out.extend_from_slice(&rest.as_bytes()[..unit]);
        column += unit;
        rest = &rest[unit..];
    }
    column
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
