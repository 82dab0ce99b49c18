//! The tables of phrases, and what notices need beside them.

use crate::report::phrases::plain;
use crate::report::{Action, Dsn, Incoming, read};

fn rows(table: &str) -> Vec<(&str, &str, &str)> {
    let lines = table.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let mut cells = line.split('\t');
            let row = (cells.next().unwrap(), cells.next().unwrap(), cells.next().unwrap());
            assert_eq!(cells.next(), None, "{line}");
            row
        })
        .collect()
}

fn dsn(raw: &str) -> Option<Dsn> {
    match read(raw.as_bytes()) {
        Incoming::Dsn(dsn) => Some(dsn),
        _ => None,
    }
}

fn action(raw: &str) -> Option<Action> {
    dsn(raw).map(|dsn| dsn.reports[0].action)
}

#[test]
fn every_phrase_is_used() {
    let rows = rows(include_str!("../notices.txt"));
    for (nth, (place, name, phrase)) in rows.iter().enumerate() {
        assert_eq!(plain(phrase), *phrase, "not as it is searched");
        let expected = Action::from_name(name);
        assert!(expected.is_some(), "{name}");
        let raw = match *place {
            "subject" => format!("From: mailer-daemon@a.example\nSubject: {phrase} x\n\nx\n"),
            "start" => format!("From: someone@a.example\nSubject: x\n\n{phrase} x\n"),
            "body" => format!("From: mailer-daemon@a.example\nSubject: x\n\nWell, {phrase}.\n"),
            other => panic!("{other}"),
        };
        assert_eq!(action(&raw), expected, "{phrase}");
        let without = raw.replace(phrase, "hello");
        assert_eq!(action(&without), None, "{phrase}");
        let others = rows.iter().enumerate().filter(|(other, row)| *other != nth && row.0 == *place);
        for (_, other) in others {
            // one that another one finds as well is not needed, unless it says something else
            let is_found = if *place == "body" { phrase.contains(other.2) } else { *phrase == other.2 };
            assert!(!is_found || other.1 != *name, "{phrase} is found by {}", other.2);
        }
    }
}

#[test]
fn every_begin_of_a_copy_is_used() {
    for marker in include_str!("../originals.txt").lines().filter(|line| !line.starts_with('#')) {
        assert_eq!(plain(marker), marker);
        let raw = format!(
            "From: mailer-daemon@a.example\nSubject: Undeliverable: x\n\nada@example.com\n\n--- {marker}. ---\n\n\
             Message-ID: <1@x>\nTo: bob@example.com\n"
        );
        let dsn = dsn(&raw).unwrap();
        let recipients: Vec<_> =
            dsn.reports.iter().filter_map(|report| report.final_recipient.as_deref()).collect();
        assert_eq!(recipients, ["ada@example.com"], "{marker}");
        let original = dsn.original.unwrap();
        assert_eq!(original.message_id.as_deref(), Some("1@x"), "{marker}");
        assert_eq!(original.recipients, ["bob@example.com"], "{marker}");
    }
}

#[test]
fn a_notice_needs_a_mail_system() {
    for (raw, expected) in [
        ("From: ada@a.example\nSubject: Undelivered mail\n\nIt could not be delivered.\n", None),
        ("From: mailer-daemon@a.example\nSubject: hello\n\nhello\n", None),
        ("From: postmaster@a.example\nSubject: hello\n\n550 5.1.1 hello\n", None),
        ("From: mailer-daemon@a.example\nSubject: hello\n\n450 4.2.1 hello\n", Some(Action::Delayed)),
        ("From: ada@a.example\nX-Failed-Recipients: b@b.example\nSubject: x\n\nx\n", Some(Action::Failed)),
        ("From: mailer-daemon@a.example\nList-Id: <x>\nSubject: Undelivered mail\n\nx\n", None),
        ("From: mailer-daemon@a.example\nSubject: Fwd: Undelivered mail\n\nx\n", None),
    ] {
        assert_eq!(action(raw), expected, "{raw}");
    }
}

#[test]
fn recipients_are_those_of_the_notice_and_not_those_around_it() {
    let raw = "From: postmaster@a.example\nTo: b+1@return.example\nSubject: Undeliverable: x\n\n\
        Dear b+1@return.example, your mail to <ada@a.example> could not be delivered.\n\
        Ask postmaster@a.example.\n";
    let reports = dsn(raw).unwrap().reports;
    assert_eq!(reports.len(), 1);
    assert_eq!(reports[0].final_recipient.as_deref(), Some("ada@a.example"));
    assert_eq!(reports[0].status, None);
}
