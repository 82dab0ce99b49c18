//! `/auth`: signing up, in and out.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use mailwright_app::App;
use mailwright_app::account::session::{LASTS, SignUp, SignedIn};
use mailwright_core::ids::UserId;
use mailwright_core::name::{holds_link, is_plain};
use mailwright_core::template_language::escape_html;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::account::one_time_link::page::told;
use crate::auth::{Client, SESSION_COOKIE, SameSite, path_of, session_cookie, session_cookie_name};
use crate::error::{ErrorEnvelope, Failure, Result};
use crate::fields::{Code, Email, LinkToken, NewPassword, Password, PlainName};
use crate::params::Params;
use crate::schema::{Body, Payload};

/// Most characters of a message on the page for who is not signed in.
const LONGEST_MESSAGE: usize = 300;

/// An account to sign up.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct SignUpRequest {
    email: Email,
    password: NewPassword,
    /// How you want to be called.
    name: Option<PlainName>,
    /// What the link of an invitation to the address carries. With it an account can be created where signing up is
    /// switched off, and is a member of the project at once.
    invitation: Option<LinkToken>,
}

impl Payload for SignUpRequest {
    const MAX_BODY: usize = 16 * 1024;
}

/// An account to sign in.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct LogInRequest {
    email: Email,
    password: Password,
    /// Where the account has a second factor: what the authenticator program shows, or a recovery code.
    code: Option<Code>,
}

impl Payload for LogInRequest {
    const MAX_BODY: usize = 16 * 1024;
}

/// Who is signed in now. The session is in the cookie.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SignedInView {
    id: UserId,
    email: String,
    /// Whether this is the first account of the instance.
    first_user: bool,
}

/// Sign up
///
/// Creates an account and signs it in. The first account of an instance can be created even where signing up is
/// switched off. Where the instance sends mail of its own, a link to verify the address is on its way; until it is
/// opened, the session may open nothing but `POST /auth/request-verification`.
#[utoipa::path(post, path = "/auth/signup", tag = "Accounts", operation_id = "signUp", security(()),
    request_body = SignUpRequest,
    responses(
        (status = 200, description = "Signed in: the answer sets the cookie", body = SignedInView),
        (status = 403, description = "Signing up is switched off, or the project of the invitation is disabled", body = ErrorEnvelope),
        (status = 404, description = "The invitation is not to this address, was used or has expired", body = ErrorEnvelope),
        (status = 409, description = "The address has an account", body = ErrorEnvelope),
        (status = 422, description = "Validation failed", body = ErrorEnvelope),
        (status = 429, description = "Too many accounts were asked for from here", body = ErrorEnvelope)))]
pub(crate) async fn sign_up(
    State(app): State<App>,
    _: SameSite,
    Client(client): Client,
    Body(body): Body<SignUpRequest>,
) -> Result<Response, Failure> {
    let wanted = SignUp {
        email: body.email.0,
        password: body.password.into(),
        name: body.name.map(|name| name.0.trim().to_owned()),
        invitation: body.invitation.map(Into::into),
    };
    Ok(signed_in(&app, app.sign_up(wanted, client).await?))
}

/// The page that says why signing in failed
///
/// Where the way back from a provider ends when it does not sign in.
#[utoipa::path(get, path = "/auth/login", tag = "Accounts", operation_id = "logInPage", security(()),
    params(("message" = Option<String>, Query, description = "Why")),
    responses((status = 200, description = "A page", content_type = "text/html", body = String)))]
pub(crate) async fn log_in_page(params: Params) -> Response {
    // anybody can make a link with any text: it is no longer than what the service says, and leads nowhere
    let is_ours =
        |text: &&str| text.chars().count() <= LONGEST_MESSAGE && is_plain(text) && !holds_link(text);
    match params.text("message").filter(is_ours) {
        Some(message) => told(StatusCode::OK, "You are not signed in", &escape_html(message)),
        None => told(StatusCode::OK, "Sign in", "Programs sign in with a request to this address."),
    }
}

/// Sign in
///
/// Sets a cookie that lasts for seven days. An account with a second factor is asked for a code: send the same request
/// again with it. A code counts once.
#[utoipa::path(post, path = "/auth/login", tag = "Accounts", operation_id = "logIn", security(()),
    request_body = LogInRequest,
    responses(
        (status = 200, description = "Signed in: the answer sets the cookie", body = SignedInView),
        (status = 403, description = "It comes from a page of another site", body = ErrorEnvelope),
        (status = 401, description = "The address or the password is wrong; or, with the code TOTP_REQUIRED or TOTP_INVALID, the second factor is missing or wrong", body = ErrorEnvelope),
        (status = 422, description = "Validation failed", body = ErrorEnvelope),
        (status = 429, description = "Too many wrong passwords", body = ErrorEnvelope)))]
pub(crate) async fn log_in(
    State(app): State<App>,
    _: SameSite,
    Client(client): Client,
    Body(body): Body<LogInRequest>,
) -> Result<Response, Failure> {
    let found = app.log_in(&body.email.0, body.password.into(), body.code.map(Into::into), client).await?;
    Ok(signed_in(&app, found))
}

fn signed_in(app: &App, found: SignedIn) -> Response {
    let view =
        SignedInView { id: found.user.id, email: found.user.email.to_string(), first_user: found.first };
    with_cookie(app, Json(view).into_response(), found.token.reveal(), LASTS.as_secs())
}

/// Sign out
///
/// Ends the session and clears the cookie. Without a session there is nothing to do, and the answer is the same.
#[utoipa::path(get, path = "/auth/logout", tag = "Accounts", operation_id = "logOut", security((), ("session" = [])),
    responses((status = 200, description = "Always true", content_type = "application/json", body = bool)))]
pub(crate) async fn log_out(State(app): State<App>, _: SameSite, headers: HeaderMap) -> Result<Response> {
    if let Some(id) = session_cookie(&app, &headers).and_then(|token| app.session_from_token(token)) {
        app.log_out(id).await?;
    }
    let mut response = with_cookie(&app, Json(true).into_response(), "", 0);
    let base_url = &app.settings().base_url;
    let as_ever = session_cookie_name(base_url) == SESSION_COOKIE && path_of(base_url).is_empty();
    if !as_ever && let Ok(cookie) = HeaderValue::from_str(&format!("{SESSION_COOKIE}=; Path=/; Max-Age=0")) {
        // one that an earlier version, or the service without HTTPS, has set
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    Ok(response)
}

fn with_cookie(app: &App, mut response: Response, value: &str, seconds: u64) -> Response {
    let headers = response.headers_mut();
    if let Ok(cookie) = HeaderValue::from_str(&cookie_header(app, value, seconds)) {
        headers.insert(header::SET_COOKIE, cookie);
    }
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// What sets the cookie of a session.
pub(crate) fn session_header(app: &App, found: &SignedIn) -> String {
    cookie_header(app, found.token.reveal(), LASTS.as_secs())
}

/// The cookie is for this host and path alone, out of reach of scripts, and is not sent along with other sites' requests.
fn cookie_header(app: &App, value: &str, seconds: u64) -> String {
    let base_url = &app.settings().base_url;
    let secure = if base_url.starts_with("https://") { "; Secure" } else { "" };
    let (name, path) = (session_cookie_name(base_url), path_of(base_url));
    let path = if path.is_empty() { "/" } else { path };
    format!("{name}={value}; Path={path}; HttpOnly; SameSite=Lax; Max-Age={seconds}{secure}")
}
