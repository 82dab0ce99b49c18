//! What a site's greylisting means for a mail: when it is tried again.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use mailwright_core::attempt::Attempt;
use mailwright_core::pacing::reply::Signal;
use mailwright_core::time::Timestamp;
use mailwright_store::sending::email::Claimed;

use super::told::Told;
use super::visit::Visit;
use crate::delivery::hand_over::HandOver;

impl Visit {
    /// How long a mail waits that the site greylists, given how its hand-over ended; `None` for any other end. What the
    /// end says about the time that the site wants is remembered.
    pub(super) fn greylisted_for(
        &self,
        mail: &Claimed,
        end: &HandOver,
        first_pause: Duration,
        now: Timestamp,
    ) -> Option<Duration> {
        let told = Told::of(mail, "", "");
        let first = mail.log.iter().find(|attempt| is_greylisted(attempt, &told));
        let first = first.and_then(|attempt| Timestamp::parse(&attempt.at));
        match end {
            HandOver::Accepted(_) => {
                let first = first?;
                self.with_site(|site| site.greylisting.taken(now.since(first)));
                None
            }
            HandOver::Temporary(reply) | HandOver::Refused(_, reply) => {
                if told.heard(reply.code, reply.enhanced, &reply.text) != Some(Signal::Greylisted) {
                    return None;
                }
                let after = first.map_or(Duration::ZERO, |first| now.since(first));
                self.with_site(|site| {
                    site.greylisting.refused(after);
                    site.greylisting.wait(after, first_pause, draw(mail))
                })
                .flatten()
            }
            HandOver::Rejected(..) | HandOver::Lost(_) | HandOver::InDoubt(_) => None,
        }
    }
}

/// Whether an attempt was greylisted. The words tell, as they do of a reply.
fn is_greylisted(attempt: &Attempt, told: &Told<'_>) -> bool {
    let said = attempt.code.zip(attempt.reply.as_deref());
    said.is_some_and(|(code, text)| told.heard(code, None, text) == Some(Signal::Greylisted))
}

fn draw(mail: &Claimed) -> u64 {
    let mut hasher = DefaultHasher::new();
    mail.id.hash(&mut hasher);
    hasher.finish()
}
