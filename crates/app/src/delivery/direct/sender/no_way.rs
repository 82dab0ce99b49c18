//! What becomes of mail to which there is no way.

use std::sync::Arc;

use mailwright_store::sending::email::Claimed;

use super::Sender;
use crate::delivery::direct::path::NoWay;
use crate::delivery::hand_over::{HandOver, Rejection, Reply};
use crate::delivery::next_hop::Busy;
use crate::delivery::outcome::Via;

/// The code under which the log says that a domain seems not to exist.
const NOWHERE: u16 = 451;

impl Sender<'_> {
    /// There is no way to the recipient's domain. That it does not exist is believed when it is heard a second time: a
    /// name server of ours may be wrong for a while.
    pub(super) async fn no_way(&mut self, mail: &Arc<Claimed>, busy: &Busy, why: NoWay) {
        let domain = mail.recipient.domain();
        let seemed_missing = Some("4.1.2");
        let was_heard = mail
            .log
            .iter()
            .any(|attempt| attempt.code == Some(NOWHERE) && attempt.enhanced.as_deref() == seemed_missing);
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
            NoWay::Nowhere if was_heard => {
                let text = format!("{domain} does not exist, or has neither mail servers nor an address.");
                HandOver::Rejected(Rejection::Address { certain: true }, own_reply(550, (5, 1, 2), text))
            }
            NoWay::Nowhere => {
                let text =
                    format!("{domain} seems not to exist. It is looked up once more before the mail fails.");
                HandOver::Temporary(own_reply(NOWHERE, (4, 1, 2), text))
            }
        };
        // for the subject that the record shows
        let Some(message) = self.delivery.prepare_or_settle(mail, busy.lane()).await else { return };
        self.conclude(mail, &message.rendered.subject, &end, Via::NOWHERE);
    }
}

/// A reply that we give ourselves.
fn own_reply(code: u16, (class, subject, detail): (u8, u16, u16), text: String) -> Reply {
    let text = format!("{class}.{subject}.{detail} {text}");
    Reply { code, enhanced: Some((class, subject, detail)), text }
}
