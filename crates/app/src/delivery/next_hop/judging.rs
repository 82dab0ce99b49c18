//! What follows from the end of a hand-over: whether it counts for the mail, and what is learnt from it.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use mailwright_store::sending::email::Claimed;

use super::hop::NextHop;
use super::pace::Slowed;
use super::refusals::{Extent, Missing};
use super::state::{Judgement, State};
use crate::delivery::hand_over::{HandOver, Refusal, Rejection, Reply};
use crate::delivery::wording::Wording;

/// While some mail waits, the shortest time between two looks at all projects for the metrics.
const MEASURED_EVERY: Duration = Duration::from_secs(1);

impl NextHop {
    /// Draws conclusions from the end of a hand-over.
    pub(in crate::delivery) fn judge<'r>(&self, mail: &Claimed, end: &'r HandOver) -> Judgement<'r> {
        let own = Judgement::Own { overtaken: false };
        match end {
            HandOver::Accepted(_) => {
                self.accepted(mail);
                own
            }
            HandOver::Refused(Refusal::Session, reply) => self.slow_down(mail, reply),
            HandOver::Refused(Refusal::Policy { .. }, reply) => self.refused(mail, reply),
            HandOver::Rejected(Rejection::Address { certain }, reply) => self.missing(mail, *certain, reply),
            HandOver::Rejected(..) | HandOver::Temporary(_) | HandOver::Lost(_) | HandOver::InDoubt(_) => own,
        }
    }

    fn accepted(&self, mail: &Claimed) {
        let now = self.now();
        let mut state = self.state();
        let facts = |state: &State| {
            (state.refusals.is_any_kept_back(), state.refusals.extent(now), state.paces.is_any_slow())
        };
        let before = facts(&state);
        let frees_others = state.is_held_up(mail.project) || before.1 == Extent::All;
        state.pool.worked();
        state.paces.accepted(mail.id, mail.project, now);
        state.refusals.served(mail.project, now);
        if before == (false, Extent::Nobody, false) {
            return;
        }
        let is_news = before != facts(&state);
        if is_news || now.since(state.measured_at) >= MEASURED_EVERY {
            state.measured_at = now;
            self.measure(&state);
        }
        drop(state);
        if frees_others {
            self.changed.notify_waiters();
        }
        if is_news {
            self.news.notify_one();
        }
    }

    fn slow_down<'r>(&self, mail: &Claimed, reply: &'r Reply) -> Judgement<'r> {
        self.change(|state, now| match state.paces.refused(mail.id, mail.project, reply.codes(), now) {
            Slowed::No => Judgement::Own { overtaken: false },
            Slowed::Yes { wait, begins } => {
                if begins {
                    state.news.slowed(mail.project, reply.codes());
                }
                Judgement::NotOwn(wait, reply)
            }
        })
    }

    fn missing<'r>(&self, mail: &Claimed, certain: bool, reply: &'r Reply) -> Judgement<'r> {
        let recipient = mail.recipient.as_str();
        let mut hasher = DefaultHasher::new();
        recipient.hash(&mut hasher);
        let words = Wording::of(&reply.text).likeness(recipient);
        let missing = Missing { certain, recipient: hasher.finish(), words };
        self.change(|state, now| {
            let verdict = state.refusals.missing(mail.id, mail.project, missing, reply.codes(), now);
            state.conclude(mail.project, verdict, reply)
        })
    }

    fn refused<'r>(&self, mail: &Claimed, reply: &'r Reply) -> Judgement<'r> {
        self.change(|state, now| {
            let verdict = state.refusals.refused(mail.id, mail.project, reply.codes(), now);
            state.conclude(mail.project, verdict, reply)
        })
    }
}
