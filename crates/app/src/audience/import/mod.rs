//! Imports of contacts from CSV: uploaded files as background jobs, files of any size from the command line
//! (`mailwright import`). Both cut the file into chunks and write each chunk in one transaction. `core::csv` reads the
//! records, `core::import` says what header, rows and cells mean.

mod chunks;
mod preview;
mod rows;
mod upload;
mod verified;

use std::sync::Arc;

use mailwright_core::ids::JobId;
use mailwright_core::import::{Columns, ImportProgress, MAX_FAILURES, Mapping, RowFailure};
use mailwright_core::job::{JobKind, JobState};
use mailwright_core::project::Project;
use mailwright_store::background::job::Job;
use mailwright_store::body;
use mailwright_store::{Patience, retrying};

use crate::App;
use crate::background::job::{Status, from_value, to_value};
use crate::error::Result;

pub use chunks::{Chunk, Chunks, NO_ROWS};
use preview::check_mapping;
pub use preview::{AT_ONCE as PREVIEWS_AT_ONCE, Preview};
pub use rows::Applied;
use rows::apply;
pub(crate) use upload::{Import, UploadedFile, keep_failures};
use verified::verified;

/// How often a chunk is tried again because somebody changed one of its contacts meanwhile.
const PATIENCE: Patience = Patience::of(100);

/// The result of an import.
#[derive(Debug)]
pub struct Imported {
    /// The counts.
    pub counts: ImportProgress,
    /// The first rows that failed, in their order.
    pub failures: Vec<RowFailure>,
}

impl App {
    /// Queues the import of an uploaded file. Its columns are for what the mapping says. With `verifies`, rows whose
    /// address cannot receive mail fail.
    pub async fn queue_import(
        &self,
        project: &Project,
        file: Vec<u8>,
        mapping: &Mapping,
        verifies: bool,
    ) -> Result<JobId> {
        check_mapping(&file, mapping)?;
        let mut input = if mapping.is_empty() { Vec::new() } else { mapping.text().into_bytes() };
        let begun = ImportProgress { verifies, mapping: input.len() as u64, ..ImportProgress::default() };
        input.extend(file);
        self.queue_job(project, JobKind::ImportContacts, input, to_value(&begun), None).await
    }

    /// A chunk of which rows fail whose address cannot receive mail, with the reason.
    pub async fn verified_chunk(&self, project: &Project, chunk: &Chunk<Columns>) -> Result<Chunk<Columns>> {
        Ok(verified(self, project.number, chunk).await?)
    }

    /// The last imports of a project, the newest first, with their counts so far.
    pub async fn imports(&self, project: &Project) -> Result<Vec<(Job, ImportProgress)>> {
        let jobs = self.jobs(project, &[JobKind::ImportContacts]).await?;
        let counted = |job: Job| {
            let counts = from_value(&job.progress).unwrap_or_default();
            (job, counts)
        };
        Ok(jobs.into_iter().map(counted).collect())
    }

    /// The rows of an import that failed so far, as far as they are kept; `None` when the project has no such import.
    pub async fn import_failures(&self, project: &Project, id: JobId) -> Result<Option<Vec<RowFailure>>> {
        self.job_failures(project, id, &[JobKind::ImportContacts], MAX_FAILURES).await
    }

    /// How an import is getting on; `None` when the project has no such import.
    pub async fn import_status(&self, project: &Project, id: JobId) -> Result<Option<Status<Imported>>> {
        let found = self.job(project, id, &[JobKind::ImportContacts], MAX_FAILURES).await?;
        let Some((job, failures)) = found else { return Ok(None) };
        let counts = from_value(&job.progress).unwrap_or_default();
        Ok(Some(Status {
            id: job.id,
            state: job.state,
            percent: job.percent,
            result: (job.state == JobState::Completed).then_some(Imported { counts, failures }),
            failed_reason: job.failed_reason,
        }))
    }

    /// Writes a chunk of a file that is read from elsewhere. Contacts that the import creates are subscribed as
    /// `default_for_new` says, where the file says nothing.
    pub async fn import_chunk(
        &self,
        project: &Project,
        chunk: &Arc<Chunk<Columns>>,
        default_for_new: bool,
    ) -> Result<Applied> {
        let number = project.number;
        let once = || {
            let (chunk, now) = (Arc::clone(chunk), self.0.clock.now());
            self.0.db.write_bulk(body!(async |tx| apply(tx, number, &chunk.rows, default_for_new, now).await))
        };
        Ok(retrying(PATIENCE, once).await?)
    }
}
