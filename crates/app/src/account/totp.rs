//! The second factor: codes that change with the time (RFC 6238), and recovery codes for a lost device.
//!
//! A seed is stored encrypted. A code is checked in the transaction that starts the session. The time step of the last
//! code is kept, and neither it nor an earlier one is accepted again, so a code counts once on all nodes. A wrong code
//! counts like a wrong password, and asking for a code resets no count. Recovery codes are stored as keyed hashes, so a
//! stolen database cannot be searched for them.

use futures_util::future::BoxFuture;
use mailwright_core::ids::{SessionId, UserId};
use mailwright_core::time::Timestamp;
use mailwright_store::Tx;
use mailwright_store::account::session;
use mailwright_store::account::totp::{self as store, Factor};
use mailwright_store::account::user::{self, User};
use ring::hmac;

use crate::App;
use crate::account::session::ClientKey;
use crate::error::{Error, Resource, Result};
use crate::secret::InstanceSecret;

/// Bytes of a seed: as many as SHA-1 makes (RFC 4226 section 4).
const SEED: usize = 20;
/// Seconds that a code is shown.
const STEP: i64 = 30;
/// How many steps a device's clock may be off.
const DRIFT: i64 = 1;
/// Digits of a code.
const DIGITS: usize = 6;
/// Recovery codes of an account.
const RECOVERY_CODES: usize = 10;
/// Random bytes of a recovery code: 16 characters in Base32.
const RECOVERY_BYTES: usize = 10;
/// What keyed hashes of recovery codes are for.
const RECOVERY: &str = "recovery code";

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
            .0
            .db
            .read(move |rx| {
                Box::pin(
                    async move { Ok((store::get(rx, id).await?, store::recovery_codes_left(rx, id).await?)) },
                )
            })
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
                "You sign in at another service, which looks after the second factor.".into(),
            ));
        }
        self.check_password(user, password, client).await?;
        let seed: [u8; SEED] = rand::random();
        let (id, now, sealed) = (user.id, self.0.clock.now(), seal(&self.0.secret, user.id, &seed)?);
        let begun = self
            .0
            .db
            .write(move |tx| Box::pin(async move { store::begin(tx, id, &sealed, now).await }))
            .await?;
        if !begun {
            return Err(Error::Conflict(
                "You have a second factor. Remove it before you set up another one.".into(),
            ));
        }
        let secret = base32(&seed);
        let uri = format!(
            "otpauth://totp/Mailwright:{}?secret={secret}&issuer=Mailwright&algorithm=SHA1&digits={DIGITS}&period={STEP}",
            user.email.as_str().replace('+', "%2B").replace('\'', "%27")
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
        let factor = self.0.db.read(move |rx| Box::pin(async move { store::get(rx, id).await })).await?;
        let Some(Factor { seed: sealed, confirmed: false }) = factor else {
            return Err(Error::Conflict("There is no second factor to confirm.".into()));
        };
        let seed = open(&self.0.secret, id, &sealed)?;
        let Some(step) = matching_step(&seed, code, now) else { return Err(Error::WrongCode) };
        let (codes, hashes) = self.new_recovery_codes(id)?;
        let confirmed = self.write(move |tx| {
            Box::pin(async move {
                if !store::confirm(tx, id, &sealed, step, now).await? {
                    return Err(Error::Conflict(
                        "The second factor was changed at the same moment. Try again.".into(),
                    ));
                }
                store::put_recovery_codes(tx, id, &hashes).await?;
                Ok(session::end_all(tx, id, Some(session)).await?)
            })
        });
        confirmed.await?;
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
        self.with_second_factor(user, password, code, client, move |tx| {
            Box::pin(async move { store::put_recovery_codes(tx, id, &hashes).await })
        })
        .await?;
        tracing::info!(user = %id, "recovery codes were replaced");
        Ok(codes)
    }

    /// Recovery codes, and what is stored of them.
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
        self.with_second_factor(user, password, code, client, move |tx| {
            Box::pin(async move {
                store::remove(tx, id).await?;
                session::end_all(tx, id, Some(session)).await
            })
        })
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
                "This cannot be undone, and you signed in a while ago. Your account has no password: sign in again, \
                 and then ask for it.",
            ));
        }
        let Some(password) = password else {
            return Err(Error::PasswordRequired(
                "This cannot be undone, and you signed in a while ago. It needs your password, or that you sign in again.",
            ));
        };
        self.check_password(user, password, client).await?;
        let attempt = match &code {
            Some(_) => Some(self.attempt(&subject(user), client, false).await?),
            None => None,
        };
        let (id, now, secret) = (user.id, self.0.clock.now(), self.0.secret.clone());
        self.write(move |tx| Box::pin(async move { check(tx, &secret, id, code.as_deref(), now).await }))
            .await?;
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
        let changed = self.write(move |tx| {
            Box::pin(async move {
                if !is_asked(tx, id).await? {
                    return Err(Error::Conflict("You have no second factor.".into()));
                }
                check(tx, &secret, id, Some(&code), now).await?;
                Ok(change(tx).await?)
            })
        });
        changed.await?;
        self.forgive(attempt).await
    }

    /// Switches the second factor of an account off, on the operator's word. False when it has none.
    pub async fn drop_second_factor(&self, email: &mailwright_core::address::EmailAddress) -> Result<bool> {
        let wanted = email.clone();
        let removed = self.write(move |tx| {
            Box::pin(async move {
                let found = user::by_email(tx, &wanted).await?;
                let user = found.ok_or_else(|| Error::not_found(Resource::User, &wanted))?;
                Ok(store::remove(tx, user.id).await?)
            })
        });
        removed.await
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
        let Ok(seed) = open(secret, user, &seed) else {
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

/// Whether a text is a code rather than a recovery code, which is longer. Programs show codes in groups.
fn is_code(text: &str) -> bool {
    text.chars().filter(|c| !c.is_whitespace()).count() == DIGITS
}

fn purpose(user: UserId) -> String {
    format!("totp {user}")
}

fn seal(secret: &InstanceSecret, user: UserId, seed: &[u8]) -> Result<Vec<u8>> {
    secret.seal(&purpose(user), seed)
}

pub(crate) fn open(secret: &InstanceSecret, user: UserId, sealed: &[u8]) -> Result<Vec<u8>> {
    secret.open(&purpose(user), sealed)
}

/// The time step whose code is given: the current one, or one that a clock which is a little off is in.
fn matching_step(seed: &[u8], given: &str, now: Timestamp) -> Option<i64> {
    let given: String = given.chars().filter(|c| !c.is_whitespace()).collect();
    let current = now.0 / 1000 / STEP;
    (current - DRIFT..=current + DRIFT).find(|step| {
        // in a time that does not depend on where they differ
        let right = hotp(seed, *step as u64, DIGITS);
        right.len() == given.len()
            && right.bytes().zip(given.bytes()).fold(0, |all, (a, b)| all | (a ^ b)) == 0
    })
}

/// The code of a counter (RFC 4226 section 5.3).
fn hotp(seed: &[u8], counter: u64, digits: usize) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, seed);
    let tag = hmac::sign(&key, &counter.to_be_bytes());
    let bytes = tag.as_ref();
    let at = usize::from(bytes[bytes.len() - 1] & 0xf);
    let number =
        bytes[at..at + 4].iter().fold(0_u32, |number, byte| number << 8 | u32::from(*byte)) & 0x7fff_ffff;
    format!("{:0digits$}", u64::from(number) % 10_u64.pow(digits as u32))
}

/// Base32 without padding (RFC 4648 section 6).
fn base32(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    let bit = |at: usize| bytes.get(at / 8).map_or(0, |byte| byte >> (7 - at % 8) & 1);
    let groups = (bytes.len() * 8).div_ceil(5);
    (0..groups)
        .map(|group| (0..5).fold(0, |value, n| value << 1 | bit(group * 5 + n)))
        .map(|value| char::from(ALPHABET[usize::from(value)]))
        .collect()
}

/// A new recovery code, in groups of four.
fn recovery_code() -> String {
    let text = base32(&rand::random::<[u8; RECOVERY_BYTES]>()).to_lowercase();
    [&text[..4], &text[4..8], &text[8..12], &text[12..]].join("-")
}

/// What is stored of a recovery code, however it is typed.
fn recovery_hash(secret: &InstanceSecret, user: UserId, code: &str) -> Result<[u8; 32]> {
    let typed: String = code.chars().filter(char::is_ascii_alphanumeric).collect();
    let signed = secret.sign(RECOVERY, format!("{user} {}", typed.to_ascii_lowercase()).as_bytes())?;
    signed.try_into().map_err(|_| Error::Internal("a keyed hash has another length".into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &[u8] = b"12345678901234567890";

    #[test]
    fn codes_are_those_of_rfc_6238() {
        for (seconds, code) in [
            (59_u64, "94287082"),
            (1_111_111_109, "07081804"),
            (1_111_111_111, "14050471"),
            (1_234_567_890, "89005924"),
            (2_000_000_000, "69279037"),
            (20_000_000_000, "65353130"),
        ] {
            assert_eq!(hotp(SECRET, seconds / 30, 8), code, "at {seconds}");
        }
    }

    #[test]
    fn codes_are_those_of_rfc_4226() {
        let codes = [
            "755224", "287082", "359152", "969429", "338314", "254676", "287922", "162583", "399871",
            "520489",
        ];
        for (counter, code) in codes.into_iter().enumerate() {
            assert_eq!(hotp(SECRET, counter as u64, DIGITS), code);
        }
    }

    #[test]
    fn a_clock_may_be_one_step_off() {
        let now = Timestamp(1_234_567_890_000);
        let current = 1_234_567_890 / STEP;
        for (off, found) in [(-2, None), (-1, Some(-1)), (0, Some(0)), (1, Some(1)), (2, None)] {
            let code = hotp(SECRET, (current + off) as u64, DIGITS);
            assert_eq!(matching_step(SECRET, &code, now).map(|step| step - current), found, "{off}");
        }
        let code = hotp(SECRET, current as u64, DIGITS);
        let spaced = format!(" {} {}", &code[..3], &code[3..]);
        assert_eq!(matching_step(SECRET, &spaced, now), Some(current));
        assert_eq!(matching_step(SECRET, &code[1..], now), None);
    }

    #[test]
    fn base32_is_that_of_rfc_4648() {
        for (bytes, text) in [
            ("", ""),
            ("f", "MY"),
            ("fo", "MZXQ"),
            ("foo", "MZXW6"),
            ("foob", "MZXW6YQ"),
            ("fooba", "MZXW6YTB"),
            ("foobar", "MZXW6YTBOI"),
        ] {
            assert_eq!(base32(bytes.as_bytes()), text);
        }
    }

    #[test]
    fn a_recovery_code_is_the_same_however_it_is_typed() {
        let secret = InstanceSecret::new(*b"0123456789abcdef");
        let user = UserId::new(Timestamp(0), rand::random());
        let code = recovery_code();
        assert_eq!(code.len(), 19, "{code}");
        assert!(!is_code(&code));
        let hash = |text: &str| recovery_hash(&secret, user, text).unwrap();
        assert_eq!(hash(&code), hash(&code.to_uppercase().replace('-', " ")));
        assert_ne!(hash(&code), hash(&recovery_code()));
        let other = recovery_hash(&secret, UserId::new(Timestamp(0), rand::random()), &code).unwrap();
        assert_ne!(hash(&code), other);
    }
}
