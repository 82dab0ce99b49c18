//! Lists of contacts.

use mailwright_core::contact::Contact;
use mailwright_core::ids::{ContactId, ProjectNumber};
use mailwright_core::time::Timestamp;

use super::record::{COLUMNS, get, project_of, read};
use crate::args;
use crate::audience::search::{self, Filter};
use crate::database::error::{Error, Result};
use crate::database::tx::Rx;
use crate::database::value::Arg;
use crate::insight::counter::{self, Counter};

/// The order of a list; ties cannot occur, since the creation time is part of the id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sort {
    /// By address.
    Email,
    /// By creation.
    CreatedAt,
}

/// A page of a list.
#[derive(Debug, Clone)]
pub struct List {
    /// Most rows.
    pub limit: usize,
    /// The last row of the page before: its id.
    pub after: Option<ContactId>,
    /// Substring of the address, lower-cased, taken literally.
    pub search: Option<String>,
    /// How many contacts hold the substring, where that is known. It decides only by which way they are found.
    pub holding: Option<i64>,
    /// State of the subscription.
    pub subscribed: Option<bool>,
    /// Order.
    pub sort: Sort,
    /// Whether the order is reversed.
    pub descending: bool,
}

/// Whether an id that no contact of a project has may have been one of them: its time lies in the project's life, and
/// it is no other project's.
async fn could_have_been(rx: &mut Rx<'_>, project: ProjectNumber, id: ContactId) -> Result<bool> {
    let Some(made) = id.as_uuid().get_timestamp() else { return Ok(false) };
    let (seconds, nanos) = made.to_unix();
    let made = Timestamp((seconds * 1000) as i64 + i64::from(nanos / 1_000_000));
    let alive = rx
        .optional(
            "select 1 from projects where number = $1 and created_at <= $2",
            args![project, made],
            |_| Ok(()),
        )
        .await?;
    Ok(id.as_uuid().get_version_num() == 7 && alive.is_some() && project_of(rx, id).await?.is_none())
}

/// The column by which a list is ordered, how what comes after a row compares with it, and the direction.
pub(crate) fn order(list: &List) -> [&'static str; 3] {
    match (list.sort, list.descending) {
        (Sort::Email, true) => ["c.email", "<", "desc"],
        (Sort::Email, false) => ["c.email", ">", "asc"],
        (Sort::CreatedAt, true) => ["c.id", "<", "desc"],
        (Sort::CreatedAt, false) => ["c.id", ">", "asc"],
    }
}

/// Where a page begins: what its rows come after in the order of the list. Fails with [`Error::ForeignCursor`] when
/// `after` cannot be a contact of the project; a removed one counts when the list is ordered by creation.
pub(crate) async fn beginning(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    list: &List,
) -> Result<Option<Arg<'static>>> {
    let Some(after) = list.after else { return Ok(None) };
    match (list.sort, get(rx, project, after).await?) {
        (Sort::Email, Some(previous)) => Ok(Some(previous.email.as_str().to_owned().into())),
        (Sort::CreatedAt, Some(_)) => Ok(Some(after.into())),
        // the contact may have been removed since the page before; its id is the bound all the same
        (Sort::CreatedAt, None) if could_have_been(rx, project, after).await? => Ok(Some(after.into())),
        (Sort::Email | Sort::CreatedAt, None) => Err(Error::ForeignCursor),
    }
}

/// What the address and the subscription of the contacts of a list are like; the condition begins with `and`.
pub(crate) async fn narrowed(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    list: &List,
    args: &mut Vec<Arg<'_>>,
) -> Result<Filter> {
    let mut filter = search::filter(rx, project, list.search.as_deref(), list.holding, args).await?;
    if let Some(subscribed) = list.subscribed {
        args.push(subscribed.into());
        filter.condition += &format!(" and {}c.subscribed = ${}", filter.plus, args.len());
    }
    Ok(filter)
}

/// Reads a page of contacts. Fails as [`beginning`] does.
pub async fn list(rx: &mut Rx<'_>, project: ProjectNumber, list: &List) -> Result<Vec<Contact>> {
    let mut args: Vec<Arg<'_>> = vec![project.into(), list.limit.into()];
    let Filter { condition: mut filter, plus, .. } = narrowed(rx, project, list, &mut args).await?;
    let [column, beyond, direction] = order(list);
    if let Some(beginning) = beginning(rx, project, list).await? {
        args.push(beginning);
        filter += &format!(" and {plus}{column} {beyond} ${}", args.len());
    }
    rx.all(
        format!("select {COLUMNS} from contacts c where {plus}c.project_id = $1{filter} order by {plus}{column} {direction} limit $2"),
        &args,
        read,
    )
    .await
}

/// How many contacts a list has in all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Total {
    /// How many.
    pub count: i64,
    /// Whether many contacts had to be gone through to know that.
    pub scanned: bool,
}

/// How many contacts a list has in all: from the counters, or counted where a search narrows it.
pub async fn total(rx: &mut Rx<'_>, project: ProjectNumber, list: &List) -> Result<Total> {
    if list.search.is_none() {
        let subscribed = counter::value(rx, project, Counter::Subscribed, "").await?;
        let all = counter::value(rx, project, Counter::Contacts, "").await?;
        let count = match list.subscribed {
            Some(true) => subscribed,
            Some(false) => all - subscribed,
            None => all,
        };
        return Ok(Total { count, scanned: false });
    }
    let mut args: Vec<Arg<'_>> = vec![project.into()];
    let Filter { condition: filter, plus, scans } = narrowed(rx, project, list, &mut args).await?;
    let count = rx
        .one(format!("select count(*) from contacts c where {plus}c.project_id = $1{filter}"), &args, |r| {
            r.get(0)
        })
        .await?;
    Ok(Total { count, scanned: scans && count > search::COMMON as i64 })
}
