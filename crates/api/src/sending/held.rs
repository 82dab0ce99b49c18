//! `/held`: the mails that a restore holds, and the decisions about them.

use axum::extract::State;
use mailwright_app::App;
use mailwright_app::sending::held::HeldPage;
use mailwright_core::email::EmailSource;
use mailwright_core::ids::{CampaignId, EmailId, WorkflowId};
use mailwright_core::issue::Issue;
use mailwright_core::time::Timestamp;
use mailwright_store::sending::held::{Decision, HeldEmail, Which};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::auth::ProjectAccess;
use crate::auth::needs::{ManageProject, ReadMail};
use crate::error::{ErrorEnvelope, Failure, Result};
use crate::json::Json;
use crate::params::{Params, RowLimit};
use crate::schema::{Body, Payload, check_count};

/// Most mails that one decision names.
pub(crate) const MAX_IDS: usize = 500;

/// A mail that is held.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HeldMail {
    id: EmailId,
    /// Address of the recipient; null once the contact was removed.
    to: Option<String>,
    subject: String,
    source_type: EmailSource,
    campaign_id: Option<CampaignId>,
    workflow_id: Option<WorkflowId>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
}

/// How many held mails came from something.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HeldOfSource {
    source_type: EmailSource,
    count: i64,
}

/// How many held mails a campaign has.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HeldOfCampaign {
    campaign_id: CampaignId,
    count: i64,
}

/// All held mails of the project in numbers.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HeldCounts {
    /// By what they came from.
    sources: Vec<HeldOfSource>,
    /// By campaign, those with most mails first.
    campaigns: Vec<HeldOfCampaign>,
    /// Whether there are more than 10,000: then these numbers are those of the first 10,000.
    is_cut: bool,
}

/// A page of held mails.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HeldMails {
    data: Vec<HeldMail>,
    /// Cursor of the next page; null on the last page.
    cursor: Option<String>,
    has_more: bool,
    /// How many there are in all, on the first page; 0 on later ones.
    total: i64,
    /// On the first page alone.
    counts: Option<HeldCounts>,
}

impl From<HeldEmail> for HeldMail {
    fn from(mail: HeldEmail) -> Self {
        Self {
            id: mail.id,
            to: mail.recipient,
            subject: mail.subject,
            source_type: mail.source,
            campaign_id: mail.campaign,
            workflow_id: mail.workflow,
            created_at: mail.created_at,
        }
    }
}

impl From<HeldPage> for HeldMails {
    fn from(page: HeldPage) -> Self {
        let counts = page.counts.map(|counts| HeldCounts {
            sources: counts
                .sources
                .into_iter()
                .map(|(source_type, count)| HeldOfSource { source_type, count })
                .collect(),
            campaigns: counts
                .campaigns
                .into_iter()
                .map(|(campaign_id, count)| HeldOfCampaign { campaign_id, count })
                .collect(),
            is_cut: counts.is_cut,
        });
        Self {
            cursor: page.mails.last().filter(|_| page.has_more).map(|last| last.id.to_string()),
            data: page.mails.into_iter().map(HeldMail::from).collect(),
            has_more: page.has_more,
            total: page.total,
            counts,
        }
    }
}

/// List held mails
///
/// Mails that may have been sent before a backup was restored. They leave when somebody decides so, and not otherwise. In
/// the order in which they were accepted.
#[utoipa::path(get, path = "/held", tag = "Emails", operation_id = "listHeldMails", security(("secretKey" = []), ("session" = [])),
    params(
        ("limit" = inline(Option<RowLimit>), Query, description = "Rows per page"),
        ("cursor" = Option<String>, Query, description = "The `cursor` of the previous page"),
        ("campaignId" = Option<CampaignId>, Query, description = "Only mails of this campaign"),
    ),
    responses((status = 200, body = HeldMails), (status = 400, description = "Invalid cursor or filter", body = ErrorEnvelope)))]
pub(crate) async fn list(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadMail>,
    params: Params,
) -> Result<Json<HeldMails>> {
    let (campaign, limit) = (params.id("campaignId")?, params.bounded::<RowLimit>() as usize);
    Ok(Json(app.held_page(&project, campaign, params.cursor()?, limit).await?.into()))
}

/// What becomes of held mails.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum HeldDecision {
    /// They are sent.
    Release,
    /// They are not sent, and stay in doubt.
    Drop,
}

/// A decision about held mails: about those of a campaign, about some, or about all.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DecideHeldRequest {
    decision: HeldDecision,
    /// Only mails of this campaign.
    campaign_id: Option<CampaignId>,
    /// Only these mails, at most 500. Those that are not held are left alone.
    ids: Option<Vec<EmailId>>,
}

impl Payload for DecideHeldRequest {
    fn check(&self) -> Vec<Issue> {
        self.ids.as_ref().map(|ids| check_count("ids", ids.len(), MAX_IDS)).unwrap_or_default()
    }

    fn check_across(&self) -> Vec<Issue> {
        if self.campaign_id.is_some() && self.ids.is_some() {
            let text = "Name a campaign or mails, not both.";
            return vec![
                Issue::new("campaignId", "unrecognized_keys", text),
                Issue::new("ids", "unrecognized_keys", text),
            ];
        }
        Vec::new()
    }
}

/// What a decision did.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HeldDecided {
    /// Mails that wait to be sent now.
    released: usize,
    /// Mails that are not sent: those that were dropped, and those whose contact or campaign is gone.
    dropped: usize,
    /// Whether there may be more: decide again.
    has_more: bool,
}

/// Decide about held mails
///
/// At most 10,000 at a time. A mail whose campaign was cancelled, or whose contact was removed, is not sent in any case. The
/// decision goes into the audit log.
#[utoipa::path(post, path = "/held/decide", tag = "Emails", operation_id = "decideHeldMails", security(("session" = [])),
    request_body = DecideHeldRequest,
    responses((status = 200, body = HeldDecided)))]
pub(crate) async fn decide(
    State(app): State<App>,
    ProjectAccess(project, caller, _): ProjectAccess<ManageProject>,
    Body(request): Body<DecideHeldRequest>,
) -> Result<Json<HeldDecided>, Failure> {
    let which = match (request.campaign_id, request.ids) {
        (Some(campaign), _) => Which::Campaign(campaign),
        (None, Some(ids)) => Which::These(ids),
        (None, None) => Which::All,
    };
    let decision = match request.decision {
        HeldDecision::Release => Decision::Resend,
        HeldDecision::Drop => Decision::Discard,
    };
    let decided = app.decide_held_as(&project, &caller.actor, which, decision).await?;
    Ok(Json(HeldDecided { released: decided.resent, dropped: decided.discarded, has_more: decided.more }))
}
