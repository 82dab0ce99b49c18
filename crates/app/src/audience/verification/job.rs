//! Verifying the addresses of a segment or of a CSV file, as a background job.
//!
//! Each step asks the name servers about some hundred addresses, without a transaction, and then stores what was found out
//! together with how far the job came. A process that dies in between repeats the questions of that step.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use mailwright_core::address_file::Addresses;
use mailwright_core::csv::Position;
use mailwright_core::filter::{Facts, References, Resolved};
use mailwright_core::ids::{ContactId, JobId, ProjectNumber, SegmentId};
use mailwright_core::import::{MAX_FAILURES, RowFailure};
use mailwright_core::job::{JobKind, JobState};
use mailwright_core::project::Project;
use mailwright_core::time::Timestamp;
use mailwright_mail::verification::Verification;
use mailwright_store::audience::{contact, filter, segment, verification as store};
use mailwright_store::background::job::{ClaimRef, Progress};
use mailwright_store::insight::counter::{self, Counter};
use mailwright_store::{Result as StoreResult, Rx, Tx, body};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::results::stored;
use crate::App;
use crate::audience::import::{UploadedFile, keep_failures};
use crate::background::job::{Ask, Batch, JobHandler, Part, Status, StepResult, from_value, to_value};
use crate::error::Result;

/// How many contacts of the project a step looks at.
const TOGETHER: i64 = 500;
/// Most addresses that a job verifies.
const MOST: u64 = 1_000_000;

/// How many addresses of a job have what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Counts {
    /// Addresses with a result.
    pub addresses: u64,
    /// Those to which mail can be sent.
    pub valid: u64,
    /// Those whose domain has disposable addresses.
    pub disposable: u64,
    /// Those of services that hide the real address.
    pub alias: u64,
    /// Those that were probably mistyped.
    pub typo: u64,
    /// Those of offices and programs.
    pub role: u64,
    /// Those of private persons.
    pub personal: u64,
    /// Rows of the file that have no result.
    pub failed: u64,
}

impl Counts {
    fn add(&mut self, found: &Verification) {
        self.addresses += 1;
        for (count, is_set) in [
            (&mut self.valid, found.valid),
            (&mut self.disposable, found.is_disposable),
            (&mut self.alias, found.is_alias),
            (&mut self.typo, found.is_typo),
            (&mut self.role, found.is_role_address),
            (&mut self.personal, found.is_personal_email),
        ] {
            *count += u64::from(is_set);
        }
    }
}

/// What a job found out, in figures.
#[derive(Debug)]
pub struct Verified {
    /// The figures.
    pub counts: Counts,
    /// The first rows of the file without a result, in their order.
    pub failures: Vec<RowFailure>,
}

/// How far a job came.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
struct Course {
    /// The segment; `None` for a file.
    segment: Option<SegmentId>,
    /// Contacts with this id and later ones are left out.
    until: Option<ContactId>,
    /// Contacts of the project at the beginning, those that were looked at, and the last of them.
    total: i64,
    looked_at: i64,
    after: Option<ContactId>,
    /// What of the file is done with.
    bytes: u64,
    line_ends: u64,
    records: u64,
    counts: Counts,
}

impl App {
    /// Verifies the addresses of the members of a segment, in the background.
    pub async fn verify_segment(&self, project: &Project, segment: SegmentId) -> Result<JobId> {
        self.segment(project, segment).await?;
        let until = ContactId::first_of(Timestamp(self.clock().now().0 + 1));
        let course = Course { segment: Some(segment), until: Some(until), ..Course::default() };
        self.queue_job(project, JobKind::VerifyAddresses, Vec::new(), to_value(&course), None).await
    }

    /// Verifies the addresses of an uploaded file, in the background.
    pub async fn verify_file(&self, project: &Project, file: Vec<u8>) -> Result<JobId> {
        let course = to_value(&Course::default());
        self.queue_job(project, JobKind::VerifyAddresses, file, course, None).await
    }

    /// How such a job is getting on; `None` when the project has none with this id.
    pub async fn verification_job(&self, project: &Project, id: JobId) -> Result<Option<Status<Verified>>> {
        let found = self.job(project, id, &[JobKind::VerifyAddresses], MAX_FAILURES).await?;
        let Some((job, failures)) = found else { return Ok(None) };
        let counts = from_value::<Course>(&job.progress).unwrap_or_default().counts;
        Ok(Some(Status {
            id: job.id,
            state: job.state,
            percent: job.percent,
            result: (job.state == JobState::Completed).then_some(Verified { counts, failures }),
            failed_reason: job.failed_reason,
        }))
    }
}

/// A job under way.
#[derive(Debug)]
pub(crate) struct Verifying {
    project: ProjectNumber,
    /// `None` for a segment.
    file: Option<UploadedFile<Addresses>>,
}

impl Verifying {
    /// Reads its input.
    pub(crate) fn open(project: ProjectNumber, progress: &Value, input: Vec<u8>) -> Result<Self, String> {
        let file = match from_value::<Course>(progress)?.segment {
            Some(_) => None,
            None => Some(UploadedFile::open(input)?),
        };
        Ok(Self { project, file })
    }
}

impl JobHandler for Verifying {
    fn next(&self, progress: &Value) -> Result<Part, String> {
        let before: Course = from_value(progress)?;
        if before.counts.addresses >= MOST {
            return Err(format!(
                "A job verifies {MOST} addresses at most. The results of the first {} are there.",
                before.counts.addresses
            ));
        }
        let project = self.project;
        let (Some(file), None) = (&self.file, before.segment) else {
            return Ok(Part::Ask(Arc::new(Members { project, before })));
        };
        let position = Position { bytes: before.bytes, line_ends: before.line_ends, records: before.records };
        let (chunk, is_last) = file.chunk(position)?;
        let end = chunk.end;
        let after = Course { bytes: end.bytes, line_ends: end.line_ends, records: end.records, ..before };
        let addresses = chunk.rows.into_iter().map(|row| row.email).collect();
        let percent = file.percent(end);
        Ok(Part::Ask(Arc::new(Rows {
            addresses,
            step: Step { project, after, found: Vec::new(), failures: chunk.failures, percent, is_last },
        })))
    }
}

/// The next rows of a file.
#[derive(Debug)]
struct Rows {
    addresses: Vec<String>,
    step: Step,
}

impl Ask for Rows {
    fn run<'t>(&'t self, app: &'t App) -> BoxFuture<'t, StoreResult<Arc<dyn Batch>>> {
        Box::pin(async move {
            let found = app.verify_many(self.step.project, &self.addresses).await?;
            Ok(Arc::new(Step { found, ..self.step.clone() }) as Arc<dyn Batch>)
        })
    }
}

/// The next contacts of a project, of which the members of a segment are verified.
#[derive(Debug)]
struct Members {
    project: ProjectNumber,
    before: Course,
}

impl Ask for Members {
    fn run<'t>(&'t self, app: &'t App) -> BoxFuture<'t, StoreResult<Arc<dyn Batch>>> {
        Box::pin(async move {
            let (project, before, now) = (self.project, self.before, app.clock().now());
            let looked =
                app.0.db.read_in_background(project, body!(async |rx| look(rx, project, before, now).await));
            let (after, addresses, is_last) = looked.await?;
            let found = app.verify_many(project, &addresses).await?;
            let percent = (after.looked_at * 100 / after.total.max(1)).clamp(0, 99);
            let step = Step { project, after, found, failures: Vec::new(), percent, is_last };
            Ok(Arc::new(step) as Arc<dyn Batch>)
        })
    }
}

/// The next contacts: the course behind them, the addresses of the members, and whether no contact follows.
async fn look(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    before: Course,
    now: Timestamp,
) -> StoreResult<(Course, Vec<String>, bool)> {
    let mut after = before;
    if after.after.is_none() {
        after.total = counter::value(rx, project, Counter::Contacts, "").await?;
    }
    let until = before.until.unwrap_or_else(|| ContactId::first_of(Timestamp(now.0 + 1)));
    let page = contact::next_ids(rx, project, before.after, until, TOGETHER).await?;
    after.looked_at += page.len() as i64;
    after.after = page.last().copied().or(after.after);
    let segment: BTreeSet<SegmentId> = before.segment.into_iter().collect();
    let wanted = References { segments: segment.clone(), ..References::default() };
    let segments = segment::resolve_all(rx, project, segment.clone()).await?;
    let facts = filter::facts(rx, project, &page, &segments.all_references(wanted)).await?;
    let is_member = |facts: &&filter::FactsOf| {
        let resolved = Resolved::new(*facts, segments.trees(), now);
        segment.iter().any(|id| resolved.is_member(*id))
    };
    let addresses = facts.iter().filter(is_member).map(|facts| facts.contact().email.to_string());
    Ok((after, addresses.collect(), (page.len() as i64) < TOGETHER))
}

/// What a step found out.
#[derive(Debug, Clone)]
struct Step {
    project: ProjectNumber,
    /// The course behind it, without what was found.
    after: Course,
    found: Vec<Verification>,
    failures: Vec<RowFailure>,
    percent: i64,
    is_last: bool,
}

impl Batch for Step {
    fn run<'t>(
        &'t self,
        tx: &'t mut Tx<'_>,
        claim: ClaimRef,
        _: Timestamp,
    ) -> BoxFuture<'t, StoreResult<StepResult>> {
        Box::pin(async move {
            let mut after = self.after;
            let first = after.counts.addresses as i64;
            let found: Vec<_> = (first..).zip(&self.found).map(|(at, one)| stored(at, one.clone())).collect();
            store::add(tx, self.project, claim.id, &found).await?;
            keep_failures(tx, claim, after.counts.failed, &self.failures).await?;
            self.found.iter().for_each(|one| after.counts.add(one));
            after.counts.failed += self.failures.len() as u64;
            let progress = Progress { progress: to_value(&after), percent: self.percent };
            Ok(StepResult { progress, is_last: self.is_last })
        })
    }
}
