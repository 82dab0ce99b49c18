//! `/campaigns/{id}/stats` and `/campaigns/{id}/audience`: the statistics of a campaign.

use crate::json::Json;
use axum::extract::State;
use mailwright_app::App;
use mailwright_core::campaign::rate;
use mailwright_core::email::RecipientState;
use mailwright_store::sending::campaign::audience::Counted;
use serde::Serialize;
use utoipa::ToSchema;

use crate::auth::ProjectAccess;
use crate::auth::needs::ReadCampaigns;
use crate::error::{ErrorEnvelope, Result};
use crate::params::{self, PathText};

/// The statistics of a campaign. Rates are percentages of `sentCount`.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CampaignStats {
    total_recipients: i64,
    sent_count: i64,
    delivered_count: i64,
    /// Mails that a person opened.
    opened_count: i64,
    /// Mails in which a person followed a link.
    clicked_count: i64,
    bounced_count: i64,
    complained_count: i64,
    unsubscribed_count: i64,
    /// Mails whose picture a machine fetched: a proxy without a reader, or a scanner.
    machine_opened_count: i64,
    /// Mails in which a machine followed a link.
    machine_clicked_count: i64,
    delivery_rate: f64,
    open_rate: f64,
    click_rate: f64,
    bounce_rate: f64,
    complaint_rate: f64,
    unsubscribe_rate: f64,
}

/// Get the statistics of a campaign
///
/// While the campaign is being sent, the numbers are those of the moment.
#[utoipa::path(get, path = "/campaigns/{id}/stats", tag = "Campaigns", operation_id = "getCampaignStats", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)),
    responses((status = 200, body = CampaignStats), (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn stats(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadCampaigns>,
    PathText(id): PathText,
) -> Result<Json<CampaignStats>> {
    let overview = app.campaign(&project, params::uuid(&id)?).await?;
    let total_recipients = overview.recipients();
    let ledger = overview.ledger;
    let sent = ledger.count(RecipientState::Accepted);
    Ok(Json(CampaignStats {
        total_recipients,
        sent_count: sent,
        delivered_count: ledger.delivered,
        opened_count: ledger.opened,
        clicked_count: ledger.clicked,
        bounced_count: ledger.bounced,
        complained_count: ledger.complained,
        unsubscribed_count: ledger.unsubscribed,
        machine_opened_count: ledger.machine_opened,
        machine_clicked_count: ledger.machine_clicked,
        delivery_rate: rate(ledger.delivered, sent),
        open_rate: rate(ledger.opened, sent),
        click_rate: rate(ledger.clicked, sent),
        bounce_rate: rate(ledger.bounced, sent),
        complaint_rate: rate(ledger.complained, sent),
        unsubscribe_rate: rate(ledger.unsubscribed, sent),
    }))
}

/// Who gets no mail of a campaign, and why.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Excluded {
    /// Contacts that are not subscribed.
    unsubscribed: i64,
    /// Contacts that are subscribed and not in the topic of the campaign.
    not_in_topic: i64,
    /// Contacts whose address refused mail for good, or complained.
    suppressed: i64,
}

/// Whom a campaign is for.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CampaignAudience {
    /// Contacts of the audience.
    audience: i64,
    /// Contacts that get a mail.
    recipients: i64,
    /// Contacts that get no mail.
    excluded: Excluded,
}

/// Count the audience of a campaign
///
/// Before the campaign is sent: how many contacts would get it now, and how many not. Afterwards: the numbers when its
/// audience was frozen.
#[utoipa::path(get, path = "/campaigns/{id}/audience", tag = "Campaigns", operation_id = "getCampaignAudience", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)),
    responses((status = 200, body = CampaignAudience), (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn audience(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadCampaigns>,
    PathText(id): PathText,
) -> Result<Json<CampaignAudience>> {
    Ok(Json(app.campaign_audience(&project, params::uuid(&id)?).await?.into()))
}

impl From<Counted> for CampaignAudience {
    fn from(counted: Counted) -> Self {
        let Counted { audience, unsubscribed, not_in_topic, suppressed } = counted;
        let excluded = Excluded { unsubscribed, not_in_topic, suppressed };
        Self { audience, recipients: counted.recipients(), excluded }
    }
}
