//! What tests of schedules and enrolments share: a year whose dates are known, segments, and jobs that enrol them.

use std::time::Duration;

use mailwright_testkit::App;
use mailwright_tests::workflow::Flow;
use mailwright_tests::{items, read, text, with};
use serde_json::{Value, json};

use super::dates::{iso, millis};

const MINUTE_MS: i64 = 60_000;
const DAY_MS: i64 = 24 * 60 * MINUTE_MS;
/// The days of the week, beginning with that of 1970-01-01.
const DAYS: [&str; 7] = ["TH", "FR", "SA", "SU", "MO", "TU", "WE"];

/// The year after this one, which the schedules of a test are in.
pub(super) struct Year<'a> {
    app: &'a App,
    pub(super) number: i64,
    /// A workflow, and a segment that nobody is in. Jobs are done one after another: once this segment is enrolled, all
    /// that schedules queued before is done.
    fence: (Flow<'a>, Value),
}

impl<'a> Year<'a> {
    /// Lets time pass until it begins.
    pub(super) async fn begin(app: &'a App) -> Self {
        let this: i64 = iso(app.now())[..4].parse().expect("a year");
        let year = Self::of(app, this + 1).await;
        year.after("01-01T00:00").await;
        year
    }

    /// The year with a number.
    pub(super) async fn of(app: &'a App, number: i64) -> Self {
        let fence = (enabled(app, &manual(), exit()).await, list(app, &json!([])).await);
        Self { app, number, fence }
    }

    /// A moment as schedules have it: `2027-01-31T09:00`.
    pub(super) fn date(&self, moment: &str) -> String {
        format!("{}-{moment}", self.number)
    }

    /// A moment of UTC such as `01-31T09:00`, in milliseconds since 1970.
    fn at(&self, moment: &str) -> i64 {
        let text = format!("{}:00.000Z", self.date(moment));
        millis(&text).unwrap_or_else(|| panic!("{text}"))
    }

    pub(super) fn weekday(&self, moment: &str) -> &'static str {
        DAYS[(self.at(moment) / DAY_MS % 7) as usize]
    }

    /// Lets time pass until some minutes before a moment of UTC.
    pub(super) async fn before(&self, moment: &str) {
        self.until(self.at(moment) - 10 * MINUTE_MS).await;
    }

    /// Lets time pass until a minute after a moment of UTC. What schedules queue until then is done.
    pub(super) async fn after(&self, moment: &str) {
        self.until(self.at(moment) + MINUTE_MS).await;
    }

    async fn until(&self, at: i64) {
        let left = at - self.app.now();
        assert!(left > 0, "that moment is over since {} ms", -left);
        self.app.advance(Duration::from_millis(left as u64)).await;
        let (flow, nobody) = &self.fence;
        assert_eq!(enrol(self.app, flow, nobody).await, json!({"enrolled": 0, "refused": 0}));
    }

    /// How many executions a workflow has, once all of them are over.
    pub(super) async fn runs(&self, flow: &Flow<'_>) -> usize {
        self.app
            .eventually("all executions are over", async || {
                let found = flow.executions().await;
                found.iter().all(|execution| !execution["completedAt"].is_null()).then_some(found.len())
            })
            .await
    }

    /// A trigger that begins a workflow at 09:00 of every day, from the fifth of January on.
    pub(super) fn mornings(&self, segment: &Value) -> Value {
        schedule(segment, &json!({"start": self.date("01-05T09:00"), "repeat": "daily"}))
    }
}

/// The trigger of a schedule, for a segment.
pub(super) fn schedule(segment: &Value, config: &Value) -> Value {
    json!({"triggerType": "SCHEDULE", "triggerConfig": with(json!({"segmentId": segment["id"]}), config)})
}

pub(super) fn manual() -> Value {
    json!({"triggerType": "MANUAL", "triggerConfig": null})
}

/// A step that ends an execution.
pub(super) fn exit() -> (&'static str, Value) {
    ("EXIT", json!({}))
}

/// A step that waits for `paid`.
pub(super) fn wait() -> (&'static str, Value) {
    ("WAIT_FOR_EVENT", json!({"eventName": "paid"}))
}

/// An enabled workflow of one step, which contacts may go through again.
pub(super) async fn enabled<'a>(app: &'a App, trigger: &Value, (kind, config): (&str, Value)) -> Flow<'a> {
    let flow = Flow::new(app, "never").await;
    flow.then(kind, config).await;
    flow.change(with(json!({"allowReentry": true}), trigger)).await;
    flow.enable().await;
    flow
}

/// A segment as POST /segments takes it.
pub(super) async fn segment(app: &App, body: &Value) -> Value {
    app.post("/segments").json(body).send().await.assert_status(201).json()
}

/// A static segment of these addresses, who become contacts.
pub(super) async fn list(app: &App, emails: &Value) -> Value {
    let list = segment(app, &json!({"name": "List", "type": "STATIC"})).await;
    add(app, &list, emails).await;
    list
}

/// Puts these addresses on a list.
pub(super) async fn add(app: &App, list: &Value, emails: &Value) {
    let path = format!("/segments/{}/members", text(&list["id"]));
    for some in items(emails).chunks(500) {
        let body = json!({"emails": some, "createMissing": true});
        app.post(&path).json(&body).send().await.assert_status(200);
    }
}

/// Has a segment enrolled. What the request was answered.
pub(super) async fn queue(app: &App, flow: &Flow<'_>, segment: &Value) -> Value {
    let body = json!({"segmentId": segment["id"], "context": {"season": "spring"}});
    app.post(&flow.path("/enrol")).json(&body).send().await.assert_status(202).json()
}

/// The result of an enrolment, once it is completed.
pub(super) async fn result(app: &App, flow: &Flow<'_>, queued: &Value) -> Value {
    let path = flow.path(&format!("/enrol/{}", text(&queued["jobId"])));
    let mut last = 0;
    app.eventually_within(Duration::from_mins(1), "the segment is enrolled", async || {
        let job = read(app, &path).await;
        assert_eq!(job["id"], queued["jobId"]);
        let progress = job["progress"].as_i64().expect("a percentage");
        assert!((last..=100).contains(&progress), "{last} before {job}");
        last = progress;
        let is_completed = job["state"] == "completed";
        assert!(job["state"] != "failed" && job["result"].is_null() != is_completed, "{job}");
        assert!(!is_completed || progress == 100, "{job}");
        is_completed.then(|| job["result"].clone())
    })
    .await
}

/// Enrols a segment. The result.
pub(super) async fn enrol(app: &App, flow: &Flow<'_>, segment: &Value) -> Value {
    let queued = queue(app, flow, segment).await;
    result(app, flow, &queued).await
}

/// The names of the contacts of all executions, in the order of the alphabet.
pub(super) async fn names(flow: &Flow<'_>) -> String {
    let executions = flow.executions().await;
    let emails = executions.iter().map(|execution| text(&execution["contact"]["email"]));
    let mut names: Vec<&str> = emails.filter_map(|email| email.strip_suffix("@example.com")).collect();
    names.sort_unstable();
    names.join(" ")
}
