//! `/users/@me/projects/:id/checkout` and what else is about paying (reference 3.5), and what the payment service tells.

pub(crate) mod event;
pub(crate) mod invoice;
pub(crate) mod limits;

use axum::extract::State;
use mailwright_app::App;
use mailwright_core::time::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use crate::auth::MemberAccess;
use crate::auth::needs::{ManageProject, Pay, ReadProject};
use crate::error::{ErrorEnvelope, Result};
use crate::json::Json;
use crate::params::Params;

/// A page of the payment service.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PaymentPage {
    /// Where the browser is to be sent.
    url: String,
}

/// Subscribe a project
///
/// Answers where the browser is to be sent. The project has a subscription once the payment service says that it was paid
/// for.
#[utoipa::path(post, path = "/users/@me/projects/{id}/checkout", tag = "Billing", operation_id = "createCheckout", security(("session" = [])),
    params(("id" = String, Path), ("currency" = Option<String>, Query, description = "`usd`, `eur` or `gbp`")),
    responses(
        (status = 200, body = PaymentPage),
        (status = 400, description = "The project has a subscription, or the currency is none of these", body = ErrorEnvelope),
        (status = 403, body = ErrorEnvelope),
        (status = 404, description = "No such project, or this instance does not bill", body = ErrorEnvelope),
        (status = 500, description = "The operator has not configured a price", body = ErrorEnvelope),
        (status = 502, description = "The payment service did not answer, or refused", body = ErrorEnvelope)))]
pub(crate) async fn checkout(
    State(app): State<App>,
    MemberAccess(project, ..): MemberAccess<ManageProject>,
    params: Params,
) -> Result<Json<PaymentPage>> {
    let url = app.checkout(&project, params.text("currency")).await?;
    Ok(Json(PaymentPage { url }))
}

/// Open the billing portal
///
/// Answers where the browser is to be sent: invoices are paid there, and it is changed how. It also works while the project
/// is disabled.
#[utoipa::path(post, path = "/users/@me/projects/{id}/billing-portal", tag = "Billing", operation_id = "openBillingPortal", security(("session" = [])),
    params(("id" = String, Path)),
    responses(
        (status = 200, body = PaymentPage),
        (status = 400, description = "The project was never subscribed", body = ErrorEnvelope),
        (status = 403, body = ErrorEnvelope),
        (status = 404, description = "No such project, or this instance does not bill", body = ErrorEnvelope),
        (status = 502, description = "The payment service did not answer, or refused", body = ErrorEnvelope)))]
pub(crate) async fn portal(
    State(app): State<App>,
    MemberAccess(project, ..): MemberAccess<Pay>,
) -> Result<Json<PaymentPage>> {
    Ok(Json(PaymentPage { url: app.billing_portal(&project).await? }))
}

/// A period.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct BillingPeriod {
    #[schema(value_type = String, format = DateTime)]
    start: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    end: Timestamp,
}

/// What was used.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct BillingUsage {
    /// Units of this month (UTC): 1 for a mail, 2 for one with attachments.
    total: i64,
    /// Always empty.
    #[schema(value_type = Vec<Object>)]
    records: [u8; 0],
}

/// What the customer has paid in advance, in the smallest unit of the currency.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BillingCredits {
    /// The balance: negative for what is left.
    balance: i64,
    /// Whether anything is left.
    has_credits: bool,
    /// What is left.
    credit_amount: i64,
    currency: Option<String>,
}

/// The next invoice, in the smallest unit of the currency.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UpcomingInvoice {
    amount_due: i64,
    currency: String,
    #[schema(value_type = String, format = DateTime)]
    period_start: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    period_end: Timestamp,
    subtotal: i64,
    total: i64,
}

/// What was used in the period that is billed next.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BillingConsumption {
    period: BillingPeriod,
    usage: BillingUsage,
    credits: Option<BillingCredits>,
    upcoming_invoice: Option<UpcomingInvoice>,
}

/// Show what was used
#[utoipa::path(get, path = "/users/@me/projects/{id}/billing-consumption", tag = "Billing", operation_id = "getBillingConsumption", security(("session" = [])),
    params(("id" = String, Path)),
    responses(
        (status = 200, body = BillingConsumption),
        (status = 400, description = "The project has no subscription", body = ErrorEnvelope),
        (status = 404, description = "No such project, or this instance does not bill", body = ErrorEnvelope),
        (status = 502, description = "The payment service did not answer, or refused", body = ErrorEnvelope)))]
pub(crate) async fn consumption(
    State(app): State<App>,
    MemberAccess(project, ..): MemberAccess<ReadProject>,
) -> Result<Json<BillingConsumption>> {
    let found = app.billing_consumption(&project).await?;
    let (start, end) = found.period;
    Ok(Json(BillingConsumption {
        period: BillingPeriod { start, end },
        usage: BillingUsage { total: found.units, records: [] },
        credits: found.credits.map(|credits| BillingCredits {
            balance: credits.balance,
            has_credits: credits.balance < 0,
            credit_amount: credits.balance.min(0).saturating_neg(),
            currency: credits.currency,
        }),
        upcoming_invoice: found.upcoming.map(|invoice| UpcomingInvoice {
            amount_due: invoice.amount_due,
            currency: invoice.currency,
            period_start: invoice.period.0,
            period_end: invoice.period.1,
            subtotal: invoice.subtotal,
            total: invoice.total,
        }),
    }))
}
