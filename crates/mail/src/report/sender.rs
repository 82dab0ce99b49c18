//! Who sent a message, and whether that is a machine.

use std::sync::LazyLock;

use super::address;
use super::fields::{Field, Head};
use super::phrases::{plain, rows};

static SENDERS: LazyLock<Vec<(Place, Kind, &'static str)>> =
    LazyLock::new(|| rows(include_str!("senders.txt"), Place::from_name, Kind::from_name));

mailwright_core::names! {
    /// Where a text of the table stands.
    pub(super) enum Place {
        Local = "local",
        Name = "name",
    }
}

mailwright_core::names! {
    /// What writes under a name.
    #[derive(PartialOrd, Ord)]
    pub(super) enum Kind {
        Person = "person",
        System = "system",
    }
}

/// How likely it is that a mail system wrote a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Likelihood {
    /// Nothing says so.
    Unlikely,
    /// Somebody wrote it whose name is also that of a person's role, such as `postmaster`.
    Perhaps,
    /// Only mail systems have this name, or the message has no envelope sender.
    Likely,
}

/// How likely it is that a mail system wrote a message, by its `From` and its `Return-Path`.
pub(super) fn likelihood(head: &Head<'_>) -> Likelihood {
    let has_null_path = head.text("return-path").is_some_and(|path| path.starts_with("<>"));
    if has_null_path { Likelihood::Likely } else { by_name(head) }
}

/// The same by its `From` alone: automatic answers have no envelope sender either (RFC 3834 section 3.3).
pub(super) fn by_name(head: &Head<'_>) -> Likelihood {
    let from = head.get("from").map(Field::decoded).unwrap_or_default();
    let name = plain(from.split('<').next().unwrap_or_default());
    let name = name.trim_matches(['"', '\'', ' ']);
    let address = address::first(&from).unwrap_or_else(|| from.trim_matches(['<', '>', ' ']).to_owned());
    let local = plain(address.split('@').next().unwrap_or_default());
    let kinds = SENDERS.iter().filter(|(place, _, text)| match place {
        Place::Local => local == *text,
        Place::Name => name.starts_with(text),
    });
    match kinds.map(|(_, kind, _)| *kind).max() {
        Some(Kind::System) => Likelihood::Likely,
        Some(Kind::Person) => Likelihood::Perhaps,
        None => Likelihood::Unlikely,
    }
}

#[cfg(test)]
mod tests {
    use super::{Kind, Likelihood, Place, SENDERS, likelihood};
    use crate::report::fields::Head;

    fn of(header: &str) -> Likelihood {
        likelihood(&Head::split(header.as_bytes()).0)
    }

    #[test]
    fn every_row_is_used() {
        let lines = include_str!("senders.txt").lines().filter(|line| !line.starts_with('#'));
        assert_eq!(lines.count(), SENDERS.len());
        for (place, kind, text) in SENDERS.iter() {
            let header = match place {
                Place::Local => format!("From: <{text}@example.com>\n\n"),
                Place::Name => format!("From: \"{text}\" <x@example.com>\n\n"),
            };
            let expected = if *kind == Kind::System { Likelihood::Likely } else { Likelihood::Perhaps };
            assert_eq!(of(&header), expected, "{text}");
        }
    }

    #[test]
    fn people_are_told_from_systems() {
        for (header, expected) in [
            ("From: MAILER-DAEMON\n\n", Likelihood::Likely),
            ("From: MAILER-DAEMON@mx.example.com (Mail Delivery System)\n\n", Likelihood::Likely),
            ("From: <>\nReturn-Path: <>\n\n", Likelihood::Likely),
            ("Return-Path: <ada@example.com>\nFrom: postmaster@example.com\n\n", Likelihood::Perhaps),
            ("From: Ada <ada@example.com>\n\n", Likelihood::Unlikely),
            ("Subject: x\n\n", Likelihood::Unlikely),
        ] {
            assert_eq!(of(header), expected, "{header}");
        }
    }
}
