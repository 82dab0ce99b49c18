//! Signing up, in and out, and passwords.
//!
//! A session is a row. The browser holds a JSON Web Token that names the row and is signed with a key of the instance.
//! So neither a guess nor a look into the database opens a session. Without its row a token is worth nothing, so a
//! session ends at once on every node.
//!
//! [`hand_over`] is the one place where an account passes to the owner of its address. Attempts are counted in
//! transactions of their own, so a refusal does not undo them.

use std::net::IpAddr;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use mailwright_core::address::EmailAddress;
use mailwright_core::ids::{SessionId, UserId};
use mailwright_core::time::Timestamp;
use mailwright_store::Tx;
use mailwright_store::account::attempts::{self, Counted};
use mailwright_store::account::one_time_link::{self, Purpose};
use mailwright_store::account::session;
use mailwright_store::account::user::{self, NewUser, User};
use mailwright_store::project::member;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::App;
use crate::account::totp;
use crate::error::{Error, Resource, Result};

/// How long a session lasts.
pub const LASTS: Duration = Duration::from_hours(7 * 24);
/// How long an account remembers where it signed in from.
const CLIENT_KNOWN: Duration = Duration::from_hours(90 * 24);
/// As how many clients an IPv6 network counts in which there may be thousands.
const CLIENTS_AROUND: i64 = 16;
/// How long after signing in a session is enough for what cannot be undone.
pub const FRESH: Duration = Duration::from_mins(10);
/// What the signing key is derived for.
const PURPOSE: &str = "session";
/// The only header that is made and accepted.
const HEADER: &str = r#"{"alg":"HS256","typ":"JWT"}"#;

/// A client as failed logins are counted: a hash of its address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ClientKey {
    client: [u8; 32],
    /// The network around it: one customer may have thousands of clients like this one.
    around: Option<[u8; 32]>,
}

impl ClientKey {
    /// The client at an address. The addresses of an IPv6 network that is given to one customer count as one (a /64);
    /// so do, with a limit of their own, those of the widest that customers are given (a /48).
    pub fn of(address: IpAddr) -> Self {
        let key = |network: &[u8]| digest("client", &[network]);
        match address.to_canonical() {
            IpAddr::V4(address) => Self { client: key(&address.octets()), around: None },
            IpAddr::V6(address) => {
                let octets = address.octets();
                Self { client: key(&octets[..8]), around: Some(key(&octets[..6])) }
            }
        }
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.client
    }

    /// What is counted of something that the client does, where `limit` is that of a client. The client comes first:
    /// one that is refused must not use up what its neighbours have.
    fn counted(&self, what: &str, limit: i64) -> Vec<Counted> {
        let around = self.around.map(|network| Counted {
            key: digest(what, &[&network]),
            limit: limit.saturating_mul(CLIENTS_AROUND),
        });
        std::iter::once(Counted { key: digest(what, &[&self.client]), limit }).chain(around).collect()
    }
}

/// The key under which failed logins are counted: an address, and the client if the account knows it.
pub(crate) fn subject(address: &str, client: &[u8]) -> [u8; 32] {
    digest("login", &[address.as_bytes(), client])
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

/// A hash that names what is counted.
pub(crate) fn digest(purpose: &str, parts: &[&[u8]]) -> [u8; 32] {
    let mut hasher = Sha256::new_with_prefix(purpose);
    for part in parts {
        hasher.update([0]);
        hasher.update(part);
    }
    hasher.finalize().into()
}

/// What a browser keeps: it opens a session. Never printed.
#[derive(Clone)]
pub struct SessionToken(String);

impl std::fmt::Debug for SessionToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("***")
    }
}

impl SessionToken {
    /// The text for the cookie.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

/// An account to sign up.
#[derive(Debug, Clone)]
pub struct SignUp {
    /// Address.
    pub email: EmailAddress,
    /// Password.
    pub password: String,
    /// How the person wants to be called.
    pub name: Option<String>,
    /// What the link of an invitation carries. With it an account can be created where signing up is switched off.
    pub invitation: Option<String>,
}

/// A user who has just signed in.
#[derive(Debug)]
pub struct SignedIn {
    /// The account.
    pub user: User,
    /// For the cookie.
    pub token: SessionToken,
    /// Whether this is the first account of the instance.
    pub first: bool,
}

impl App {
    /// Creates an account and signs it in. The first one can be created even where signing up is switched off:
    /// somebody has to be the first. Its address is sent a link to prove it, unless an invitation that came by mail
    /// proves it already.
    pub async fn sign_up(&self, wanted: SignUp, client: ClientKey) -> Result<SignedIn> {
        self.count_client("mail", client).await?;
        // a password costs time to hash, so whoever is not let in is refused before
        self.check_sign_up(&wanted).await?;
        let platform = self.platform().await?;
        let hash = self.0.passwords.hash(wanted.password).await?;
        let (now, open) = (self.0.clock.now(), self.signs_up());
        let checked = hash.clone();
        let mut new = NewUser {
            email: wanted.email,
            name: wanted.name,
            password_hash: Some(hash),
            email_verified: false,
        };
        let link = match &platform {
            Some(platform) => Some(self.link(platform, Purpose::Verify, &new.email)?),
            None => None,
        };
        let (app, token) = (self.clone(), wanted.invitation);
        let created = self.write(move |tx| {
            Box::pin(async move {
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
            })
        });
        let (user, first) = created.await?;
        if let Some(platform) = &platform {
            self.wake_platform(platform);
        }
        let user = user.ok_or_else(|| Error::Internal("an account vanished while it was made".into()))?;
        tracing::info!(user = %user.id, first, "an account was created");
        self.open_session(user, Some(checked), None, Some(client), first).await
    }

    fn signs_up(&self) -> bool {
        !self.settings().accounts.disable_signups
    }

    /// Refuses the people that [`sign_up`](Self::sign_up) would refuse, by reading the database only.
    async fn check_sign_up(&self, wanted: &SignUp) -> Result<()> {
        let app = self.clone();
        let (email, token) = (wanted.email.clone(), wanted.invitation.clone());
        let read = self.0.db.read(move |rx| {
            Box::pin(async move {
                let invited = match &token {
                    Some(token) => app.invited(rx, token, &email).await?.is_some(),
                    None => false,
                };
                let has_account = user::by_email(rx, &email).await?.is_some();
                Ok((invited, user::is_empty(rx).await?, has_account))
            })
        });
        let (invited, is_first, has_account) = read.await?;
        if wanted.invitation.is_some() && !invited {
            return Err(Error::not_found(Resource::Invitation, ""));
        }
        if !self.signs_up() && !invited && !is_first {
            return Err(closed());
        }
        if has_account { Err(taken()) } else { Ok(()) }
    }

    /// Signs an account in. What was wrong, the address or the password, neither the answer tells nor its time.
    pub async fn log_in(
        &self,
        email: &EmailAddress,
        password: String,
        code: Option<String>,
        client: ClientKey,
    ) -> Result<SignedIn> {
        let wanted = email.clone();
        let found = self
            .0
            .db
            .read(move |rx| Box::pin(async move { user::credentials(rx, &wanted, client.as_bytes()).await }))
            .await?;
        let known_client = found.as_ref().is_some_and(|found| found.known_client);
        let attempt = self.attempt(email.as_str(), client, known_client).await?;
        let hash =
            found.as_ref().and_then(|found| found.user.has_password.then(|| found.password_hash.clone())?);
        let right = self.0.passwords.matches(password, hash.clone()).await?;
        let Some(found) = found.filter(|_| right) else { return Err(Error::InvalidCredentials) };
        let opened = self.open_session(found.user, hash, code, Some(client), false).await;
        match &opened {
            Ok(_) => self.forgive(attempt).await?,
            // nothing was guessed wrong, but wrong codes that were counted before still count
            Err(Error::CodeRequired) => self.take_back(attempt).await?,
            Err(_) => {}
        }
        opened
    }

    /// Counts an attempt against the address and the client. An account's own clients have a count of their own, so
    /// that nobody can lock its owner out by guessing.
    pub(crate) async fn attempt(&self, address: &str, client: ClientKey, known: bool) -> Result<Attempt> {
        let settings = &self.settings().accounts;
        let own: &[u8] = if known { client.as_bytes() } else { b"" };
        let subject = Counted { key: subject(address, own), limit: settings.attempts_per_address };
        let mut counted = client.counted("from", settings.attempts_per_client);
        counted.push(subject);
        let attempt = Attempt { subject: subject.key, counted };
        self.count(attempt.counted.clone()).await?;
        Ok(attempt)
    }

    /// Counts something that a client does and that costs others, such as mails to strangers.
    pub(crate) async fn count_client(&self, what: &str, client: ClientKey) -> Result<()> {
        let limit = self.settings().accounts.attempts_per_client;
        self.count(client.counted(what, limit)).await
    }

    /// The same for what may be taken back when it turns out to be fine.
    pub(crate) async fn count_attempt(&self, what: &str, client: ClientKey) -> Result<Attempt> {
        let limit = self.settings().accounts.attempts_per_client;
        let attempt =
            Attempt { subject: digest(what, &[client.as_bytes()]), counted: client.counted(what, limit) };
        self.count(attempt.counted.clone()).await?;
        Ok(attempt)
    }

    /// Notes that something is used which can be used once. Whether this is the first time; it is remembered for as
    /// long as a sign-in with a provider takes.
    pub(crate) async fn is_first_use(&self, what: &str, of: &[u8]) -> Result<bool> {
        let once = [Counted { key: digest(what, &[of]), limit: 1 }];
        let now = self.0.clock.now();
        let since = now.minus(self.remembered_for());
        let used_before = self
            .0
            .db
            .write(move |tx| Box::pin(async move { attempts::attempt(tx, &once, since, now).await }))
            .await?;
        Ok(used_before.is_none())
    }

    /// How long it is remembered what was counted.
    fn remembered_for(&self) -> std::time::Duration {
        // a sign-in that expired at this very moment is refused by its own clock
        self.settings().accounts.attempts_window.max(self.settings().oauth.state_ttl * 2)
    }

    async fn count(&self, rows: Vec<Counted>) -> Result<()> {
        let (now, window) = (self.0.clock.now(), self.settings().accounts.attempts_window);
        let refused = self
            .0
            .db
            .write(move |tx| {
                Box::pin(async move { attempts::attempt(tx, &rows, now.minus(window), now).await })
            })
            .await?;
        match refused {
            None => Ok(()),
            Some(began) => {
                let wait = began.plus(window).since(now).as_secs().max(1);
                Err(Error::TooManyAttempts { retry_after: wait as i64 })
            }
        }
    }

    pub(crate) async fn forgive(&self, attempt: Attempt) -> Result<()> {
        self.0
            .db
            .write(move |tx| {
                Box::pin(async move { attempts::succeeded(tx, &attempt.subject, &attempt.counted).await })
            })
            .await?;
        Ok(())
    }

    /// Takes an attempt back that was neither right nor wrong.
    pub(crate) async fn take_back(&self, attempt: Attempt) -> Result<()> {
        self.0
            .db
            .write(move |tx| Box::pin(async move { attempts::succeeded(tx, &[], &attempt.counted).await }))
            .await?;
        Ok(())
    }

    /// Starts a session for a user whose password was checked against `checked`. An account with a
    /// second factor is opened with a code alone.
    pub(crate) async fn open_session(
        &self,
        user: User,
        checked: Option<String>,
        code: Option<String>,
        client: Option<ClientKey>,
        first: bool,
    ) -> Result<SignedIn> {
        let now = self.0.clock.now();
        let (id, of, expires_at) = (SessionId::new(now, rand::random()), user.id, now.plus(LASTS));
        let verified = user.email_verified.then(|| user.email.clone());
        let secret = self.0.secret.clone();
        let started = self.write(move |tx| {
            Box::pin(async move {
                totp::check(tx, &secret, of, code.as_deref(), now).await?;
                // the code is used up all the same
                if !session::start(tx, id, of, checked.as_deref(), now, expires_at).await? {
                    return Ok(false);
                }
                if let Some(client) = client {
                    attempts::remember_client(tx, of, client.as_bytes(), now).await?;
                }
                if let Some(email) = verified {
                    crate::project::member::accept_all(tx, of, &email, now).await?;
                }
                Ok(true)
            })
        });
        if !started.await? {
            // the password was changed meanwhile
            return Err(Error::InvalidCredentials);
        }
        let token = self.session_token(id, user.id, now)?;
        Ok(SignedIn { user, token, first })
    }

    fn session_token(&self, id: SessionId, user: UserId, now: Timestamp) -> Result<SessionToken> {
        let claims = json!({
            "sub": user, "sid": id, "iat": now.0 / 1000, "exp": now.plus(LASTS).0 / 1000,
        });
        let signed = format!("{}.{}", BASE64.encode(HEADER), BASE64.encode(claims.to_string()));
        let signature = self.0.secret.sign(PURPOSE, signed.as_bytes())?;
        Ok(SessionToken(format!("{signed}.{}", BASE64.encode(signature))))
    }

    /// The session that a token names, if it was made here and has not expired. Whether the session still goes on,
    /// [`Keyring::session`](crate::project::key::Keyring::session) tells.
    pub fn session_from_token(&self, token: &str) -> Option<SessionId> {
        let (signed, signature) = token.rsplit_once('.')?;
        let (header, claims) = signed.split_once('.')?;
        let signature = BASE64.decode(signature).ok()?;
        if BASE64.decode(header).ok()? != HEADER.as_bytes()
            || !self.0.secret.is_signature(PURPOSE, signed.as_bytes(), &signature)
        {
            return None;
        }
        let claims: Value = serde_json::from_slice(&BASE64.decode(claims).ok()?).ok()?;
        let live = claims["exp"].as_i64()? > self.0.clock.now().0 / 1000;
        if live { claims["sid"].as_str()?.parse().ok() } else { None }
    }

    /// The sessions of a user, the newest first.
    pub async fn sessions(&self, user: &User) -> Result<Vec<session::Listed>> {
        let (id, now) = (user.id, self.0.clock.now());
        let read = self.0.db.read(move |rx| Box::pin(async move { session::of_user(rx, id, now).await }));
        Ok(read.await?)
    }

    /// Ends one of a user's sessions, on every node at once.
    pub async fn end_session(&self, user: &User, id: SessionId) -> Result<()> {
        let of = user.id;
        let ended = self.0.db.write(move |tx| Box::pin(async move { session::end_of(tx, of, id).await }));
        if !ended.await? {
            return Err(Error::not_found(Resource::Session, id));
        }
        tracing::info!(user = %of, "a session was ended by its owner");
        Ok(())
    }

    /// Ends a session.
    pub async fn log_out(&self, id: SessionId) -> Result<()> {
        self.0.db.write(move |tx| Box::pin(async move { session::end(tx, id).await })).await?;
        Ok(())
    }

    /// Replaces a user's password and ends every other session of the user. The clients it was used from are forgotten,
    /// except `client`: a client that keeps guessing must not keep the owner out.
    pub async fn change_password(
        &self,
        user: &User,
        current: String,
        new: String,
        session: SessionId,
        client: ClientKey,
    ) -> Result<()> {
        let hash = self.check_password(user, current, client).await?;
        if !self.replace_password(user.id, hash, new, Some((session, client))).await? {
            return Err(Error::InvalidCredentials);
        }
        Ok(())
    }

    /// Checks the password of an account, as signing in does, where nobody is to be signed in.
    pub(crate) async fn check_credentials(
        &self,
        email: &EmailAddress,
        password: String,
        client: ClientKey,
    ) -> Result<()> {
        let wanted = email.clone();
        let read = self
            .0
            .db
            .read(move |rx| Box::pin(async move { user::credentials(rx, &wanted, client.as_bytes()).await }));
        let found = read.await?;
        let known = found.as_ref().is_some_and(|found| found.known_client);
        let attempt = self.attempt(email.as_str(), client, known).await?;
        let hash = found.and_then(|found| found.password_hash);
        if !self.0.passwords.matches(password, hash).await? {
            return Err(Error::InvalidCredentials);
        }
        self.forgive(attempt).await
    }

    /// Whether a session began so lately that it is enough for what cannot be undone.
    pub fn is_fresh(&self, began: Timestamp) -> bool {
        self.0.clock.now().since(began) < FRESH
    }

    /// Checks the password of a user who is signed in; its hash.
    pub(crate) async fn check_password(
        &self,
        user: &User,
        password: String,
        client: ClientKey,
    ) -> Result<Option<String>> {
        // whoever holds a stolen session must not find the password out with it
        let attempt = self.attempt(&format!("password of {}", user.id), client, false).await?;
        let email = user.email.clone();
        let found = self
            .0
            .db
            .read(move |rx| Box::pin(async move { user::credentials(rx, &email, b"").await }))
            .await?;
        let hash = found.and_then(|found| found.password_hash);
        if !self.0.passwords.matches(password, hash.clone()).await? {
            return Err(Error::InvalidCredentials);
        }
        self.forgive(attempt).await?;
        Ok(hash)
    }

    /// Gives an account a password, whatever it had, and ends all of its sessions.
    pub async fn set_password(&self, email: &EmailAddress, new: String) -> Result<()> {
        let wanted = email.clone();
        let found = self
            .0
            .db
            .read(move |rx| Box::pin(async move { user::credentials(rx, &wanted, b"").await }))
            .await?
            .ok_or_else(|| Error::not_found(Resource::User, email))?;
        if self.replace_password(found.user.id, found.password_hash, new, None).await? {
            Ok(())
        } else {
            Err(Error::Conflict("The password was changed at the same moment. Try again.".into()))
        }
    }

    async fn replace_password(
        &self,
        user: UserId,
        was: Option<String>,
        new: String,
        keep: Option<(SessionId, ClientKey)>,
    ) -> Result<bool> {
        let hash = self.0.passwords.hash(new).await?;
        let now = self.0.clock.now();
        let changed = self
            .write(move |tx| {
                Box::pin(async move {
                    if !user::set_password(tx, user, was.as_deref(), &hash, now).await? {
                        return Ok(false);
                    }
                    session::end_all(tx, user, keep.map(|(session, _)| session)).await?;
                    one_time_link::void(tx, user, Purpose::Reset, now).await?;
                    attempts::forget_clients(tx, user).await?;
                    if let Some((_, client)) = keep {
                        attempts::remember_client(tx, user, client.as_bytes(), now).await?;
                    }
                    Ok(true)
                })
            })
            .await?;
        if changed {
            tracing::info!(user = %user, "a password was changed");
        }
        Ok(changed)
    }

    /// Changes how a user wants to be called.
    pub async fn rename_user(&self, user: &User, name: Option<String>) -> Result<User> {
        let (id, now) = (user.id, self.0.clock.now());
        let renamed = self
            .0
            .db
            .write(move |tx| {
                Box::pin(async move {
                    user::rename(tx, id, name.as_deref(), now).await?;
                    user::get(tx, id).await
                })
            })
            .await?;
        renamed.ok_or_else(|| Error::not_found(Resource::User, id))
    }

    /// Removes an account that is a member of no project.
    pub async fn delete_user(&self, user: &User) -> Result<()> {
        let id = user.id;
        let removed = self.0.db.write(move |tx| Box::pin(async move { user::delete(tx, id).await })).await?;
        if removed {
            tracing::info!(user = %id, "an account was deleted");
            return Ok(());
        }
        Err(Error::Conflict("You are a member of a project. Leave or delete your projects first.".into()))
    }

    /// Whether nobody has an account yet.
    pub async fn has_no_users(&self) -> Result<bool> {
        Ok(self.0.db.read(|rx| Box::pin(async move { user::is_empty(rx).await })).await?)
    }

    /// Removes what has ended by itself.
    pub(crate) async fn sweep_sessions(&self) -> Result<()> {
        let now = self.0.clock.now();
        let window = now.minus(self.remembered_for());
        let unseen = now.minus(CLIENT_KNOWN);
        let db = &self.0.db;
        while db.write_in_background(move |tx| Box::pin(async move { session::sweep(tx, now).await })).await?
            > 0
        {}
        while db
            .write_in_background(move |tx| Box::pin(async move { attempts::sweep(tx, window, unseen).await }))
            .await?
            > 0
        {}
        while db.write_in_background(move |tx| Box::pin(async move { member::sweep(tx, now).await })).await?
            > 0
        {}
        Ok(())
    }
}

/// Gives an account to the person who is known to receive mail at its address. The account gets another password, or
/// none if the person comes from a provider. Sessions, links and known clients of the person who used it until now end.
/// A second factor stays if the address was proven before; otherwise a stranger may have set it up.
pub(crate) async fn hand_over(
    tx: &mut Tx<'_>,
    user: &User,
    hash: Option<&str>,
    now: Timestamp,
) -> mailwright_store::Result<()> {
    user::put_password(tx, user.id, hash, now).await?;
    session::end_all(tx, user.id, None).await?;
    for purpose in [Purpose::Verify, Purpose::Reset] {
        one_time_link::void(tx, user.id, purpose, now).await?;
    }
    attempts::forget_clients(tx, user.id).await?;
    if !user.email_verified {
        mailwright_store::account::totp::remove(tx, user.id).await?;
        user::verify(tx, user.id, &user.email, now).await?;
    }
    Ok(())
}

/// What an attempt was counted against.
#[derive(Debug)]
pub(crate) struct Attempt {
    subject: [u8; 32],
    counted: Vec<Counted>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_are_counted_by_network() {
        let key = |text: &str| ClientKey::of(text.parse().unwrap());
        assert_eq!(key("192.0.2.1"), key("::ffff:192.0.2.1"));
        assert_ne!(key("192.0.2.1"), key("192.0.2.2"));
        assert_eq!(key("2001:db8:1:2::1"), key("2001:db8:1:2:ffff::2"));
        assert_ne!(key("2001:db8:1:2::1"), key("2001:db8:1:3::1"));
        let limits = |text: &str| -> Vec<_> {
            key(text).counted("from", 100).iter().map(|counted| (counted.key, counted.limit)).collect()
        };
        assert_eq!(limits("192.0.2.1").len(), 1);
        let (one, neighbour, other) =
            (limits("2001:db8:1:2::1"), limits("2001:db8:1:3::1"), limits("2001:db8:2:2::1"));
        assert_eq!((one[0].1, one[1].1), (100, 1600));
        assert_eq!(one[1], neighbour[1], "networks of one customer count together");
        assert_ne!(one[1], other[1]);
    }

    #[test]
    fn a_token_is_not_printed() {
        assert_eq!(format!("{:?}", SessionToken("abc".into())), "***");
    }
}
