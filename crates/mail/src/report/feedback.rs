//! Reports about mails: ARF (RFC 5965), and what providers send instead.

use std::net::IpAddr;

use super::fields::{Field, in_groups, one_line};
use super::incoming::{Arf, FeedbackType};
use super::mime::{Leaf, Message};
use super::phrases::{is_passed_on, plain};
use super::{address, original, status};

/// How much of a report is read, in bytes.
const MAX_REPORT: usize = 64 * 1024;
const MAX_RECIPIENTS: usize = 100;
const MAX_DOMAINS: usize = 20;
/// The longest domain or name of a program that is kept.
const MAX_NAME: usize = 255;

/// The field with which Microsoft's reports name the recipient; they have no part of their own.
const OF_MICROSOFT: &str = "x-hmxmroriginalrecipient";

/// Reads a report in any of its forms.
pub(super) fn read(message: &Message<'_>) -> Option<Arf> {
    let subject = plain(&message.head.get("subject").map(Field::decoded).unwrap_or_default());
    if is_passed_on(&subject) && message.report_type.is_none() {
        // somebody shows a report to somebody else
        return None;
    }
    standard(message)
        .or_else(|| of_microsoft(message, &subject))
        .or_else(|| of_spamcop(message, &subject))
        .or_else(|| x_arf(message))
}

/// ARF, also with the wrong type of part, where the report says that it is one.
fn standard(message: &Message<'_>) -> Option<Arf> {
    if let Some(leaf) = message.leaf(&["message/feedback-report"]) {
        return Some(read_part(leaf, message));
    }
    if message.report_type.as_deref() != Some("feedback-report") {
        return None;
    }
    let mut others = message.leaves.iter().filter(|leaf| !original::RETURNED.contains(&&*leaf.media));
    let leaf = others
        .find(|leaf| in_groups(&leaf.content(MAX_REPORT)).any(|(_, field)| field.is("feedback-type")))?;
    Some(read_part(leaf, message))
}

fn read_part(leaf: &Leaf<'_>, message: &Message<'_>) -> Arf {
    let mut arf = of(FeedbackType::Unknown, message);
    for (_, field) in in_groups(&leaf.content(MAX_REPORT)) {
        let name = field.name.to_ascii_lowercase();
        match &*name {
            b"feedback-type" => arf.feedback_type = feedback_type(&field.text()),
            b"arrival-date" | b"received-date" => arf.arrival = status::date(&field.text()).or(arf.arrival),
            b"source-ip" => arf.source_ip = ip(&field.text()).or(arf.source_ip),
            b"original-mail-from" => arf.original_mail_from = address::first(&field.text()),
            b"original-rcpt-to" | b"removal-recipient" => add_recipients(&mut arf, &field.text()),
            b"reported-domain" => add_domain(&mut arf, &field.text()),
            b"user-agent" => arf.user_agent = name_of(&field.text()),
            b"original-envelope-id" => arf.envelope_id = name_of(&address::xtext(&field.text())),
            b"incidents" => arf.incidents = field.text().parse().unwrap_or(1).max(1),
            _ => {}
        }
    }
    arf
}

/// Microsoft's junk mail reports: a mail from `staff@hotmail.com` with the other one in it, whose header names the
/// recipient.
fn of_microsoft(message: &Message<'_>, subject: &str) -> Option<Arf> {
    let from = message.head.get("from").and_then(|field| address::first(&field.text()))?;
    if !from.to_ascii_lowercase().starts_with("staff@")
        && !subject.starts_with("complaint about message from")
    {
        return None;
    }
    let leaves = message.leaves.iter().filter(|leaf| leaf.media == "message/rfc822");
    let recipients = leaves.map(|leaf| {
        original::with_head(leaf, |head| {
            head.all(OF_MICROSOFT).map(Field::text).take(MAX_RECIPIENTS).collect()
        })
    });
    let recipients: Vec<String> = recipients.into_iter().find(|texts: &Vec<String>| !texts.is_empty())?;
    let mut arf = of(FeedbackType::Abuse, message);
    for text in &recipients {
        add_recipients(&mut arf, text);
    }
    arf.source_ip = subject.split_whitespace().find_map(|word| word.parse().ok());
    Some(arf)
}

/// `SpamCop`'s reports for people: words, and the mail behind a line that says so.
fn of_spamcop(message: &Message<'_>, subject: &str) -> Option<Arf> {
    let words = message.words(MAX_REPORT);
    let (report, mail) = words.split_once("[ Offending message ]")?;
    if !subject.starts_with("[spamcop") || !report.contains("[ SpamCop V") {
        return None;
    }
    let mut arf = of(FeedbackType::Abuse, message);
    arf.original = original::of_notice(message, mail);
    arf.user_agent = Some("SpamCop".to_owned());
    let place = report.split_once("mail from ").map_or(report, |(_, place)| place);
    arf.source_ip = place.split([' ', '/', ']', '\n']).find_map(|word| word.parse().ok());
    Some(arf)
}

/// X-ARF: fields of YAML in a part of text. Only reports about mails are complaints: attacks on logins come the same
/// way.
fn x_arf(message: &Message<'_>) -> Option<Arf> {
    if !message.head.has("x-xarf") && !message.head.has("x-arf") {
        return None;
    }
    let texts = message.leaves.iter().filter(|leaf| leaf.media.starts_with("text/"));
    let report = texts.map(|leaf| leaf.text(MAX_REPORT)).find(|text| text.contains("\nReport-Type:"))?;
    let mut arf = of(FeedbackType::Unknown, message);
    for line in report.lines() {
        let Some((name, value)) = line.split_once(':') else { continue };
        let value = value.trim().trim_matches(['\'', '"']);
        match &*name.trim().to_ascii_lowercase() {
            "report-type" if value.to_ascii_lowercase().contains("spam") => {
                arf.feedback_type = FeedbackType::Abuse;
            }
            "source" => arf.source_ip = ip(value),
            "date" => arf.arrival = status::date(value),
            "user-agent" => arf.user_agent = name_of(value),
            _ => {}
        }
    }
    Some(arf)
}

/// A report of which only the type is known, and the mail that is in it.
fn of(feedback_type: FeedbackType, message: &Message<'_>) -> Arf {
    Arf {
        feedback_type,
        arrival: None,
        source_ip: None,
        original_mail_from: None,
        original_rcpt_to: Vec::new(),
        reported_domains: Vec::new(),
        user_agent: None,
        envelope_id: None,
        incidents: 1,
        original: original::of(message),
    }
}

fn feedback_type(value: &str) -> FeedbackType {
    let word = value.split([';', '(', ' ']).next().unwrap_or_default().to_ascii_lowercase();
    match &*word {
        // RFC 5965 has `not-spam` from RFC 6430; others write it as one word
        "notspam" | "not_spam" => FeedbackType::NotSpam,
        "opt-out-list" | "optout" => FeedbackType::OptOut,
        word => FeedbackType::from_name(word).unwrap_or(FeedbackType::Unknown),
    }
}

/// Adds the addresses of a field. Redacted ones name nobody.
fn add_recipients(arf: &mut Arf, text: &str) {
    for found in address::found(text) {
        let is_redacted = found.address.to_ascii_lowercase().contains("redacted");
        let is_known = arf.original_rcpt_to.iter().any(|known| known == found.address);
        if !is_redacted && !is_known && arf.original_rcpt_to.len() < MAX_RECIPIENTS {
            arf.original_rcpt_to.push(found.address.to_owned());
        }
    }
}

fn add_domain(arf: &mut Arf, text: &str) {
    if let Some(domain) = name_of(text).filter(|_| arf.reported_domains.len() < MAX_DOMAINS) {
        arf.reported_domains.push(domain);
    }
}

fn name_of(text: &str) -> Option<String> {
    let text = one_line(text);
    (!text.is_empty() && text.len() <= MAX_NAME).then_some(text)
}

/// An address of a host, perhaps as a literal (RFC 5321 section 4.1.3).
fn ip(text: &str) -> Option<IpAddr> {
    let text = text.trim().trim_matches(['[', ']']);
    text.strip_prefix("IPv6:").unwrap_or(text).parse().ok()
}
