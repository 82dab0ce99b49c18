//! Notices in words: what mail systems send that know no delivery status notifications, or send them broken.

use std::sync::LazyLock;

use super::address::{self, Found};
use super::codes;
use super::fields::{Field, Head};
use super::incoming::{Action, Dsn, RecipientReport};
use super::mime::Message;
use super::original;
use super::phrases::{begins_with, is_passed_on, plain, rows};
use super::sender::Likelihood;
use super::status::text_of;

/// How much of a notice is read, in bytes.
const MAX_NOTICE: usize = 64 * 1024;
/// How much of a notice is searched for phrases, in bytes: they stand at its begin.
const MAX_SEARCHED: usize = 8 * 1024;
/// How much text explains one recipient, in bytes.
const MAX_REASON: usize = 2 * 1024;
const MAX_RECIPIENTS: usize = 100;
/// The longest line that says that a copy follows.
const MAX_MARKER: usize = 300;
/// The longest label before an address, as in `Recipient: ada@example.com`.
const MAX_LABEL: usize = 40;

static PHRASES: LazyLock<Vec<(Place, Action, &'static str)>> =
    LazyLock::new(|| rows(include_str!("notices.txt"), Place::from_name, Action::from_name));

static ORIGINALS: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let lines = include_str!("originals.txt").lines();
    lines.filter(|line| !line.is_empty() && !line.starts_with('#')).collect()
});

mailwright_core::names! {
    /// Where a phrase stands.
    pub(super) enum Place {
        Subject = "subject",
        Start = "start",
        Body = "body",
    }
}

/// Reads a notice in words.
///
/// It needs a sender that is a mail system and a phrase that is known, or a field or a begin that no person writes. A
/// mail system whose words are not known is understood by the code that it repeats, when its name says what it is.
pub(super) fn read(message: &Message<'_>, likelihood: Likelihood, by_name: Likelihood) -> Option<Dsn> {
    let failed: Vec<String> = failed_recipients(&message.head);
    let subject = plain(&message.head.get("subject").map(Field::decoded).unwrap_or_default());
    if failed.is_empty() && (message.head.is_bulk() || is_passed_on(&subject)) {
        return None;
    }
    let text = message.words(MAX_NOTICE);
    let (notice, copy) = split_copy(&text);
    let words = plain(&notice[..notice.floor_char_boundary(MAX_SEARCHED)]);
    let start = by_start(&words);
    if failed.is_empty() && start.is_none() && likelihood == Likelihood::Unlikely {
        return None;
    }
    let known = by_subject(&subject).or_else(|| by_body(&words)).or(start);
    let action = known.or_else(|| (!failed.is_empty()).then_some(Action::Failed)).or_else(|| {
        let class = codes::class_in(notice).filter(|_| by_name == Likelihood::Likely)?;
        Some(if class == 4 { Action::Delayed } else { Action::Failed })
    })?;
    let reports = reports(&message.head, notice, &failed, action);
    Some(Dsn { reports, original: original::of_notice(message, copy), ..Dsn::default() })
}

/// What the subject says.
fn by_subject(subject: &str) -> Option<Action> {
    // an alias or a filter may have put something in brackets before it
    let subject = subject.trim_start_matches(['*', ' ', '!', '"']);
    let rows = PHRASES.iter().filter(|(place, _, _)| *place == Place::Subject);
    rows.filter(|(_, _, phrase)| begins_with(subject, phrase)).map(|(_, action, _)| *action).next()
}

fn by_start(words: &str) -> Option<Action> {
    let mut rows = PHRASES.iter().filter(|(place, _, _)| *place == Place::Start);
    rows.find(|(_, _, phrase)| words.starts_with(phrase)).map(|(_, action, _)| *action)
}

/// What the phrase says that comes first.
fn by_body(words: &str) -> Option<Action> {
    let rows = PHRASES.iter().filter(|(place, _, _)| *place == Place::Body);
    let found = rows.filter_map(|(_, action, phrase)| {
        memchr::memmem::find(words.as_bytes(), phrase.as_bytes()).map(|at| (at, *action))
    });
    found.min_by_key(|(at, _)| *at).map(|(_, action)| action)
}

/// The addresses that Exim names, and others after its example.
fn failed_recipients(head: &Head<'_>) -> Vec<String> {
    let texts = head.all("x-failed-recipients").map(Field::text);
    let mut failed: Vec<String> = Vec::new();
    for text in texts {
        for found in address::found(&text) {
            if failed.len() < MAX_RECIPIENTS && !failed.iter().any(|known| known == found.address) {
                failed.push(found.address.to_owned());
            }
        }
    }
    failed
}

/// Splits a notice from the copy of the mail that it repeats.
fn split_copy(text: &str) -> (&str, &str) {
    let mut at = 0;
    let mut is_first = true;
    for line in text.split_inclusive('\n') {
        let words = line.trim_matches(|c: char| c.is_whitespace() || "-=*_<>[]~".contains(c));
        if !words.is_empty() && words.len() <= MAX_MARKER && !is_first {
            let words = plain(words);
            if ORIGINALS.iter().any(|marker| begins_with(&words, marker)) {
                return (&text[..at], &text[at + line.len()..]);
            }
        }
        is_first &= words.is_empty();
        at += line.len();
    }
    (text, "")
}

/// A report for each recipient that the notice names, or one for all when it names none.
fn reports(head: &Head<'_>, notice: &str, failed: &[String], action: Action) -> Vec<RecipientReport> {
    let named = if failed.is_empty() { named(head, notice) } else { Vec::new() };
    let mut recipients: Vec<(String, Option<usize>)> = if failed.is_empty() {
        named.iter().map(|found| (found.address.to_owned(), Some(found.at))).collect()
    } else {
        failed.iter().map(|address| (address.clone(), notice.find(&**address))).collect()
    };
    recipients.truncate(MAX_RECIPIENTS);
    // where the words about a recipient end: where those about the next one begin
    let mut begins: Vec<usize> =
        recipients.iter().filter_map(|(_, at)| *at).map(|at| line_of(notice, at)).collect();
    begins.sort_unstable();
    let is_one = recipients.len() < 2;
    let report = |address: Option<String>, at: Option<usize>| {
        let begin = at.map_or(0, |at| line_of(notice, at));
        let end = begins.iter().copied().find(|next| *next > begin).unwrap_or(notice.len());
        let reason = &notice[begin..end];
        let reason = &reason[..reason.floor_char_boundary(MAX_REASON)];
        let elsewhere = || if is_one { codes::status_in(notice) } else { None };
        RecipientReport {
            final_recipient: address,
            status: codes::status_in(reason)
                .or_else(elsewhere)
                .filter(|status| status.0 != 2 || action == Action::Delivered),
            diagnostic: text_of("text", reason),
            ..RecipientReport::of(action)
        }
    };
    if recipients.is_empty() {
        return vec![report(None, None)];
    }
    recipients.into_iter().map(|(address, at)| report(Some(address), at)).collect()
}

/// Where the line begins in which `at` is.
fn line_of(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |end| end + 1)
}

/// The addresses in a notice that may be recipients: those that begin a line, or stand behind a label; if there are
/// none, all others. Each once, and neither those of the notice's own header nor those of mail systems.
fn named<'a>(head: &Head<'_>, notice: &'a str) -> Vec<Found<'a>> {
    let own: Vec<String> = ["from", "to", "sender", "reply-to", "cc"]
        .iter()
        .filter_map(|name| head.text(name))
        .flat_map(|text| {
            address::found(&text).map(|found| found.address.to_ascii_lowercase()).collect::<Vec<_>>()
        })
        .take(MAX_RECIPIENTS)
        .collect();
    let mut first: Vec<Found<'_>> = Vec::new();
    let mut others: Vec<Found<'_>> = Vec::new();
    let mut end = 0;
    for found in address::found(notice) {
        let lower = found.address.to_ascii_lowercase();
        let is_system = ["postmaster@", "mailer-daemon@", "abuse@", "hostmaster@"]
            .iter()
            .any(|local| lower.starts_with(local));
        // a second address of the line follows the first one, so only that is looked at from the begin of the line
        let begin = line_of(&notice[end..], found.at - end) + end;
        let before = &notice[begin..found.at];
        let list = if begins_line(before) { &mut first } else { &mut others };
        end = found.end();
        let is_known = list.iter().any(|known| known.address.eq_ignore_ascii_case(found.address));
        if !is_system
            && !is_known
            && !is_of_header(before)
            && !own.contains(&lower)
            && list.len() < MAX_RECIPIENTS
        {
            list.push(found);
        }
    }
    if first.is_empty() { others } else { first }
}

/// Whether what stands before an address is the name of a field that names no recipient: some notices repeat the header
/// without a line that says so.
fn is_of_header(before: &str) -> bool {
    let name = before.trim_start_matches(['>', ' ', '\t']).split(':').next().unwrap_or_default();
    let names =
        ["from", "sender", "reply-to", "return-path", "message-id", "in-reply-to", "references", "received"];
    before.contains(':') && names.iter().any(|known| name.eq_ignore_ascii_case(known))
}

/// Whether nothing but signs, or a label with a colon, stands before an address in its line.
fn begins_line(before: &str) -> bool {
    let before = before.trim_end_matches(|c: char| !c.is_alphanumeric() && c != ':' && c != '：');
    let label = before.trim_start_matches(|c: char| !c.is_alphanumeric());
    label.is_empty() || (label.len() <= MAX_LABEL && label.ends_with([':', '：']))
}
