//! `/workflows/:id/simulate`.

use std::collections::BTreeMap;

use crate::json::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use mailwright_app::automation::simulation::{
    DEFAULT_DAYS, LONGEST_REQUEST, MAX_DAYS, MAX_EVENTS, Rehearsed, ScriptedEvent, Which, afterwards,
};
use mailwright_app::automation::whom::Whom;
use mailwright_app::{App, Resource};
use mailwright_core::custom_data;
use mailwright_core::ids::{StepId, WorkflowId};
use mailwright_core::issue::Issue;
use mailwright_core::time::Timestamp;
use mailwright_core::workflow::kind::StepType;
use mailwright_core::workflow::summary::{StepSummary, Summary};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::auth::ProjectAccess;
use crate::auth::needs::ReadWorkflows;
use crate::background::job::{JobView, QueuedJob, not_found};
use crate::error::{ErrorEnvelope, Failure, Result};
use crate::fields::{DataObject, Email, EventName, ShortText};
use crate::params::{self, PathText, PathTexts};
use crate::schema::{Body, Payload, check_count};

/// An event to rehearse with.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct SimulatedEvent {
    /// The contact. One that the project does not have begins as a new one that is subscribed.
    email: Email,
    /// The name; also one that the service emits itself.
    event: EventName,
    /// As in `POST /v1/track`.
    data: Option<DataObject>,
    /// When it happens: any date that JavaScript's `Date` reads, in UTC if it has no offset.
    at: ShortText,
}

/// What to rehearse, and with what.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = SimulateWorkflowRequest)]
pub(crate) struct SimulateRequest {
    /// Number of the version; left out or null: what is edited.
    version: Option<i64>,
    /// Number of a version to compare with.
    compare_with: Option<i64>,
    /// Days of recorded events that are looked at, 30 if left out; not with `events`.
    #[schema(minimum = 1, maximum = 365)]
    days: Option<i64>,
    /// Id or address of the only contact whose recorded events are looked at; not with `events`.
    contact: Option<ShortText>,
    /// Events to take instead of the recorded ones, 1 to 10,000 in any order.
    events: Option<Vec<SimulatedEvent>>,
    /// When the rehearsal of `events` ends: a date; a year after the last event if left out.
    until: Option<ShortText>,
}

impl Payload for SimulateRequest {
    const MAX_BODY: usize = 8 * 1024 * 1024;

    fn check(&self) -> Vec<Issue> {
        let mut issues = Vec::new();
        if self.days.is_some_and(|days| !(1..=MAX_DAYS).contains(&days)) {
            issues.push(Issue::new("days", "invalid_type", format!("Must be from 1 to {MAX_DAYS}.")));
        }
        if let Some(events) = &self.events {
            issues.extend(check_count("events", events.len(), MAX_EVENTS));
            for (index, event) in events.iter().enumerate() {
                issues.extend(date(&event.at, &format!("events.{index}.at")).err());
                if let Some(data) = &event.data {
                    issues.extend(custom_data::check(&data.0, &format!("events.{index}.data")));
                }
            }
        }
        issues.extend(self.until.as_ref().and_then(|until| date(until, "until").err()));
        issues
    }

    fn check_across(&self) -> Vec<Issue> {
        let mut issues = Vec::new();
        let mut only = |is_wrong: bool, field: &str, message: &str| {
            if is_wrong {
                issues.push(Issue::new(field, "custom", message));
            }
        };
        let is_given = self.events.is_some();
        only(
            is_given && self.days.is_some(),
            "days",
            "Recorded events are not looked at when events are given.",
        );
        only(
            is_given && self.contact.is_some(),
            "contact",
            "Recorded events are not looked at when events are given.",
        );
        only(!is_given && self.until.is_some(), "until", "Recorded events are looked at until now.");
        issues
    }
}

fn date(text: &ShortText, at: &str) -> Result<Timestamp, Issue> {
    let parsed = Timestamp::parse_any(&text.0);
    parsed.ok_or_else(|| Issue::new(at, "invalid_date", "Must be a date, such as 2030-01-31T09:30:00.000Z."))
}

/// What becomes of contacts at a step.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SimulatedStep {
    step_id: StepId,
    name: String,
    r#type: StepType,
    /// Executions that come to it.
    entered: i64,
    /// Executions that stand at it at the end.
    waiting: i64,
    completed: i64,
    failed: i64,
    /// Executions for which it does nothing, by reason.
    skipped: BTreeMap<String, i64>,
    /// How often each branch, or each outcome of a wait, is taken.
    branches: BTreeMap<String, i64>,
    /// How long executions stand at it until they go on, in milliseconds.
    average_wait_ms: i64,
    longest_wait_ms: i64,
    /// Mails that it sends, by day (UTC).
    mails: BTreeMap<String, i64>,
}

impl SimulatedStep {
    fn new(step_id: StepId, (name, kind): &(String, StepType), found: StepSummary) -> Self {
        let over = found.entered - found.waiting;
        Self {
            step_id,
            name: name.clone(),
            r#type: *kind,
            entered: found.entered,
            waiting: found.waiting,
            completed: found.completed,
            failed: found.failed,
            skipped: found.skipped,
            branches: found.branches,
            average_wait_ms: found.waited_ms / over.max(1),
            longest_wait_ms: found.longest_ms,
            mails: found.mails,
        }
    }
}

/// What a version comes to.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SimulationSummary {
    /// Contacts with events that the workflow looks at.
    contacts: i64,
    /// Those events.
    events: i64,
    /// Executions that begin.
    entered: i64,
    /// Events that do not begin one, by reason.
    refused: BTreeMap<String, i64>,
    /// Executions by their status at the end.
    statuses: BTreeMap<String, i64>,
    /// Executions that reach the goal.
    converted: i64,
    /// Mails that are sent.
    mails: i64,
    /// The steps that executions come to.
    steps: Vec<SimulatedStep>,
}

impl SimulationSummary {
    fn new(summary: Summary, names: &BTreeMap<StepId, (String, StepType)>) -> Self {
        let steps = summary.steps.into_iter();
        Self {
            contacts: summary.contacts,
            events: summary.events,
            entered: summary.entered,
            refused: summary.refused,
            statuses: summary.statuses,
            converted: summary.converted,
            mails: summary.mails,
            steps: steps
                .filter_map(|(id, found)| Some(SimulatedStep::new(id, names.get(&id)?, found)))
                .collect(),
        }
    }
}

/// What a rehearsal comes to.
#[derive(Debug, Serialize, ToSchema)]
pub struct Simulation {
    summary: SimulationSummary,
    /// The same of the version that it is compared with.
    compared: Option<SimulationSummary>,
    /// Contacts with whom the two versions do different things.
    differing: i64,
    /// The executions of the contact with their steps, if there is only one.
    #[schema(value_type = Option<Vec<Object>>)]
    trace: Option<Vec<Value>>,
}

impl From<Rehearsed> for Simulation {
    fn from(rehearsed: Rehearsed) -> Self {
        let Rehearsed { summary, compared, differing, trace, steps, compared_steps } = rehearsed;
        Self {
            summary: SimulationSummary::new(summary, &steps),
            compared: compared.map(|compared| SimulationSummary::new(compared, &compared_steps)),
            differing,
            trace,
        }
    }
}

/// Rehearse a workflow
///
/// Runs a version with the recorded events of the project's contacts, or with given events, on a time that is counted.
/// Nothing is sent and nothing is written. With all contacts it is done in the background; with `contact` or `events`
/// it is answered at once.
#[utoipa::path(post, path = "/workflows/{id}/simulate", tag = "Workflows", operation_id = "simulateWorkflow", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)), request_body = SimulateRequest,
    responses(
        (status = 200, description = "What the rehearsal comes to", body = Simulation),
        (status = 202, description = "It is done in the background", body = QueuedJob),
        (status = 400, description = "The workflow does not have the version", body = ErrorEnvelope),
        (status = 404, description = "There is no such workflow or contact", body = ErrorEnvelope),
        (status = 422, description = "Validation failed", body = ErrorEnvelope),
        (status = 429, description = "Too many jobs are queued", body = ErrorEnvelope)))]
pub(crate) async fn simulate(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadWorkflows>,
    PathText(id): PathText,
    Body(body): Body<SimulateRequest>,
) -> Result<Response, Failure> {
    let id = params::id(&id, Resource::Workflow)?;
    let which = (body.version.map_or(Which::Edited, Which::Number), body.compare_with.map(Which::Number));
    let days = body.days.unwrap_or(DEFAULT_DAYS);
    let rehearsed = if let Some(events) = body.events {
        let events: Vec<ScriptedEvent> = events.into_iter().filter_map(scripted).collect();
        let last = events.iter().map(|event| event.at).max().unwrap_or(Timestamp::FIRST);
        let until = body.until.and_then(|until| date(&until, "until").ok());
        let until = until.unwrap_or_else(|| afterwards(last));
        app.simulate_events(&project, id, which, [events], until, Some(LONGEST_REQUEST)).await?
    } else if let Some(contact) = body.contact {
        let contact = Whom::parse(&contact.0)?;
        app.simulate_contact(&project, id, which, days, contact).await?
    } else {
        let job = app.simulate_history(&project, id, which, days).await?;
        let queued = QueuedJob::new("The workflow is being rehearsed.", job);
        return Ok((StatusCode::ACCEPTED, Json(queued)).into_response());
    };
    Ok(Json(Simulation::from(rehearsed)).into_response())
}

/// The event of a request that was checked.
fn scripted(event: SimulatedEvent) -> Option<ScriptedEvent> {
    let at = date(&event.at, "at").ok()?;
    let data = event.data.unwrap_or_default().0;
    Some(ScriptedEvent { email: event.email.0, name: event.event.0, data, at })
}

/// Get the status of a rehearsal
#[utoipa::path(get, path = "/workflows/{id}/simulate/{jobId}", tag = "Workflows", operation_id = "getSimulation", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path), ("jobId" = String, Path)),
    responses((status = 200, body = JobView<Simulation>), (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn status(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadWorkflows>,
    PathTexts(id, job): PathTexts,
) -> Result<Json<JobView<Simulation>>, Failure> {
    let workflow: WorkflowId = params::id(&id, Resource::Workflow)?;
    app.workflow(&project, workflow).await?;
    let found = match job.parse() {
        Ok(id) => app.simulation(&project, workflow, id).await?,
        Err(_) => None,
    };
    Ok(Json(JobView::new(found.ok_or_else(|| not_found(&job))?, Simulation::from)))
}
