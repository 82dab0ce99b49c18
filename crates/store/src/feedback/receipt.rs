//! News that were told by somebody who may tell them again: what was told already, and what came too early.

use std::collections::{HashMap, HashSet};

use mailwright_core::ids::{EmailId, ProjectNumber};
use mailwright_core::time::Timestamp;
use serde_json::Value as Json;

use crate::args;
use crate::database::dialect::Sql;
use crate::database::error::Result;
use crate::database::tx::{Rx, Tx};
use crate::database::value::Arg;

/// The hash of what a source calls its news.
pub type Key = [u8; 32];

/// Notes that news came in; the keys of those that are new.
pub async fn take(
    tx: &Tx<'_>,
    project: ProjectNumber,
    news: &[(Key, EmailId)],
    now: Timestamp,
) -> Result<HashSet<Key>> {
    let taken: Vec<Vec<u8>> = tx
        .each_returning(
            "insert into news_receipts (project_id, key, email_id, created_at) select $3, r.key, r.email_id, $4 \
             from {rows r: key bytes, email_id id} where true on conflict (project_id, key) do nothing returning key",
            &[
                Arg::Blobs(news.iter().map(|(key, _)| Some(key.as_slice().into())).collect()),
                Arg::Ids(news.iter().map(|(_, email)| Some((*email).into())).collect()),
                project.into(),
                now.into(),
            ],
            |r| r.get(0),
        )
        .await?;
    Ok(taken.into_iter().filter_map(|key| key.try_into().ok()).collect())
}

/// How many news of mails were told; mails of which none was told are missing.
pub async fn told(rx: &Rx<'_>, project: ProjectNumber, mails: &[EmailId]) -> Result<HashMap<EmailId, i64>> {
    let mails = Arg::Ids(mails.iter().map(|id| Some((*id).into())).collect());
    let sql = "select email_id, count(*) from news_receipts where project_id = $1 and email_id {in $2} group by email_id";
    Ok(rx.all(sql, &[project.into(), mails], |r| Ok((r.get(0)?, r.get(1)?))).await?.into_iter().collect())
}

/// Keeps news whose mail is being handed over, until `due_at`.
pub async fn keep(
    tx: &Tx<'_>,
    project: ProjectNumber,
    news: &[(Key, String)],
    due_at: Timestamp,
) -> Result<()> {
    tx.each(
        "update news_receipts set news = r.news, due_at = $4 from {rows r: key bytes, news json} \
         where news_receipts.project_id = $3 and news_receipts.key = r.key",
        &[
            Arg::Blobs(news.iter().map(|(key, _)| Some(key.as_slice().into())).collect()),
            Arg::Jsons(news.iter().map(|(_, text)| Some(text.as_str().into())).collect()),
            project.into(),
            due_at.into(),
        ],
    )
    .await?;
    Ok(())
}

/// Which of some news still wait to be told.
pub async fn waiting(rx: &Rx<'_>, project: ProjectNumber, keys: &[Vec<u8>]) -> Result<HashSet<Vec<u8>>> {
    let keys = Arg::Blobs(keys.iter().map(|key| Some(key.as_slice().into())).collect());
    let sql = "select key from news_receipts where project_id = $1 and key {in $2} and due_at is not null";
    Ok(rx.all(sql, &[project.into(), keys], |r| r.get(0)).await?.into_iter().collect())
}

/// Notes that news that were kept are told now.
pub async fn done(tx: &Tx<'_>, project: ProjectNumber, keys: &[Key]) -> Result<()> {
    let keys = Arg::Blobs(keys.iter().map(|key| Some(key.as_slice().into())).collect());
    tx.execute(
        "update news_receipts set news = null, due_at = null where project_id = $1 and key {in $2}",
        &[project.into(), keys],
    )
    .await?;
    Ok(())
}

/// The projects with news that are due.
pub async fn due_projects(rx: &Rx<'_>, now: Timestamp) -> Result<Vec<ProjectNumber>> {
    rx.projects_with_work(
        Sql::Either {
whole: "with recursive waiting(project_id) as (select cast(0 as {int}) union all select \
         (select n.project_id from news_receipts n where n.project_id > w.project_id and n.due_at is not null \
         order by n.project_id, n.due_at limit 1) from waiting w where w.project_id is not null) \
         select w.project_id from waiting w where w.project_id > 0 \
         and (select n.due_at from news_receipts n where n.project_id = w.project_id and n.due_at is not null \
         order by n.due_at limit 1) <= $1",
divided: "select distinct project_id from news_receipts where due_at <= $1",
},
        args![now],
    )
    .await
}

/// News that are due: key, mail, what was told.
pub async fn due(
    rx: &Rx<'_>,
    project: ProjectNumber,
    now: Timestamp,
    limit: i64,
) -> Result<Vec<(Vec<u8>, EmailId, Json)>> {
    rx.all(
        "select key, email_id, {json_out news} from news_receipts where project_id = $1 and due_at <= $2 \
         order by due_at limit $3",
        args![project, now, limit],
        |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)),
    )
    .await
}

/// Forgets what was told before a time, some at a time; how many. News that are kept stay.
pub async fn forget(tx: &mut Tx<'_>, project: ProjectNumber, before: Timestamp, limit: i64) -> Result<u64> {
    tx.execute(
        "delete from news_receipts where project_id = $1 and key in (select n.key from news_receipts n \
         where n.project_id = $1 and n.created_at < $2 and n.due_at is null order by n.created_at limit $3)",
        args![project, before, limit],
    )
    .await
}
