//! Giving domains other keys when the secret of the instance was lost.

use std::sync::atomic::Ordering;
use std::time::Duration;

use mailwright_core::audit::{Action, Actor};
use mailwright_core::domain::Domain;
use mailwright_core::ids::{DomainId, ProjectNumber};
use mailwright_mail::dkim::dkim_record;
use mailwright_store::body;
use mailwright_store::database::sealed::DomainKey;
use mailwright_store::project::audit::{self, Entry};
use mailwright_store::sending::domain as store;
use serde_json::Value;

use super::selector;
use super::sender::Obstacle;
use crate::App;
use crate::background::tasks::Tasks;
use crate::error::Result;
use crate::secret::{Place, next_unopened, replace_check};

/// How long after a failure it is tried again to renew keys.
const RENEWED_AGAIN: Duration = Duration::from_secs(5);

impl App {
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

    /// Renews the keys of the next domains. Returns the domain to continue after; `None` after the last.
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

    /// Gives a domain another key, with a record of its own. The domain is verified once the record is found, or at
    /// once if the operator vouches for it. False if another transaction renewed the key first.
    async fn renew_key(&self, project: ProjectNumber, id: DomainId) -> Result<bool> {
        let known = self.read(body!(async |rx| store::get(rx, project, id).await)).await?;
        let Some(known) = known else { return Ok(false) };
        let kind = self.settings().domains.key_type;
        let (sealed, public_key) = self.sealed_key(kind).await?;
        let now = self.0.clock.now();
        let domain = Domain {
            // captured mail leaves nothing, so nothing has to be proved
            verified: known.vouched || !self.mail_leaves(),
            selector: selector(),
            key_type: kind.as_str().to_owned(),
            public_key,
            last_check: Value::Null,
            key_created_at: now,
            updated_at: now,
            ..known.clone()
        };
        let (stored, old) = (domain.clone(), known.selector);
        let renewed = self.write(body!(async |tx| {
            let renewed = store::renew(tx, project, &stored, &sealed, &old).await?;
            if renewed {
                let entry = Entry::new(Action::DomainRenewed, stored.name.to_string());
                audit::record(tx, project, &Actor::Operator, &entry, now).await?;
            }
            Ok(renewed)
        }));
        if !renewed.await? {
            return Ok(false);
        }
        self.0.sending.domain_changes.fetch_add(1, Ordering::SeqCst);
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
}
