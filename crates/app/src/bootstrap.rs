//! The first user, project and sender domain of an instance.

use mailwright_core::address::{DomainName, EmailAddress};
use mailwright_core::audit::{Action, Actor};
use mailwright_core::ids::{ProjectId, UserId};
use mailwright_core::role::Role;
use mailwright_core::time::Timestamp;
use mailwright_store::api_key::{self, KeyKind};
use mailwright_store::audit::{self, Entry};
use mailwright_store::user::{self, NewUser};
use mailwright_store::{Tx, member, project};

use crate::App;
use crate::error::Result;
use crate::key::Token;

/// What to create.
#[derive(Debug, Clone)]
pub struct Bootstrap {
    /// The user.
    pub email: EmailAddress,
    /// The user's password.
    pub password: String,
    /// Name of the project.
    pub project: String,
    /// Language of the project's pages and footers, when it is created now.
    pub language: String,
    /// Sender domain; the operator vouches for it.
    pub domain: DomainName,
    /// Make another secret key even when the project exists.
    pub new_secret_key: bool,
}

/// What there is now.
#[derive(Debug)]
pub struct Bootstrapped {
    /// The project.
    pub project: ProjectId,
    /// A secret key, when one was made now.
    pub secret_key: Option<Token>,
    /// The public key.
    pub public_key: String,
    /// A sender address that works.
    pub from: String,
}

impl App {
    /// Whether nothing was set up yet.
    pub async fn is_empty(&self) -> Result<bool> {
        Ok(self.0.db.read(|rx| Box::pin(async move { Ok(project::count(rx).await? == 0) })).await?)
    }

    /// Creates user, project, keys and domain as far as they are missing. Done twice, it changes nothing the second time.
    pub async fn bootstrap(&self, wanted: Bootstrap) -> Result<Bootstrapped> {
        let hash = self.0.passwords.hash(wanted.password).await?;
        let (secret, public) = crate::project::pair();
        let now = self.0.clock.now();
        let secret_key = secret.to_store(KeyKind::Secret, None, now);
        let (public_key, public_text) =
            (public.to_store(KeyKind::Public, None, now), public.reveal().to_owned());
        let (name, always_key) = (wanted.project.clone(), wanted.new_secret_key);
        let language = wanted.language;
        let owner = NewUser {
            email: wanted.email.clone(),
            name: None,
            password_hash: Some(hash),
            email_verified: true,
        };
        let (found, new_key, public_key) = self
            .0
            .db
            .write(move |tx| {
                Box::pin(async move {
                    let existing = project::by_name(tx, &name).await?;
                    let is_new = existing.is_none();
                    let found = match existing {
                        Some(found) => found,
                        None => project::create(tx, &name, &language, now).await?,
                    };
                    let user = existing_or_new(tx, &owner, now).await?;
                    member::add(tx, found.number, user, Role::Owner, now).await?;
                    let new_key = is_new || always_key;
                    if new_key {
                        api_key::create(tx, found.number, &secret_key, now).await?;
                        let entry = Entry::new(Action::KeyCreated, secret_key.id.to_string());
                        audit::record(tx, found.number, &Actor::Operator, &entry, now).await?;
                    }
                    let public_key = if let Some(key) = api_key::public_key(tx, found.number).await? {
                        key
                    } else {
                        api_key::create(tx, found.number, &public_key, now).await?;
                        public_text
                    };
                    Ok((found, new_key, public_key))
                })
            })
            .await?;
        self.vouched_domain(found.number, wanted.domain.clone()).await?;
        Ok(Bootstrapped {
            project: found.id,
            secret_key: new_key.then_some(secret),
            public_key,
            from: format!("hello@{}", wanted.domain),
        })
    }
}

async fn existing_or_new(tx: &mut Tx<'_>, new: &NewUser, now: Timestamp) -> mailwright_store::Result<UserId> {
    if let Some(id) = user::create(tx, new, now).await? {
        return Ok(id);
    }
    let existing = user::by_email(tx, &new.email).await?;
    existing.map(|user| user.id).ok_or(mailwright_store::Error::NotFound)
}
