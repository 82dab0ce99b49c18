//! Projects as their members see them: settings, keys, reset, deletion. A change of keys or settings reads the caller's
//! role again under the project's lock, because the role may have been lost since the request began.

pub mod audit;
pub mod bootstrap;
pub mod key;
pub mod member;
pub mod rate_limit;

use mailwright_core::address::EmailAddress;
use mailwright_core::audit::{Action, Actor};
use mailwright_core::ids::{ApiKeyId, ProjectId, ProjectNumber};
use mailwright_core::patch::Patch;
use mailwright_core::project::Project;
use mailwright_core::role::{Capability, Role, Scopes};
use mailwright_core::time::Timestamp;
use mailwright_store::account::user::{self, User};
use mailwright_store::insight::counter::{self, Counter};
use mailwright_store::project::api_key::{self, KeyKind, Listed};
use mailwright_store::project::audit::Entry;
use mailwright_store::project::purge;
use mailwright_store::project::{self as store, Change, Details};
use mailwright_store::sending::{campaign, domain};
use mailwright_store::{Error as StoreError, Tx};
use serde_json::{Value, json};

use crate::App;
use crate::error::{Error, Resource, Result};
use crate::project::key::Token;
use crate::project::member::{still_may, withdraw_of_revoked};

/// Most projects that a user is shown at once.
pub const MOST_LISTED: i64 = 10_000;
/// Most keys of a project.
const MOST_KEYS: i64 = 100;
/// Retired numbers looked at together.
const RETIRED: i64 = 100;
/// The language of a new project.
const LANGUAGE: &str = "en";

/// A project with keys that were made just now.
#[derive(Debug)]
pub struct WithKeys {
    /// The project.
    pub details: Details,
    /// Its secret key, to be shown once.
    pub secret: Token,
    /// Its public key.
    pub public: Token,
    /// The addresses that the replaced keys had asked to invite. Nobody had confirmed them, and they were withdrawn.
    pub withdrawn: Vec<EmailAddress>,
}

/// A named key that was made just now.
#[derive(Debug)]
pub struct MadeKey {
    /// The key as lists show it.
    pub key: Listed,
    /// The key itself, to be shown once.
    pub token: Token,
}

/// How far the setting-up of a project has come.
#[derive(Debug, Clone, Copy)]
pub struct SetupState {
    /// Whether it can send from a domain.
    pub has_verified_domain: bool,
    /// Contacts.
    pub contacts: i64,
    /// Whether it sent or queued a mail.
    pub has_sent: bool,
    /// When sending of its latest campaign began.
    pub last_campaign_sent_at: Option<Timestamp>,
}

impl App {
    /// A page of the projects of a user, with what the user is in each, the oldest first.
    pub async fn projects(&self, user: &User, page: i64, size: i64) -> Result<Vec<(Details, Role)>> {
        let (id, skipped) = (user.id, page.saturating_sub(1).saturating_mul(size));
        let found =
            self.0.db.read(move |rx| Box::pin(async move { store::of_user(rx, id, size, skipped).await }));
        Ok(found.await?)
    }

    /// A project with its settings.
    pub async fn project(&self, project: &Project) -> Result<Details> {
        let number = project.number;
        let found =
            self.0.db.read(move |rx| Box::pin(async move { store::details(rx, number).await })).await?;
        found.ok_or_else(|| Error::not_found(Resource::Project, project.id))
    }

    /// Creates a project that the user owns.
    pub async fn create_project(&self, user: &User, name: String) -> Result<WithKeys> {
        let (secret, public) = pair();
        let (owner, now) = (user.clone(), self.0.clock.now());
        let keys = stored_pair(&secret, &public, now);
        let most = self.settings().accounts.projects_per_user;
        let details = self
            .write(move |tx| {
                Box::pin(async move {
                    // so that projects made at the same time are counted one after the other
                    user::lock(tx, owner.id).await?;
                    let (count, disabled) = store::standing(tx, owner.id).await?;
                    if disabled {
                        return Err(Error::ProjectDisabled);
                    }
                    if most > 0 && count >= most {
                        return Err(Error::Conflict(format!(
                            "You own {count} projects, and {most} is the most. Delete one before you create another, or \
                             ask the operator of this instance to raise projects_per_user."
                        )));
                    }
                    let made = store::create(tx, &name, LANGUAGE, now).await?;
                    store::member::add(tx, made.number, owner.id, Role::Owner, true, now).await?;
                    for key in &keys {
                        api_key::create(tx, made.number, key, now).await?;
                    }
                    let actor = Actor::User { id: owner.id, email: owner.email.to_string() };
                    let entry = Entry::of_project(Action::ProjectCreated).with(json!({ "name": name }));
                    store::audit::record(tx, made.number, &actor, &entry, now).await?;
                    Ok(store::details(tx, made.number).await?)
                })
            })
            .await?;
        let details =
            details.ok_or_else(|| Error::Internal("a project vanished while it was made".into()))?;
        Ok(WithKeys { details, secret, public, withdrawn: Vec::new() })
    }

    /// Changes settings.
    pub async fn update_project(&self, project: &Project, actor: &Actor, change: Change) -> Result<Details> {
        let (id, number, now, actor) = (project.id, project.number, self.0.clock.now(), actor.clone());
        let changed = self
            .write(move |tx| {
                Box::pin(async move {
                    let number = locked(tx, number, id).await?;
                    still_may(tx, number, &actor, Capability::ManageProject).await?;
                    store::change(tx, number, &change, now).await?;
                    let told = json!({
                        "name": change.name, "tracking": change.tracking, "language": change.language,
                        "publicKeyMayResubscribe": change.public_key_may_resubscribe,
                    });
                    let told = match change.sending_per_second {
                        Patch::Absent => given(told),
                        Patch::Null => with(given(told), "sendingPerSecond", Value::Null),
                        Patch::Value(rate) => with(given(told), "sendingPerSecond", rate.into()),
                    };
                    let entry = Entry::of_project(Action::ProjectUpdated).with(told);
                    store::audit::record(tx, number, &actor, &entry, now).await?;
                    Ok(store::details(tx, number).await?)
                })
            })
            .await?;
        changed.ok_or_else(|| Error::not_found(Resource::Project, project.id))
    }

    /// Replaces the project's own pair of keys. The old ones are dead at once, on every node, and what they invited is
    /// withdrawn.
    pub async fn rotate_keys(&self, project: &Project, actor: &Actor) -> Result<WithKeys> {
        let (secret, public) = pair();
        let (id, number, now, actor) = (project.id, project.number, self.0.clock.now(), actor.clone());
        let keys = stored_pair(&secret, &public, now);
        let (details, withdrawn) = self
            .write(move |tx| {
                Box::pin(async move {
                    let number = locked(tx, number, id).await?;
                    still_may(tx, number, &actor, Capability::ManageKeys).await?;
                    api_key::revoke_pair(tx, number, now).await?;
                    let withdrawn = withdraw_of_revoked(tx, number, &actor, now).await?;
                    for key in &keys {
                        api_key::create(tx, number, key, now).await?;
                    }
                    store::audit::record(tx, number, &actor, &Entry::of_project(Action::KeysRotated), now)
                        .await?;
                    Ok((store::details(tx, number).await?, withdrawn))
                })
            })
            .await?;
        let details = details.ok_or_else(|| Error::not_found(Resource::Project, project.id))?;
        Ok(WithKeys { details, secret, public, withdrawn })
    }

    /// The keys of a project.
    pub async fn keys(&self, project: &Project) -> Result<Vec<Listed>> {
        let number = project.number;
        Ok(self
            .0
            .db
            .read(move |rx| Box::pin(async move { api_key::list(rx, number, MOST_KEYS).await }))
            .await?)
    }

    /// Makes a secret key of its own name and scopes.
    pub async fn create_key(
        &self,
        project: &Project,
        actor: &Actor,
        name: String,
        scopes: Scopes,
    ) -> Result<MadeKey> {
        let token = Token::generate(KeyKind::Secret);
        let (number, now, actor) = (project.number, self.0.clock.now(), actor.clone());
        let key = token.to_store(KeyKind::Secret, Some((name.clone(), scopes.clone())), now);
        let listed = Listed {
            id: key.id,
            kind: key.kind,
            name: Some(name.clone()),
            scopes: scopes.clone(),
            token: None,
            hint: Some(key.hint.clone()),
            created_at: now,
            last_used_at: None,
        };
        let made = self.write(move |tx| {
            Box::pin(async move {
                let number = store::lock(tx, number).await?.ok_or_else(gone)?;
                still_may(tx, number, &actor, Capability::ManageKeys).await?;
                if api_key::count(tx, number).await? >= MOST_KEYS {
                    return Err(Error::Conflict(format!(
                        "The project has {MOST_KEYS} keys, which is the most. Revoke one that is not used."
                    )));
                }
                api_key::create(tx, number, &key, now).await?;
                let told = json!({ "name": name, "scopes": scopes.names() });
                let entry = Entry::new(Action::KeyCreated, key.id.to_string()).with(told);
                Ok(store::audit::record(tx, number, &actor, &entry, now).await?)
            })
        });
        made.await?;
        Ok(MadeKey { key: listed, token })
    }

    /// Revokes a key. It is dead at once, on every node. Returns the addresses that it had asked to invite and nobody
    /// had confirmed: they are withdrawn.
    pub async fn revoke_key(
        &self,
        project: &Project,
        actor: &Actor,
        id: ApiKeyId,
    ) -> Result<Vec<EmailAddress>> {
        let (number, now, actor) = (project.number, self.0.clock.now(), actor.clone());
        let revoked = self.write(move |tx| {
            Box::pin(async move {
                let unknown = || Error::not_found(Resource::Key, id);
                let number = store::lock(tx, number).await?.ok_or_else(unknown)?;
                still_may(tx, number, &actor, Capability::ManageKeys).await?;
                let name = api_key::revoke(tx, number, id, now).await?.ok_or_else(unknown)?;
                let withdrawn = withdraw_of_revoked(tx, number, &actor, now).await?;
                let entry = Entry::new(Action::KeyRevoked, id.to_string()).with(json!({ "name": name }));
                store::audit::record(tx, number, &actor, &entry, now).await?;
                Ok(withdrawn)
            })
        });
        revoked.await
    }

    /// Wipes what the project has, except keys, members, domains and the audit log. Nothing of it is seen any more
    /// once this returns; the rows go in the background.
    pub async fn reset_project(&self, project: &Project, actor: &Actor) -> Result<()> {
        let (number, now, by, actor) = (project.number, self.0.clock.now(), actor, actor.clone());
        let reset = self.write(move |tx| {
            Box::pin(async move {
                let number = store::lock(tx, number).await?.ok_or_else(gone)?;
                still_may(tx, number, &actor, Capability::ManageProject).await?;
                let new = purge::reset(tx, number, now).await?;
                Ok(store::audit::record(tx, new, &actor, &Entry::of_project(Action::ProjectReset), now)
                    .await?)
            })
        });
        self.ended(project, by, reset.await, "a project was reset")
    }

    /// Deletes a project: keys, members and data are gone once this returns; the rows go in the background. Who did it
    /// is kept for the operator ([`App::trail`]).
    pub async fn delete_project(&self, project: &Project, actor: &Actor) -> Result<()> {
        let (number, now, by, actor) = (project.number, self.0.clock.now(), actor, actor.clone());
        let deleted = self.write(move |tx| {
            Box::pin(async move {
                let number = store::lock(tx, number).await?.ok_or_else(gone)?;
                still_may(tx, number, &actor, Capability::ManageProject).await?;
                Ok(purge::delete(tx, number, &actor, now).await?)
            })
        });
        self.ended(project, by, deleted.await, "a project was deleted")
    }

    fn ended(&self, project: &Project, actor: &Actor, outcome: Result<()>, what: &'static str) -> Result<()> {
        outcome.map_err(|error| match error {
            Error::Store(StoreError::Conflict(_) | StoreError::NotFound) => {
                Error::not_found(Resource::Project, project.id)
            }
            other => other,
        })?;
        self.0.keyring.forget_all();
        tracing::info!(project = %project.id, %actor, "{what}");
        Ok(())
    }

    /// Wipes the rows of projects that were reset or deleted.
    pub(crate) async fn purge_retired(&self) -> Result<()> {
        let now = self.0.clock.now();
        loop {
            let numbers =
                self.0.db.read(move |rx| Box::pin(async move { purge::due(rx, now, RETIRED).await })).await?;
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
        Ok(self
            .0
            .db
            .read(move |rx| {
                Box::pin(async move {
                    let domains = domain::all(rx, number).await?;
                    let emails = counter::values(rx, number, Counter::Email).await?;
                    Ok(SetupState {
                        has_verified_domain: domains.iter().any(|domain| domain.verified),
                        contacts: counter::value(rx, number, Counter::Contacts, "").await?,
                        has_sent: emails.iter().any(|(_, count)| *count > 0),
                        last_campaign_sent_at: campaign::last_sent(rx, number).await?,
                    })
                })
            })
            .await?)
    }
}

/// A new pair of keys: secret and public.
pub(crate) fn pair() -> (Token, Token) {
    (Token::generate(KeyKind::Secret), Token::generate(KeyKind::Public))
}

fn stored_pair(secret: &Token, public: &Token, now: Timestamp) -> [api_key::NewKey; 2] {
    [secret.to_store(KeyKind::Secret, None, now), public.to_store(KeyKind::Public, None, now)]
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

/// Locks a project that must be there; its number by then.
async fn locked(tx: &mut Tx<'_>, number: ProjectNumber, id: ProjectId) -> Result<ProjectNumber> {
    store::lock(tx, number).await?.ok_or_else(|| Error::not_found(Resource::Project, id))
}

fn gone() -> Error {
    Error::NotFound { resource: Resource::Project, id: String::new() }
}
