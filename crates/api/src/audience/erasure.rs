//! `/contacts/:id/erase` and `/erasures`: the erasure of a person, and its receipt.

use axum::extract::State;
use axum::http::StatusCode;
use mailwright_app::audience::erasure::{Receipt, Whom};
use mailwright_app::{App, Resource};
use mailwright_core::audit::Actor;
use mailwright_core::erasure::ErasureStatus;
use mailwright_core::ids::ErasureId;
use mailwright_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::auth::needs::ErasePeople;
use crate::auth::{HasProof, ProjectAccess, Proven};
use crate::envelope::Time;
use crate::error::{ErrorEnvelope, Failure, Result};
use crate::fields::{Code, Email, Password};
use crate::json::Json;
use crate::params::{self, PathText};
use crate::schema::{Body, Payload};

/// What an erasure is to do, and the proof that you are the person who signed in.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EraseRequest {
    /// Whether the address is kept out of the project afterwards: no import, event, send or request makes a contact of it
    /// again. The person may come back with a form that uses the public key.
    #[serde(default)]
    keep_out: bool,
    /// Your password, more than ten minutes after signing in.
    password: Option<Password>,
    /// Required if you have a second factor: the code that the authenticator app shows, or a recovery code.
    code: Option<Code>,
}

impl Payload for EraseRequest {
    const MAX_BODY: usize = 16 * 1024;
}

impl HasProof for EraseRequest {
    fn proof(&mut self) -> (Option<Password>, Option<Code>) {
        (self.password.take(), self.code.take())
    }
}

/// The address of the person to erase, and the proof that you are the person who signed in.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EraseAddressRequest {
    email: Email,
    /// Whether the address is kept out of the project afterwards.
    #[serde(default)]
    keep_out: bool,
    /// Your password, more than ten minutes after signing in.
    password: Option<Password>,
    /// Required if you have a second factor: the code that the authenticator app shows, or a recovery code.
    code: Option<Code>,
}

impl Payload for EraseAddressRequest {
    const MAX_BODY: usize = 16 * 1024;
}

impl HasProof for EraseAddressRequest {
    fn proof(&mut self) -> (Option<Password>, Option<Code>) {
        (self.password.take(), self.code.take())
    }
}

/// An erasure that was asked for.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ErasureBegun {
    /// The receipt.
    id: ErasureId,
    /// How far it is.
    status: ErasureStatus,
}

impl From<Receipt> for ErasureBegun {
    fn from(receipt: Receipt) -> Self {
        Self { id: receipt.id, status: receipt.status }
    }
}

/// The receipt of an erasure. It has nothing of the person.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ErasureReceipt {
    id: ErasureId,
    /// How far it is.
    status: ErasureStatus,
    /// Whether the address is kept out of the project.
    keep_out: bool,
    requested_by: ErasureActor,
    /// The address as HMAC-SHA256 with the project's key, in hexadecimal digits.
    address_hash: String,
    /// How many records went, by their kinds; kinds of which there was none are missing. `emails` are mails whose rows
    /// stay without address and content, `stopped` those of them that were not sent any more.
    #[schema(value_type = Object)]
    counts: Map<String, Value>,
    #[schema(value_type = String, format = DateTime)]
    requested_at: Timestamp,
    /// When nothing was left; null while it is under way.
    #[schema(value_type = Option<String>, format = DateTime)]
    completed_at: Time,
}

/// Who asked for an erasure.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ErasureActor {
    /// `user`, or `operator`.
    r#type: &'static str,
    /// The user's id.
    id: Option<String>,
}

impl From<Receipt> for ErasureReceipt {
    fn from(receipt: Receipt) -> Self {
        let (r#type, id) = match receipt.actor {
            Actor::User { id, .. } => ("user", Some(id.to_string())),
            Actor::Key { id, .. } => ("key", Some(id.to_string())),
            Actor::Operator => ("operator", None),
            Actor::Service => ("service", None),
        };
        Self {
            id: receipt.id,
            status: receipt.status,
            keep_out: receipt.keep_out,
            requested_by: ErasureActor { r#type, id },
            address_hash: hex::encode(receipt.address_hash),
            counts: receipt.counts,
            requested_at: receipt.requested_at,
            completed_at: receipt.completed_at,
        }
    }
}

/// Erase a person
///
/// Removes the contact and everything about it: events, mails, captured mails, mails that it wrote, executions, hits,
/// suppressions, import rows. When this is answered the contact is gone and gets no more mail; the rest follows in the
/// background, and the receipt says when nothing is left. Rows of mails stay without address and content, for the sums.
/// Erasing a contact again answers the receipt that there is. It cannot be undone: more than ten minutes after signing
/// in, the request needs your password.
#[utoipa::path(post, path = "/contacts/{id}/erase", tag = "Erasure", operation_id = "eraseContact", security(("session" = [])),
    params(("id" = String, Path)), request_body = EraseRequest,
    responses(
        (status = 202, description = "The contact is gone, the rest follows", body = ErasureBegun),
        (status = 401, description = "Not signed in, or the password or the code is wrong", body = ErrorEnvelope),
        (status = 403, description = "Not allowed, or the password is needed", body = ErrorEnvelope),
        (status = 404, body = ErrorEnvelope),
        (status = 429, description = "1,000 erasures of the project are under way", body = ErrorEnvelope)))]
pub(crate) async fn erase(
    State(app): State<App>,
    ProjectAccess(project, caller, _): ProjectAccess<ErasePeople>,
    PathText(id): PathText,
    Proven(body): Proven<EraseRequest>,
) -> Result<(StatusCode, Json<ErasureBegun>), Failure> {
    let whom = Whom::Contact(params::id(&id, Resource::Contact)?);
    let receipt = app.erase(&project, &caller.actor, whom, body.keep_out).await?;
    Ok((StatusCode::ACCEPTED, Json(receipt.into())))
}

/// Erase whoever has an address
///
/// The same for an address: the contact that has it, if there is one, and what the project has of the address itself, such
/// as entries of the list of suppressed addresses, mails that came from it, and rejected rows of imports.
#[utoipa::path(post, path = "/erasures", tag = "Erasure", operation_id = "eraseAddress", security(("session" = [])),
    request_body = EraseAddressRequest,
    responses(
        (status = 202, description = "Nothing finds the person any more, the rest follows", body = ErasureBegun),
        (status = 401, description = "Not signed in, or the password or the code is wrong", body = ErrorEnvelope),
        (status = 403, description = "Not allowed, or the password is needed", body = ErrorEnvelope),
        (status = 429, description = "1,000 erasures of the project are under way", body = ErrorEnvelope)))]
pub(crate) async fn erase_address(
    State(app): State<App>,
    ProjectAccess(project, caller, _): ProjectAccess<ErasePeople>,
    Proven(body): Proven<EraseAddressRequest>,
) -> Result<(StatusCode, Json<ErasureBegun>), Failure> {
    let whom = Whom::Address(body.email.0);
    let receipt = app.erase(&project, &caller.actor, whom, body.keep_out).await?;
    Ok((StatusCode::ACCEPTED, Json(receipt.into())))
}

/// Get the receipt of an erasure
///
/// When it was asked for and by whom, whether it is complete, and how many records went.
#[utoipa::path(get, path = "/erasures/{id}", tag = "Erasure", operation_id = "getErasure", security(("session" = [])),
    params(("id" = String, Path)),
    responses((status = 200, body = ErasureReceipt), (status = 403, body = ErrorEnvelope), (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn get(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ErasePeople>,
    PathText(id): PathText,
) -> Result<Json<ErasureReceipt>> {
    Ok(Json(app.erasure(&project, params::id(&id, Resource::Erasure)?).await?.into()))
}

/// An address that may have been erased.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct ErasureCheckRequest {
    email: Email,
}

impl Payload for ErasureCheckRequest {
    const MAX_BODY: usize = 16 * 1024;
}

/// What is known of an address.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ErasureStanding {
    /// Whether somebody with the address was erased, or is being erased.
    is_erased: bool,
    /// Whether the address is kept out of the project.
    is_kept_out: bool,
    /// The newest 20 receipts.
    erasures: Vec<ErasureReceipt>,
}

/// Ask whether an address was erased
///
/// The answer is found by the hash of the address; the project keeps no list of the addresses.
#[utoipa::path(post, path = "/erasures/check", tag = "Erasure", operation_id = "checkErasure", security(("session" = [])),
    request_body = ErasureCheckRequest,
    responses((status = 200, body = ErasureStanding), (status = 403, body = ErrorEnvelope)))]
pub(crate) async fn check(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ErasePeople>,
    Body(body): Body<ErasureCheckRequest>,
) -> Result<Json<ErasureStanding>, Failure> {
    let standing = app.erasure_standing(&project, body.email.0).await?;
    let erasures: Vec<_> = standing.receipts.into_iter().map(ErasureReceipt::from).collect();
    Ok(Json(ErasureStanding { is_erased: !erasures.is_empty(), is_kept_out: standing.is_kept_out, erasures }))
}
