//! What is told of a mail: reports, notifications, visits.

use std::sync::Arc;

use mailwright_testkit::json;
use mailwright_testkit::sns::{NotificationService, now};
use mailwright_tests::random::{Random, hash};
use serde_json::Value;

use super::course::{Mail, RETURN_PATH, TARGETS};

/// What clients call themselves: people's, a proxy's, machines'.
const AGENTS: [&str; 6] = [
    "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148",
    "Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 (via ggpht.com GoogleImageProxy)",
    "Mozilla/5.0 (compatible; Barracuda Sentinel)",
    "python-requests/2.32.3",
];

/// How something is told.
#[derive(Debug)]
pub(super) enum Way {
    /// A message to an address, by SMTP.
    Message { to: String, text: String },
    /// A signed message of SNS.
    Notification(String),
    /// A request for a picture or a link. `head`: by HEAD, which is never counted.
    Visit { path: String, agent: &'static str, address: String, head: bool },
}

/// What follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    Delivered,
    /// It did not arrive, and whether that is for good.
    Bounced {
        is_final: bool,
    },
    Complained,
    Opened,
    Clicked,
    Nothing,
}

/// News of a mail.
#[derive(Debug)]
pub(super) struct News {
    /// Which news it is of all.
    pub(super) number: usize,
    pub(super) mail: Arc<Mail>,
    pub(super) way: Way,
    pub(super) effect: Effect,
}

impl News {
    /// What a client calls itself in a hit that SNS tells of, so that the hit is known again.
    pub(super) fn tag(&self) -> String {
        format!("sns-{}.", self.number)
    }
}

/// Makes up news.
pub(super) struct Maker {
    pub(super) random: Random,
    pub(super) service: Arc<NotificationService>,
    pub(super) made: usize,
}

impl Maker {
    /// News of a mail.
    pub(super) fn news(&mut self, mail: &Arc<Mail>) -> News {
        self.made += 1;
        let number = self.made;
        let (way, effect) = self.make(mail, number);
        News { number, mail: Arc::clone(mail), way, effect }
    }

    fn make(&mut self, mail: &Mail, number: usize) -> (Way, Effect) {
        match self.random.below(100) {
            0..12 => (self.event(mail, number, "Delivery", json!({})), Effect::Delivered),
            12..16 => (dsn(mail, number, "delivered", "2.1.5", "250 2.1.5 taken"), Effect::Delivered),
            16..19 => {
                let unknown = format!("550 5.1.1 <{}>: User unknown", mail.to);
                (dsn(mail, number, "failed", "5.1.1", &unknown), Effect::Bounced { is_final: true })
            }
            19..24 => {
                let full = "552 5.2.2 The mailbox is full";
                (dsn(mail, number, "failed", "5.2.2", full), Effect::Bounced { is_final: false })
            }
            24..27 => (self.bounce(mail, number, "Permanent"), Effect::Bounced { is_final: true }),
            27..31 => (self.bounce(mail, number, "Transient"), Effect::Bounced { is_final: false }),
            31..34 => (self.arf(mail, number), Effect::Complained),
            34..36 => {
                let of = json!({"complainedRecipients": [{"emailAddress": mail.to}], "complaintFeedbackType": "abuse"});
                (self.event(mail, number, "Complaint", of), Effect::Complained)
            }
            36..48 => {
                let visit = self.visit(mail, number);
                (self.event(mail, number, "Open", visit), Effect::Opened)
            }
            48..58 => {
                let mut visit = self.visit(mail, number);
                visit["link"] = self.pick(&TARGETS).into();
                (self.event(mail, number, "Click", visit), Effect::Clicked)
            }
            58..78 => (self.request(mail, mail.picture.clone(), false), Effect::Opened),
            78..97 => {
                let link = self.random.below(mail.links.len() as u64) as usize;
                (self.request(mail, mail.links[link].clone(), false), Effect::Clicked)
            }
            97..99 => (self.request(mail, mail.picture.clone(), true), Effect::Nothing),
            _ => (vacation(mail, number), Effect::Nothing),
        }
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.random.below(of.len() as u64) as usize]
    }

    /// One of the addresses that a mail is read from.
    fn address(&mut self, mail: &Mail) -> String {
        let place = hash(&mail.to) % 60_000 + self.random.below(12);
        format!("100.99.{}.{}", place / 250, place % 250 + 1)
    }

    fn request(&mut self, mail: &Mail, path: String, head: bool) -> Way {
        Way::Visit { path, agent: self.pick(&AGENTS), address: self.address(mail), head }
    }

    fn visit(&mut self, mail: &Mail, number: usize) -> Value {
        let agent = format!("{} sns-{number}.", self.pick(&AGENTS));
        json!({"ipAddress": self.address(mail), "timestamp": now(), "userAgent": agent})
    }

    fn bounce(&self, mail: &Mail, number: usize, kind: &str) -> Way {
        let recipient = json!({
            "emailAddress": mail.to, "action": "failed", "status": "5.1.1", "diagnosticCode": "smtp; 550 5.1.1 unknown",
        });
        let of = json!({"bounceType": kind, "bounceSubType": "General", "bouncedRecipients": [recipient]});
        self.event(mail, number, "Bounce", of)
    }

    /// An event of SES, signed.
    fn event(&self, mail: &Mail, number: usize, kind: &str, of: Value) -> Way {
        let mut of = of;
        if of.get("timestamp").is_none() {
            of["timestamp"] = now().into();
        }
        let event = json!({
            "eventType": kind, kind.to_lowercase(): of,
            "mail": {"messageId": format!("ses-{number}"), "timestamp": now(), "source": mail.return_path,
                "destination": [mail.to]},
        });
        Way::Notification(self.service.notification(&format!("message-{number}"), &event).to_string())
    }

    /// An abuse report (RFC 5965): to the address for reports, or to the one that the mail's bounces return to.
    fn arf(&mut self, mail: &Mail, number: usize) -> Way {
        let by_return_path = self.random.below(2) == 0;
        let to = if by_return_path { mail.return_path.clone() } else { format!("fbl@{RETURN_PATH}") };
        let text = format!(
            "From: <fbl@example.org>\nTo: {to}\nMessage-ID: <report-{number}@example.org>\nSubject: FW: complaint\n\
             MIME-Version: 1.0\nContent-Type: multipart/report; report-type=feedback-report; boundary=b\n\n\
             --b\nContent-Type: text/plain\n\nThis is an abuse report.\n\
             --b\nContent-Type: message/feedback-report\n\nFeedback-Type: abuse\nUser-Agent: Feedback/1.0\nVersion: 1\n\n\
             --b\nContent-Type: message/rfc822\n\n{}\n\nbody\n--b--\n",
            mail.head
        );
        Way::Message { to, text }
    }
}

/// A delivery status notification (RFC 3464).
fn dsn(mail: &Mail, number: usize, action: &str, status: &str, diagnostic: &str) -> Way {
    let text = format!(
        "From: MAILER-DAEMON@mx.test\nTo: {}\nMessage-ID: <dsn-{number}@mx.test>\nSubject: Delivery status\n\
         MIME-Version: 1.0\nContent-Type: multipart/report; report-type=delivery-status; boundary=x\n\n\
         --x\nContent-Type: text/plain\n\nWhat became of your mail.\n\
         --x\nContent-Type: message/delivery-status\n\nReporting-MTA: dns; mx.test\n\n\
         Final-Recipient: rfc822; {}\nAction: {action}\nStatus: {status}\nDiagnostic-Code: smtp; {diagnostic}\n\n--x--\n",
        mail.return_path, mail.to
    );
    Way::Message { to: mail.return_path.clone(), text }
}

/// An automatic answer, which is no bounce.
fn vacation(mail: &Mail, number: usize) -> Way {
    let text = format!(
        "From: {}\nTo: {}\nMessage-ID: <away-{number}@example.com>\nSubject: Out of office\n\
         Auto-Submitted: auto-replied\n\nI am away.\n",
        mail.to, mail.return_path
    );
    Way::Message { to: mail.return_path.clone(), text }
}
