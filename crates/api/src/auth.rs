//! Whose request it is: extractors that carry identity. A handler's signature names the extractor and the capability
//! that it needs; `core::role` says which roles and scopes have which capability.
//!
//! Credentials become an [`Identity`]: a project, the caller ([`Actor`]), and what it is allowed ([`Holder`]: a
//! member's role, or a key's scopes). A project is opened by a secret key, or by a session together with the project's
//! id. An `Authorization` header wins over a cookie.
//!
//! A request with a cookie that changes anything must come from a page of this service or from no page ([`site`]), and
//! names one of our hosts in `Host`. Over HTTPS the cookie has a prefix that browsers protect. A cookie without the
//! prefix is not accepted there, because accepting it would undo the protection.

mod again;
mod recent;
mod site;

use axum::extract::{FromRef, FromRequestParts, RawPathParams};
use axum::http::header::{AUTHORIZATION, COOKIE, HeaderName, ORIGIN, USER_AGENT};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method};
use mailwright_app::account::session::ClientKey;
use mailwright_app::project::key::Identity;
use mailwright_app::sending::idempotency::IdempotencyKey;
use mailwright_app::{App, KeyKind, Resource};
use mailwright_core::audit::Actor;
use mailwright_core::ids::{ProjectId, SessionId};
use mailwright_core::project::Project;
use mailwright_core::role::{Capability, Holder};
use mailwright_store::account::session::Session;
use mailwright_store::account::user::User;
use std::marker::PhantomData;

use crate::body::{self, Standing};
use crate::error::ApiError;
use crate::middleware::{RequestLimit, Visit};

use again::{Entrance, Need, note};
pub(crate) use again::{failure, watch};
pub(crate) use recent::{ProofRequest, RecentProof};
use site::is_own_site;
pub(crate) use site::{FORWARDED_FOR, client_address, path_of};

/// The cookie that holds a session's token, where the service is not published over HTTPS.
pub(crate) const SESSION_COOKIE: &str = "mailwright_session";
/// Over HTTPS. Browsers take a cookie with this prefix from this very host alone, and not from a neighbour in its domain.
const HOST_COOKIE: &str = "__Host-mailwright_session";
/// The same under a path, which the other prefix does not allow.
const SECURE_COOKIE: &str = "__Secure-mailwright_session";
const PROJECT_ID: HeaderName = HeaderName::from_static("x-project-id");

/// A capability as a type, so that a handler's signature names it.
pub(crate) trait Needs {
    /// The capability.
    const CAPABILITY: Capability;
    /// Whether it is there for writing in a disabled project as well: then the use case looks whether the project is.
    const ALSO_DISABLED: bool = false;
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
        Track,
    );

    /// What members may do about their own membership.
    #[derive(Debug)]
    pub(crate) struct Leave;

    impl Needs for Leave {
        const CAPABILITY: Capability = Capability::ReadProject;
        const ALSO_DISABLED: bool = true;
    }
}

/// The caller that was let into a project.
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

/// The same for an endpoint whose path names the project. A caller without access does not learn whether it exists.
pub(crate) struct PathAccess<C>(pub(crate) Project, pub(crate) Caller, pub(crate) PhantomData<C>);

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
        let caller = secret(guarded(app, parts, token, Self::recall(app, token)).await?)?;
        permit(&caller.holder, capability)?;
        admit(app, parts, &caller).await?;
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
        let found = enter::<C>(&App::from_ref(state), parts, Place::of_header(&parts.headers)).await?;
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
        let found = enter::<C>(&App::from_ref(state), parts, place).await?;
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
        let (person, session) = as_member(&app, parts, &place).await?;
        let need = Need::of::<C>(parts);
        need.met_by(&person)?;
        count(&app, parts, &person).await?;
        note(parts, Entrance::Member { session, place, number: person.project.number, need });
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
        note(parts, Entrance::User { session: found.id, verified: true });
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
        note(parts, Entrance::User { session: found.id, verified: false });
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
        let caller = enter::<needs::Track>(&app, parts, Place::of_header(&parts.headers)).await?;
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
        let Some(caller) = guarded(&app, parts, token, Remembered::recall(&app, token)).await? else {
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
        admit(&app, parts, &caller).await?;
        Ok(Self(Remembered::new(caller, token)))
    }
}

/// The address that a request came from.
pub(crate) struct Client(pub(crate) ClientKey);

impl<S: Send + Sync> FromRequestParts<S> for Client {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        visit(parts).map(|visit| Self(visit.client))
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
        if comes_from_own_site(&App::from_ref(state), parts)? {
            Ok(Self)
        } else {
            Err(ApiError::cross_site())
        }
    }
}

/// What the middleware knows about a request.
fn visit(parts: &Parts) -> Result<&Visit, ApiError> {
    let unframed = || mailwright_app::Error::Internal("a request came past the frame".into());
    parts.extensions.get::<Visit>().ok_or_else(|| unframed().into())
}

fn comes_from_own_site(app: &App, parts: &Parts) -> Result<bool, ApiError> {
    Ok(is_own_site(&parts.headers, &app.settings().base_url, &visit(parts)?.edge.hosts))
}

/// How a request names its project, where no key does.
#[derive(Debug)]
enum Place {
    /// In its path; `None` when what stands there is no id.
    Path(Option<ProjectId>, String),
    /// In `X-Project-Id`, as it stands there.
    Header(Option<ProjectId>),
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

    fn of_header(headers: &HeaderMap) -> Self {
        let id = || headers.get(PROJECT_ID)?.to_str().ok()?.trim().parse().ok();
        Self::Header(id())
    }

    /// The project that is asked for, as far as the request names one.
    fn asked(&self) -> Option<ProjectId> {
        match self {
            Self::Header(id) | Self::Path(id, _) => *id,
        }
    }

    /// What a stranger to the project is told.
    fn stranger(&self) -> ApiError {
        match self {
            Self::Header(_) => ApiError::not_a_member(),
            Self::Path(_, text) => ApiError::not_found(Resource::Project, text),
        }
    }
}

/// Lets a key or a member into a project, if the capability is there.
async fn enter<C: Needs>(app: &App, parts: &Parts, place: Place) -> Result<Identity, ApiError> {
    let need = Need::of::<C>(parts);
    let (caller, session) = if parts.headers.contains_key(AUTHORIZATION) {
        let token = bearer(&parts.headers).ok_or_else(ApiError::missing_auth)?;
        let look_up = async { Ok(app.keyring().find(token).await?) };
        (secret(guarded(app, parts, token, look_up).await?)?, None)
    } else if session_cookie(app, &parts.headers).is_some() {
        let (member, session) = as_member(app, parts, &place).await?;
        (member, Some(session))
    } else {
        return Err(ApiError::missing_auth());
    };
    // what is refused counts as well
    count(app, parts, &caller).await?;
    let caller = of_place(caller, &place)?;
    need.met_by(&caller)?;
    let number = caller.project.number;
    if let Some(session) = session {
        note(parts, Entrance::Member { session, place, number, need });
    } else if let Some(token) = bearer(&parts.headers) {
        note(parts, Entrance::Key { token: token.to_owned(), place, number, need });
    }
    Ok(caller)
}

/// Who asks, unless the request's path names another project.
fn of_place(caller: Identity, place: &Place) -> Result<Identity, ApiError> {
    match place {
        Place::Path(asked, _) if *asked != Some(caller.project.id) => Err(place.stranger()),
        _ => Ok(caller),
    }
}

fn split(found: Identity) -> (Project, Caller) {
    (found.project, Caller { actor: found.actor, holder: found.holder })
}

/// The signed-in user as a member of the project that is asked for, and the session.
async fn as_member(app: &App, parts: &Parts, place: &Place) -> Result<(Identity, SessionId), ApiError> {
    let asked = place.asked();
    let found = signed_in(app, parts, asked).await?;
    if asked.is_none() && matches!(place, Place::Header(_)) {
        return Err(ApiError::no_project());
    }
    let session = found.id;
    Ok((member(found, place)?, session))
}

/// Who signed in, as a member of a place.
fn member(found: Session, place: &Place) -> Result<Identity, ApiError> {
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
    if app.requires_verification(&found.user) { Err(ApiError::unverified()) } else { Ok(found) }
}

async fn whoever_signed_in(
    app: &App,
    parts: &Parts,
    project: Option<ProjectId>,
) -> Result<Session, ApiError> {
    let token = session_cookie(app, &parts.headers).ok_or_else(ApiError::unauthorized)?;
    if !parts.method.is_safe() && !comes_from_own_site(app, parts)? {
        return Err(ApiError::cross_site());
    }
    let id = app.session_from_token(token).ok_or_else(ApiError::unauthorized)?;
    let found = app.keyring().session(id, project).await?.ok_or_else(ApiError::unauthorized)?;
    let client = parts.headers.get(USER_AGENT).and_then(|value| value.to_str().ok());
    app.keyring().note_session(id, client);
    let project = found.project.as_ref().map(|(project, _)| project.number);
    body::vouch(parts, Standing::Known, project);
    Ok(found)
}

/// Who is signed in at the browser that opens one of the service's own pages; `None` when nobody is.
pub(crate) async fn visitor(app: &App, headers: &HeaderMap) -> mailwright_app::Result<Option<User>> {
    let Some(id) = session_cookie(app, headers).and_then(|token| app.session_from_token(token)) else {
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

/// The name of the session's cookie, where the service is published like this.
pub(crate) fn session_cookie_name(base_url: &str) -> &'static str {
    match (base_url.starts_with("https://"), path_of(base_url)) {
        (false, _) => SESSION_COOKIE,
        (true, "") => HOST_COOKIE,
        (true, _) => SECURE_COOKIE,
    }
}

/// The token of the session that the request came with.
pub(crate) fn session_cookie<'h>(app: &App, headers: &'h HeaderMap) -> Option<&'h str> {
    cookie(headers, session_cookie_name(&app.settings().base_url))
}

/// The value of a cookie.
pub(crate) fn cookie<'h>(headers: &'h HeaderMap, wanted: &str) -> Option<&'h str> {
    let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    cookies.flat_map(|text| text.split(';')).find_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        (name.trim() == wanted).then(|| value.trim())
    })
}

/// Looks a key up, unless its client has tried too many that are not valid: each costs a look-up. A key that is known
/// goes through all the same, since one address may have many people behind it.
async fn guarded(
    app: &App,
    parts: &Parts,
    token: &str,
    look_up: impl Future<Output = Result<Option<Identity>, ApiError>>,
) -> Result<Option<Identity>, ApiError> {
    let client = visit(parts)?.client;
    if let Some(left) = app.limiter().invalid_keys(client)
        && !left.allowed
        && !app.keyring().knows(token)
    {
        if let Some(limit) = parts.extensions.get::<RequestLimit>() {
            limit.note(left);
        }
        return Err(ApiError::too_many_invalid_keys(left.reset, left.limit));
    }
    let found = look_up.await?;
    if found.is_none() {
        app.limiter().note_invalid_key(client);
    }
    Ok(found)
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
async fn admit(app: &App, parts: &Parts, caller: &Identity) -> Result<(), ApiError> {
    refuse_disabled(writes(parts), &caller.project)?;
    count(app, parts, caller).await
}

/// Whether a request changes anything.
fn writes(parts: &Parts) -> bool {
    parts.method != Method::GET && parts.method != Method::HEAD
}

/// Refuses writes to a disabled project.
fn refuse_disabled(writes: bool, project: &Project) -> Result<(), ApiError> {
    if project.disabled && writes {
        return Err(ApiError::project_disabled());
    }
    Ok(())
}

/// Counts a request, and refuses what is beyond the limit.
async fn count(app: &App, parts: &Parts, caller: &Identity) -> Result<(), ApiError> {
    let (limiter, project) = (app.limiter(), caller.project.number);
    let taken = match caller.kind {
        KeyKind::Secret => limiter.take(project).await,
        KeyKind::Public => limiter.take_public(project, visit(parts)?.client).await,
    };
    if let Some(allowance) = taken {
        if let Some(limit) = parts.extensions.get::<RequestLimit>() {
            limit.note(allowance);
        }
        if !allowance.allowed {
            return Err(ApiError::rate_limited(allowance.reset, allowance.limit));
        }
    }
    let standing = match caller.kind {
        KeyKind::Secret => Standing::Known,
        KeyKind::Public => Standing::Public,
    };
    body::vouch(parts, standing, Some(project));
    Ok(())
}

/// Reads the `Idempotency-Key` of a request and refuses one that is taken, before the body is looked at.
pub(crate) async fn idempotency_key(
    app: &App,
    caller: &Identity,
    headers: &HeaderMap,
    path: &'static str,
) -> Result<Option<IdempotencyKey>, ApiError> {
    let Some(value) = headers.get("idempotency-key") else { return Ok(None) };
    let key = IdempotencyKey::parse(value.as_bytes(), path)?;
    app.check_key(caller, &key).await?;
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
            id: ProjectId::new(Timestamp(0), rand::random()),
            name: String::new(),
            language: "en".into(),
            disabled: false,
        };
        let caller = Identity {
            kind: KeyKind::Secret,
            project,
            holder: Holder::Key(Scopes::everything()),
            actor: Actor::Key { id: ApiKeyId::new(Timestamp(0), rand::random()), name: None },
            hash: Some([77; 32]),
        };
        let shown = format!("{:?}", Remembered::new(caller, "sk_hidden"));
        assert!(!shown.contains("hidden") && !shown.contains("77"), "{shown}");
    }

    #[test]
    fn the_session_cookie_is_found_among_others() {
        let found = |text: &'static str| {
            let headers = HeaderMap::from_iter([(COOKIE, HeaderValue::from_static(text))]);
            cookie(&headers, SESSION_COOKIE).map(str::to_owned)
        };
        assert_eq!(found("a=1; mailwright_session=abc.def.ghi; b=2").as_deref(), Some("abc.def.ghi"));
        assert_eq!(found("xmailwright_session=abc"), None);
        assert_eq!(found("__Host-mailwright_session=abc"), None);
    }

    #[test]
    fn a_cookie_is_bound_to_the_host_where_browsers_can_do_that() {
        for (base_url, name) in [
            ("http://127.0.0.1:8080", "mailwright_session"),
            ("https://mail.example.com", "__Host-mailwright_session"),
            ("https://example.com/mail", "__Secure-mailwright_session"),
        ] {
            assert_eq!(session_cookie_name(base_url), name);
        }
    }
}
