//! The invoices of a project.

use mailwright_core::project::Project;
use mailwright_core::time::Timestamp;
use serde_json::Value;

use super::portal::time;
use crate::App;
use crate::error::{Error, Result};

/// Most invoices that are shown: as many as the payment service gives at once.
const MOST: &str = "100";

/// An invoice. Amounts are in the smallest unit of the currency.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invoice {
    /// Its id at the payment service.
    pub id: String,
    /// Its number.
    pub number: Option<String>,
    /// `draft`, `open`, `paid`, `uncollectible` or `void`.
    pub status: Option<String>,
    /// What is to be paid.
    pub amount_due: i64,
    /// What was paid.
    pub amount_paid: i64,
    /// The currency.
    pub currency: String,
    /// When it was made.
    pub created: Option<Timestamp>,
    /// The period.
    pub period: (Option<Timestamp>, Option<Timestamp>),
    /// Until when it is to be paid.
    pub due_date: Option<Timestamp>,
    /// The page on which it is paid.
    pub hosted_url: Option<String>,
    /// The invoice as PDF.
    pub pdf: Option<String>,
    /// Before discounts and taxes.
    pub subtotal: i64,
    /// After them.
    pub total: i64,
}

impl Invoice {
    /// Whether it was paid.
    pub fn is_paid(&self) -> bool {
        self.status.as_deref() == Some("paid")
    }

    /// Whether it is still to be paid.
    pub fn is_unpaid(&self) -> bool {
        matches!(self.status.as_deref(), Some("open" | "uncollectible"))
    }
}

/// The newest invoices of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invoices(pub Vec<Invoice>);

impl App {
    /// The newest invoices of a project, at most 100.
    pub async fn billing_invoices(&self, project: &Project) -> Result<Invoices> {
        let service = self.payment_service()?;
        let customer = self.customer_of(project).await?;
        let found = service.get("/v1/invoices", &[("customer", &customer), ("limit", MOST)]).await?;
        let list = found["data"]
            .as_array()
            .ok_or_else(|| Error::PaymentService("it listed no invoices".to_owned()))?;
        Ok(Invoices(list.iter().filter_map(invoice).collect()))
    }
}

fn invoice(value: &Value) -> Option<Invoice> {
    let text = |name: &str| value[name].as_str().map(str::to_owned);
    let amount = |name: &str| value[name].as_i64().unwrap_or_default();
    Some(Invoice {
        id: text("id")?,
        number: text("number"),
        status: text("status"),
        amount_due: amount("amount_due"),
        amount_paid: amount("amount_paid"),
        currency: text("currency").unwrap_or_default(),
        created: time(&value["created"]),
        period: (time(&value["period_start"]), time(&value["period_end"])),
        due_date: time(&value["due_date"]),
        hosted_url: text("hosted_invoice_url"),
        pdf: text("invoice_pdf"),
        subtotal: amount("subtotal"),
        total: amount("total"),
    })
}
