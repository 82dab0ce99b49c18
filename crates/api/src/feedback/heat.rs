//! `/campaigns/{id}/links` and `/campaigns/{id}/heat`: the links of a campaign's mails with the clicks on each.

use axum::extract::State;
use mailwright_app::App;
use mailwright_app::feedback::LinkHeat;
use serde::Serialize;
use utoipa::ToSchema;

use crate::auth::ProjectAccess;
use crate::auth::needs::ReadCampaigns;
use crate::error::{ErrorEnvelope, Result};
use crate::framed::{FrameParams, Framed};
use crate::json::Json;
use crate::params::{self, OpenedInBrowser, Params, PathText};

/// A link of a campaign's mails.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LinkView {
    /// Its place among the links of the mail, from 1. Links that came whole with values come last.
    position: i64,
    /// Where it leads; null where the values of each mail decide that.
    url: Option<String>,
    /// What the template says in the place of a target with variables.
    source: Option<String>,
    /// What a reader sees of it: its text, or what its picture says of itself.
    text: String,
    /// Clicks of people.
    clicks: i64,
    /// Mails in which a person followed it.
    unique_clicks: i64,
    /// Clicks of machines.
    machine_clicks: i64,
}

impl From<LinkHeat> for LinkView {
    fn from(heat: LinkHeat) -> Self {
        let (url, text, source) = match heat.link {
            Some(link) => (link.target, link.text, link.source),
            None => (None, String::new(), None),
        };
        Self {
            position: heat.number + 1,
            url,
            source,
            text,
            clicks: heat.clicks.clicks,
            unique_clicks: heat.clicks.people,
            machine_clicks: heat.clicks.machines,
        }
    }
}

/// The links of a campaign.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct LinkList {
    /// In their order in the mail.
    links: Vec<LinkView>,
}

/// Get the clicks on the links of a campaign
///
/// Each link of the mail in its order, with its clicks: the data of a heat map. Empty before the campaign is sent.
#[utoipa::path(get, path = "/campaigns/{id}/links", tag = "Campaigns", operation_id = "getCampaignLinks", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)),
    responses((status = 200, body = LinkList), (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn links(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadCampaigns>,
    PathText(id): PathText,
) -> Result<Json<LinkList>> {
    let links = app.campaign_links(&project, params::uuid(&id)?).await?;
    Ok(Json(LinkList { links: links.into_iter().map(LinkView::from).collect() }))
}

/// Show the heat map of a campaign
///
/// The mail of a campaign as a page for a frame of this service, as nobody in particular would see it: each counted link
/// carries how many people followed it, and their share of all who followed a link. What a condition hides from a stranger
/// is not in it. Nothing in the page can act or lead out of it. Pictures from other servers are shown with `images=1`
/// alone.
#[utoipa::path(get, path = "/campaigns/{id}/heat", tag = "Campaigns", operation_id = "showCampaignHeat", security(("secretKey" = []), ("session" = [])),
    params(
        ("id" = String, Path),
        FrameParams,
        OpenedInBrowser,
    ),
    responses(
        (status = 200, description = "The page", content_type = "text/html", body = String),
        (status = 404, description = "No such campaign, or it was not sent", body = ErrorEnvelope)))]
pub(crate) async fn heat(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadCampaigns>,
    PathText(id): PathText,
    params: Params,
) -> Result<Framed> {
    let page = app.campaign_heat_page(&project, params::uuid(&id)?).await?;
    Ok(Framed::new(page, &params))
}
