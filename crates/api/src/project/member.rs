//! `/projects/:id/members` and `/projects/:id/invitations`.

use crate::json::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use mailwright_app::project::member::{Invitation, Invited, Manager, Member};
use mailwright_app::{App, Resource};
use mailwright_core::ids::{InvitationId, UserId};
use mailwright_core::role::Role;
use mailwright_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::account::user::Done;
use crate::auth::needs::{Leave, ManageMembers, ReadProject};
use crate::auth::{Caller, MemberAccess, PathAccess};
use crate::error::{ErrorEnvelope, Failure, Result};
use crate::fields::Email;
use crate::params;
use crate::schema::{Body, Payload};

/// A member of a project.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MemberView {
    user_id: UserId,
    email: String,
    /// Display name; null if there is none, or if somebody else added the member and the member has not agreed yet.
    name: Option<String>,
    role: Role,
    /// Whether an owner offers the project to the member, who accepts by taking the role `OWNER`.
    ownership_offered: bool,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
}

impl From<Member> for MemberView {
    fn from(member: Member) -> Self {
        Self {
            user_id: member.user,
            email: member.email.to_string(),
            name: member.name,
            role: member.role,
            ownership_offered: member.offered_by.is_some(),
            created_at: member.created_at,
        }
    }
}

impl From<Caller> for Manager {
    fn from(caller: Caller) -> Self {
        Self { actor: caller.actor, holder: caller.holder }
    }
}

/// List members
///
/// The oldest members first.
#[utoipa::path(get, path = "/projects/{id}/members", tag = "Members", operation_id = "listMembers", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)),
    responses((status = 200, body = Vec<MemberView>), (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn list(
    State(app): State<App>,
    PathAccess(project, ..): PathAccess<ReadProject>,
) -> Result<Json<Vec<MemberView>>> {
    Ok(Json(app.members(&project).await?.into_iter().map(MemberView::from).collect()))
}

/// Roles that can be given without changing the owner.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "UPPERCASE")]
pub(crate) enum GivenRole {
    /// Works with content.
    Member,
    /// Also manages settings, domains, keys and members.
    Admin,
}

/// Whom to invite.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct InviteRequest {
    email: Email,
    /// `MEMBER` when omitted.
    role: Option<GivenRole>,
}

impl Payload for InviteRequest {
    const MAX_BODY: usize = 16 * 1024;
}

/// The result of inviting somebody.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InvitedView {
    /// Id of the member; null for an invitation.
    user_id: Option<UserId>,
    email: String,
    role: Role,
    /// Id of the invitation; null if the person became a member at once.
    invitation_id: Option<InvitationId>,
    /// The token that accepts the invitation, for the invited person only: with `POST /auth/signup` for a new account,
    /// with `POST /users/@me/invitations` for an existing one. It is shown once. Null if it was sent by mail, or if a
    /// key asked for the invitation.
    token: Option<String>,
    /// Whether the invitation is valid. If a key asked for it, it becomes valid when an administrator or the owner
    /// confirms it.
    confirmed: bool,
}

impl From<Invited> for InvitedView {
    fn from(invited: Invited) -> Self {
        match invited {
            Invited::Member(member) => Self {
                user_id: Some(member.user),
                email: member.email.to_string(),
                role: member.role,
                invitation_id: None,
                token: None,
                confirmed: true,
            },
            Invited::Invitation { invitation, token } => Self {
                user_id: None,
                email: invitation.email.to_string(),
                role: invitation.role,
                invitation_id: Some(invitation.id),
                confirmed: invitation.confirmed,
                token: token.map(|token| token.reveal().to_owned()),
            },
        }
    }
}

/// Add or invite a member
///
/// A person who has an account with a verified address becomes a member at once. Others get an invitation. If the
/// instance sends mail of its own, the invitation is mailed: in 15 minutes (unless the operator sets another time) at
/// most three mails to an address by one person and 50 for a project, and your own address must be verified. Otherwise
/// the answer holds the token of the invitation, for you to pass on.
///
/// With a key nobody becomes a member and nothing is mailed: the invitation waits until an administrator or the owner
/// confirms it.
#[utoipa::path(post, path = "/projects/{id}/members", tag = "Members", operation_id = "inviteMember", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)), request_body = InviteRequest,
    responses(
        (status = 200, description = "The person is a member now", body = InvitedView),
        (status = 202, description = "Invited", body = InvitedView),
        (status = 403, body = ErrorEnvelope), (status = 404, body = ErrorEnvelope),
        (status = 409, description = "The person is a member already", body = ErrorEnvelope), (status = 422, body = ErrorEnvelope),
        (status = 429, description = "Too many invitations by mail", body = ErrorEnvelope)))]
pub(crate) async fn invite(
    State(app): State<App>,
    PathAccess(project, caller, _): PathAccess<ManageMembers>,
    Body(body): Body<InviteRequest>,
) -> Result<(StatusCode, Json<InvitedView>), Failure> {
    let role = match body.role {
        None | Some(GivenRole::Member) => Role::Member,
        Some(GivenRole::Admin) => Role::Admin,
    };
    Ok(answered(app.invite(&project, caller.into(), body.email.0, role).await?))
}

fn answered(invited: Invited) -> (StatusCode, Json<InvitedView>) {
    let status = if matches!(invited, Invited::Member(_)) { StatusCode::OK } else { StatusCode::ACCEPTED };
    (status, Json(invited.into()))
}

/// A new role for a member.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct RoleChange {
    /// `OWNER`, which only an owner can give, offers the project to the member.
    role: Role,
}

impl Payload for RoleChange {
    const MAX_BODY: usize = 16 * 1024;
}

/// Change a member's role
///
/// The role `OWNER` is only offered, with the answer 202. The member accepts the offer by sending the same request; the
/// previous owner becomes an administrator. Another offer, or another role for the member, replaces the offer. A member
/// whom somebody else added agrees by sending a request with the role that they have.
#[utoipa::path(patch, path = "/projects/{id}/members/{userId}", tag = "Members", operation_id = "updateMember", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path), ("userId" = String, Path)), request_body = RoleChange,
    responses(
        (status = 200, body = MemberView), (status = 202, description = "Offered", body = MemberView),
        (status = 403, body = ErrorEnvelope), (status = 404, body = ErrorEnvelope), (status = 422, body = ErrorEnvelope)))]
pub(crate) async fn update(
    State(app): State<App>,
    PathAccess(project, caller, _): PathAccess<ReadProject>,
    Path((_, user)): Path<(String, String)>,
    Body(body): Body<RoleChange>,
) -> Result<(StatusCode, Json<MemberView>), Failure> {
    let user: UserId = params::id(&user, Resource::Member)?;
    let member = app.change_role(&project, caller.into(), user, body.role).await?;
    let status = if member.role == body.role { StatusCode::OK } else { StatusCode::ACCEPTED };
    Ok((status, Json(member.into())))
}

/// Remove a member
///
/// Members can remove themselves, also from a disabled project. The last owner cannot leave, unless the project is
/// disabled: then the project keeps its data, and still counts as one of the owner's projects.
#[utoipa::path(delete, path = "/projects/{id}/members/{userId}", tag = "Members", operation_id = "removeMember", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path), ("userId" = String, Path)),
    responses((status = 200, body = Done), (status = 403, body = ErrorEnvelope), (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn remove(
    State(app): State<App>,
    PathAccess(project, caller, _): PathAccess<Leave>,
    Path((_, user)): Path<(String, String)>,
) -> Result<Json<Done>> {
    let user: UserId = params::id(&user, Resource::Member)?;
    app.remove_member(&project, caller.into(), user).await?;
    Ok(Done::new("The member was removed."))
}

/// An invitation that nobody accepted yet.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InvitationView {
    id: InvitationId,
    email: String,
    role: Role,
    /// Who invited: an address, or a key's name.
    invited_by: String,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// When it can no longer be accepted.
    #[schema(value_type = String, format = DateTime)]
    expires_at: Timestamp,
    /// Whether the invitation is valid. If a key asked for it, it becomes valid when an administrator or the owner
    /// confirms it.
    confirmed: bool,
}

impl From<Invitation> for InvitationView {
    fn from(invitation: Invitation) -> Self {
        Self {
            id: invitation.id,
            email: invitation.email.to_string(),
            role: invitation.role,
            invited_by: invitation.invited_by,
            created_at: invitation.created_at,
            expires_at: invitation.expires_at,
            confirmed: invitation.confirmed,
        }
    }
}

/// List invitations
#[utoipa::path(get, path = "/projects/{id}/invitations", tag = "Members", operation_id = "listInvitations", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)),
    responses((status = 200, body = Vec<InvitationView>), (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn invitations(
    State(app): State<App>,
    PathAccess(project, ..): PathAccess<ReadProject>,
) -> Result<Json<Vec<InvitationView>>> {
    Ok(Json(app.invitations(&project).await?.into_iter().map(InvitationView::from).collect()))
}

/// Withdraw an invitation
///
/// A key can only withdraw invitations to the role `MEMBER`.
#[utoipa::path(delete, path = "/projects/{id}/invitations/{invitationId}", tag = "Members", operation_id = "withdrawInvitation", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path), ("invitationId" = String, Path)),
    responses((status = 200, body = Done), (status = 403, body = ErrorEnvelope), (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn withdraw(
    State(app): State<App>,
    PathAccess(project, caller, _): PathAccess<ManageMembers>,
    Path((_, id)): Path<(String, String)>,
) -> Result<Json<Done>> {
    let id: InvitationId = params::id(&id, Resource::Invitation)?;
    app.withdraw_invitation(&project, caller.into(), id).await?;
    Ok(Done::new("The invitation was withdrawn."))
}

/// Confirm an invitation that a key asked for
///
/// The invitation becomes yours, as if you had invited the address yourself.
#[utoipa::path(post, path = "/projects/{id}/invitations/{invitationId}/confirm", tag = "Members", operation_id = "confirmInvitation", security(("session" = [])),
    params(("id" = String, Path), ("invitationId" = String, Path)),
    responses(
        (status = 200, description = "The person is a member now", body = InvitedView),
        (status = 202, description = "Invited", body = InvitedView),
        (status = 403, body = ErrorEnvelope), (status = 404, body = ErrorEnvelope),
        (status = 409, description = "A person made or confirmed the invitation, or the address belongs to a member", body = ErrorEnvelope),
        (status = 429, description = "Too many invitations by mail", body = ErrorEnvelope)))]
pub(crate) async fn confirm(
    State(app): State<App>,
    MemberAccess(project, caller, _): MemberAccess<ManageMembers>,
    Path((_, id)): Path<(String, String)>,
) -> Result<(StatusCode, Json<InvitedView>)> {
    let id: InvitationId = params::id(&id, Resource::Invitation)?;
    Ok(answered(app.confirm_invitation(&project, caller.into(), id).await?))
}
