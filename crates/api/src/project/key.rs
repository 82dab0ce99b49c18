//! `/projects/:id/keys`: keys with names and scopes, besides the project's own pair.

use crate::json::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use mailwright_app::{App, KeyKind, Resource};
use mailwright_core::ids::ApiKeyId;
use mailwright_core::role::{Scope, Scopes};
use mailwright_core::time::Timestamp;
use mailwright_store::project::api_key::Listed;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::auth::needs::{ManageKeys, ReadProject};
use crate::auth::{MemberAccess, PathAccess};
use crate::error::{ErrorEnvelope, Failure, Result};
use crate::fields::PlainName;
use crate::params;
use crate::schema::{Body, Payload, check_count};

/// Most scopes that a list names; there are no more.
const MAX_SCOPES: usize = 6;

/// A key.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct KeyView {
    id: ApiKeyId,
    /// Name of the key; null for the project's own pair.
    name: Option<String>,
    /// `secret` or `public`.
    kind: &'static str,
    /// The scopes of a secret key.
    scopes: Vec<Scope>,
    /// The key itself: of a public key always, of a secret key only in the answer that creates it; otherwise null.
    key: Option<String>,
    /// Its last four characters.
    hint: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// Time of the last use, to the minute; null if it was never used.
    #[schema(value_type = Option<String>, format = DateTime)]
    last_used_at: crate::envelope::Time,
}

impl From<Listed> for KeyView {
    fn from(key: Listed) -> Self {
        let secret = key.kind == KeyKind::Secret;
        Self {
            id: key.id,
            name: key.name,
            kind: if secret { "secret" } else { "public" },
            scopes: if secret { key.scopes.as_slice().to_vec() } else { Vec::new() },
            key: key.token,
            hint: key.hint,
            created_at: key.created_at,
            last_used_at: key.last_used_at,
        }
    }
}

/// List keys
///
/// Revoked keys are left out.
#[utoipa::path(get, path = "/projects/{id}/keys", tag = "Keys", operation_id = "listKeys", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)),
    responses((status = 200, body = Vec<KeyView>), (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn list(
    State(app): State<App>,
    PathAccess(project, ..): PathAccess<ReadProject>,
) -> Result<Json<Vec<KeyView>>> {
    Ok(Json(app.keys(&project).await?.into_iter().map(KeyView::from).collect()))
}

/// A key to create.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct NewKey {
    /// Name of the key.
    name: PlainName,
    /// Scopes of the key.
    #[schema(min_items = 1, max_items = 6)]
    scopes: Vec<Scope>,
}

impl Payload for NewKey {
    const MAX_BODY: usize = 16 * 1024;

    fn check(&self) -> Vec<mailwright_core::issue::Issue> {
        check_count("scopes", self.scopes.len(), MAX_SCOPES)
    }
}

/// Make a secret key
///
/// Only this answer shows the key.
#[utoipa::path(post, path = "/projects/{id}/keys", tag = "Keys", operation_id = "createKey", security(("session" = [])),
    params(("id" = String, Path)), request_body = NewKey,
    responses(
        (status = 201, body = KeyView), (status = 403, body = ErrorEnvelope), (status = 404, body = ErrorEnvelope),
        (status = 409, description = "The project has the maximum number of keys", body = ErrorEnvelope),
        (status = 422, body = ErrorEnvelope)))]
pub(crate) async fn create(
    State(app): State<App>,
    MemberAccess(project, caller, _): MemberAccess<ManageKeys>,
    Body(body): Body<NewKey>,
) -> Result<(StatusCode, Json<KeyView>), Failure> {
    let name = body.name.0.trim().to_owned();
    let made = app.create_key(&project, &caller.actor, name, Scopes::new(body.scopes)).await?;
    let view = KeyView { key: Some(made.token.reveal().to_owned()), ..made.key.into() };
    Ok((StatusCode::CREATED, Json(view)))
}

/// A key that was revoked.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Revoked {
    /// Always true.
    success: bool,
    /// What was done.
    message: &'static str,
    /// The addresses of invitations that the key asked for. Nobody had confirmed them, and they were withdrawn.
    withdrawn_invitations: Vec<String>,
}

/// Revoke a key
///
/// The key stops working at once.
#[utoipa::path(delete, path = "/projects/{id}/keys/{keyId}", tag = "Keys", operation_id = "revokeKey", security(("session" = [])),
    params(("id" = String, Path), ("keyId" = String, Path)),
    responses((status = 200, body = Revoked), (status = 403, body = ErrorEnvelope), (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn revoke(
    State(app): State<App>,
    MemberAccess(project, caller, _): MemberAccess<ManageKeys>,
    Path((_, key)): Path<(String, String)>,
) -> Result<Json<Revoked>> {
    let key: ApiKeyId = params::id(&key, Resource::Key)?;
    let withdrawn = app.revoke_key(&project, &caller.actor, key).await?;
    Ok(Json(Revoked {
        success: true,
        message: "The key was revoked.",
        withdrawn_invitations: withdrawn.iter().map(ToString::to_string).collect(),
    }))
}
