//! The first user, project and sender domain of an instance.
//!
//! Anybody can choose any project name and sign up with any address. So `bootstrap` trusts neither: a project is the
//! operator's if `bootstrap` made it, which is marked with the name that it was given (`bootstrap_name`), and an
//! account is the operator's if its password is known. Renaming a project makes nothing the operator's and takes
//! nothing from them.

use mailwright_core::address::{DomainName, EmailAddress};
use mailwright_core::audit::{Action, Actor};
use mailwright_core::ids::{ProjectId, UserId};
use mailwright_core::project::Project;
use mailwright_core::role::Role;
use mailwright_core::time::Timestamp;
use mailwright_store::account::user::{self, Credentials, NewUser};
use mailwright_store::body;
use mailwright_store::project::api_key::{self, KeyKind};
use mailwright_store::project::audit::{self, Entry};
use mailwright_store::project::member;
use mailwright_store::{Tx, project};

use crate::App;
use crate::account::session::hand_over;
use crate::error::{Error, Resource, Result};
use crate::project::key::Token;

/// What to create.
#[derive(Debug, Clone)]
pub struct Bootstrap {
    /// The user.
    pub email: EmailAddress,
    /// The user's password. An account that is there must have it.
    pub password: String,
    /// Give an existing account this password, and end its sessions and links.
    pub reset_password: bool,
    /// Name of the project, or the id of one that is there.
    pub project: String,
    /// Language of the project's pages and footers, when it is created now.
    pub language: String,
    /// Sender domain; the operator vouches for it.
    pub domain: DomainName,
    /// Make another secret key even when the project exists.
    pub new_secret_key: bool,
}

/// The created or existing project.
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
        self.read(body!(async |rx| Ok(project::count(rx).await? == 0))).await
    }

    /// Creates user, project, keys and domain as far as they are missing. Done twice, it changes nothing the second
    /// time.
    pub async fn bootstrap(&self, wanted: Bootstrap) -> Result<Bootstrapped> {
        let account = self.account(&wanted).await?;
        let (secret, public) = crate::project::key::pair();
        let now = self.0.clock.now();
        let secret_key = secret.to_store(KeyKind::Secret, None, now);
        let (public_key, public_text) =
            (public.to_store(KeyKind::Public, None, now), public.reveal().to_owned());
        let (name, always_key) = (wanted.project.clone(), wanted.new_secret_key);
        let language = wanted.language;
        let (found, new_key, public_key) = self
            .write(body!(async |tx| {
                let user = account.find(tx).await?;
                let existing = existing(tx, &name, user.as_ref()).await?;
                let is_new = existing.is_none();
                let user = account.settle(tx, user, now).await?;
                let found = match existing {
                    Some(found) => found,
                    None => create(tx, &name, &language, user, now).await?,
                };
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
            }))
            .await?;
        self.vouched_domain(found.number, wanted.domain.clone()).await?;
        Ok(Bootstrapped {
            project: found.id,
            secret_key: new_key.then_some(secret),
            public_key,
            from: format!("hello@{}", wanted.domain),
        })
    }

    /// Looks whether the account can be used: one that is there has this password, or is to get it.
    async fn account(&self, wanted: &Bootstrap) -> Result<Account> {
        let email = wanted.email.clone();
        let found = self.read(body!(async |rx| user::credentials(rx, &email, b"").await)).await?;
        let seen = found.map(|found| Seen(found.password_hash));
        let reset = wanted.reset_password && seen.is_some();
        if let (false, Some(Seen(hash))) = (reset, &seen)
            && !self.passwords().matches(wanted.password.clone(), hash.clone()).await?
        {
            return Err(Error::Conflict(format!(
                "There is an account with the address {} that has another password, and nothing was changed. If you \
                 made the account, give its password. If you did not, or forgot it, add --reset-password: the \
                 account gets this password, and all its sessions end.",
                wanted.email
            )));
        }
        let new = match (&seen, reset) {
            (Some(_), false) => None,
            (None, _) | (_, true) => Some(self.passwords().hash(wanted.password.clone()).await?),
        };
        Ok(Account { email: wanted.email.clone(), seen, new })
    }
}

/// The password hash of an account that was looked at; it may have none.
#[derive(Clone)]
struct Seen(Option<String>);

/// The account that is to own the project.
#[derive(Clone)]
struct Account {
    email: EmailAddress,
    /// The account that is there.
    seen: Option<Seen>,
    /// The hash of the password that it gets, or that a new account has.
    new: Option<String>,
}

impl Account {
    /// The account as it is now; refused when it is another one than that whose password was checked.
    async fn find(&self, tx: &mut Tx<'_>) -> Result<Option<Credentials>> {
        let found = user::credentials(tx, &self.email, b"").await?;
        let same =
            found.as_ref().map(|found| &found.password_hash) == self.seen.as_ref().map(|Seen(hash)| hash);
        if same { Ok(found) } else { Err(changed_meanwhile()) }
    }

    /// Creates or updates the account. The operator vouches for its address.
    async fn settle(self, tx: &mut Tx<'_>, found: Option<Credentials>, now: Timestamp) -> Result<UserId> {
        match (found, self.new) {
            (Some(found), Some(hash)) => {
                hand_over(tx, &found.user, Some(&hash), now).await?;
                tracing::info!(user = %found.user.id, "an account was handed over to the operator");
                Ok(found.user.id)
            }
            (Some(found), None) => {
                if !found.user.email_verified {
                    user::verify(tx, found.user.id, &self.email, now).await?;
                }
                Ok(found.user.id)
            }
            (None, password_hash) => {
                let new = NewUser { email: self.email, name: None, password_hash, email_verified: true };
                user::create(tx, &new, now).await?.ok_or_else(changed_meanwhile)
            }
        }
    }
}

fn changed_meanwhile() -> Error {
    Error::Conflict("The account was changed at the same moment. Try again.".into())
}

/// The project that a name or an id means: by its name only one that was made here, and in any case one that the
/// account owns.
async fn existing(tx: &mut Tx<'_>, name_or_id: &str, user: Option<&Credentials>) -> Result<Option<Project>> {
    if let Ok(id) = name_or_id.parse::<ProjectId>() {
        return named_by_id(tx, id, user).await.map(Some);
    }
    let Some(user) = user else { return Ok(None) };
    let mut found = project::bootstrapped(tx, name_or_id, user.user.id).await?;
    if let [one, other] = &found[..] {
        return Err(Error::Conflict(format!(
            "{} owns several projects that were made with the name {name_or_id:?}. Give the id of the one that is meant: \
             --project {}, or --project {}.",
            user.user.email, one.id, other.id
        )));
    }
    Ok(found.pop())
}

async fn named_by_id(tx: &mut Tx<'_>, id: ProjectId, user: Option<&Credentials>) -> Result<Project> {
    let found = project::by_id(tx, id).await?.ok_or_else(|| Error::not_found(Resource::Project, id))?;
    let role = match user {
        Some(user) => member::get(tx, found.number, user.user.id).await?.map(|member| member.role),
        None => None,
    };
    if role == Some(Role::Owner) {
        return Ok(found);
    }
    Err(Error::Conflict(format!("The project {id} belongs to others: the account does not own it.")))
}

async fn create(
    tx: &mut Tx<'_>,
    name: &str,
    language: &str,
    owner: UserId,
    now: Timestamp,
) -> mailwright_store::Result<Project> {
    let made = project::create(tx, name, language, now).await?;
    project::mark_bootstrapped(tx, made.number, name).await?;
    member::add(tx, made.number, owner, Role::Owner, true, now).await?;
    Ok(made)
}
