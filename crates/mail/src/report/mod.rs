//! Understanding the mail that comes back: what became of a delivery, complaints, and answers of machines.
//!
//! - [`read`] tells what a message is. It reads delivery status notifications (RFC 3464, RFC 6522, RFC 6533) and
//!   notices in words, abuse reports (RFC 5965, RFC 6591) in the forms of the providers, disposition notifications
//!   (RFC 8098) and automatic answers (RFC 3834).
//! - [`Facts`] are what the header says about how a mail came: hops, lists, machines.
//!
//! Nothing here is proof. Anybody can write a notification about any address, with any `Message-ID`, so a caller acts on
//! what comes to a return path that it signed itself (VERP), and takes the recipient from there and not from the report.
//! A `Message-ID` is a weak match: every recipient of a mail knows it, as does whoever sees a forwarded copy, so by it
//! alone a stranger can report the mails that were sent to him, and those of a list where all get the same one. The same
//! holds for complaints: providers redact recipients, and a report names what its sender likes.
//!
//! # Bounds
//!
//! Only the first [`MAX_READ`] bytes of a message are looked at, multiparts are opened eight deep, and 100 parts of a
//! message are looked at. A message within the message is looked into when a machine sent the outer one, at most two
//! deep. Every list and text in what is returned has the bound that its documentation says. The time is linear in what
//! is looked at, and nothing in a message makes this panic.

pub(crate) mod address;
mod automatic;
mod codes;
mod facts;
mod feedback;
pub(crate) mod fields;
mod incoming;
pub(crate) mod mime;
mod notice;
mod original;
mod phrases;
mod sender;
mod status;
#[cfg(test)]
mod tests;

pub use self::facts::{Facts, MAX_HOPS};
pub use self::incoming::{
    Action, Arf, AutoReply, Diagnostic, Dsn, FeedbackType, Incoming, MAX_READ, Mdn, Original,
    RecipientReport, ReplyKind,
};
use self::mime::Message;
use self::sender::Likelihood;

/// How many messages deep a report is searched: an alias or a gateway may have put it into another mail.
const MAX_NESTING: usize = 2;
/// How many messages in one are looked into.
const MAX_NESTED: usize = 3;

const DISPOSITION: [&str; 2] =
    ["message/disposition-notification", "message/global-disposition-notification"];

/// Tells what a received message is. `raw` is the message as it came: header, empty line, body; any line ends.
pub fn read(raw: &[u8]) -> Incoming {
    read_nested(&raw[..raw.len().min(MAX_READ)], 0)
}

fn read_nested(raw: &[u8], depth: usize) -> Incoming {
    let message = Message::parse(raw);
    let likelihood = sender::likelihood(&message.head);
    let submitted = automatic::auto_submitted(&message.head).is_some_and(|word| word != "no");
    let is_from_machine = likelihood != Likelihood::Unlikely || submitted;
    if let Some(arf) = feedback::read(&message) {
        return Incoming::Arf(arf);
    }
    if let Some(dsn) = status::read(&message, is_from_machine) {
        return Incoming::Dsn(dsn);
    }
    let is_disposition = message.report_type.as_deref() == Some("disposition-notification");
    if is_disposition || message.leaf(&DISPOSITION).is_some_and(|leaf| leaf.is_in_report) {
        return Incoming::Mdn(Mdn { original: original::of(&message) });
    }
    // what a machine passes on comes before its own words, which may repeat those of the report
    if is_from_machine && depth < MAX_NESTING {
        let leaves = message.leaves.iter().filter(|leaf| leaf.media == "message/rfc822").take(MAX_NESTED);
        let inner = leaves.map(|leaf| read_nested(&leaf.content(MAX_READ), depth + 1));
        let mut reports = inner.filter(|inner| matches!(inner, Incoming::Dsn(_) | Incoming::Arf(_)));
        if let Some(report) = reports.next() {
            return report;
        }
    }
    // a person who is away may write that something cannot be delivered
    let automatic = automatic::read(&message);
    let by_name = sender::by_name(&message.head);
    let likelihood = if automatic.is_some() { by_name } else { likelihood };
    if let Some(dsn) = notice::read(&message, likelihood, by_name) {
        return Incoming::Dsn(dsn);
    }
    automatic.map_or(Incoming::Other, Incoming::AutoReply)
}
