//! Asking accounts about domains: one request for each that is due.

use std::time::Duration;

use mailwright_core::audit::{Action, Actor};
use mailwright_core::domain::{DomainIdentity, IdentityHolder, IdentityStatus, IdentityWay};
use mailwright_core::ids::{DomainId, ProjectNumber};
use mailwright_core::time::Timestamp;
use mailwright_mail::ses::identity::{IdentityAnswer, Signer, answered};
use mailwright_mail::ses::request::SignedRequest;
use mailwright_store::body;
use mailwright_store::project::audit::{self, Entry};
use mailwright_store::sending::{domain, domain_identity, domain_key};
use serde_json::{Value, json};
use tokio::sync::{Mutex, Semaphore, SemaphorePermit};
use tokio::time::Instant;

use super::accounts::Account;
use super::answer::{after, hindered};
use super::plan::{Keys, LEASE, Step, Wanted, step, wanted};
use crate::App;
use crate::background::runner::Waker;
use crate::delivery::{ask_ses, ses_error_type};
use crate::error::Result;
use crate::http_client::HttpClient;
use crate::secret::DKIM;

/// Requests of a process that are under way at the same time.
const AT_ONCE: usize = 4;
/// Time between the beginnings of two of them: Amazon takes one such request a second from an account.
const APART: Duration = Duration::from_secs(1);
/// What is said of a domain whose key cannot be given.
const UNOPENED: &str = "The key of the domain cannot be decrypted with the secret of this instance.";
/// What is said of a domain with an RSA key whose record is missing.
const WAITS: &str = "The domain is registered once the record of its RSA key is found.";

/// What this process keeps for asking.
pub(crate) struct Registrar {
    http: HttpClient,
    waker: Waker,
    places: Semaphore,
    /// When the next request may begin.
    next: Mutex<Instant>,
}

impl Registrar {
    pub(crate) fn new(http: HttpClient) -> Self {
        Self {
            http,
            waker: Waker::default(),
            places: Semaphore::new(AT_ONCE),
            next: Mutex::new(Instant::now()),
        }
    }

    /// Asks for a look at what is due.
    pub(crate) fn waker(&self) -> &Waker {
        &self.waker
    }

    /// Waits until a request may begin. `None` never comes, since the places stay open.
    async fn turn(&self) -> Option<SemaphorePermit<'_>> {
        let place = self.places.acquire().await.ok()?;
        let mut next = self.next.lock().await;
        tokio::time::sleep_until(*next).await;
        *next = Instant::now() + APART;
        Some(place)
    }

    async fn ask(&self, request: SignedRequest) -> Result<IdentityAnswer, String> {
        let answer = ask_ses(&self.http, request).await.map_err(|error| error.to_string())?;
        Ok(answered(answer.status.as_u16(), ses_error_type(&answer), &answer.body))
    }
}

/// A domain with the keys that sign its mail, as it is now.
struct Current {
    name: String,
    findings: Value,
    first: Key,
    second: Option<Key>,
}

/// A key that signs.
struct Key {
    selector: String,
    kind: String,
    /// The private key, encrypted.
    sealed: Vec<u8>,
}

impl Current {
    fn wanted(&self, way: IdentityWay) -> Wanted {
        let keys = Keys { first: self.first.named(), second: self.second.as_ref().map(Key::named) };
        wanted(way, &self.findings, keys)
    }

    /// The private key with a selector, encrypted.
    fn sealed(&self, selector: &str) -> Option<&[u8]> {
        let mut keys = std::iter::once(&self.first).chain(&self.second);
        keys.find(|key| key.selector == selector).map(|key| &*key.sealed)
    }
}

impl Key {
    fn named(&self) -> (&str, &str) {
        (self.selector.as_str(), self.kind.as_str())
    }
}

impl App {
    /// Asks what is due about the domains of a project, one after the other.
    pub(super) async fn ask_about_domains(&self, project: ProjectNumber) -> Result<()> {
        loop {
            let now = self.0.clock.now();
            if !self.read(body!(async |rx| domain_identity::is_due(rx, project, now).await)).await? {
                return Ok(());
            }
            let Some(_turn) = self.0.sending.registrar.turn().await else { return Ok(()) };
            self.ask_about_next(project).await?;
        }
    }

    /// Asks what is due about the next domain, if another process has not.
    async fn ask_about_next(&self, project: ProjectNumber) -> Result<()> {
        let now = self.0.clock.now();
        let until = now.plus(LEASE);
        let claimed = self
            .0
            .db
            .write_in_background(body!(async |tx| domain_identity::claim(tx, project, now, until).await));
        let Some((id, known)) = claimed.await? else { return Ok(()) };
        let Some(current) = current(self, project, id).await? else { return Ok(()) };
        let learnt = match self.ses_account(&known.transport) {
            Some(account) => self.ask_about(account, &current, known.clone(), now).await,
            None => known.clone(),
        };
        tracing::debug!(domain = %id, transport = %learnt.transport, status = %learnt.status, "a domain was asked about");
        let is_put = learnt.holder == IdentityHolder::Domain
            && (known.holder, known.way, &known.selector) != (learnt.holder, learnt.way, &learnt.selector);
        self.keep_learnt(project, id, (current.name, learnt), is_put, now).await
    }

    /// What is known of a domain after the next request; there may be none to make.
    async fn ask_about(
        &self,
        account: Account<'_>,
        current: &Current,
        known: DomainIdentity,
        now: Timestamp,
    ) -> DomainIdentity {
        let wanted = current.wanted(account.way);
        let step = step(Some(&known), &wanted, now);
        let request = match step {
            Step::Rest => return known,
            Step::Wait => return DomainIdentity { error: Some(WAITS.into()), ..known },
            Step::Look => Ok(account.config.get_identity(&current.name, now)),
            Step::Register | Step::Replace => self.request_to_sign(account, current, (step, &wanted), now),
        };
        let answer = match request {
            Ok(request) => self.0.sending.registrar.ask(request).await,
            Err(error) => Err(error),
        };
        match answer {
            Ok(answer) => after(known, (step, &wanted), answer, now),
            Err(error) => {
                let known = DomainIdentity { checked_at: Some(now), ..known };
                hindered(known, IdentityStatus::Unavailable, &error)
            }
        }
    }

    /// A request that has an account sign for a domain.
    fn request_to_sign(
        &self,
        account: Account<'_>,
        current: &Current,
        (step, wanted): (Step, &Wanted),
        now: Timestamp,
    ) -> Result<SignedRequest, String> {
        let (name, config) = (current.name.as_str(), account.config);
        let sign = |signer: Signer<'_>| match step {
            Step::Replace => config.put_signer(name, signer, now),
            Step::Register | Step::Look | Step::Wait | Step::Rest => {
                config.create_identity(name, signer, now)
            }
        };
        let Wanted::OwnKey(selector) = wanted else { return Ok(sign(Signer::EasyDkim)) };
        let opened = self.0.secret.open(DKIM, current.sealed(selector).unwrap_or_default());
        let private_key = opened.map_err(|_| UNOPENED.to_owned())?;
        Ok(sign(Signer::OwnKey { selector, private_key: &private_key }))
    }

    /// Stores what was learnt. `is_put`: the account signs with something else for the domain now, as it was told to.
    async fn keep_learnt(
        &self,
        project: ProjectNumber,
        domain: DomainId,
        (name, learnt): (String, DomainIdentity),
        is_put: bool,
        now: Timestamp,
    ) -> Result<()> {
        self.write(body!(async |tx| {
            if domain_identity::keep(tx, project, domain, &learnt).await? && is_put {
                let details = json!({
                    "transport": learnt.transport,
                    "signedWith": learnt.way.map(IdentityWay::as_str),
                    "selector": learnt.selector,
                });
                let entry = Entry::new(Action::DomainIdentityRegistered, name).with(details);
                audit::record(tx, project, &Actor::Service, &entry, now).await?;
            }
            Ok(())
        }))
        .await
    }
}

/// A domain with the keys that sign its mail. `None` where it was removed.
async fn current(app: &App, project: ProjectNumber, id: DomainId) -> Result<Option<Current>> {
    app.read(body!(async |rx| {
        let Some(found) = domain::get(rx, project, id).await? else { return Ok(None) };
        let name = found.name.to_string();
        let Some(key) = domain::signing_key(rx, project, &name, true).await? else { return Ok(None) };
        let second = domain_key::second(rx, project, &name).await?;
        Ok(Some(Current {
            findings: key.last_check,
            first: Key { selector: key.selector, kind: key.kind, sealed: key.private_key },
            second: second.map(|(selector, kind, sealed)| Key { selector, kind, sealed }),
            name,
        }))
    }))
    .await
}
