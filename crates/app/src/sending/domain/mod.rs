//! Sender domains: adding, checking, removing.
//!
//! Sending, and resuming a campaign, needs a verified domain. A domain that was verified under the capture transport
//! counts as not verified once mail leaves, because nothing was looked up for it (`may_send`). Each project has a DKIM
//! key of its own for a domain, so several projects may add one name. A domain that `bootstrap` made is vouched for by
//! the operator and stays verified.
//!
//! A domain whose record was found is registered with the accounts of Amazon SES that mail leaves by, where the operator
//! wants that (`identity/`).
//!
//! Mail for a domain is taken when its MX record points here, as the last check found that answered. Under the capture
//! transport nothing is looked up, and mail for every domain of a project is taken that somebody brings.

mod aging;
mod asked;
mod check;
mod claim;
mod identity;
mod key_state;
mod keys;
mod letters;
mod mail_policy;
mod named;
mod recheck;
mod records;
mod rekeying;
mod sender;

use std::sync::atomic::Ordering;

use mailwright_core::address::DomainName;
use mailwright_core::audit::{Action, Actor};
use mailwright_core::domain::{Domain, FurtherKey, KeyRole};
use mailwright_core::ids::{DomainId, ProjectNumber};
use mailwright_core::project::Project;
use mailwright_store::body;
use mailwright_store::project::audit::{self, Entry};
use mailwright_store::sending::{campaign, domain as store, domain_identity, domain_key, template};
use serde_json::Value;

use crate::App;
use crate::background::runner::Waker;
use crate::error::{Error, Resource, Result};

pub(crate) use aging::{AgedKeys, Aging};
pub(crate) use asked::AskedLookUps;
pub(crate) use identity::{Registrar, Registrations};
pub use key_state::KeyState;
pub(crate) use mail_policy::MailPolicy;
pub(crate) use recheck::Rechecks;
pub use records::{DomainWithRecords, Record};
pub(crate) use records::{FoundPolicy, has_key, has_record, status_of, values_of};
pub(crate) use sender::{Obstacle, check_may_send, required_sender, sender_refused};

/// Most domains of a project.
const MOST_DOMAINS: usize = 100;

impl App {
    /// The domains of a project, newest first.
    pub async fn domains(&self, project: &Project) -> Result<Vec<DomainWithRecords>> {
        let number = project.number;
        let registers = self.registers_domains();
        let (all, keys, identities) = self
            .read(body!(async |rx| {
                let identities = if registers { domain_identity::all(rx, number).await? } else { Vec::new() };
                Ok((store::all(rx, number).await?, domain_key::all(rx, number).await?, identities))
            }))
            .await?;
        Ok(all
            .into_iter()
            .map(|domain| {
                let (keys, identities) = (of(domain.id, &keys), of(domain.id, &identities));
                self.with_records(domain, keys, self.configured(identities))
            })
            .collect())
    }

    /// Adds a domain, unverified, with a DKIM key of its own. Two projects may add the same name: the DNS decides which
    /// of them may send from it. Some names are refused, see `claim`; the operator can add any with `bootstrap`.
    pub async fn add_domain(
        &self,
        project: &Project,
        actor: &Actor,
        name: DomainName,
    ) -> Result<DomainWithRecords> {
        // nobody learns by what is refused anyway which domains are near one of a disabled project
        self.check_can_add(project.number, &name).await?;
        self.check_claim(project.number, &name).await?;
        let (domain, keys) = self.create_domain(project.number, actor, name, false).await?;
        // captured mail leaves nothing, so nothing has to be proved
        if !self.mail_leaves() {
            return self.verify_domain(project, domain.id).await;
        }
        Ok(self.with_records(domain, keys, Vec::new()))
    }

    /// Refuses a name that the project has, and any where it has as many as it may.
    async fn check_can_add(&self, project: ProjectNumber, name: &DomainName) -> Result<()> {
        let known = self.read(body!(async |rx| store::all(rx, project).await)).await?;
        if known.iter().any(|domain| domain.name == *name) {
            return Err(taken(name));
        }
        if known.len() >= MOST_DOMAINS { Err(too_many()) } else { Ok(()) }
    }

    /// Makes keys and stores the domain; returns it with its further keys. `vouched`: the operator answers for it.
    pub(crate) async fn create_domain(
        &self,
        project: ProjectNumber,
        actor: &Actor,
        name: DomainName,
        vouched: bool,
    ) -> Result<(Domain, Vec<FurtherKey>)> {
        // a key costs a second of a processor, so what cannot be added is refused before
        let _place = self.0.sending.key_pool.place(project)?.wait().await;
        self.check_can_add(project, &name).await?;
        let kind = self.settings().domains.key_type;
        let (sealed, public_key) = self.sealed_key(kind).await?;
        let mut further = Vec::new();
        if self.settings().domains.second_key {
            further.push(self.further_key(kind.other(), KeyRole::Second).await?);
        }
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
            key_created_at: now,
            created_at: now,
            updated_at: now,
        };
        let keys = further.iter().map(|(key, _)| key.clone()).collect();
        let (stored, check_at) = (domain.clone(), now.plus(self.settings().domains.check_interval));
        let actor = actor.clone();
        let created = self.write(body!(async |tx| {
            // another process may have added some meanwhile
            if store::count_for_update(tx, project).await? >= MOST_DOMAINS {
                return Err(too_many());
            }
            store::create(tx, project, &stored, &sealed, check_at).await?;
            domain_key::add(tx, project, stored.id, &further).await?;
            let entry = Entry::new(Action::DomainAdded, stored.name.to_string());
            Ok(audit::record(tx, project, &actor, &entry, now).await?)
        }));
        match created.await {
            Ok(()) => Ok((domain, keys)),
            Err(Error::Store(error)) if error.is_conflict_on("domains", "name") => Err(taken(&domain.name)),
            Err(error) => Err(error),
        }
    }

    /// Checks a domain now, unless the project has too many checks under way.
    pub async fn verify_domain(&self, project: &Project, id: DomainId) -> Result<DomainWithRecords> {
        let number = project.number;
        let domain = self.domain(number, id).await?;
        let _under_way = self.0.sending.asked_look_ups.begin(number)?;
        let checked = self.check_domain(number, &domain).await?;
        self.0.sending.registrar.waker().wake();
        Ok(checked)
    }

    /// Where it is told that accounts are to be asked about domains.
    pub(crate) fn identity_waker(&self) -> &Waker {
        self.0.sending.registrar.waker()
    }

    /// A domain of a project.
    async fn domain(&self, project: ProjectNumber, id: DomainId) -> Result<Domain> {
        let found = self.read(body!(async |rx| store::get(rx, project, id).await)).await?;
        found.ok_or_else(|| Error::not_found(Resource::Domain, id))
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
            if store::delete(tx, number, id, now).await? { Ok(()) } else { Err(gone()) }
        })).await?;
        self.0.sending.domain_changes.fetch_add(1, Ordering::SeqCst);
        self.0.sending.registrar.waker().wake();
        Ok(())
    }
}

/// What belongs to a domain, of what belongs to all of a project's.
fn of<T: Clone>(id: DomainId, all: &[(DomainId, T)]) -> Vec<T> {
    all.iter().filter(|(domain, _)| *domain == id).map(|(_, one)| one.clone()).collect()
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
