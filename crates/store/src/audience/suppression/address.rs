//! The addresses of a project that get no mail.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use mailwright_core::address::EmailAddress;
use mailwright_core::ids::{EmailId, ProjectNumber};
use mailwright_core::suppression::SuppressionReason;
use mailwright_core::template::TemplateType;
use mailwright_core::time::Timestamp;

use super::{from_stored, read_listed, read_reason, set, stored};
use crate::args;
use crate::audience::erased;
use crate::database::error::Result;
use crate::database::tx::{Row, Rx, Tx};
use crate::database::value::Arg;

/// An address that is to be put on the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct New {
    /// The address.
    pub email: EmailAddress,
    /// Why.
    pub reason: SuppressionReason,
    /// The mail that bounced or was complained about.
    pub mail: Option<EmailId>,
    /// When it ends by itself.
    pub expires_at: Option<Timestamp>,
}

/// An address on the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The address.
    pub email: EmailAddress,
    /// Why.
    pub reason: SuppressionReason,
    /// The mail that bounced or was complained about.
    pub mail: Option<EmailId>,
    /// Since when.
    pub created_at: Timestamp,
    /// When it ends by itself.
    pub expires_at: Option<Timestamp>,
}

/// What becomes of an entry when its address is added again for the same reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Same {
    /// It stays as it is: news are told more than once.
    Kept,
    /// It is replaced: a person says when it is to end.
    Replaced,
}

/// Adds addresses; how many are new or replace what there was. An entry that ends later, holds back more, or can be ended
/// by fewer stays as it is. No address comes twice.
pub async fn add(
    tx: &Tx<'_>,
    project: ProjectNumber,
    new: &[New],
    same: Same,
    now: Timestamp,
) -> Result<u64> {
    let rank = |column: &str| {
        let mut text = format!("case {column}");
        for reason in SuppressionReason::ALL {
            let _ = write!(text, " when '{}' then {}", stored(reason), reason.rank());
        }
        text + " else 0 end"
    };
    let (old, added) = (rank("suppressions.reason"), rank("excluded.reason"));
    // an entry that only ends at another time keeps where it came from
    let is_same = "suppressions.reason = excluded.reason \
         and (suppressions.expires_at is null or suppressions.expires_at > excluded.created_at)";
    let replaces_same = match same {
        Same::Kept => "",
        Same::Replaced => {
            " or (suppressions.reason = excluded.reason and suppressions.expires_at is distinct from excluded.expires_at)"
        }
    };
    tx.each(
        format!(
            "insert into suppressions (project_id, email, reason, email_id, expires_at, created_at) \
             select $5, r.email, r.reason, r.email_id, r.expires_at, $6 \
             from {{rows r: email text, reason text, email_id id, expires_at int}} where true \
             on conflict (project_id, email) do update set reason = excluded.reason, \
             email_id = case when {is_same} then suppressions.email_id else excluded.email_id end, \
             expires_at = excluded.expires_at, \
             created_at = case when {is_same} then suppressions.created_at else excluded.created_at end \
             where suppressions.expires_at <= excluded.created_at{replaces_same} \
             or ({added} > {old} and (excluded.expires_at is null or suppressions.expires_at is not null)) \
             or (suppressions.expires_at is not null and excluded.expires_at is null and {added} > 0)"
        ),
        &[
            Arg::Texts(new.iter().map(|new| Some(new.email.as_str().into())).collect()),
            Arg::Texts(new.iter().map(|new| Some(stored(new.reason).into())).collect()),
            Arg::Ids(new.iter().map(|new| new.mail.map(Into::into)).collect()),
            Arg::Ints(new.iter().map(|new| new.expires_at.map(|at| at.0)).collect()),
            project.into(),
            now.into(),
        ],
    )
    .await
}

/// How many addresses are on the list, counted up to `most`.
pub async fn count(rx: &Rx<'_>, project: ProjectNumber, most: i64) -> Result<i64> {
    rx.one(
        "select count(*) from (select 1 from suppressions where project_id = $1 limit $2) as listed",
        args![project, most],
        |r| r.get(0),
    )
    .await
}

/// Those of some addresses that are on the list.
pub(super) async fn among(
    rx: &Rx<'_>,
    project: ProjectNumber,
    emails: &BTreeSet<&EmailAddress>,
    now: Timestamp,
) -> Result<BTreeMap<EmailAddress, SuppressionReason>> {
    let found = rx
        .all(
            "select email, reason from suppressions where project_id = $1 and email {in $2} \
             and (expires_at is null or expires_at > $3)",
            &[project.into(), set(emails), now.into()],
            read_listed,
        )
        .await?;
    Ok(found.into_iter().collect())
}

const COLUMNS: &str = "email, reason, email_id, created_at, expires_at";

fn read(row: &Row<'_>) -> Result<Entry> {
    Ok(Entry {
        email: row.get(0)?,
        reason: read_reason(row, 1)?,
        mail: row.get(2)?,
        created_at: row.get(3)?,
        expires_at: row.get(4)?,
    })
}

/// One entry that has not expired.
pub async fn get(
    rx: &Rx<'_>,
    project: ProjectNumber,
    email: &EmailAddress,
    now: Timestamp,
) -> Result<Option<Entry>> {
    rx.optional(
        format!(
            "select {COLUMNS} from suppressions where project_id = $1 and email = $2 \
             and (expires_at is null or expires_at > $3)"
        ),
        args![project, email, now],
        read,
    )
    .await
}

/// A page of the list.
#[derive(Debug, Clone, Default)]
pub struct List {
    /// Most rows.
    pub limit: usize,
    /// The last address of the page before.
    pub after: Option<EmailAddress>,
    /// Only addresses that contain this text, in lower case.
    pub search: Option<String>,
    /// Only addresses for this reason.
    pub reason: Option<SuppressionReason>,
}

/// A page of the list, in the order of the addresses; what has expired is left out.
pub async fn list(rx: &Rx<'_>, project: ProjectNumber, list: &List, now: Timestamp) -> Result<Vec<Entry>> {
    let mut args: Vec<Arg<'_>> = vec![project.into(), list.limit.into(), now.into()];
    let mut filter = String::new();
    if let Some(after) = &list.after {
        args.push(after.into());
        let _ = write!(filter, " and email > ${}", args.len());
    }
    if let Some(search) = &list.search {
        args.push(search.as_str().into());
        let _ = write!(filter, " and {{contains email ${}}}", args.len());
    }
    if let Some(reason) = list.reason {
        args.push(stored(reason).into());
        let _ = write!(filter, " and reason = ${}", args.len());
    }
    rx.all(
        format!(
            "select {COLUMNS} from suppressions where project_id = $1 \
             and (expires_at is null or expires_at > $3){filter} order by email limit $2"
        ),
        &args,
        read,
    )
    .await
}

/// Takes an address off the list; why it was there.
pub async fn remove(
    tx: &Tx<'_>,
    project: ProjectNumber,
    email: &EmailAddress,
) -> Result<Option<SuppressionReason>> {
    let removed = tx
        .optional(
            "delete from suppressions where project_id = $1 and email = $2 returning reason",
            args![project, email],
            |r| r.get::<String>(0),
        )
        .await?;
    Ok(removed.map(|reason| from_stored(&reason).unwrap_or(SuppressionReason::Manual)))
}

/// The reasons that end when the owner of an address subscribes again, as a list of SQL.
fn liftable() -> String {
    let reasons = SuppressionReason::ALL.into_iter().filter(|reason| reason.ends_with_subscribing());
    reasons.map(|reason| format!("'{}'", stored(reason))).collect::<Vec<_>>().join(", ")
}

/// Takes addresses off the list whose owners have subscribed again, as far as that ends why they are there.
pub async fn lift(tx: &Tx<'_>, addresses: &[(ProjectNumber, &EmailAddress)]) -> Result<()> {
    let mut by_project: BTreeMap<ProjectNumber, BTreeSet<&EmailAddress>> = BTreeMap::new();
    for (project, email) in addresses {
        by_project.entry(*project).or_default().insert(email);
    }
    for (project, emails) in by_project {
        erased::forgive(tx, project, &emails).await?;
        // mostly none is there, and looking is cheaper than deleting nothing
        let there = tx
            .exists(
                "select 1 from suppressions where project_id = $1 and email {in $2} limit 1",
                &[project.into(), set(&emails)],
            )
            .await?;
        if there {
            let reasons = liftable();
            tx.execute(
                format!(
                    "delete from suppressions where project_id = $1 and email {{in $2}} and reason in ({reasons})"
                ),
                &[project.into(), set(&emails)],
            )
            .await?;
        }
    }
    Ok(())
}

/// Removes up to `limit` entries that have expired; how many.
pub async fn forget(tx: &Tx<'_>, project: ProjectNumber, now: Timestamp, limit: i64) -> Result<u64> {
    tx.execute(
        "delete from suppressions where project_id = $1 and email in (select email from suppressions \
         where project_id = $1 and expires_at is not null and expires_at <= $2 limit $3)",
        args![project, now, limit],
    )
    .await
}

/// A condition on `suppressions s` for the entries that hold back mail of a kind; the instant is the argument `$n`.
pub(crate) fn holding(kind: TemplateType, n: usize) -> String {
    let mut condition = format!("(s.expires_at is null or s.expires_at > ${n})");
    for reason in SuppressionReason::ALL.into_iter().filter(|reason| !reason.held().holds(kind)) {
        let _ = write!(condition, " and s.reason <> '{}'", stored(reason));
    }
    condition
}
