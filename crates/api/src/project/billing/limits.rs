//! The limits on the mails of a month.

use axum::extract::State;
use mailwright_app::App;
use mailwright_app::project::billing::{CategoryLimit, LimitsView};
use mailwright_core::billing::Category;
use mailwright_core::issue::Issue;
use mailwright_core::patch::Patch;
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use crate::auth::MemberAccess;
use crate::auth::needs::{ManageProject, ReadProject};
use crate::error::{ErrorEnvelope, Failure, Result};
use crate::json::Json;
use crate::schema::{Body, Payload, WholeNumber, check_range};

/// The largest limit.
const MOST: i64 = 1_000_000_000;

/// A limit, and how much of it is used in this month (UTC).
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BillingLimit {
    /// The most mails; null for any number.
    limit: Option<i64>,
    /// Mails that count for it.
    usage: i64,
    /// The share that is used, in percent; 0 without a limit.
    percentage: f64,
    /// Whether 80 % are used.
    is_warning: bool,
    /// Whether there may be no more.
    is_blocked: bool,
}

/// The limits of a project.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct BillingLimits {
    workflows: BillingLimit,
    campaigns: BillingLimit,
    transactional: BillingLimit,
    inbound: BillingLimit,
    /// The currency that is paid in.
    currency: Option<String>,
}

impl BillingLimits {
    fn new(limits: LimitsView) -> Self {
        let [workflows, campaigns, transactional, inbound] =
            limits.categories.map(|found: CategoryLimit| BillingLimit {
                limit: found.limit,
                usage: found.usage,
                percentage: found.percentage,
                is_warning: found.is_warning,
                is_blocked: found.is_blocked,
            });
        Self { workflows, campaigns, transactional, inbound, currency: limits.currency }
    }
}

/// Show the limits on mails
///
/// How many mails of each category the project may have in a month (UTC). Without a subscription the categories share one
/// allowance, which each of them shows. Where the instance does not bill there are no limits.
#[utoipa::path(get, path = "/users/@me/projects/{id}/billing-limits", tag = "Billing", operation_id = "getBillingLimits", security(("session" = [])),
    params(("id" = String, Path)),
    responses((status = 200, body = BillingLimits), (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn get(
    State(app): State<App>,
    MemberAccess(project, ..): MemberAccess<ReadProject>,
) -> Result<Json<BillingLimits>> {
    Ok(Json(BillingLimits::new(app.billing_limits(&project).await?)))
}

/// A number, or a text that is one.
#[derive(Debug, Clone, Copy)]
struct Limit(i64);

impl<'de> Deserialize<'de> for Limit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Given {
            Number(WholeNumber),
            Text(String),
        }
        match Given::deserialize(deserializer)? {
            Given::Number(WholeNumber(number)) => Ok(Self(number)),
            Given::Text(text) => {
                let number = text.trim().parse().map_err(|_| serde::de::Error::custom("not a whole number"));
                number.map(Self)
            }
        }
    }
}

/// New limits. All four are needed; null stands for any number.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct BillingLimitsChange {
    /// Mails of workflows in a month, 1 to 1,000,000,000.
    #[serde(default)]
    #[schema(value_type = Option<i64>, required, minimum = 1, maximum = 1_000_000_000)]
    workflows: Patch<Limit>,
    /// Mails of campaigns.
    #[serde(default)]
    #[schema(value_type = Option<i64>, required, minimum = 1, maximum = 1_000_000_000)]
    campaigns: Patch<Limit>,
    /// Other mails.
    #[serde(default)]
    #[schema(value_type = Option<i64>, required, minimum = 1, maximum = 1_000_000_000)]
    transactional: Patch<Limit>,
    /// Mails that come in.
    #[serde(default)]
    #[schema(value_type = Option<i64>, required, minimum = 1, maximum = 1_000_000_000)]
    inbound: Patch<Limit>,
}

impl BillingLimitsChange {
    fn each(&self) -> [(Category, Patch<Limit>); Category::ALL.len()] {
        [
            (Category::Workflows, self.workflows),
            (Category::Campaigns, self.campaigns),
            (Category::Transactional, self.transactional),
            (Category::Inbound, self.inbound),
        ]
    }
}

impl Payload for BillingLimitsChange {
    const MAX_BODY: usize = 16 * 1024;

    fn check(&self) -> Vec<Issue> {
        let issue = |(category, limit): (Category, Patch<Limit>)| match limit {
            Patch::Absent => {
                Some(Issue::new(category.as_str(), "invalid_type", "Required").received("undefined"))
            }
            Patch::Null => None,
            Patch::Value(Limit(limit)) => check_range(category.as_str(), WholeNumber(limit), 1, MOST),
        };
        self.each().into_iter().filter_map(issue).collect()
    }
}

/// Set the limits on mails
///
/// For projects with a subscription. What waits because of a limit goes on if there is room, and members are told again when
/// a limit that changed is reached.
#[utoipa::path(put, path = "/users/@me/projects/{id}/billing-limits", tag = "Billing", operation_id = "setBillingLimits", security(("session" = [])),
    params(("id" = String, Path)), request_body = BillingLimitsChange,
    responses(
        (status = 200, body = BillingLimits),
        (status = 400, description = "The project has no subscription", body = ErrorEnvelope),
        (status = 403, body = ErrorEnvelope), (status = 404, body = ErrorEnvelope), (status = 422, body = ErrorEnvelope)))]
pub(crate) async fn set(
    State(app): State<App>,
    MemberAccess(project, caller, _): MemberAccess<ManageProject>,
    Body(body): Body<BillingLimitsChange>,
) -> Result<Json<BillingLimits>, Failure> {
    let limits = body.each().map(|(_, limit)| match limit {
        Patch::Value(Limit(limit)) => Some(limit),
        Patch::Null | Patch::Absent => None,
    });
    Ok(Json(BillingLimits::new(app.set_billing_limits(&project, &caller.actor, limits).await?)))
}
