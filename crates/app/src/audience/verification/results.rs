//! What jobs found out about addresses, as it is stored, and for how long.

use std::time::Duration;

use mailwright_core::ids::{JobId, ProjectNumber};
use mailwright_core::job::JobKind;
use mailwright_core::project::Project;
use mailwright_core::time::Timestamp;
use mailwright_mail::verification::Verification;
use mailwright_store::audience::verification::{self as store, Wanted};
use mailwright_store::background::job;
use mailwright_store::body;
use serde_json::Value;

use crate::App;
use crate::error::{Error, Resource, Result};

/// How many days the results of a job are kept.
pub const KEPT_DAYS: u64 = 30;
/// The results of how many jobs of a project are kept: the newest.
pub const KEPT_JOBS: u32 = 10;
/// Rows that are removed in one transaction.
const FORGET: i64 = 500;
/// The bit of the flag that mail can be sent to the address.
const VALID: i64 = 1;

type Flag = (i64, fn(&mut Verification) -> &mut bool);

/// The flags and their bits. A bit that was stored keeps its meaning.
const FLAGS: [Flag; 11] = [
    (VALID, |found| &mut found.valid),
    (1 << 1, |found| &mut found.is_disposable),
    (1 << 2, |found| &mut found.is_alias),
    (1 << 3, |found| &mut found.is_typo),
    (1 << 4, |found| &mut found.is_plus_addressed),
    (1 << 5, |found| &mut found.is_personal_email),
    (1 << 6, |found| &mut found.is_role_address),
    (1 << 7, |found| &mut found.is_parked),
    (1 << 8, |found| &mut found.domain_exists),
    (1 << 9, |found| &mut found.has_website),
    (1 << 10, |found| &mut found.has_mx_records),
];

/// A result with its place among those of its job.
#[derive(Debug, Clone)]
pub struct Found {
    /// Its place, from 0.
    pub position: i64,
    /// What was found out.
    pub verification: Verification,
}

/// A page of the results of a job.
#[derive(Debug)]
pub struct Page {
    /// The results, in the order of the job.
    pub results: Vec<Found>,
    /// Whether more follow.
    pub has_more: bool,
}

/// A result as it is stored.
pub(super) fn stored(position: i64, mut found: Verification) -> store::Found {
    let flags = FLAGS.iter().filter(|(_, flag)| *flag(&mut found)).map(|(bit, _)| bit).sum();
    let reasons = Value::from(std::mem::take(&mut found.reasons));
    store::Found { position, email: found.email, flags, reasons, meant: found.did_you_mean }
}

fn read(found: store::Found) -> Found {
    let mut verification = Verification::of(found.email, found.meant);
    for (bit, flag) in FLAGS {
        *flag(&mut verification) = found.flags & bit != 0;
    }
    if let Value::Array(reasons) = found.reasons {
        let texts = reasons.into_iter().filter_map(|reason| reason.as_str().map(str::to_owned));
        verification.reasons = texts.collect();
    }
    Found { position: found.position, verification }
}

impl App {
    /// A page of what a job found out: the `limit` results at most that follow the place `after`, if it is given. With
    /// `valid`, those alone to which mail can be sent, or cannot.
    pub async fn verification_results(
        &self,
        project: &Project,
        id: JobId,
        valid: Option<bool>,
        after: Option<i64>,
        limit: usize,
    ) -> Result<Page> {
        let number = project.number;
        let flag = valid.map(|valid| (VALID, valid));
        let wanted = Wanted { job: id, after, flag, limit: limit + 1 };
        let (mut results, is_known) = self
            .read_slow(
                number,
                body!(async |rx| {
                    let found = store::page(rx, number, wanted).await?;
                    if !found.is_empty() || after.is_some() {
                        return Ok((found, true));
                    }
                    // a job is forgotten before its results when many others follow
                    let any = Wanted { flag: None, limit: 1, ..wanted };
                    let job = job::get(rx, number, id).await?;
                    let is_known = job.is_some_and(|job| job.kind == JobKind::VerifyAddresses)
                        || !store::page(rx, number, any).await?.is_empty();
                    Ok((found, is_known))
                }),
            )
            .await?;
        if !is_known {
            return Err(Error::not_found(Resource::Job, id));
        }
        let has_more = results.len() > limit;
        results.truncate(limit);
        Ok(Page { results: results.into_iter().map(read).collect(), has_more })
    }

    /// Removes the results that are not kept any longer.
    pub(crate) async fn forget_verifications(&self, project: ProjectNumber, now: Timestamp) -> Result<()> {
        let before = now.minus(Duration::from_hours(24 * KEPT_DAYS));
        let newest =
            self.read(body!(async |rx| store::oldest_of_newest(rx, project, KEPT_JOBS).await)).await?;
        loop {
            let forgotten = self.write_in_background(body!(async |tx| {
                Ok(store::forget(tx, project, (before, newest), FORGET).await?)
            }));
            if forgotten.await? == 0 {
                return Ok(());
            }
        }
    }
}
