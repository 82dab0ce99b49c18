//! Addresses and rules that keep mail from being sent. What each reason holds back, and what ends it, is said in
//! [`mailwright_core::suppression`].
//!
//! Mail is looked at twice, each time in the transaction that decides: when it is accepted or frozen, and when it is
//! claimed for delivery. [`Look`] is what is looked at. It is read by a statement for each list, and nothing of it is
//! kept in memory, so that an address that is added stops at once.

pub mod address;
pub mod instance;
pub mod mail;
pub mod rule;
pub mod soft_bounce;

use std::collections::{BTreeMap, BTreeSet};

use futures_util::future::{join, join4};
use mailwright_core::address::EmailAddress;
use mailwright_core::ids::{EmailId, ProjectNumber};
use mailwright_core::names;
use mailwright_core::suppression::{Held, Match, MatchSource, Rules, SuppressionReason};
use mailwright_core::template::TemplateType;
use mailwright_core::time::Timestamp;

use crate::audience::erased;
use crate::database::error::Result;
use crate::database::tx::{Row, Rx, Tx};
use crate::database::value::Arg;

pub use address::lift;

names! {
    /// What news of a mail make of its address.
    pub enum Cause {
        /// The address does not exist.
        Bounce = "bounce",
        /// The owner of the address reported a mail as spam.
        Complaint = "complaint",
    }
}

impl Cause {
    /// Why the address is on the list then.
    pub fn reason(self) -> SuppressionReason {
        match self {
            Self::Bounce => SuppressionReason::HardBounce,
            Self::Complaint => SuppressionReason::Complaint,
        }
    }
}

/// The name under which a reason is stored. A hard bounce has that of earlier versions, so that their rows stay as they
/// are.
pub(crate) const fn stored(reason: SuppressionReason) -> &'static str {
    match reason {
        SuppressionReason::HardBounce => "bounce",
        SuppressionReason::Complaint
        | SuppressionReason::Manual
        | SuppressionReason::UnsubscribeAll
        | SuppressionReason::Import => reason.as_str(),
    }
}

fn from_stored(name: &str) -> Option<SuppressionReason> {
    SuppressionReason::ALL.into_iter().find(|reason| stored(*reason) == name)
}

fn read_reason(row: &Row<'_>, index: usize) -> Result<SuppressionReason> {
    row.named(index, "suppressions.reason", from_stored)
}

/// Adds addresses of which a bounce or a complaint came, with the mail that it was. What is on the list already stays, if
/// it ends later or holds back more.
pub async fn add(
    tx: &Tx<'_>,
    addresses: &[(ProjectNumber, &EmailAddress, EmailId)],
    cause: Cause,
    now: Timestamp,
) -> Result<()> {
    let mut by_project: BTreeMap<ProjectNumber, BTreeMap<&EmailAddress, EmailId>> = BTreeMap::new();
    for (project, email, mail) in addresses {
        by_project.entry(*project).or_default().entry(email).or_insert(*mail);
    }
    for (project, addresses) in by_project {
        let new: Vec<_> = addresses
            .into_iter()
            .map(|(email, mail)| address::New {
                email: email.clone(),
                reason: cause.reason(),
                mail: Some(mail),
                expires_at: None,
            })
            .collect();
        address::add(tx, project, &new, address::Same::Kept, now).await?;
    }
    Ok(())
}

/// What keeps mail of a project from some addresses.
#[derive(Debug, Default)]
pub struct Look {
    instance: BTreeMap<EmailAddress, SuppressionReason>,
    project: BTreeMap<EmailAddress, SuppressionReason>,
    rules: Rules,
}

impl Look {
    /// Looks at some addresses.
    pub async fn at(
        rx: &Rx<'_>,
        project: ProjectNumber,
        emails: &BTreeSet<&EmailAddress>,
        now: Timestamp,
    ) -> Result<Self> {
        if emails.is_empty() {
            return Ok(Self::default());
        }
        let (instance, listed, rules, complained) = join4(
            instance::among(rx, emails, now),
            address::among(rx, project, emails, now),
            rule::enabled(rx, project),
            erased::complained(rx, project, emails),
        )
        .await;
        let mut listed = listed?;
        for email in complained? {
            listed.entry(email).or_insert(SuppressionReason::Complaint);
        }
        Ok(Self { instance: instance?, project: listed, rules: rules? })
    }

    /// What keeps mail of a kind from an address, if anything does. Of those that subscribed again in this transaction,
    /// what ends by that counts no more.
    pub fn find(&self, email: &EmailAddress, kind: TemplateType, has_subscribed: bool) -> Option<Match> {
        let holds = |reason: &&SuppressionReason| reason.held().holds(kind);
        let of = |source, reason: &SuppressionReason| Match::of_address(source, email, *reason);
        if let Some(reason) = self.instance.get(email).filter(holds) {
            return Some(of(MatchSource::Instance, reason));
        }
        let is_there = |reason: &&SuppressionReason| !(has_subscribed && reason.ends_with_subscribing());
        if let Some(reason) = self.project.get(email).filter(holds).filter(is_there) {
            return Some(of(MatchSource::Project, reason));
        }
        self.rules.first(email).map(Match::of_rule)
    }
}

/// Which mail to some addresses is held back by the lists. Those whose mail is not are missing; rules are not looked at.
pub async fn held(
    rx: &Rx<'_>,
    project: ProjectNumber,
    emails: &BTreeSet<&EmailAddress>,
    now: Timestamp,
) -> Result<BTreeMap<EmailAddress, Held>> {
    let mut held: BTreeMap<EmailAddress, Held> = BTreeMap::new();
    let (of_project, of_instance) =
        join(address::among(rx, project, emails, now), instance::among(rx, emails, now)).await;
    for (email, reason) in of_project?.into_iter().chain(of_instance?) {
        let known = held.entry(email).or_default();
        *known = reason.held().max(*known);
    }
    Ok(held)
}

/// Reads an address and the reason of its entry.
fn read_listed(row: &Row<'_>) -> Result<(EmailAddress, SuppressionReason)> {
    Ok((row.get(0)?, read_reason(row, 1)?))
}

fn set<'e>(emails: &BTreeSet<&'e EmailAddress>) -> Arg<'e> {
    Arg::Texts(emails.iter().map(|email| Some(email.as_str().into())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_read_as_they_are_stored() {
        for reason in SuppressionReason::ALL {
            assert_eq!(from_stored(stored(reason)), Some(reason));
        }
        for cause in Cause::ALL {
            assert_eq!(stored(cause.reason()), cause.as_str(), "as earlier versions stored it");
        }
    }
}
