//! The first user, project and sender domain of an instance.

use argon2::Argon2;
use argon2::password_hash::PasswordHasher;
use mailwright_core::address::{DomainName, EmailAddress};
use mailwright_core::ids::ProjectId;
use mailwright_store::api_key::{self, KeyKind};
use mailwright_store::{domain, project};

use crate::App;
use crate::error::{Error, Result};
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
        let hash = hash_password(wanted.password).await?;
        let (secret, public) = (Token::generate(KeyKind::Secret), Token::generate(KeyKind::Public));
        let (secret_hash, public_hash, public_text) =
            (secret.hash(), public.hash(), public.reveal().to_owned());
        let (name, email, always_key) = (wanted.project.clone(), wanted.email.clone(), wanted.new_secret_key);
        let language = wanted.language;
        let now = self.0.clock.now();
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
                    let user = match project::user_by_email(tx, &email).await? {
                        Some(user) => user,
                        None => project::create_user(tx, &email, &hash, now).await?,
                    };
                    project::add_owner(tx, found.number, user, now).await?;
                    let new_key = is_new || always_key;
                    if new_key {
                        api_key::create(tx, found.number, KeyKind::Secret, secret_hash, None, now).await?;
                    }
                    let public_key = if let Some(key) = api_key::public_key(tx, found.number).await? {
                        key
                    } else {
                        let text = Some(public_text.as_str());
                        api_key::create(tx, found.number, KeyKind::Public, public_hash, text, now).await?;
                        public_text
                    };
                    Ok((found, new_key, public_key))
                })
            })
            .await?;
        let (number, domain_name) = (found.number, wanted.domain.clone());
        let existing = self
            .0
            .db
            .read(move |rx| Box::pin(async move { domain::by_name(rx, number, &domain_name).await }))
            .await?;
        if let Some(existing) = existing {
            let id = existing.id;
            self.0
                .db
                .write(move |tx| Box::pin(async move { domain::vouch(tx, number, id, now).await }))
                .await?;
        } else {
            self.create_domain(number, wanted.domain.clone(), true).await?;
        }
        Ok(Bootstrapped {
            project: found.id,
            secret_key: new_key.then_some(secret),
            public_key,
            from: format!("hello@{}", wanted.domain),
        })
    }
}

/// Hashes a password with Argon2id, off the threads that serve requests.
async fn hash_password(password: String) -> Result<String> {
    tokio::task::spawn_blocking(move || {
        Argon2::default().hash_password(password.as_bytes()).map(|hash| hash.to_string())
    })
    .await
    .map_err(|e| Error::Internal(e.to_string()))?
    .map_err(|e| Error::Internal(format!("the password cannot be hashed: {e}")))
}
