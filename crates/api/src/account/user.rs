//! `/users/@me`: the signed-in user.

use crate::json::Json;
use axum::extract::State;
use mailwright_app::{App, Resource};
use mailwright_core::ids::{SessionId, UserId};
use mailwright_core::patch::Patch;
use mailwright_core::time::Timestamp;
use mailwright_store::account::session::Listed;
use mailwright_store::account::user::User;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::auth::{Client, ProofRequest, RecentProof, SignedInUser};
use crate::envelope::Time;
use crate::error::{ErrorEnvelope, Failure, Result};
use crate::fields::{LinkToken, NewPassword, Password, PlainName};
use crate::params::{self, PathText};
use crate::schema::{Body, Payload};

/// An account.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UserView {
    id: UserId,
    email: String,
    /// Display name.
    name: Option<String>,
    /// How the account signs in: with a `PASSWORD`, or `EXTERNAL` (with a provider).
    r#type: &'static str,
    /// Whether the person proved that they receive mail at the address.
    email_verified: bool,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
}

impl From<User> for UserView {
    fn from(user: User) -> Self {
        Self {
            id: user.id,
            email: user.email.to_string(),
            name: user.name,
            r#type: if user.has_password { "PASSWORD" } else { "EXTERNAL" },
            email_verified: user.email_verified,
            created_at: user.created_at,
        }
    }
}

/// Show who is signed in
#[utoipa::path(get, path = "/users/@me", tag = "Accounts", operation_id = "getMe", security(("session" = [])),
    responses((status = 200, body = UserView), (status = 401, body = ErrorEnvelope)))]
pub(crate) async fn get(user: SignedInUser) -> Json<UserView> {
    Json(user.user.into())
}

/// Changes to an account.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct UserChange {
    /// Your display name; null for none.
    #[serde(default)]
    #[schema(value_type = Option<PlainName>)]
    name: Patch<PlainName>,
}

impl Payload for UserChange {
    const MAX_BODY: usize = 16 * 1024;
}

/// Change your account
#[utoipa::path(patch, path = "/users/@me", tag = "Accounts", operation_id = "updateMe", security(("session" = [])),
    request_body = UserChange,
    responses((status = 200, body = UserView), (status = 401, body = ErrorEnvelope), (status = 422, body = ErrorEnvelope)))]
pub(crate) async fn update(
    State(app): State<App>,
    user: SignedInUser,
    Body(body): Body<UserChange>,
) -> Result<Json<UserView>, Failure> {
    let mut name = user.user.name.clone();
    body.name.map(|name| name.0.trim().to_owned()).apply(&mut name);
    Ok(Json(app.rename_user(&user.user, name).await?.into()))
}

/// Something that was done.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Done {
    /// Always true.
    success: bool,
    /// What was done.
    message: &'static str,
}

impl Done {
    pub(crate) fn new(message: &'static str) -> Json<Self> {
        Json(Self { success: true, message })
    }
}

/// Delete your account
///
/// Leave or delete your projects first. More than ten minutes after signing in, the request needs your password.
#[utoipa::path(delete, path = "/users/@me", tag = "Accounts", operation_id = "deleteMe", security(("session" = [])),
    request_body = ProofRequest,
    responses(
        (status = 200, body = Done),
        (status = 401, description = "Not signed in, or the password or the code is wrong", body = ErrorEnvelope),
        (status = 403, description = "The password is needed", body = ErrorEnvelope),
        (status = 409, description = "You are a member of a project", body = ErrorEnvelope)))]
pub(crate) async fn delete(State(app): State<App>, user: SignedInUser, _: RecentProof) -> Result<Json<Done>> {
    app.delete_user(&user.user).await?;
    Ok(Done::new("The account was deleted."))
}

/// A change of password.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PasswordChange {
    current_password: Password,
    new_password: NewPassword,
}

impl Payload for PasswordChange {
    const MAX_BODY: usize = 16 * 1024;
}

/// Change your password
///
/// Ends your other sessions.
#[utoipa::path(post, path = "/users/@me/password", tag = "Accounts", operation_id = "changePassword", security(("session" = [])),
    request_body = PasswordChange,
    responses(
        (status = 200, body = Done),
        (status = 401, description = "Not signed in, or the current password is wrong", body = ErrorEnvelope),
        (status = 422, body = ErrorEnvelope), (status = 429, body = ErrorEnvelope)))]
pub(crate) async fn change_password(
    State(app): State<App>,
    user: SignedInUser,
    Client(client): Client,
    Body(body): Body<PasswordChange>,
) -> Result<Json<Done>, Failure> {
    let (current, new) = (body.current_password.into(), body.new_password.into());
    app.change_password(&user.user, current, new, user.session, client).await?;
    Ok(Done::new("The password was changed, and your other sessions were ended."))
}

/// An invitation to accept.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct Acceptance {
    /// The token in the invitation's link.
    token: LinkToken,
}

impl Payload for Acceptance {
    const MAX_BODY: usize = 16 * 1024;
}

/// Accept an invitation
///
/// The invitation must be to your own address. It can be accepted once.
#[utoipa::path(post, path = "/users/@me/invitations", tag = "Accounts", operation_id = "acceptInvitation", security(("session" = [])),
    request_body = Acceptance,
    responses(
        (status = 200, body = Done), (status = 401, body = ErrorEnvelope),
        (status = 403, description = "The project is disabled; the invitation stays valid", body = ErrorEnvelope),
        (status = 404, description = "The invitation is to another address, was used or has expired", body = ErrorEnvelope),
        (status = 409, description = "The project has no room for another member", body = ErrorEnvelope)))]
pub(crate) async fn accept_invitation(
    State(app): State<App>,
    user: SignedInUser,
    Body(body): Body<Acceptance>,
) -> Result<Json<Done>, Failure> {
    app.accept_invitation(&user.user, &body.token.0).await?;
    Ok(Done::new("You are a member of the project now."))
}

/// One of your sessions.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SessionView {
    id: SessionId,
    /// The `User-Agent` of the program that used it last.
    client: Option<String>,
    /// Whether it is the session of this request.
    current: bool,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// When it was used last, to the minute.
    #[schema(value_type = Option<String>, format = DateTime)]
    last_used_at: Time,
    /// When it ends by itself.
    #[schema(value_type = String, format = DateTime)]
    expires_at: Timestamp,
}

/// List your sessions
///
/// The newest first.
#[utoipa::path(get, path = "/users/@me/sessions", tag = "Accounts", operation_id = "listSessions", security(("session" = [])),
    responses((status = 200, body = Vec<SessionView>), (status = 401, body = ErrorEnvelope)))]
pub(crate) async fn sessions(State(app): State<App>, user: SignedInUser) -> Result<Json<Vec<SessionView>>> {
    let view = |listed: Listed| SessionView {
        current: listed.id == user.session,
        id: listed.id,
        client: listed.client,
        created_at: listed.created_at,
        last_used_at: listed.used_at,
        expires_at: listed.expires_at,
    };
    Ok(Json(app.sessions(&user.user).await?.into_iter().map(view).collect()))
}

/// End one of your sessions
///
/// The session ends at once, on every node; its cookie is worth nothing any more.
#[utoipa::path(delete, path = "/users/@me/sessions/{id}", tag = "Accounts", operation_id = "endSession", security(("session" = [])),
    params(("id" = String, Path)),
    responses(
        (status = 200, body = Done), (status = 401, body = ErrorEnvelope),
        (status = 404, description = "You have no such session", body = ErrorEnvelope)))]
pub(crate) async fn end_session(
    State(app): State<App>,
    user: SignedInUser,
    PathText(id): PathText,
) -> Result<Json<Done>> {
    app.end_session(&user.user, params::id(&id, Resource::Session)?).await?;
    Ok(Done::new("The session was ended."))
}
