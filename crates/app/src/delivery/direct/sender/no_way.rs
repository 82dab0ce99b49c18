//! What becomes of mail to which there is no way.

use std::sync::Arc;
use std::time::Duration;

use mailwright_core::attempt::Attempt;
use mailwright_core::time::Timestamp;
use mailwright_mail::route::MOST_ALIASES;
use mailwright_store::sending::email::Claimed;

use super::Sender;
use crate::delivery::direct::path::NoWay;
use crate::delivery::hand_over::{HandOver, Rejection, Reply};
use crate::delivery::next_hop::Busy;
use crate::delivery::outcome::Via;

/// The code under which the log says that there is no way to a domain for now.
const NOWHERE: u16 = 451;
/// Beside it, where the name servers said with certainty that the domain is not there or takes no mail.
const MISSING: &str = "4.1.2";
/// Beside it, where they did not say so with certainty.
const DOUBTED: &str = "4.4.3";
/// What is said of a domain whose aliases have no end: it cannot be found out where its mail goes (RFC 3463).
const UNROUTABLE: (u8, u16, u16) = (4, 4, 4);
/// How long they have to say so without certainty, each time that they are asked, before it is believed.
const DOUBTED_FOR: Duration = Duration::from_hours(4);

impl Sender<'_> {
    /// There is no way to the recipient's domain. That it does not exist is believed when it is heard a second time: a
    /// name server of ours may be wrong for a while. What is not certain has to be heard for hours: the broken name
    /// servers of a domain answer like that until somebody repairs them.
    pub(super) async fn no_way(&mut self, mail: &Arc<Claimed>, busy: &Busy, why: NoWay) {
        let domain = mail.recipient.domain();
        let is_believed = match why {
            NoWay::Missing | NoWay::Nowhere => mail.log.iter().any(|attempt| is_look(attempt, MISSING)),
            NoWay::Doubtful => is_doubted_for_long(&mail.log, self.delivery.now()),
            NoWay::Unknown | NoWay::Circle | NoWay::Refused | NoWay::Policy => false,
        };
        let end = match why {
            NoWay::Unknown => {
                let error = format!("The name servers gave no answer about {domain}.");
                let is_report = self.delivery.app.are_tls_reports(mail.project, busy.lane());
                let now = self.delivery.now();
                // all its mail, at once or by and by, waits until they are asked again
                let again = self.direct.asks_again(domain, is_report, now);
                let wait = again.map_or(self.delivery.backoff.base, |again| again.since(now));
                return self.wait(mail, wait, &error).await;
            }
            NoWay::Refused => {
                let text = format!("{domain} takes no mail, as its null MX record says (RFC 7505).");
                HandOver::Rejected(Rejection::Address { certain: true }, own_reply(556, (5, 1, 10), text))
            }
            NoWay::Policy => {
                self.direct.count_unnamed(domain);
                let text = format!(
                    "None of the mail servers of {domain} is one that its MTA-STS policy names (RFC 8461)."
                );
                HandOver::Temporary(own_reply(NOWHERE, (4, 7, 0), text))
            }
            NoWay::Circle => HandOver::Temporary(own_reply(NOWHERE, UNROUTABLE, endless(domain))),
            NoWay::Missing | NoWay::Nowhere | NoWay::Doubtful if is_believed => {
                let text = format!("{domain} {}.", fault_of(why));
                HandOver::Rejected(Rejection::Address { certain: true }, own_reply(550, (5, 1, 2), text))
            }
            NoWay::Missing | NoWay::Nowhere => {
                let text =
                    format!("{domain} {}. It is looked up once more before the mail fails.", fault_of(why));
                HandOver::Temporary(own_reply(NOWHERE, (4, 1, 2), text))
            }
            NoWay::Doubtful => {
                let hours = DOUBTED_FOR.as_secs() / 3600;
                let text = format!(
                    "{domain} seems to have neither mail servers nor an address, but its name servers do not say so with \
                     certainty. It is looked up again for {hours} hours before the mail fails."
                );
                HandOver::Temporary(own_reply(NOWHERE, (4, 4, 3), text))
            }
        };
        // for the subject that the record shows
        let Some(message) = self.delivery.prepare_or_settle(mail, busy.lane()).await else { return };
        self.conclude(mail, &message.rendered.subject, &end, Via::NOWHERE);
    }
}

/// What is wrong with a domain whose aliases have no end. Whoever has the domain may mend it.
fn endless(domain: &str) -> String {
    format!("CNAME loop: the aliases of {domain} lead in a circle, or are more than {MOST_ALIASES}.")
}

/// What is wrong with a domain to which there is no way, as a sentence goes on behind its name. The words are none by
/// which the reply would count as another class of refusals than by its code.
fn fault_of(why: NoWay) -> &'static str {
    match why {
        NoWay::Missing => "does not exist, or is an alias of a name that does not",
        NoWay::Nowhere => "has no mail server: neither MX nor address records",
        NoWay::Doubtful | NoWay::Circle | NoWay::Unknown | NoWay::Refused | NoWay::Policy => {
            "does not exist, or has neither mail servers nor an address"
        }
    }
}

/// Whether an attempt was a look at a domain without a way, with this enhanced code. Mail servers may answer with it
/// too.
fn is_look(attempt: &Attempt, enhanced: &str) -> bool {
    let is_ours = attempt.host.is_empty();
    is_ours && attempt.code == Some(NOWHERE) && attempt.enhanced.as_deref() == Some(enhanced)
}

/// Whether the last looks at the domain of a mail, up to now, all found nothing without certainty, for so long that it
/// is believed.
fn is_doubted_for_long(log: &[Attempt], now: Timestamp) -> bool {
    let first = log.iter().rev().take_while(|attempt| is_look(attempt, DOUBTED)).last();
    let since = first.and_then(|attempt| Timestamp::parse(&attempt.at));
    since.is_some_and(|since| now.since(since) >= DOUBTED_FOR)
}

/// A reply that we give ourselves.
fn own_reply(code: u16, (class, subject, detail): (u8, u16, u16), text: String) -> Reply {
    let text = format!("{class}.{subject}.{detail} {text}");
    Reply { code, enhanced: Some((class, subject, detail)), text }
}

#[cfg(test)]
mod tests {
    use mailwright_core::bounce::{BounceClass, classify};

    use super::*;

    const NOON: Timestamp = Timestamp(1_800_000_000_000);

    fn after(minutes: u64) -> Timestamp {
        NOON.plus(Duration::from_mins(minutes))
    }

    /// Attempts so many minutes after the first, with their enhanced codes.
    fn log(attempts: &[(u64, &str)]) -> Vec<Attempt> {
        let attempt = |(minutes, enhanced): &(u64, &str)| Attempt {
            at: after(*minutes).to_string(),
            code: Some(NOWHERE),
            enhanced: Some((*enhanced).to_owned()),
            ..Attempt::default()
        };
        attempts.iter().map(attempt).collect()
    }

    #[test]
    fn each_fault_of_a_domain_is_a_bounce_about_the_address() {
        for why in [NoWay::Missing, NoWay::Nowhere, NoWay::Doubtful] {
            let reply = own_reply(550, (5, 1, 2), format!("shop.example {}.", fault_of(why)));
            let class = classify(Some(reply.code), reply.enhanced, &reply.text).class;
            assert_eq!(class, BounceClass::InvalidRecipient, "{}", reply.text);
        }
    }

    #[test]
    fn aliases_without_an_end_are_a_fault_that_may_pass() {
        let reply = own_reply(NOWHERE, UNROUTABLE, endless("shop.example"));
        let verdict = classify(Some(reply.code), reply.enhanced, &reply.text);
        assert_eq!((verdict.class, verdict.is_permanent), (BounceClass::Temporary, false), "{}", reply.text);
    }

    #[test]
    fn what_is_not_certain_is_believed_after_hours_in_which_nothing_else_was_heard() {
        let believed =
            |attempts: &[(u64, &str)], minutes| is_doubted_for_long(&log(attempts), after(minutes));
        assert!(!believed(&[], 600));
        assert!(!believed(&[(0, DOUBTED)], 2));
        assert!(!believed(&[(0, DOUBTED), (1, DOUBTED), (127, DOUBTED)], 239));
        assert!(believed(&[(0, DOUBTED), (1, DOUBTED), (127, DOUBTED)], 240));
        assert!(!believed(&[(0, DOUBTED), (30, "4.7.0"), (60, DOUBTED)], 299), "it begins anew");
        assert!(believed(&[(0, DOUBTED), (30, "4.7.0"), (60, DOUBTED)], 300));
        assert!(!believed(&[(0, DOUBTED), (60, MISSING)], 300));
        let of_a_server = Attempt { host: "mx.example.com".into(), ..log(&[(0, DOUBTED)]).remove(0) };
        assert!(!is_doubted_for_long(&[of_a_server], after(600)));
    }
}
