//! Looking for the records of a domain, and what follows from what is there.

use std::sync::atomic::Ordering;

use mailwright_core::audit::{Action, Actor};
use mailwright_core::domain::{Domain, DomainIdentity, FurtherKey, KeyRole};
use mailwright_core::ids::{DomainId, ProjectNumber};
use mailwright_core::time::Timestamp;
use mailwright_mail::domain::RecordCheck;
use mailwright_store::project::audit::{self, Entry};
use mailwright_store::sending::{domain as store, domain_key};
use mailwright_store::{Tx, body};
use serde_json::Value;

use super::identity;
use super::keys::OVERLAP;
use super::letters::Letters;
use super::records::{DomainWithRecords, findings, has_key, is_proven, receives};
use super::sender::Obstacle;
use crate::App;
use crate::error::{Error, Resource, Result};

/// What a check found of a domain.
#[derive(Clone)]
struct Outcome {
    project: ProjectNumber,
    domain: DomainId,
    /// The selector of the key that proved the domain before the check.
    selector: String,
    findings: Value,
    is_verified: bool,
    receives: Option<bool>,
    /// The selectors of keys that take the place of others.
    promoted: Vec<String>,
    forgets: bool,
    at: Timestamp,
}

impl App {
    /// Looks a domain's records up and stores the result. If the name server gives no answer, nothing changes.
    pub(crate) async fn check_domain(
        &self,
        project: ProjectNumber,
        domain: &Domain,
    ) -> Result<DomainWithRecords> {
        let id = domain.id;
        let mut keys = self.read(body!(async |rx| domain_key::of(rx, project, id).await)).await?;
        let outcome = if self.mail_leaves() {
            keys = self.keys_due(project, domain, keys).await?;
            let identities = self.identities(project, id).await?;
            let checks = self.look_up(domain, &keys, &identities).await?;
            self.outcome(project, domain, &keys, &checks)
        } else {
            // this proves nothing: once mail leaves, a domain without findings has to be proved anew
            let findings = if domain.verified { domain.last_check.clone() } else { Value::Null };
            self.outcome_of(project, domain, findings, true, None)
        };
        let is_lost = domain.verified && !outcome.is_verified;
        if outcome.is_verified != domain.verified {
            let verified = outcome.is_verified;
            tracing::info!(domain = %id, name = %domain.name, verified, "a domain's verification changed");
        }
        let is_other = outcome.is_verified != domain.verified || !outcome.promoted.is_empty();
        let letters = if is_lost { Letters::lost(&domain.name) } else { Letters::none() };
        let stored = self
            .with_letters(letters, move |tx, app, letters| {
                let outcome = outcome.clone();
                Box::pin(async move { store_outcome(tx, app, &outcome, letters).await })
            })
            .await?;
        let (stored, keys, identities) = stored.ok_or_else(|| Error::not_found(Resource::Domain, id))?;
        self.0.sending.domain_changes.fetch_add(u64::from(is_other), Ordering::SeqCst);
        if is_lost {
            self.withhold_campaigns(project, domain.name.to_string(), Obstacle::Unverified).await?;
        }
        Ok(self.with_records(stored, keys, identities))
    }

    /// What follows from the records that were found.
    fn outcome(
        &self,
        project: ProjectNumber,
        domain: &Domain,
        keys: &[FurtherKey],
        checks: &[RecordCheck],
    ) -> Outcome {
        // a domain that has no findings was verified without a check, while mail was captured
        let was_proven = domain.may_send(true);
        let findings = findings(checks, &domain.last_check);
        let next: Vec<_> = keys
            .iter()
            .filter(|key| key.role == KeyRole::Next && has_key(&findings, &key.selector))
            .collect();
        let is_replaced = next.iter().any(|key| key.key_type == domain.key_type);
        let is_proven = is_replaced || is_proven(checks, was_proven);
        let mut outcome = self.outcome_of(project, domain, findings, is_proven, receives(checks));
        outcome.promoted = next.into_iter().map(|key| key.selector.clone()).collect();
        outcome.forgets = keys.iter().any(|key| key.remove_after.is_some_and(|over| over <= outcome.at));
        outcome
    }

    fn outcome_of(
        &self,
        project: ProjectNumber,
        domain: &Domain,
        findings: Value,
        is_proven: bool,
        receives: Option<bool>,
    ) -> Outcome {
        Outcome {
            project,
            domain: domain.id,
            selector: domain.selector.clone(),
            findings,
            is_verified: is_proven || domain.vouched,
            receives,
            promoted: Vec::new(),
            forgets: false,
            at: self.0.clock.now(),
        }
    }
}

/// A domain with its further keys, and what is known of it with the accounts that it is registered with.
type Stored = (Domain, Vec<FurtherKey>, Vec<DomainIdentity>);

/// Stores what a check found. `None` where the domain was removed meanwhile.
async fn store_outcome(
    tx: &mut Tx<'_>,
    app: &App,
    found: &Outcome,
    letters: &Letters,
) -> Result<Option<Stored>> {
    let (project, id) = (found.project, found.domain);
    if letters.is_any() {
        // several processes may find out at the same time
        let before = store::get_for_update(tx, project, id).await?;
        if before.is_some_and(|before| before.verified) {
            letters.write(tx, app, project).await?;
        }
    }
    let key = (id, found.selector.as_str());
    let stored =
        store::checked(tx, project, key, found.receives, found.is_verified, &found.findings, found.at)
            .await?;
    let Some(stored) = stored else { return Ok(None) };
    for selector in &found.promoted {
        if domain_key::promote(tx, project, id, selector, found.at.plus(OVERLAP)).await? {
            let entry = Entry::new(Action::DomainKeyReplaced, stored.name.to_string());
            audit::record(tx, project, &Actor::Service, &entry, found.at).await?;
        }
    }
    if found.forgets {
        domain_key::forget_former(tx, project, id, found.at).await?;
    }
    // a key that was promoted may be the domain's own by now
    let stored = if found.promoted.is_empty() { Some(stored) } else { store::get(tx, project, id).await? };
    let Some(stored) = stored else { return Ok(None) };
    let keys = domain_key::of(tx, project, id).await?;
    let identities = identity::want(tx, app, project, (&stored, &keys), found.at).await?;
    Ok(Some((stored, keys, identities)))
}
