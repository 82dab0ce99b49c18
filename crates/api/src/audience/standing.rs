//! `/contacts/:id/standing`.

use crate::json::Json;
use axum::extract::State;
use mailwright_app::audience::standing::Obstacle;
use mailwright_app::{App, Resource};
use mailwright_core::bounce::BounceClass;
use mailwright_core::email::Reason;
use mailwright_core::ids::{ContactId, EmailId, TopicId};
use mailwright_core::suppression::Match;
use mailwright_core::template::TemplateType;
use mailwright_store::sending::email::Trouble;
use serde::Serialize;
use utoipa::ToSchema;

use crate::auth::ProjectAccess;
use crate::auth::needs::ReadContacts;
use crate::envelope::Time;
use crate::error::{ErrorEnvelope, Result};
use crate::params::{self, PathText};

/// Which mail a contact would get, if it is of no topic.
#[derive(Debug, Serialize, ToSchema)]
struct CanReceive {
    transactional: bool,
    marketing: bool,
    headless: bool,
}

/// A topic that a contact is not in.
#[derive(Debug, Serialize, ToSchema)]
struct TopicNotJoined {
    id: TopicId,
    name: String,
}

/// What keeps mail from a contact.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct StandingReason {
    /// `suppressed`, `unsubscribed` or `not_in_topic`, as the `reason` of a mail that was not sent.
    reason: &'static str,
    /// The kinds of mail that are kept back.
    types: Vec<TemplateType>,
    /// What holds them back, if the address is suppressed.
    #[schema(required)]
    r#match: Option<Match>,
    /// Since when the address is on the list of the project.
    #[schema(value_type = Option<String>, format = DateTime, required)]
    since: Time,
    /// When that ends by itself.
    #[schema(value_type = Option<String>, format = DateTime, required)]
    expires_at: Time,
    /// The mail that bounced or was complained about, for which the address is on the list.
    #[schema(required)]
    email_id: Option<EmailId>,
    /// The topic whose mails are kept back; those of other topics are not.
    #[schema(required)]
    topic: Option<TopicNotJoined>,
}

impl From<Obstacle> for StandingReason {
    fn from(obstacle: Obstacle) -> Self {
        Self {
            reason: Reason::as_str(obstacle.reason),
            types: obstacle.kinds,
            r#match: obstacle.by,
            since: obstacle.since,
            expires_at: obstacle.expires_at,
            email_id: obstacle.mail,
            topic: obstacle.topic.map(|topic| TopicNotJoined { id: topic.id, name: topic.name }),
        }
    }
}

/// A mail that bounced or was called spam.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct TroubleView {
    email_id: EmailId,
    #[schema(value_type = Option<String>, format = DateTime, required)]
    bounced_at: Time,
    #[schema(value_type = Option<String>, format = DateTime, required)]
    complained_at: Time,
    /// Why it bounced.
    #[schema(required)]
    bounce_class: Option<BounceClass>,
    /// What the recipient's host said.
    #[schema(required)]
    error: Option<String>,
}

impl From<Trouble> for TroubleView {
    fn from(trouble: Trouble) -> Self {
        Self {
            email_id: trouble.id,
            bounced_at: trouble.bounced_at,
            complained_at: trouble.complained_at,
            bounce_class: trouble.class,
            error: trouble.error,
        }
    }
}

/// How a contact stands to mail.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StandingView {
    id: ContactId,
    email: String,
    can_receive: CanReceive,
    /// What keeps mail from the contact; empty if nothing does.
    reasons: Vec<StandingReason>,
    /// The five newest mails to the contact that bounced or were called spam.
    troubles: Vec<TroubleView>,
}

/// Show why a contact gets mail, or does not
///
/// Asks what sending asks, for mail that would be sent now. A cap on marketing mails is not among it: it depends on what
/// was sent before.
#[utoipa::path(get, path = "/contacts/{id}/standing", tag = "Contacts", operation_id = "getContactStanding", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)),
    responses((status = 200, body = StandingView), (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn get(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadContacts>,
    PathText(id): PathText,
) -> Result<Json<StandingView>> {
    let found = app.standing_of_contact(&project, params::id(&id, Resource::Contact)?).await?;
    let receives = |kind| found.receives.contains(&kind);
    Ok(Json(StandingView {
        id: found.contact.id,
        email: found.contact.email.to_string(),
        can_receive: CanReceive {
            transactional: receives(TemplateType::Transactional),
            marketing: receives(TemplateType::Marketing),
            headless: receives(TemplateType::Headless),
        },
        reasons: found.obstacles.into_iter().map(StandingReason::from).collect(),
        troubles: found.troubles.into_iter().map(TroubleView::from).collect(),
    }))
}
