//! DMARC (RFC 7489): what a domain's record asks of receivers, and whether it can ask for more without harm to the
//! domain's own mail.
//!
//! A policy is made stricter step by step: nothing, quarantine, reject. Each step is proposed when reports of two weeks
//! show that the mail of sources that send rightly for the domain passes.

use crate::names::names_in_json;

/// How many days the reports have to cover before a step is proposed, and how far back mails are counted for it: two
/// weeks have every weekly newsletter twice.
pub const DAYS: i64 = 14;
/// Of how many receivers there have to be reports: one alone may see a part of the mail only.
pub const FEWEST_REPORTERS: usize = 2;
/// How many mails of sources that send rightly there have to be: below it a share says little.
pub const FEWEST_MESSAGES: u64 = 100;
/// How many of a hundred of them have to be aligned: forwarding breaks a few in any case.
pub const LEAST_ALIGNED: u64 = 98;

names_in_json! {
    /// What a domain asks receivers to do with mail that fails.
    #[derive(PartialOrd, Ord)]
    pub enum DmarcPolicy {
        /// Nothing.
        None = "none",
        /// To be suspicious of it: often the spam folder.
        Quarantine = "quarantine",
        /// To refuse it.
        Reject = "reject",
    }
}

impl DmarcPolicy {
    /// The policy that a record states for its domain; `None` where it states none that receivers know.
    pub fn of_record(record: &str) -> Option<Self> {
        let (_, policy) = tags(record).find(|(name, _)| *name == "p")?;
        Self::from_name(&policy.to_ascii_lowercase())
    }

    /// The next stricter one.
    pub fn stricter(self) -> Option<Self> {
        match self {
            Self::None => Some(Self::Quarantine),
            Self::Quarantine => Some(Self::Reject),
            Self::Reject => None,
        }
    }
}

/// What reports say of the mail of one source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Its address; `None` for those together that are not told apart.
    pub ip: Option<String>,
    /// How many mails came from it.
    pub messages: u64,
    /// How many of them are aligned.
    pub aligned: u64,
    /// Whether it brought mail that this service signed.
    pub is_ours: bool,
}

impl Source {
    /// Whether it sends rightly for the domain, as far as reports can tell.
    fn is_rightful(&self) -> bool {
        self.is_ours || self.aligned > 0
    }

    fn unaligned(&self) -> u64 {
        self.messages.saturating_sub(self.aligned)
    }

    fn name(&self) -> String {
        self.ip.as_ref().map_or_else(|| "other sources".to_owned(), |ip| format!("source {ip}"))
    }
}

/// What reports say of a domain that has a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    /// For how many days there are reports of receivers that found this policy.
    pub days: i64,
    /// How many receivers reported in the last [`DAYS`] days.
    pub reporters: usize,
    /// Where the mail of these days came from.
    pub sources: Vec<Source>,
}

/// The policy to go on to, or one sentence that says why not yet.
pub fn next_policy(published: DmarcPolicy, evidence: &Evidence) -> Result<DmarcPolicy, String> {
    let Some(next) = published.stricter() else {
        return Err("There is no stricter policy.".to_owned());
    };
    if evidence.days < DAYS {
        return Err(format!("Reports of at least {DAYS} days are needed."));
    }
    if evidence.reporters < FEWEST_REPORTERS {
        return Err(format!(
            "Reports of at least {FEWEST_REPORTERS} receivers in the last {DAYS} days are needed."
        ));
    }
    let rightful = || evidence.sources.iter().filter(|source| source.is_rightful());
    let messages = total(rightful().map(|source| source.messages));
    let aligned = total(rightful().map(|source| source.aligned));
    if messages < FEWEST_MESSAGES {
        return Err(format!(
            "Reports of at least {FEWEST_MESSAGES} mails in the last {DAYS} days are needed."
        ));
    }
    // exact, whatever the counts of reports are
    if u128::from(aligned) * 100 >= u128::from(messages) * u128::from(LEAST_ALIGNED) {
        return Ok(next);
    }
    let worst = rightful().max_by_key(|source| source.unaligned());
    Err(worst.map_or_else(String::new, |worst| {
        let share = percent(worst.unaligned(), worst.messages);
        format!("{share} of the mail of {} is not aligned.", worst.name())
    }))
}

fn total(counts: impl Iterator<Item = u64>) -> u64 {
    counts.fold(0, u64::saturating_add)
}

/// A share that is above zero, as people read it: not rounded to nothing.
fn percent(part: u64, whole: u64) -> String {
    let share = u128::from(part) * 100 / u128::from(whole.max(1));
    if share == 0 { "Less than 1 %".to_owned() } else { format!("{share} %") }
}

/// The record with a policy, and with `address` among those that reports go to. What else `record` says stays; without
/// one, a new record is made.
pub fn record_with(record: Option<&str>, policy: DmarcPolicy, address: Option<&str>) -> String {
    let mut tags: Vec<(String, String)> =
        record.into_iter().flat_map(tags).map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    if tags.is_empty() {
        tags.push(("v".to_owned(), "DMARC1".to_owned()));
    }
    match tags.iter_mut().find(|(name, _)| name == "p") {
        Some((_, value)) => policy.as_str().clone_into(value),
        None => tags.insert(1, ("p".to_owned(), policy.as_str().to_owned())),
    }
    if let Some(address) = address {
        let ours = format!("mailto:{address}");
        match tags.iter_mut().find(|(name, _)| name == "rua") {
            Some((_, others)) if others.to_ascii_lowercase().contains(&ours.to_ascii_lowercase()) => {}
            Some((_, others)) => *others = format!("{others},{ours}"),
            None => tags.push(("rua".to_owned(), ours)),
        }
    }
    let tags: Vec<String> = tags.into_iter().map(|(name, value)| format!("{name}={value}")).collect();
    tags.join("; ")
}

/// The tags of a record (RFC 7489 section 6.4).
fn tags(record: &str) -> impl Iterator<Item = (&str, &str)> {
    record.split(';').filter_map(|tag| tag.split_once('=')).map(|(name, value)| (name.trim(), value.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(ip: &str, messages: u64, aligned: u64) -> Source {
        Source { ip: Some(ip.to_owned()), messages, aligned, is_ours: false }
    }

    fn evidence(sources: Vec<Source>) -> Evidence {
        Evidence { days: DAYS, reporters: FEWEST_REPORTERS, sources }
    }

    #[test]
    fn a_policy_goes_on_step_by_step() {
        let good = evidence(vec![source("192.0.2.1", 100, 98)]);
        assert_eq!(next_policy(DmarcPolicy::None, &good), Ok(DmarcPolicy::Quarantine));
        assert_eq!(next_policy(DmarcPolicy::Quarantine, &good), Ok(DmarcPolicy::Reject));
        assert_eq!(next_policy(DmarcPolicy::Reject, &good), Err("There is no stricter policy.".to_owned()));
    }

    #[test]
    fn it_is_said_what_is_missing() {
        let good = evidence(vec![source("192.0.2.1", 100, 100)]);
        let ours = Source { is_ours: true, ..source("2001:db8::1", 10, 0) };
        for (evidence, reason) in [
            (Evidence { days: 13, ..good.clone() }, "Reports of at least 14 days are needed."),
            (
                Evidence { reporters: 1, ..good.clone() },
                "Reports of at least 2 receivers in the last 14 days are needed.",
            ),
            (
                evidence(vec![source("192.0.2.1", 99, 99), source("192.0.2.2", 5000, 0)]),
                "Reports of at least 100 mails in the last 14 days are needed.",
            ),
            (
                evidence(vec![source("192.0.2.9", 300, 299), source("192.0.2.1", 100, 88)]),
                "12 % of the mail of source 192.0.2.1 is not aligned.",
            ),
            (
                evidence(vec![source("192.0.2.9", 100, 100), ours]),
                "100 % of the mail of source 2001:db8::1 is not aligned.",
            ),
            (
                evidence(vec![Source { ip: None, ..source("", 1000, 500) }]),
                "50 % of the mail of other sources is not aligned.",
            ),
            (evidence(vec![]), "Reports of at least 100 mails in the last 14 days are needed."),
        ] {
            let said = next_policy(DmarcPolicy::None, &evidence).err().unwrap_or_default();
            assert_eq!(said, reason, "{evidence:?}");
        }
    }

    #[test]
    fn sources_that_only_pretend_do_not_count() {
        let forged = source("198.51.100.1", u64::MAX, 0);
        let good = evidence(vec![forged, source("192.0.2.1", 200, 200)]);
        assert_eq!(next_policy(DmarcPolicy::None, &good), Ok(DmarcPolicy::Quarantine));
    }

    #[test]
    fn large_counts_do_not_overflow() {
        let many = evidence(vec![source("192.0.2.1", u64::MAX, u64::MAX), source("192.0.2.2", u64::MAX, 1)]);
        assert_eq!(next_policy(DmarcPolicy::None, &many), Ok(DmarcPolicy::Quarantine));
        assert_eq!((percent(1, 1000), percent(u64::MAX, u64::MAX)), ("Less than 1 %".into(), "100 %".into()));
    }

    #[test]
    fn a_record_states_its_policy() {
        for (record, policy) in [
            ("v=DMARC1; p=none", Some(DmarcPolicy::None)),
            ("v=DMARC1;p = Reject ;sp=none", Some(DmarcPolicy::Reject)),
            ("v=DMARC1; sp=reject", None),
            ("v=DMARC1; p=maybe", None),
            ("", None),
        ] {
            assert_eq!(DmarcPolicy::of_record(record), policy, "{record}");
        }
    }

    #[test]
    fn a_new_record_keeps_what_the_old_one_says() {
        let address = Some("dmarc-x@bounces.example.net");
        for (record, address, expected) in [
            (None, None, "v=DMARC1; p=quarantine"),
            (None, address, "v=DMARC1; p=quarantine; rua=mailto:dmarc-x@bounces.example.net"),
            (
                Some("v=DMARC1; p=none; adkim=s;"),
                address,
                "v=DMARC1; p=quarantine; adkim=s; rua=mailto:dmarc-x@bounces.example.net",
            ),
            (
                Some("v=DMARC1;p=none;rua=mailto:a@example.com"),
                address,
                "v=DMARC1; p=quarantine; rua=mailto:a@example.com,mailto:dmarc-x@bounces.example.net",
            ),
            (
                Some("v=DMARC1; p=none; rua=mailto:DMARC-X@bounces.example.net!10m"),
                address,
                "v=DMARC1; p=quarantine; rua=mailto:DMARC-X@bounces.example.net!10m",
            ),
            (Some("v=DMARC1; sp=none"), None, "v=DMARC1; p=quarantine; sp=none"),
        ] {
            assert_eq!(record_with(record, DmarcPolicy::Quarantine, address), expected);
        }
    }
}
