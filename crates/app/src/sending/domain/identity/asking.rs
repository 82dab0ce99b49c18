//! Asking accounts about domains: one request for each that is due.

use std::time::Duration;

use mailwright_core::audit::{Action, Actor};
use mailwright_core::domain::{DomainIdentity, IdentityHolder, IdentityTrouble, IdentityWay};
use mailwright_core::ids::{DomainId, ProjectNumber};
use mailwright_core::time::Timestamp;
use mailwright_mail::ses::identity::{IdentityAnswer, Signer, answered};
use mailwright_mail::ses::request::SignedRequest;
use mailwright_store::body;
use mailwright_store::project::audit::{self, Entry};
use mailwright_store::sending::{domain, domain_identity, domain_key, ses_identity};
use serde_json::{Value, json};
use tokio::sync::{Mutex, Semaphore, SemaphorePermit};
use tokio::time::Instant;

use super::accounts::Account;
use super::answer::{after, unanswered, unopened, waiting};
use super::plan::{Keys, LEASE, MOST_A_DAY, MOST_GIVEN_UP, Step, Wanted, step, wanted};
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
const DAY: Duration = Duration::from_hours(24);

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
    pub(super) async fn turn(&self) -> Option<SemaphorePermit<'_>> {
        let place = self.places.acquire().await.ok()?;
        let mut next = self.next.lock().await;
        tokio::time::sleep_until(*next).await;
        *next = Instant::now() + APART;
        Some(place)
    }

    /// Makes a request. `read` says what its answer means, by status, name of the error and body.
    pub(super) async fn ask(
        &self,
        request: SignedRequest,
        read: fn(u16, Option<&str>, &[u8]) -> IdentityAnswer,
    ) -> Result<IdentityAnswer, String> {
        let answer = ask_ses(&self.http, request).await.map_err(|error| error.to_string())?;
        Ok(read(answer.status.as_u16(), ses_error_type(&answer), &answer.body))
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

/// What became of a domain at an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Put {
    /// Nothing was put there.
    Nothing,
    /// It was registered.
    Made,
    /// It signs with something else.
    Changed,
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
            Some(account) => self.ask_about((project, account), &current, known.clone(), now).await?,
            None => (known.clone(), Put::Nothing),
        };
        let (learnt, put) = learnt;
        tracing::debug!(domain = %id, transport = %learnt.transport, status = %learnt.status, "a domain was asked about");
        let is_changed = learnt.holder == IdentityHolder::Domain
            && (known.holder, known.way, &known.selector) != (learnt.holder, learnt.way, &learnt.selector);
        let put = if put == Put::Nothing && is_changed { Put::Changed } else { put };
        self.keep_learnt(project, id, (current.name, learnt), put, now).await
    }

    /// What is known of a domain after the next request, and whether that registered it; there may be none to make.
    async fn ask_about(
        &self,
        (project, account): (ProjectNumber, Account<'_>),
        current: &Current,
        known: DomainIdentity,
        now: Timestamp,
    ) -> Result<(DomainIdentity, Put)> {
        let wanted = current.wanted(account.way);
        let step = step(Some(&known), &wanted, now);
        let waits_for = match step {
            Step::Wait => Some(IdentityTrouble::KeyUnpublished),
            Step::Register => self.registers_later(project, account.transport, now).await?,
            Step::Look | Step::Replace | Step::Rest => None,
        };
        if let Some(why) = waits_for {
            return Ok((waiting(known, why), Put::Nothing));
        }
        let request = match step {
            Step::Rest | Step::Wait => return Ok((known, Put::Nothing)),
            Step::Look => Some(account.config.get_identity(&current.name, now)),
            Step::Register | Step::Replace => self.request_to_sign(account, current, (step, &wanted), now),
        };
        let Some(request) = request else { return Ok((unopened(known, now), Put::Nothing)) };
        let answer = self.0.sending.registrar.ask(request, answered).await;
        let is_made = step == Step::Register && matches!(answer, Ok(IdentityAnswer::Known(_)));
        let learnt = match answer {
            Ok(answer) => after(known, (step, &wanted), answer, now),
            Err(error) => unanswered(known, &error, now),
        };
        Ok((learnt, if is_made { Put::Made } else { Put::Nothing }))
    }

    /// Why a domain is not registered yet that might be: the project has used its day up, or others have to be removed
    /// from the account first.
    async fn registers_later(
        &self,
        project: ProjectNumber,
        transport: &str,
        now: Timestamp,
    ) -> Result<Option<IdentityTrouble>> {
        let (transport, since) = (transport.to_owned(), now.minus(DAY));
        let counted = self.read(body!(async |rx| {
            let action = Action::DomainIdentityRegistered;
            let of_project = audit::count_since(rx, project, action, since, MOST_A_DAY).await?;
            Ok((of_project, ses_identity::waiting(rx, &transport, MOST_GIVEN_UP).await?))
        }));
        Ok(match counted.await? {
            (MOST_A_DAY.., _) => Some(IdentityTrouble::DayUsedUp),
            (_, MOST_GIVEN_UP..) => Some(IdentityTrouble::RemovalsWait),
            _ => None,
        })
    }

    /// A request that has an account sign for a domain. `None` where its key cannot be decrypted.
    fn request_to_sign(
        &self,
        account: Account<'_>,
        current: &Current,
        (step, wanted): (Step, &Wanted),
        now: Timestamp,
    ) -> Option<SignedRequest> {
        let (name, config) = (current.name.as_str(), account.config);
        let sign = |signer: Signer<'_>| match step {
            Step::Replace => config.put_signer(name, signer, now),
            Step::Register | Step::Look | Step::Wait | Step::Rest => {
                config.create_identity(name, signer, now)
            }
        };
        let Wanted::OwnKey(selector) = wanted else { return Some(sign(Signer::EasyDkim)) };
        let private_key = self.0.secret.open(DKIM, current.sealed(selector).unwrap_or_default()).ok()?;
        Some(sign(Signer::OwnKey { selector, private_key: &private_key }))
    }

    /// Stores what was learnt. It is looked soon whether what was registered was given up meanwhile.
    async fn keep_learnt(
        &self,
        project: ProjectNumber,
        domain: DomainId,
        (name, learnt): (String, DomainIdentity),
        put: Put,
        now: Timestamp,
    ) -> Result<()> {
        self.write(body!(async |tx| {
            let is_kept = domain_identity::keep(tx, project, domain, &learnt).await?;
            let at = (learnt.transport.as_str(), name.as_str());
            let signs_with = learnt.selector.clone().unwrap_or_else(|| learnt.tokens.join(" "));
            match put {
                Put::Nothing => return Ok(()),
                Put::Made => ses_identity::made(tx, at, &signs_with, now.plus(LEASE)).await?,
                Put::Changed => ses_identity::changed(tx, at, &signs_with).await?,
            }
            // the limit of a day counts what was registered, also for a domain that was removed meanwhile
            if is_kept || put == Put::Made {
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
