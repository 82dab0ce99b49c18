//! The XML of a report (RFC 7489 appendix C, RFC 9990). Only well-formed XML is read, but elements may be missing, stand
//! in any order, be unknown, and have any namespace.

use std::borrow::Cow;

use mailwright_core::time::Timestamp;
use quick_xml::Reader;
use quick_xml::events::{BytesRef, Event};

use super::error::DmarcReportError;
use super::model::{AggregateReport, Alignment, Disposition, MAX_RECORDS, MAX_TEXT, PolicyPublished, Record};
use super::record::{RecordDraft, alignment, domain, line, seconds, word};

/// How deep elements may be within each other. A report needs six, and extensions (RFC 9990) some more.
pub(super) const MAX_DEPTH: usize = 32;
/// How much of an element's text is read before it is made one line, in bytes.
const MAX_READ: usize = 4 * MAX_TEXT;

/// The elements that are read. Others have the name `""` here.
const ELEMENTS: [&str; 34] = [
    "adkim",
    "aspf",
    "auth_results",
    "begin",
    "comment",
    "count",
    "date_range",
    "disposition",
    "dkim",
    "domain",
    "email",
    "end",
    "envelope_from",
    "feedback",
    "header_from",
    "identifiers",
    "np",
    "org_name",
    "p",
    "pct",
    "policy_evaluated",
    "policy_published",
    "reason",
    "record",
    "report_id",
    "report_metadata",
    "result",
    "row",
    "selector",
    "source_ip",
    "sp",
    "spf",
    "testing",
    "type",
];

/// Why there is no report.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) error: DmarcReportError,
    /// Whether it was seen that this is to be a report.
    pub(super) is_report: bool,
}

/// Reads the XML of a report.
pub(super) fn parse(xml: &[u8]) -> Result<AggregateReport, Failure> {
    let mut parser = Parser::default();
    let report = parser.run(xml).and_then(|()| parser.draft.finish());
    report.map_err(|error| Failure { error, is_report: parser.is_report })
}

#[derive(Default)]
struct Parser {
    /// The elements that are open, from the outermost.
    path: Vec<&'static str>,
    /// What the innermost says so far.
    text: String,
    is_report: bool,
    draft: Draft,
}

impl Parser {
    fn run(&mut self, xml: &[u8]) -> Result<(), DmarcReportError> {
        let mut reader = Reader::from_reader(xml);
        // names of organisations have it
        reader.config_mut().allow_dangling_amp = true;
        loop {
            let event = reader.read_event();
            match event.map_err(|_| DmarcReportError::Malformed { at: reader.error_position() })? {
                Event::Start(start) => self.open(start.local_name().as_ref())?,
                Event::Empty(empty) => {
                    self.open(empty.local_name().as_ref())?;
                    self.close();
                }
                Event::End(_) => self.close(),
                Event::Text(text) => self.add(&String::from_utf8_lossy(&text)),
                Event::CData(text) => self.add(&String::from_utf8_lossy(&text)),
                Event::GeneralRef(reference) => self.add(&resolved(&reference)),
                Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
                Event::Eof if self.is_report => {
                    return Err(DmarcReportError::Malformed { at: reader.buffer_position() });
                }
                Event::Eof => return Err(DmarcReportError::NoFeedback),
            }
            if self.is_report && self.path.is_empty() {
                return Ok(());
            }
        }
    }

    fn open(&mut self, name: &[u8]) -> Result<(), DmarcReportError> {
        // some write the begin of the schema before the report, and do not close it
        if self.path.is_empty() && name == b"schema" {
            return Ok(());
        }
        let known = ELEMENTS.into_iter().find(|element| element.as_bytes() == name).unwrap_or_default();
        if self.path.is_empty() && known != "feedback" {
            return Err(DmarcReportError::NoFeedback);
        }
        self.is_report = true;
        if self.path.len() >= MAX_DEPTH {
            return Err(DmarcReportError::TooDeep);
        }
        self.path.push(known);
        self.text.clear();
        Ok(())
    }

    fn add(&mut self, text: &str) {
        let text = if self.text.is_empty() { text.trim_start() } else { text };
        let room = MAX_READ.saturating_sub(self.text.len());
        self.text.push_str(&text[..text.floor_char_boundary(room)]);
    }

    fn close(&mut self) {
        self.draft.take(&self.path, &self.text);
        self.path.pop();
        self.text.clear();
    }
}

/// What a reference stands for: a character by its number, or one of the five names that XML has itself. Others are
/// nothing, whatever a document type says of them.
fn resolved(reference: &BytesRef<'_>) -> Cow<'static, str> {
    match reference.resolve_char_ref() {
        Ok(Some(character)) => return Cow::Owned(character.to_string()),
        Ok(None) => {}
        Err(_) => return Cow::Borrowed(""),
    }
    Cow::Borrowed(match reference.as_ref() {
        b"amp" => "&",
        b"lt" => "<",
        b"gt" => ">",
        b"quot" => "\"",
        b"apos" => "'",
        _ => "",
    })
}

/// What has been read of a report.
#[derive(Default)]
struct Draft {
    org_name: Option<String>,
    email: Option<String>,
    report_id: Option<String>,
    begin: Option<Timestamp>,
    end: Option<Timestamp>,
    domain: Option<String>,
    adkim: Option<Alignment>,
    aspf: Option<Alignment>,
    p: Option<Disposition>,
    sp: Option<Disposition>,
    np: Option<Disposition>,
    pct: Option<u8>,
    is_testing: bool,
    record: RecordDraft,
    records: Vec<Record>,
    omitted: u64,
    unreadable: u64,
}

impl Draft {
    /// Takes an element that is complete. Where one stands several times, the last counts.
    fn take(&mut self, path: &[&str], text: &str) {
        match path {
            ["feedback", "report_metadata", leaf] => match *leaf {
                "org_name" => self.org_name = line(text),
                "email" => self.email = line(text),
                "report_id" => self.report_id = line(text),
                _ => {}
            },
            ["feedback", "report_metadata", "date_range", "begin"] => self.begin = seconds(text),
            ["feedback", "report_metadata", "date_range", "end"] => self.end = seconds(text),
            ["feedback", "policy_published", leaf] => self.policy(leaf, text),
            ["feedback", "record"] => {
                let record = std::mem::take(&mut self.record).finish();
                match record {
                    None => self.unreadable += 1,
                    Some(_) if self.records.len() >= MAX_RECORDS => self.omitted += 1,
                    Some(record) => self.records.push(record),
                }
            }
            ["feedback", "record", inner @ ..] => self.record.take(inner, text),
            _ => {}
        }
    }

    fn policy(&mut self, leaf: &str, text: &str) {
        match leaf {
            "domain" => self.domain = domain(text),
            "adkim" => self.adkim = alignment(text),
            "aspf" => self.aspf = alignment(text),
            "p" => self.p = Disposition::from_name(&word(text)),
            "sp" => self.sp = Disposition::from_name(&word(text)),
            "np" => self.np = Disposition::from_name(&word(text)),
            "pct" => self.pct = text.trim().parse().ok().filter(|pct| *pct <= 100),
            "testing" => self.is_testing = word(text) == "y",
            _ => {}
        }
    }

    fn finish(&mut self) -> Result<AggregateReport, DmarcReportError> {
        let missing = DmarcReportError::Missing;
        let email = self.email.take();
        let of_email = email.as_deref().and_then(|email| email.rsplit_once('@')).map(|(_, domain)| domain);
        let begin = self.begin.ok_or(missing("begin"))?;
        let end = self.end.ok_or(missing("end"))?;
        Ok(AggregateReport {
            org_name: self.org_name.take().or(of_email.map(str::to_owned)).unwrap_or_default(),
            email,
            report_id: self.report_id.take().ok_or(missing("report_id"))?,
            // some write them the other way round
            begin: begin.min(end),
            end: begin.max(end),
            policy: PolicyPublished {
                domain: self.domain.take().ok_or(missing("domain"))?,
                adkim: self.adkim.unwrap_or(Alignment::Relaxed),
                aspf: self.aspf.unwrap_or(Alignment::Relaxed),
                p: self.p.unwrap_or(Disposition::None),
                sp: self.sp,
                np: self.np,
                pct: self.pct.unwrap_or(100),
                is_testing: self.is_testing,
            },
            records: std::mem::take(&mut self.records),
            omitted: self.omitted,
            unreadable: self.unreadable,
        })
    }
}
