//! What members ask the payment service for: to subscribe, to pay, and what there is to pay.

use mailwright_core::month::Month;
use mailwright_core::project::Project;
use mailwright_core::time::Timestamp;
use mailwright_store::body;
use mailwright_store::project::billing::account::{self, Account};
use mailwright_store::project::billing::usage;
use serde_json::Value;
use uuid::Uuid;

use super::client::{Client, Failed};
use crate::App;
use crate::error::{Error, Result};

/// The currencies that can be paid in.
const CURRENCIES: [&str; 3] = ["usd", "eur", "gbp"];
/// Where people come back to.
const RETURN: &str = "/app/settings?tab=billing";

/// What was used in the period that is billed next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Consumption {
    /// The period.
    pub period: (Timestamp, Timestamp),
    /// Units that were used in this month (UTC).
    pub units: i64,
    /// What the customer has paid in advance.
    pub credits: Option<Credits>,
    /// What the next invoice comes to; `None` when there will be none.
    pub upcoming: Option<Upcoming>,
}

/// The balance of a customer, in the smallest unit of the currency.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credits {
    /// The balance: negative for what is left, positive for what is owed.
    pub balance: i64,
    /// The currency.
    pub currency: Option<String>,
}

/// The next invoice, in the smallest unit of the currency.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upcoming {
    /// What is to be paid.
    pub amount_due: i64,
    /// The currency.
    pub currency: String,
    /// The period.
    pub period: (Timestamp, Timestamp),
    /// Before discounts and taxes.
    pub subtotal: i64,
    /// After them.
    pub total: i64,
}

impl App {
    pub(super) fn payment_service(&self) -> Result<Client<'_>> {
        Ok(Client::new(&self.0.project.billing.http, self.billing()?))
    }

    pub(super) async fn account_of(&self, project: &Project) -> Result<Account> {
        let number = project.number;
        self.read(body!(async |rx| account::get(rx, number).await)).await
    }

    /// Where somebody subscribes a project.
    pub async fn checkout(&self, project: &Project, currency: Option<&str>) -> Result<String> {
        let (service, settings) = (self.payment_service()?, self.billing()?);
        let currency = currency.unwrap_or(CURRENCIES[0]);
        if !CURRENCIES.contains(&currency) {
            return Err(Error::BadRequest(format!("currency must be one of {}.", CURRENCIES.join(", "))));
        }
        let account = self.account_of(project).await?;
        if account.subscription.is_some() {
            return Err(Error::BadRequest("The project has a subscription already.".into()));
        }
        let usage = settings.price_usage.as_deref().ok_or_else(|| {
            Error::NotConfigured("The price of mails is not configured on this instance.".into())
        })?;
        let id = project.id.to_string();
        let anchor = (Month::of(self.0.clock.now()).end().0 / 1000).to_string();
        let base = &self.settings().base_url;
        let success = base.link(&format!("{RETURN}&success=true"));
        let canceled = base.link(&format!("{RETURN}&canceled=true"));
        let mut fields = vec![
            ("mode", "subscription"),
            ("client_reference_id", &id),
            ("currency", currency),
            ("success_url", &success),
            ("cancel_url", &canceled),
            ("subscription_data[billing_cycle_anchor]", &anchor),
            ("subscription_data[metadata][project]", &id),
            ("line_items[0][price]", usage),
        ];
        if let Some(onboarding) = settings.price_onboarding.as_deref() {
            fields.push(("line_items[1][price]", onboarding));
            fields.push(("line_items[1][quantity]", "1"));
        }
        if let Some(customer) = account.customer.as_deref() {
            fields.push(("customer", customer));
        }
        let session = service.post("/v1/checkout/sessions", &fields, &new_key()).await?;
        url_of(&session)
    }

    /// Where the customer of a project sees invoices, and changes how they are paid.
    pub async fn billing_portal(&self, project: &Project) -> Result<String> {
        let service = self.payment_service()?;
        let customer = self.customer_of(project).await?;
        let back = self.settings().base_url.link(RETURN);
        let fields = [("customer", customer.as_str()), ("return_url", &back)];
        let session = service.post("/v1/billing_portal/sessions", &fields, &new_key()).await?;
        url_of(&session)
    }

    pub(super) async fn customer_of(&self, project: &Project) -> Result<String> {
        let customer = self.account_of(project).await?.customer;
        customer.ok_or_else(|| {
            Error::BadRequest("The project has no customer at the payment service yet.".into())
        })
    }

    /// What was used in the period that is billed next, and what it comes to.
    pub async fn billing_consumption(&self, project: &Project) -> Result<Consumption> {
        let service = self.payment_service()?;
        let (number, month) = (project.number, Month::of(self.0.clock.now()));
        let (account, used) = self
            .read(body!(async |rx| {
                let used = usage::of_months(rx, number, [month]).await?.remove(&month);
                Ok((account::get(rx, number).await?, used.unwrap_or_default()))
            }))
            .await?;
        let (Some(subscription), Some(customer)) = (account.subscription, account.customer) else {
            return Err(Error::BadRequest("The project has no active subscription.".into()));
        };
        let found = service.get(&format!("/v1/subscriptions/{subscription}"), &[]).await?;
        let owner = service.get(&format!("/v1/customers/{customer}"), &[]).await?;
        let fields = [("subscription", subscription.as_str())];
        let upcoming = match service.post("/v1/invoices/create_preview", &fields, &new_key()).await {
            Ok(invoice) => upcoming(&invoice),
            // there will be none, for instance because the subscription ends before
            Err(Failed::Refused { status: 400 | 404, .. }) => None,
            Err(failed) => return Err(failed.into()),
        };
        Ok(Consumption {
            period: period(&found)
                .or_else(|| period(&found["items"]["data"][0]))
                .unwrap_or((month.start(), month.end())),
            units: used.total_units(),
            credits: owner["balance"].as_i64().map(|balance| Credits {
                balance,
                currency: owner["currency"].as_str().map(str::to_owned).or(account.currency),
            }),
            upcoming,
        })
    }
}

/// The key of a request that is made once, however often it is tried.
fn new_key() -> String {
    Uuid::from_bytes(rand::random()).to_string()
}

fn url_of(session: &Value) -> Result<String> {
    let url = session["url"].as_str().filter(|url| url.starts_with("https://") || url.starts_with("http://"));
    url.map(str::to_owned).ok_or_else(|| Error::PaymentService("it named no page".to_owned()))
}

/// Seconds since 1970, as the payment service writes times.
pub(super) fn time(value: &Value) -> Option<Timestamp> {
    Timestamp::from_millis(value.as_i64()?.checked_mul(1000)?)
}

/// The period of a subscription, or of one of its items: newer versions of the API have it there.
fn period(of: &Value) -> Option<(Timestamp, Timestamp)> {
    Some((time(&of["current_period_start"])?, time(&of["current_period_end"])?))
}

fn upcoming(invoice: &Value) -> Option<Upcoming> {
    Some(Upcoming {
        amount_due: invoice["amount_due"].as_i64()?,
        currency: invoice["currency"].as_str()?.to_owned(),
        period: (time(&invoice["period_start"])?, time(&invoice["period_end"])?),
        subtotal: invoice["subtotal"].as_i64()?,
        total: invoice["total"].as_i64()?,
    })
}
