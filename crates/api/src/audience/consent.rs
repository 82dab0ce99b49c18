//! `/contacts/:id/consent`: the evidence of a contact's consent.

use axum::extract::State;
use mailwright_app::audience::consent::expires_at;
use mailwright_app::{App, Resource};
use mailwright_core::consent::{ConsentChange, ConsentWay};
use mailwright_core::ids::{ConsentId, ContactId, EmailId, TopicId};
use mailwright_core::time::Timestamp;
use mailwright_store::audience::confirmation::Open;
use mailwright_store::audience::consent::Consent;
use serde::Serialize;
use utoipa::ToSchema;

use crate::auth::ProjectAccess;
use crate::auth::needs::ReadContacts;
use crate::envelope::{CursorPage, Time};
use crate::error::{ErrorEnvelope, Result};
use crate::json::Json;
use crate::params::{self, Params, PathText, RowLimit};

/// A change of a contact's consent, and how it is known.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ConsentView {
    id: ConsentId,
    /// What changed.
    change: ConsentChange,
    /// The topic; null for the subscription as a whole.
    topic_id: Option<TopicId>,
    /// The topic's name at the time.
    topic: Option<String>,
    /// The way by which it came.
    way: ConsentWay,
    /// The mail whose link was followed, or that bounced or was complained about.
    email_id: Option<EmailId>,
    /// The language of the page.
    language: Option<String>,
    /// The address of the client, where the project keeps it.
    ip: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    at: Timestamp,
}

impl From<Consent> for ConsentView {
    fn from(consent: Consent) -> Self {
        Self {
            id: consent.id,
            change: consent.what,
            topic_id: consent.topic,
            topic: consent.topic_name,
            way: consent.way,
            email_id: consent.mail,
            language: consent.language,
            ip: consent.address,
            at: consent.at,
        }
    }
}

/// What a contact was asked to confirm and has not.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OpenConfirmation {
    /// The topic; null for the subscription as a whole.
    topic_id: Option<TopicId>,
    #[schema(value_type = String, format = DateTime)]
    requested_at: Timestamp,
    /// When the mail was made that asks; null if it is still to be made.
    #[schema(value_type = Option<String>, format = DateTime)]
    mailed_at: Time,
    /// Until when the link of the mail works.
    #[schema(value_type = String, format = DateTime)]
    expires_at: Timestamp,
}

impl From<Open> for OpenConfirmation {
    fn from(open: Open) -> Self {
        Self {
            topic_id: open.topic,
            requested_at: open.requested_at,
            mailed_at: open.mailed_at,
            expires_at: expires_at(&open),
        }
    }
}

/// A page of the evidence of a contact's consent.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ConsentList {
    #[serde(flatten)]
    page: CursorPage<ConsentView>,
    /// What the contact was asked to confirm and has not, on every page.
    pending: Vec<OpenConfirmation>,
}

/// Show the evidence of a contact's consent
///
/// Newest first. Of a contact with more than 1,000 entries the oldest are gone.
#[utoipa::path(get, path = "/contacts/{id}/consent", tag = "Contacts", operation_id = "listConsent", security(("secretKey" = []), ("session" = [])),
    params(
        ("id" = String, Path),
        ("limit" = inline(Option<RowLimit>), Query, description = "Rows per page"),
        ("cursor" = Option<String>, Query, description = "The `cursor` of the previous page")),
    responses(
        (status = 200, body = ConsentList),
        (status = 400, description = "Invalid cursor", body = ErrorEnvelope),
        (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn list(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadContacts>,
    PathText(id): PathText,
    params: Params,
) -> Result<Json<ConsentList>> {
    let id: ContactId = params::id(&id, Resource::Contact)?;
    let limit = params.bounded::<RowLimit>() as usize;
    let found = app.consent(&project, id, params.cursor()?, limit).await?;
    Ok(Json(ConsentList {
        page: CursorPage {
            data: found.entries.into_iter().map(ConsentView::from).collect(),
            has_more: found.next.is_some(),
            cursor: found.next.map(|last| last.to_string()),
            total: found.total,
        },
        pending: found.open.into_iter().map(OpenConfirmation::from).collect(),
    }))
}
