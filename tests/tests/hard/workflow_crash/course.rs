//! The workflow that everybody goes through, and the receiver of its requests.

use std::collections::HashMap;
use std::time::Duration;

use mailwright_testkit::receiver::{Receiver, Reply};
use mailwright_testkit::{App, Engine, json};
use mailwright_tests::random::hash;
use mailwright_tests::workflow::Flow;
use mailwright_tests::{create_template, read, text, with};

/// What a receiver does with the requests of a contact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Behaviour {
    Answers,
    ErrsOnce,
    DropsOnce,
    HangsOnce,
    RefusesAll,
    ErrsAlways,
}

impl Behaviour {
    pub(super) fn of(target: &str) -> Self {
        match hash(target) % 1_000 {
            0..800 => Self::Answers,
            800..880 => Self::ErrsOnce,
            880..940 => Self::DropsOnce,
            940..950 => Self::HangsOnce,
            950..990 => Self::RefusesAll,
            _ => Self::ErrsAlways,
        }
    }

    fn reply(self, attempt: usize) -> Reply {
        match (self, attempt) {
            (Self::ErrsOnce, 0) | (Self::ErrsAlways, _) => Reply::Status(503, "busy".to_owned()),
            (Self::DropsOnce, 0) => Reply::Drop,
            (Self::HangsOnce, 0) => Reply::Late(Duration::from_mins(10)),
            (Self::RefusesAll, _) => Reply::Status(410, "gone".to_owned()),
            _ => Reply::Status(200, r#"{"ok":true}"#.to_owned()),
        }
    }

    /// Whether a WEBHOOK step ends with success.
    pub(super) fn succeeds(self) -> bool {
        !matches!(self, Self::RefusesAll | Self::ErrsAlways)
    }
}

pub(super) async fn receiver() -> Receiver {
    let seen = std::sync::Mutex::new(HashMap::<String, usize>::new());
    Receiver::start(move |call, _| {
        let mut seen = seen.lock().expect("what came");
        let attempt = seen.entry(call.target.clone()).or_default();
        *attempt += 1;
        Behaviour::of(&call.target).reply(*attempt - 1)
    })
    .await
}

pub(super) async fn start(engine: Engine) -> App {
    App::builder(engine)
        .env("MAILWRIGHT_ALLOW_PRIVATE_NETWORKS", "true")
        .env("MAILWRIGHT_RATE_LIMIT_PER_MINUTE", "0")
        .start()
        .await
}

/// The workflow that everybody goes through.
pub(super) struct Course {
    pub(super) id: String,
    pub(super) segment: String,
    pub(super) templates: [String; 2],
}

impl Course {
    pub(super) async fn new(app: &App, receiver: &Receiver) -> Self {
        let flow = Flow::new(app, "begin").await;
        let made = app.post("/segments").json(&json!({"name": "under way", "type": "STATIC"})).send().await;
        let segment = text(&made.assert_status(201).json()["id"]).to_owned();
        let first = create_template(app, &json!({"name": "First"})).await;
        let second = create_template(app, &json!({"name": "Second"})).await;
        let templates = [&first, &second].map(|template| text(&template["id"]).to_owned());
        let member = json!({"segmentId": segment});
        let mail = |template: &str| json!({"templateId": template});

        flow.then("UPDATE_CONTACT", json!({"updates": {"seen": true}})).await;
        flow.then("ADD_TO_SEGMENT", member.clone()).await;
        flow.try_add("SEND_EMAIL", &json!({}), &mail(&templates[0])).await.assert_status(201);
        let halves = json!({"branches": [{"id": "a", "weight": 1}, {"id": "b", "weight": 1}]});
        let split = flow.then("RANDOM_SPLIT", halves).await;
        let delay = flow.loose("DELAY", json!({"amount": 0.02, "unit": "minutes"})).await;
        let until = flow.loose("WAIT_UNTIL", json!({"mode": "field", "field": "createdAt"})).await;
        let even = json!({"field": "event.even", "operator": "equals", "value": true});
        let condition = flow.loose("CONDITION", even).await;
        let wait = flow.loose("WAIT_FOR_EVENT", json!({"eventName": "paid", "timeout": 60})).await;
        let hook = json!({"url": receiver.url("/{{event.number}}"), "method": "POST", "body": {"is": "{{event.number}}"}});
        let webhook = flow.loose("WEBHOOK", hook).await;
        let changes = with(mail(&templates[1]), &json!({"autoConnect": false}));
        let second = flow.try_add("SEND_EMAIL", &json!({}), &changes).await.assert_status(201).json();
        let second = text(&second["id"]).to_owned();
        let leave = flow.loose("REMOVE_FROM_SEGMENT", member).await;
        let exit = flow.loose("EXIT", json!({"reason": "done"})).await;
        flow.link(&split, &delay, json!({"branch": "a"})).await;
        flow.link(&split, &until, json!({"branch": "b"})).await;
        flow.link(&condition, &wait, json!({"branch": "yes"})).await;
        flow.link(&condition, &webhook, json!({"branch": "no"})).await;
        for (from, to) in [
            (&delay, &condition),
            (&until, &condition),
            (&wait, &webhook),
            (&webhook, &second),
            (&second, &leave),
            (&leave, &exit),
        ] {
            flow.link(from, to, json!({})).await;
        }
        flow.change(json!({"goal": {"eventName": "converted"}})).await;
        flow.enable().await;
        Self { id: flow.id, segment, templates }
    }

    pub(super) fn path(&self, below: &str) -> String {
        format!("/workflows/{}{below}", self.id)
    }

    pub(super) async fn total(&self, app: &App, status: &str) -> u64 {
        let page = read(app, &self.path(&format!("/executions?pageSize=1{status}"))).await;
        page["total"].as_u64().expect("a total")
    }

    /// How many executions are not over.
    pub(super) async fn open(&self, app: &App) -> u64 {
        self.total(app, "&status=RUNNING").await + self.total(app, "&status=WAITING").await
    }

    /// Whether so many executions began, and all are over.
    pub(super) async fn is_over(&self, app: &App, count: usize) -> bool {
        self.open(app).await == 0 && self.total(app, "").await == count as u64
    }
}
