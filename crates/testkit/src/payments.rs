//! A payment service that speaks like Stripe. It has what `localstripe` (1.15.10, for Python) lacks: checkout sessions, the
//! billing portal, meter events and previews of invoices. It takes form-encoded requests with a key, a version and, for
//! each POST, an `Idempotency-Key`, and signs the events that it tells.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ring::hmac;
use serde_json::{Value, json};

use crate::app::AppBuilder;
use crate::receiver::{Call, Receiver, Reply};

const SECRET_KEY: &str = "sk_test_of_the_tests";
const WEBHOOK_SECRET: &str = "whsec_of_the_tests";
const PRICE: &str = "price_usage";
const ONBOARDING: &str = "price_onboarding";
const METER: &str = "emails";
/// What a unit costs, in the smallest unit of the currency.
pub const UNIT_PRICE: i64 = 3;

/// What goes wrong.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Trouble {
    /// Nothing.
    #[default]
    None,
    /// Every connection ends without an answer, and nothing is done.
    Away,
    /// What is asked for is done, and the answer is lost.
    LosesAnswers,
}

/// What is known of it.
#[derive(Debug, Default)]
struct Books {
    trouble: Trouble,
    /// Answers by the key of their request.
    answers: BTreeMap<String, (u16, Value)>,
    /// The fields of the checkouts that were begun.
    checkouts: Vec<BTreeMap<String, String>>,
    /// Units that were reported, by identifier: the customer, the units, and the time.
    units: BTreeMap<String, (String, i64, i64)>,
    invoices: Vec<Value>,
    faults: Vec<String>,
}

/// A running payment service.
#[derive(Debug)]
pub struct PaymentService {
    receiver: Receiver,
    books: Arc<Mutex<Books>>,
}

impl PaymentService {
    /// Starts it.
    pub async fn start() -> Self {
        let books = Arc::<Mutex<Books>>::default();
        let shared = Arc::clone(&books);
        let receiver = Receiver::start(move |call, _| {
            let mut books = shared.lock().unwrap_or_else(PoisonError::into_inner);
            if books.trouble == Trouble::Away {
                return Reply::Drop;
            }
            let (status, body) = books.answer(call);
            match books.trouble {
                Trouble::LosesAnswers => Reply::Drop,
                _ => Reply::Status(status, body.to_string()),
            }
        })
        .await;
        Self { receiver, books }
    }

    /// Makes a server bill with it.
    pub fn billing(&self, builder: AppBuilder) -> AppBuilder {
        builder
            .env("MAILWRIGHT_BILLING_API_BASE", self.receiver.url(""))
            .env("MAILWRIGHT_BILLING_SECRET_KEY", SECRET_KEY)
            .env("MAILWRIGHT_BILLING_WEBHOOK_SECRET", WEBHOOK_SECRET)
            .env("MAILWRIGHT_BILLING_PRICE_USAGE", PRICE)
            .env("MAILWRIGHT_BILLING_PRICE_ONBOARDING", ONBOARDING)
            .env("MAILWRIGHT_BILLING_METER_EVENT", METER)
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has something go wrong from now on.
    pub fn set_trouble(&self, trouble: Trouble) {
        self.books().trouble = trouble;
    }

    /// Forgets which requests were made with which key, as Stripe does after a day. Identifiers of events are still known.
    pub fn forget_keys(&self) {
        self.books().answers.clear();
    }

    /// The fields of the checkouts that were begun.
    pub fn checkouts(&self) -> Vec<BTreeMap<String, String>> {
        self.books().checkouts.clone()
    }

    /// The units that were reported for a customer, each event once.
    pub fn units(&self, customer: &str) -> i64 {
        self.books().units.values().filter(|(of, ..)| of == customer).map(|(_, units, _)| units).sum()
    }

    /// The times of what was reported for a customer, in seconds since 1970.
    pub fn times(&self, customer: &str) -> Vec<i64> {
        self.books().units.values().filter(|(of, ..)| of == customer).map(|(.., at)| *at).collect()
    }

    /// Adds an invoice.
    pub fn add_invoice(&self, invoice: Value) {
        self.books().invoices.insert(0, invoice);
    }

    /// What was wrong with requests so far.
    pub fn faults(&self) -> Vec<String> {
        self.books().faults.clone()
    }

    /// Requests that came so far.
    pub fn calls(&self) -> usize {
        self.receiver.calls().len()
    }

    /// What must not be found anywhere else.
    pub fn secrets(&self) -> [&'static str; 2] {
        [SECRET_KEY, WEBHOOK_SECRET]
    }

    /// An event at a time in seconds since 1970: the body, and the header that signs it.
    pub fn event(&self, id: &str, kind: &str, object: &Value, at: i64) -> (String, String) {
        let body = json!({
            "id": id, "object": "event", "type": kind, "created": at, "data": {"object": object}
        });
        let body = body.to_string();
        let key = hmac::Key::new(hmac::HMAC_SHA256, WEBHOOK_SECRET.as_bytes());
        let tag = hmac::sign(&key, format!("{at}.{body}").as_bytes());
        let tag = tag.as_ref().iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"));
        (body, format!("t={at},v1={tag}"))
    }
}

impl Books {
    fn answer(&mut self, call: &Call) -> (u16, Value) {
        let (path, query) = call.target.split_once('?').unwrap_or((&call.target, ""));
        let fields: BTreeMap<String, String> =
            form_urlencoded::parse(if call.method == "GET" { query } else { &call.body }.as_bytes())
                .into_owned()
                .collect();
        if let Some(fault) = fault(call) {
            self.faults.push(format!("{} {path}: {fault}", call.method));
            return refusal(400, "parameter_missing", &fault);
        }
        let Some(key) = call.header("idempotency-key") else { return self.done(&call.method, path, &fields) };
        if let Some(answered) = self.answers.get(key) {
            return answered.clone();
        }
        let answered = self.done(&call.method, path, &fields);
        self.answers.insert(key.to_owned(), answered.clone());
        answered
    }

    fn done(&mut self, method: &str, path: &str, fields: &BTreeMap<String, String>) -> (u16, Value) {
        let field = |name: &str| fields.get(name).cloned().unwrap_or_default();
        match (method, path) {
            ("POST", "/v1/checkout/sessions") => {
                self.checkouts.push(fields.clone());
                let id = format!("cs_{}", self.checkouts.len());
                (
                    200,
                    json!({"id": id, "object": "checkout.session", "url": format!("https://pay.test/{id}")}),
                )
            }
            ("POST", "/v1/billing_portal/sessions") => {
                let url = format!("https://pay.test/portal/{}", field("customer"));
                (200, json!({"object": "billing_portal.session", "url": url}))
            }
            ("POST", "/v1/billing/meter_events") => self.meter(fields),
            ("POST", "/v1/invoices/create_preview") => {
                let customer = field("subscription").replace("sub_", "cus_");
                let total = UNIT_PRICE
                    * self
                        .units
                        .values()
                        .filter(|(of, ..)| *of == customer)
                        .map(|(_, units, _)| units)
                        .sum::<i64>();
                (
                    200,
                    json!({
                        "object": "invoice", "amount_due": total, "currency": "eur", "subtotal": total, "total": total,
                        "period_start": 1_790_000_000, "period_end": 1_792_592_000,
                    }),
                )
            }
            ("GET", "/v1/invoices") => {
                let customer = field("customer");
                let found: Vec<_> = self
                    .invoices
                    .iter()
                    .filter(|invoice| invoice["customer"] == *customer)
                    .cloned()
                    .collect();
                (200, json!({"object": "list", "data": found, "has_more": false}))
            }
            ("GET", path) if path.starts_with("/v1/subscriptions/") => (
                200,
                json!({
                    "object": "subscription", "status": "active",
                    "items": {"data": [{"current_period_start": 1_790_000_000, "current_period_end": 1_792_592_000}]},
                }),
            ),
            ("GET", path) if path.starts_with("/v1/customers/") => {
                (200, json!({"object": "customer", "balance": -250, "currency": "eur"}))
            }
            _ => refusal(404, "resource_missing", "There is nothing here."),
        }
    }

    fn meter(&mut self, fields: &BTreeMap<String, String>) -> (u16, Value) {
        let field = |name: &str| fields.get(name).cloned().unwrap_or_default();
        let (id, customer) = (field("identifier"), field("payload[stripe_customer_id]"));
        let (Ok(units), Ok(at)) = (field("payload[value]").parse::<i64>(), field("timestamp").parse::<i64>())
        else {
            return refusal(400, "parameter_invalid_integer", "Not a number.");
        };
        if field("event_name") != METER || customer.is_empty() || id.is_empty() || units <= 0 {
            self.faults.push(format!("a meter event with {fields:?}"));
            return refusal(400, "parameter_missing", "Not an event of this meter.");
        }
        if self.units.contains_key(&id) {
            return refusal(
                400,
                "invalid_request_error",
                &format!("An event already exists with identifier {id}."),
            );
        }
        self.units.insert(id.clone(), (customer, units, at));
        (200, json!({"object": "billing.meter_event", "identifier": id}))
    }
}

/// What is wrong with a request, whatever it asks for.
fn fault(call: &Call) -> Option<String> {
    if call.header("authorization") != Some(&format!("Bearer {SECRET_KEY}")) {
        return Some("the key is missing".to_owned());
    }
    if call.header("stripe-version").is_none() {
        return Some("the version is missing".to_owned());
    }
    if call.method != "POST" {
        return None;
    }
    if call.header("idempotency-key").is_none_or(str::is_empty) {
        return Some("the idempotency key is missing".to_owned());
    }
    let is_form = call.header("content-type") == Some("application/x-www-form-urlencoded");
    (!is_form).then(|| "it is no form".to_owned())
}

fn refusal(status: u16, code: &str, message: &str) -> (u16, Value) {
    (status, json!({"error": {"type": "invalid_request_error", "code": code, "message": message}}))
}
