//! `/projects/:id/members` and `/projects/:id/invitations`.

use axum::Json;
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
    /// How the person wants to be called; null as well for a member whom somebody else added and who did not agree yet.
    name: Option<String>,
    role: Role,
    /// Whether an owner offers the project to the member, who owns it by taking the role `OWNER`.
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
/// Those who came first first.
#[utoipa::path(get, path = "/projects/{id}/members", tag = "Members", operation_id = "listMembers", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)),
    responses((status = 200, body = Vec<MemberView>), (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn list(
    State(app): State<App>,
    PathAccess(project, ..): PathAccess<ReadProject>,
) -> Result<Json<Vec<MemberView>>> {
    Ok(Json(app.members(&project).await?.into_iter().map(MemberView::from).collect()))
}

/// Roles that can be given away while the owner stays.
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

/// What became of inviting somebody.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InvitedView {
    /// The member; null for an invitation.
    user_id: Option<UserId>,
    email: String,
    role: Role,
    /// The invitation that waits for the address; null for who is a member now.
    invitation_id: Option<InvitationId>,
    /// What accepts the invitation, for the invited person alone: at `POST /auth/signup` with a new account, at
    /// `POST /users/@me/invitations` with one that is there by then. It is shown once, and null where the person was
    /// sent it, or where a key asked for the invitation.
    token: Option<String>,
    /// Whether the invitation counts. One that a key asked for does when a member who manages members confirms it.
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
/// Who has an account with a verified address is a member at once. Others get an invitation, by mail where the instance
/// sends any: at most three to an address by one person and 50 for a project in 15 minutes, unless the operator says otherwise; for
/// these your own address must be verified. Elsewhere the answer holds what accepts the invitation, for you to pass on.
///
/// With a key nobody becomes a member and nothing is mailed: the invitation waits until a member who manages members
/// confirms it.
#[utoipa::path(post, path = "/projects/{id}/members", tag = "Members", operation_id = "inviteMember", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)), request_body = InviteRequest,
    responses(
        (status = 200, description = "A member now", body = InvitedView),
        (status = 202, description = "Invited", body = InvitedView),
        (status = 403, body = ErrorEnvelope), (status = 404, body = ErrorEnvelope),
        (status = 409, description = "A member already", body = ErrorEnvelope), (status = 422, body = ErrorEnvelope),
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

/// A member's other role.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct RoleChange {
    /// `OWNER` offers the project to the member, which only its owner can.
    role: Role,
}

impl Payload for RoleChange {
    const MAX_BODY: usize = 16 * 1024;
}

/// Change a member's role
///
/// The role `OWNER` is offered, and answered with 202. The member takes the offer with the same request in his own name;
/// who was the owner stays as an administrator. Another offer, or another role for the member, takes its place. A member
/// whom somebody else added agrees to be one with the role that he has.
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
/// disabled: then it keeps its data, and counts against the owner as before.
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
    /// Whether it counts. One that a key asked for does when a member who manages members confirms it.
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
/// A key withdraws those to the role `MEMBER`.
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
/// It becomes yours: what happens is what happens when you invite the address yourself.
#[utoipa::path(post, path = "/projects/{id}/invitations/{invitationId}/confirm", tag = "Members", operation_id = "confirmInvitation", security(("session" = [])),
    params(("id" = String, Path), ("invitationId" = String, Path)),
    responses(
        (status = 200, description = "A member now", body = InvitedView),
        (status = 202, description = "Invited", body = InvitedView),
        (status = 403, body = ErrorEnvelope), (status = 404, body = ErrorEnvelope),
        (status = 409, description = "A person made it, or the address is a member already", body = ErrorEnvelope),
        (status = 429, description = "Too many invitations by mail", body = ErrorEnvelope)))]
pub(crate) async fn confirm(
    State(app): State<App>,
    MemberAccess(project, caller, _): MemberAccess<ManageMembers>,
    Path((_, id)): Path<(String, String)>,
) -> Result<(StatusCode, Json<InvitedView>)> {
    let id: InvitationId = params::id(&id, Resource::Invitation)?;
    Ok(answered(app.confirm_invitation(&project, caller.into(), id).await?))
}
