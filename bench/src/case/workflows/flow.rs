//! The workflows that are measured, made through the API.

use anyhow::{Context, Result};
use mailwright_core::ids::WorkflowId;
use serde_json::{Value, json};

use crate::http::Caller;

/// A workflow.
pub(super) struct Flow {
    /// Its id.
    pub(super) id: WorkflowId,
}

/// What contacts do once their wait is over.
pub(super) fn steps() -> Vec<(&'static str, Value)> {
    let city = json!({"field": "data.city", "operator": "exists"});
    vec![
        ("UPDATE_CONTACT", json!({"updates": {"stage": "reached"}})),
        ("RANDOM_SPLIT", json!({"branches": [{"id": "a", "weight": 1}, {"id": "b", "weight": 1}]})),
        ("CONDITION", city),
        ("WAIT_UNTIL", json!({"mode": "date", "date": "2020-01-01T00:00:00Z"})),
        ("EXIT", json!({"reason": "over"})),
    ]
}

/// Makes a segment of the contacts for which a condition holds; its id.
pub(super) async fn segment(
    caller: &mut Caller,
    field: &str,
    operator: &str,
    value: &Value,
) -> Result<String> {
    let condition = json!({"logic": "AND", "groups": [{"filters": [
        {"field": field, "operator": operator, "value": value}]}]});
    let body = json!({"name": format!("{field} {operator}"), "condition": condition});
    id(&caller.call("POST", "/segments", Some(&body)).await?)
}

fn id(answer: &Value) -> Result<String> {
    Ok(answer["id"].as_str().with_context(|| format!("no id: {answer}"))?.to_owned())
}

impl Flow {
    /// A workflow that nobody begins by an event.
    pub(super) async fn waiting(caller: &mut Caller, steps: &[(&str, Value)]) -> Result<Self> {
        let flow = Self::new(caller, "Waiting", "never").await?;
        flow.add(caller, "DELAY", &json!({"amount": 300, "unit": "days"})).await?;
        for (kind, config) in steps {
            flow.add(caller, kind, config).await?;
        }
        caller
            .call("PATCH", &flow.path(""), Some(&json!({"triggerType": "MANUAL", "enabled": true})))
            .await?;
        Ok(flow)
    }

    /// A workflow that contacts began again and again in the past.
    pub(super) async fn of_history(caller: &mut Caller) -> Result<Self> {
        let flow = Self::new(caller, "Of history", "item.added").await?;
        flow.add(caller, "WAIT_FOR_EVENT", &json!({"eventName": "order.placed", "timeout": 3 * 86_400}))
            .await?;
        flow.add(caller, "CONDITION", &json!({"field": "data.plan", "operator": "equals", "value": "team"}))
            .await?;
        flow.add(caller, "EXIT", &json!({})).await?;
        caller.call("PATCH", &flow.path(""), Some(&json!({"allowReentry": true}))).await?;
        Ok(flow)
    }

    /// An enabled workflow for an event that nobody tracks.
    pub(super) async fn idle(caller: &mut Caller, number: usize) -> Result<Self> {
        let flow = Self::new(caller, "Idle", &format!("idle.{number}")).await?;
        flow.add(caller, "EXIT", &json!({})).await?;
        flow.enable(caller, true).await?;
        Ok(flow)
    }

    async fn new(caller: &mut Caller, name: &str, event: &str) -> Result<Self> {
        let created =
            caller.call("POST", "/workflows", Some(&json!({"name": name, "eventName": event}))).await?;
        Ok(Self { id: id(&created)?.parse().ok().context("no id of a workflow")? })
    }

    /// Adds a step behind the newest one. Both branches of a choice lead to the next step.
    async fn add(&self, caller: &mut Caller, kind: &str, config: &Value) -> Result<()> {
        let before = caller.call("GET", &self.path(""), None).await?;
        let position = json!({"x": 0, "y": 0});
        let step =
            json!({"type": kind, "name": kind, "config": config, "position": position, "autoConnect": false});
        let step = id(&caller.call("POST", &self.path("/steps"), Some(&step)).await?)?;
        let steps = before["steps"].as_array().context("a workflow has no steps")?;
        let last = steps.last().context("a workflow has no steps")?;
        let branches: &[Option<&str>] = match last["type"].as_str() {
            Some("CONDITION") => &[Some("yes"), Some("no")],
            Some("RANDOM_SPLIT") => &[Some("a"), Some("b")],
            _ => &[None],
        };
        for branch in branches {
            let mut transition = json!({"fromStepId": last["id"], "toStepId": step});
            if let Some(branch) = branch {
                transition["branch"] = (*branch).into();
            }
            caller.call("POST", &self.path("/transitions"), Some(&transition)).await?;
        }
        Ok(())
    }

    /// Enables or disables it.
    pub(super) async fn enable(&self, caller: &mut Caller, enabled: bool) -> Result<()> {
        caller.call("PATCH", &self.path(""), Some(&json!({ "enabled": enabled }))).await?;
        Ok(())
    }

    /// A path below it.
    pub(super) fn path(&self, below: &str) -> String {
        format!("/workflows/{}{below}", self.id)
    }
}
