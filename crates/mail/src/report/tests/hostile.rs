//! Messages that are made to cost much. The times are far above what it takes, and far below what a quadratic way
//! would.

use std::time::{Duration, Instant};

use crate::report::{Facts, Incoming, MAX_READ, read};

/// Far more than a build without optimisation needs on a busy machine, for the megabyte that is looked at.
const MOST: Duration = Duration::from_secs(5);

fn timed(name: &str, raw: &[u8]) -> Incoming {
    let begin = Instant::now();
    let incoming = read(raw);
    let reading = begin.elapsed();
    let facts = Facts::read(raw);
    println!(
        "{name}: {} bytes, {reading:?}, facts after {:?}, {} hops",
        raw.len(),
        begin.elapsed(),
        facts.hops
    );
    assert!(begin.elapsed() < MOST, "{name} took {:?}", begin.elapsed());
    incoming
}

/// A notification with hostile content behind its header.
fn report(content: &str) -> String {
    format!(
        "From: MAILER-DAEMON@a.example\nAuto-Submitted: auto-replied\n\
         Content-Type: multipart/report; report-type=delivery-status; boundary=b\n\n{content}"
    )
}

#[test]
fn deep_trees_cost_no_stack_and_no_time() {
    let nested = "Content-Type: message/rfc822\n\n".repeat(1_000_000);
    timed("messages in messages", nested.as_bytes());
    let from_machine = "From: MAILER-DAEMON\nContent-Type: message/rfc822\n\n".repeat(100_000);
    timed("messages of machines in messages", from_machine.as_bytes());
    let opened = |nth: usize| format!("Content-Type: multipart/mixed; boundary=b{nth}\n\n--b{nth}\n");
    let multiparts = (0..100_000).map(opened).collect::<Vec<_>>().concat();
    timed("multiparts in multiparts", multiparts.as_bytes());
    let same = "Content-Type: multipart/mixed; boundary=b\n\n--b\n".repeat(100_000);
    timed("multiparts of one boundary", same.as_bytes());
}

#[test]
fn many_parts_cost_no_time() {
    timed("parts", report(&"--b\n\na\n".repeat(100_000)).as_bytes());
    timed("delimiters", report(&"--b\n".repeat(300_000)).as_bytes());
    timed("half a delimiter", report(&"\n--".repeat(350_000)).as_bytes());
    let lost = "--b\nContent-Type: multipart/mixed; boundary=lost\n\nx\n".repeat(20_000);
    timed("boundaries that never come", report(&lost).as_bytes());
    let dashes = "-".repeat(200);
    let raw = format!("Content-Type: multipart/mixed; boundary={dashes}x\n\n{}", "-".repeat(MAX_READ));
    timed("dashes", raw.as_bytes());
    let encoded =
        "--b\nContent-Transfer-Encoding: base64\nContent-Type: message/rfc822\n\n!\n".repeat(15_000);
    timed("encodings that are broken", report(&encoded).as_bytes());
}

#[test]
fn long_headers_cost_no_time() {
    for (name, field) in [
        ("subject", format!("Subject: {}\n", "=?utf-8?q?a".repeat(300_000))),
        ("folds", format!("Subject: x\n{}", " x\n".repeat(1_000_000))),
        ("references", format!("References: {}\n", "<a@b>".repeat(600_000))),
        ("addresses", format!("From: MAILER-DAEMON\nTo: {}\n", "a@b,".repeat(700_000))),
        ("parameters", format!("Content-Type: a/b; {}\n", "a*0*=x''; ".repeat(300_000))),
        ("comments", format!("Content-Type: {}\n", "(".repeat(3_000_000))),
        ("fields", "A: b\n".repeat(600_000)),
        ("received", "Received: a\n".repeat(250_000)),
        ("failed", format!("X-Failed-Recipients: {}\n", "a@b, ".repeat(600_000))),
        ("no fields", "x\n".repeat(1_500_000)),
        ("carriage returns", "\r".repeat(3_000_000)),
    ] {
        timed(name, field.as_bytes());
        timed(name, format!("{field}Subject: Undelivered mail\n\n550 5.1.1 x\n").as_bytes());
        timed(name, report(&format!("--b\nContent-Type: message/delivery-status\n\n{field}")).as_bytes());
        timed(name, report(&format!("--b\nContent-Type: message/rfc822\n\n{field}")).as_bytes());
    }
}

#[test]
fn long_texts_cost_no_time() {
    for (name, text) in [
        ("signs", "@".repeat(1_000_000)),
        ("addresses", "a@b\n".repeat(300_000)),
        ("long addresses", format!("{}@b ", "a".repeat(200)).repeat(5_000)),
        ("codes", "5.1.1 ".repeat(200_000)),
        ("dots", "5.".repeat(500_000)),
        ("markers", "--- original\n".repeat(80_000)),
        ("blank lines", "\n".repeat(1_000_000)),
        ("blank lines behind words", format!("x{}", "\n".repeat(1_000_000))),
        ("blank lines between words", "x\n\n\n\n".repeat(200_000)),
        ("junk in a report", "x\n".repeat(500_000)),
        ("tags", "<p>".repeat(300_000)),
    ] {
        for media in ["text/plain", "text/html", "message/delivery-status", "message/feedback-report"] {
            let raw =
                format!("From: MAILER-DAEMON\nSubject: Undelivered mail\nContent-Type: {media}\n\n{text}");
            timed(&format!("{name} in {media}"), raw.as_bytes());
        }
    }
}

#[test]
fn many_recipients_are_cut_off() {
    let group = "Final-Recipient: rfc822; a@b.example\nAction: failed\n\n".repeat(20_000);
    let raw =
        report(&format!("--b\nContent-Type: message/delivery-status\n\nReporting-MTA: dns; x\n\n{group}"));
    let Incoming::Dsn(dsn) = timed("recipients", raw.as_bytes()) else { panic!("no report") };
    assert_eq!(dsn.reports.len(), 100);
    let domains = "Reported-Domain: a.example\nOriginal-Rcpt-To: a@b.example\n".repeat(20_000);
    let raw = format!("Content-Type: message/feedback-report\n\nFeedback-Type: abuse\n{domains}");
    let Incoming::Arf(arf) = timed("domains", raw.as_bytes()) else { panic!("no report") };
    assert_eq!((arf.reported_domains.len(), arf.original_rcpt_to.len()), (20, 1));
}

#[test]
fn what_is_behind_the_first_megabyte_is_not_looked_at() {
    let status = "--b\nContent-Type: message/delivery-status\n\nFinal-Recipient: rfc822; a@b.example\nAction: failed\n";
    let padding = format!("--b\n\n{}\n", "x".repeat(MAX_READ));
    assert!(matches!(timed("before", report(&format!("{status}{padding}")).as_bytes()), Incoming::Dsn(_)));
    assert!(!matches!(timed("behind", report(&format!("{padding}{status}")).as_bytes()), Incoming::Dsn(_)));
}

/// Prints what reading costs: `cargo test --release -p mailwright-mail --lib report -- --nocapture costs`.
#[test]
fn reading_costs() {
    let messages = super::corpus::messages();
    for name in
        ["postfix-user-unknown", "exchange-office365", "qmail-failure", "arf-yahoo", "other-person-reply"]
    {
        let raw = &messages.iter().find(|(found, _)| found == name).unwrap().1;
        let begin = Instant::now();
        let times = 1000;
        for _ in 0..times {
            std::hint::black_box(read(std::hint::black_box(raw)));
        }
        println!("{name}: {} bytes, {:?}", raw.len(), begin.elapsed() / times);
    }
}
