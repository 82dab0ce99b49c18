//! Records that may contain the address somewhere in their text: they are gone through, a page at a time.

use mailwright_core::erasure::{Counted, ERASED};
use mailwright_core::ids::{JobId, ProjectNumber};
use mailwright_core::job::JobKind;
use serde_json::Value as Json;

use super::records::Counts;
use super::stage::{Part, Running};
use crate::args;
use crate::audience::verification;
use crate::database::error::Result;
use crate::database::tx::Tx;
use crate::database::value::Arg;

/// Rows that one step goes through.
const PAGE: i64 = 2_000;
/// Finished jobs, with what they tell, that one step goes through.
const JOBS: i64 = 20;

/// What to look for.
struct Words {
    emails: Vec<String>,
    contact: Option<String>,
}

impl Words {
    fn of(running: &Running) -> Self {
        let emails = running.addresses().map(|address| address.as_str().to_lowercase()).collect();
        Self { emails, contact: running.contact.map(|id| id.to_string()) }
    }

    fn are_in(&self, text: &str) -> bool {
        let text = text.to_lowercase();
        self.emails.iter().any(|email| text.contains(email))
            || self.contact.as_ref().is_some_and(|contact| text.contains(contact))
    }

    /// Writes another word for every text that contains one of these; whether there was one.
    fn blank(&self, value: &mut Json) -> bool {
        match value {
            Json::String(text) if self.are_in(text) => {
                ERASED.clone_into(text);
                true
            }
            Json::Array(elements) => {
                elements.iter_mut().fold(false, |any, element| self.blank(element) | any)
            }
            Json::Object(members) => {
                let named: Vec<String> = members.keys().filter(|name| self.are_in(name)).cloned().collect();
                for name in &named {
                    members.remove(name);
                }
                members.values_mut().fold(!named.is_empty(), |any, member| self.blank(member) | any)
            }
            Json::String(_) | Json::Null | Json::Bool(_) | Json::Number(_) => false,
        }
    }
}

/// Takes the address out of the entries of the audit log about it. Who did what, and when, stays.
pub(super) async fn audit(tx: &Tx<'_>, running: &Running, counts: &mut Counts) -> Result<Part> {
    for address in running.addresses() {
        let changed = tx
            .execute(
                "update audit set target = $3 where project_id = $1 and id in (select id from audit \
                 where project_id = $1 and target = $2 and action like 'suppression%' limit $4)",
                args![running.project, address, ERASED, PAGE],
            )
            .await?;
        counts.add(Counted::AuditEntries, changed);
        if changed > 0 {
            return Ok(Part::Goes(String::new()));
        }
    }
    Ok(Part::Done)
}

/// Removes idempotency keys with the address or the contact's id in them or in the path of their request.
pub(super) async fn idempotency_keys(tx: &Tx<'_>, running: &Running, counts: &mut Counts) -> Result<Part> {
    let (project, words) = (running.project, Words::of(running));
    let found: Vec<(String, String)> = tx
        .all(
            "select key, path from idempotency_keys where project_id = $1 and key > $2 order by key limit $3",
            args![project, &running.place, PAGE],
            |r| Ok((r.get(0)?, r.get(1)?)),
        )
        .await?;
    let gone: Vec<_> = found
        .iter()
        .filter(|(key, path)| words.are_in(key) || words.are_in(path))
        .map(|(key, _)| Some(key.as_str().into()))
        .collect();
    if !gone.is_empty() {
        counts.add(Counted::IdempotencyKeys, gone.len() as u64);
        tx.execute(
            "delete from idempotency_keys where project_id = $1 and key {in $2}",
            &[project.into(), Arg::Texts(gone)],
        )
        .await?;
    }
    Ok(match found.last() {
        Some((last, _)) if found.len() as i64 >= PAGE => Part::Goes(last.clone()),
        _ => Part::Done,
    })
}

/// Waits until no import is left that was queued before the erasure was asked for: its file may contain the address,
/// and is removed when it is done.
pub(super) async fn imports(tx: &Tx<'_>, running: &Running) -> Result<Part> {
    let waits = tx
        .exists(
            "select 1 from jobs where project_id = $1 and due_at is not null and kind {in $2} and id < $3 limit 1",
            &[
                running.project.into(),
                Arg::Texts(
                    [JobKind::ImportContacts, JobKind::ImportSuppressions, JobKind::VerifyAddresses]
                        .map(|kind| Some(kind.as_str().into()))
                        .into(),
                ),
                JobId::first_of(mailwright_core::time::Timestamp(running.requested_at.0 + 1)).into(),
            ],
        )
        .await?;
    Ok(if waits { Part::Waits } else { Part::Done })
}

/// Takes the address out of what finished jobs tell. The contact's id stays: a job remembers by one how far it came.
pub(super) async fn jobs(tx: &Tx<'_>, running: &Running, counts: &mut Counts) -> Result<Part> {
    let (project, words) = (running.project, Words { contact: None, ..Words::of(running) });
    let after = running.place.parse().unwrap_or(JobId::from_bytes([0; 16]));
    let found: Vec<(JobId, bool, Json)> = tx
        .all(
            "select id, due_at is null, {json_out progress} from jobs where project_id = $1 and id > $2 \
             order by id limit $3",
            args![project, after, JOBS],
            |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)),
        )
        .await?;
    let next = found.last().filter(|_| found.len() as i64 >= JOBS).map(|(last, ..)| last.to_string());
    for (id, is_over, mut progress) in found {
        if is_over && words.blank(&mut progress) {
            counts.add(Counted::JobRows, 1);
            tx.execute(
                "update jobs set progress = {json $3} where project_id = $1 and id = $2",
                args![project, id, progress],
            )
            .await?;
        }
    }
    Ok(next.map_or(Part::Done, Part::Goes))
}

/// Takes the address out of the rejected rows of jobs.
pub(super) async fn failures(tx: &Tx<'_>, running: &Running, counts: &mut Counts) -> Result<Part> {
    let (project, words) = (running.project, Words::of(running));
    let (job, position) = place_in_jobs(&running.place);
    let found: Vec<(JobId, i64, Json)> = tx
        .all(
            "select job_id, position, {json_out detail} from job_failures where project_id = $1 \
             and (job_id, position) > ($2, $3) order by job_id, position limit $4",
            args![project, job, position, PAGE],
            |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)),
        )
        .await?;
    let part = behind(&found);
    for (job, position, mut detail) in found {
        if words.blank(&mut detail) {
            counts.add(Counted::JobRows, 1);
            write_failure(tx, project, (job, position), detail).await?;
        }
    }
    Ok(part)
}

/// Removes what jobs found out about addresses that contain the address, as a cell of a file with a name does.
pub(super) async fn verified(tx: &Tx<'_>, running: &Running, counts: &mut Counts) -> Result<Part> {
    let (project, words) = (running.project, Words { contact: None, ..Words::of(running) });
    let (job, position) = place_in_jobs(&running.place);
    let found: Vec<(JobId, i64, String)> = tx
        .all(
            "select job_id, position, email from verification_results where project_id = $1 \
             and (job_id, position) > ($2, $3) order by job_id, position limit $4",
            args![project, job, position, PAGE],
            |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)),
        )
        .await?;
    let part = behind(&found);
    let about = found.iter().filter(|(.., email)| words.are_in(email));
    let about: Vec<_> = about.map(|(job, position, _)| (*job, *position)).collect();
    if !about.is_empty() {
        counts.add(Counted::Verifications, verification::remove(tx, project, &about).await?);
    }
    Ok(part)
}

async fn write_failure(
    tx: &Tx<'_>,
    project: ProjectNumber,
    (job, position): (JobId, i64),
    detail: Json,
) -> Result<()> {
    tx.execute(
        "update job_failures set detail = {json $4} where project_id = $1 and job_id = $2 and position = $3",
        args![project, job, position, detail],
    )
    .await?;
    Ok(())
}

/// Where a stage goes on that looked at a page of rows of jobs.
fn behind<T>(found: &[(JobId, i64, T)]) -> Part {
    match found.last() {
        Some((job, position, _)) if found.len() as i64 >= PAGE => Part::Goes(format!("{job} {position}")),
        _ => Part::Done,
    }
}

/// Reads what [`behind`] wrote.
fn place_in_jobs(place: &str) -> (JobId, i64) {
    let parsed = place.split_once(' ').and_then(|(job, at)| Some((job.parse().ok()?, at.parse().ok()?)));
    parsed.unwrap_or((JobId::from_bytes([0; 16]), -1))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_text_that_contains_the_address_or_the_id_is_replaced_as_a_whole() {
        let id = "0190c3d2-0000-7000-8000-000000000001";
        let words = Words { emails: vec!["ann@example.com".into()], contact: Some(id.into()) };
        let mut value = json!({
            "row": 3, "email": "Ann@Example.com", "rest": ["bob@example.com", {"said": "to <ann@example.com>: no"}],
            "contactId": id, "ann@example.com": 1,
        });
        assert!(words.blank(&mut value));
        let left = json!({
            "row": 3, "email": ERASED, "rest": ["bob@example.com", {"said": ERASED}], "contactId": ERASED,
        });
        assert_eq!(value, left);
        assert!(!words.blank(&mut value), "nothing is left to replace");
    }

    #[test]
    fn a_place_among_rows_of_jobs_is_read_as_it_was_written() {
        let job = JobId::from_bytes([7; 16]);
        assert_eq!(place_in_jobs(&format!("{job} 12")), (job, 12));
        assert_eq!(place_in_jobs(""), (JobId::from_bytes([0; 16]), -1));
    }
}
