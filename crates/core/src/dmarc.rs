//! DMARC (RFC 7489): what a domain's record asks of receivers, and whether it can ask for more without harm to the
//! domain's own mail.
//!
//! A policy is made stricter step by step: nothing, quarantine, reject. Each step is proposed when reports of two weeks
//! show that the mail of sources that send rightly for the domain passes: by what all receivers report together, and by
//! what each of them reports. A receiver that invents its figures so does not outweigh the others.

use std::collections::{BTreeMap, BTreeSet};

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
/// How many of them one receiver has to report as not aligned before its own figures are judged: the share of a
/// receiver that saw a few mails, some of them forwarded, says little.
pub const FEWEST_UNALIGNED: u64 = 10;

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

/// What one receiver reports of the mail of one source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The receiver, by the domain that is proved to have sent its reports.
    pub reporter: String,
    /// The source's address; `None` for those together that are not told apart.
    pub ip: Option<String>,
    /// How many mails came from it.
    pub messages: u64,
    /// How many of them are aligned.
    pub aligned: u64,
    /// Whether it brought mail that this service signed.
    pub is_ours: bool,
}

impl Source {
    /// Whether it sends rightly for the domain, as far as this receiver can tell.
    fn is_rightful(&self) -> bool {
        self.is_ours || self.aligned > 0
    }
}

/// How many mails there are, and how many of them are aligned.
#[derive(Debug, Clone, Copy, Default)]
struct Share {
    messages: u64,
    aligned: u64,
}

impl Share {
    fn of<'a>(sources: impl IntoIterator<Item = &'a Source>) -> Self {
        sources.into_iter().fold(Self::default(), |all, source| Self {
            messages: all.messages.saturating_add(source.messages),
            aligned: all.aligned.saturating_add(source.aligned),
        })
    }

    fn unaligned(self) -> u64 {
        self.messages.saturating_sub(self.aligned)
    }

    /// Whether enough are aligned; exact, whatever the counts of reports are.
    fn is_enough(self) -> bool {
        u128::from(self.aligned) * 100 >= u128::from(self.messages) * u128::from(LEAST_ALIGNED)
    }
}

/// What reports say of a domain that has a policy. Only those count here whose sender is proved: others invent what
/// they like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    /// For how many days there are reports of receivers that found this policy.
    pub days: i64,
    /// How many receivers reported in the last [`DAYS`] days.
    pub reporters: usize,
    /// Where the mail of these days came from, by receiver.
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
    // a receiver that cannot tell a source of yours from one that pretends learns it from the others
    let known = evidence.sources.iter().filter(|source| source.is_rightful());
    let known: BTreeSet<Option<&str>> = known.map(|source| source.ip.as_deref()).collect();
    let rightful: Vec<&Source> =
        evidence.sources.iter().filter(|source| known.contains(&source.ip.as_deref())).collect();
    let all = Share::of(rightful.iter().copied());
    if all.messages < FEWEST_MESSAGES {
        return Err(format!(
            "Reports of at least {FEWEST_MESSAGES} mails in the last {DAYS} days are needed."
        ));
    }
    if !all.is_enough() {
        return Err(complaint(&rightful));
    }
    let mut receivers: BTreeMap<&str, Vec<&Source>> = BTreeMap::new();
    for source in rightful {
        receivers.entry(&source.reporter).or_default().push(source);
    }
    let shares = receivers.values().map(|sources| (Share::of(sources.iter().copied()), sources));
    let objecting = shares.filter(|(share, _)| !share.is_enough() && share.unaligned() >= FEWEST_UNALIGNED);
    match objecting.max_by_key(|(share, _)| share.unaligned()) {
        Some((_, sources)) => Err(complaint(sources)),
        None => Ok(next),
    }
}

/// What is said of the source with the most mails that are not aligned.
fn complaint(sources: &[&Source]) -> String {
    let mut shares: BTreeMap<Option<&str>, Share> = BTreeMap::new();
    for source in sources {
        let share = shares.entry(source.ip.as_deref()).or_default();
        share.messages = share.messages.saturating_add(source.messages);
        share.aligned = share.aligned.saturating_add(source.aligned);
    }
    let worst = shares.into_iter().max_by_key(|(_, share)| share.unaligned());
    worst.map_or_else(String::new, |(ip, worst)| {
        let share = percent(worst.unaligned(), worst.messages);
        format!("{share} of the mail of {} is not aligned.", name(ip))
    })
}

fn name(ip: Option<&str>) -> String {
    ip.map_or_else(|| "other sources".to_owned(), |ip| format!("source {ip}"))
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
#[path = "dmarc_tests.rs"]
mod tests;
