//! `/delivery/sites`: what waits to be sent, by the domains that it goes to and by lanes.

use axum::extract::State;
use mailwright_app::App;
use mailwright_app::delivery::sites::{LaneLoad, Site, Sites};
use mailwright_core::time::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use crate::auth::ProjectAccess;
use crate::auth::needs::ReadMail;
use crate::envelope::Time;
use crate::error::Result;
use crate::json::Json;

/// What of a project waits to be sent.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DeliverySites {
    /// The domains with most mails first, at most 50.
    sites: Vec<SiteView>,
    /// Whether the numbers of the domains are those of a part: more mails wait than are looked at, or for more domains.
    is_estimate: bool,
    /// Each lane, the most urgent one first.
    lanes: Vec<LaneView>,
    /// Why the next hop takes no mail, or not all: `unreachable`, `login` (it refuses the login) or `refused` (it refuses all
    /// mail of some project); null where it takes mail.
    trouble: Option<String>,
    /// How many mails a second the project may send; null for any number.
    per_second: Option<i64>,
}

/// The mails to a domain that wait.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SiteView {
    /// The domain of the recipients.
    domain: String,
    waiting: usize,
    /// When the oldest of them was accepted.
    #[schema(value_type = String, format = DateTime)]
    oldest_waiting_at: Timestamp,
    /// How many of them were put off.
    deferred: usize,
    /// The last answer to one of them.
    last_reply: Option<SiteReply>,
    /// When one of them was last tried.
    #[schema(format = DateTime)]
    last_attempt_at: Option<String>,
    /// When the next of them is tried.
    #[schema(value_type = String, format = DateTime)]
    next_attempt_at: Timestamp,
    /// Until when none of them is tried, where all of them were put off.
    #[schema(value_type = Option<String>, format = DateTime)]
    backed_off_until: Time,
    /// Why they wait, in words; null where they wait for their turn alone.
    why: Option<String>,
    /// The site whose servers take the mail of the domain, such as `google.com`; null where a relay brings it there, or
    /// where it is not known yet.
    site: Option<String>,
    /// How many mails a minute the site takes from this instance; null for any number, or where that is not known.
    per_minute: Option<f64>,
    /// Most connections to the site.
    connections: Option<u32>,
    /// Why nothing is tried at the site for now: `resting` (it asked for less mail) or `blocked`; null where mail goes
    /// there.
    site_state: Option<&'static str>,
    /// Until when nothing is tried there.
    #[schema(value_type = Option<String>, format = DateTime)]
    site_paused_until: Time,
    /// The codes of what the site last replied about this instance rather than about a mail, such as `421 4.7.28`.
    site_reply: Option<String>,
}

/// An answer of the next hop.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SiteReply {
    /// SMTP reply code.
    code: Option<u16>,
    /// Enhanced status code (RFC 3463).
    enhanced: Option<String>,
    text: Option<String>,
}

/// What waits in a lane.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LaneView {
    /// `transactional`, `workflow` or `campaign`.
    lane: &'static str,
    /// How many mails are due, counted up to 100,000.
    waiting: i64,
    /// Since when the first of them is.
    #[schema(value_type = Option<String>, format = DateTime)]
    oldest_waiting_at: Time,
}

impl SiteView {
    fn new(site: Site, now: Timestamp) -> Self {
        let backed_off_until = site.backed_off_until(now);
        let last_attempt_at = site.last.as_ref().map(|last| last.at.clone()).filter(|at| !at.is_empty());
        let pace = site.pace.as_ref();
        let still = pace.and_then(|pace| pace.stands_still);
        let (on_site, per_minute) =
            (pace.map(|pace| pace.site.to_string()), pace.and_then(|pace| pace.per_minute));
        let connections = pace.map(|pace| pace.connections);
        let site_reply = pace.and_then(|pace| Some(pace.reply.as_ref()?.1.clone()));
        let reply = site.last.filter(|last| last.code.is_some() || last.reply.is_some());
        Self {
            domain: site.domain,
            waiting: site.waiting,
            oldest_waiting_at: site.oldest,
            deferred: site.deferred,
            last_reply: reply.map(|last| SiteReply {
                code: last.code,
                enhanced: last.enhanced,
                text: last.reply,
            }),
            last_attempt_at,
            next_attempt_at: site.next,
            backed_off_until,
            why: site.why,
            site: on_site,
            per_minute,
            connections,
            site_state: still.map(|(reason, _)| reason.as_str()),
            site_paused_until: still.map(|(_, until)| until),
            site_reply,
        }
    }
}

impl From<LaneLoad> for LaneView {
    fn from(load: LaneLoad) -> Self {
        Self { lane: load.lane.as_str(), waiting: load.due, oldest_waiting_at: load.oldest }
    }
}

/// Show what waits to be sent
///
/// By the domains of the recipients, and by lanes. Of the mails that are due first some thousand are looked at: where more
/// wait, `isEstimate` is true.
#[utoipa::path(get, path = "/delivery/sites", tag = "Emails", operation_id = "getDeliverySites", security(("secretKey" = []), ("session" = [])),
    responses((status = 200, body = DeliverySites)))]
pub(crate) async fn list(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadMail>,
) -> Result<Json<DeliverySites>> {
    let (found, now) = app.delivery_sites(&project).await?;
    let Sites { sites, is_cut, lanes, next_hop, per_second } = found;
    Ok(Json(DeliverySites {
        sites: sites.into_iter().map(|site| SiteView::new(site, now)).collect(),
        is_estimate: is_cut,
        lanes: lanes.into_iter().map(LaneView::from).collect(),
        trouble: next_hop.and_then(|known| known.trouble),
        per_second,
    }))
}
