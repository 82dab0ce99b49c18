//! The invoices of a project.

use axum::extract::State;
use mailwright_app::App;
use mailwright_app::project::billing::{Invoice, Invoices};
use serde::Serialize;
use utoipa::ToSchema;

use crate::auth::MemberAccess;
use crate::auth::needs::ReadProject;
use crate::envelope::Time;
use crate::error::{ErrorEnvelope, Result};
use crate::json::Json;

/// An invoice. Amounts are in the smallest unit of the currency.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InvoiceView {
    id: String,
    number: Option<String>,
    /// `draft`, `open`, `paid`, `uncollectible` or `void`.
    status: Option<String>,
    amount_due: i64,
    amount_paid: i64,
    currency: String,
    #[schema(value_type = Option<String>, format = DateTime)]
    created: Time,
    #[schema(value_type = Option<String>, format = DateTime)]
    period_start: Time,
    #[schema(value_type = Option<String>, format = DateTime)]
    period_end: Time,
    hosted_invoice_url: Option<String>,
    invoice_pdf: Option<String>,
    subtotal: i64,
    total: i64,
    paid: bool,
}

/// An invoice that is still to be paid.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UnpaidInvoice {
    id: String,
    number: Option<String>,
    amount_due: i64,
    currency: String,
    #[schema(value_type = Option<String>, format = DateTime)]
    due_date: Time,
    /// The page on which it is paid.
    hosted_invoice_url: Option<String>,
}

/// The newest invoices of a project, at most 100.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InvoiceList {
    invoices: Vec<InvoiceView>,
    has_unpaid_invoices: bool,
    unpaid_invoices: Vec<UnpaidInvoice>,
}

impl InvoiceList {
    fn new(Invoices(invoices): Invoices) -> Self {
        let unpaid = invoices.iter().filter(|invoice| invoice.is_unpaid()).map(|invoice| UnpaidInvoice {
            id: invoice.id.clone(),
            number: invoice.number.clone(),
            amount_due: invoice.amount_due,
            currency: invoice.currency.clone(),
            due_date: invoice.due_date,
            hosted_invoice_url: invoice.hosted_url.clone(),
        });
        let unpaid_invoices: Vec<_> = unpaid.collect();
        Self {
            invoices: invoices.into_iter().map(view).collect(),
            has_unpaid_invoices: !unpaid_invoices.is_empty(),
            unpaid_invoices,
        }
    }
}

fn view(invoice: Invoice) -> InvoiceView {
    InvoiceView {
        paid: invoice.is_paid(),
        id: invoice.id,
        number: invoice.number,
        status: invoice.status,
        amount_due: invoice.amount_due,
        amount_paid: invoice.amount_paid,
        currency: invoice.currency,
        created: invoice.created,
        period_start: invoice.period.0,
        period_end: invoice.period.1,
        hosted_invoice_url: invoice.hosted_url,
        invoice_pdf: invoice.pdf,
        subtotal: invoice.subtotal,
        total: invoice.total,
    }
}

/// List invoices
///
/// The newest first, at most 100. `unpaidInvoices` are those that are open or given up.
#[utoipa::path(get, path = "/users/@me/projects/{id}/billing-invoices", tag = "Billing", operation_id = "listInvoices", security(("session" = [])),
    params(("id" = String, Path)),
    responses(
        (status = 200, body = InvoiceList),
        (status = 400, description = "The project was never subscribed", body = ErrorEnvelope),
        (status = 404, description = "No such project, or this instance does not bill", body = ErrorEnvelope),
        (status = 502, description = "The payment service did not answer, or refused", body = ErrorEnvelope)))]
pub(crate) async fn list(
    State(app): State<App>,
    MemberAccess(project, ..): MemberAccess<ReadProject>,
) -> Result<Json<InvoiceList>> {
    Ok(Json(InvoiceList::new(app.billing_invoices(&project).await?)))
}
