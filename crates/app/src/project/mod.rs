//! Projects as their members see them: settings, reset, deletion. A change reads the caller's role again under the
//! project's lock, because the role may have been lost since the request began.

pub mod attention;
pub mod audit;
pub mod billing;
pub mod bootstrap;
pub mod key;
pub mod member;
pub mod rate_limit;
pub mod request_log;

use mailwright_core::audit::{Action, Actor};
use mailwright_core::ids::{ProjectId, ProjectNumber, TemplateId, UserId};
use mailwright_core::issue::Issue;
use mailwright_core::patch::Patch;
use mailwright_core::project::Project;
use mailwright_core::role::{Capability, Role};
use mailwright_core::template::TemplateType;
use mailwright_core::time::{Clock, Timestamp};
use mailwright_store::account::user::{self, User};
use mailwright_store::automation::workflow;
use mailwright_store::body;
use mailwright_store::delivery::delivery_stats;
use mailwright_store::insight::counter::{self, Counter};
use mailwright_store::project::api_key::{self};
use mailwright_store::project::audit::Entry;
use mailwright_store::project::purge;
use mailwright_store::project::{self as store, Change, Details};
use mailwright_store::sending::{campaign, domain, template};
use mailwright_store::{Db, Error as StoreError, Tx};
use serde_json::{Value, json};

use crate::App;
use crate::automation::schedule;
use crate::error::{Error, Resource, Result};
use crate::http_client::HttpClient;
use crate::project::key::{Keyring, pair, stored_pair};
use crate::project::member::still_may;
use crate::project::rate_limit::Limiter;
use crate::project::request_log::RequestLog;
use crate::settings::Settings;

pub use key::{MadeKey, WithKeys};

/// Most projects that a user is shown at once.
pub const MOST_LISTED: i64 = 10_000;
/// Retired numbers looked at together.
const RETIRED: i64 = 100;
/// The language of a new project.
const LANGUAGE: &str = "en";

/// What this process keeps for this area.
pub(crate) struct State {
    keyring: Keyring,
    limiter: Limiter,
    request_log: RequestLog,
    pub(crate) billing: billing::State,
}

impl State {
    pub(crate) fn new(db: &Db, clock: &Clock, settings: &Settings, http: HttpClient) -> Self {
        Self {
            keyring: Keyring::new(db, clock.clone()),
            limiter: Limiter::new(db, clock.clone(), settings.requests),
            request_log: RequestLog::new(settings.request_log),
            billing: billing::State::new(http),
        }
    }
}

/// How far the setting-up of a project has come.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "each is a step of its own, in no order")]
pub struct SetupState {
    /// Whether it can send from a domain.
    pub has_verified_domain: bool,
    /// Contacts.
    pub contacts: i64,
    /// Whether it sent or queued a mail.
    pub has_sent: bool,
    /// When sending of its latest campaign began.
    pub last_campaign_sent_at: Option<Timestamp>,
    /// Whether a workflow is enabled.
    pub has_enabled_workflow: bool,
    /// Whether it has a subscription.
    pub has_subscription: bool,
}

impl App {
    /// The error for a caller whose remembered key is no longer valid.
    pub(crate) fn stale(&self, caller: &key::Identity, stale: key::Stale) -> Error {
        if let Some(hash) = &caller.hash {
            self.keyring().forget(hash);
        }
        stale.into()
    }

    /// The look-up of keys and sessions.
    pub fn keyring(&self) -> &Keyring {
        &self.0.project.keyring
    }

    /// The request limit.
    pub fn limiter(&self) -> &Limiter {
        &self.0.project.limiter
    }

    /// A page of the projects of a user, with what the user is in each, the oldest first.
    pub async fn projects(&self, user: &User, page: i64, size: i64) -> Result<Vec<(Details, Role)>> {
        let (id, skipped) = (user.id, page.saturating_sub(1).saturating_mul(size));
        self.read(body!(async |rx| store::of_user(rx, id, size, skipped).await)).await
    }

    /// A project with its settings.
    pub async fn project(&self, project: &Project) -> Result<Details> {
        let number = project.number;
        let found = self.read(body!(async |rx| store::details(rx, number).await)).await?;
        found.ok_or_else(|| Error::not_found(Resource::Project, project.id))
    }

    /// Creates a project that the user owns.
    pub async fn create_project(&self, user: &User, name: String) -> Result<WithKeys> {
        let (secret, public) = pair();
        let (owner, now) = (user.clone(), self.0.clock.now());
        let keys = stored_pair(&secret, &public, now);
        let most = self.settings().accounts.projects_per_user;
        let details = self
            .write(body!(async |tx| {
                // so that projects made at the same time are counted one after the other
                user::lock(tx, owner.id).await?.ok_or(Error::SignedOut)?;
                room_for_project(tx, owner.id, most).await?;
                let made = store::create(tx, &name, LANGUAGE, now).await?;
                store::member::add(tx, made.number, owner.id, Role::Owner, true, now).await?;
                for key in &keys {
                    api_key::create(tx, made.number, key, now).await?;
                }
                let actor = Actor::User { id: owner.id, email: owner.email.to_string() };
                let entry = Entry::of_project(Action::ProjectCreated).with(json!({ "name": name }));
                store::audit::record(tx, made.number, &actor, &entry, now).await?;
                Ok(store::details(tx, made.number).await?)
            }))
            .await?;
        let details =
            details.ok_or_else(|| Error::Internal("a project vanished while it was made".into()))?;
        Ok(WithKeys { details, secret, public, withdrawn: Vec::new() })
    }

    /// Changes settings.
    pub async fn update_project(&self, project: &Project, actor: &Actor, change: Change) -> Result<Details> {
        let (id, number, now, actor) = (project.id, project.number, self.0.clock.now(), actor.clone());
        let changed = self
            .write(body!(async |tx| {
                let number = locked(tx, number, id).await?;
                still_may(tx, number, &actor, Capability::ManageProject).await?;
                if let Patch::Value(template) = change.confirmation_template {
                    check_confirmation(tx, number, template).await?;
                }
                store::change(tx, number, &change, now).await?;
                if change.timezone != Patch::Absent {
                    schedule::plan_again(tx, number, now).await?;
                }
                let told = json!({
                    "name": change.name, "tracking": change.tracking, "language": change.language,
                    "publicKeyMayResubscribe": change.public_key_may_resubscribe,
                    "doubleOptIn": change.double_opt_in, "consentKeepsAddress": change.consent_keeps_address,
                    "replyTracking": change.reply_tracking,
                });
                let told = match change.sending_per_second {
                    Patch::Absent => given(told),
                    Patch::Null => with(given(told), "sendingPerSecond", Value::Null),
                    Patch::Value(rate) => with(given(told), "sendingPerSecond", rate.into()),
                };
                let told = match &change.timezone {
                    Patch::Absent => told,
                    Patch::Null => with(told, "timezone", Value::Null),
                    Patch::Value(zone) => with(told, "timezone", zone.as_str().into()),
                };
                let told = match change.marketing_cap {
                    Patch::Absent => told,
                    Patch::Null => with(told, "marketingCap", Value::Null),
                    Patch::Value(cap) => {
                        with(told, "marketingCap", json!({ "emails": cap.emails, "hours": cap.hours }))
                    }
                };
                let told = match change.confirmation_template {
                    Patch::Absent => told,
                    Patch::Null => with(told, "confirmationTemplateId", Value::Null),
                    Patch::Value(id) => with(told, "confirmationTemplateId", id.to_string().into()),
                };
                let told = match change.retention {
                    Patch::Absent => told,
                    Patch::Null => with(told, "retention", Value::Null),
                    Patch::Value(own) => with(told, "retention", own.to_json().into()),
                };
                let entry = Entry::of_project(Action::ProjectUpdated).with(told);
                store::audit::record(tx, number, &actor, &entry, now).await?;
                Ok(store::details(tx, number).await?)
            }))
            .await?;
        changed.ok_or_else(|| Error::not_found(Resource::Project, project.id))
    }

    /// Removes what the project has, except keys, members, domains and the audit log. Nothing of it is seen any more
    /// once this returns; the rows go in the background.
    pub async fn reset_project(&self, project: &Project, actor: &Actor) -> Result<()> {
        let (number, now, by, actor) = (project.number, self.0.clock.now(), actor, actor.clone());
        let reset = self.write(body!(async |tx| {
            let number = store::lock(tx, number).await?.ok_or_else(gone)?;
            still_may(tx, number, &actor, Capability::ManageProject).await?;
            let new = purge::reset(tx, number, now).await?;
            Ok(store::audit::record(tx, new, &actor, &Entry::of_project(Action::ProjectReset), now).await?)
        }));
        self.ended(project, by, reset.await, "a project was reset")
    }

    /// Deletes a project: keys, members and data are gone once this returns; the rows go in the background. Who did it
    /// is kept for the operator ([`App::trail`]).
    pub async fn delete_project(&self, project: &Project, actor: &Actor) -> Result<()> {
        let (number, now, by, actor) = (project.number, self.0.clock.now(), actor, actor.clone());
        let deleted = self.write(body!(async |tx| {
            let number = store::lock(tx, number).await?.ok_or_else(gone)?;
            still_may(tx, number, &actor, Capability::ManageProject).await?;
            // what was used until now is paid for
            let account = store::billing::account::hold(tx, number, now).await?;
            store::billing::batch::gather(tx, number, &account, now).await?;
            Ok(purge::delete(tx, number, &actor, now).await?)
        }));
        self.ended(project, by, deleted.await, "a project was deleted")
    }

    fn ended(&self, project: &Project, actor: &Actor, outcome: Result<()>, what: &'static str) -> Result<()> {
        outcome.map_err(|error| match error {
            Error::Store(StoreError::Conflict(_) | StoreError::NotFound) => {
                Error::not_found(Resource::Project, project.id)
            }
            other => other,
        })?;
        self.0.project.keyring.forget_all();
        tracing::info!(project = %project.id, %actor, "{what}");
        Ok(())
    }

    /// Removes the rows of projects that were reset or deleted.
    pub(crate) async fn purge_retired(&self) -> Result<()> {
        let now = self.0.clock.now();
        loop {
            let numbers = self.read(body!(async |rx| purge::due(rx, now, RETIRED).await)).await?;
            if numbers.is_empty() {
                return Ok(());
            }
            let mut failed = false;
            for retired in numbers {
                if let Err(error) = purge::purge(&self.0.db, retired, now).await {
                    tracing::warn!(%error, project = retired.number.0, "a project could not be purged, trying again later");
                    self.0.db.ping().await?;
                    failed = true;
                }
            }
            if failed {
                return Ok(());
            }
        }
    }

    /// How far the setting-up of a project has come.
    pub async fn setup_state(&self, project: &Project) -> Result<SetupState> {
        let number = project.number;
        self.read(body!(async |rx| {
            let domains = domain::all(rx, number).await?;
            let emails = counter::values(rx, number, Counter::Email).await?;
            // its mails may all be so old that they were removed
            let has_sent = delivery_stats::has_sent(rx, number).await?;
            Ok(SetupState {
                has_verified_domain: domains.iter().any(|domain| domain.verified),
                contacts: counter::value(rx, number, Counter::Contacts, "").await?,
                has_sent: has_sent || emails.iter().any(|(_, count)| *count > 0),
                last_campaign_sent_at: campaign::last_sent(rx, number).await?,
                has_enabled_workflow: workflow::has_enabled(rx, number).await?,
                has_subscription: store::billing::account::get(rx, number).await?.subscription.is_some(),
            })
        }))
        .await
    }
}

/// The members of an object that were given.
fn given(value: Value) -> Value {
    match value {
        Value::Object(map) => map.into_iter().filter(|(_, v)| !v.is_null()).collect(),
        other => other,
    }
}

/// An object with one more member.
fn with(mut object: Value, name: &str, value: Value) -> Value {
    object[name] = value;
    object
}

/// Refuses another project of a user who owns as many as allowed, or one that is disabled. The caller has locked the
/// user.
pub(crate) async fn room_for_project(tx: &mut Tx<'_>, owner: UserId, most: i64) -> Result<()> {
    let (count, disabled) = store::standing(tx, owner).await?;
    if disabled {
        return Err(Error::ProjectDisabled);
    }
    if most > 0 && count >= most {
        return Err(Error::Conflict(format!(
            "You own {count} projects, and {most} is the maximum. Delete one first, or ask the operator of this \
             instance to raise projects_per_user."
        )));
    }
    Ok(())
}

/// Locks a project that must be there; its number by then.
async fn locked(tx: &mut Tx<'_>, number: ProjectNumber, id: ProjectId) -> Result<ProjectNumber> {
    store::lock(tx, number).await?.ok_or_else(|| Error::not_found(Resource::Project, id))
}

/// The error for a project that was deleted meanwhile.
pub(crate) fn gone() -> Error {
    Error::NotFound { resource: Resource::Project, id: String::new() }
}

/// Refuses a template for the mails that ask to confirm that the project does not have, or that is marketing.
async fn check_confirmation(tx: &mut Tx<'_>, number: ProjectNumber, id: TemplateId) -> Result<()> {
    let found = template::get(tx, number, id).await?;
    let found = found.ok_or_else(|| Error::not_found(Resource::Template, id))?;
    if found.kind == TemplateType::Transactional {
        return Ok(());
    }
    let text = "Must be a template of type TRANSACTIONAL: who is asked has not agreed to marketing mail.";
    Err(Error::Invalid(vec![Issue::new("confirmationTemplateId", "custom", text).received(id.to_string())]))
}
