//! What a report that came by mail means for the mail that it is about: a DSN (RFC 3464), or a bounce in words alone, an
//! abuse report (ARF, RFC 5965). Automatic answers, and reports that a mail was read, mean nothing.

use mailwright_core::bounce;
use mailwright_mail::report::{Action, Dsn, Incoming, Original, RecipientReport};

use super::happening::{Bounce, Happening};

/// What a report says happened; `None` where it says nothing that is recorded.
pub(super) fn happening(report: &Incoming) -> Option<Happening> {
    match report {
        Incoming::Dsn(dsn) => of_dsn(dsn),
        Incoming::Arf(arf) if arf.feedback_type.is_complaint() => {
            Some(Happening::Complained { feedback: Some(arf.feedback_type.as_str().to_owned()) })
        }
        Incoming::Arf(_) | Incoming::AutoReply(_) | Incoming::Mdn(_) | Incoming::Other => None,
    }
}

/// What is known of the mail that a report is about.
pub(super) fn original(report: &Incoming) -> Option<&Original> {
    match report {
        Incoming::Dsn(dsn) => dsn.original.as_ref(),
        Incoming::Arf(arf) => arf.original.as_ref(),
        Incoming::AutoReply(_) | Incoming::Mdn(_) | Incoming::Other => None,
    }
}

/// A mail has one recipient, so of several reports the gravest is about it: a list may have expanded the address.
fn of_dsn(dsn: &Dsn) -> Option<Happening> {
    let find = |action: Action| dsn.reports.iter().find(|report| report.action == action);
    if let Some(failed) = find(Action::Failed) {
        // an automatic answer in the shape of a failure says that the mail arrived
        return Some(bounced(failed)).filter(|bounce| bounce.class.is_bounce()).map(Happening::Bounced);
    }
    // a delay is told of what is still being tried; that it was passed on says nothing of where it ends
    find(Action::Delivered).map(|_| Happening::Delivered)
}

fn bounced(report: &RecipientReport) -> Bounce {
    let text = report.diagnostic.as_ref().map_or("", |diagnostic| &diagnostic.text);
    let verdict = bounce::classify(None, report.status, text);
    let status = report.status.map(|(class, subject, detail)| format!("{class}.{subject}.{detail}"));
    let text = if text.is_empty() { status.unwrap_or_default() } else { text.to_owned() };
    Bounce { kind: verdict.kind(), class: verdict.class, suppresses: verdict.suppresses(), text }
}

#[cfg(test)]
mod tests {
    use mailwright_core::bounce::{BounceClass, BounceKind, Suppression};
    use mailwright_mail::report::read;

    use super::*;

    fn dsn(action: &str, status: &str, diagnostic: &str) -> Vec<u8> {
        format!(
            "From: MAILER-DAEMON@mx.test\r\nTo: b@bounces.test\r\nSubject: Undelivered\r\nMIME-Version: 1.0\r\n\
             Content-Type: multipart/report; report-type=delivery-status; boundary=x\r\n\r\n--x\r\n\
             Content-Type: text/plain\r\n\r\nSorry.\r\n--x\r\nContent-Type: message/delivery-status\r\n\r\n\
             Reporting-MTA: dns; mx.test\r\n\r\nFinal-Recipient: rfc822; ada@example.com\r\nAction: {action}\r\n\
             Status: {status}\r\nDiagnostic-Code: smtp; {diagnostic}\r\n\r\n--x--\r\n"
        )
        .into_bytes()
    }

    #[test]
    fn a_failure_is_a_bounce_of_its_class() {
        for (status, text, kind, class, suppresses) in [
            (
                "5.1.1",
                "550 5.1.1 <ada@example.com>: User unknown",
                BounceKind::Permanent,
                BounceClass::InvalidRecipient,
                Suppression::AtOnce,
            ),
            (
                "5.2.2",
                "552 5.2.2 mailbox full",
                BounceKind::Transient,
                BounceClass::MailboxFull,
                Suppression::AfterRepetition,
            ),
            (
                "5.7.1",
                "550 5.7.1 message rejected as spam",
                BounceKind::Transient,
                BounceClass::SpamBlock,
                Suppression::Never,
            ),
        ] {
            let Some(Happening::Bounced(bounce)) = happening(&read(&dsn("failed", status, text))) else {
                panic!("{text}")
            };
            assert_eq!((bounce.kind, bounce.class, bounce.suppresses), (kind, class, suppresses), "{text}");
        }
        assert_eq!(happening(&read(&dsn("delayed", "4.4.1", "451 later"))), None);
        assert_eq!(happening(&read(&dsn("delivered", "2.1.5", "250 ok"))), Some(Happening::Delivered));
    }
}
