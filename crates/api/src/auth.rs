//! Whose request it is: extractors that carry identity. A handler names the one it needs in its signature, and the
//! capability that goes with it; what roles and scopes have which, `core::role` says.
//!
//! A project is opened by a secret key, or by a session together with the project's id. An `Authorization` header
//! always wins over a cookie.

use std::marker::PhantomData;
use std::net::{IpAddr, SocketAddr};

use axum::extract::{ConnectInfo, FromRef, FromRequestParts, RawPathParams};
use axum::http::header::{AUTHORIZATION, COOKIE, HOST, HeaderName, ORIGIN, USER_AGENT};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method};
use mailwright_app::idempotency::IdempotencyKey;
use mailwright_app::key::Identity;
use mailwright_app::session::ClientKey;
use mailwright_app::{App, KeyKind, Resource};
use mailwright_core::audit::Actor;
use mailwright_core::ids::{ProjectId, SessionId};
use mailwright_core::project::Project;
use mailwright_core::role::{Capability, Holder};
use mailwright_store::session::Session;
use mailwright_store::user::User;

use crate::error::ApiError;
use crate::frame::RequestLimit;

/// The cookie that holds a session's token.
pub(crate) const SESSION_COOKIE: &str = "mailwright_session";
const PROJECT_ID: HeaderName = HeaderName::from_static("x-project-id");
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// A capability as a type, so that a handler's signature names it.
pub(crate) trait Needs {
    /// The capability.
    const CAPABILITY: Capability;
}

/// The capabilities that endpoints need.
pub(crate) mod needs {
    use super::{Capability, Needs};

    macro_rules! needs {
        ($($name:ident),+ $(,)?) => { $(
            #[derive(Debug)]
            pub(crate) struct $name;

            impl Needs for $name {
                const CAPABILITY: Capability = Capability::$name;
            }
        )+ };
    }

    needs!(
        ReadContacts,
        WriteContacts,
        ReadCampaigns,
        WriteCampaigns,
        ReadMail,
        WriteMail,
        ReadProject,
        ManageDomains,
        ManageMembers,
        ManageProject,
        ManageKeys,
        ReadAudit,
    );
}

/// Who was let into a project.
#[derive(Debug)]
pub(crate) struct Caller {
    /// Who it is, for the audit log.
    pub(crate) actor: Actor,
    /// What it is allowed.
    pub(crate) holder: Holder,
}

/// A project endpoint: a secret key, or a session with `X-Project-Id`. The request is within the limit, and may write
/// if it wants to.
pub(crate) struct ProjectAccess<C>(pub(crate) Project, pub(crate) Caller, pub(crate) PhantomData<C>);

/// The same for an endpoint whose path names the project. Whoever has no business there does not learn whether it
/// exists.
pub(crate) struct PathAccess<C>(pub(crate) Project, pub(crate) Caller, pub(crate) PhantomData<C>);

/// The same for what members may do in a disabled project as well: the use case looks whether the project is.
pub(crate) struct PathAccessAlsoDisabled<C>(pub(crate) Project, pub(crate) Caller, pub(crate) PhantomData<C>);

/// The same for people alone: keys do not open it.
pub(crate) struct MemberAccess<C>(pub(crate) Project, pub(crate) Caller, pub(crate) PhantomData<C>);

/// An endpoint about the signed-in user.
pub(crate) struct SignedInUser {
    /// The user.
    pub(crate) user: User,
    /// The session that the request came with.
    pub(crate) session: SessionId,
}

/// The same also while the user's address is not verified.
pub(crate) struct AnyUser(pub(crate) User);

/// `/v1/send`: a secret key, for a use case whose transaction looks it up again.
pub(crate) struct SendKey(pub(crate) Remembered);

/// `/v1/track`: a public key, or a secret key from a server; looked up again like that of `/v1/send`.
pub(crate) struct TrackKey(pub(crate) Remembered);

/// `/events/track`: a secret key, looked up again like that of `/v1/send`, or a session with `X-Project-Id`.
pub(crate) struct RecordAccess(pub(crate) Remembered);

/// Whom a key belonged to when it was last looked up. It may have been revoked since, or the project may have been
/// reset: before a handler answers without a transaction that looked again, it calls [`confirm`](Self::confirm).
pub(crate) struct Remembered {
    pub(crate) caller: Identity,
    /// `None` for a session, which was looked up for this request.
    token: Option<String>,
}

impl std::fmt::Debug for Remembered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Remembered").field("project", &self.caller.project.number).finish_non_exhaustive()
    }
}

impl Remembered {
    /// Whom a token belongs to, from memory unless the project was disabled when it was last looked up.
    async fn recall(app: &App, token: &str) -> Result<Option<Identity>, ApiError> {
        let found = app.keyring().recall(token).await?;
        if found.as_ref().is_some_and(|caller| caller.project.disabled) {
            return Ok(app.keyring().find(token).await?);
        }
        Ok(found)
    }

    fn new(caller: Identity, token: &str) -> Self {
        Self { caller, token: Some(token.to_owned()) }
    }

    /// A secret key with a capability.
    async fn secret_key(app: &App, parts: &Parts, capability: Capability) -> Result<Self, ApiError> {
        let token = bearer(&parts.headers).ok_or_else(ApiError::missing_auth)?;
        let caller = secret(Self::recall(app, token).await?)?;
        permit(&caller.holder, capability)?;
        admit(app, parts, &caller.project).await?;
        Ok(Self::new(caller, token))
    }

    /// Looks the key up again. An error if it does not open its project for writing any more. A caller when the project
    /// was reset since the key was remembered: nothing can have been done for the caller of then, so what the request
    /// asks for is to be done for this one.
    pub(crate) async fn confirm(&self, app: &App) -> Result<Option<Identity>, ApiError> {
        let Some(token) = &self.token else { return Ok(None) };
        match app.keyring().find(token).await? {
            None => Err(ApiError::invalid_key("The API key is not valid.")),
            Some(caller) if caller.project.disabled => Err(ApiError::project_disabled()),
            Some(caller) => Ok((caller.project.number != self.caller.project.number).then_some(caller)),
        }
    }
}

impl<S, C> FromRequestParts<S> for ProjectAccess<C>
where
    S: Send + Sync,
    App: FromRef<S>,
    C: Needs,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let found = enter(&App::from_ref(state), parts, &Place::Header, C::CAPABILITY).await?;
        let (project, caller) = split(found);
        Ok(Self(project, caller, PhantomData))
    }
}

impl<S, C> FromRequestParts<S> for PathAccess<C>
where
    S: Send + Sync,
    App: FromRef<S>,
    C: Needs,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let place = Place::of_path(parts, state).await;
        let found = enter(&App::from_ref(state), parts, &place, C::CAPABILITY).await?;
        let (project, caller) = split(found);
        Ok(Self(project, caller, PhantomData))
    }
}

impl<S, C> FromRequestParts<S> for PathAccessAlsoDisabled<C>
where
    S: Send + Sync,
    App: FromRef<S>,
    C: Needs,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let app = App::from_ref(state);
        let place = Place::of_path(parts, state).await;
        let found = known(&app, parts, &place, C::CAPABILITY).await?;
        count(&app, parts, &found.project).await?;
        let (project, caller) = split(found);
        Ok(Self(project, caller, PhantomData))
    }
}

impl<S, C> FromRequestParts<S> for MemberAccess<C>
where
    S: Send + Sync,
    App: FromRef<S>,
    C: Needs,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let app = App::from_ref(state);
        let place = Place::of_path(parts, state).await;
        keys_do_not_open(parts)?;
        let person = as_member(&app, parts, &place).await?;
        permit(&person.holder, C::CAPABILITY)?;
        admit(&app, parts, &person.project).await?;
        let (project, caller) = split(person);
        Ok(Self(project, caller, PhantomData))
    }
}

impl<S> FromRequestParts<S> for SignedInUser
where
    S: Send + Sync,
    App: FromRef<S>,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let app = App::from_ref(state);
        keys_do_not_open(parts)?;
        let found = signed_in(&app, parts, None).await?;
        Ok(Self { user: found.user, session: found.id })
    }
}

impl<S> FromRequestParts<S> for AnyUser
where
    S: Send + Sync,
    App: FromRef<S>,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        keys_do_not_open(parts)?;
        let found = whoever_signed_in(&App::from_ref(state), parts, None).await?;
        Ok(Self(found.user))
    }
}

impl<S> FromRequestParts<S> for SendKey
where
    S: Send + Sync,
    App: FromRef<S>,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        Remembered::secret_key(&App::from_ref(state), parts, Capability::Send).await.map(Self)
    }
}

impl<S> FromRequestParts<S> for RecordAccess
where
    S: Send + Sync,
    App: FromRef<S>,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let app = App::from_ref(state);
        if parts.headers.contains_key(AUTHORIZATION) {
            return Remembered::secret_key(&app, parts, Capability::Track).await.map(Self);
        }
        let caller = enter(&app, parts, &Place::Header, Capability::Track).await?;
        Ok(Self(Remembered { caller, token: None }))
    }
}

impl<S> FromRequestParts<S> for TrackKey
where
    S: Send + Sync,
    App: FromRef<S>,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let app = App::from_ref(state);
        let token = bearer(&parts.headers).ok_or_else(ApiError::missing_auth)?;
        let Some(caller) = Remembered::recall(&app, token).await? else {
            return Err(ApiError::invalid_key(
                "The API key is not valid. This endpoint requires a public key.",
            ));
        };
        if caller.kind == KeyKind::Secret {
            // from a server a secret key does no harm; in a browser everybody could read it
            if parts.headers.contains_key(ORIGIN) {
                return Err(ApiError::invalid_key(
                    "A secret key must not be used in a browser, where everybody can read it. Use the public key, and replace the secret key if it was published.",
                ));
            }
            permit(&caller.holder, Capability::Track)?;
        }
        admit(&app, parts, &caller.project).await?;
        Ok(Self(Remembered::new(caller, token)))
    }
}

/// The address that a request came from.
pub(crate) struct Client(pub(crate) ClientKey);

impl<S> FromRequestParts<S> for Client
where
    S: Send + Sync,
    App: FromRef<S>,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let app = App::from_ref(state);
        let peer = parts.extensions.get::<ConnectInfo<SocketAddr>>().map(|peer| peer.0.ip());
        let address = client_address(&parts.headers, peer, app.settings().accounts.trusted_proxies);
        Ok(Self(ClientKey::of(address)))
    }
}

/// An endpoint that signs people in or out: not for other sites, which could sign their visitors in as somebody else.
pub(crate) struct SameSite;

impl<S> FromRequestParts<S> for SameSite
where
    S: Send + Sync,
    App: FromRef<S>,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let app = App::from_ref(state);
        if is_own_site(&parts.headers, &app.settings().base_url) {
            Ok(Self)
        } else {
            Err(ApiError::cross_site())
        }
    }
}

/// How a request names its project, where no key does.
enum Place {
    /// In `X-Project-Id`.
    Header,
    /// In its path; `None` when what stands there is no id.
    Path(Option<ProjectId>, String),
}

impl Place {
    async fn of_path<S: Send + Sync>(parts: &mut Parts, state: &S) -> Self {
        let text = match RawPathParams::from_request_parts(parts, state).await {
            Ok(found) => found
                .iter()
                .find(|(name, _)| matches!(*name, "id" | "projectId"))
                .map(|(_, text)| text.to_owned())
                .unwrap_or_default(),
            Err(_) => String::new(),
        };
        Self::Path(text.parse().ok(), text)
    }

    /// The project that is asked for, as far as the request names one.
    fn asked(&self, headers: &HeaderMap) -> Option<ProjectId> {
        match self {
            Self::Header => headers.get(PROJECT_ID)?.to_str().ok()?.trim().parse().ok(),
            Self::Path(id, _) => *id,
        }
    }

    /// What a stranger to the project is told.
    fn stranger(&self) -> ApiError {
        match self {
            Self::Header => ApiError::not_a_member(),
            Self::Path(_, text) => ApiError::not_found(Resource::Project, text),
        }
    }
}

/// Lets a key or a member into a project, if the capability is there.
async fn enter(
    app: &App,
    parts: &Parts,
    place: &Place,
    capability: Capability,
) -> Result<Identity, ApiError> {
    let caller = known(app, parts, place, capability).await?;
    admit(app, parts, &caller.project).await?;
    Ok(caller)
}

/// The key or member that asks, if the capability is there.
async fn known(
    app: &App,
    parts: &Parts,
    place: &Place,
    capability: Capability,
) -> Result<Identity, ApiError> {
    let caller = if parts.headers.contains_key(AUTHORIZATION) {
        let token = bearer(&parts.headers).ok_or_else(ApiError::missing_auth)?;
        let caller = secret(app.keyring().find(token).await?)?;
        if let Place::Path(asked, _) = place
            && *asked != Some(caller.project.id)
        {
            return Err(place.stranger());
        }
        caller
    } else if session_cookie(&parts.headers).is_some() {
        as_member(app, parts, place).await?
    } else {
        return Err(ApiError::missing_auth());
    };
    permit(&caller.holder, capability)?;
    Ok(caller)
}

fn split(found: Identity) -> (Project, Caller) {
    (found.project, Caller { actor: found.actor, holder: found.holder })
}

/// The signed-in user as a member of the project that is asked for.
async fn as_member(app: &App, parts: &Parts, place: &Place) -> Result<Identity, ApiError> {
    let asked = place.asked(&parts.headers);
    let found = signed_in(app, parts, asked).await?;
    if asked.is_none() && matches!(place, Place::Header) {
        return Err(ApiError::no_project());
    }
    let (project, role) = found.project.ok_or_else(|| place.stranger())?;
    Ok(Identity {
        kind: KeyKind::Secret,
        project,
        holder: Holder::Member(role),
        actor: Actor::User { id: found.user.id, email: found.user.email.to_string() },
        hash: None,
    })
}

/// The session that the request's cookie names, and the project asked for, if the user is a member there. The user's
/// address is verified, where it has to be.
async fn signed_in(app: &App, parts: &Parts, project: Option<ProjectId>) -> Result<Session, ApiError> {
    let found = whoever_signed_in(app, parts, project).await?;
    if app.keeps_out(&found.user) { Err(ApiError::unverified()) } else { Ok(found) }
}

async fn whoever_signed_in(
    app: &App,
    parts: &Parts,
    project: Option<ProjectId>,
) -> Result<Session, ApiError> {
    let token = session_cookie(&parts.headers).ok_or_else(ApiError::unauthorized)?;
    if !parts.method.is_safe() && !is_own_site(&parts.headers, &app.settings().base_url) {
        return Err(ApiError::cross_site());
    }
    let id = app.named_session(token).ok_or_else(ApiError::unauthorized)?;
    let found = app.keyring().session(id, project).await?.ok_or_else(ApiError::unauthorized)?;
    let client = parts.headers.get(USER_AGENT).and_then(|value| value.to_str().ok());
    app.keyring().note_session(id, client);
    Ok(found)
}

/// Who is signed in at the browser that opens one of the service's own pages; `None` when nobody is.
pub(crate) async fn visitor(app: &App, headers: &HeaderMap) -> mailwright_app::Result<Option<User>> {
    let Some(id) = session_cookie(headers).and_then(|token| app.named_session(token)) else {
        return Ok(None);
    };
    Ok(app.keyring().session(id, None).await?.map(|found| found.user))
}

/// Refuses keys where a person is wanted.
fn keys_do_not_open(parts: &Parts) -> Result<(), ApiError> {
    if parts.headers.contains_key(AUTHORIZATION) {
        return Err(ApiError::invalid_key("API keys do not open this endpoint: it is for a signed-in user."));
    }
    Ok(())
}

/// The token of the session that the request came with.
pub(crate) fn session_cookie(headers: &HeaderMap) -> Option<&str> {
    cookie(headers, SESSION_COOKIE)
}

/// The value of a cookie.
pub(crate) fn cookie<'h>(headers: &'h HeaderMap, wanted: &str) -> Option<&'h str> {
    let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    cookies.flat_map(|text| text.split(';')).find_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        (name.trim() == wanted).then(|| value.trim())
    })
}

/// Whether a request can be meant by whoever sits at the browser: it comes from a page of this service, or from no page
/// at all. Browsers say where a request comes from; other programs do not carry anybody's cookies unasked.
fn is_own_site(headers: &HeaderMap, base_url: &str) -> bool {
    let text = |name: &HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or("unreadable"));
    if let Some(site) = text(&FETCH_SITE) {
        return site == "same-origin" || site == "none";
    }
    let Some(origin) = text(&ORIGIN) else { return true };
    let (scheme, authority) = origin.split_once("://").unwrap_or_default();
    // where pages come over TLS, one that came without may have been written by anybody on the way
    let sound = !base_url.starts_with("https://") || scheme.eq_ignore_ascii_case("https");
    origin.eq_ignore_ascii_case(origin_of(base_url))
        || (sound
            && !authority.is_empty()
            && text(&HOST).is_some_and(|host| host.eq_ignore_ascii_case(authority)))
}

/// The scheme and authority of a URL.
fn origin_of(url: &str) -> &str {
    let authority = url.find("://").map_or(0, |at| at + 3);
    url[authority..].find('/').map_or(url, |end| &url[..authority + end])
}

/// The path of a URL, which does not end with a slash.
pub(crate) fn path_of(url: &str) -> &str {
    url[origin_of(url).len()..].trim_end_matches('/')
}

/// The client's address: the connection's, or what the outermost of our own proxies says of it. Each proxy appends the
/// address that it sees, so that what stands further left was written by anybody.
fn client_address(headers: &HeaderMap, peer: Option<IpAddr>, proxies: usize) -> IpAddr {
    let peer = peer.unwrap_or(IpAddr::from([0, 0, 0, 0]));
    if proxies == 0 {
        return peer;
    }
    let lines = headers.get_all(FORWARDED_FOR).iter().filter_map(|value| value.to_str().ok());
    let named: Vec<&str> = lines.flat_map(|line| line.split(',')).map(str::trim).collect();
    named.len().checked_sub(proxies).and_then(|at| named[at].parse().ok()).unwrap_or(peer)
}

/// Accepts a secret key only.
fn secret(found: Option<Identity>) -> Result<Identity, ApiError> {
    match found {
        Some(caller) if caller.kind == KeyKind::Secret => Ok(caller),
        Some(_) => Err(ApiError::invalid_key("This endpoint requires a secret key, not a public key.")),
        None => Err(ApiError::invalid_key("The API key is not valid. This endpoint requires a secret key.")),
    }
}

/// The token of exactly `Bearer <token>`.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let token = headers.get(AUTHORIZATION)?.to_str().ok()?.strip_prefix("Bearer ")?;
    (!token.is_empty() && !token.contains(char::is_whitespace)).then_some(token)
}

/// Asks the one table of roles and scopes.
fn permit(holder: &Holder, capability: Capability) -> Result<(), ApiError> {
    if holder.may(capability) {
        return Ok(());
    }
    Err(ApiError::forbidden(match holder {
        Holder::Member(_) => {
            "Your role in this project does not allow this. Ask an administrator or the owner."
        }
        Holder::Key(_) => {
            "This key does not open this endpoint: its scopes do not include it, or no key does."
        }
    }))
}

/// Refuses writes to a disabled project, and counts the request.
async fn admit(app: &App, parts: &Parts, project: &Project) -> Result<(), ApiError> {
    if project.disabled && parts.method != Method::GET && parts.method != Method::HEAD {
        return Err(ApiError::project_disabled());
    }
    count(app, parts, project).await
}

/// Counts a request, and refuses what is beyond the limit.
async fn count(app: &App, parts: &Parts, project: &Project) -> Result<(), ApiError> {
    if let Some(allowance) = app.limiter().take(project.number).await {
        if let Some(limit) = parts.extensions.get::<RequestLimit>() {
            limit.note(allowance);
        }
        if !allowance.allowed {
            return Err(ApiError::rate_limited(allowance.reset, allowance.limit));
        }
    }
    Ok(())
}

/// Reads the `Idempotency-Key` of a request and refuses one that is taken, before the body is looked at.
pub(crate) async fn idempotency_key(
    app: &App,
    project: &Project,
    headers: &HeaderMap,
    path: &'static str,
) -> Result<Option<IdempotencyKey>, ApiError> {
    let Some(value) = headers.get("idempotency-key") else { return Ok(None) };
    let key = IdempotencyKey::parse(value.as_bytes(), path)?;
    app.check_key(project, &key).await?;
    Ok(Some(key))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;
    use mailwright_core::ids::{ApiKeyId, ProjectNumber};
    use mailwright_core::role::Scopes;
    use mailwright_core::time::Timestamp;

    use super::*;

    #[test]
    fn a_remembered_key_is_not_printed() {
        let project = Project {
            number: ProjectNumber(1),
            id: ProjectId::new(Timestamp(0)),
            name: String::new(),
            language: "en".into(),
            disabled: false,
        };
        let caller = Identity {
            kind: KeyKind::Secret,
            project,
            holder: Holder::Key(Scopes::everything()),
            actor: Actor::Key { id: ApiKeyId::new(Timestamp(0)), name: None },
            hash: Some([77; 32]),
        };
        let shown = format!("{:?}", Remembered::new(caller, "sk_hidden"));
        assert!(!shown.contains("hidden") && !shown.contains("77"), "{shown}");
    }

    fn headers(given: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in given {
            headers.append(*name, HeaderValue::from_static(value));
        }
        headers
    }

    #[test]
    fn only_own_pages_and_programs_are_of_the_own_site() {
        let base = "https://mail.example.com/sub";
        for (given, own) in [
            (&[][..], true),
            (&[("sec-fetch-site", "same-origin")], true),
            (&[("sec-fetch-site", "none")], true),
            (&[("sec-fetch-site", "cross-site")], false),
            (&[("sec-fetch-site", "same-site"), ("origin", "https://mail.example.com")], false),
            (&[("origin", "https://mail.example.com")], true),
            (&[("origin", "https://mail.example.com.evil.example")], false),
            (&[("origin", "http://mail.example.com")], false),
            (&[("origin", "null")], false),
            (&[("origin", "https://mail.local"), ("host", "mail.local")], true),
            (&[("origin", "http://mail.example.com"), ("host", "mail.example.com")], false),
            (&[("origin", "https://evil.example"), ("host", "127.0.0.1:8080")], false),
        ] {
            assert_eq!(is_own_site(&headers(given), base), own, "{given:?}");
        }
        let local = [("origin", "http://127.0.0.1:8080"), ("host", "127.0.0.1:8080")];
        assert!(is_own_site(&headers(&local), "http://mail.local"), "where nothing has TLS");
    }

    #[test]
    fn a_path_is_what_comes_after_the_host() {
        for (url, path) in [
            ("https://mail.example.com", ""),
            ("https://mail.example.com/", ""),
            ("http://127.0.0.1:8080/mail/in", "/mail/in"),
        ] {
            assert_eq!(path_of(url), path);
        }
    }

    #[test]
    fn a_forwarded_address_counts_from_the_own_proxies() {
        let peer: IpAddr = "10.0.0.1".parse().unwrap();
        let of = |given: &[(&'static str, &'static str)], proxies| {
            client_address(&headers(given), Some(peer), proxies).to_string()
        };
        let forged = [("x-forwarded-for", "1.1.1.1, 2.2.2.2"), ("x-forwarded-for", "3.3.3.3")];
        assert_eq!(of(&forged, 0), "10.0.0.1");
        assert_eq!(of(&forged, 1), "3.3.3.3");
        assert_eq!(of(&forged, 2), "2.2.2.2");
        assert_eq!(of(&forged, 9), "10.0.0.1");
        assert_eq!(of(&[("x-forwarded-for", "nonsense")], 1), "10.0.0.1");
    }

    #[test]
    fn the_session_cookie_is_found_among_others() {
        let found = |text: &'static str| session_cookie(&headers(&[("cookie", text)])).map(str::to_owned);
        assert_eq!(found("a=1; mailwright_session=abc.def.ghi; b=2").as_deref(), Some("abc.def.ghi"));
        assert_eq!(found("xmailwright_session=abc"), None);
    }
}
