//! The messages in `corpus/`, and what each of them is: `corpus/expected.txt`.

use std::path::PathBuf;

use crate::report::{Arf, Incoming, Original, RecipientReport, read};

/// The names of the messages and the messages, by name.
pub(super) fn messages() -> Vec<(String, Vec<u8>)> {
    let mut found: Vec<_> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "eml"))
        .map(|path| (path.file_stem().unwrap().to_str().unwrap().to_owned(), std::fs::read(&path).unwrap()))
        .collect();
    found.sort();
    found
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/report/corpus")
}

#[test]
fn every_message_is_what_the_table_says() {
    let messages = messages();
    assert!(messages.len() >= 60);
    let actual: String =
        messages.iter().map(|(name, raw)| [name, "\n", &describe(&read(raw))].concat()).collect();
    // all of the table at once, so that a change shows all that it changes
    let differs = lines_that_differ(include_str!("../corpus/expected.txt"), &actual);
    assert!(differs.is_empty(), "{differs}");
}

#[test]
fn line_ends_make_no_difference() {
    for (name, raw) in messages() {
        let expected = read(&raw);
        let text = String::from_utf8_lossy(&raw).into_owned();
        assert_eq!(read(text.replace('\n', "\r\n").as_bytes()), expected, "{name}");
        // without the last line end, as some hosts strip it
        assert_eq!(read(text.trim_end().as_bytes()), expected, "{name}");
    }
}

#[test]
fn what_is_no_complaint_is_not_told_as_one() {
    let complaints = messages().into_iter().filter_map(|(name, raw)| match read(&raw) {
        Incoming::Arf(arf) => Some((name, arf.feedback_type.is_complaint())),
        _ => None,
    });
    for (name, is_complaint) in complaints {
        let others = ["arf-not-spam", "arf-auth-failure", "arf-unregistered-type", "xarf-login-attack"];
        assert_eq!(is_complaint, !others.contains(&&*name), "{name}");
    }
}

fn lines_that_differ(expected: &str, actual: &str) -> String {
    let table: Vec<&str> = expected.lines().filter(|line| !line.starts_with('#')).collect();
    let actual: Vec<&str> = actual.lines().collect();
    if table == actual {
        return String::new();
    }
    let missing = table.iter().filter(|line| !actual.contains(line)).map(|line| format!("- {line}\n"));
    let added = actual.iter().filter(|line| !table.contains(line)).map(|line| format!("+ {line}\n"));
    format!("{}{}", missing.collect::<String>(), added.collect::<String>())
}

/// Lines for a message, with two spaces before each; what is not known is left out.
fn describe(incoming: &Incoming) -> String {
    match incoming {
        Incoming::Dsn(dsn) => {
            let mut line = format!("dsn {}", if dsn.is_structured { "fields" } else { "words" });
            add(&mut line, "mta", dsn.reporting_mta.as_deref());
            add(&mut line, "envelope", dsn.envelope_id.as_deref());
            let reports: String = dsn.reports.iter().map(report).collect();
            format!("  {line}\n{reports}{}", original(dsn.original.as_ref()))
        }
        Incoming::Arf(arf) => format!("{}{}", feedback(arf), original(arf.original.as_ref())),
        Incoming::AutoReply(reply) => {
            format!("  automatic {}\n{}", reply.kind, original(reply.original.as_ref()))
        }
        Incoming::Mdn(mdn) => format!("  mdn\n{}", original(mdn.original.as_ref())),
        Incoming::Other => "  other\n".to_owned(),
    }
}

fn report(report: &RecipientReport) -> String {
    let mut line = format!("  {}", report.action);
    add(&mut line, "final", report.final_recipient.as_deref());
    add(&mut line, "original", report.original_recipient.as_deref());
    let status = report.status.map(|(class, subject, detail)| format!("{class}.{subject}.{detail}"));
    add(&mut line, "status", status.as_deref());
    add(&mut line, "remote", report.remote_mta.as_deref());
    add(&mut line, "last", report.last_attempt.map(|instant| instant.to_string()).as_deref());
    let diagnostic = report.diagnostic.as_ref().map(|text| format!("{}: {}", text.kind, text.text));
    add(&mut line, "diagnostic", diagnostic.as_deref());
    format!("{line}\n")
}

fn feedback(arf: &Arf) -> String {
    let mut line = format!("  arf {}", arf.feedback_type);
    add(&mut line, "arrival", arf.arrival.map(|instant| instant.to_string()).as_deref());
    add(&mut line, "ip", arf.source_ip.map(|ip| ip.to_string()).as_deref());
    add(&mut line, "from", arf.original_mail_from.as_deref());
    for to in &arf.original_rcpt_to {
        add(&mut line, "to", Some(to));
    }
    for domain in &arf.reported_domains {
        add(&mut line, "domain", Some(domain));
    }
    add(&mut line, "agent", arf.user_agent.as_deref());
    add(&mut line, "envelope", arf.envelope_id.as_deref());
    if arf.incidents != 1 {
        add(&mut line, "incidents", Some(&arf.incidents.to_string()));
    }
    format!("{line}\n")
}

fn original(original: Option<&Original>) -> String {
    let Some(original) = original else { return String::new() };
    let mut line = "  of".to_owned();
    add(&mut line, "id", original.message_id.as_deref());
    add(&mut line, "return", original.return_path.as_deref());
    add(&mut line, "from", original.from.as_deref());
    for to in &original.recipients {
        add(&mut line, "to", Some(to));
    }
    for id in &original.answers {
        add(&mut line, "answers", Some(id));
    }
    format!("{line}\n")
}

fn add(line: &mut String, name: &str, value: Option<&str>) {
    if let Some(value) = value {
        line.push_str(&format!(" {name}={value}"));
    }
}
