//! `/auth`: signing up, in and out.

use crate::json::Json;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use mailwright_app::App;
use mailwright_app::account::session::{LASTS, SignUp, SignedIn};
use mailwright_core::ids::UserId;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::auth::{Client, SESSION_COOKIE, SameSite, session_cookie, session_cookie_name};
use crate::error::{ApiError, ErrorEnvelope, Failure, Result};
use crate::fields::{Code, Email, LinkToken, NewPassword, Password, PlainName};
use crate::schema::{Body, Payload};

/// An account to sign up.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct SignUpRequest {
    email: Email,
    password: NewPassword,
    /// Your display name.
    name: Option<PlainName>,
    /// The token of an invitation to the address. With it an account can be created even if signing up is switched off,
    /// and becomes a member of the project at once.
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
    /// Required if the account has a second factor: the code that the authenticator app shows, or a recovery code.
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
        (status = 404, description = "The invitation is to another address, was used or has expired", body = ErrorEnvelope),
        (status = 409, description = "The address has an account already", body = ErrorEnvelope),
        (status = 422, description = "Validation failed", body = ErrorEnvelope),
        (status = 429, description = "Too many attempts to sign up from this client", body = ErrorEnvelope)))]
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

/// Sign in
///
/// Sets a cookie that lasts for seven days. If the account has a second factor, the answer is 401 `TOTP_REQUIRED`: send
/// the same request again with `code`. Each code can be used once.
#[utoipa::path(post, path = "/auth/login", tag = "Accounts", operation_id = "logIn", security(()),
    request_body = LogInRequest,
    responses(
        (status = 200, description = "Signed in: the answer sets the cookie", body = SignedInView),
        (status = 403, description = "The request comes from a page of another site", body = ErrorEnvelope),
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
    responses((status = 200, description = "Signed out", content_type = "application/json", body = bool)))]
pub(crate) async fn log_out(State(app): State<App>, _: SameSite, headers: HeaderMap) -> Result<Response> {
    if is_part_of_page(&headers) {
        return Err(ApiError::forbidden("Nobody is signed out by a picture, a frame or a file of a page."));
    }
    if let Some(id) = session_cookie(&app, &headers).and_then(|token| app.session_from_token(token)) {
        app.log_out(id).await?;
    }
    let mut response = with_cookie(&app, Json(true).into_response(), "", 0);
    let base_url = &app.settings().base_url;
    let as_ever = session_cookie_name(base_url) == SESSION_COOKIE && base_url.path().is_empty();
    if !as_ever && let Ok(cookie) = HeaderValue::from_str(&format!("{SESSION_COOKIE}=; Path=/; Max-Age=0")) {
        // one that an earlier version, or the service without HTTPS, has set
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    Ok(response)
}

/// Whether a browser says that it asks for something that a page shows or loads (Fetch Metadata), such as a picture that
/// somebody else put into a mail.
fn is_part_of_page(headers: &HeaderMap) -> bool {
    headers.get("sec-fetch-dest").is_some_and(|asked_for| asked_for != "empty" && asked_for != "document")
}

fn with_cookie(app: &App, mut response: Response, value: &str, seconds: u64) -> Response {
    let headers = response.headers_mut();
    if let Ok(cookie) = HeaderValue::from_str(&cookie_header(app, value, seconds)) {
        headers.insert(header::SET_COOKIE, cookie);
    }
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// The `Set-Cookie` header for a session.
pub(crate) fn session_header(app: &App, found: &SignedIn) -> String {
    cookie_header(app, found.token.reveal(), LASTS.as_secs())
}

/// The cookie is for this host and path alone, out of reach of scripts, and is not sent along with other sites'
/// requests.
fn cookie_header(app: &App, value: &str, seconds: u64) -> String {
    let base_url = &app.settings().base_url;
    let secure = if base_url.is_https() { "; Secure" } else { "" };
    let (name, path) = (session_cookie_name(base_url), base_url.path());
    let path = if path.is_empty() { "/" } else { path };
    format!("{name}={value}; Path={path}; HttpOnly; SameSite=Lax; Max-Age={seconds}{secure}")
}
