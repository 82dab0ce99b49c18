//! `/auth`: links that were sent to an address, to prove it or to set another password.
//!
//! A link leads to a page of the same path. Opening it changes nothing, because link scanners follow links; its form
//! does, and posts to the path that programs post JSON to.

pub(crate) mod page;

use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use mailwright_app::session::ClientKey;
use mailwright_app::{App, Error};
use mailwright_core::locale::Locale;
use mailwright_store::proof::Purpose;
use serde::Deserialize;
use utoipa::ToSchema;

use super::page::{Form, failed};
use super::user::Done;
use crate::auth::{AnyUser, Client, SameSite};
use crate::error::{ErrorEnvelope, Failure, Result};
use crate::query::Params;
use crate::schema::{Body, Payload};
use crate::text::{Email, LinkToken, NewPassword};

/// A link that was opened.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct VerifyRequest {
    /// What the link carries.
    token: LinkToken,
}

impl Payload for VerifyRequest {
    const MAX_BODY: usize = 16 * 1024;
}

/// The page behind a link that verifies an address
#[utoipa::path(get, path = "/auth/verify-email", tag = "Accounts", operation_id = "verifyEmailPage", security(()),
    params(("token" = Option<String>, Query, description = "What the link carries")),
    responses(
        (status = 200, description = "A page with a button that posts to the same path", content_type = "text/html", body = String),
        (status = 404, description = "A page that says that the link does not work", content_type = "text/html", body = String)))]
pub(crate) async fn verify_page(State(app): State<App>, params: Params) -> Response {
    let token = params.text("token").unwrap_or_default();
    match app.link_address(Purpose::Verify, token).await {
        Ok(Some(email)) => page::verify(&email, token),
        Ok(None) => page::dead(),
        Err(error) => failed(Locale::En, error),
    }
}

/// Verify an address
///
/// With the token of a link that was sent to it. A link works once, for an hour unless the operator says otherwise. Invitations to the address are
/// accepted with it.
#[utoipa::path(post, path = "/auth/verify-email", tag = "Accounts", operation_id = "verifyEmail", security(()),
    request_body = VerifyRequest,
    responses(
        (status = 200, body = Done),
        (status = 400, description = "The link is not valid, was used or has expired", body = ErrorEnvelope),
        (status = 422, body = ErrorEnvelope)))]
pub(crate) async fn verify(
    State(app): State<App>,
    _: SameSite,
    request: Request,
) -> Result<Response, Failure> {
    if Form::is_sent(request.headers()) {
        let form = Form::read(request.into_body()).await;
        return Ok(match app.verify_email(form.text("token").unwrap_or_default()).await {
            Ok(()) => page::verified(),
            Err(Error::BadRequest(_)) => page::dead(),
            Err(error) => failed(Locale::En, error),
        });
    }
    let Body(body) = Body::<VerifyRequest>::read(request).await?;
    app.verify_email(&body.token.0).await?;
    Ok(Done::new("The address was verified.").into_response())
}

/// Ask for another link to verify your address
///
/// At most three in an hour.
#[utoipa::path(post, path = "/auth/request-verification", tag = "Accounts", operation_id = "requestVerification", security(("session" = [])),
    responses(
        (status = 200, body = Done),
        (status = 400, description = "This instance sends no mail of its own", body = ErrorEnvelope),
        (status = 401, body = ErrorEnvelope),
        (status = 429, description = "Three links were sent in the last hour", body = ErrorEnvelope)))]
pub(crate) async fn request(State(app): State<App>, AnyUser(user): AnyUser) -> Result<Json<Done>> {
    let sent = app.request_verification(&user).await?;
    Ok(Done::new(if sent {
        "A link was sent to your address. It works for an hour."
    } else {
        "Your address is verified already."
    }))
}

/// Whose password is to be reset.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct ResetRequest {
    email: Email,
}

impl Payload for ResetRequest {
    const MAX_BODY: usize = 16 * 1024;
}

/// Ask for a link to reset a password
///
/// The answer is the same whether the address has an account or not. An account is sent at most three links in an hour.
#[utoipa::path(post, path = "/auth/request-password-reset", tag = "Accounts", operation_id = "requestPasswordReset", security(()),
    request_body = ResetRequest,
    responses(
        (status = 200, body = Done),
        (status = 400, description = "This instance sends no mail of its own", body = ErrorEnvelope),
        (status = 422, body = ErrorEnvelope), (status = 429, body = ErrorEnvelope)))]
pub(crate) async fn request_reset(
    State(app): State<App>,
    _: SameSite,
    Client(client): Client,
    Body(body): Body<ResetRequest>,
) -> Result<Json<Done>, Failure> {
    app.request_password_reset(&body.email.0, client).await?;
    Ok(Done::new("If the address has an account with a password, a link to reset it is on its way."))
}

/// A password to set with a link.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PasswordReset {
    /// What the link carries.
    token: LinkToken,
    new_password: NewPassword,
}

impl Payload for PasswordReset {
    const MAX_BODY: usize = 16 * 1024;
}

/// The page behind a link that resets a password
#[utoipa::path(get, path = "/auth/reset-password", tag = "Accounts", operation_id = "resetPasswordPage", security(()),
    params(("token" = Option<String>, Query, description = "What the link carries")),
    responses(
        (status = 200, description = "A page with a form that posts to the same path", content_type = "text/html", body = String),
        (status = 404, description = "A page that says that the link does not work", content_type = "text/html", body = String)))]
pub(crate) async fn reset_page(State(app): State<App>, params: Params) -> Response {
    ask_for_password(&app, params.text("token").unwrap_or_default(), None).await
}

async fn ask_for_password(app: &App, token: &str, alert: Option<&str>) -> Response {
    match app.link_address(Purpose::Reset, token).await {
        Ok(Some(email)) => page::reset(&email, token, alert),
        Ok(None) => page::dead(),
        Err(error) => failed(Locale::En, error),
    }
}

/// Reset a password
///
/// With the token of a link that was sent to the account. A link works once, for an hour. All sessions of the account
/// end.
#[utoipa::path(post, path = "/auth/reset-password", tag = "Accounts", operation_id = "resetPassword", security(()),
    request_body = PasswordReset,
    responses(
        (status = 200, body = Done),
        (status = 400, description = "The link is not valid, was used or has expired", body = ErrorEnvelope),
        (status = 422, body = ErrorEnvelope)))]
pub(crate) async fn reset(
    State(app): State<App>,
    _: SameSite,
    Client(client): Client,
    request: Request,
) -> Result<Response, Failure> {
    if Form::is_sent(request.headers()) {
        return Ok(reset_by_form(&app, &Form::read(request.into_body()).await, client).await);
    }
    let Body(body) = Body::<PasswordReset>::read(request).await?;
    app.reset_password(&body.token.0, body.new_password.into(), client).await?;
    Ok(Done::new("The password was set, and all sessions were ended. Sign in with it.").into_response())
}

async fn reset_by_form(app: &App, form: &Form, client: ClientKey) -> Response {
    let (token, password) = (form.text("token").unwrap_or_default(), form.text("newPassword"));
    if let Some(issue) = page::password_issue(password) {
        return ask_for_password(app, token, Some(&issue)).await;
    }
    match app.reset_password(token, password.unwrap_or_default().to_owned(), client).await {
        Ok(()) => page::was_reset(),
        Err(Error::BadRequest(_)) => page::dead(),
        Err(error) => failed(Locale::En, error),
    }
}
