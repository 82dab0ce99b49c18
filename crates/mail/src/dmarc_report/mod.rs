//! DMARC aggregate reports that come in by mail (RFC 7489 section 7.2 and appendix C, RFC 9990): what a receiver saw of
//! a domain's mail in a day, and what SPF and DKIM said of it.
//!
//! [`read`] tells whether a mail is such a report, and reads it. The report is XML, packed with gzip or zip or not at
//! all, in an attachment or as the whole body.
//!
//! Nothing here is proof: anybody can send a report about any domain, and invent what it says. A caller takes a report
//! as what its sender claims, and may ask [`crate::authentication`] who that is.
//!
//! # Bounds
//!
//! At most four parts of a mail are unpacked, each to at most [`MAX_XML`] bytes, whatever an archive says of its sizes;
//! nothing is unpacked twice. Elements are read 32 deep within each other, and nothing that a document type
//! declares is looked at: a reference to an entity of its own is nothing. Lists and texts in what is returned have the
//! bounds that their documentation says. The time is linear in what is unpacked: reading a report that is as large as
//! can be keeps a thread busy for long, so it is no work for one that others wait for. In memory there are at most the
//! mail, one unpacked report, which may need twice its size while it grows, and what is returned.

mod bounded;
mod error;
mod model;
mod record;
#[cfg(test)]
mod tests;
mod unpack;
mod xml;
mod zip;

pub use self::error::{DmarcReportError, MAX_XML};
pub use self::model::{
    AggregateReport, Alignment, AuthResult, Disposition, DkimResult, MAX_COUNT, MAX_RECORDS, MAX_RESULTS,
    MAX_TEXT, OverrideReason, OverrideType, PolicyPublished, Record, SpfResult,
};
use self::xml::Failure;
use crate::report::mime::{Leaf, Message};

/// How many parts of a mail are unpacked. A report is one part (RFC 7489 section 7.2.1.1); footers and pictures of
/// gateways are not tried.
const MAX_TRIED: usize = 4;
/// How much of a body without a type of its own is looked at to tell whether it is XML, in bytes.
const SNIFFED: usize = 64;

/// The types that reports come with: those of RFC 7489 section 7.2.1.1, and those that are used as well.
const MEDIA: [&str; 10] = [
    "application/gzip",
    "application/x-gzip",
    "application/gzip-compressed",
    "application/zip",
    "application/x-zip",
    "application/x-zip-compressed",
    "application/octet-stream",
    "application/xml",
    "text/xml",
    "application/dmarc+xml",
];
const EXTENSIONS: [&str; 4] = [".xml", ".xml.gz", ".gz", ".zip"];
/// Other reports are packed the same way, among them those about TLS (RFC 8460).
const OTHER_EXTENSIONS: [&str; 2] = [".json", ".json.gz"];

/// Reads the report that a mail brings. `raw` is the mail as it came: header, empty line, body; any line ends.
///
/// `None` when the mail is no aggregate report. An error when it is one that cannot be read: what was unpacked says that
/// it is a report, or the name of the file does (RFC 7489 section 7.2.1.1), or the subject.
pub fn read(raw: &[u8]) -> Option<Result<AggregateReport, DmarcReportError>> {
    let message = Message::parse(raw);
    let subject = message.head.text("subject").unwrap_or_default();
    let is_announced = has_prefix(&subject, "report domain:");
    let mut error = None;
    for leaf in message.leaves.iter().filter(|leaf| may_be_report(leaf)).take(MAX_TRIED) {
        let content = leaf.content(MAX_XML + 1);
        match read_packed(&content) {
            Ok(report) => return Some(Ok(report)),
            // what was unpacked and is something else is something else, whatever it is called
            Err(Failure { error: DmarcReportError::NoFeedback, .. }) => {}
            Err(failure) => {
                let is_named = leaf.name.as_deref().is_some_and(is_report_name);
                if failure.is_report || is_announced || is_named {
                    error = error.or(Some(failure.error));
                }
            }
        }
    }
    error.map(Err)
}

/// Reads a report from its file: XML, or the gzip or zip that it is packed in.
pub fn read_file(content: &[u8]) -> Result<AggregateReport, DmarcReportError> {
    read_packed(content).map_err(|failure| failure.error)
}

fn read_packed(content: &[u8]) -> Result<AggregateReport, Failure> {
    let xml = unpack::unpack(content).map_err(|error| Failure { error, is_report: false })?;
    xml::parse(&xml)
}

/// Whether a part may be a report, by its type and its name, or, where it is plain text, by how it begins.
fn may_be_report(leaf: &Leaf<'_>) -> bool {
    let name = leaf.name.as_deref().unwrap_or_default();
    let has_extension = |list: &[&str]| list.iter().any(|extension| has_suffix(name, extension));
    if has_extension(&OTHER_EXTENSIONS) {
        return false;
    }
    MEDIA.contains(&leaf.media.as_str())
        || has_extension(&EXTENSIONS)
        || leaf.media == "text/plain" && {
            let begin = leaf.content(SNIFFED);
            let begin = begin.trim_ascii_start();
            begin.starts_with(b"<?xml") || begin.starts_with(b"<feedback")
        }
}

/// Whether a file is named as RFC 7489 section 7.2.1.1 has it: `receiver!domain!begin!end.xml.gz`, with an id before
/// the extension or not.
fn is_report_name(name: &str) -> bool {
    let parts: Vec<&str> = name.splitn(5, '!').collect();
    let is_time = |part: &&str| part.starts_with(|c: char| c.is_ascii_digit());
    parts.len() >= 4 && parts[1].contains('.') && parts[2..4].iter().all(is_time)
}

fn has_prefix(text: &str, prefix: &str) -> bool {
    text.get(..prefix.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(prefix))
}

fn has_suffix(text: &str, suffix: &str) -> bool {
    let begin = text.len().checked_sub(suffix.len());
    begin.and_then(|begin| text.get(begin..)).is_some_and(|end| end.eq_ignore_ascii_case(suffix))
}
