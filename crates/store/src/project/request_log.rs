//! The log of requests: what keys and people asked of a project.

use std::borrow::Cow;

use mailwright_core::ids::{ApiKeyId, LoggedRequestId, ProjectNumber, UserId};
use mailwright_core::time::Timestamp;

use crate::args;
use crate::database::error::Result;
use crate::database::tx::{Row, Rx, Tx};
use crate::database::value::Arg;

/// Who asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Asker {
    /// Whoever has the key.
    Key(ApiKeyId),
    /// A signed-in person.
    Person(UserId),
}

/// A request that was answered.
#[derive(Debug, Clone)]
pub struct Logged {
    /// Identifier, whose time is that of the request.
    pub id: LoggedRequestId,
    /// Who asked; `None` for a row of which that is not known any more.
    pub asker: Option<Asker>,
    /// The method, or `other`.
    pub method: Cow<'static, str>,
    /// The template of the path.
    pub route: String,
    /// The path with the ids that stood in it.
    pub path: String,
    /// Status of the answer.
    pub status: u16,
    /// Code of the error, if the answer had one.
    pub code: Option<Cow<'static, str>>,
    /// Microseconds until the answer began.
    pub micros: i64,
    /// The id that the request was answered under.
    pub request_id: String,
    /// Address of the client, where the instance keeps it.
    pub address: Option<String>,
}

/// Which requests are asked for. Every part that is there must fit.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// Made with this key.
    pub key: Option<ApiKeyId>,
    /// Answered with this status.
    pub status: Option<i64>,
    /// Answered with a status of 400 or more.
    pub errors_only: bool,
    /// Answered with this code.
    pub code: Option<String>,
    /// Of this method.
    pub method: Option<String>,
    /// To a path of this template.
    pub route: Option<String>,
    /// Answered under this id.
    pub request_id: Option<String>,
    /// Not before this time.
    pub since: Option<Timestamp>,
    /// Before this time.
    pub until: Option<Timestamp>,
}

/// Stores requests, each with the number of its project.
pub async fn add(tx: &Tx<'_>, requests: &[(ProjectNumber, Logged)]) -> Result<u64> {
    let ids =
        |of: fn(&Logged) -> Option<uuid::Uuid>| Arg::Ids(requests.iter().map(|(_, it)| of(it)).collect());
    let texts = |of: fn(&Logged) -> Option<&str>| {
        Arg::Texts(requests.iter().map(|(_, it)| of(it).map(Into::into)).collect())
    };
    let ints = |of: fn(&Logged) -> i64| Arg::Ints(requests.iter().map(|(_, it)| Some(of(it))).collect());
    tx.insert_each(
        "insert into request_log (project_id, id, key_id, user_id, method, route, path, status, code, micros, \
         request_id, address) select r.project_id, r.id, r.key_id, r.user_id, r.method, r.route, r.path, r.status, \
         r.code, r.micros, r.request_id, r.address from {rows r: project_id int, id id, key_id id, user_id id, \
         method text, route text, path text, status int, code text, micros int, request_id text, address text}",
        &[
            Arg::Ints(requests.iter().map(|(project, _)| Some(project.0)).collect()),
            ids(|it| Some(it.id.into())),
            ids(|it| match it.asker {
                Some(Asker::Key(id)) => Some(id.into()),
                _ => None,
            }),
            ids(|it| match it.asker {
                Some(Asker::Person(id)) => Some(id.into()),
                _ => None,
            }),
            texts(|it| Some(&it.method)),
            texts(|it| Some(&it.route)),
            texts(|it| Some(&it.path)),
            ints(|it| i64::from(it.status)),
            texts(|it| it.code.as_deref()),
            ints(|it| it.micros),
            texts(|it| Some(&it.request_id)),
            texts(|it| it.address.as_deref()),
        ],
    )
    .await
}

/// Errors of one minute (since 1970) of a project that are not stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Gap {
    /// The project.
    pub project: ProjectNumber,
    /// The minute.
    pub minute: i64,
    /// How many.
    pub left_out: i64,
}

/// Adds to the numbers of errors that are not stored. The gaps are in order, so that several processes do not wait for
/// each other in circles.
pub async fn add_gaps(tx: &Tx<'_>, gaps: &[Gap]) -> Result<()> {
    tx.each(
        "insert into request_log_gaps as g (project_id, minute, left_out) \
         select r.project_id, r.minute, r.left_out from {rows r: project_id int, minute int, left_out int} where true \
         on conflict (project_id, minute) do update set left_out = g.left_out + excluded.left_out",
        &[
            Arg::Ints(gaps.iter().map(|gap| Some(gap.project.0)).collect()),
            Arg::Ints(gaps.iter().map(|gap| Some(gap.minute)).collect()),
            Arg::Ints(gaps.iter().map(|gap| Some(gap.left_out)).collect()),
        ],
    )
    .await
    .map(drop)
}

const COLUMNS: &str = "id, key_id, user_id, method, route, path, status, code, micros, request_id, address";

fn read(row: &Row<'_>) -> Result<Logged> {
    let (key, user): (Option<ApiKeyId>, Option<UserId>) = (row.get(1)?, row.get(2)?);
    Ok(Logged {
        id: row.get(0)?,
        asker: key.map(Asker::Key).or(user.map(Asker::Person)),
        method: row.get::<String>(3)?.into(),
        route: row.get(4)?,
        path: row.get(5)?,
        status: u16::try_from(row.get::<i64>(6)?).unwrap_or_default(),
        code: row.get::<Option<String>>(7)?.map(Into::into),
        micros: row.get(8)?,
        request_id: row.get(9)?,
        address: row.get(10)?,
    })
}

/// A page of the log, newest first. `after` is the last row of the page before.
pub async fn list(
    rx: &Rx<'_>,
    project: ProjectNumber,
    wanted: &Wanted,
    after: Option<LoggedRequestId>,
    limit: usize,
) -> Result<Vec<Logged>> {
    let mut args: Vec<Arg<'_>> = vec![project.into(), limit.into()];
    let mut filter = String::new();
    let first_of = |time: Timestamp| LoggedRequestId::first_of(time);
    let conditions: [(&str, Option<Arg<'_>>); 9] = [
        ("id <", after.map(Into::into)),
        ("id >=", wanted.since.map(|time| first_of(time).into())),
        ("id <", wanted.until.map(|time| first_of(time).into())),
        ("key_id =", wanted.key.map(Into::into)),
        ("status =", wanted.status.map(Into::into)),
        ("code =", wanted.code.as_deref().map(Into::into)),
        ("method =", wanted.method.as_deref().map(Into::into)),
        ("route =", wanted.route.as_deref().map(Into::into)),
        ("request_id =", wanted.request_id.as_deref().map(Into::into)),
    ];
    for (condition, value) in conditions {
        let Some(value) = value else { continue };
        args.push(value);
        filter += &format!(" and {condition} ${}", args.len());
    }
    if wanted.errors_only {
        filter += " and status >= 400";
    }
    rx.all(
        format!("select {COLUMNS} from request_log where project_id = $1{filter} order by id desc limit $2"),
        &args,
        read,
    )
    .await
}

/// One request of the log.
pub async fn get(rx: &Rx<'_>, project: ProjectNumber, id: LoggedRequestId) -> Result<Option<Logged>> {
    let sql = format!("select {COLUMNS} from request_log where project_id = $1 and id = $2");
    rx.optional(sql, args![project, id], read).await
}

/// How many errors of a period are not in the log, by whole minutes.
pub async fn left_out(
    rx: &Rx<'_>,
    project: ProjectNumber,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
) -> Result<i64> {
    let (first, last) = (since.map_or(0, minute_of), until.map_or(i64::MAX, minute_of));
    rx.one(
        "select cast(coalesce(sum(left_out), 0) as {int}) from request_log_gaps \
         where project_id = $1 and minute >= $2 and minute <= $3",
        args![project, first, last],
        |r| r.get(0),
    )
    .await
}

/// The minute (since 1970) that a time is in.
pub fn minute_of(time: Timestamp) -> i64 {
    time.0.div_euclid(60_000)
}

/// Removes the oldest rows from before a time, `limit` of each table at most; how many.
pub async fn forget(tx: &Tx<'_>, project: ProjectNumber, before: Timestamp, limit: i64) -> Result<u64> {
    let requests = tx
        .execute(
            "delete from request_log where project_id = $1 and id < $2 and id in (select l.id from request_log l \
             where l.project_id = $1 and l.id < $2 order by l.id limit $3)",
            args![project, LoggedRequestId::first_of(before), limit],
        )
        .await?;
    let gaps = tx
        .execute(
            "delete from request_log_gaps where project_id = $1 and minute < $2 and minute in (select g.minute \
             from request_log_gaps g where g.project_id = $1 and g.minute < $2 order by g.minute limit $3)",
            args![project, minute_of(before), limit],
        )
        .await?;
    Ok(requests + gaps)
}
