//! The keys of a domain: one proves it, one of the other kind signs too, and each can be replaced.
//!
//! A key is replaced in three steps, so that every mail can be verified all the time. First there is a new key, whose
//! record is listed with the others. Once a check finds that record, the new key signs in the place of the old one, whose
//! private part is thrown away. The record of the old one should stay for [`OVERLAP`], for mail that is under way.

use std::time::Duration;

use mailwright_core::audit::{Action, Actor};
use mailwright_core::domain::{Domain, FurtherKey, KeyRole};
use mailwright_core::ids::{DomainId, ProjectNumber};
use mailwright_core::project::Project;
use mailwright_mail::dkim::KeyType;
use mailwright_store::body;
use mailwright_store::project::audit::{self, Entry};
use mailwright_store::sending::domain_key;

use super::letters::Letters;
use super::records::DomainWithRecords;
use super::selector;
use crate::App;
use crate::error::{Error, Result};

/// How long the record of a key that was replaced should stay: mail waits at receivers for five days at most as a rule
/// (RFC 5321 section 4.5.4.1), and is verified again where it is forwarded.
pub(super) const OVERLAP: Duration = Duration::from_hours(7 * 24);

/// A further key with its private part, encrypted.
type Sealed = (FurtherKey, Vec<u8>);

impl App {
    /// Begins to replace the keys of a domain. The new ones sign once their records are found.
    pub async fn rotate_domain_keys(
        &self,
        project: &Project,
        actor: &Actor,
        id: DomainId,
    ) -> Result<DomainWithRecords> {
        let number = project.number;
        let domain = self.domain(number, id).await?;
        let keys = self.read(body!(async |rx| domain_key::of(rx, number, id).await)).await?;
        let under_way = || {
            Error::Conflict(format!(
                "The keys of {} are being replaced already. Create the records of the new ones, which are listed with \
                 the domain.",
                domain.name
            ))
        };
        if keys.iter().any(|key| key.role == KeyRole::Next) {
            return Err(under_way());
        }
        let _place = self.0.sending.key_pool.place(number)?.wait().await;
        let made = self.successors(&domain, &keys).await?;
        if !self.add_keys(number, &domain, actor.clone(), made, Letters::none()).await? {
            return Err(under_way());
        }
        let keys = self.read(body!(async |rx| domain_key::of(rx, number, id).await)).await?;
        let identities = self.identities(number, id).await?;
        Ok(self.with_records(domain, keys, identities))
    }

    /// The further keys of a domain, with the second one that it should have by now. Where its keys are too old, it is
    /// noted that it gets new ones.
    pub(super) async fn keys_due(
        &self,
        project: ProjectNumber,
        domain: &Domain,
        keys: Vec<FurtherKey>,
    ) -> Result<Vec<FurtherKey>> {
        let settings = &self.settings().domains;
        let Some(kind) = KeyType::parse(&domain.key_type) else { return Ok(keys) };
        if self.are_keys_old(domain, &keys) {
            self.aged_keys().note(project, domain.id, domain.key_created_at);
        }
        if !settings.second_key || keys.iter().any(|key| key.role == KeyRole::Second) {
            return Ok(keys);
        }
        let made = vec![self.further_key(kind.other(), KeyRole::Second).await?];
        self.add_keys(project, domain, Actor::Service, made, Letters::none()).await?;
        let id = domain.id;
        self.read(body!(async |rx| domain_key::of(rx, project, id).await)).await
    }

    /// Begins to replace the keys of a domain because of their age. False where that is not needed any more.
    pub(super) async fn replace_old_keys(&self, project: ProjectNumber, id: DomainId) -> Result<bool> {
        let domain = self.domain(project, id).await?;
        let keys = self.read(body!(async |rx| domain_key::of(rx, project, id).await)).await?;
        if !self.are_keys_old(&domain, &keys) {
            return Ok(false);
        }
        let made = self.successors(&domain, &keys).await?;
        self.add_keys(project, &domain, Actor::Service, made, Letters::old_key(&domain.name)).await
    }

    /// Whether a domain should have new keys, which it has not yet.
    fn are_keys_old(&self, domain: &Domain, keys: &[FurtherKey]) -> bool {
        let age = self.0.clock.now().since(domain.key_created_at);
        let is_old = self.settings().domains.key_lifetime.is_some_and(|lifetime| age >= lifetime);
        is_old && domain.verified && keys.iter().all(|key| key.role != KeyRole::Next)
    }

    /// Keeps keys that were made. False where others were first.
    async fn add_keys(
        &self,
        project: ProjectNumber,
        domain: &Domain,
        actor: Actor,
        made: Vec<Sealed>,
        letters: Letters,
    ) -> Result<bool> {
        let (id, name, now) = (domain.id, domain.name.to_string(), self.0.clock.now());
        let rotates = made.iter().any(|(key, _)| key.role == KeyRole::Next);
        self.with_letters(letters, move |tx, app, letters| {
            let (made, actor, name) = (made.clone(), actor.clone(), name.clone());
            Box::pin(async move {
                if !domain_key::add(tx, project, id, &made).await? {
                    return Ok(false);
                }
                if rotates {
                    audit::record(tx, project, &actor, &Entry::new(Action::DomainKeyMade, name), now).await?;
                }
                letters.write(tx, app, project).await?;
                Ok(true)
            })
        })
        .await
    }

    /// New keys for those that a domain signs with.
    async fn successors(&self, domain: &Domain, keys: &[FurtherKey]) -> Result<Vec<Sealed>> {
        let second = keys.iter().filter(|key| key.role == KeyRole::Second).map(|key| &*key.key_type);
        let mut made = Vec::new();
        for kind in std::iter::once(&*domain.key_type).chain(second).filter_map(KeyType::parse) {
            made.push(self.further_key(kind, KeyRole::Next).await?);
        }
        Ok(made)
    }

    /// Makes a key.
    pub(super) async fn further_key(&self, kind: KeyType, role: KeyRole) -> Result<Sealed> {
        let (sealed, public_key) = self.sealed_key(kind).await?;
        let key = FurtherKey {
            selector: selector(),
            key_type: kind.as_str().to_owned(),
            public_key,
            role,
            created_at: self.0.clock.now(),
            remove_after: None,
        };
        Ok((key, sealed))
    }

    /// Makes a key: the private part, encrypted, and the public one as its record shows it.
    pub(super) async fn sealed_key(&self, kind: KeyType) -> Result<(Vec<u8>, String)> {
        let (private, public_key) = self.0.sending.key_pool.make(kind).await?;
        Ok((self.0.secret.seal(crate::secret::DKIM, &private)?, public_key))
    }
}
