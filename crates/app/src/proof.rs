//! Proving an address, and setting another password by it.

use std::time::Duration;

use mailwright_core::address::EmailAddress;
use mailwright_core::ids::{ProofId, UserId};
use mailwright_core::time::Timestamp;
use mailwright_store::proof::{self as store, NewProof, Purpose};
use mailwright_store::user::{self, User};
use mailwright_store::{Tx, login, session};

use crate::App;
use crate::error::{Error, Result};
use crate::key::hash;
use crate::platform::{Notice, Page, Platform, enqueue};
use crate::send::Operation;
use crate::session::{ClientKey, subject};

/// Links of a kind that an account is sent in the time in which they are counted.
const MOST: usize = 3;
/// The shortest time in which links are counted, however short they are good for.
const WINDOW: Duration = Duration::from_hours(1);
/// Addresses that a worker looks at in one transaction.
const AT_ONCE: i64 = 20;

/// A link with the mail that brings it, both to be written in one transaction.
pub(crate) struct Link {
    proof: NewProof,
    mail: Operation,
}

impl Link {
    /// Writes link and mail.
    pub(crate) async fn save(
        mut self,
        tx: &mut Tx<'_>,
        user: UserId,
        now: Timestamp,
    ) -> mailwright_store::Result<()> {
        self.proof.user = user;
        store::create(tx, &self.proof, now).await?;
        enqueue(tx, &[self.mail]).await
    }
}

impl App {
    /// Whether accounts whose address is not proven are kept out.
    pub fn keeps_out(&self, user: &User) -> bool {
        self.settings().platform.verification_required && user.has_password && !user.email_verified
    }

    fn good_for(&self) -> Duration {
        self.settings().accounts.links_good_for
    }

    /// The time in which links are counted.
    fn window(&self) -> Duration {
        self.good_for().max(WINDOW)
    }

    /// Makes a link for an address. Whose it is, [`Link::save`] is told.
    pub(crate) fn link(&self, platform: &Platform, purpose: Purpose, email: &EmailAddress) -> Result<Link> {
        let now = self.0.clock.now();
        let id = ProofId::new(now);
        let page = match purpose {
            Purpose::Verify => Page::VerifyEmail,
            Purpose::Reset => Page::ResetPassword,
        };
        let token = self.link_token(page, id.into())?;
        let notice = Notice { to: email.clone(), page, id: id.into(), values: Vec::new() };
        let proof = NewProof {
            id,
            user: UserId::first_of(now),
            purpose,
            email: email.clone(),
            token_hash: token.hash(),
            expires_at: now.plus(self.good_for()),
        };
        Ok(Link { proof, mail: self.notice(platform, &notice) })
    }

    /// The address that a link was sent to, as long as the link is good. Looking does not use it up.
    pub async fn link_address(&self, purpose: Purpose, token: &str) -> Result<Option<EmailAddress>> {
        let (token_hash, now) = (hash(token), self.0.clock.now());
        let found = self
            .0
            .db
            .read(move |rx| Box::pin(async move { store::find(rx, purpose, &token_hash, now).await }))
            .await?;
        Ok(found.map(|(_, email)| email))
    }

    /// Sends a user another link to prove the address. False when it is proven already.
    pub async fn request_verification(&self, user: &User) -> Result<bool> {
        if user.email_verified {
            return Ok(false);
        }
        let platform = self.platform().await?.ok_or_else(no_mail)?;
        let link = self.link(&platform, Purpose::Verify, &user.email)?;
        let (id, now, window) = (user.id, self.0.clock.now(), self.window());
        self.0
            .db
            .write(move |tx| {
                Box::pin(async move {
                    user::lock(tx, id).await?;
                    let made = store::made_since(tx, id, Purpose::Verify, now.minus(window)).await?;
                    if let Some(first) = made.len().checked_sub(MOST) {
                        let wait = made[first].plus(window).since(now).as_secs().max(1);
                        return Ok(Err(Error::TooManyMails { retry_after: wait as i64 }));
                    }
                    link.save(tx, id, now).await.map(Ok)
                })
            })
            .await??;
        self.wake_platform(&platform);
        Ok(true)
    }

    /// Notes that the owner of an account receives mail at its address: accepts what it was invited to.
    pub async fn verify_email(&self, token: &str) -> Result<()> {
        let (token_hash, now) = (hash(token), self.0.clock.now());
        let verified = self
            .0
            .db
            .write(move |tx| {
                Box::pin(async move {
                    let found = store::take(tx, Purpose::Verify, &token_hash, now).await?;
                    let Some((user, email)) = found else { return Ok(None) };
                    Ok(proven(tx, user, &email, now).await?.then_some(user))
                })
            })
            .await?
            .ok_or_else(bad_link)?;
        tracing::info!(user = %verified, "an address was verified");
        Ok(())
    }

    /// Asks for a link to set another password. Whether the address has an account, neither the answer tells nor its
    /// time: a worker looks for it.
    pub async fn request_password_reset(&self, email: &EmailAddress, client: ClientKey) -> Result<()> {
        if !self.sends_own_mail() {
            return Err(no_mail());
        }
        self.count_client("mail", client).await?;
        let (email, now) = (email.clone(), self.0.clock.now());
        self.0.db.write(move |tx| Box::pin(async move { store::ask(tx, &email, now).await })).await?;
        Ok(())
    }

    /// Sends the links that were asked for.
    pub(crate) async fn send_resets(&self) -> Result<()> {
        if !self.0.db.read(|rx| Box::pin(async move { store::is_asked(rx).await })).await? {
            return Ok(());
        }
        let Some(platform) = self.platform().await? else { return Ok(()) };
        loop {
            let (app, sender) = (self.clone(), platform.clone());
            let taken = self
                .0
                .db
                .write(move |tx| {
                    Box::pin(async move {
                        let asked = store::asked(tx, AT_ONCE).await?;
                        for email in &asked {
                            app.send_reset(tx, &sender, email).await?;
                        }
                        Ok(asked.len())
                    })
                })
                .await?;
            self.wake_platform(&platform);
            if (taken as i64) < AT_ONCE {
                return Ok(());
            }
        }
    }

    async fn send_reset(
        &self,
        tx: &mut Tx<'_>,
        platform: &Platform,
        email: &EmailAddress,
    ) -> mailwright_store::Result<()> {
        let now = self.0.clock.now();
        let Some(found) = user::by_email(tx, email).await? else { return Ok(()) };
        let Some(user) = user::lock(tx, found.id).await?.filter(|user| user.has_password) else {
            return Ok(());
        };
        if store::made_since(tx, user.id, Purpose::Reset, now.minus(self.window())).await?.len() >= MOST {
            return Ok(());
        }
        match self.link(platform, Purpose::Reset, email) {
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
        let (token_hash, now) = (hash(token), self.0.clock.now());
        // a password costs time to hash, so a link that is not good is refused before
        let good = self
            .0
            .db
            .read(move |rx| Box::pin(async move { store::find(rx, Purpose::Reset, &token_hash, now).await }))
            .await?;
        if good.is_none() {
            return Err(bad_link());
        }
        let hashed = self.0.passwords.hash(new).await?;
        let user = self
            .0
            .db
            .write(move |tx| {
                Box::pin(async move {
                    let found = store::take(tx, Purpose::Reset, &token_hash, now).await?;
                    let Some((id, email)) = found else { return Ok(None) };
                    if !proven(tx, id, &email, now).await? {
                        return Ok(None);
                    }
                    user::put_password(tx, id, &hashed, now).await?;
                    session::end_all(tx, id, None).await?;
                    login::forget_clients(tx, id).await?;
                    login::remember_client(tx, id, client.as_bytes(), now).await?;
                    for own in [&[][..], client.as_bytes()] {
                        login::forget(tx, &subject(email.as_str(), own)).await?;
                    }
                    Ok(Some(id))
                })
            })
            .await?
            .ok_or_else(bad_link)?;
        tracing::info!(%user, "a password was reset");
        Ok(())
    }

    /// Removes links that expired and count no more.
    pub(crate) async fn sweep_proofs(&self) -> Result<()> {
        let before = self.0.clock.now().minus(WINDOW);
        while self.0.db.write_bulk(move |tx| Box::pin(async move { store::sweep(tx, before).await })).await?
            > 0
        {}
        Ok(())
    }
}

/// Notes that whoever has an account receives mail at its address; false when the account has another one by now.
async fn proven(
    tx: &mut Tx<'_>,
    user: UserId,
    email: &EmailAddress,
    now: Timestamp,
) -> mailwright_store::Result<bool> {
    if !user::verify(tx, user, email, now).await? {
        return Ok(false);
    }
    crate::member::accept_all(tx, user, email, now).await?;
    Ok(true)
}

fn bad_link() -> Error {
    Error::BadRequest("The link is not valid, was used or has expired. Ask for another one.".into())
}

fn no_mail() -> Error {
    Error::BadRequest(
        "This instance sends no mail of its own: its operator has to set MAILWRIGHT_PLATFORM_FROM, and can set passwords meanwhile."
            .into(),
    )
}
