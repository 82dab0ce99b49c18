//! Complaints that come by mail, in the shapes of providers (ARF, RFC 5965, and older ones).

use mailwright_testkit::mail_in::MailIn;
use mailwright_testkit::{Engine, both_engines};
use serde_json::json;

use super::{RETURN_PATH, events, is_subscribed, return_path, sent_to, started};

/// A report with the parts that a provider makes: what the second part says, and the head of the mail.
fn arf(from: &str, report: &str, head: &str) -> String {
    format!(
        "From: {from}\nTo: fbl\nSubject: FW: complaint\nMIME-Version: 1.0\n\
         Content-Type: multipart/report; report-type=feedback-report; boundary=b\n\n--b\nContent-Type: text/plain\n\n\
         This is an abuse report.\n--b\nContent-Type: message/feedback-report\n\n{report}\n\n--b\n\
         Content-Type: message/rfc822\n\n{head}\n\nbody\n--b--\n"
    )
}

/// The lines of a mail's head whose names begin with one of these.
fn lines(mail: &str, names: &[&str]) -> String {
    let head = mail.split("\r\n\r\n").next().expect("a head");
    let unfolded = head.replace("\r\n\t", " ").replace("\r\n ", " ");
    let wanted = |line: &&str| names.iter().any(|name| line.to_lowercase().starts_with(&name.to_lowercase()));
    unfolded.split("\r\n").filter(wanted).collect::<Vec<_>>().join("\n")
}

both_engines! {
    async fn reports_in_the_shapes_of_providers_are_complaints(engine: Engine) {
        let (app, server, inbound) = started(engine).await;
        let mut session = MailIn::connect(inbound).await;
        let names = ["From:", "To:", "Subject:", "Message-ID:", "Date:"];
        for (n, provider) in ["yahoo", "microsoft", "comcast", "fastmail", "redacted"].into_iter().enumerate() {
            let to = format!("person{n}@example.com");
            let id = sent_to(&app, &to).await;
            let (address, mail) = return_path(&app, &server, &to).await;
            let head = lines(&mail, &names);
            let report = match provider {
                "yahoo" => arf(
                    "Yahoo! Mail AntiSpam Feedback <feedback@arf.mail.yahoo.com>",
                    "Feedback-Type: abuse\nUser-Agent: Yahoo!-Mail-Feedback/2.0\nVersion: 0.1\n\
                     Original-Mail-From: <x@example.net>\nOriginal-Rcpt-To: person@example.com\nReported-Domain: acme.test",
                    &head,
                ),
                // the mail whole, and the recipient in a header: no report at all
                "microsoft" => format!(
                    "From: staff@hotmail.com\nTo: fbl\nSubject: complaint about message from 192.0.2.1\nMIME-Version: 1.0\n\
                     X-HmXmrOriginalRecipient: {to}\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\
                     Content-Type: message/rfc822\nContent-Disposition: inline\n\n\
                     X-HmXmrOriginalRecipient: {to}\n{head}\n\nbody\n--b--\n"
                ),
                "comcast" => arf(
                    "Comcast Abuse Feedback <feedback@fbl.comcast.net>",
                    "Feedback-Type: abuse\nUser-Agent: Comcast FBL/1.0\nVersion: 1\nSource-IP: 192.0.2.1\n\
                     Arrival-Date: Wed, 25 Nov 2026 03:00:00 +0000",
                    &format!("Return-Path: <{address}>\n{head}"),
                ),
                "fastmail" => arf(
                    "FastMail Feedback <fbl@fastmail.com>",
                    &format!("Feedback-Type: abuse\nUser-Agent: FastMail/1.0\nVersion: 1\nOriginal-Mail-From: <{address}>"),
                    &head,
                ),
                _ => arf(
                    "<fbl@example.org>",
                    "Feedback-Type: abuse\nUser-Agent: Feedback/1.0\nVersion: 1\nOriginal-Rcpt-To: <redacted>",
                    &lines(&mail, &["Message-ID:", "From:"]),
                ),
            };
            for _ in 0..2 {
                let reply = session.deliver(&format!("fbl@{RETURN_PATH}"), &report).await;
                assert!(reply.starts_with("250"), "{provider}: {reply}");
            }
            assert_eq!(app.email(&id).await["status"], "COMPLAINED", "{provider}");
            assert!(!is_subscribed(&app, &to).await, "{provider}");
            assert_eq!(events(&app, "email.complaint").await.len(), n + 1, "{provider}");
            let ended = events(&app, "contact.unsubscribed").await;
            assert_eq!((ended.len(), &ended[0]["data"]), (n + 1, &json!({"reason": "complaint"})), "{provider}");
        }
    }

    async fn what_is_no_complaint_is_not_told_as_one(engine: Engine) {
        let (app, server, inbound) = started(engine).await;
        let id = sent_to(&app, "ada@example.com").await;
        let (_, mail) = return_path(&app, &server, "ada@example.com").await;
        let head = lines(&mail, &["Message-ID:", "From:"]);
        let stranger = "Message-ID: <01890000-0000-7000-8000-00000000dead@acme.test>\nFrom: x@acme.test";
        let mut session = MailIn::connect(inbound).await;
        for (kind, head) in [("not-spam", head.as_str()), ("auth-failure", &head), ("abuse", stranger), ("abuse", "Subject: x")] {
            let report = arf("<fbl@example.org>", &format!("Feedback-Type: {kind}\nUser-Agent: x\nVersion: 1"), head);
            let reply = session.deliver(&format!("abuse@{RETURN_PATH}"), &report).await;
            assert!(reply.starts_with("250"), "{reply}");
        }
        assert_eq!(app.email(&id).await["status"], "SENT");
        assert!(is_subscribed(&app, "ada@example.com").await);
        assert!(events(&app, "email.complaint").await.is_empty());
    }
}
