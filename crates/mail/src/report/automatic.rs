//! Automatic answers: people who are away, ticket systems, and more (RFC 3834).

use std::sync::LazyLock;

use super::fields::{Field, Head};
use super::incoming::{AutoReply, ReplyKind};
use super::mime::Message;
use super::original;
use super::phrases::{begins_with, is_passed_on, plain, rows};

/// How much of the text tells the kind of an answer, in bytes.
const MAX_TEXT: usize = 4 * 1024;

static PHRASES: LazyLock<Vec<(Place, ReplyKind, &'static str)>> =
    LazyLock::new(|| rows(include_str!("automatic.txt"), Place::from_name, ReplyKind::from_name));

mailwright_core::names! {
    /// Where a phrase stands.
    pub(super) enum Place {
        Field = "field",
        Subject = "subject",
        Within = "within",
    }
}

/// Reads an automatic answer: a field says that it is one, or its subject begins as that of one. Newsletters and lists
/// are none, unless they say so themselves with `Auto-Submitted`.
pub(super) fn read(message: &Message<'_>) -> Option<AutoReply> {
    let head = &message.head;
    let subject = plain(&head.get("subject").map(Field::decoded).unwrap_or_default());
    let subject = subject.trim_start_matches(|c: char| "[(【「<*《（".contains(c) || c.is_whitespace());
    let submitted = auto_submitted(head).is_some_and(|word| word != "no");
    let of_field = if head.is_bulk() { None } else { by_field(head) };
    let is_ordinary = head.is_bulk() || is_passed_on(subject);
    let of_subject = by_subject(subject);
    if !submitted && of_field.is_none() && (is_ordinary || of_subject.is_none()) {
        return None;
    }
    let named = of_field.filter(|kind| *kind != ReplyKind::Other);
    let kind = named.or(of_subject).or_else(|| by_words(message, subject)).unwrap_or(ReplyKind::Other);
    Some(AutoReply { kind, original: original::of(message) })
}

/// The word that `Auto-Submitted` begins with, lower case (RFC 3834 section 5).
pub(super) fn auto_submitted(head: &Head<'_>) -> Option<String> {
    let text = head.text("auto-submitted")?;
    let word =
        text.split(|c: char| c == ';' || c == '(' || c.is_whitespace()).find(|word| !word.is_empty())?;
    Some(word.to_ascii_lowercase())
}

fn by_field(head: &Head<'_>) -> Option<ReplyKind> {
    let says = |phrase: &str| {
        let (name, value) = phrase.split_once('=').unwrap_or((phrase, ""));
        head.all(name).any(|field| {
            let text = plain(&field.text());
            text.starts_with(value) && !["no", "false", "none", "0"].contains(&&*text)
        })
    };
    let rows = PHRASES.iter().filter(|(place, _, phrase)| *place == Place::Field && says(phrase));
    // one that tells the kind before one that does not
    rows.map(|(_, kind, _)| *kind).min_by_key(|kind| *kind == ReplyKind::Other)
}

/// The longest phrase that the subject begins with decides.
fn by_subject(subject: &str) -> Option<ReplyKind> {
    let rows =
        PHRASES.iter().filter(|(place, _, phrase)| *place == Place::Subject && begins_with(subject, phrase));
    rows.max_by_key(|(_, _, phrase)| phrase.len()).map(|(_, kind, _)| *kind)
}

/// The phrase that comes first, in the subject before the text.
fn by_words(message: &Message<'_>, subject: &str) -> Option<ReplyKind> {
    let words = format!("{subject} {}", plain(&message.words(MAX_TEXT)));
    let found =
        PHRASES.iter().filter(|(place, _, _)| *place == Place::Within).filter_map(|(_, kind, phrase)| {
            memchr::memmem::find(words.as_bytes(), phrase.as_bytes()).map(|at| (at, *kind))
        });
    found.min_by_key(|(at, _)| *at).map(|(_, kind)| kind)
}

#[cfg(test)]
mod tests {
    use super::{PHRASES, Place, plain};
    use crate::report::{Incoming, ReplyKind, read};

    fn kind(raw: &str) -> Option<ReplyKind> {
        match read(raw.as_bytes()) {
            Incoming::AutoReply(reply) => Some(reply.kind),
            _ => None,
        }
    }

    #[test]
    fn every_row_is_used() {
        let lines = include_str!("automatic.txt").lines().filter(|line| !line.starts_with('#'));
        assert_eq!(lines.count(), PHRASES.len());
        for (nth, (place, expected, phrase)) in PHRASES.iter().enumerate() {
            assert_eq!(plain(phrase), *phrase);
            let raw = match place {
                Place::Field => {
                    let (name, value) = phrase.split_once('=').unwrap_or((phrase, "yes"));
                    format!("{name}: {value}\nSubject: x\n\nx\n")
                }
                Place::Subject => format!("Subject: {phrase} x\n\nx\n"),
                Place::Within => format!("Auto-Submitted: auto-replied\nSubject: x\n\nHello. {phrase}\n"),
            };
            assert_eq!(kind(&raw), Some(*expected), "{phrase}");
            let repeated = PHRASES[..nth].iter().any(|row| row.0 == *place && row.2 == *phrase);
            assert!(!repeated, "twice: {phrase}");
        }
    }

    #[test]
    fn answers_are_told_from_mails() {
        for (raw, expected) in [
            ("Auto-Submitted: no\nSubject: x\n\n", None),
            ("Auto-Submitted: auto-generated\nSubject: x\n\n", Some(ReplyKind::Other)),
            ("Auto-Submitted: auto-replied (vacation)\nSubject: Re: x\n\n", Some(ReplyKind::Other)),
            ("X-Auto-Response-Suppress: All\nSubject: x\n\n", None),
            ("X-Autoreply: no\nSubject: x\n\n", None),
            ("Precedence: bulk\nSubject: x\n\n", None),
            ("Precedence: junk\nList-Id: <a.example>\nSubject: x\n\n", None),
            ("Subject: Re: Out of office\n\n", None),
            ("Subject: Out of officers\n\n", None),
            ("Subject: Out of office: our summer deals\nList-Unsubscribe: <https://a.example>\n\n", None),
            ("Subject: Out of Office: Re: hello\n\n", Some(ReplyKind::Vacation)),
            ("Subject: =?utf-8?B?6Ieq5YuV5b+c562U?=: x\n\n", Some(ReplyKind::Vacation)),
        ] {
            assert_eq!(kind(raw), expected, "{raw}");
        }
    }
}
