//! `/users/@me/totp`: the second factor.

use crate::json::Json;
use axum::extract::State;
use axum::http::header;
use mailwright_app::App;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::account::user::Done;
use crate::auth::{Client, SignedInUser};
use crate::error::{ErrorEnvelope, Failure, Result};
use crate::fields::{Code, Password};
use crate::schema::{Body, Payload};

/// An answer with a secret, which nobody on the way may keep.
type Unkept<T> = ([(header::HeaderName, &'static str); 1], Json<T>);

fn unkept<T>(body: T) -> Unkept<T> {
    ([(header::CACHE_CONTROL, "no-store")], Json(body))
}

/// Whether a code is asked for at sign-in.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FactorView {
    enabled: bool,
    /// Recovery codes that were not used yet.
    recovery_codes_left: i64,
}

/// Show your second factor
#[utoipa::path(get, path = "/users/@me/totp", tag = "Accounts", operation_id = "getTotp", security(("session" = [])),
    responses((status = 200, body = FactorView), (status = 401, body = ErrorEnvelope)))]
pub(crate) async fn get(State(app): State<App>, user: SignedInUser) -> Result<Json<FactorView>> {
    let standing = app.second_factor(&user.user).await?;
    Ok(Json(FactorView { enabled: standing.enabled, recovery_codes_left: standing.recovery_codes_left }))
}

/// A request to set up a second factor.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct BeginRequest {
    /// Your password, so that somebody else at an unattended browser cannot do it.
    password: Password,
}

impl Payload for BeginRequest {
    const MAX_BODY: usize = 16 * 1024;
}

/// A second factor to be confirmed. It is shown once.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct BegunView {
    /// The seed in Base32, for typing it in.
    secret: String,
    /// The seed as an `otpauth:` link, to be shown as a QR code.
    uri: String,
}

/// Set up a second factor
///
/// Creates the seed for an authenticator app. The second factor is active once it is confirmed with a code.
#[utoipa::path(post, path = "/users/@me/totp", tag = "Accounts", operation_id = "beginTotp", security(("session" = [])),
    request_body = BeginRequest,
    responses(
        (status = 200, body = BegunView),
        (status = 401, description = "Not signed in, or the password is wrong", body = ErrorEnvelope),
        (status = 409, description = "The account has a second factor already, or no password", body = ErrorEnvelope),
        (status = 422, body = ErrorEnvelope), (status = 429, body = ErrorEnvelope)))]
pub(crate) async fn begin(
    State(app): State<App>,
    user: SignedInUser,
    Client(client): Client,
    Body(body): Body<BeginRequest>,
) -> Result<Unkept<BegunView>, Failure> {
    let begun = app.begin_second_factor(&user.user, body.password.into(), client).await?;
    Ok(unkept(BegunView { secret: begun.secret, uri: begun.uri }))
}

/// The code that confirms a second factor.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct ConfirmRequest {
    /// The code that the authenticator app shows.
    code: Code,
}

impl Payload for ConfirmRequest {
    const MAX_BODY: usize = 16 * 1024;
}

/// Recovery codes, each of which replaces a code of the device once. They are shown once.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ConfirmedView {
    recovery_codes: Vec<String>,
}

/// Confirm a second factor
///
/// From now on a code is asked for at sign-in, and your other sessions end. The answer holds recovery codes for when
/// the device is lost.
#[utoipa::path(post, path = "/users/@me/totp/confirm", tag = "Accounts", operation_id = "confirmTotp", security(("session" = [])),
    request_body = ConfirmRequest,
    responses(
        (status = 200, body = ConfirmedView),
        (status = 401, description = "Not signed in, or the code is wrong", body = ErrorEnvelope),
        (status = 409, description = "There is no second factor to confirm", body = ErrorEnvelope),
        (status = 422, body = ErrorEnvelope), (status = 429, body = ErrorEnvelope)))]
pub(crate) async fn confirm(
    State(app): State<App>,
    user: SignedInUser,
    Client(client): Client,
    Body(body): Body<ConfirmRequest>,
) -> Result<Unkept<ConfirmedView>, Failure> {
    let recovery_codes = app.confirm_second_factor(&user.user, user.session, &body.code.0, client).await?;
    Ok(unkept(ConfirmedView { recovery_codes }))
}

/// Replace your recovery codes
///
/// The previous recovery codes become invalid.
#[utoipa::path(post, path = "/users/@me/totp/recovery-codes", tag = "Accounts", operation_id = "renewRecoveryCodes", security(("session" = [])),
    request_body = FactorProof,
    responses(
        (status = 200, body = ConfirmedView),
        (status = 401, description = "Not signed in, or the password or the code is wrong", body = ErrorEnvelope),
        (status = 409, description = "You have no second factor", body = ErrorEnvelope),
        (status = 422, body = ErrorEnvelope), (status = 429, body = ErrorEnvelope)))]
pub(crate) async fn renew(
    State(app): State<App>,
    user: SignedInUser,
    Client(client): Client,
    Body(body): Body<FactorProof>,
) -> Result<Unkept<ConfirmedView>, Failure> {
    let recovery_codes =
        app.renew_recovery_codes(&user.user, body.password.into(), body.code.into(), client).await?;
    Ok(unkept(ConfirmedView { recovery_codes }))
}

/// Proof that is needed to remove a second factor or to replace its recovery codes.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct FactorProof {
    password: Password,
    /// A code of the authenticator app, or a recovery code.
    code: Code,
}

impl Payload for FactorProof {
    const MAX_BODY: usize = 16 * 1024;
}

/// Remove your second factor
///
/// Your other sessions end.
#[utoipa::path(delete, path = "/users/@me/totp", tag = "Accounts", operation_id = "removeTotp", security(("session" = [])),
    request_body = FactorProof,
    responses(
        (status = 200, body = Done),
        (status = 401, description = "Not signed in, or the password or the code is wrong", body = ErrorEnvelope),
        (status = 409, description = "You have no second factor", body = ErrorEnvelope),
        (status = 422, body = ErrorEnvelope), (status = 429, body = ErrorEnvelope)))]
pub(crate) async fn remove(
    State(app): State<App>,
    user: SignedInUser,
    Client(client): Client,
    Body(body): Body<FactorProof>,
) -> Result<Json<Done>, Failure> {
    let (password, code) = (body.password.into(), body.code.into());
    app.remove_second_factor(&user.user, user.session, password, code, client).await?;
    Ok(Done::new("The second factor was removed."))
}
