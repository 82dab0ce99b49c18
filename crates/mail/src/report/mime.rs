//! The parts of a message (RFC 2046), within bounds.
//!
//! Fields and contents are read with `mail-parser`, but not the tree: of messages within messages it builds one as deep
//! as the sender likes, which overflows the stack when it is dropped, and every multipart whose boundary never comes has
//! it search to the end of the message, which is quadratic. Here a multipart is cut at its delimiters in one pass, at
//! most [`MAX_DEPTH`] deep, and messages in it are leaves.

use std::borrow::Cow;

use mail_parser::decoders::base64::base64_decode;
use mail_parser::decoders::charsets::map::charset_decoder;
use mail_parser::decoders::quoted_printable::quoted_printable_decode;
use mail_parser::parsers::MessageStream;
use memchr::{memchr2, memmem};

use super::fields::{Field, Head};
use crate::lines::split_line;
use crate::text::html_to_text;

/// How deep multiparts are opened in each other. What is deeper is a leaf.
const MAX_DEPTH: usize = 8;
/// How many leaves of a message are looked at.
const MAX_LEAVES: usize = 100;
/// How much of a `Content-Type` is read; RFC 2046 section 5.1.1 has boundaries of at most 70 characters.
const MAX_CONTENT_TYPE: usize = 2048;
const MAX_BOUNDARY: usize = 256;

/// A message, its multiparts opened.
#[derive(Debug)]
pub(crate) struct Message<'a> {
    pub(crate) head: Head<'a>,
    /// The `report-type` of the first `multipart/report`, lower case.
    pub(crate) report_type: Option<String>,
    /// The parts that are no multiparts, in their order, at most 100.
    pub(crate) leaves: Vec<Leaf<'a>>,
}

/// A part that is no multipart.
#[derive(Debug)]
pub(crate) struct Leaf<'a> {
    /// Type and subtype, lower case, such as `text/plain`.
    pub(crate) media: String,
    charset: Option<String>,
    encoding: Option<String>,
    body: &'a [u8],
    /// The file's name, from `Content-Disposition` or else from `Content-Type`.
    pub(crate) name: Option<String>,
    /// The word of `Content-Disposition`, lower case.
    pub(crate) disposition: Option<String>,
    /// `Content-ID`, as it stands there.
    pub(crate) content_id: Option<String>,
    /// Whether it stands in a `multipart/report`.
    pub(crate) is_in_report: bool,
}

impl<'a> Message<'a> {
    pub(crate) fn parse(raw: &'a [u8]) -> Self {
        let (head, body) = Head::split(raw);
        let mut tree = Tree { report_type: None, leaves: Vec::new() };
        tree.add(&head, body, 0, false);
        Self { head, report_type: tree.report_type, leaves: tree.leaves }
    }

    /// The first leaf with one of the types.
    pub(crate) fn leaf(&self, media: &[&str]) -> Option<&Leaf<'a>> {
        self.leaves.iter().find(|leaf| media.contains(&&*leaf.media))
    }

    /// What a person reads first, at most `limit` bytes: the first plain text, otherwise the first HTML as text.
    pub(crate) fn words(&self, limit: usize) -> String {
        let plain = self.leaf(&["text/plain"]).map(|leaf| leaf.text(limit));
        plain.filter(|text| !text.trim().is_empty()).unwrap_or_else(|| {
            self.leaf(&["text/html"]).map(|leaf| html_to_text(&leaf.text(limit))).unwrap_or_default()
        })
    }
}

impl<'a> Leaf<'a> {
    /// The content without its transfer encoding, at most `limit` bytes. What cannot be decoded stays as it is.
    pub(crate) fn content(&self, limit: usize) -> Cow<'a, [u8]> {
        let part = |limit: usize| &self.body[..self.body.len().min(limit)];
        let decoded = match self.encoding.as_deref() {
            Some("base64") => base64_decode(base64_alphabet(part(limit.saturating_mul(2)))),
            Some("quoted-printable") => quoted_printable_decode(part(limit.saturating_mul(2))),
            _ => None,
        };
        match decoded {
            Some(mut decoded) => {
                decoded.truncate(limit);
                Cow::Owned(decoded)
            }
            None => Cow::Borrowed(part(limit)),
        }
    }

    /// The content as text, of at most `limit` bytes of content. Lines end with `\n`.
    pub(crate) fn text(&self, limit: usize) -> String {
        let content = self.content(limit);
        let decoder = self.charset.as_deref().filter(|_| !content.is_empty());
        let text = match decoder.and_then(|charset| charset_decoder(charset.as_bytes())) {
            Some(decoder) => decoder(&content),
            None => String::from_utf8_lossy(&content).into_owned(),
        };
        text.replace("\r\n", "\n").replace('\r', "\n")
    }
}

/// What base64 consists of, up to what does not belong to it: lists and gateways append lines.
fn base64_alphabet(body: &[u8]) -> &[u8] {
    let belongs = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/= \t\r\n".contains(byte);
    &body[..body.iter().position(|byte| !belongs(byte)).unwrap_or(body.len())]
}

struct Tree<'a> {
    report_type: Option<String>,
    leaves: Vec<Leaf<'a>>,
}

impl<'a> Tree<'a> {
    fn add(&mut self, head: &Head<'a>, body: &'a [u8], depth: usize, is_in_report: bool) {
        let kind = Kind::of(head.get("content-type"));
        if let Some(boundary) = kind.boundary.filter(|_| depth < MAX_DEPTH) {
            let is_report = kind.media == "multipart/report";
            if is_report && self.report_type.is_none() {
                self.report_type = Some(kind.report_type.unwrap_or_default());
            }
            let parts = Parts::new(body, &boundary);
            let mut is_cut = false;
            for part in parts {
                if self.leaves.len() >= MAX_LEAVES {
                    return;
                }
                is_cut = true;
                let (head, body) = Head::split(part);
                self.add(&head, body, depth + 1, is_in_report || is_report);
            }
            if is_cut {
                return;
            }
        }
        let is_multipart = kind.media.starts_with("multipart/");
        let (disposition, filename) = disposition(head.get("content-disposition"));
        self.leaves.push(Leaf {
            name: filename.or(kind.name),
            disposition,
            content_id: head.text("content-id"),
            // without its delimiters it is text that somebody may read
            media: if is_multipart { "text/plain".to_owned() } else { kind.media },
            charset: kind.charset,
            encoding: head.text("content-transfer-encoding").map(|encoding| encoding.to_ascii_lowercase()),
            body,
            is_in_report,
        });
    }
}

/// What a `Content-Type` says.
struct Kind {
    media: String,
    /// Only that of a multipart.
    boundary: Option<String>,
    charset: Option<String>,
    name: Option<String>,
    report_type: Option<String>,
}

/// The word of a `Content-Disposition`, lower case, and the name that it gives the file.
fn disposition(field: Option<&Field<'_>>) -> (Option<String>, Option<String>) {
    let Some(text) = field.map(Field::text) else { return (None, None) };
    let line = format!("{}\n", &text[..text.floor_char_boundary(MAX_CONTENT_TYPE)]);
    let value = MessageStream::new(line.as_bytes()).parse_content_type();
    let Some(value) = value.as_content_type() else { return (None, None) };
    (Some(value.ctype().to_ascii_lowercase()), value.attribute("filename").map(str::to_owned))
}

impl Kind {
    fn of(field: Option<&Field<'_>>) -> Self {
        let text = field.map(Field::text).unwrap_or_default();
        let line = format!("{}\n", &text[..text.floor_char_boundary(MAX_CONTENT_TYPE)]);
        let value = MessageStream::new(line.as_bytes()).parse_content_type();
        let Some(value) = value.as_content_type().filter(|value| value.c_subtype.is_some()) else {
            let media = "text/plain".to_owned();
            return Self { media, boundary: None, charset: None, name: None, report_type: None };
        };
        let attribute = |name: &str| value.attribute(name).map(str::to_owned);
        let media = format!("{}/{}", value.ctype(), value.subtype().unwrap_or_default()).to_ascii_lowercase();
        let is_boundary = |text: &String| !text.is_empty() && text.len() <= MAX_BOUNDARY;
        Self {
            boundary: attribute("boundary").filter(is_boundary).filter(|_| media.starts_with("multipart/")),
            charset: attribute("charset"),
            name: attribute("name"),
            report_type: attribute("report-type").map(|text| text.to_ascii_lowercase()),
            media,
        }
    }
}

/// The parts of a multipart's body, cut at the lines that are its delimiters (RFC 2046 section 5.1.1).
struct Parts<'a> {
    body: &'a [u8],
    delimiter: Vec<u8>,
    /// Where the next part begins, after its delimiter.
    start: Option<usize>,
    /// Where to search on.
    at: usize,
}

impl<'a> Parts<'a> {
    fn new(body: &'a [u8], boundary: &str) -> Self {
        let delimiter = format!("--{}", boundary.trim_end()).into_bytes();
        let mut parts = Self { body, delimiter, start: None, at: 0 };
        if let Some((_, after, false)) = parts.next_delimiter() {
            parts.start = Some(after);
        }
        parts
    }

    /// The next delimiter: where its line begins, where the line after it does, and whether it is the last one.
    fn next_delimiter(&mut self) -> Option<(usize, usize, bool)> {
        let finder = memmem::Finder::new(&self.delimiter);
        for found in finder.find_iter(&self.body[self.at..]) {
            let begin = self.at + found;
            if begin > 0 && !matches!(self.body[begin - 1], b'\r' | b'\n') {
                continue;
            }
            let line = &self.body[begin + self.delimiter.len()..];
            let line = &line[..memchr2(b'\r', b'\n', line).unwrap_or(line.len())];
            let is_last = line.starts_with(b"--");
            // a longer boundary that begins with this one has something else here
            if is_last || line.trim_ascii().is_empty() {
                let rest = &self.body[begin..];
                let after =
                    split_line(rest).map_or(self.body.len(), |(_, after)| self.body.len() - after.len());
                self.at = after;
                return Some((begin, after, is_last));
            }
        }
        self.at = self.body.len();
        None
    }
}

impl<'a> Iterator for Parts<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let start = self.start.take()?;
        let Some((begin, after, is_last)) = self.next_delimiter() else {
            return Some(&self.body[start..]);
        };
        if !is_last {
            self.start = Some(after);
        }
        // the line end before a delimiter belongs to it
        let part = &self.body[start..begin.max(start)];
        let part = part.strip_suffix(b"\n").unwrap_or(part);
        Some(part.strip_suffix(b"\r").unwrap_or(part))
    }
}
