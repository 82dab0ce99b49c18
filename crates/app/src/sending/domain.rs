//! Sender domains: adding, checking, removing.
//!
//! Sending, and resuming a campaign, needs a verified domain. A domain that was verified under the capture transport
//! counts as not verified once mail leaves, because nothing was looked up for it (`may_send`). Each project has a DKIM
//! key of its own for a domain, so several projects may add one name. A domain that `bootstrap` made is vouched for by
//! the operator and stays verified.

use std::sync::atomic::Ordering;
use std::time::Duration;

use mailwright_core::address::DomainName;
use mailwright_core::audit::{Action, Actor};
use mailwright_core::domain::Domain;
use mailwright_core::ids::{DomainId, ProjectNumber};
use mailwright_core::project::Project;
use mailwright_mail::dkim::{KeyType, dkim_record};
use mailwright_mail::domain::{RecordCheck, RecordStatus, SenderIdentity, check, expected_records};
use mailwright_store::Rx;
use mailwright_store::database::sealed::DomainKey;
use mailwright_store::project::audit::{self, Entry};
use mailwright_store::sending::{campaign, domain as store, template};
use serde_json::{Value, json};

use crate::background::tasks::Tasks;
use crate::error::{Error, Resource, Result};
use crate::secret::{Place, next_unopened, replace_check};
use crate::{App, Transport};

/// How long after a failure it is tried again to renew keys.
const RENEWED_AGAIN: Duration = Duration::from_secs(5);
/// Most domains of a project.
const MOST_DOMAINS: usize = 100;

/// A DNS record of a domain, with what the last check found.
#[derive(Debug, Clone)]
pub struct Record {
    /// `TXT`, `CNAME` or `MX`.
    pub kind: String,
    /// The complete name.
    pub name: String,
    /// The value to create.
    pub value: String,
    /// Preference of an MX record.
    pub priority: Option<u16>,
    /// What it is for: `dkim`, `spf` or `dmarc`.
    pub purpose: String,
    /// Whether the domain is verified only with it.
    pub required: bool,
    /// `found`, `missing`, `mismatch`, `unavailable`, or `unchecked` before the first check.
    pub status: String,
    /// The values found.
    pub found: Vec<String>,
}

/// A domain with its records.
#[derive(Debug, Clone)]
pub struct DomainWithRecords {
    /// The domain.
    pub domain: Domain,
    /// Its records, the required one first.
    pub records: Vec<Record>,
}

/// Why nothing is signed for a domain for now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Obstacle {
    /// It is not verified: nobody knows whether it is the project's.
    Unverified,
    /// Its private key was encrypted with another secret.
    Unopened,
}

impl Obstacle {
    /// What a mail says that waits for it.
    pub(crate) fn of_mail(self, domain: &str) -> String {
        match self {
            Self::Unverified => format!("The sender's domain {domain} is not verified."),
            Self::Unopened => format!(
                "The key of the sender's domain {domain} cannot be opened with the secret of this instance."
            ),
        }
    }

    /// What a campaign says that is paused for it.
    pub(crate) fn of_campaign(self, domain: &str) -> String {
        match self {
            Self::Unverified => {
                format!(
                    "Paused, because the domain {domain} is not verified. Verify it, and resume the campaign."
                )
            }
            Self::Unopened => format!(
                "Paused, because the key of the domain {domain} cannot be opened with the secret of this instance. Its \
                 operator can put the right secret back, or give the domain a new key. Then resume the campaign."
            ),
        }
    }
}

impl App {
    /// The domains of a project, newest first.
    pub async fn domains(&self, project: &Project) -> Result<Vec<DomainWithRecords>> {
        let number = project.number;
        let all = self.0.db.read(move |rx| Box::pin(async move { store::all(rx, number).await })).await?;
        Ok(all.into_iter().map(|domain| self.with_records(domain)).collect())
    }

    /// Adds a domain, unverified, with a DKIM key of its own. Two projects may add the same name: which of them may
    /// send from it, the DNS decides.
    pub async fn add_domain(
        &self,
        project: &Project,
        actor: &Actor,
        name: DomainName,
    ) -> Result<DomainWithRecords> {
        let domain = self.create_domain(project.number, actor, name, false).await?;
        // captured mail leaves nothing, so nothing has to be proved
        if matches!(self.0.transport, Transport::Capture) {
            return self.verify_domain(project, domain.id).await;
        }
        Ok(self.with_records(domain))
    }

    /// Makes a key and stores the domain. `vouched`: the operator answers for it.
    pub(crate) async fn create_domain(
        &self,
        project: ProjectNumber,
        actor: &Actor,
        name: DomainName,
        vouched: bool,
    ) -> Result<Domain> {
        // a key costs a second of a processor, so what cannot be added is refused before
        let _place = self.0.key_pool.place(project)?.wait().await;
        let known = self.0.db.read(move |rx| Box::pin(async move { store::all(rx, project).await })).await?;
        if known.iter().any(|domain| domain.name == name) {
            return Err(taken(&name));
        }
        if known.len() >= MOST_DOMAINS {
            return Err(too_many());
        }
        let kind = self.settings().domains.key_type;
        let (private, public_key) = self.0.key_pool.make(kind).await?;
        let sealed = self.0.secret.seal(crate::secret::DKIM, &private)?;
        let now = self.0.clock.now();
        let domain = Domain {
            id: DomainId::new(now, rand::random()),
            name,
            verified: vouched,
            vouched,
            selector: selector(),
            key_type: kind.as_str().to_owned(),
            public_key,
            last_check: Value::Null,
            created_at: now,
            updated_at: now,
        };
        let (stored, check_at) = (domain.clone(), now.plus(self.settings().domains.check_interval));
        let actor = actor.clone();
        let created = self.write(move |tx| {
            Box::pin(async move {
                // another process may have added some meanwhile
                if store::count_for_update(tx, project).await? >= MOST_DOMAINS {
                    return Err(too_many());
                }
                store::create(tx, project, &stored, &sealed, check_at).await?;
                let entry = Entry::new(Action::DomainAdded, stored.name.to_string());
                Ok(audit::record(tx, project, &actor, &entry, now).await?)
            })
        });
        match created.await {
            Ok(()) => Ok(domain),
            Err(Error::Store(error)) if error.is_conflict_on("domains", "name") => Err(taken(&domain.name)),
            Err(error) => Err(error),
        }
    }

    /// Checks a domain now.
    pub async fn verify_domain(&self, project: &Project, id: DomainId) -> Result<DomainWithRecords> {
        let number = project.number;
        let domain =
            self.0.db.read(move |rx| Box::pin(async move { store::get(rx, number, id).await })).await?;
        let domain = domain.ok_or_else(|| Error::not_found(Resource::Domain, id))?;
        self.check_domain(number, &domain).await
    }

    /// Looks a domain's records up and stores what was found. An answer that does not come changes nothing.
    pub(crate) async fn check_domain(
        &self,
        project: ProjectNumber,
        domain: &Domain,
    ) -> Result<DomainWithRecords> {
        let record = dkim_record(key_type(domain), &domain.public_key);
        let (last_check, proven) = if matches!(self.0.transport, Transport::Capture) {
            // this proves nothing: once mail leaves, a domain without findings has to be proved anew
            (if domain.verified { domain.last_check.clone() } else { Value::Null }, true)
        } else {
            // a domain that has no findings was verified without a check, while mail was captured
            let was_proven = domain.may_send(true);
            let checks = check(&self.0.dns, &self.identity(domain, &record)).await;
            (findings(&checks), is_proven(&checks, was_proven))
        };
        let verified = proven || domain.vouched;
        let (id, selector, now) = (domain.id, domain.selector.clone(), self.0.clock.now());
        if verified != domain.verified {
            tracing::info!(domain = %id, verified, "a domain's verification changed");
        }
        let stored = self
            .0
            .db
            .write(move |tx| {
                Box::pin(async move {
                    store::checked(tx, project, (id, &selector), verified, &last_check, now).await
                })
            })
            .await?;
        let stored = stored.ok_or_else(|| Error::not_found(Resource::Domain, id))?;
        self.0.domain_changes.fetch_add(u64::from(verified != domain.verified), Ordering::SeqCst);
        if domain.verified && !verified {
            self.withhold_campaigns(project, domain.name.to_string(), Obstacle::Unverified).await?;
        }
        Ok(self.with_records(stored))
    }

    /// Gives every domain another key whose private key cannot be opened, because the secret was lost, and has the
    /// database know the new secret. What cannot be done is tried again, until the service stops. The number of keys;
    /// `None` when the service stopped before the last.
    pub async fn renew_keys(&self, tasks: &Tasks) -> Option<usize> {
        let (mut renewed, mut after) = (0, None);
        loop {
            let step = self.renew_next(tasks, after, &mut renewed).await;
            match step {
                _ if tasks.is_stopping() => return None,
                Ok(None) => return Some(renewed),
                Ok(next) => after = next,
                Err(error) => {
                    tracing::warn!(%error, "the key of a domain could not be renewed, trying again");
                    if !tasks.pause(RENEWED_AGAIN).await {
                        return None;
                    }
                }
            }
        }
    }

    /// Renews the keys of the next domains. Where to go on; `None` after the last.
    async fn renew_next(
        &self,
        tasks: &Tasks,
        after: Option<Place>,
        renewed: &mut usize,
    ) -> Result<Option<Place>> {
        let (db, secret) = (&self.0.db, &self.0.secret);
        let (unopened, next) = next_unopened(db, secret, after).await?;
        self.renew_all(unopened, tasks, renewed).await?;
        if next.is_none() && !tasks.is_stopping() {
            replace_check(db, secret).await?;
        }
        Ok(next)
    }

    async fn renew_all(&self, keys: Vec<DomainKey>, tasks: &Tasks, renewed: &mut usize) -> Result<()> {
        for key in keys {
            if tasks.is_stopping() {
                break;
            }
            *renewed += usize::from(self.renew_key(key.project, key.domain).await?);
        }
        Ok(())
    }

    /// Gives a domain another key, with a record of its own: it is verified once that is found, at once where the
    /// operator vouches for it. False when somebody else was first.
    async fn renew_key(&self, project: ProjectNumber, id: DomainId) -> Result<bool> {
        let known =
            self.0.db.read(move |rx| Box::pin(async move { store::get(rx, project, id).await })).await?;
        let Some(known) = known else { return Ok(false) };
        let kind = self.settings().domains.key_type;
        let (private, public_key) = self.0.key_pool.make(kind).await?;
        let sealed = self.0.secret.seal(crate::secret::DKIM, &private)?;
        let now = self.0.clock.now();
        let domain = Domain {
            // captured mail leaves nothing, so nothing has to be proved
            verified: known.vouched || !self.mail_leaves(),
            selector: selector(),
            key_type: kind.as_str().to_owned(),
            public_key,
            last_check: Value::Null,
            updated_at: now,
            ..known.clone()
        };
        let (stored, old) = (domain.clone(), known.selector);
        let renewed = self.write(move |tx| {
            Box::pin(async move {
                let renewed = store::renew(tx, project, &stored, &sealed, &old).await?;
                if renewed {
                    let entry = Entry::new(Action::DomainRenewed, stored.name.to_string());
                    audit::record(tx, project, &Actor::Operator, &entry, now).await?;
                }
                Ok(renewed)
            })
        });
        if !renewed.await? {
            return Ok(false);
        }
        self.0.domain_changes.fetch_add(1, Ordering::SeqCst);
        if !domain.verified {
            self.withhold_campaigns(project, domain.name.to_string(), Obstacle::Unverified).await?;
        }
        tracing::warn!(
            domain = %domain.name,
            project = project.0,
            name = format!("{}._domainkey.{}", domain.selector, domain.name),
            value = dkim_record(kind, &domain.public_key),
            "a domain has a new key, since the old one could not be opened: publish this TXT record"
        );
        Ok(true)
    }

    /// Removes a domain that nothing sends from.
    pub async fn delete_domain(&self, project: &Project, actor: &Actor, id: DomainId) -> Result<()> {
        let (number, now, actor) = (project.number, self.0.clock.now(), actor.clone());
        let removed = self.write(move |tx| {
            Box::pin(async move {
                let gone = || Error::not_found(Resource::Domain, id);
                let domain = store::get(tx, number, id).await?.ok_or_else(gone)?;
                let name = domain.name.as_str();
                if template::uses_domain(tx, number, name).await?
                    || campaign::uses_domain(tx, number, name).await?
                {
                    return Err(Error::Conflict(
                        "Templates or campaigns send from this domain. Give them another sender before you remove it."
                            .into(),
                    ));
                }
                let entry = Entry::new(Action::DomainRemoved, domain.name.to_string());
                audit::record(tx, number, &actor, &entry, now).await?;
                // somebody else may have removed it at the same moment
                if store::delete(tx, number, id).await? { Ok(()) } else { Err(gone()) }
            })
        });
        removed.await?;
        self.0.domain_changes.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    fn identity<'a>(&'a self, domain: &'a Domain, dkim_record_value: &'a str) -> SenderIdentity<'a> {
        SenderIdentity {
            domain: domain.name.as_str(),
            selector: &domain.selector,
            dkim_record_value,
            spf_mechanism: self.settings().domains.spf.as_deref(),
            return_path_host: None,
        }
    }

    fn with_records(&self, mut domain: Domain) -> DomainWithRecords {
        domain.verified = domain.may_send(self.mail_leaves());
        let value = dkim_record(key_type(&domain), &domain.public_key);
        let records = expected_records(&self.identity(&domain, &value));
        let finding = |name: &str, purpose: &str| {
            domain.last_check.as_array()?.iter().find(|f| f["name"] == name && f["purpose"] == purpose)
        };
        let records = records
            .into_iter()
            .map(|record| {
                let found = finding(&record.name, record.purpose.as_str());
                Record {
                    status: found.and_then(|f| f["status"].as_str()).unwrap_or("unchecked").to_owned(),
                    found: found
                        .and_then(|f| f["found"].as_array())
                        .into_iter()
                        .flatten()
                        .filter_map(|v| v.as_str().map(str::to_owned))
                        .collect(),
                    kind: record.kind.to_owned(),
                    name: record.name,
                    value: record.value,
                    priority: record.priority,
                    purpose: record.purpose.as_str().to_owned(),
                    required: record.required,
                }
            })
            .collect();
        DomainWithRecords { domain, records }
    }
}

/// Refuses an address that the project may not send from. `leaves`: whether mail leaves the machine.
pub(crate) async fn check_may_send(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    from: &str,
    leaves: bool,
) -> Result<()> {
    sender_refused(rx, project, from, leaves).await?.map_or(Ok(()), Err)
}

/// Why the project may not send from an address; `None` when it may. `leaves`: whether mail leaves the machine.
pub(crate) async fn sender_refused(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    from: &str,
    leaves: bool,
) -> mailwright_store::Result<Option<Error>> {
    let name = from.rsplit_once('@').map_or("", |(_, name)| name);
    let domains = store::may_send(rx, &[(project, name)], leaves).await?;
    Ok(match domains.get(&(project, name.to_owned())) {
        Some(true) => None,
        Some(false) => Some(Error::SenderRefused(format!(
            "The domain {name} is not verified. Create its DNS records and verify it before sending from it."
        ))),
        None => Some(Error::SenderRefused(format!(
            "The domain {name} is not registered for this project. Add it and verify it before sending from it."
        ))),
    })
}

fn too_many() -> Error {
    Error::BadRequest(format!(
        "A project can have {MOST_DOMAINS} domains. Remove one that is not used before you add another."
    ))
}

fn taken(name: &DomainName) -> Error {
    Error::Conflict(format!("The project has the domain {name} already."))
}

/// Whether what was found lets the domain send. A required record that could not be looked up keeps what an earlier
/// check proved: a name server's bad day is no reason to stop a project's mail.
fn is_proven(checks: &[RecordCheck], was_proven: bool) -> bool {
    checks.iter().filter(|c| c.record.required).all(|c| match c.status {
        RecordStatus::Found => true,
        RecordStatus::Unavailable => was_proven,
        RecordStatus::Missing | RecordStatus::Mismatch => false,
    })
}

fn findings(checks: &[RecordCheck]) -> Value {
    checks
        .iter()
        .map(|c| {
            json!({
                "name": c.record.name,
                "purpose": c.record.purpose.as_str(),
                "status": c.status.as_str(),
                "found": c.found,
            })
        })
        .collect()
}

fn key_type(domain: &Domain) -> KeyType {
    if domain.key_type == KeyType::Ed25519.as_str() { KeyType::Ed25519 } else { KeyType::Rsa2048 }
}

/// A selector that no other key of the domain has, so that a key can be replaced while mails with the old one are read.
fn selector() -> String {
    format!("mw{}", hex::encode(rand::random::<[u8; 4]>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checks(status: RecordStatus) -> Vec<RecordCheck> {
        let identity = SenderIdentity {
            domain: "example.com",
            selector: "mw1",
            dkim_record_value: "v=DKIM1",
            spf_mechanism: None,
            return_path_host: None,
        };
        let records = expected_records(&identity);
        records.into_iter().map(|record| RecordCheck { record, status, found: Vec::new() }).collect()
    }

    #[test]
    fn an_answer_that_does_not_come_keeps_only_what_was_proved() {
        for (status, was_proven, expected) in [
            (RecordStatus::Found, false, true),
            (RecordStatus::Unavailable, true, true),
            (RecordStatus::Unavailable, false, false),
            (RecordStatus::Missing, true, false),
            (RecordStatus::Mismatch, true, false),
        ] {
            assert_eq!(is_proven(&checks(status), was_proven), expected, "{status:?}, {was_proven}");
        }
    }
}
