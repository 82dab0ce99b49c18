//! What an account is to sign with for a domain, and what it is asked next.

use std::time::Duration;

use mailwright_core::domain::{DomainIdentity, IdentityHolder, IdentityStatus, IdentityWay};
use mailwright_core::time::Timestamp;
use mailwright_mail::dkim::KeyType;
use serde_json::Value;

use super::super::records::has_key;

/// How long a verified domain is not asked about.
const VERIFIED_FOR: Duration = Duration::from_hours(1);
/// How long a process that asks has until another one may. A request takes 20 seconds at most.
pub(super) const LEASE: Duration = Duration::from_mins(1);
/// After so many times in 24 hours that a project had domains registered, or other keys put for them, no further domain
/// is registered: twice for each domain. Keys are put in any case, since mail is signed with them already.
pub(super) const MOST_A_DAY: i64 = 200;
/// Most domains of an account that are still to be removed while further ones are registered.
pub(super) const MOST_GIVEN_UP: i64 = 1_000;

/// Selector and kind of the keys that a domain signs with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Keys<'a> {
    /// Of the one that proves the domain.
    pub(super) first: (&'a str, &'a str),
    /// Of the one beside it.
    pub(super) second: Option<(&'a str, &'a str)>,
}

/// What an account is to sign with for a domain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wanted {
    /// Nothing: the domain is not proved.
    Nothing,
    /// Nothing new: the domain has an RSA key, whose record is not found.
    Unpublished,
    /// The domain's RSA key with this selector.
    OwnKey(String),
    /// Keys of its own.
    EasyDkim,
}

/// What is asked next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// To register the domain.
    Register,
    /// What is known of the domain.
    Look,
    /// To sign with something else.
    Replace,
    /// Nothing, before the record of the RSA key is found.
    Wait,
    /// Nothing.
    Rest,
}

/// What an account is to sign with, by the findings of the last check of a domain. A domain without an RSA key has none to
/// give: Ed25519 is nothing that SES takes.
pub(super) fn wanted(way: IdentityWay, findings: &Value, keys: Keys<'_>) -> Wanted {
    if !has_key(findings, keys.first.0) {
        return Wanted::Nothing;
    }
    let is_rsa = |(_, kind): &(&str, &str)| *kind == KeyType::Rsa2048.as_str();
    let rsa = std::iter::once(keys.first).chain(keys.second).find(is_rsa);
    match (way, rsa) {
        (IdentityWay::EasyDkim, _) | (IdentityWay::OwnKey, None) => Wanted::EasyDkim,
        (IdentityWay::OwnKey, Some((selector, _))) if has_key(findings, selector) => {
            Wanted::OwnKey(selector.to_owned())
        }
        (IdentityWay::OwnKey, Some(_)) => Wanted::Unpublished,
    }
}

/// What an account is asked next about a domain.
pub(super) fn step(known: Option<&DomainIdentity>, wanted: &Wanted, now: Timestamp) -> Step {
    let is_published = match wanted {
        Wanted::Nothing => return Step::Rest,
        Wanted::Unpublished => false,
        Wanted::OwnKey(_) | Wanted::EasyDkim => true,
    };
    let Some(known) = known.filter(|known| known.holder != IdentityHolder::Nobody) else {
        return if is_published { Step::Register } else { Step::Wait };
    };
    let is_ours = known.holder == IdentityHolder::Domain;
    // SES looks for records anew when it is given a key again
    if is_published && (known.status == IdentityStatus::Failed || is_ours && differs(known, wanted)) {
        return Step::Replace;
    }
    if is_fresh(known, now) { Step::Rest } else { Step::Look }
}

/// Whether an account signs with something else than it should.
fn differs(known: &DomainIdentity, wanted: &Wanted) -> bool {
    match wanted {
        Wanted::OwnKey(selector) => {
            known.way != Some(IdentityWay::OwnKey) || known.selector.as_ref() != Some(selector)
        }
        Wanted::EasyDkim => known.way != Some(IdentityWay::EasyDkim),
        Wanted::Nothing | Wanted::Unpublished => false,
    }
}

/// Whether a domain is verified and was asked about lately. An answer of the future was noted by a wrong clock.
fn is_fresh(known: &DomainIdentity, now: Timestamp) -> bool {
    let is_recent = known.checked_at.is_some_and(|at| at <= now && now.since(at) < VERIFIED_FOR);
    known.status == IdentityStatus::Verified && known.error.is_none() && is_recent
}

/// Whether an account is to be asked about a domain already.
pub(super) fn is_waiting(known: &DomainIdentity, now: Timestamp) -> bool {
    known.due_at.is_some_and(|at| at <= now.plus(LEASE))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOW: Timestamp = Timestamp(1_741_608_000_000);

    fn findings(found: &[&str]) -> Value {
        let finding = |selector: &&str| {
            let name = format!("{selector}._domainkey.acme.test");
            json!({"purpose": "dkim", "name": name, "status": "found", "found": [], "was_found": false})
        };
        found.iter().map(finding).collect()
    }

    fn own(selector: &str) -> Wanted {
        Wanted::OwnKey(selector.to_owned())
    }

    /// One that has the key `mw1` and was verified just now.
    fn verified() -> DomainIdentity {
        DomainIdentity {
            holder: IdentityHolder::Domain,
            way: Some(IdentityWay::OwnKey),
            selector: Some("mw1".into()),
            status: IdentityStatus::Verified,
            checked_at: Some(NOW),
            ..DomainIdentity::new("ses")
        }
    }

    #[test]
    fn an_rsa_key_is_given_once_its_record_is_found() {
        let keys = |first, second| Keys { first, second };
        let (rsa, ed25519) = (("mw1", "rsa"), ("mw2", "ed25519"));
        for (keys, found, expected) in [
            (keys(rsa, None), &["mw1"][..], own("mw1")),
            (keys(rsa, Some(ed25519)), &["mw1"][..], own("mw1")),
            (keys(ed25519, Some(rsa)), &["mw1", "mw2"][..], own("mw1")),
            (keys(ed25519, Some(rsa)), &["mw2"][..], Wanted::Unpublished),
            (keys(ed25519, None), &["mw2"][..], Wanted::EasyDkim),
            (keys(rsa, Some(ed25519)), &["mw2"][..], Wanted::Nothing),
            (keys(rsa, None), &[] as &[&str], Wanted::Nothing),
        ] {
            assert_eq!(wanted(IdentityWay::OwnKey, &findings(found), keys), expected, "{keys:?}, {found:?}");
            let easy = wanted(IdentityWay::EasyDkim, &findings(found), keys);
            assert_eq!(easy == Wanted::EasyDkim, expected != Wanted::Nothing, "{keys:?}, {found:?}");
        }
        assert_eq!(wanted(IdentityWay::OwnKey, &Value::Null, keys(rsa, None)), Wanted::Nothing);
    }

    #[test]
    fn a_domain_is_registered_and_then_looked_at() {
        let unknown = DomainIdentity::new("ses");
        for known in [None, Some(&unknown)] {
            assert_eq!(step(known, &own("mw1"), NOW), Step::Register);
            assert_eq!(step(known, &Wanted::EasyDkim, NOW), Step::Register);
            assert_eq!(step(known, &Wanted::Unpublished, NOW), Step::Wait);
            assert_eq!(step(known, &Wanted::Nothing, NOW), Step::Rest);
        }
        let known = verified();
        assert_eq!(step(Some(&known), &Wanted::Nothing, NOW), Step::Rest, "its record is gone");
        let minutes = |minutes| NOW.plus(Duration::from_mins(minutes));
        assert_eq!(step(Some(&known), &own("mw1"), minutes(59)), Step::Rest);
        assert_eq!(step(Some(&known), &own("mw1"), minutes(60)), Step::Look);
        assert_eq!(step(Some(&known), &Wanted::Unpublished, minutes(60)), Step::Look);
        assert_eq!(step(Some(&known), &own("mw1"), Timestamp(0)), Step::Look, "the clock was wrong");
        let pending = DomainIdentity { status: IdentityStatus::Pending, ..verified() };
        assert_eq!(step(Some(&pending), &own("mw1"), NOW), Step::Look);
        let throttled = DomainIdentity { error: Some("slow down".into()), ..verified() };
        assert_eq!(step(Some(&throttled), &own("mw1"), NOW), Step::Look);
    }

    #[test]
    fn what_the_domain_put_is_replaced_and_what_others_put_stays_while_it_serves() {
        let known = verified();
        assert_eq!(step(Some(&known), &own("mw3"), NOW), Step::Replace, "the key was rotated");
        assert_eq!(
            step(Some(&known), &Wanted::EasyDkim, NOW),
            Step::Replace,
            "the operator wants it otherwise"
        );
        let of_others = DomainIdentity { holder: IdentityHolder::Others, selector: None, ..verified() };
        assert_eq!(step(Some(&of_others), &own("mw3"), NOW), Step::Rest);
        let pending = DomainIdentity { status: IdentityStatus::Pending, ..of_others.clone() };
        assert_eq!(step(Some(&pending), &own("mw3"), NOW), Step::Look);
        for known in [known, of_others] {
            let failed = DomainIdentity { status: IdentityStatus::Failed, ..known };
            assert_eq!(step(Some(&failed), &own("mw1"), NOW), Step::Replace);
            assert_eq!(step(Some(&failed), &Wanted::Unpublished, NOW), Step::Look);
            assert_eq!(step(Some(&failed), &Wanted::Nothing, NOW), Step::Rest);
        }
    }

    #[test]
    fn what_is_taken_over_is_not_wanted_again_until_its_lease_is_over() {
        let due = |at| DomainIdentity { due_at: at, ..verified() };
        assert!(!is_waiting(&due(None), NOW));
        assert!(is_waiting(&due(Some(NOW)), NOW) && is_waiting(&due(Some(NOW.plus(LEASE))), NOW));
        assert!(!is_waiting(&due(Some(NOW.plus(2 * LEASE))), NOW), "the clock was wrong");
    }
}
