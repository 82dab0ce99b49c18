//! The second factor: codes that change with the time (RFC 6238), and recovery codes for a lost device.
//!
//! A seed is stored encrypted. A code is checked in the transaction that starts the session. The time step of the last
//! code is kept, and neither it nor an earlier one is accepted again, so a code counts once on all nodes. A wrong code
//! counts like a wrong password, and asking for a code resets no count. Recovery codes are stored as keyed hashes, so a
//! stolen database cannot be searched for them.

mod code;

use futures_util::future::BoxFuture;
use mailwright_core::ids::{SessionId, UserId};
use mailwright_core::time::Timestamp;
use mailwright_store::Tx;
use mailwright_store::account::session;
use mailwright_store::account::totp::{self as store, Factor};
use mailwright_store::account::user::{self, User};
use mailwright_store::body;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::App;
use crate::account::client_key::ClientKey;
use crate::error::{Error, Resource, Result};
use crate::secret::InstanceSecret;
use code::{DIGITS, SEED, STEP, base32, is_code, matching_step, recovery_code, recovery_hash};

/// Recovery codes of an account.
const RECOVERY_CODES: usize = 10;
/// What is not encoded in the label of an account.
const LABEL: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'@');

/// A second factor that has to be confirmed with a code.
#[derive(Debug)]
pub struct Begun {
    /// The seed for people to type, in Base32.
    pub secret: String,
    /// The same as a link for authenticator programs.
    pub uri: String,
}

/// How an account stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// Whether a code is asked for at sign-in.
    pub enabled: bool,
    /// Recovery codes that were not used yet.
    pub recovery_codes_left: i64,
}

impl App {
    /// Whether an account has a second factor.
    pub async fn second_factor(&self, user: &User) -> Result<Standing> {
        let id = user.id;
        let (factor, left) = self
            .read(body!(async |rx| Ok((
                store::get(rx, id).await?,
                store::recovery_codes_left(rx, id).await?
            ))))
            .await?;
        let enabled = factor.is_some_and(|factor| factor.confirmed);
        Ok(Standing { enabled, recovery_codes_left: left })
    }

    /// Makes a seed. Nothing is asked for at sign-in until [`App::confirm_second_factor`].
    pub async fn begin_second_factor(
        &self,
        user: &User,
        password: String,
        client: ClientKey,
    ) -> Result<Begun> {
        if !user.has_password {
            return Err(Error::Conflict(
                "You sign in with a provider, which has a second factor of its own.".into(),
            ));
        }
        self.check_password(user, password, client).await?;
        let seed: [u8; SEED] = rand::random();
        let (id, now, sealed) = (user.id, self.0.clock.now(), self.0.secret.seal_seed(user.id, &seed)?);
        let begun = self.write(body!(async |tx| {
            user::lock(tx, id).await?.ok_or(Error::SignedOut)?;
            Ok(store::begin(tx, id, &sealed, now).await?)
        }));
        let begun = begun.await?;
        if !begun {
            return Err(Error::Conflict(
                "You have a second factor. Remove it before you set up another one.".into(),
            ));
        }
        let secret = base32(&seed);
        let uri = format!(
            "otpauth://totp/Mailwright:{}?secret={secret}&issuer=Mailwright&algorithm=SHA1&digits={DIGITS}&period={STEP}",
            utf8_percent_encode(user.email.as_str(), &LABEL)
        );
        Ok(Begun { secret, uri })
    }

    /// Switches the second factor on, given a code of the seed. Other sessions end: who opened one with the password
    /// alone is to be out. Returns the recovery codes, to be shown once.
    pub async fn confirm_second_factor(
        &self,
        user: &User,
        session: SessionId,
        code: &str,
        client: ClientKey,
    ) -> Result<Vec<String>> {
        let attempt = self.attempt(&subject(user), client, false).await?;
        let (id, now) = (user.id, self.0.clock.now());
        let factor = self.read(body!(async |rx| store::get(rx, id).await)).await?;
        let Some(Factor { seed: sealed, confirmed: false }) = factor else {
            return Err(Error::Conflict("There is no second factor to confirm.".into()));
        };
        let seed = self.0.secret.open_seed(id, &sealed)?;
        let Some(step) = matching_step(&seed, code, now) else { return Err(Error::WrongCode) };
        let (codes, hashes) = self.new_recovery_codes(id)?;
        self.write(body!(async |tx| {
            if !store::confirm(tx, id, &sealed, step, now).await? {
                return Err(Error::Conflict(
                    "The second factor was changed at the same moment. Try again.".into(),
                ));
            }
            store::put_recovery_codes(tx, id, &hashes).await?;
            Ok(session::end_all(tx, id, Some(session)).await?)
        }))
        .await?;
        self.forgive(attempt).await?;
        tracing::info!(user = %id, "a second factor was switched on");
        Ok(codes)
    }

    /// Makes other recovery codes, given the password and a code or recovery code. Those before are of no use then.
    pub async fn renew_recovery_codes(
        &self,
        user: &User,
        password: String,
        code: String,
        client: ClientKey,
    ) -> Result<Vec<String>> {
        let id = user.id;
        let (codes, hashes) = self.new_recovery_codes(id)?;
        self.with_second_factor(
            user,
            password,
            code,
            client,
            body!(async |tx| store::put_recovery_codes(tx, id, &hashes).await),
        )
        .await?;
        tracing::info!(user = %id, "recovery codes were replaced");
        Ok(codes)
    }

    /// Recovery codes, and their keyed hashes for the store.
    fn new_recovery_codes(&self, user: UserId) -> Result<(Vec<String>, Vec<[u8; 32]>)> {
        let codes: Vec<String> = (0..RECOVERY_CODES).map(|_| recovery_code()).collect();
        let hashes = codes.iter().map(|code| recovery_hash(&self.0.secret, user, code));
        let hashes = hashes.collect::<Result<Vec<_>>>()?;
        Ok((codes, hashes))
    }

    /// Switches the second factor off, given the password and a code or recovery code. Other sessions end.
    pub async fn remove_second_factor(
        &self,
        user: &User,
        session: SessionId,
        password: String,
        code: String,
        client: ClientKey,
    ) -> Result<()> {
        let id = user.id;
        self.with_second_factor(
            user,
            password,
            code,
            client,
            body!(async |tx| {
                store::remove(tx, id).await?;
                session::end_all(tx, id, Some(session)).await
            }),
        )
        .await?;
        tracing::info!(user = %id, "a second factor was switched off");
        Ok(())
    }

    /// Checks that the holder of a session is still the person who signed in: the password, and a code where the
    /// account asks for one.
    pub async fn prove_again(
        &self,
        user: &User,
        password: Option<String>,
        code: Option<String>,
        client: ClientKey,
    ) -> Result<()> {
        if !user.has_password {
            return Err(Error::PasswordRequired(
                "Your account has no password to prove who you are with: sign in again, then repeat the request \
                 without one within ten minutes.",
            ));
        }
        let Some(password) = password else {
            return Err(Error::PasswordRequired(
                "This cannot be undone. Send your password, or sign in again and repeat the request within ten \
                 minutes.",
            ));
        };
        self.check_password(user, password, client).await?;
        let attempt = match &code {
            Some(_) => Some(self.attempt(&subject(user), client, false).await?),
            None => None,
        };
        let (id, now, secret) = (user.id, self.0.clock.now(), self.0.secret.clone());
        self.write(body!(async |tx| check(tx, &secret, id, code.as_deref(), now).await)).await?;
        match attempt {
            Some(attempt) => self.forgive(attempt).await,
            None => Ok(()),
        }
    }

    /// Changes something about a second factor, given the password and a code or recovery code.
    async fn with_second_factor(
        &self,
        user: &User,
        password: String,
        code: String,
        client: ClientKey,
        change: impl for<'t> FnOnce(&'t mut Tx<'_>) -> BoxFuture<'t, mailwright_store::Result<()>>
        + Clone
        + Send
        + 'static,
    ) -> Result<()> {
        self.check_password(user, password, client).await?;
        let attempt = self.attempt(&subject(user), client, false).await?;
        let (id, now, secret) = (user.id, self.0.clock.now(), self.0.secret.clone());
        self.write(body!(async |tx| {
            if !is_asked(tx, id).await? {
                return Err(Error::Conflict("You have no second factor.".into()));
            }
            check(tx, &secret, id, Some(&code), now).await?;
            Ok(change(tx).await?)
        }))
        .await?;
        self.forgive(attempt).await
    }

    /// Switches the second factor of an account off, on the operator's word. False when it has none.
    pub async fn drop_second_factor(&self, email: &mailwright_core::address::EmailAddress) -> Result<bool> {
        let wanted = email.clone();
        self.write(body!(async |tx| {
            let found = user::by_email(tx, &wanted).await?;
            let user = found.ok_or_else(|| Error::not_found(Resource::User, &wanted))?;
            Ok(store::remove(tx, user.id).await?)
        }))
        .await
    }
}

/// The key under which wrong codes of a signed-in user are counted.
fn subject(user: &User) -> String {
    format!("code of {}", user.id)
}

async fn is_asked(tx: &mut Tx<'_>, user: UserId) -> mailwright_store::Result<bool> {
    Ok(store::get(tx, user).await?.is_some_and(|factor| factor.confirmed))
}

/// Checks the second factor of an account that has one, and uses the code up. `code` is what was given: a code or a
/// recovery code. Nothing was written when it refuses.
pub(crate) async fn check(
    tx: &mut Tx<'_>,
    secret: &InstanceSecret,
    user: UserId,
    code: Option<&str>,
    now: Timestamp,
) -> Result<()> {
    let Some(Factor { seed, confirmed: true }) = store::get(tx, user).await? else { return Ok(()) };
    let code = code.ok_or(Error::CodeRequired)?;
    let right = if is_code(code) {
        let Ok(seed) = secret.open_seed(user, &seed) else {
            let lost = "The code cannot be checked: the secret of this instance was changed. Ask its operator to remove \
                        your second factor.";
            return Err(Error::NotAllowed(lost.into()));
        };
        match matching_step(&seed, code, now) {
            Some(step) => store::use_step(tx, user, step).await?,
            None => false,
        }
    } else {
        store::use_recovery_code(tx, user, &recovery_hash(secret, user, code)?).await?
    };
    if right { Ok(()) } else { Err(Error::WrongCode) }
}
