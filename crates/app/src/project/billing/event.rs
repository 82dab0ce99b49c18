//! What the payment service tells: that somebody subscribed, that an invoice was paid or could not be, that a subscription
//! ended.
//!
//! Events come more than once and in any order. Each is applied once, by its id. What they tell only grows: a subscription
//! that ended stays ended, an invoice that was paid stays paid, and of several checkouts of a project the last one counts. So
//! any order leads to the same state, without asking the payment service, which may be away just then. Events of a customer
//! wait for each other at its row.

use mailwright_core::audit::{Action, Actor};
use mailwright_core::ids::{ProjectId, ProjectNumber};
use mailwright_core::time::Timestamp;
use mailwright_store::body;
use mailwright_store::delivery::suspension;
use mailwright_store::project as store;
use mailwright_store::project::audit::{self, Entry};
use mailwright_store::project::billing::account::{self, Checkout};
use mailwright_store::project::billing::{batch, payment};
use mailwright_store::{Error as StoreError, Tx};
use serde_json::{Value, json};

use super::client::id_of;
use super::{notices, signature};
use crate::App;
use crate::delivery::suspension::disable;
use crate::error::{Error, Result};
use crate::sending::system_mail::SystemSender;

/// The reason of projects that are disabled because an invoice could not be paid.
const PAYMENT_FAILED: &str = "PAYMENT_FAILED";
/// Most bytes of an id.
const LONGEST_ID: usize = 255;

/// What the payment service is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PaymentAnswer {
    /// The event is applied, was applied before, or is of no interest.
    Received,
    /// It is not signed by the payment service, or not one that can be understood.
    Invalid(&'static str),
}

/// An event that means something here.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Told {
    Subscribed {
        project: ProjectId,
        subscription: String,
        currency: Option<String>,
        /// When the checkout was made, in seconds since 1970, and its id.
        place: (i64, String),
    },
    Ended {
        subscription: String,
    },
    Invoice {
        id: String,
        paid: bool,
    },
}

/// Projects whose campaigns may go on, and whether mails were written.
#[derive(Debug, Default)]
struct Applied {
    subscribed: Vec<ProjectNumber>,
    wrote_mails: bool,
}

impl App {
    /// Takes an event of the payment service.
    pub async fn take_payment_event(&self, header: Option<&str>, raw: &[u8]) -> Result<PaymentAnswer> {
        let secret = &self.billing()?.webhook_secret;
        let now = self.0.clock.now();
        let Some(header) = header else { return Ok(PaymentAnswer::Invalid("The signature is missing.")) };
        if !signature::is_valid(header, raw, secret.reveal().as_bytes(), now) {
            return Ok(PaymentAnswer::Invalid("The signature is not valid."));
        }
        let Ok(event) = serde_json::from_slice::<Value>(raw) else {
            return Ok(PaymentAnswer::Invalid("The event is not JSON."));
        };
        // no text of the database has it
        if event.to_string().contains("\\u0000") {
            return Ok(PaymentAnswer::Invalid("The event must not contain the NUL character."));
        }
        let Some(id) = id_of(&event).filter(|id| id.len() <= LONGEST_ID) else {
            return Ok(PaymentAnswer::Invalid("The event has no id."));
        };
        let kind = event["type"].as_str().unwrap_or_default();
        let Some((customer, told)) = read(kind, &event["data"]["object"]) else {
            return Ok(PaymentAnswer::Received);
        };
        self.apply(id.to_owned(), customer, told, now).await?;
        Ok(PaymentAnswer::Received)
    }

    async fn apply(&self, id: String, customer: String, told: Told, now: Timestamp) -> Result<()> {
        let sender = match self.system_sender().await {
            Err(error) if error.is_unavailable() => return Err(error),
            Err(error) => {
                tracing::error!(%error, "members cannot be told of payments");
                None
            }
            Ok(sender) => sender,
        };
        let mut applied = self.apply_with(&id, &customer, &told, sender.clone(), now).await;
        if let Err(error @ Error::NoOwnSender) = &applied {
            tracing::error!(%error, "members are not told of a payment");
            applied = self.apply_with(&id, &customer, &told, None, now).await;
        }
        let applied = applied?;
        for project in applied.subscribed {
            self.let_campaigns_go_on(project).await?;
        }
        if let (Some(sender), true) = (&sender, applied.wrote_mails) {
            self.wake_system_mail(sender);
        }
        Ok(())
    }

    async fn apply_with(
        &self,
        id: &str,
        customer: &str,
        told: &Told,
        sender: Option<SystemSender>,
        now: Timestamp,
    ) -> Result<Applied> {
        let (app, id, customer, told) = (self.clone(), id.to_owned(), customer.to_owned(), told.clone());
        self.write(body!(async |tx| {
            payment::lock(tx, &customer, now).await?;
            let mut applied = Applied::default();
            if !payment::is_new(tx, &id, now).await? {
                return Ok(applied);
            }
            match &told {
                Told::Subscribed { project, subscription, currency, place } => {
                    let checkout = Checkout {
                        place: (place.0, &place.1),
                        customer: &customer,
                        subscription: Some(subscription),
                        currency: currency.as_deref(),
                    };
                    applied.subscribed.extend(subscribe(tx, *project, checkout, now).await?);
                }
                Told::Ended { subscription } => end(tx, &customer, subscription, now).await?,
                Told::Invoice { id, paid } => payment::invoice(tx, id, &customer, *paid, now).await?,
            }
            applied.wrote_mails = app.settle_debts(tx, &customer, sender, now).await?;
            Ok(applied)
        }))
        .await
    }

    /// Disables the projects of a customer who owes something, and enables them again that were disabled for that. Returns
    /// whether members were told.
    async fn settle_debts(
        &self,
        tx: &mut Tx<'_>,
        customer: &str,
        sender: Option<SystemSender>,
        now: Timestamp,
    ) -> Result<bool> {
        let owes = payment::owes(tx, customer).await?;
        let mut told = false;
        for (number, _) in account::of_customer(tx, customer).await? {
            if !owes {
                if suspension::end_for(tx, number, PAYMENT_FAILED, now).await? {
                    let entry = Entry::of_project(Action::ProjectEnabled);
                    audit::record(tx, number, &Actor::Service, &entry, now).await?;
                    tracing::info!(project = number.0, "a project was enabled, because its invoice was paid");
                }
                continue;
            }
            if !disable(tx, number, &Actor::Service, PAYMENT_FAILED, now).await? {
                continue;
            }
            tracing::warn!(
                project = number.0,
                "a project was disabled, because its invoice could not be paid"
            );
            let (Some(sender), Some(project)) = (&sender, store::get(tx, number).await?) else { continue };
            self.write_to_members(tx, sender, &project, &notices::payment_letter()).await?;
            told = true;
        }
        Ok(told)
    }
}

/// What an event tells, and of which customer; `None` if that is of no interest.
fn read(kind: &str, object: &Value) -> Option<(String, Told)> {
    let text = |value: &Value| id_of(value).filter(|id| id.len() <= LONGEST_ID).map(str::to_owned);
    let (customer, id) = (text(&object["customer"])?, text(&object["id"])?);
    let told = match kind {
        "checkout.session.completed" => Told::Subscribed {
            project: object["client_reference_id"].as_str()?.parse().ok()?,
            subscription: text(&object["subscription"])?,
            currency: text(&object["currency"]),
            place: (object["created"].as_i64().unwrap_or_default(), id),
        },
        "invoice.paid" | "invoice.voided" => Told::Invoice { id, paid: true },
        // whoever cannot pay the first one has no subscription yet
        "invoice.payment_failed" if object["billing_reason"] != "subscription_create" => {
            Told::Invoice { id, paid: false }
        }
        "customer.subscription.deleted" => Told::Ended { subscription: id },
        "customer.subscription.updated"
            if matches!(object["status"].as_str(), Some("canceled" | "incomplete_expired")) =>
        {
            Told::Ended { subscription: id }
        }
        _ => return None,
    };
    Some((customer, told))
}

/// Stores what a checkout led to. Returns the project if it is subscribed by that.
async fn subscribe(
    tx: &mut Tx<'_>,
    project: ProjectId,
    checkout: Checkout<'_>,
    now: Timestamp,
) -> std::result::Result<Option<ProjectNumber>, StoreError> {
    let Some(found) = store::by_id(tx, project).await? else {
        tracing::warn!(%project, "somebody subscribed a project that does not exist any more");
        return Ok(None);
    };
    let Some(number) = store::lock(tx, found.number).await? else { return Ok(None) };
    let before = account::hold(tx, number, now).await?;
    // what another subscription was used for until now is on its own invoice
    batch::gather(tx, number, &before, now).await?;
    let is_ended = match checkout.subscription {
        Some(subscription) => payment::is_ended(tx, subscription).await?,
        None => true,
    };
    let checkout = Checkout { subscription: checkout.subscription.filter(|_| !is_ended), ..checkout };
    if !account::set_checkout(tx, number, checkout, now).await? || checkout.subscription.is_none() {
        return Ok(None);
    }
    batch::begin(tx, number, now).await?;
    let entry = Entry::of_project(Action::SubscriptionStarted)
        .with(json!({ "subscription": checkout.subscription, "currency": checkout.currency }));
    audit::record(tx, number, &Actor::Service, &entry, now).await?;
    tracing::info!(project = %found.id, "a project was subscribed");
    Ok(Some(number))
}

/// Ends a subscription.
async fn end(
    tx: &mut Tx<'_>,
    customer: &str,
    subscription: &str,
    now: Timestamp,
) -> std::result::Result<(), StoreError> {
    payment::end(tx, subscription, now).await?;
    for (number, current) in account::of_customer(tx, customer).await? {
        if current.as_deref() != Some(subscription) {
            continue;
        }
        let Some(number) = store::lock(tx, number).await? else { continue };
        let account = account::hold(tx, number, now).await?;
        if account.subscription.as_deref() != Some(subscription) {
            continue;
        }
        batch::gather(tx, number, &account, now).await?;
        account::end_subscription(tx, number, now).await?;
        let entry =
            Entry::of_project(Action::SubscriptionEnded).with(json!({ "subscription": subscription }));
        audit::record(tx, number, &Actor::Service, &entry, now).await?;
        tracing::info!(project = number.0, "the subscription of a project ended");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_of(kind: &str, object: Value) -> Option<(String, Told)> {
        read(kind, &object)
    }

    #[test]
    fn what_is_not_about_payments_is_of_no_interest() {
        let invoice = |reason: &str| json!({"id": "in_1", "customer": "cus_1", "billing_reason": reason});
        assert_eq!(read_of("invoice.payment_failed", invoice("subscription_create")), None);
        let failed = Told::Invoice { id: "in_1".into(), paid: false };
        assert_eq!(
            read_of("invoice.payment_failed", invoice("subscription_cycle")),
            Some(("cus_1".into(), failed))
        );
        for status in ["active", "past_due", "unpaid", "incomplete"] {
            let object = json!({"id": "sub_1", "customer": "cus_1", "status": status});
            assert_eq!(read_of("customer.subscription.updated", object), None, "{status}");
        }
        let object = json!({"id": "sub_1", "customer": {"id": "cus_1"}, "status": "canceled"});
        let ended = Told::Ended { subscription: "sub_1".into() };
        assert_eq!(read_of("customer.subscription.updated", object), Some(("cus_1".into(), ended)));
        let payment =
            json!({"id": "cs_1", "customer": "cus_1", "client_reference_id": "x", "subscription": "sub_1"});
        assert_eq!(read_of("checkout.session.completed", payment), None, "it names no project");
        assert_eq!(read_of("charge.refunded", json!({"id": "ch_1", "customer": "cus_1"})), None);
    }
}
