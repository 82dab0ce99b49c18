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
use form_urlencoded::Serializer;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use mailwright_core::address::EmailAddress;
use mailwright_core::names;
use mailwright_core::time::Timestamp;
use mailwright_store::Tx;
use mailwright_store::account::identity;
use mailwright_store::account::user::{self, NewUser, User};
use mailwright_store::body;
use mailwright_store::project::member;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::App;
use crate::account::client_key::ClientKey;
use crate::account::session::{SignedIn, hand_over};
use crate::error::{Error, Result, SignInRefusal};
use crate::http_client::{ConfiguredUrl, Request};
use crate::settings::{BaseUrl, ProviderSettings};

/// Purpose under which the cookie is encrypted.
const PURPOSE: &str = "oauth sign_in_state";
/// Most bytes of what a provider sends back with the browser.
const LONGEST: usize = 4096;

names! {
    /// The providers with which people can sign in.
    pub enum Provider {
        /// GitHub.
        GitHub = "github",
        /// Google.
        Google = "google",
    }
}

impl Provider {
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
pub struct Redirection {
    /// Address that the browser is sent to.
    pub url: String,
    /// Value of the cookie for the way back.
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

/// A person as a provider describes them.
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
        self.settings().base_url.link(&format!("/oauth/{}/callback", provider.as_str()))
    }

    /// Sends a browser to a provider; `None` when it is not configured.
    pub fn authorize(&self, provider: Provider) -> Result<Option<Redirection>> {
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
        let url = settings.authorize_url.link(&format!("{}?{query}", provider.authorize_path()));
        Ok(Some(Redirection { url, sign_in_state }))
    }

    /// Signs in who comes back from a provider. An [`Error::NotSignedIn`] is for that person.
    pub async fn callback(
        &self,
        provider: Provider,
        arrival: Callback,
        client: ClientKey,
    ) -> Result<SignedIn> {
        let settings = self.provider(provider).ok_or_else(|| refused(SignInRefusal::NotConfigured))?;
        let stranded = || refused(SignInRefusal::NotBegunHere);
        let verifier = self.verifier(provider, &arrival).ok_or_else(stranded)?;
        let code = arrival
            .code
            .filter(|code| code.len() <= LONGEST)
            .ok_or_else(|| refused(SignInRefusal::Denied))?;
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
        let url = address(provider, &settings.token_url, provider.token_path())?;
        let form = HeaderValue::from_static("application/x-www-form-urlencoded");
        let answer = self.ask(provider, Request::post(url, body).header(CONTENT_TYPE, form)).await?;
        match answer["access_token"].as_str() {
            Some(token) if token.len() <= LONGEST => Ok(token.to_owned()),
            _ => Err(refused(SignInRefusal::Unconfirmed)),
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
        person(subject, primary)
    }

    async fn google_person(&self, settings: &ProviderSettings, token: &str) -> Result<Person> {
        let user = self.resource(Provider::Google, settings, "/v1/userinfo", token).await?;
        let verified = user["email_verified"] == true;
        let email = user["email"].as_str().filter(|_| verified);
        person(user["sub"].as_str().map(str::to_owned), email)
    }

    async fn resource(
        &self,
        provider: Provider,
        settings: &ProviderSettings,
        path: &str,
        token: &str,
    ) -> Result<Value> {
        let request = Request::get(address(provider, &settings.api_url, path)?).may_repeat();
        let bearer = HeaderValue::try_from(format!("Bearer {token}"))
            .map_err(|_| failed(provider, "its token cannot be in a header"))?;
        self.ask(provider, request.header(AUTHORIZATION, bearer)).await
    }

    /// Sends a request to a provider. The text of a refusal is not logged, because it may repeat secrets of the
    /// request.
    async fn ask(&self, provider: Provider, request: Request<ConfiguredUrl>) -> Result<Value> {
        let request = request.header(ACCEPT, HeaderValue::from_static("application/json"));
        let answer =
            self.0.account.http.send(request).await.map_err(|error| failed(provider, &error.to_string()))?;
        if !answer.status.is_success() {
            return Err(failed(provider, &format!("it answered {}", answer.status.as_u16())));
        }
        serde_json::from_slice(&answer.body).map_err(|_| failed(provider, "it did not answer with JSON"))
    }

    /// Signs somebody in, with a new account if need be.
    async fn sign_in_person(
        &self,
        provider: Provider,
        person: Person,
        client: ClientKey,
    ) -> Result<SignedIn> {
        let (now, open) = (self.0.clock.now(), !self.settings().accounts.disable_signups);
        let found = self.write(body!(async |tx| account(tx, provider, &person, open, now).await));
        let (found, first) = found.await?;
        let (user, hash) = (found.user, found.password_hash);
        match self.open_session(user, hash, None, Some(client), first).await {
            Err(Error::CodeRequired) => Err(refused(SignInRefusal::SecondFactor)),
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
            return Err(refused(SignInRefusal::OtherWay));
        };
        // else whoever signs up with somebody's address keeps its owner out, or waits inside for what the owner brings
        hand_over(tx, &user, None, now).await?;
        identity::create(tx, provider.as_str(), &person.subject, user.id, now).await?;
        tracing::info!(user = %user.id, provider = provider.as_str(), "an account was claimed by the owner of its address");
        return Ok((credentials(tx, &person.email).await?, false));
    }
    if !first && !open && !member::is_invited(tx, &person.email, now).await? {
        return Err(refused(SignInRefusal::SignUpsOff));
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

/// The error if the account was deleted or created since it was looked up.
fn changed_meanwhile() -> Error {
    refused(SignInRefusal::ChangedMeanwhile)
}

fn person(subject: Option<String>, email: Option<&str>) -> Result<Person> {
    let Some(subject) = subject.filter(|subject| (1..=255).contains(&subject.len())) else {
        return Err(refused(SignInRefusal::Unnamed));
    };
    let email =
        email.and_then(EmailAddress::parse).ok_or_else(|| refused(SignInRefusal::NoVerifiedAddress))?;
    Ok(Person { subject, email })
}

fn refused(why: SignInRefusal) -> Error {
    Error::NotSignedIn(why)
}

/// An address at a provider.
fn address(provider: Provider, base: &BaseUrl, path: &str) -> Result<ConfiguredUrl> {
    let url = ConfiguredUrl::parse(&base.link(path));
    url.map_err(|refusal| failed(provider, &format!("its address cannot be used: {refusal}")))
}

fn failed(provider: Provider, why: &str) -> Error {
    tracing::warn!(provider = provider.as_str(), why, "a sign-in with a provider failed");
    refused(SignInRefusal::ProviderFailed)
}

fn random() -> String {
    BASE64.encode(rand::random::<[u8; 32]>())
}

/// `application/x-www-form-urlencoded`.
fn form(fields: &[(&str, &str)]) -> String {
    Serializer::new(String::new()).extend_pairs(fields).finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_without_a_verified_address_is_let_in() {
        assert!(person(Some("1".into()), Some("ada@example.com")).is_ok());
        assert!(person(Some("1".into()), None).is_err());
        assert!(person(Some("1".into()), Some("no address")).is_err());
        assert!(person(None, Some("ada@example.com")).is_err());
        assert!(person(Some(String::new()), Some("ada@example.com")).is_err());
    }
}
