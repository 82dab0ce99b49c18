//! Executions: beginning, reading and cancelling them.

use std::collections::BTreeMap;
use std::sync::Arc;

use mailwright_core::address::EmailAddress;
use mailwright_core::audit::{Action, Actor};
use mailwright_core::custom_data::{self, Data};
use mailwright_core::ids::{ContactId, EventId, ExecutionId, ProjectNumber, WorkflowId};
use mailwright_core::issue::Issue;
use mailwright_core::project::Project;
use mailwright_core::time::Timestamp;
use mailwright_core::workflow::definition::Workflow;
use mailwright_core::workflow::execution::StepRecord;
use mailwright_core::workflow::figures::changes;
use mailwright_core::workflow::graph::Step;
use mailwright_core::workflow::kind::{ExecutionStatus, Refused, StepStatus, StepType};
use mailwright_core::workflow::lifecycle::{Beginning, begin, cancel};
use mailwright_core::workflow::limits::{MAX_ACTIVE_PER_CONTACT, MAX_CONTEXT, MAX_STARTS_PER_HOUR};
use mailwright_core::workflow::output::shown;
use mailwright_store::audience::{contact, event_data};
use mailwright_store::automation::execution::{self as store, Stored};
use mailwright_store::automation::execution_list::{self as list, Listed};
use mailwright_store::automation::version::{self, Compiled};
use mailwright_store::automation::{beginning, figures, request, workflow};
use mailwright_store::insight::deltas::Deltas;
use mailwright_store::project::audit::{self, Entry};
use mailwright_store::sending::email;
use mailwright_store::{Rx, Tx, body};
use serde_json::{Value, json};

use super::manage::locked;
use crate::App;
use crate::error::{Error, Resource, Result};

/// Why an execution ends that somebody cancelled.
const CANCELLED: &str = "cancelled";
/// How many executions are cancelled in one transaction.
const CANCELLED_TOGETHER: i64 = 200;

/// An execution with what it stands at.
#[derive(Debug)]
pub struct Standing {
    /// The execution.
    pub stored: Stored,
    /// The address of its contact.
    pub email: Option<EmailAddress>,
    /// The step that it stands at.
    pub current: Option<Step>,
}

/// A step of an execution, as the API tells it.
#[derive(Debug)]
pub struct TakenStep {
    /// The step as it is in the version.
    pub step: Step,
    /// What it did.
    pub record: StepRecord,
    /// What it tells of that.
    pub output: Option<Value>,
}

/// An execution with all that it did.
#[derive(Debug)]
pub struct Told {
    /// The execution.
    pub standing: Standing,
    /// Its workflow.
    pub workflow: Workflow,
    /// Its steps, in order.
    pub steps: Vec<TakenStep>,
}

impl App {
    /// Begins an execution for a contact.
    pub async fn start_execution(
        &self,
        project: &Project,
        id: WorkflowId,
        contact: ContactId,
        context: Data,
    ) -> Result<Standing> {
        if custom_data::size(&context) > MAX_CONTEXT {
            let message = format!("Must be at most {MAX_CONTEXT} bytes of JSON.");
            return Err(Error::Invalid(vec![Issue::new("context", "too_big", message)]));
        }
        let (number, now) = (project.number, self.0.clock.now());
        let began = self.write(body!(async |tx| {
            let workflow = locked(tx, number, id).await?;
            let (true, Some(version)) = (workflow.enabled, workflow.version) else {
                return Err(Error::BadRequest("The workflow is not enabled. Enable it first.".into()));
            };
            if !contact::hold(tx, number, contact).await? {
                return Err(Error::not_found(Resource::Contact, contact));
            }
            let stored = start(tx, number, &workflow, version, contact, context, now).await?;
            Ok((stored, workflow))
        }));
        let (stored, of) = began.await?;
        self.wake_workflows();
        self.standing_of(project.number, stored, &of).await
    }

    /// A page of a workflow's executions, the newest first, and how many there are in all.
    pub async fn executions(
        &self,
        project: &Project,
        id: WorkflowId,
        status: Option<ExecutionStatus>,
        page: (i64, i64),
    ) -> Result<(Vec<Standing>, i64)> {
        let number = project.number;
        let of = self.workflow(project, id).await?;
        let (listed, total, versions) = self
            .read_slow(
                number,
                body!(async |rx| {
                    let listed = list::page(rx, number, id, status, page).await?;
                    let total = match status {
                        Some(status) => list::count(rx, number, id, status).await?,
                        None => workflow::executions(rx, number, &[id]).await?.iter().map(|(_, n)| n).sum(),
                    };
                    let run = listed.iter().map(|listed| listed.stored.version);
                    let versions = version::compiled_all(rx, number, id, run).await?;
                    Ok((listed, total, versions))
                }),
            )
            .await?;
        let standing = |Listed { stored, email }| {
            let current = current(&stored, versions.get(&stored.version), &of);
            Standing { stored, email, current }
        };
        Ok((listed.into_iter().map(standing).collect(), total))
    }

    /// One execution with all that it did.
    pub async fn execution(&self, project: &Project, workflow: WorkflowId, id: ExecutionId) -> Result<Told> {
        let number = project.number;
        let of = self.workflow(project, workflow).await?;
        let found = self.read(body!(async |rx| {
            let Some(stored) = store::get(rx, number, workflow, id).await? else { return Ok(None) };
            let outputs = store::outputs(rx, number, id).await?;
            let versions = versions_of(rx, number, &stored).await?;
            let contact = contact::get(rx, number, stored.execution.contact).await?;
            let mails = email::of_execution(rx, number, stored.execution.contact, id).await?;
            let resumed: Vec<EventId> = stored.execution.log.iter().filter_map(StepRecord::event).collect();
            let data = event_data::of(rx, number, &resumed).await?;
            let request = request::of_execution(rx, number, id).await?;
            let more = More { mails, data, request, email: contact.map(|contact| contact.email) };
            Ok(Some((stored, outputs, versions, more)))
        }));
        let (mut stored, mut outputs, versions, more) =
            found.await?.ok_or_else(|| Error::not_found(Resource::Execution, id))?;
        for (entry, record) in stored.execution.log.iter_mut().enumerate() {
            if let Some(output) = outputs.remove(&entry) {
                record.output = output;
            }
        }
        let steps = taken(&stored, &versions, &of, &more);
        let current = current(&stored, versions.get(&stored.version), &of);
        Ok(Told { standing: Standing { stored, email: more.email, current }, workflow: of, steps })
    }

    /// Cancels an execution that is not over.
    pub async fn cancel_execution(
        &self,
        project: &Project,
        workflow: WorkflowId,
        id: ExecutionId,
    ) -> Result<Standing> {
        let (number, now) = (project.number, self.0.clock.now());
        let of = self.workflow(project, workflow).await?;
        let found = self.read(body!(async |rx| store::get(rx, number, workflow, id).await)).await?;
        let contact = found.ok_or_else(|| Error::not_found(Resource::Execution, id))?.execution.contact;
        let cancelled = self.write(body!(async |tx| {
            contact::hold(tx, number, contact).await?;
            let found = store::get_for_update(tx, number, workflow, id).await?;
            let stored = found.ok_or_else(|| Error::not_found(Resource::Execution, id))?;
            if !stored.execution.status.is_active() {
                return Err(Error::Conflict(format!(
                    "The execution is {}. Only one that is RUNNING or WAITING can be cancelled.",
                    stored.execution.status
                )));
            }
            let mut cancelled = cancel_all(tx, number, vec![stored], now).await?;
            cancelled.pop().ok_or_else(|| Error::Internal("nothing was cancelled".into()))
        }));
        let stored = cancelled.await?;
        self.standing_of(number, stored, &of).await
    }

    /// Cancels every execution of a workflow that is not over; how many.
    pub async fn cancel_executions(&self, project: &Project, actor: &Actor, id: WorkflowId) -> Result<usize> {
        let (number, now, actor) = (project.number, self.0.clock.now(), actor.clone());
        self.workflow(project, id).await?;
        // executions that begin meanwhile stay, so that there is an end
        let until = ExecutionId::first_of(now.plus(std::time::Duration::from_millis(1)));
        let (mut total, mut after) = (0, ExecutionId::first_of(Timestamp(0)));
        loop {
            let page = self
                .read(body!(async |rx| list::active(rx, number, id, after, CANCELLED_TOGETHER).await))
                .await?;
            let page: Vec<_> = page.into_iter().filter(|(id, _)| *id < until).collect();
            let Some((last, _)) = page.last() else { break };
            after = *last;
            total +=
                self.write_bulk(body!(async |tx| Ok(cancel_page(tx, number, id, &page, now).await?))).await?;
        }
        let entry = Entry::new(Action::ExecutionsCancelled, id.to_string());
        self.write(body!(async |tx| Ok(audit::record(tx, number, &actor, &entry, now).await?))).await?;
        Ok(total)
    }

    async fn standing_of(&self, number: ProjectNumber, stored: Stored, of: &Workflow) -> Result<Standing> {
        let (contact, workflow, version) = (stored.execution.contact, stored.workflow, stored.version);
        let (contact, compiled) = self
            .read(body!(async |rx| {
                let contact = contact::get(rx, number, contact).await?;
                Ok((contact, version::compiled(rx, number, workflow, version).await?))
            }))
            .await?;
        let current = current(&stored, compiled.as_ref(), of);
        Ok(Standing { stored, email: contact.map(|contact| contact.email), current })
    }
}

async fn start(
    tx: &Tx<'_>,
    project: ProjectNumber,
    workflow: &Workflow,
    version: i64,
    contact: ContactId,
    context: Data,
    now: Timestamp,
) -> Result<Stored> {
    let id = ExecutionId::new(now, rand::random());
    let execution = begin(Beginning { id, workflow: workflow.id, contact, source: None, context, at: now });
    let stored = Stored { workflow: workflow.id, version, is_bulk: false, lost: None, execution };
    let beginning = beginning::Beginning { stored: stored.clone(), allow_reentry: workflow.allow_reentry };
    let mut deltas = Deltas::default();
    let refused = beginning::begin(tx, project, &[beginning], deltas.sums()).await?;
    deltas.save(tx).await?;
    let Some(why) = refused.get(&id) else { return Ok(stored) };
    Err(Error::Conflict(match why {
        Refused::Active => "The contact goes through this workflow already.".into(),
        Refused::Reentry => {
            "The contact went through this workflow before, and allowReentry is false.".into()
        }
        _ => format!(
            "A contact goes through at most {MAX_ACTIVE_PER_CONTACT} workflows at a time, and begins one at most \
             {MAX_STARTS_PER_HOUR} times within an hour. This one reached one of the two."
        ),
    }))
}

/// Cancels executions whose contacts the caller holds.
async fn cancel_all(
    tx: &Tx<'_>,
    project: ProjectNumber,
    mut executions: Vec<Stored>,
    now: Timestamp,
) -> mailwright_store::Result<Vec<Stored>> {
    let mut deltas = Deltas::default();
    for stored in &mut executions {
        let before = stored.execution.clone();
        cancel(&mut stored.execution, CANCELLED, now);
        if let Some(compiled) = version::compiled(tx, project, stored.workflow, stored.version).await? {
            let found = changes(&compiled.version, &before, &stored.execution);
            figures::add(deltas.sums(), project, stored.workflow, &found);
        }
    }
    store::save(tx, project, &executions, deltas.sums()).await?;
    let ids: Vec<ExecutionId> = executions.iter().map(|stored| stored.execution.id).collect();
    request::forget(tx, project, &ids).await?;
    deltas.save(tx).await?;
    Ok(executions)
}

async fn cancel_page(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    workflow: WorkflowId,
    page: &[(ExecutionId, ContactId)],
    now: Timestamp,
) -> mailwright_store::Result<usize> {
    let mut contacts: Vec<ContactId> = page.iter().map(|(_, contact)| *contact).collect();
    contacts.sort_unstable();
    contact::hold_all(tx, project, &contacts).await?;
    let found = store::active_in(tx, project, workflow, &contacts).await?;
    Ok(cancel_all(tx, project, found, now).await?.len())
}

pub(super) fn current(stored: &Stored, version: Option<&Arc<Compiled>>, of: &Workflow) -> Option<Step> {
    Some(of.edited.named(version?.definition.graph.steps.get(stored.execution.current?)?))
}

/// What an output tells beside the log.
struct More {
    mails: Vec<email::OfStep>,
    data: BTreeMap<EventId, Data>,
    request: Option<request::UnderWay>,
    email: Option<EmailAddress>,
}

/// The version that an execution runs, and those that it ran before.
async fn versions_of(
    rx: &Rx<'_>,
    project: ProjectNumber,
    stored: &Stored,
) -> mailwright_store::Result<BTreeMap<i64, Arc<Compiled>>> {
    let ran = stored.execution.log.iter().filter_map(|record| record.of);
    version::compiled_all(rx, project, stored.workflow, ran.chain([stored.version])).await
}

fn taken(
    stored: &Stored,
    versions: &BTreeMap<i64, Arc<Compiled>>,
    of: &Workflow,
    more: &More,
) -> Vec<TakenStep> {
    let taken = stored.execution.log.iter().filter_map(|record| {
        let compiled = versions.get(&record.of.unwrap_or(stored.version))?;
        let step = of.edited.named(compiled.definition.graph.steps.get(record.step)?);
        let mut output = shown(&stored.execution, &step, record);
        add(&mut output, record, &step, more);
        Some(TakenStep { step, record: record.clone(), output })
    });
    taken.collect()
}

/// Adds what is stored elsewhere: the mail of a step, its request that has no answer yet, and the data of an event.
fn add(output: &mut Option<Value>, record: &StepRecord, step: &Step, more: &More) {
    let is_asking = step.kind == StepType::Webhook && record.status == StepStatus::Running;
    if let Some(request) = more.request.as_ref().filter(|_| is_asking) {
        *output = Some(json!({
            "webhookId": request.id,
            "attempts": request.attempts,
            "statusCode": request.status,
            "lastError": request.error,
            "nextAttemptAt": request.again_at,
        }));
    }
    let Some(output) = output else { return };
    if let Some(mail) = more.mails.iter().find(|mail| mail.step == step.id) {
        output["emailId"] = mail.id.to_string().into();
        let own = more.email.as_ref().map(ToString::to_string);
        output["recipientEmail"] = mail.recipient.clone().or(own).into();
        output["emailStatus"] = mail.status.as_str().into();
        for (name, why) in [("emailReason", &mail.reason), ("emailError", &mail.error)] {
            if let Some(why) = why {
                output[name] = why.as_str().into();
            }
        }
    }
    if let Some(data) = record.event().and_then(|event| more.data.get(&event)) {
        output["eventData"] = data.clone().into();
    }
}
