//! Signing in with an account at a provider: the authorization code flow of OAuth 2.0 (RFC 6749 section 4.1) with PKCE
//! (RFC 7636).
//!
//! State and PKCE verifier are in an encrypted cookie of the browser that left for the provider. So nobody can be made
//! to come back from a sign-in that somebody else began. An account at a provider is known by its number, not by its
//! address. Only addresses that the provider verified count.
//!
//! A provider does not open an account that signs in with a password, as long as its address is proven. An account
//! whose address nobody proved passes to the person who the provider says has the address.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use hyper::{Method, Request};
use mailwright_core::address::EmailAddress;
use mailwright_core::time::Timestamp;
use mailwright_store::Tx;
use mailwright_store::account::identity;
use mailwright_store::account::user::{self, NewUser, User};
use mailwright_store::project::member;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::App;
use crate::account::session::{ClientKey, SignedIn, hand_over};
use crate::error::{Error, Result};
use crate::settings::ProviderSettings;

/// What the cookie is encrypted for.
const PURPOSE: &str = "oauth sign_in_state";
/// Most bytes of what a provider sends back with the browser.
const LONGEST: usize = 4096;

/// Where people can have an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    /// GitHub.
    GitHub,
    /// Google.
    Google,
}

impl Provider {
    /// The name in addresses and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::GitHub => "github",
            Self::Google => "google",
        }
    }

    /// The name for people.
    pub fn label(self) -> &'static str {
        match self {
            Self::GitHub => "GitHub",
            Self::Google => "Google",
        }
    }

    fn scope(self) -> &'static str {
        match self {
            Self::GitHub => "read:user user:email",
            Self::Google => "openid email",
        }
    }

    fn authorize_path(self) -> &'static str {
        match self {
            Self::GitHub => "/login/oauth/authorize",
            Self::Google => "/o/oauth2/v2/auth",
        }
    }

    fn token_path(self) -> &'static str {
        match self {
            Self::GitHub => "/login/oauth/access_token",
            Self::Google => "/token",
        }
    }
}

/// The way to a provider.
#[derive(Debug)]
pub struct Departure {
    /// Where the browser goes.
    pub url: String,
    /// What it keeps in a cookie until it is back.
    pub sign_in_state: String,
}

/// A browser that is back from a provider.
#[derive(Debug, Clone)]
pub struct Callback {
    /// The cookie it kept.
    pub sign_in_state: Option<String>,
    /// `state` of the query.
    pub state: Option<String>,
    /// `code` of the query.
    pub code: Option<String>,
}

/// Who somebody is at a provider.
#[derive(Clone)]
struct Person {
    subject: String,
    email: EmailAddress,
}

impl App {
    /// Whether people can sign in with a provider.
    pub fn offers(&self, provider: Provider) -> bool {
        self.provider(provider).is_some()
    }

    fn provider(&self, provider: Provider) -> Option<&ProviderSettings> {
        let settings = &self.settings().oauth;
        match provider {
            Provider::GitHub => settings.github.as_ref(),
            Provider::Google => settings.google.as_ref(),
        }
    }

    fn callback_url(&self, provider: Provider) -> String {
        format!("{}/oauth/{}/callback", self.settings().base_url, provider.as_str())
    }

    /// Sends a browser to a provider; `None` when it is not configured.
    pub fn authorize(&self, provider: Provider) -> Result<Option<Departure>> {
        let Some(settings) = self.provider(provider) else { return Ok(None) };
        let (state, verifier) = (random(), random());
        let challenge = BASE64.encode(Sha256::digest(verifier.as_bytes()));
        let until = self.0.clock.now().plus(self.settings().oauth.state_ttl);
        let kept =
            json!({ "provider": provider.as_str(), "state": state, "verifier": verifier, "until": until.0 });
        let sign_in_state = BASE64.encode(self.0.secret.seal(PURPOSE, kept.to_string().as_bytes())?);
        let query = form(&[
            ("response_type", "code"),
            ("client_id", &settings.client_id),
            ("redirect_uri", &self.callback_url(provider)),
            ("scope", provider.scope()),
            ("state", &state),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
        ]);
        let url = format!("{}{}?{query}", settings.authorize_url, provider.authorize_path());
        Ok(Some(Departure { url, sign_in_state }))
    }

    /// Signs in who comes back from a provider. The text of a [`Error::NotAllowed`] is for that person.
    pub async fn callback(
        &self,
        provider: Provider,
        arrival: Callback,
        client: ClientKey,
    ) -> Result<SignedIn> {
        let settings = self.provider(provider).ok_or_else(|| refused("This provider is not configured."))?;
        let stranded =
            || refused("This sign-in was not begun in this browser, was used, or took too long. Try again.");
        let verifier = self.verifier(provider, &arrival).ok_or_else(stranded)?;
        let code = arrival
            .code
            .filter(|code| code.len() <= LONGEST)
            .ok_or_else(|| Error::NotAllowed(format!("{} did not sign you in.", provider.label())))?;
        // whoever is let on from here makes us ask the provider
        let attempt = self.count_attempt("oauth", client).await?;
        if !self.is_first_use("sign_in_state", verifier.as_bytes()).await? {
            return Err(stranded());
        }
        let token = self.exchange(provider, settings, &code, &verifier).await?;
        let person = match provider {
            Provider::GitHub => self.github_person(settings, &token).await?,
            Provider::Google => self.google_person(settings, &token).await?,
        };
        let signed_in = self.sign_in_person(provider, person, client).await?;
        self.take_back(attempt).await?;
        Ok(signed_in)
    }

    /// The PKCE verifier of the sign-in that a browser comes back from, if it is the browser that left.
    fn verifier(&self, provider: Provider, arrival: &Callback) -> Option<String> {
        let sign_in_state =
            arrival.sign_in_state.as_deref().filter(|sign_in_state| sign_in_state.len() <= LONGEST)?;
        let kept = self.0.secret.open(PURPOSE, &BASE64.decode(sign_in_state).ok()?).ok()?;
        let kept: Value = serde_json::from_slice(&kept).ok()?;
        let same =
            kept["provider"] == provider.as_str() && kept["state"].as_str()? == arrival.state.as_deref()?;
        let in_time = self.0.clock.now() < Timestamp(kept["until"].as_i64()?);
        if same && in_time { kept["verifier"].as_str().map(str::to_owned) } else { None }
    }

    /// The access token for a code.
    async fn exchange(
        &self,
        provider: Provider,
        settings: &ProviderSettings,
        code: &str,
        verifier: &str,
    ) -> Result<String> {
        let body = form(&[
            ("grant_type", "authorization_code"),
            ("client_id", &settings.client_id),
            ("client_secret", settings.client_secret.reveal()),
            ("code", code),
            ("redirect_uri", &self.callback_url(provider)),
            ("code_verifier", verifier),
        ]);
        let request = Request::builder()
            .method(Method::POST)
            .uri(format!("{}{}", settings.token_url, provider.token_path()))
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header(ACCEPT, "application/json");
        let answer = self.ask(provider, request, body).await?;
        match answer["access_token"].as_str() {
            Some(token) if token.len() <= LONGEST => Ok(token.to_owned()),
            _ => Err(Error::NotAllowed(format!(
                "{} did not confirm the sign-in. Try again.",
                provider.label()
            ))),
        }
    }

    async fn github_person(&self, settings: &ProviderSettings, token: &str) -> Result<Person> {
        let user = self.resource(Provider::GitHub, settings, "/user", token).await?;
        let emails = self.resource(Provider::GitHub, settings, "/user/emails", token).await?;
        let subject = user["id"].as_i64().map(|id| id.to_string());
        let primary = emails
            .as_array()
            .into_iter()
            .flatten()
            .find(|email| email["primary"] == true && email["verified"] == true)
            .and_then(|email| email["email"].as_str());
        person(Provider::GitHub, subject, primary)
    }

    async fn google_person(&self, settings: &ProviderSettings, token: &str) -> Result<Person> {
        let user = self.resource(Provider::Google, settings, "/v1/userinfo", token).await?;
        let verified = user["email_verified"] == true;
        let email = user["email"].as_str().filter(|_| verified);
        person(Provider::Google, user["sub"].as_str().map(str::to_owned), email)
    }

    async fn resource(
        &self,
        provider: Provider,
        settings: &ProviderSettings,
        path: &str,
        token: &str,
    ) -> Result<Value> {
        let request = Request::builder()
            .method(Method::GET)
            .uri(format!("{}{path}", settings.api_url))
            .header(AUTHORIZATION, format!("Bearer {token}"))
            .header(ACCEPT, "application/json");
        self.ask(provider, request, String::new()).await
    }

    /// Asks a provider. What it answers when it refuses can hold what it was asked with, and is not logged.
    async fn ask(
        &self,
        provider: Provider,
        request: hyper::http::request::Builder,
        body: String,
    ) -> Result<Value> {
        let failed = |why: String| {
            tracing::warn!(provider = provider.as_str(), why, "a sign-in with a provider failed");
            Error::NotAllowed(format!(
                "{} could not be asked who you are. Try again later.",
                provider.label()
            ))
        };
        let request = request
            .body(Full::new(Bytes::from(body)))
            .map_err(|_| failed("the request cannot be made".into()))?;
        let answer = self.0.http.send(request).await.map_err(failed)?;
        if !answer.status.is_success() {
            return Err(failed(format!("it answered {}", answer.status.as_u16())));
        }
        serde_json::from_slice(&answer.body).map_err(|_| failed("it did not answer with JSON".into()))
    }

    /// Signs somebody in, with a new account if need be.
    async fn sign_in_person(
        &self,
        provider: Provider,
        person: Person,
        client: ClientKey,
    ) -> Result<SignedIn> {
        let (now, open) = (self.0.clock.now(), !self.settings().accounts.disable_signups);
        let found =
            self.write(move |tx| Box::pin(async move { account(tx, provider, &person, open, now).await }));
        let (found, first) = found.await?;
        let (user, hash) = (found.user, found.password_hash);
        match self.open_session(user, hash, None, Some(client), first).await {
            Err(Error::CodeRequired) => {
                Err(refused("This account has a second factor. Sign in with your password and a code."))
            }
            other => other,
        }
    }
}

/// The account of a person at a provider: the one known to be theirs, one that somebody made with their address, or a
/// new one.
async fn account(
    tx: &mut Tx<'_>,
    provider: Provider,
    person: &Person,
    open: bool,
    now: Timestamp,
) -> Result<(user::Credentials, bool)> {
    if let Some(id) = identity::user(tx, provider.as_str(), &person.subject).await? {
        let user = user::get(tx, id).await?.ok_or_else(changed_meanwhile)?;
        return Ok((credentials(tx, &user.email).await?, false));
    }
    let first = user::none_yet(tx).await?;
    if let Some(known) = user::by_email(tx, &person.email).await? {
        let unproven = |user: &User| !user.email_verified && user.email == person.email;
        let Some(user) = user::lock(tx, known.id).await?.filter(unproven) else {
            return Err(refused(
                "There is an account with this address that signs in another way. Use that one.",
            ));
        };
        // else whoever signs up with somebody's address keeps its owner out, or waits inside for what the owner brings
        hand_over(tx, &user, None, now).await?;
        identity::create(tx, provider.as_str(), &person.subject, user.id, now).await?;
        tracing::info!(user = %user.id, provider = provider.as_str(), "an account was claimed by the owner of its address");
        return Ok((credentials(tx, &person.email).await?, false));
    }
    if !first && !open && !member::is_invited(tx, &person.email, now).await? {
        return Err(refused("Signing up is switched off on this instance. Ask for an invitation."));
    }
    let new = NewUser { email: person.email.clone(), name: None, password_hash: None, email_verified: true };
    let id = user::create(tx, &new, now).await?.ok_or_else(changed_meanwhile)?;
    identity::create(tx, provider.as_str(), &person.subject, id, now).await?;
    tracing::info!(user = %id, provider = provider.as_str(), first, "an account was created");
    Ok((credentials(tx, &person.email).await?, first))
}

async fn credentials(tx: &mut Tx<'_>, email: &EmailAddress) -> Result<user::Credentials> {
    user::credentials(tx, email, b"").await?.ok_or_else(changed_meanwhile)
}

/// What to say when the account vanished, or came to be, since it was looked for.
fn changed_meanwhile() -> Error {
    refused("Your account was changed at the same moment. Sign in again.")
}

fn person(provider: Provider, subject: Option<String>, email: Option<&str>) -> Result<Person> {
    let Some(subject) = subject.filter(|subject| (1..=255).contains(&subject.len())) else {
        return Err(Error::NotAllowed(format!("{} did not say who you are.", provider.label())));
    };
    let email = email.and_then(EmailAddress::parse).ok_or_else(|| {
        Error::NotAllowed(format!("Your account at {} has no verified email address.", provider.label()))
    })?;
    Ok(Person { subject, email })
}

fn refused(why: &str) -> Error {
    Error::NotAllowed(why.to_owned())
}

fn random() -> String {
    BASE64.encode(rand::random::<[u8; 32]>())
}

/// `application/x-www-form-urlencoded`.
fn form(fields: &[(&str, &str)]) -> String {
    let pairs = fields.iter().map(|(name, value)| format!("{name}={}", escape(value)));
    pairs.collect::<Vec<_>>().join("&")
}

/// A text as part of a query or form.
pub fn escape(text: &str) -> String {
    let keep = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes()
        .map(|byte| if keep(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_escaped() {
        assert_eq!(form(&[("a", "x y&z"), ("b", "ü~")]), "a=x%20y%26z&b=%C3%BC~");
    }

    #[test]
    fn nobody_without_a_verified_address_is_let_in() {
        assert!(person(Provider::GitHub, Some("1".into()), Some("ada@example.com")).is_ok());
        assert!(person(Provider::GitHub, Some("1".into()), None).is_err());
        assert!(person(Provider::GitHub, Some("1".into()), Some("no address")).is_err());
        assert!(person(Provider::GitHub, None, Some("ada@example.com")).is_err());
        assert!(person(Provider::GitHub, Some(String::new()), Some("ada@example.com")).is_err());
    }
}
