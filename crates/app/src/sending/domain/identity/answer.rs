//! What is known of a domain after an answer.

use mailwright_core::domain::{DomainIdentity, IdentityHolder, IdentityStatus, IdentityTrouble, IdentityWay};
use mailwright_core::time::Timestamp;
use mailwright_mail::ses::identity::{DkimStatus, Hindrance, Identity, IdentityAnswer};
use mailwright_mail::ses::request::Said;

use super::plan::{MOST_A_DAY, MOST_GIVEN_UP, Step, Wanted};

/// Most characters of an error that are kept.
const ERROR: usize = 500;

/// What is known after an answer to a step.
pub(super) fn after(
    known: DomainIdentity,
    (step, wanted): (Step, &Wanted),
    answer: IdentityAnswer,
    now: Timestamp,
) -> DomainIdentity {
    let asked = DomainIdentity { error: None, trouble: None, checked_at: Some(now), ..known };
    match answer {
        IdentityAnswer::Known(found) if step == Step::Look => looked_at(asked, wanted, found),
        IdentityAnswer::Known(found) => put(asked, wanted, found),
        // what it is like is asked next
        IdentityAnswer::Exists => DomainIdentity {
            holder: IdentityHolder::Others,
            way: None,
            selector: None,
            status: IdentityStatus::Pending,
            ..asked
        },
        IdentityAnswer::Missing => troubled(
            DomainIdentity { checked_at: asked.checked_at, ..DomainIdentity::new(asked.transport) },
            IdentityTrouble::Missing,
        ),
        IdentityAnswer::Hindered(why, Said { status, text }) => {
            // what SES says names the account and its users
            tracing::warn!(transport = asked.transport, status, text, "Amazon SES did not register a domain");
            let (status, why) = of(why);
            hindered(troubled(asked, why), status)
        }
    }
}

/// What is known when a request had no answer, with what the connection said.
pub(super) fn unanswered(known: DomainIdentity, error: &str, now: Timestamp) -> DomainIdentity {
    let error = Some(error.trim().chars().take(ERROR).collect());
    let trouble = Some(IdentityTrouble::Unavailable);
    hindered(DomainIdentity { checked_at: Some(now), error, trouble, ..known }, IdentityStatus::Unavailable)
}

/// What is known of a domain whose key cannot be given.
pub(super) fn unopened(known: DomainIdentity, now: Timestamp) -> DomainIdentity {
    let known = troubled(known, IdentityTrouble::KeyUnreadable);
    hindered(DomainIdentity { checked_at: Some(now), ..known }, IdentityStatus::Unavailable)
}

/// What is known of a domain that is not registered yet because it waits for something.
pub(super) fn waiting(known: DomainIdentity, why: IdentityTrouble) -> DomainIdentity {
    DomainIdentity { status: IdentityStatus::Pending, ..troubled(known, why) }
}

/// A domain that was verified is so still, as far as is known.
fn hindered(known: DomainIdentity, why: IdentityStatus) -> DomainIdentity {
    let status = if known.status == IdentityStatus::Verified { IdentityStatus::Verified } else { why };
    DomainIdentity { status, ..known }
}

fn troubled(known: DomainIdentity, why: IdentityTrouble) -> DomainIdentity {
    DomainIdentity { error: Some(sentence(why)), trouble: Some(why), ..known }
}

/// SES was told what to sign with, and does so.
fn put(known: DomainIdentity, wanted: &Wanted, found: Identity) -> DomainIdentity {
    let (way, selector) = match wanted {
        Wanted::OwnKey(selector) => (IdentityWay::OwnKey, Some(selector.clone())),
        Wanted::EasyDkim | Wanted::Unpublished | Wanted::Nothing => (IdentityWay::EasyDkim, None),
    };
    let known = DomainIdentity { holder: IdentityHolder::Domain, way: Some(way), selector, ..known };
    described(known, found)
}

/// What SES has, whoever put it. A key that is ours is recognised by its selector, also where the answer to putting it was
/// lost.
fn looked_at(known: DomainIdentity, wanted: &Wanted, found: Identity) -> DomainIdentity {
    let way = found.way.or(known.way);
    let has = |selector: &String| found.tokens.contains(selector);
    let (holder, selector) = match (way, wanted) {
        (Some(IdentityWay::OwnKey), Wanted::OwnKey(selector)) if has(selector) => {
            (IdentityHolder::Domain, Some(selector.clone()))
        }
        (Some(IdentityWay::OwnKey), _) => match known.selector.clone().filter(has) {
            Some(selector) => (IdentityHolder::Domain, Some(selector)),
            None => (IdentityHolder::Others, None),
        },
        _ if way == known.way => (known.holder, known.selector.clone()),
        _ => (IdentityHolder::Others, None),
    };
    described(DomainIdentity { holder, way, selector, ..known }, found)
}

fn described(known: DomainIdentity, found: Identity) -> DomainIdentity {
    let status = match found.dkim {
        _ if found.is_verified => IdentityStatus::Verified,
        // nothing comes of waiting for what SES does not look for
        DkimStatus::Failed | DkimStatus::NotStarted => IdentityStatus::Failed,
        DkimStatus::Pending | DkimStatus::Success | DkimStatus::TemporaryFailure => IdentityStatus::Pending,
    };
    let is_easy = known.way == Some(IdentityWay::EasyDkim);
    let tokens = if is_easy { found.tokens } else { Vec::new() };
    DomainIdentity { status, tokens, hosted_zone: found.hosted_zone.filter(|_| is_easy), ..known }
}

/// Why a request came to nothing, for members of the project.
fn sentence(why: IdentityTrouble) -> String {
    let text = match why {
        IdentityTrouble::Missing => "SES does not have the domain. It is registered at the next check.",
        IdentityTrouble::Denied => {
            "Amazon SES does not let this instance register domains. Ask whoever runs it."
        }
        IdentityTrouble::Throttled => "Amazon SES was asked too often. It is asked again at a later check.",
        IdentityTrouble::Limited => {
            "The account at Amazon SES has as many domains as it may have. Ask whoever runs this instance."
        }
        IdentityTrouble::Refused => "Amazon SES does not accept the domain. Ask whoever runs this instance.",
        IdentityTrouble::Unavailable => {
            "Amazon SES gave no usable answer. It is asked again at a later check."
        }
        IdentityTrouble::KeyUnreadable => {
            "The key of the domain cannot be decrypted with the secret of this instance."
        }
        IdentityTrouble::KeyUnpublished => {
            "The domain is registered once the record of its RSA key is found."
        }
        IdentityTrouble::DayUsedUp => {
            return format!(
                "The domain waits to be registered: the project had as many registered in 24 hours as it may, which is \
                 {MOST_A_DAY}. It is tried again at a later check."
            );
        }
        IdentityTrouble::RemovalsWait => {
            return format!(
                "The domain waits to be registered: {MOST_GIVEN_UP} or more domains that were removed here \
                 have to be removed from the account at Amazon SES first. It is tried again at a later check."
            );
        }
    };
    text.to_owned()
}

fn of(why: Hindrance) -> (IdentityStatus, IdentityTrouble) {
    match why {
        Hindrance::Denied => (IdentityStatus::Denied, IdentityTrouble::Denied),
        Hindrance::Throttled => (IdentityStatus::Throttled, IdentityTrouble::Throttled),
        Hindrance::Full => (IdentityStatus::Limited, IdentityTrouble::Limited),
        Hindrance::Invalid => (IdentityStatus::Refused, IdentityTrouble::Refused),
        Hindrance::Failed => (IdentityStatus::Unavailable, IdentityTrouble::Unavailable),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_741_608_000_000);

    fn own() -> Wanted {
        Wanted::OwnKey("mw1".into())
    }

    fn found(is_verified: bool, dkim: DkimStatus, way: IdentityWay, tokens: &[&str]) -> IdentityAnswer {
        IdentityAnswer::Known(Identity {
            is_verified,
            dkim,
            way: Some(way),
            tokens: tokens.iter().map(|token| (*token).to_owned()).collect(),
            hosted_zone: None,
        })
    }

    /// After registering with the key `mw1`.
    fn registered() -> DomainIdentity {
        let answer = found(false, DkimStatus::Pending, IdentityWay::OwnKey, &["mw1"]);
        after(DomainIdentity::new("ses"), (Step::Register, &own()), answer, NOW)
    }

    #[test]
    fn what_was_put_is_known() {
        let own = registered();
        assert_eq!((own.holder, own.way), (IdentityHolder::Domain, Some(IdentityWay::OwnKey)));
        assert_eq!((own.selector.as_deref(), own.status), (Some("mw1"), IdentityStatus::Pending));
        assert_eq!((own.tokens.len(), own.checked_at), (0, Some(NOW)));
        let answer = found(false, DkimStatus::Pending, IdentityWay::EasyDkim, &["a", "b"]);
        let easy = after(own, (Step::Replace, &Wanted::EasyDkim), answer, NOW);
        assert_eq!((easy.way, easy.selector), (Some(IdentityWay::EasyDkim), None));
        assert_eq!(easy.tokens, ["a", "b"]);
    }

    #[test]
    fn what_others_put_is_told_from_what_we_did() {
        let look = |known: &DomainIdentity, answer| after(known.clone(), (Step::Look, &own()), answer, NOW);
        let verified = |way, tokens: &[&str]| found(true, DkimStatus::Success, way, tokens);
        let ours = look(&registered(), verified(IdentityWay::OwnKey, &["mw1"]));
        assert_eq!((ours.holder, ours.status), (IdentityHolder::Domain, IdentityStatus::Verified));
        let other = look(&ours, verified(IdentityWay::OwnKey, &["mw9"]));
        assert_eq!((other.holder, other.selector.clone()), (IdentityHolder::Others, None));
        let other = look(&other, verified(IdentityWay::EasyDkim, &["a"]));
        assert_eq!((other.holder, other.way), (IdentityHolder::Others, Some(IdentityWay::EasyDkim)));
        assert_eq!(other.tokens, ["a"], "its records are to be created all the same");

        let exists = after(DomainIdentity::new("ses"), (Step::Register, &own()), IdentityAnswer::Exists, NOW);
        assert_eq!((exists.holder, exists.status), (IdentityHolder::Others, IdentityStatus::Pending));
        let recognised = look(&exists, verified(IdentityWay::OwnKey, &["mw1"]));
        assert_eq!(
            (recognised.holder, recognised.selector.as_deref()),
            (IdentityHolder::Domain, Some("mw1"))
        );
        // a key of ours that was rotated meanwhile is ours still
        let rotated = Wanted::OwnKey("mw2".into());
        let known = after(ours, (Step::Look, &rotated), verified(IdentityWay::OwnKey, &["mw1"]), NOW);
        assert_eq!((known.holder, known.selector.as_deref()), (IdentityHolder::Domain, Some("mw1")));
        let gone = look(&known, IdentityAnswer::Missing);
        assert_eq!((gone.holder, gone.way, gone.checked_at), (IdentityHolder::Nobody, None, Some(NOW)));
        assert!(gone.error.is_some());
    }

    #[test]
    fn what_hinders_is_kept_and_a_verified_domain_stays_so() {
        let long = unanswered(registered(), &"x".repeat(900), NOW);
        assert_eq!(
            (long.error.map(|error| error.len()), long.status),
            (Some(ERROR), IdentityStatus::Unavailable)
        );
        assert_eq!((long.trouble, long.checked_at), (Some(IdentityTrouble::Unavailable), Some(NOW)));
        for (why, status) in [
            (Hindrance::Denied, IdentityStatus::Denied),
            (Hindrance::Throttled, IdentityStatus::Throttled),
            (Hindrance::Full, IdentityStatus::Limited),
            (Hindrance::Invalid, IdentityStatus::Refused),
            (Hindrance::Failed, IdentityStatus::Unavailable),
        ] {
            let answer = || IdentityAnswer::Hindered(why, Said { status: 400, text: "x".repeat(900) });
            let known = after(registered(), (Step::Look, &own()), answer(), NOW);
            assert_eq!((known.status, known.holder), (status, IdentityHolder::Domain), "{why:?}");
            assert_eq!(known.trouble, Some(of(why).1));
            let error = known.error.unwrap_or_default();
            assert!(
                error.contains("Amazon SES") && !error.contains("xx"),
                "what it says stays in the log: {error}"
            );
            let verified = DomainIdentity { status: IdentityStatus::Verified, ..registered() };
            let known = after(verified, (Step::Look, &own()), answer(), NOW);
            assert_eq!((known.status, known.error.is_some()), (IdentityStatus::Verified, true), "{why:?}");
        }
        let failed = found(false, DkimStatus::Failed, IdentityWay::OwnKey, &["mw1"]);
        assert_eq!(after(registered(), (Step::Look, &own()), failed, NOW).status, IdentityStatus::Failed);
        let unsure = found(false, DkimStatus::TemporaryFailure, IdentityWay::OwnKey, &["mw1"]);
        assert_eq!(after(registered(), (Step::Look, &own()), unsure, NOW).status, IdentityStatus::Pending);
    }
}
