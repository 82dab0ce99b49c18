//! Sender domains: adding, checking, removing.
//!
//! Sending, and resuming a campaign, needs a verified domain. A domain that was verified under the capture transport
//! counts as not verified once mail leaves, because nothing was looked up for it (`may_send`). Each project has a DKIM
//! key of its own for a domain, so several projects may add one name. A domain that `bootstrap` made is vouched for by
//! the operator and stays verified.
//!
//! Mail for a domain is taken when its MX record points here, as the last check found that answered. Under the capture
//! transport nothing is looked up, and mail for every domain of a project is taken that somebody brings.

mod asked;
mod recheck;
mod records;
mod rekeying;
mod sender;

use std::sync::atomic::Ordering;

use mailwright_core::address::DomainName;
use mailwright_core::audit::{Action, Actor};
use mailwright_core::domain::Domain;
use mailwright_core::ids::{DomainId, ProjectNumber};
use mailwright_core::project::Project;
use mailwright_store::body;
use mailwright_store::project::audit::{self, Entry};
use mailwright_store::sending::{campaign, domain as store, template};
use serde_json::Value;

use crate::App;
use crate::error::{Error, Resource, Result};
use records::{findings, is_proven, receives};

pub(crate) use asked::AskedLookUps;
pub(crate) use recheck::Rechecks;
pub(crate) use records::has_record;
pub use records::{DomainWithRecords, Record};
pub(crate) use sender::{Obstacle, check_may_send, required_sender, sender_refused};

/// Most domains of a project.
const MOST_DOMAINS: usize = 100;

impl App {
    /// The domains of a project, newest first.
    pub async fn domains(&self, project: &Project) -> Result<Vec<DomainWithRecords>> {
        let number = project.number;
        let all = self.read(body!(async |rx| store::all(rx, number).await)).await?;
        Ok(all.into_iter().map(|domain| self.with_records(domain)).collect())
    }

    /// Adds a domain, unverified, with a DKIM key of its own. Two projects may add the same name: the DNS decides which
    /// of them may send from it.
    pub async fn add_domain(
        &self,
        project: &Project,
        actor: &Actor,
        name: DomainName,
    ) -> Result<DomainWithRecords> {
        let domain = self.create_domain(project.number, actor, name, false).await?;
        // captured mail leaves nothing, so nothing has to be proved
        if !self.mail_leaves() {
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
        let _place = self.0.sending.key_pool.place(project)?.wait().await;
        let known = self.read(body!(async |rx| store::all(rx, project).await)).await?;
        if known.iter().any(|domain| domain.name == name) {
            return Err(taken(&name));
        }
        if known.len() >= MOST_DOMAINS {
            return Err(too_many());
        }
        let kind = self.settings().domains.key_type;
        let (private, public_key) = self.0.sending.key_pool.make(kind).await?;
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
        let created = self.write(body!(async |tx| {
            // another process may have added some meanwhile
            if store::count_for_update(tx, project).await? >= MOST_DOMAINS {
                return Err(too_many());
            }
            store::create(tx, project, &stored, &sealed, check_at).await?;
            let entry = Entry::new(Action::DomainAdded, stored.name.to_string());
            Ok(audit::record(tx, project, &actor, &entry, now).await?)
        }));
        match created.await {
            Ok(()) => Ok(domain),
            Err(Error::Store(error)) if error.is_conflict_on("domains", "name") => Err(taken(&domain.name)),
            Err(error) => Err(error),
        }
    }

    /// Checks a domain now, unless the project has too many checks under way.
    pub async fn verify_domain(&self, project: &Project, id: DomainId) -> Result<DomainWithRecords> {
        let number = project.number;
        let domain = self.read(body!(async |rx| store::get(rx, number, id).await)).await?;
        let domain = domain.ok_or_else(|| Error::not_found(Resource::Domain, id))?;
        let _under_way = self.0.sending.asked_look_ups.begin(number)?;
        self.check_domain(number, &domain).await
    }

    /// Looks a domain's records up and stores the result. If the name server gives no answer, nothing changes.
    pub(crate) async fn check_domain(
        &self,
        project: ProjectNumber,
        domain: &Domain,
    ) -> Result<DomainWithRecords> {
        let (last_check, proven, receives) = if self.mail_leaves() {
            // a domain that has no findings was verified without a check, while mail was captured
            let was_proven = domain.may_send(true);
            let checks = self.look_up(domain).await?;
            (findings(&checks, &domain.last_check), is_proven(&checks, was_proven), receives(&checks))
        } else {
            // this proves nothing: once mail leaves, a domain without findings has to be proved anew
            (if domain.verified { domain.last_check.clone() } else { Value::Null }, true, None)
        };
        let verified = proven || domain.vouched;
        let (id, selector, now) = (domain.id, domain.selector.clone(), self.0.clock.now());
        if verified != domain.verified {
            tracing::info!(domain = %id, verified, "a domain's verification changed");
        }
        let stored = self
            .0
            .db
            .write(body!(async |tx| store::checked(
                tx,
                project,
                (id, &selector),
                receives,
                verified,
                &last_check,
                now
            )
            .await))
            .await?;
        let stored = stored.ok_or_else(|| Error::not_found(Resource::Domain, id))?;
        self.0.sending.domain_changes.fetch_add(u64::from(verified != domain.verified), Ordering::SeqCst);
        if domain.verified && !verified {
            self.withhold_campaigns(project, domain.name.to_string(), Obstacle::Unverified).await?;
        }
        Ok(self.with_records(stored))
    }

    /// Whether mail for a domain is taken of which nothing was looked up.
    pub(crate) fn takes_unproven_mail(&self) -> bool {
        !self.mail_leaves() && self.settings().inbound_host().is_some()
    }

    /// Removes a domain that nothing sends from.
    pub async fn delete_domain(&self, project: &Project, actor: &Actor, id: DomainId) -> Result<()> {
        let (number, now, actor) = (project.number, self.0.clock.now(), actor.clone());
        self.write(body!(async |tx| {
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
        })).await?;
        self.0.sending.domain_changes.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
}

fn too_many() -> Error {
    Error::BadRequest(format!(
        "A project can have {MOST_DOMAINS} domains. Remove one that is not used before you add another."
    ))
}

fn taken(name: &DomainName) -> Error {
    Error::Conflict(format!("The project has the domain {name} already."))
}

/// A selector that no other key of the domain has, so that a key can be replaced while mails with the old one are read.
fn selector() -> String {
    format!("mw{}", hex::encode(rand::random::<[u8; 4]>()))
}
