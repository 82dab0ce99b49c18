//! Enrolling the members of a segment, as a background job: by request, or because a schedule says so.
//!
//! The job walks the contacts by id, some hundred in each step, and judges them by the segment as it is then. So a step
//! costs the same for a segment of any kind and size. Contacts that are made after the job was queued are left out.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use mailwright_core::audit::{Action, Actor};
use mailwright_core::custom_data::{self, Data};
use mailwright_core::filter::{Facts, References, Resolved};
use mailwright_core::ids::{ContactId, ExecutionId, JobId, ProjectNumber, SegmentId, WorkflowId};
use mailwright_core::issue::Issue;
use mailwright_core::job::JobKind;
use mailwright_core::lost::Lost;
use mailwright_core::project::Project;
use mailwright_core::time::Timestamp;
use mailwright_core::workflow::definition::Workflow;
use mailwright_core::workflow::lifecycle::{self, begin};
use mailwright_core::workflow::limits::MAX_CONTEXT;
use mailwright_store::Tx;
use mailwright_store::audience::{contact, filter, segment};
use mailwright_store::automation::beginning::{self, Beginning};
use mailwright_store::automation::execution::Stored;
use mailwright_store::automation::workflow;
use mailwright_store::background::job::{self, ClaimRef, NewJob, Progress};
use mailwright_store::insight::counter::{self, Counter};
use mailwright_store::insight::deltas::Deltas;
use mailwright_store::project::audit::Entry;
use mailwright_store::sending::held::epoch;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::jobs::OfWorkflow;
use crate::App;
use crate::background::job::{Batch, JobHandler, Part, Status, StepResult, from_value, to_value};
use crate::error::{Error, Result};

/// How many contacts a step looks at.
const TOGETHER: i64 = 500;

/// What is enrolled where.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Input {
    workflow: WorkflowId,
    segment: SegmentId,
    context: Data,
    /// Contacts with this id and later ones are left out.
    until: ContactId,
}

/// How far an enrolment came.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct Enrolled {
    workflow: Option<WorkflowId>,
    /// Contacts of the project at the beginning.
    total: i64,
    /// The contact that was looked at last.
    after: Option<ContactId>,
    /// Contacts that were looked at.
    done: i64,
    /// Members of the segment that began.
    pub enrolled: i64,
    /// Members that did not, because they go through the workflow, or did and may not again.
    pub refused: i64,
}

impl App {
    /// Enrols the members of a segment, in the background.
    pub async fn enrol_segment(
        &self,
        project: &Project,
        actor: &Actor,
        id: WorkflowId,
        segment: SegmentId,
        context: Data,
    ) -> Result<JobId> {
        if custom_data::size(&context) > MAX_CONTEXT {
            let message = format!("Must be at most {MAX_CONTEXT} bytes of JSON.");
            return Err(Error::Invalid(vec![Issue::new("context", "too_big", message)]));
        }
        let workflow = self.workflow(project, id).await?;
        if !workflow.enabled {
            return Err(Error::BadRequest("The workflow is not enabled. Enable it first.".into()));
        }
        self.segment(project, segment).await?;
        let input = Input { workflow: id, segment, context, until: until(self.0.clock.now()) };
        let entry = Entry::new(Action::SegmentEnrolled, id.to_string()).with(json!({ "segmentId": segment }));
        let input = to_value(&input).to_string().into_bytes();
        let begun = to_value(&Enrolled { workflow: Some(id), ..Enrolled::default() });
        self.queue_job(project, JobKind::EnrolSegment, input, begun, Some((actor.clone(), entry))).await
    }

    /// How an enrolment is getting on; `None` when the workflow has no such job.
    pub async fn enrolment(
        &self,
        project: &Project,
        workflow: WorkflowId,
        id: JobId,
    ) -> Result<Option<Status<Enrolled>>> {
        self.job_of(project, workflow, id, &[JobKind::EnrolSegment]).await
    }
}

impl OfWorkflow for Enrolled {
    fn workflow(&self) -> Option<WorkflowId> {
        self.workflow
    }
}

/// Whether members of a segment are being enrolled in a workflow, or are about to be.
pub(super) async fn is_under_way(
    tx: &Tx<'_>,
    project: ProjectNumber,
    workflow: WorkflowId,
) -> mailwright_store::Result<bool> {
    let jobs = job::unfinished_of(tx, project, JobKind::EnrolSegment).await?;
    let of = |progress: &Value| from_value::<Enrolled>(progress).ok().and_then(|found| found.workflow);
    Ok(jobs.iter().any(|progress| of(progress) == Some(workflow)))
}

fn until(now: Timestamp) -> ContactId {
    ContactId::first_of(Timestamp(now.0 + 1))
}

/// The job that a schedule queues.
pub(super) fn scheduled(
    project: ProjectNumber,
    workflow: WorkflowId,
    segment: SegmentId,
    at: Timestamp,
) -> NewJob {
    let input = Input { workflow, segment, context: Data::new(), until: until(at) };
    NewJob {
        project,
        id: JobId::new(at, rand::random()),
        kind: JobKind::EnrolSegment,
        input: to_value(&input).to_string().into_bytes(),
        progress: to_value(&Enrolled { workflow: Some(workflow), ..Enrolled::default() }),
        at,
    }
}

/// An enrolment under way.
#[derive(Debug)]
pub(crate) struct Enrolment {
    project: ProjectNumber,
    input: Input,
}

impl Enrolment {
    /// Reads its input.
    pub(crate) fn open(project: ProjectNumber, input: &[u8]) -> Result<Self, String> {
        let json: Value = serde_json::from_slice(input).map_err(|error| error.to_string())?;
        Ok(Self { project, input: from_value(&json)? })
    }
}

impl JobHandler for Enrolment {
    fn next(&self, progress: &Value) -> Result<Part, String> {
        let before = from_value(progress)?;
        Ok(Part::Batch(Arc::new(Step { project: self.project, input: self.input.clone(), before })))
    }
}

/// The next contacts.
#[derive(Debug)]
struct Step {
    project: ProjectNumber,
    input: Input,
    before: Enrolled,
}

impl Batch for Step {
    fn run<'t>(
        &'t self,
        tx: &'t mut Tx<'_>,
        claim: ClaimRef,
        now: Timestamp,
    ) -> BoxFuture<'t, mailwright_store::Result<StepResult>> {
        Box::pin(async move {
            let mut after = self.before;
            if after.after.is_none() {
                after.total = counter::value(tx, self.project, Counter::Contacts, "").await?;
            }
            let found = workflow::get(tx, self.project, self.input.workflow).await?;
            let Some(workflow) = found.filter(|workflow| workflow.enabled) else {
                return Ok(step_result(&after, true));
            };
            let page = contact::next_ids(tx, self.project, after.after, self.input.until, TOGETHER).await?;
            // none of them is removed while it begins
            contact::keep_all(tx, self.project, &page).await?;
            let members = self.members(tx, &page, now).await?;
            // a restore may have lost that they began
            let stretch = epoch::stretch(tx).await?;
            let lost = stretch.and_then(|stretch| stretch.begun(claim.id.instant(), now));
            let refused = self.enrol(tx, &workflow, &members, lost, now).await?;
            after.done += page.len() as i64;
            after.enrolled += (members.len() - refused) as i64;
            after.refused += refused as i64;
            after.after = page.last().copied().or(after.after);
            Ok(step_result(&after, (page.len() as i64) < TOGETHER))
        })
    }
}

fn step_result(after: &Enrolled, is_last: bool) -> StepResult {
    let percent = (after.done * 100 / after.total.max(1)).clamp(0, 99);
    let percent = if is_last { 100 } else { percent };
    StepResult { progress: Progress { progress: to_value(after), percent }, is_last }
}

impl Step {
    /// Those of some contacts that are in the segment.
    async fn members(
        &self,
        tx: &mut Tx<'_>,
        contacts: &[ContactId],
        now: Timestamp,
    ) -> mailwright_store::Result<Vec<ContactId>> {
        let wanted = References { segments: [self.input.segment].into(), ..References::default() };
        let segments = segment::resolve_all(tx, self.project, wanted.segments.clone()).await?;
        let references = segments.all_references(wanted);
        let facts = filter::facts(tx, self.project, contacts, &references).await?;
        let is_member = |facts: &&filter::FactsOf| {
            Resolved::new(*facts, segments.trees(), now).is_member(self.input.segment)
        };
        Ok(facts.iter().filter(is_member).map(|facts| facts.contact().id).collect())
    }

    /// Begins the executions of contacts; how many did not.
    async fn enrol(
        &self,
        tx: &mut Tx<'_>,
        workflow: &Workflow,
        contacts: &[ContactId],
        lost: Option<Lost>,
        now: Timestamp,
    ) -> mailwright_store::Result<usize> {
        let Some(version) = workflow.version else { return Ok(contacts.len()) };
        let beginning = |contact: &ContactId| {
            let execution = begin(lifecycle::Beginning {
                id: ExecutionId::new(now, rand::random()),
                workflow: workflow.id,
                contact: *contact,
                source: None,
                context: self.input.context.clone(),
                at: now,
            });
            let stored = Stored { workflow: workflow.id, version, is_bulk: true, lost, execution };
            Beginning { stored, allow_reentry: workflow.allow_reentry }
        };
        let new: Vec<Beginning> = contacts.iter().map(beginning).collect();
        let mut deltas = Deltas::default();
        let refused = beginning::begin(tx, self.project, &new, deltas.sums()).await?;
        deltas.save(tx).await?;
        Ok(refused.len())
    }
}
