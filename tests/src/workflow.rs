//! Workflows as tests make them, over HTTP.

use mailwright_testkit::{App, Response};
use serde_json::{Value, json};

use crate::{items, read, text, with};

/// A workflow that a test puts together.
#[derive(Debug)]
pub struct Flow<'a> {
    app: &'a App,
    /// Its id.
    pub id: String,
    /// The id of its TRIGGER step.
    pub trigger: String,
}

impl<'a> Flow<'a> {
    /// A workflow that an event starts, not enabled yet.
    pub async fn new(app: &'a App, event: &str) -> Self {
        let created = app.post("/workflows").json(&json!({"name": event, "eventName": event})).send().await;
        Self::of(app, &created.assert_status(201).json()).await
    }

    /// A workflow that is there.
    pub async fn of(app: &'a App, workflow: &Value) -> Self {
        let id = text(&workflow["id"]).to_owned();
        let shown = read(app, &format!("/workflows/{id}")).await;
        let trigger = items(&shown["steps"]).iter().find(|step| step["type"] == "TRIGGER");
        let trigger = text(&trigger.expect("a TRIGGER step")["id"]).to_owned();
        Self { app, id, trigger }
    }

    /// The path of it, or of something below.
    pub fn path(&self, below: &str) -> String {
        format!("/workflows/{}{below}", self.id)
    }

    /// Tries to add a step, linked from the newest loose end unless `changes` say otherwise.
    pub async fn try_add(&self, kind: &str, config: &Value, changes: &Value) -> Response {
        let step = json!({"type": kind, "name": kind, "position": {"x": 0, "y": 0}, "config": config});
        self.app.post(&self.path("/steps")).json(&with(step, changes)).send().await
    }

    /// Adds a step behind the one that was added before. Returns its id.
    pub async fn then(&self, kind: &str, config: Value) -> String {
        let step = self.try_add(kind, &config, &json!({})).await.assert_status(201).json();
        text(&step["id"]).to_owned()
    }

    /// Adds a step that nothing leads to. Returns its id.
    pub async fn loose(&self, kind: &str, config: Value) -> String {
        let step =
            self.try_add(kind, &config, &json!({"autoConnect": false})).await.assert_status(201).json();
        text(&step["id"]).to_owned()
    }

    /// Tries to link two steps.
    pub async fn try_link(&self, from: &str, to: &str, changes: &Value) -> Response {
        let link = json!({"fromStepId": from, "toStepId": to});
        self.app.post(&self.path("/transitions")).json(&with(link, changes)).send().await
    }

    /// Links two steps.
    pub async fn link(&self, from: &str, to: &str, changes: Value) -> Value {
        self.try_link(from, to, &changes).await.assert_status(201).json()
    }

    /// Changes the workflow.
    pub async fn change(&self, changes: Value) -> Value {
        self.app.patch(&self.path("")).json(&changes).send().await.assert_status(200).json()
    }

    /// Enables it.
    pub async fn enable(&self) {
        assert_eq!(self.change(json!({"enabled": true})).await["enabled"], true);
    }

    /// Tries to begin an execution.
    pub async fn try_start(&self, contact: &Value, context: Value) -> Response {
        let body = json!({"contactId": contact, "context": context});
        self.app.post(&self.path("/executions")).json(&body).send().await
    }

    /// Begins an execution. Returns its id.
    pub async fn start(&self, contact: &Value, context: Value) -> String {
        let started = self.try_start(contact, context).await.assert_status(201).json();
        text(&started["id"]).to_owned()
    }

    /// All executions, the newest first.
    pub async fn executions(&self) -> Vec<Value> {
        let page = read(self.app, &self.path("/executions?pageSize=100")).await;
        items(&page["data"]).to_vec()
    }

    /// The executions of a contact, once there are so many; the newest first.
    pub async fn of_contact(&self, contact: &Value, count: usize) -> Vec<Value> {
        self.app
            .eventually(&format!("{count} executions of a contact"), async || {
                let mut found = self.executions().await;
                found.retain(|execution| execution["contactId"] == *contact);
                (found.len() == count).then_some(found)
            })
            .await
    }

    /// An execution with its steps.
    pub async fn execution(&self, id: &str) -> Value {
        read(self.app, &self.path(&format!("/executions/{id}"))).await
    }

    /// An execution once it has a status, and is not about to leave it.
    pub async fn once(&self, id: &str, status: &str) -> Value {
        self.app
            .eventually(&format!("execution {id} is {status}"), async || {
                let found = self.execution(id).await;
                let over = !["RUNNING", "WAITING"].contains(&text(&found["status"]));
                assert!(!over || found["status"] == status, "it is {}: {found}", found["status"]);
                (found["status"] == status).then_some(found)
            })
            .await
    }

    /// The only execution, once it has a status.
    pub async fn only(&self, status: &str) -> Value {
        let found = self
            .app
            .eventually("one execution", async || {
                let found = self.executions().await;
                assert!(found.len() < 2, "more than one: {found:?}");
                found.into_iter().next()
            })
            .await;
        self.once(text(&found["id"]), status).await
    }
}

/// The steps of an execution as `TYPE STATUS`, in order.
pub fn taken(execution: &Value) -> Vec<String> {
    let steps = items(&execution["stepExecutions"]).iter();
    steps.map(|step| format!("{} {}", text(&step["step"]["type"]), text(&step["status"]))).collect()
}

/// The output of the step of a type in an execution.
pub fn output(execution: &Value, kind: &str) -> Value {
    let step = items(&execution["stepExecutions"]).iter().find(|step| step["step"]["type"] == kind);
    step.map(|step| step["output"].clone()).unwrap_or_default()
}
