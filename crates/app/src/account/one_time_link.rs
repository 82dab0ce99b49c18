//! Links in mails: proving an address, and setting another password.
//!
//! A link shows who receives the mail, not who made the account, because anybody can sign up with somebody else's
//! address. The person who made the account shows its session or its password. Everybody else takes the account over
//! (`session::hand_over`) or says that it is not theirs.
//!
//! Link and mail are written in one transaction. A request for a new password only stores the address. A worker looks
//! for the account later, so the time of the answer does not tell whether there is one.

use std::time::Duration;

use mailwright_core::address::EmailAddress;
use mailwright_core::ids::{OneTimeLinkId, UserId};
use mailwright_core::time::Timestamp;
use mailwright_store::Tx;
use mailwright_store::account::one_time_link::{self as store, NewLink, Purpose};
use mailwright_store::account::user::{self, User};
use mailwright_store::account::{attempts, session};
use mailwright_store::body;

use crate::App;
use crate::account::client_key::{ClientKey, subject};
use crate::account::session::hand_over;
use crate::error::{Error, Result};
use crate::project::key::{Token, hash};
use crate::sending::send::Operation;
use crate::sending::system_mail::{Notice, Page, SystemSender, enqueue};

/// Links of a kind that an account is sent in the time in which they are counted.
const MOST: usize = 3;
/// The shortest time in which links are counted, however short they are good for.
const WINDOW: Duration = Duration::from_hours(1);
/// Addresses that a worker looks at in one transaction.
const AT_ONCE: i64 = 20;

/// A link with the mail that brings it, both to be written in one transaction.
#[derive(Clone)]
pub(crate) struct Link {
    new: NewLink,
    mail: Operation,
}

impl Link {
    /// Writes link and mail.
    pub(crate) async fn save(mut self, tx: &mut Tx<'_>, user: UserId, now: Timestamp) -> Result<()> {
        self.new.user = user;
        store::create(tx, &self.new, now).await?;
        enqueue(tx, &[self.mail]).await
    }
}

impl App {
    /// Whether accounts whose address is not proven are kept out.
    pub fn requires_verification(&self, user: &User) -> bool {
        self.settings().system_mail.verification_required && user.has_password && !user.email_verified
    }

    fn good_for(&self) -> Duration {
        self.settings().accounts.links_good_for
    }

    /// The time in which links are counted.
    fn window(&self) -> Duration {
        self.good_for().max(WINDOW)
    }

    /// Makes a link for an address. [`Link::save`] gets its account.
    pub(crate) fn link(&self, sender: &SystemSender, purpose: Purpose, email: &EmailAddress) -> Result<Link> {
        let now = self.0.clock.now();
        let id = OneTimeLinkId::new(now, rand::random());
        let page = match purpose {
            Purpose::Verify => Page::VerifyEmail,
            Purpose::Reset => Page::ResetPassword,
        };
        let token = self.link_token(page, id.into())?;
        let notice = Notice { to: email.clone(), page, id: id.into(), values: Vec::new() };
        let new = NewLink {
            id,
            user: UserId::first_of(now),
            purpose,
            email: email.clone(),
            token_hash: token.hash(),
            expires_at: now.plus(self.good_for()),
        };
        Ok(Link { new, mail: self.notice(sender, &notice) })
    }

    /// The account and the address that a link was sent for, as long as the link is good. Looking does not use it up.
    pub async fn opened_link(&self, purpose: Purpose, token: &str) -> Result<Option<(UserId, EmailAddress)>> {
        let (token_hash, now) = (hash(token), self.0.clock.now());
        self.read(body!(async |rx| store::find(rx, purpose, &token_hash, now).await)).await
    }

    /// Sends a user another link to prove the address. False when it is proven already.
    pub async fn request_verification(&self, user: &User) -> Result<bool> {
        if user.email_verified {
            return Ok(false);
        }
        let sender = self.system_sender().await?.ok_or_else(no_mail)?;
        let link = self.link(&sender, Purpose::Verify, &user.email)?;
        let (id, now, window) = (user.id, self.0.clock.now(), self.window());
        self.write(body!(async |tx| {
            user::lock(tx, id).await?;
            let made = store::made_since(tx, id, Purpose::Verify, now.minus(window)).await?;
            if let Some(first) = made.len().checked_sub(MOST) {
                let wait = made[first].plus(window).since(now).as_secs().max(1);
                return Err(Error::TooManyMails { retry_after: wait as i64 });
            }
            link.save(tx, id, now).await
        }))
        .await?;
        self.wake_system_mail(&sender);
        Ok(true)
    }

    /// Notes that the owner of an account receives mail at its address, and accepts the invitations to it.
    ///
    /// A link proves only who receives the mail, and anybody can sign up with somebody else's address. So the account's
    /// session or its password is needed as well.
    pub async fn verify_email(
        &self,
        token: &str,
        signed_in: Option<UserId>,
        password: Option<String>,
        client: ClientKey,
    ) -> Result<()> {
        let (user, email) = self.opened_link(Purpose::Verify, token).await?.ok_or_else(bad_link)?;
        if signed_in != Some(user) {
            let password = password.ok_or(Error::PasswordRequired(
                "The link proves that you receive the mail. To verify the address, open it in the browser in \
                 which you are signed in with the account, or give its password.",
            ))?;
            self.check_credentials(&email, password, client).await?;
        }
        let (token_hash, now) = (hash(token), self.0.clock.now());
        let verified = self
            .write(body!(async |tx| {
                let found = store::take(tx, Purpose::Verify, &token_hash, now).await?;
                let Some((user, email)) = found else { return Ok(None) };
                Ok(proven(tx, user, &email, now).await?.then_some(user))
            }))
            .await?
            .ok_or_else(bad_link)?;
        tracing::info!(user = %verified, "an address was verified");
        Ok(())
    }

    /// Gives an account that somebody else made to the person who receives mail at its address, with another password.
    /// All of its sessions end.
    pub async fn claim_account(&self, token: &str, new: String, client: ClientKey) -> Result<()> {
        let user = self.set_password_by_link(Purpose::Verify, token, new, client).await?;
        tracing::info!(%user, "an account was claimed by the owner of its address");
        Ok(())
    }

    /// Removes an account that was made with somebody else's address, because the person who receives mail there says
    /// so. An account that is a member of projects stays, with a random password that nobody knows. Returns whether it
    /// was removed.
    pub async fn disown_account(&self, token: &str) -> Result<bool> {
        if self.opened_link(Purpose::Verify, token).await?.is_none() {
            return Err(bad_link());
        }
        let unknown = self.0.account.passwords.hash(Token::random().reveal().to_owned()).await?;
        let (token_hash, now) = (hash(token), self.0.clock.now());
        let (user, removed) = self
            .write(body!(async |tx| {
                let Some(user) = unproven(tx, Purpose::Verify, &token_hash, now).await? else {
                    return Ok(None);
                };
                if user::delete(tx, user.id).await? {
                    return Ok(Some((user.id, true)));
                }
                user::put_password(tx, user.id, Some(&unknown), now).await?;
                session::end_all(tx, user.id, None).await?;
                store::void(tx, user.id, Purpose::Reset, now).await?;
                attempts::forget_clients(tx, user.id).await?;
                Ok(Some((user.id, false)))
            }))
            .await?
            .ok_or_else(bad_link)?;
        tracing::info!(%user, removed, "an account was disowned by the owner of its address");
        Ok(removed)
    }

    /// Asks for a link to set another password. Whether the address has an account, neither the answer tells nor its
    /// time: a worker looks for it.
    pub async fn request_password_reset(&self, email: &EmailAddress, client: ClientKey) -> Result<()> {
        if !self.sends_own_mail() {
            return Err(no_mail());
        }
        self.count_client("mail", client).await?;
        let (email, now) = (email.clone(), self.0.clock.now());
        self.0.db.write(body!(async |tx| store::ask(tx, &email, now).await)).await?;
        Ok(())
    }

    /// Sends the links that were asked for.
    pub(crate) async fn send_resets(&self) -> Result<()> {
        if !self.read(body!(async |rx| store::is_asked(rx).await)).await? {
            return Ok(());
        }
        let Some(sender) = self.system_sender().await? else { return Ok(()) };
        loop {
            let (app, from) = (self.clone(), sender.clone());
            let taken = self
                .write(body!(async |tx| {
                    let asked = store::asked(tx, AT_ONCE).await?;
                    for email in &asked {
                        app.send_reset(tx, &from, email).await?;
                    }
                    Ok(asked.len())
                }))
                .await?;
            self.wake_system_mail(&sender);
            if (taken as i64) < AT_ONCE {
                return Ok(());
            }
        }
    }

    async fn send_reset(&self, tx: &mut Tx<'_>, sender: &SystemSender, email: &EmailAddress) -> Result<()> {
        let now = self.0.clock.now();
        let Some(found) = user::by_email(tx, email).await? else { return Ok(()) };
        let Some(user) = user::lock(tx, found.id).await?.filter(|user| user.has_password) else {
            return Ok(());
        };
        if store::made_since(tx, user.id, Purpose::Reset, now.minus(self.window())).await?.len() >= MOST {
            return Ok(());
        }
        match self.link(sender, Purpose::Reset, email) {
            Ok(link) => link.save(tx, user.id, now).await,
            Err(error) => {
                tracing::error!(%error, user = %user.id, "a link could not be made");
                Ok(())
            }
        }
    }

    /// Sets another password with a link, and ends all sessions of the account. `client` is where its owner is: from
    /// there signing in is not slowed down by what others guess, now and later.
    pub async fn reset_password(&self, token: &str, new: String, client: ClientKey) -> Result<()> {
        let user = self.set_password_by_link(Purpose::Reset, token, new, client).await?;
        tracing::info!(%user, "a password was reset");
        Ok(())
    }

    async fn set_password_by_link(
        &self,
        purpose: Purpose,
        token: &str,
        new: String,
        client: ClientKey,
    ) -> Result<UserId> {
        // a password costs time to hash, so a link that is not good is refused before
        if self.opened_link(purpose, token).await?.is_none() {
            return Err(bad_link());
        }
        let hashed = self.0.account.passwords.hash(new).await?;
        let (token_hash, now) = (hash(token), self.0.clock.now());
        let changed = self.write(body!(async |tx| {
            let found = match purpose {
                Purpose::Verify => unproven(tx, purpose, &token_hash, now).await?,
                Purpose::Reset => taken(tx, purpose, &token_hash, now).await?,
            };
            let Some(user) = found else { return Ok(None) };
            hand_over(tx, &user, Some(&hashed), now).await?;
            crate::project::member::accept_all(tx, user.id, &user.email, now).await?;
            attempts::remember_client(tx, user.id, client.as_bytes(), now).await?;
            for own in [&[][..], client.as_bytes()] {
                attempts::forget(tx, &subject(user.email.as_str(), own)).await?;
            }
            Ok(Some(user.id))
        }));
        let changed = changed.await?.ok_or_else(bad_link);
        self.0.account.attempts.forget();
        changed
    }

    /// Removes links that expired and count no more.
    pub(crate) async fn sweep_one_time_links(&self) -> Result<()> {
        let before = self.0.clock.now().minus(WINDOW);
        while self.0.db.write_in_background(body!(async |tx| store::sweep(tx, before).await)).await? > 0 {}
        Ok(())
    }
}

/// Uses a link up; its account, if it still has the address that the link was sent to. A link that is of no use is used
/// up as well, so a caller that refuses it has to commit.
async fn taken(
    tx: &mut Tx<'_>,
    purpose: Purpose,
    token_hash: &[u8],
    now: Timestamp,
) -> mailwright_store::Result<Option<User>> {
    let Some((id, email)) = store::take(tx, purpose, token_hash, now).await? else { return Ok(None) };
    Ok(user::lock(tx, id).await?.filter(|user| user.email == email))
}

/// The same, only for an account whose address is not verified yet.
async fn unproven(
    tx: &mut Tx<'_>,
    purpose: Purpose,
    token_hash: &[u8],
    now: Timestamp,
) -> mailwright_store::Result<Option<User>> {
    Ok(taken(tx, purpose, token_hash, now).await?.filter(|user| !user.email_verified))
}

/// Notes that the holder of an account receives mail at its address; false when the account has another one by now.
async fn proven(tx: &mut Tx<'_>, user: UserId, email: &EmailAddress, now: Timestamp) -> Result<bool> {
    if !user::verify(tx, user, email, now).await? {
        return Ok(false);
    }
    crate::project::member::accept_all(tx, user, email, now).await?;
    Ok(true)
}

fn bad_link() -> Error {
    Error::BadRequest("The link is not valid, was used or has expired. Ask for another one.".into())
}

fn no_mail() -> Error {
    Error::BadRequest(
        "This instance sends no mail of its own. Its operator has to set MAILWRIGHT_PLATFORM_FROM, and can \
         reset passwords until then."
            .into(),
    )
}
