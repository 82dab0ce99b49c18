//! Delivery status notifications (RFC 3464, RFC 6533).

use mailwright_core::time::Timestamp;

use super::address;
use super::codes;
use super::fields::{Field, in_groups};
use super::incoming::{Action, Diagnostic, Dsn, RecipientReport};
use super::mime::{Leaf, Message};
use super::original;

/// How much of a status part is read, in bytes.
const MAX_STATUS: usize = 256 * 1024;
/// How many recipients are kept.
const MAX_RECIPIENTS: usize = 100;
/// How much of a diagnostic text is kept, in bytes.
const MAX_TEXT: usize = 2 * 1024;
const MAX_HOST: usize = 255;
const MAX_KIND: usize = 40;
const MAX_ENVELOPE_ID: usize = 256;
/// The longest date.
const MAX_DATE: usize = 80;

const STATUS: [&str; 2] = ["message/delivery-status", "message/global-delivery-status"];

/// Reads the status part of a message, if it has one that belongs to the message itself.
///
/// A person who forwards a notification attaches its parts to a mail of another kind, which is no notification:
/// outside of a `multipart/report` the part counts when a machine sent it, as `is_from_machine` tells. In a report of
/// that kind any part with the fields counts, whatever its type.
pub(super) fn read(message: &Message<'_>, is_from_machine: bool) -> Option<Dsn> {
    let report = message.report_type.as_deref();
    let belongs = |leaf: &&Leaf<'_>| leaf.is_in_report || is_from_machine;
    let typed = message.leaves.iter().filter(|leaf| STATUS.contains(&&*leaf.media)).find(belongs);
    if let Some(dsn) = typed.and_then(read_part) {
        return Some(finished(dsn, message));
    }
    // the wrong type, or the wrong report: `multipart/report` without one, `text/plain`, `application/octet-stream`
    let is_status_report = report.is_some_and(|kind| kind.is_empty() || kind == "delivery-status");
    if !is_status_report && !is_from_machine {
        return None;
    }
    let others =
        message.leaves.iter().filter(|leaf| !original::RETURNED.contains(&&*leaf.media)).filter(belongs);
    let dsn = others.filter_map(read_part).find(|dsn| !dsn.reports.is_empty())?;
    Some(finished(dsn, message))
}

fn finished(dsn: Dsn, message: &Message<'_>) -> Dsn {
    Dsn { is_structured: true, original: original::of(message), ..dsn }
}

/// The reports in a part; `None` when it has none.
fn read_part(leaf: &Leaf<'_>) -> Option<Dsn> {
    let mut reader = Reader::default();
    for (is_first, field) in in_groups(&leaf.content(MAX_STATUS)) {
        if !reader.take(is_first, &field) {
            break;
        }
    }
    reader.end_group();
    (!reader.dsn.reports.is_empty()).then_some(reader.dsn)
}

/// A recipient whose fields are being read. What decides whether it is kept is not known before its end.
#[derive(Default)]
struct Group {
    final_recipient: Option<String>,
    original_recipient: Option<String>,
    has_recipient: bool,
    action: Option<Action>,
    status: Option<codes::Status>,
    diagnostic: Option<Diagnostic>,
    remote_mta: Option<String>,
    last_attempt: Option<Timestamp>,
}

#[derive(Default)]
struct Reader {
    dsn: Dsn,
    group: Group,
    /// Whether the open group has a field of each name that begins another when it comes again.
    has_final: bool,
    has_original: bool,
}

impl Reader {
    /// Takes a field; `false` when no more recipients are kept.
    fn take(&mut self, is_first: bool, field: &Field<'_>) -> bool {
        let name = field.name.to_ascii_lowercase();
        match &*name {
            b"reporting-mta" => keep(&mut self.dsn.reporting_mta, host(&field.text())),
            b"original-envelope-id" => {
                let id = address::xtext(&field.text());
                keep(
                    &mut self.dsn.envelope_id,
                    (!id.is_empty() && id.len() <= MAX_ENVELOPE_ID).then_some(id),
                );
            }
            b"final-recipient" => {
                if self.has_final || (is_first && self.group.has_recipient) {
                    self.end_group();
                }
                self.has_final = true;
                self.group.has_recipient = true;
                self.group.final_recipient = address::typed(&field.text());
            }
            b"original-recipient" => {
                if self.has_original || (is_first && self.group.has_recipient) {
                    self.end_group();
                }
                self.has_original = true;
                self.group.has_recipient = true;
                self.group.original_recipient = address::typed_xtext(&field.text());
            }
            b"action" => keep(&mut self.group.action, action(&field.text())),
            b"status" => keep(&mut self.group.status, codes::status(&field.text())),
            b"diagnostic-code" => keep(&mut self.group.diagnostic, diagnostic(&field.text())),
            b"remote-mta" => keep(&mut self.group.remote_mta, host(&field.text())),
            b"last-attempt-date" => keep(&mut self.group.last_attempt, date(&field.text())),
            _ => {}
        }
        self.dsn.reports.len() < MAX_RECIPIENTS
    }

    fn end_group(&mut self) {
        let group = std::mem::take(&mut self.group);
        (self.has_final, self.has_original) = (false, false);
        let text = group.diagnostic.as_ref().map_or("", |diagnostic| &diagnostic.text);
        let status = group.status.or_else(|| codes::status_in(text));
        let class = || status.map(|status| status.0).or_else(|| codes::class_in(text));
        // without an action the code tells it, and without both nothing is known
        let action = group.action.or_else(|| match class()? {
            2 => Some(Action::Delivered),
            4 => Some(Action::Delayed),
            _ => Some(Action::Failed),
        });
        let Some(action) = action.filter(|_| group.has_recipient) else { return };
        if self.dsn.reports.len() < MAX_RECIPIENTS {
            self.dsn.reports.push(RecipientReport {
                final_recipient: group.final_recipient,
                original_recipient: group.original_recipient,
                action,
                status,
                diagnostic: group.diagnostic,
                remote_mta: group.remote_mta,
                last_attempt: group.last_attempt,
            });
        }
    }
}

/// Keeps the first value of a field.
fn keep<T>(place: &mut Option<T>, value: Option<T>) {
    if place.is_none() {
        *place = value;
    }
}

/// The first word of an `Action`; what follows is a comment.
fn action(value: &str) -> Option<Action> {
    let word =
        value.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default().to_ascii_lowercase();
    // older drafts, and hosts that never learned better
    let word = if word == "failure" { "failed" } else { &word };
    Action::from_name(word)
}

/// A host after its type, as in `dns; mx.example.com` (RFC 3464 section 2.1.2).
fn host(value: &str) -> Option<String> {
    let value = value.split_once(';').map_or(value, |(_, host)| host).trim();
    let value = &value[..value.floor_char_boundary(MAX_HOST)];
    (!value.is_empty()).then(|| value.to_owned())
}

/// A text after its type, as in `smtp; 550 5.1.1 unknown`. Some leave the type out, and may have a semicolon later.
fn diagnostic(value: &str) -> Option<Diagnostic> {
    let is_kind = |kind: &str| {
        let kind = kind.trim();
        kind.len() <= MAX_KIND
            && kind.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
    };
    let (kind, text) = value.split_once(';').filter(|(kind, _)| is_kind(kind)).unwrap_or(("", value));
    text_of(&kind.trim().to_ascii_lowercase(), text)
}

/// A text that is kept for people: see [`Diagnostic`].
pub(super) fn text_of(kind: &str, text: &str) -> Option<Diagnostic> {
    let text = super::fields::one_line(&text[..text.floor_char_boundary(2 * MAX_TEXT)]);
    let text = text[..text.floor_char_boundary(MAX_TEXT)].to_owned();
    (!text.is_empty()).then(|| Diagnostic { kind: kind.to_owned(), text })
}

/// A date in any common form, as mails have it.
pub(super) fn date(value: &str) -> Option<Timestamp> {
    Timestamp::parse_any(value[..value.floor_char_boundary(MAX_DATE)].trim())
}
