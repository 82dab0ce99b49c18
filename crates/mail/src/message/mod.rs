//! One message as MIME (RFC 5322, RFC 2045 to 2049).

mod encoded_word;
mod headers;

use std::borrow::Cow;
use std::sync::Arc;

use mail_builder::headers::HeaderType;
use mail_builder::headers::content_type::ContentType;
use mail_builder::headers::message_id::MessageId;
use mail_builder::headers::raw::Raw;
use mail_builder::mime::{BodyPart, MimePart};
pub use mailwright_core::address::Mailbox;
use mailwright_core::time::Timestamp;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use ring::digest;

use crate::lines::split_line;
use crate::text::html_to_text;

/// What is not percent-encoded in a name.
const UNRESERVED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// How many bytes of a name are percent-encoded in a parameter of its own: three characters each, on one line.
const FILENAME_PART: usize = 16;

/// A file that goes with a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    /// The name the file is saved under, any characters.
    pub filename: String,
    /// Its media type, such as `image/png`. One that is not a media type, and `multipart` and `message` types, which
    /// may not be base64 (RFC 2046 sections 5.1 and 5.2), are sent as `application/octet-stream`.
    pub content_type: String,
    /// The bytes of the file, decoded.
    pub content: Arc<[u8]>,
    /// The id that the HTML names in `cid:<id>`, without angle brackets.
    pub content_id: Option<String>,
    /// Shown inside the HTML instead of listed as a file. Needs a `content_id`; without one it is listed.
    pub inline: bool,
}

/// A message ready to be written: everything rendered, nothing encoded.
#[derive(Debug, Clone)]
pub struct Message<'a> {
    /// The author. Custom headers cannot change it: which domain a project may send for was checked against it.
    pub from: Mailbox,
    /// The recipient.
    pub to: Mailbox,
    /// Address for replies; without it no `Reply-To` is written.
    pub reply_to: Option<Mailbox>,
    /// The subject, any characters.
    pub subject: &'a str,
    /// The HTML body.
    pub html: &'a str,
    /// The plain text body; made from the HTML when it is `None`.
    pub text: Option<&'a str>,
    /// Further headers, name and value. Each overrides a default of the same name in any casing, unless the name is
    /// reserved ([`mailwright_core::header`]); of two with the same name the last one counts.
    pub headers: &'a [(String, String)],
    /// The files, in order.
    pub attachments: &'a [Attachment],
    /// The type of a report (RFC 6522), such as `tlsrpt`. The message is then a `multipart/report` of the plain text and
    /// the files, without HTML.
    pub report: Option<&'a str>,
    /// The `Message-ID`, without angle brackets.
    pub message_id: &'a str,
    /// The `Date`, written in UTC to the second.
    pub date: Timestamp,
}

impl Message<'_> {
    /// The message as bytes: CRLF line ends, 7-bit, no line over 998 bytes.
    ///
    /// The same message gives the same bytes. Never fails: control characters in header values become spaces, and a
    /// header whose name RFC 5322 section 2.2 does not allow is left out.
    pub fn to_mime(&self) -> Vec<u8> {
        let attached: usize = self.attachments.iter().map(|a| a.content.len() * 3 / 2 + 512).sum();
        let mut out =
            Vec::with_capacity(2048 + (self.html.len() + self.text.map_or(0, str::len)) * 3 / 2 + attached);
        headers::write(self, &mut out);
        self.body().write_part(&mut out);
        out
    }

    /// `mixed(related(alternative(text, html), inline...), attachments...)`, each level only when it holds something
    /// (reference 1.1, "Attachment element").
    fn body(&self) -> MimePart<'_> {
        let boundary = Boundary::of(self.message_id);
        if let Some(kind) = self.report {
            let files = self.attachments.iter().map(|a| a.part("attachment"));
            return boundary.report(kind, std::iter::once(self.plain()).chain(files).collect());
        }
        let (inline, attached): (Vec<_>, Vec<_>) = self.attachments.iter().partition(|a| a.is_inline());
        let mut body = boundary.multipart("alternative", self.alternatives());
        if !inline.is_empty() {
            let parts = std::iter::once(body).chain(inline.into_iter().map(|a| a.part("inline"))).collect();
            body = boundary.multipart("related", parts);
        }
        if !attached.is_empty() {
            let parts =
                std::iter::once(body).chain(attached.into_iter().map(|a| a.part("attachment"))).collect();
            body = boundary.multipart("mixed", parts);
        }
        body
    }

    /// From plain to rich, as RFC 2046 section 5.1.4 orders them.
    fn alternatives(&self) -> Vec<MimePart<'_>> {
        vec![self.plain(), MimePart::new("text/html", with_crlf(self.html))]
    }

    fn plain(&self) -> MimePart<'_> {
        let text = match self.text {
            Some(text) => with_crlf(text),
            None => Cow::Owned(with_crlf(&html_to_text(self.html)).into_owned()),
        };
        MimePart::new("text/plain", text)
    }
}

impl Attachment {
    fn is_inline(&self) -> bool {
        self.inline && self.content_id.is_some()
    }

    fn part(&self, disposition: &'static str) -> MimePart<'_> {
        let filename = headers::without_controls(&self.filename);
        let media_type = media_type(&self.content_type);
        // A file has to arrive byte for byte. Plain text does so unencoded or in quoted-printable, between which the
        // writer chooses when it sees a text type; for anything else the type is hidden from it, and it takes base64.
        let content_type: HeaderType<'_> =
            if disposition == "attachment" && is_plain_text(media_type, &self.content) {
                ContentType::new(media_type).into()
            } else {
                Raw::new(media_type).into()
            };
        let mut part_headers: Vec<(Cow<'_, str>, HeaderType<'_>)> = vec![
            ("Content-Type".into(), content_type),
            ("Content-Disposition".into(), disposition_of(disposition, filename)),
        ];
        if let Some(id) = &self.content_id {
            part_headers.push(("Content-ID".into(), MessageId::new(headers::id_text(id)).into()));
        }
        MimePart { headers: part_headers, contents: BodyPart::Binary(Cow::Borrowed(&self.content)) }
    }
}

/// The caller's media type when it is one that base64 content may have, or the one that fits everything.
fn media_type(given: &str) -> &str {
    const ANY: &str = "application/octet-stream";
    let is_token = |text: &str| {
        !text.is_empty()
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`{|}~".contains(&b))
    };
    let (essence, parameters) = given.split_once(';').map_or((given, None), |(e, rest)| (e, Some(rest)));
    let Some((kind, subtype)) = essence.trim().split_once('/') else {
        return ANY;
    };
    let composite = ["multipart", "message"].iter().any(|composite| kind.eq_ignore_ascii_case(composite));
    let printable = given.bytes().all(|b| matches!(b, b' '..=b'~')) && given.len() <= 255;
    let is_type = is_token(kind) && is_token(subtype) && !composite;
    if is_type && printable && parameters.is_none_or(|rest| are_parameters(rest, is_token)) {
        given.trim()
    } else {
        ANY
    }
}

/// Whether these are parameters of a media type (RFC 2045 section 5.1): `name=token` or `name="text"`, with `;`
/// between.
fn are_parameters(mut rest: &str, is_token: impl Fn(&str) -> bool) -> bool {
    loop {
        let Some((name, after)) = rest.split_once('=') else { return false };
        if !is_token(name.trim()) {
            return false;
        }
        let after = after.trim_start();
        let end = match after.strip_prefix('"') {
            Some(quoted) => match end_of_quoted(quoted) {
                Some(end) => end + 2,
                None => return false,
            },
            None => after.find(';').unwrap_or(after.len()),
        };
        let (value, more) = after.split_at(end);
        if !value.starts_with('"') && !is_token(value.trim_end()) {
            return false;
        }
        match more.trim_start().strip_prefix(';') {
            Some(more) => rest = more,
            None => return more.trim().is_empty(),
        }
    }
}

/// Where the quote stands that ends a quoted string.
fn end_of_quoted(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.bytes().position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    })
}

/// `Content-Disposition` with a file's name. A name that looks like an encoded word is percent-encoded (RFC 2231), for
/// readers decode encoded words there too, although they must not.
fn disposition_of<'x>(disposition: &'static str, filename: Cow<'_, str>) -> HeaderType<'x> {
    if !filename.is_ascii() || !encoded_word::resembles(&filename) {
        return ContentType::new(disposition).attribute("filename", filename.into_owned()).into();
    }
    let mut value = disposition.to_owned();
    for (number, part) in filename.as_bytes().chunks(FILENAME_PART).enumerate() {
        let charset = if number == 0 { "UTF-8''" } else { "" };
        value.push_str(&format!("; filename*{number}*={charset}"));
        value.extend(percent_encode(part, &UNRESERVED));
    }
    Raw::new(value).into()
}

/// Whether a file is text in ASCII, all of whose line ends are the usual ones. Filters take such a text in base64 for
/// an attempt to hide it.
fn is_plain_text(media_type: &str, content: &[u8]) -> bool {
    let is_text = media_type.get(..5).is_some_and(|start| start == "text/");
    let is_plain = |(at, byte): (usize, &u8)| match byte {
        b'\r' => content.get(at + 1) == Some(&b'\n'),
        b'\t' | b'\n' | b' '..=b'~' => true,
        _ => false,
    };
    is_text && content.iter().enumerate().all(is_plain)
}

/// The boundaries of one message, derived from its id so that the same message is always the same bytes.
struct Boundary(String);

impl Boundary {
    fn of(message_id: &str) -> Self {
        let hash = digest::digest(&digest::SHA256, message_id.as_bytes());
        // `=_` occurs neither in quoted-printable nor in base64 (RFC 2045 section 6.7); for a plain body the 96 bits of
        // the hash have to do.
        let mut boundary = String::from("=_");
        for byte in &hash.as_ref()[..12] {
            boundary.push(char::from(b"0123456789abcdef"[usize::from(byte >> 4)]));
            boundary.push(char::from(b"0123456789abcdef"[usize::from(byte & 15)]));
        }
        Self(boundary)
    }

    fn multipart<'x>(&self, subtype: &str, parts: Vec<MimePart<'x>>) -> MimePart<'x> {
        let mut content_type = ContentType::new(format!("multipart/{subtype}"));
        if subtype == "related" {
            // RFC 2387 section 3.1: the type of the root part, which is required.
            content_type = content_type.attribute("type", "multipart/alternative");
        }
        // Nested levels need boundaries of which none is a prefix of another (RFC 2046 section 5.1.2).
        MimePart::new(content_type.attribute("boundary", format!("{}_{}", self.0, &subtype[..1])), parts)
    }

    fn report<'x>(&self, kind: &'x str, parts: Vec<MimePart<'x>>) -> MimePart<'x> {
        let content_type = ContentType::new("multipart/report").attribute("report-type", kind);
        MimePart::new(content_type.attribute("boundary", self.0.clone()), parts)
    }
}

/// `text` with CRLF at the end of every line and without NUL, so that no encoding passes on a bare CR or LF
/// (RFC 5321 section 2.3.8).
fn with_crlf(text: &str) -> Cow<'_, str> {
    if memchr::memchr3(b'\r', b'\n', b'\0', text.as_bytes()).is_none() {
        return Cow::Borrowed(text);
    }
    let mut out = Vec::with_capacity(text.len() + text.len() / 32 + 2);
    let mut rest = text.as_bytes();
    while let Some((line, after)) = split_line(rest) {
        if memchr::memchr(0, line).is_none() {
            out.extend_from_slice(line);
        } else {
            out.extend(line.iter().filter(|byte| **byte != 0));
        }
        if line.len() < rest.len() {
            out.extend_from_slice(b"\r\n");
        }
        rest = after;
    }
    // Whole lines of a text, cut at ASCII characters.
    Cow::Owned(String::from_utf8(out).unwrap_or_default())
}
