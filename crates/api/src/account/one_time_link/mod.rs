//! `/auth`: links that were sent to an address, to prove it or to set another password.
//!
//! A link leads to a page of the same path. Opening it changes nothing, because link scanners follow links. The form on
//! the page does, and posts to the path to which programs post JSON.

pub(crate) mod page;

use crate::json::Json;
use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use mailwright_app::account::client_key::ClientKey;
use mailwright_app::{App, Error};
use mailwright_core::issue::Issue;
use mailwright_core::locale::Locale;
use mailwright_store::account::one_time_link::Purpose;
use serde::Deserialize;
use utoipa::ToSchema;

use self::page::Wrong;
use crate::account::user::Done;
use crate::auth::{AnyUser, Client, SameSite, visitor};
use crate::error::{ErrorEnvelope, Failure, Result};
use crate::fields::{Email, LinkToken, NewPassword, Password};
use crate::page::{Form, failed};
use crate::params::Params;
use crate::schema::{Body, Payload};

/// A link that was opened.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct VerifyRequest {
    /// The token in the link.
    token: LinkToken,
    /// The account's password; required if you are not signed in with the account.
    password: Option<Password>,
    /// If somebody else created the account: a new password. The account is yours then, and its sessions end.
    new_password: Option<NewPassword>,
    /// True if somebody else created the account and it is to be deleted. At most one of this, `password` and
    /// `newPassword` is given.
    not_mine: Option<bool>,
}

/// The fields of the page's form.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "it documents the form, which is read field by field")]
#[serde(rename_all = "camelCase")]
pub(crate) struct VerifyForm {
    /// The token in the link.
    token: LinkToken,
    /// If it is left out, the address is verified.
    action: Option<VerifyAction>,
    /// The account's password; required if you are not signed in with the account.
    password: Option<Password>,
    /// With `claim`: the password that the account gets.
    new_password: Option<NewPassword>,
}

/// What the owner of the address can do if somebody else created the account.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "it documents a field of the form")]
#[serde(rename_all = "lowercase")]
pub(crate) enum VerifyAction {
    /// Take it over.
    Claim,
    /// Have it deleted, or locked.
    Disown,
}

impl Payload for VerifyRequest {
    const MAX_BODY: usize = 16 * 1024;

    fn check_across(&self) -> Vec<Issue> {
        let given = [
            ("password", self.password.is_some()),
            ("newPassword", self.new_password.is_some()),
            ("notMine", self.not_mine == Some(true)),
        ];
        let given: Vec<_> = given.into_iter().filter(|(_, given)| *given).collect();
        if given.len() < 2 {
            return Vec::new();
        }
        let text = "Pass only one of password, newPassword and notMine: they contradict each other.";
        given.into_iter().map(|(name, _)| Issue::new(name, "custom", text)).collect()
    }
}

/// The page behind a link that verifies an address
#[utoipa::path(get, path = "/auth/verify-email", tag = "Accounts", operation_id = "verifyEmailPage", security(()),
    params(("token" = Option<String>, Query, description = "The token in the link")),
    responses(
        (status = 200, description = "A page with a button that posts to the same path", content_type = "text/html", body = String),
        (status = 404, description = "A page that says that the link does not work", content_type = "text/html", body = String)))]
pub(crate) async fn verify_page(State(app): State<App>, params: Params, headers: HeaderMap) -> Response {
    ask_to_verify(&app, params.text("token").unwrap_or_default(), &headers, None).await
}

/// The page as it is opened, or once more after what was wrong with the last try.
async fn ask_to_verify(app: &App, token: &str, headers: &HeaderMap, wrong: Option<Wrong>) -> Response {
    let opened = async {
        let Some((user, email)) = app.opened_link(Purpose::Verify, token).await? else { return Ok(None) };
        let visitor = visitor(app, headers).await?;
        Ok::<_, mailwright_app::Error>(Some((email, visitor.is_some_and(|visitor| visitor.id == user))))
    };
    match opened.await {
        Ok(Some((email, signed_in))) => page::verify(&email, token, signed_in, wrong.as_ref()),
        Ok(None) => page::dead(),
        Err(error) => failed(Locale::En, error),
    }
}

/// Verify an address
///
/// Takes the token of a link that was sent to the address. A link works once, for an hour unless the operator sets
/// another time. Invitations to the address are accepted as well.
///
/// The token proves only that you receive the mail, and anybody can sign up with somebody else's address. So the
/// request also needs the session of the account, or `password`. If you did not create the account, send `newPassword`
/// or `notMine`.
#[utoipa::path(post, path = "/auth/verify-email", tag = "Accounts", operation_id = "verifyEmail", security((), ("session" = [])),
    request_body(content((VerifyRequest = "application/json"), (VerifyForm = "application/x-www-form-urlencoded"))),
    responses(
        (status = 200, content((Done = "application/json"), (String = "text/html"))),
        (status = 400, description = "The link is not valid, was used or has expired", body = ErrorEnvelope),
        (status = 401, description = "The password is wrong; a browser gets the page with its form again", content((ErrorEnvelope = "application/json"), (String = "text/html"))),
        (status = 403, description = "With the code PASSWORD_REQUIRED: you are not signed in with the account here. Or the request comes from a page of another site", body = ErrorEnvelope),
        (status = 404, description = "The page's link is not valid, was used or has expired", content_type = "text/html", body = String),
        (status = 422, description = "The request is not valid; a browser gets the page with its form again", content((ErrorEnvelope = "application/json"), (String = "text/html")))))]
pub(crate) async fn verify(
    State(app): State<App>,
    _: SameSite,
    Client(client): Client,
    headers: HeaderMap,
    request: Request,
) -> Result<Response, Failure> {
    if Form::is_sent(request.headers()) {
        return Ok(match Form::read(request).await {
            Ok(form) => verify_by_form(&app, &form, &headers, client).await,
            Err(failed) => failed,
        });
    }
    let Body(body) = Body::<VerifyRequest>::read(request).await?;
    let token = &body.token.0;
    if body.not_mine == Some(true) {
        return Ok(Done::new(disowned(app.disown_account(token).await?)).into_response());
    }
    if let Some(new) = body.new_password {
        app.claim_account(token, new.into(), client).await?;
        return Ok(Done::new("The account is yours: the password was set, and all sessions were ended.")
            .into_response());
    }
    let visitor = visitor(&app, &headers).await?.map(|visitor| visitor.id);
    app.verify_email(token, visitor, body.password.map(Into::into), client).await?;
    Ok(Done::new("The address was verified.").into_response())
}

fn disowned(removed: bool) -> &'static str {
    if removed {
        "The account was deleted."
    } else {
        "The account was locked, because it has projects: nobody can sign in with it any more."
    }
}

/// What a form holds that does not belong to its action.
fn out_of_place(form: &Form) -> Vec<&'static str> {
    let (others, known): (&[_], bool) = match form.text("action") {
        None => (&["newPassword"], true),
        Some("claim") => (&["password"], true),
        Some("disown") => (&["password", "newPassword"], true),
        Some(_) => (&[], false),
    };
    let found = others.iter().copied().filter(|name| form.text(name).is_some());
    found.chain((!known).then_some("action")).collect()
}

async fn verify_by_form(app: &App, form: &Form, headers: &HeaderMap, client: ClientKey) -> Response {
    let wrong = out_of_place(form);
    if !wrong.is_empty() {
        return page::contradictory(&wrong);
    }
    let token = form.text("token").unwrap_or_default();
    let outcome = match form.text("action") {
        Some("claim") => {
            let password = form.text("newPassword");
            if let Some(issue) = page::password_issue(password) {
                return ask_to_verify(app, token, headers, Some(Wrong::NewPassword(issue))).await;
            }
            let claimed = app.claim_account(token, password.unwrap_or_default().to_owned(), client).await;
            claimed.map(|()| page::claimed())
        }
        Some("disown") => app.disown_account(token).await.map(|removed| page::disowned(disowned(removed))),
        _ => match visitor(app, headers).await {
            Ok(visitor) => {
                let password = form.text("password").map(str::to_owned);
                let verified = app.verify_email(token, visitor.map(|visitor| visitor.id), password, client);
                verified.await.map(|()| page::verified())
            }
            Err(error) => Err(error),
        },
    };
    match outcome {
        Ok(page) => page,
        Err(Error::BadRequest(_)) => page::dead(),
        Err(Error::PasswordRequired(_)) => ask_to_verify(app, token, headers, Some(Wrong::NoPassword)).await,
        Err(Error::InvalidCredentials) => ask_to_verify(app, token, headers, Some(Wrong::Password)).await,
        Err(error) => failed(Locale::En, error),
    }
}

/// Ask for another link to verify your address
///
/// At most three links are sent in an hour.
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

/// The account whose password is to be reset.
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
        (status = 403, description = "The request comes from a page of another site", body = ErrorEnvelope),
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
    /// The token in the link.
    token: LinkToken,
    /// The password that the account gets.
    new_password: NewPassword,
}

impl Payload for PasswordReset {
    const MAX_BODY: usize = 16 * 1024;
}

/// The page behind a link that resets a password
#[utoipa::path(get, path = "/auth/reset-password", tag = "Accounts", operation_id = "resetPasswordPage", security(()),
    params(("token" = Option<String>, Query, description = "The token in the link")),
    responses(
        (status = 200, description = "A page with a form that posts to the same path", content_type = "text/html", body = String),
        (status = 404, description = "A page that says that the link does not work", content_type = "text/html", body = String)))]
pub(crate) async fn reset_page(State(app): State<App>, params: Params) -> Response {
    ask_for_password(&app, params.text("token").unwrap_or_default(), None).await
}

async fn ask_for_password(app: &App, token: &str, alert: Option<&str>) -> Response {
    match app.opened_link(Purpose::Reset, token).await {
        Ok(Some((_, email))) => page::reset(&email, token, alert),
        Ok(None) => page::dead(),
        Err(error) => failed(Locale::En, error),
    }
}

/// Reset a password
///
/// Takes the token of a link that was sent to the account. A link works once, for an hour. All sessions of the account
/// end.
#[utoipa::path(post, path = "/auth/reset-password", tag = "Accounts", operation_id = "resetPassword", security(()),
    request_body(content((PasswordReset = "application/json"), (PasswordReset = "application/x-www-form-urlencoded"))),
    responses(
        (status = 200, content((Done = "application/json"), (String = "text/html"))),
        (status = 400, description = "The link is not valid, was used or has expired", body = ErrorEnvelope),
        (status = 403, description = "The request comes from a page of another site", body = ErrorEnvelope),
        (status = 404, description = "The page's link is not valid, was used or has expired", content_type = "text/html", body = String),
        (status = 422, description = "The request is not valid; a browser gets the page with its form again", content((ErrorEnvelope = "application/json"), (String = "text/html")))))]
pub(crate) async fn reset(
    State(app): State<App>,
    _: SameSite,
    Client(client): Client,
    request: Request,
) -> Result<Response, Failure> {
    if Form::is_sent(request.headers()) {
        return Ok(match Form::read(request).await {
            Ok(form) => reset_by_form(&app, &form, client).await,
            Err(failed) => failed,
        });
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
