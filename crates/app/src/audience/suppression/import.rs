//! Imports of addresses from CSV, as background jobs. What the columns mean is said in `core::suppression::file`.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use mailwright_core::audit::{Action, Actor};
use mailwright_core::csv::Position;
use mailwright_core::ids::{JobId, ProjectNumber};
use mailwright_core::import::{MAX_FAILURES, RowFailure};
use mailwright_core::job::{JobKind, JobState};
use mailwright_core::project::Project;
use mailwright_core::suppression::MAX_ADDRESSES;
use mailwright_core::suppression::file::Columns;
use mailwright_core::time::Timestamp;
use mailwright_store::Tx;
use mailwright_store::audience::suppression::address::{self, New, Same};
use mailwright_store::background::job::{ClaimRef, Progress};
use mailwright_store::project::audit::Entry;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::App;
use crate::audience::import::{Chunk, UploadedFile, keep_failures};
use crate::background::job::{Batch, JobHandler, Part, Status, StepResult, from_value, to_value};
use crate::error::Result;

/// How far an import came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ImportCounts {
    bytes: u64,
    line_ends: u64,
    records: u64,
    /// How many addresses the list had room for when the import was asked for.
    room: u64,
    /// Rows read, those that failed included.
    pub rows: u64,
    /// Addresses that are new on the list, or whose entry was replaced.
    pub added: u64,
    /// Rows that failed.
    pub failed: u64,
}

impl ImportCounts {
    fn position(self) -> Position {
        Position { bytes: self.bytes, line_ends: self.line_ends, records: self.records }
    }
}

/// The result of an import.
#[derive(Debug)]
pub struct Imported {
    /// The counts.
    pub counts: ImportCounts,
    /// The first rows that failed, in their order.
    pub failures: Vec<RowFailure>,
}

impl App {
    /// Queues the import of an uploaded file of addresses.
    pub async fn import_suppressions(
        &self,
        project: &Project,
        actor: &Actor,
        file: Vec<u8>,
    ) -> Result<JobId> {
        let room = u64::try_from(self.room(project.number).await?).unwrap_or(0);
        let entry = Entry::of_project(Action::SuppressionsImported).with(json!({ "bytes": file.len() }));
        let progress = ImportCounts { room, ..ImportCounts::default() };
        let entry = Some((actor.clone(), entry));
        self.queue_job(project, JobKind::ImportSuppressions, file, to_value(&progress), entry).await
    }

    /// How such an import is getting on; `None` when the project has no such import.
    pub async fn suppression_import(&self, project: &Project, id: JobId) -> Result<Option<Status<Imported>>> {
        let found = self.job(project, id, &[JobKind::ImportSuppressions], MAX_FAILURES).await?;
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
}

/// An uploaded file of addresses that is being imported.
#[derive(Debug)]
pub(crate) struct Import {
    project: ProjectNumber,
    file: UploadedFile<Columns>,
}

impl Import {
    pub(crate) fn open(project: ProjectNumber, file: Vec<u8>) -> Result<Self, String> {
        Ok(Self { project, file: UploadedFile::open(file)? })
    }
}

impl JobHandler for Import {
    fn next(&self, progress: &Value) -> Result<Part, String> {
        let before: ImportCounts = from_value(progress)?;
        let (chunk, is_last) = self.file.chunk(before.position())?;
        let percent = self.file.percent(chunk.end);
        Ok(Part::Batch(Arc::new(Rows { project: self.project, before, chunk, percent, is_last })))
    }
}

/// Rows of an uploaded file.
#[derive(Debug)]
struct Rows {
    project: ProjectNumber,
    before: ImportCounts,
    chunk: Chunk<Columns>,
    percent: i64,
    is_last: bool,
}

impl Rows {
    /// The addresses as far as the list has room, each once, and the rows that failed.
    fn split(&self, now: Timestamp) -> (Vec<New>, Vec<RowFailure>) {
        let mut failures = self.chunk.failures.clone();
        let mut new: BTreeMap<_, New> = BTreeMap::new();
        let room = self.before.room.saturating_sub(self.before.added) as usize;
        for row in &self.chunk.rows {
            if row.expires_at.is_some_and(|at| at <= now) {
                failures.push(row.failed("expiresAt has passed.".to_owned()));
            } else if new.len() >= room && !new.contains_key(&row.email) {
                failures
                    .push(row.failed(format!("A project can have {MAX_ADDRESSES} suppressed addresses.")));
            } else {
                let email = row.email.clone();
                let (reason, expires_at) = (row.reason, row.expires_at);
                new.insert(row.email.clone(), New { email, reason, mail: None, expires_at });
            }
        }
        failures.sort_by_key(|failure| failure.row);
        (new.into_values().collect(), failures)
    }
}

impl Batch for Rows {
    fn run<'t>(
        &'t self,
        tx: &'t mut Tx<'_>,
        claim: ClaimRef,
        now: Timestamp,
    ) -> BoxFuture<'t, mailwright_store::Result<StepResult>> {
        Box::pin(async move {
            let (new, failures) = self.split(now);
            let added = address::add(tx, self.project, &new, Same::Replaced, now).await?;
            keep_failures(tx, claim, self.before.failed, &failures).await?;
            let end = self.chunk.end;
            let counts = ImportCounts {
                bytes: end.bytes,
                line_ends: end.line_ends,
                records: end.records,
                room: self.before.room,
                rows: self.before.rows + self.chunk.len() as u64,
                added: self.before.added + added,
                failed: self.before.failed + failures.len() as u64,
            };
            let progress = Progress { progress: to_value(&counts), percent: self.percent };
            Ok(StepResult { progress, is_last: self.is_last })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_addresses_is_refused() {
        for bad in [&b""[..], b"email\n", b"name\nada\n", b"email\n\xff\n"] {
            assert!(Import::open(ProjectNumber(1), bad.to_vec()).is_err(), "{bad:?}");
        }
    }
}
