//! Signing up.

use mailwright_core::address::EmailAddress;
use mailwright_core::issue::Issue;
use mailwright_store::account::one_time_link::Purpose;
use mailwright_store::account::user::{self, NewUser};
use mailwright_store::body;

use super::sessions::SignedIn;
use crate::App;
use crate::account::client_key::ClientKey;
use crate::error::{Error, Resource, Result};

/// An account to sign up.
#[derive(Debug, Clone)]
pub struct SignUp {
    /// Address.
    pub email: EmailAddress,
    /// Password.
    pub password: String,
    /// How the person wants to be called.
    pub name: Option<String>,
    /// The token of an invitation. With it an account can be created even if signing up is switched off.
    pub invitation: Option<String>,
}

impl App {
    /// Creates an account and signs it in. The first account can be created even if signing up is switched off. Its
    /// address is sent a link to prove it, unless an invitation that came by mail proves it already.
    pub async fn sign_up(&self, wanted: SignUp, client: ClientKey) -> Result<SignedIn> {
        self.count_client("mail", client).await?;
        // a password costs time to hash, so whoever is not let in is refused before
        self.check_sign_up(&wanted).await?;
        self.check_address(&wanted.email).await?;
        let sender = self.system_sender().await?;
        let hash = self.0.account.passwords.hash(wanted.password).await?;
        let (now, open) = (self.0.clock.now(), self.signs_up());
        let checked = hash.clone();
        let mut new = NewUser {
            email: wanted.email,
            name: wanted.name,
            password_hash: Some(hash),
            email_verified: false,
        };
        let link = match &sender {
            Some(sender) => Some(self.link(sender, Purpose::Verify, &new.email)?),
            None => None,
        };
        let (app, token) = (self.clone(), wanted.invitation);
        let created = self.write(body!(async |tx| {
            let first = user::none_yet(tx).await?;
            let invited = match &token {
                Some(token) => {
                    let found = app.invited(tx, token, &new.email).await?;
                    Some(found.ok_or_else(|| Error::not_found(Resource::Invitation, ""))?)
                }
                None => None,
            };
            if !first && !open && invited.is_none() {
                return Err(closed());
            }
            // nobody gets an account for a place that there is not
            if let Some(invited) = &invited {
                crate::project::member::room(tx, invited.project).await?;
            }
            new.email_verified = invited.as_ref().is_some_and(|invited| invited.by_mail);
            let id = user::create(tx, &new, now).await?.ok_or_else(taken)?;
            if let Some(invited) = invited {
                crate::project::member::redeem(tx, &invited, id, now).await?;
            }
            if let (Some(link), false) = (link, new.email_verified) {
                link.save(tx, id, now).await?;
            }
            Ok((user::get(tx, id).await?, first))
        }));
        let (user, first) = created.await?;
        if let Some(sender) = &sender {
            self.wake_system_mail(sender);
        }
        let user = user.ok_or_else(|| Error::Internal("an account vanished while it was made".into()))?;
        tracing::info!(user = %user.id, first, "an account was created");
        self.open_session(user, Some(checked), None, Some(client), first).await
    }

    /// Refuses an address to which no mail can be sent, and a disposable one, where the instance wants that.
    async fn check_address(&self, email: &EmailAddress) -> Result<()> {
        if !self.settings().accounts.verify_addresses {
            return Ok(());
        }
        match self.refuses_account(email).await {
            None => Ok(()),
            Some(why) => Err(Error::Invalid(vec![Issue::new("email", "invalid_string", why)])),
        }
    }

    fn signs_up(&self) -> bool {
        !self.settings().accounts.disable_signups
    }

    /// Refuses the people that [`sign_up`](Self::sign_up) would refuse, by reading the database only.
    async fn check_sign_up(&self, wanted: &SignUp) -> Result<()> {
        let app = self.clone();
        let (email, token) = (wanted.email.clone(), wanted.invitation.clone());
        let read = self.read(body!(async |rx| {
            let invited = match &token {
                Some(token) => app.invited(rx, token, &email).await?.is_some(),
                None => false,
            };
            let has_account = user::by_email(rx, &email).await?.is_some();
            Ok((invited, user::is_empty(rx).await?, has_account))
        }));
        let (invited, is_first, has_account) = read.await?;
        if wanted.invitation.is_some() && !invited {
            return Err(Error::not_found(Resource::Invitation, ""));
        }
        if !self.signs_up() && !invited && !is_first {
            return Err(closed());
        }
        if has_account { Err(taken()) } else { Ok(()) }
    }
}

fn closed() -> Error {
    Error::NotAllowed(
        "Signing up is switched off on this instance. Ask its operator, or a member of a project, for an invitation."
            .into(),
    )
}

fn taken() -> Error {
    Error::Conflict("There is an account with this address already. Sign in instead.".into())
}
