//! Making, listing, replacing and revoking the keys of a project. Each change reads the caller's role again under the
//! project's lock, because the role may have been lost since the request began.

use mailwright_core::address::EmailAddress;
use mailwright_core::audit::{Action, Actor};
use mailwright_core::ids::ApiKeyId;
use mailwright_core::project::Project;
use mailwright_core::role::{Capability, Scopes};
use mailwright_core::time::Timestamp;
use mailwright_store::body;
use mailwright_store::project::api_key::{self, KeyKind, Listed};
use mailwright_store::project::audit::Entry;
use mailwright_store::project::{self as store, Details};
use serde_json::json;

use super::token::Token;
use crate::App;
use crate::error::{Error, Resource, Result};
use crate::project::member::{still_may, withdraw_of_revoked};

/// Most keys of a project.
const MOST_KEYS: i64 = 100;

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

impl App {
    /// The keys of a project.
    pub async fn keys(&self, project: &Project) -> Result<Vec<Listed>> {
        let number = project.number;
        self.read(body!(async |rx| api_key::list(rx, number, MOST_KEYS).await)).await
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
        self.write(body!(async |tx| {
            let number =
                store::lock(tx, number).await?.ok_or_else(|| Error::not_found(Resource::Project, ""))?;
            still_may(tx, number, &actor, Capability::ManageKeys).await?;
            if api_key::count(tx, number).await? >= MOST_KEYS {
                return Err(Error::Conflict(format!(
                    "The project has {MOST_KEYS} keys, which is the maximum. Revoke one that is not used."
                )));
            }
            api_key::create(tx, number, &key, now).await?;
            let told = json!({ "name": name, "scopes": scopes.names() });
            let entry = Entry::new(Action::KeyCreated, key.id.to_string()).with(told);
            Ok(store::audit::record(tx, number, &actor, &entry, now).await?)
        }))
        .await?;
        Ok(MadeKey { key: listed, token })
    }

    /// Replaces the project's own pair of keys. The old keys stop working at once, on every node, and the invitations
    /// that they asked for are withdrawn.
    pub async fn rotate_keys(&self, project: &Project, actor: &Actor) -> Result<WithKeys> {
        let (secret, public) = pair();
        let (id, number, now, actor) = (project.id, project.number, self.0.clock.now(), actor.clone());
        let keys = stored_pair(&secret, &public, now);
        let (details, withdrawn) = self
            .write(body!(async |tx| {
                let number =
                    store::lock(tx, number).await?.ok_or_else(|| Error::not_found(Resource::Project, id))?;
                still_may(tx, number, &actor, Capability::ManageKeys).await?;
                api_key::revoke_pair(tx, number, now).await?;
                let withdrawn = withdraw_of_revoked(tx, number, &actor, now).await?;
                for key in &keys {
                    api_key::create(tx, number, key, now).await?;
                }
                store::audit::record(tx, number, &actor, &Entry::of_project(Action::KeysRotated), now)
                    .await?;
                Ok((store::details(tx, number).await?, withdrawn))
            }))
            .await?;
        let details = details.ok_or_else(|| Error::not_found(Resource::Project, project.id))?;
        Ok(WithKeys { details, secret, public, withdrawn })
    }

    /// Revokes a key. It stops working at once, on every node. Invitations that it asked for and nobody confirmed are
    /// withdrawn; returns their addresses.
    pub async fn revoke_key(
        &self,
        project: &Project,
        actor: &Actor,
        id: ApiKeyId,
    ) -> Result<Vec<EmailAddress>> {
        let (number, now, actor) = (project.number, self.0.clock.now(), actor.clone());
        self.write(body!(async |tx| {
            let unknown = || Error::not_found(Resource::Key, id);
            let number = store::lock(tx, number).await?.ok_or_else(unknown)?;
            still_may(tx, number, &actor, Capability::ManageKeys).await?;
            let name = api_key::revoke(tx, number, id, now).await?.ok_or_else(unknown)?;
            let withdrawn = withdraw_of_revoked(tx, number, &actor, now).await?;
            let entry = Entry::new(Action::KeyRevoked, id.to_string()).with(json!({ "name": name }));
            store::audit::record(tx, number, &actor, &entry, now).await?;
            Ok(withdrawn)
        }))
        .await
    }
}

/// A new pair of keys: secret and public.
pub(crate) fn pair() -> (Token, Token) {
    (Token::generate(KeyKind::Secret), Token::generate(KeyKind::Public))
}

pub(crate) fn stored_pair(secret: &Token, public: &Token, now: Timestamp) -> [api_key::NewKey; 2] {
    [secret.to_store(KeyKind::Secret, None, now), public.to_store(KeyKind::Public, None, now)]
}
