//! Billing: subscriptions, limits, metering and reports, against a payment service that speaks like Stripe
//! (`mailwright_testkit::payments`).

mod events;
mod limits;
mod metering;
mod portal;
mod report;
mod waiting;

use std::time::Duration;

use mailwright_testkit::payments::PaymentService;
use mailwright_testkit::smtp::{Answer, ScriptedServer};
use mailwright_testkit::{App, AppBuilder, Engine, OWNER, Project, Response};
use mailwright_tests::browser::Browser;
use mailwright_tests::text;
use serde_json::{Value, json};

/// A little more than the time after which what was used is put into a batch.
const OVER_A_MINUTE: Duration = Duration::from_secs(61);

/// A service that bills.
struct World {
    payments: PaymentService,
    /// It takes every mail.
    server: ScriptedServer,
    app: App,
    owner: Browser,
}

impl World {
    async fn start(engine: Engine) -> Self {
        Self::start_with(engine, |builder| builder).await
    }

    async fn start_with(engine: Engine, changed: impl FnOnce(AppBuilder) -> AppBuilder) -> Self {
        let payments = PaymentService::start().await;
        let server = ScriptedServer::start(|_, _| Answer::Accept).await;
        let builder = App::builder(engine)
            .smtp(server.port)
            .env("MAILWRIGHT_PLATFORM_FROM", "noreply@platform.test")
            .env("MAILWRIGHT_PROJECTS_PER_USER", "0");
        let app = changed(payments.billing(builder)).start().await;
        let owner = Browser::log_in(&app, OWNER.0, OWNER.1).await;
        Self { payments, server, app, owner }
    }

    /// A request of the owner about what a project pays.
    async fn ask(&self, method: &str, what: &str, body: Option<Value>) -> Response {
        let path = format!("/users/@me/projects/{}/{what}", self.app.project_id());
        let ask = |owner: &Browser| {
            let request = owner.request(&self.app, method, &path);
            match &body {
                Some(body) => request.json(body),
                None => request,
            }
        };
        let answer = ask(&self.owner).send().await;
        if answer.status != 401 {
            return answer;
        }
        // the session ended while time was moved
        let owner = Browser::log_in(&self.app, OWNER.0, OWNER.1).await;
        ask(&owner).send().await
    }

    /// The limits as they are shown.
    async fn limits(&self) -> Value {
        self.ask("GET", "billing-limits", None).await.assert_status(200).json()
    }

    /// Sets the limits; those that are not named are taken away.
    async fn set_limits(&self, limits: Value) -> Value {
        let none = json!({"workflows": null, "campaigns": null, "transactional": null, "inbound": null});
        let body = mailwright_tests::with(none, &limits);
        self.ask("PUT", "billing-limits", Some(body)).await.assert_status(200).json()
    }

    /// An event, as the payment service posts it.
    async fn tell(&self, id: &str, kind: &str, object: &Value) -> Response {
        let (body, signature) = self.payments.event(id, kind, object, self.app.now() / 1000);
        let request = self.app.request("POST", "/webhooks/incoming/payments");
        request.header("stripe-signature", &signature).body(body, "application/json").send().await
    }

    async fn tell_ok(&self, id: &str, kind: &str, object: &Value) {
        let answer = self.tell(id, kind, object).await.assert_status(200).json();
        assert_eq!(answer, json!({"success": true, "received": true}));
    }

    /// Subscribes the project, as the customer `cus_<name>`.
    async fn subscribe(&self, name: &str) {
        let checkout = checkout(self.app.project_id(), name, 1_790_000_000);
        self.tell_ok(&format!("evt_checkout_{name}"), "checkout.session.completed", &checkout).await;
        assert!(self.has_subscription().await);
    }

    async fn has_subscription(&self) -> bool {
        let path = format!("/projects/{}/setup-state", self.app.project_id());
        self.app.get(&path).send().await.assert_status(200).json()["hasSubscription"] == true
    }

    /// The mails that the owner got about a limit or a payment: their subjects.
    fn told(&self) -> Vec<String> {
        let mails = self.server.received_for(OWNER.0);
        let subject = |data: &[u8]| {
            let text = String::from_utf8_lossy(data).into_owned();
            let line = text.lines().find(|line| line.starts_with("Subject: ")).map(str::to_owned);
            line.unwrap_or_default()
        };
        mails.iter().map(|mail| subject(&mail.data)).collect()
    }

    async fn eventually_told(&self, subject: &str, times: usize) {
        self.app
            .eventually("the owner is told", async || {
                (self.told().iter().filter(|told| told.contains(subject)).count() == times).then_some(())
            })
            .await;
    }

    /// Waits until so many units were reported for a customer.
    async fn eventually_metered(&self, customer: &str, units: i64) {
        self.app
            .eventually_within(Duration::from_mins(1), "what was used is reported", async || {
                (self.payments.units(customer) == units).then_some(())
            })
            .await;
    }

    /// Nothing was wrong with any request to the payment service, and none of its secrets is in the log.
    fn assert_good(&self) {
        assert_eq!(self.payments.faults(), Vec::<String>::new());
        let log = self.app.log();
        for secret in self.payments.secrets() {
            assert!(!log.contains(secret), "a secret is in the log");
        }
    }
}

/// A checkout that was completed for the customer `cus_<name>`, with the subscription `sub_<name>`.
fn checkout(project: &str, name: &str, created: i64) -> Value {
    json!({
        "id": format!("cs_{name}"), "object": "checkout.session", "mode": "subscription", "created": created,
        "client_reference_id": project, "customer": format!("cus_{name}"), "subscription": format!("sub_{name}"),
        "currency": "eur",
    })
}

fn invoice(name: &str, number: u32) -> Value {
    json!({
        "id": format!("in_{name}_{number}"), "object": "invoice", "customer": format!("cus_{name}"),
        "subscription": format!("sub_{name}"), "billing_reason": "subscription_cycle",
    })
}

fn subscription(name: &str, status: &str) -> Value {
    json!({
        "id": format!("sub_{name}"), "object": "subscription", "customer": format!("cus_{name}"), "status": status,
    })
}

/// Sends a mail from a project.
async fn send_from(app: &App, project: &Project, to: &[&str]) -> Response {
    let body = json!({"to": to, "subject": "s", "body": "<p>b</p>", "from": project.from});
    app.request("POST", "/v1/send").bearer(&project.secret_key).json(&body).send().await
}

/// Sends mails to as many recipients.
async fn send_to_many(app: &App, prefix: &str, count: usize) -> Response {
    let to: Vec<String> = (0..count).map(|number| format!("{prefix}{number}@example.com")).collect();
    app.send(json!({"to": to, "subject": "s", "body": "<p>b</p>", "from": app.from()})).await
}

fn limit_of<'a>(limits: &'a Value, category: &str) -> (&'a Value, i64) {
    let found = &limits[category];
    (&found["limit"], found["usage"].as_i64().unwrap_or_else(|| panic!("no usage: {limits}")))
}

fn is_error(answer: &Response, code: &str) -> bool {
    let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    text(&body["error"]["code"]) == code
}
