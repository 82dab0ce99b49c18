//! The judgement of a mail's hits.

use std::sync::Arc;

use super::evidence::{Behaviour, Seen, near_delivery};
use super::tables::{Effect, Known, Tables};
use super::{HitClass, HitReason, JudgedHit, Judgement, MailFacts, RawHit, Target, Timing};

/// What [`judge`] found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Judged {
    /// The judgements of the hits, in their order.
    pub hits: Vec<Judgement>,
    /// The earlier hits whose class changes: their index, and what they are now. Ascending.
    pub earlier: Vec<(usize, Judgement)>,
}

/// Judges the `hits` of one mail, and `earlier` ones again.
///
/// `earlier` should have all hits of the mail within [`Timing::company`] of the new ones; more do no harm. An earlier
/// hit only ever changes from `human` to `proxy` or `scanner`, or from `proxy` to `scanner`. When the tables have
/// changed and everything is to be judged anew, pass all hits as `hits`. The order of the hits does not matter. Takes
/// n log n steps for n hits.
pub fn judge(
    tables: &Tables,
    timing: &Timing,
    mail: &MailFacts,
    earlier: &[JudgedHit],
    hits: &[RawHit],
) -> Judged {
    let look = |hit, before| Seen::new(tables, hit, before);
    let seen: Vec<Seen<'_>> = earlier
        .iter()
        .map(|judged| look(&judged.hit, Some(judged.reason)))
        .chain(hits.iter().map(|hit| look(hit, None)))
        .collect();
    let behaviour = Behaviour::of(timing, mail, &seen);
    let early = |seen: &Seen<'_>| near_delivery(timing, mail, seen.hit.at, timing.soon);
    let machine_at_delivery = seen.iter().enumerate().any(|(index, seen)| {
        early(seen) && (behaviour.direct(index).is_some() || by_tables(seen, false).is_some_and(is_scanner))
    });
    let judgement = |index: usize, seen: &Seen<'_>| {
        let direct = behaviour.direct(index);
        let scanner = |reason| Judgement { class: HitClass::Scanner, reason, owner: None };
        if direct == Some(HitReason::Trap) {
            return scanner(HitReason::Trap);
        }
        if let Some(known) = by_tables(seen, near_delivery(timing, mail, seen.hit.at, timing.prefetch)) {
            return known;
        }
        match direct {
            Some(reason) => scanner(reason),
            None if behaviour.in_company(seen) => scanner(HitReason::Company),
            None if seen.hit.target == Target::Pixel && machine_at_delivery && early(seen) => {
                scanner(HitReason::EarlyOpen)
            }
            None => Judgement { class: HitClass::Human, reason: HitReason::Ordinary, owner: None },
        }
    };
    let mut judged = Judged::default();
    for (index, seen) in seen.iter().enumerate() {
        let now = judgement(index, seen);
        match earlier.get(index) {
            None => judged.hits.push(now),
            Some(before) if now.class > before.class => judged.earlier.push((index, now)),
            Some(_) => {}
        }
    }
    judged
}

fn is_scanner(judgement: Judgement) -> bool {
    judgement.class == HitClass::Scanner
}

/// What a machine of the tables does here; the later outweighs the earlier.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    FetchesForReader,
    FetchesForNobody,
    Checks,
}

impl Kind {
    fn of(known: Option<&Known<'_>>, target: Target) -> Option<Self> {
        match (known?.effect, target) {
            (Effect::Person | Effect::Relay, _) => None,
            (Effect::Scanner, _) | (Effect::ImageProxy | Effect::PrefetchProxy, Target::Link(_)) => {
                Some(Self::Checks)
            }
            (Effect::ImageProxy, Target::Pixel) => Some(Self::FetchesForReader),
            (Effect::PrefetchProxy, Target::Pixel) => Some(Self::FetchesForNobody),
        }
    }
}

/// The judgement by address and user agent alone; `None` when they may be a person's. `early`: whether the hit is so
/// near to the delivery that nobody can have opened the mail.
fn by_tables(seen: &Seen<'_>, early: bool) -> Option<Judgement> {
    let target = seen.hit.target;
    let by_network = Kind::of(seen.network.as_ref(), target);
    let by_agent = Kind::of(seen.agent.as_ref(), target);
    let through_relay = seen.network.as_ref().is_some_and(|known| known.effect == Effect::Relay);
    let Some(kind) = by_network.max(by_agent) else {
        let is_absent = seen.hit.agent.trim().is_empty();
        return is_absent.then_some(Judgement {
            class: HitClass::Scanner,
            reason: HitReason::NoAgent,
            owner: None,
        });
    };
    let (reason, known) = if by_agent == Some(kind) {
        let is_pair = by_network == by_agent || through_relay;
        (if is_pair { HitReason::Pair } else { HitReason::Agent }, &seen.agent)
    } else {
        (HitReason::Address, &seen.network)
    };
    let owner = known.as_ref().map(|known| Arc::clone(known.owner));
    let (class, reason) = match kind {
        Kind::FetchesForReader if early => (HitClass::Proxy, HitReason::Prefetch),
        Kind::FetchesForReader => (HitClass::Human, HitReason::ImageProxy),
        Kind::FetchesForNobody => (HitClass::Proxy, reason),
        Kind::Checks => (HitClass::Scanner, reason),
    };
    Some(Judgement { class, reason, owner })
}
