//! Opens and clicks as they came in, and who they were.

use mailwright_core::ids::{EmailId, EventId, ProjectNumber};
use mailwright_core::time::Timestamp;

use crate::args;
use crate::database::dialect::Sql;
use crate::database::error::Result;
use crate::database::tx::{Row, Rx, Tx};
use crate::database::value::Arg;

/// An open or a click to store.
#[derive(Debug, Clone)]
pub struct NewHit {
    /// The mail.
    pub email: EmailId,
    /// Identifier, which that of its event is as well.
    pub id: EventId,
    /// Number of the link; `None` for an open.
    pub link: Option<i64>,
    /// When.
    pub at: Timestamp,
    /// What the client calls itself.
    pub agent: String,
    /// Address of the client.
    pub address: String,
    /// Where the link led, where who told of it said so.
    pub url: Option<String>,
}

/// A stored open or click.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// The mail.
    pub email: EmailId,
    /// Identifier, which that of its event is as well.
    pub id: EventId,
    /// Number of the link; `None` for an open.
    pub link: Option<i64>,
    /// When.
    pub at: Timestamp,
    /// What the client calls itself.
    pub agent: String,
    /// Address of the client.
    pub address: String,
    /// Where the link led, where who told of it said so.
    pub url: Option<String>,
    /// Who it was, by name; `None` until that is judged.
    pub class: Option<String>,
    /// Why, by name.
    pub reason: Option<String>,
    /// Whether it is to be judged, for the first time or again.
    pub is_due: bool,
}

/// Stores hits of a project, due to be judged at `due_at`; how many. One whose id is stored already changes nothing.
pub async fn add(tx: &Tx<'_>, project: ProjectNumber, hits: &[NewHit], due_at: Timestamp) -> Result<u64> {
    tx.each(
        "insert into hits (project_id, email_id, id, link, at, agent, address, url, due_at) \
         select $8, r.email_id, r.id, r.link, r.at, r.agent, r.address, r.url, $9 \
         from {rows r: email_id id, id id, link int, at int, agent text, address text, url text} where true \
         on conflict (project_id, email_id, id) do nothing",
        &[
            Arg::Ids(hits.iter().map(|hit| Some(hit.email.into())).collect()),
            Arg::Ids(hits.iter().map(|hit| Some(hit.id.into())).collect()),
            Arg::Ints(hits.iter().map(|hit| hit.link).collect()),
            Arg::Ints(hits.iter().map(|hit| Some(hit.at.0)).collect()),
            Arg::Texts(hits.iter().map(|hit| Some(hit.agent.as_str().into())).collect()),
            Arg::Texts(hits.iter().map(|hit| Some(hit.address.as_str().into())).collect()),
            Arg::Texts(hits.iter().map(|hit| hit.url.as_deref().map(Into::into)).collect()),
            project.into(),
            due_at.into(),
        ],
    )
    .await
}

/// The projects with hits that are due. It goes from one project to the next in the index.
pub async fn due_projects(rx: &Rx<'_>, now: Timestamp) -> Result<Vec<ProjectNumber>> {
    rx.projects_with_work(
        Sql::Either {
            whole: "with recursive waiting(project_id) as (select cast(0 as {int}) union all select \
         (select h.project_id from hits h where h.project_id > w.project_id and h.due_at is not null \
         order by h.project_id, h.due_at limit 1) from waiting w where w.project_id is not null) \
         select w.project_id from waiting w where w.project_id > 0 \
         and (select h.due_at from hits h where h.project_id = w.project_id and h.due_at is not null \
         order by h.due_at limit 1) <= $1",
            divided: "select distinct project_id from hits where due_at <= $1",
        },
        args![now],
    )
    .await
}

/// The mails of a project with hits that are due, those that wait longest first; each once.
pub async fn due(rx: &Rx<'_>, project: ProjectNumber, now: Timestamp, limit: i64) -> Result<Vec<EmailId>> {
    let mut mails = rx
        .all(
            "select email_id from hits where project_id = $1 and due_at <= $2 order by due_at limit $3",
            args![project, now, limit],
            |r| r.get(0),
        )
        .await?;
    mails.sort_unstable();
    mails.dedup();
    Ok(mails)
}

const COLUMNS: &str = "email_id, id, link, at, agent, address, class, reason, due_at is not null, url";

fn read(row: &Row<'_>) -> Result<Hit> {
    Ok(Hit {
        email: row.get(0)?,
        id: row.get(1)?,
        link: row.get(2)?,
        at: row.get(3)?,
        agent: row.get(4)?,
        address: row.get(5)?,
        class: row.get(6)?,
        reason: row.get(7)?,
        is_due: row.get(8)?,
        url: row.get(9)?,
    })
}

/// All hits of some mails, in the order of mails and then of hits.
pub async fn of_mails(tx: &Rx<'_>, project: ProjectNumber, mails: &[EmailId]) -> Result<Vec<Hit>> {
    tx.all(
        format!(
            "select {COLUMNS} from hits where project_id = $1 and email_id {{in $2}} order by email_id, id"
        ),
        &[project.into(), Arg::Ids(mails.iter().map(|id| Some((*id).into())).collect())],
        read,
    )
    .await
}

/// How many hits of a mail are stored.
pub async fn count(rx: &Rx<'_>, project: ProjectNumber, mail: EmailId) -> Result<i64> {
    let sql = "select count(*) from hits where project_id = $1 and email_id = $2";
    rx.one(sql, args![project, mail], |r| r.get(0)).await
}

/// The hits of a mail, oldest first, from one on.
pub async fn page(
    rx: &Rx<'_>,
    project: ProjectNumber,
    mail: EmailId,
    after: Option<EventId>,
    limit: i64,
) -> Result<Vec<Hit>> {
    let after = after.unwrap_or_else(|| EventId::from_bytes([0; 16]));
    rx.all(
        format!(
            "select {COLUMNS} from hits where project_id = $1 and email_id = $2 and id > $3 order by id limit $4"
        ),
        args![project, mail, after, limit],
        read,
    )
    .await
}

/// A hit, and who it was.
#[derive(Debug, Clone, Copy)]
pub struct Judged<'a> {
    /// The hit.
    pub hit: &'a Hit,
    /// Who it was, by name.
    pub class: &'a str,
    /// Why, by name.
    pub reason: &'a str,
}

/// Notes who hits were, and that they are not due any more.
pub async fn judge(tx: &Tx<'_>, project: ProjectNumber, judged: &[Judged<'_>]) -> Result<()> {
    tx.each(
        "update hits set class = r.class, reason = r.reason, due_at = null \
         from {rows r: email_id id, id id, class text, reason text} \
         where hits.project_id = $5 and hits.email_id = r.email_id and hits.id = r.id",
        &[
            Arg::Ids(judged.iter().map(|one| Some(one.hit.email.into())).collect()),
            Arg::Ids(judged.iter().map(|one| Some(one.hit.id.into())).collect()),
            Arg::Texts(judged.iter().map(|one| Some(one.class.into())).collect()),
            Arg::Texts(judged.iter().map(|one| Some(one.reason.into())).collect()),
            project.into(),
        ],
    )
    .await?;
    Ok(())
}

/// Puts off the hits of mails that are being handed over.
pub async fn put_off(
    tx: &Tx<'_>,
    project: ProjectNumber,
    mails: &[EmailId],
    due_at: Timestamp,
) -> Result<()> {
    let mails = Arg::Ids(mails.iter().map(|id| Some((*id).into())).collect());
    tx.execute(
        "update hits set due_at = $3 where project_id = $1 and email_id {in $2} and due_at is not null",
        &[project.into(), mails, due_at.into()],
    )
    .await?;
    Ok(())
}

/// Removes hits that are of no use: of mails that are not there, or more than a mail may have.
pub async fn remove(tx: &Tx<'_>, project: ProjectNumber, hits: &[(EmailId, EventId)]) -> Result<()> {
    tx.each(
        "delete from hits where project_id = $3 and (email_id, id) in (select r.email_id, r.id from {rows r: email_id id, id id})",
        &[
            Arg::Ids(hits.iter().map(|(mail, _)| Some((*mail).into())).collect()),
            Arg::Ids(hits.iter().map(|(_, id)| Some((*id).into())).collect()),
            project.into(),
        ],
    )
    .await?;
    Ok(())
}

/// Removes the judged hits of mails from before a time, some at a time; how many. The mails keep their counts.
pub async fn forget(tx: &mut Tx<'_>, project: ProjectNumber, before: Timestamp, limit: i64) -> Result<u64> {
    tx.execute(
        "delete from hits where project_id = $1 and email_id in (select h.email_id from hits h where h.project_id = $1 \
         and h.email_id < $2 and h.due_at is null order by h.email_id limit $3) and email_id < $2 and due_at is null",
        args![project, EmailId::first_of(before), limit],
    )
    .await
}

/// Removes the hits of mails whose contact was deleted, judged or not.
pub(crate) async fn forget_mails(tx: &Tx<'_>, project: ProjectNumber, mails: &[EmailId]) -> Result<()> {
    let mails = Arg::Ids(mails.iter().map(|id| Some((*id).into())).collect());
    tx.execute("delete from hits where project_id = $1 and email_id {in $2}", &[project.into(), mails])
        .await?;
    Ok(())
}

/// Has the judged hits of mails be judged again, those of the next mails after one; the last of these mails, `None` when
/// there are no more.
pub async fn judge_again(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    after: EmailId,
    limit: i64,
    now: Timestamp,
) -> Result<Option<EmailId>> {
    let mut mails: Vec<EmailId> = tx
        .all(
            "select email_id from hits where project_id = $1 and email_id > $2 order by email_id, id limit $3",
            args![project, after, limit],
            |r| r.get(0),
        )
        .await?;
    mails.dedup();
    let last = mails.last().copied();
    let mails = Arg::Ids(mails.into_iter().map(|id| Some(id.into())).collect());
    tx.execute(
        "update hits set due_at = $3 where project_id = $1 and email_id {in $2} and due_at is null",
        &[project.into(), mails, now.into()],
    )
    .await?;
    Ok(last)
}
