//! The contents of mails: each is stored once, under its hash, however many recipients it has. The rows of mails name
//! the hash. A content that was not used for a while is removed (`forget`), unless a campaign or a waiting mail has it.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join;
use mailwright_core::custom_data::Data;
use mailwright_core::ids::{ContactId, ProjectNumber};
use mailwright_core::time::Timestamp;
use serde_json::Value as Json;

use crate::args;
use crate::body;
use crate::database::db::Db;
use crate::database::error::{Error, Result};
use crate::database::tx::{Rx, Tx};
use crate::database::value::{Arg, json_text};
use crate::feedback::link;

/// How often it is noted at most that a content is used.
const RENEWED: Duration = Duration::from_hours(24);
/// How many contents one query checks for whether something needs them.
const PAGE: i64 = 5_000;
/// Most contents that go at a time.
const FORGET: usize = 50;

/// SHA-256 of a content or attachment.
pub type ContentHash = [u8; 32];

/// The content of a mail before it is rendered for a recipient.
#[derive(Debug, Clone)]
pub struct Content {
    /// Identity: the hash of everything below, but for `links`.
    pub hash: ContentHash,
    /// Subject, with variables.
    pub subject: String,
    /// HTML, with variables.
    pub body: String,
    /// Plain text, with variables; made from the HTML when there is none.
    pub text: Option<String>,
    /// Custom headers: an array of pairs.
    pub headers: Json,
    /// Attachments: an array of objects that name the hash of their bytes.
    pub attachments: Json,
    /// Values that are the same for all recipients.
    pub shared: Data,
    /// Whether its mails are tracked; `None` leaves it to the project.
    pub tracking: Option<bool>,
    /// The links of the body, as JSON text; `None` where it has none. They follow from the body and are not part of the
    /// identity.
    pub links: Option<Arc<str>>,
}

/// The bytes of an attachment.
#[derive(Debug, Clone)]
pub struct Bytes {
    /// SHA-256 of `content`.
    pub hash: ContentHash,
    /// The bytes.
    pub content: Arc<[u8]>,
}

/// Stores contents that are not there yet, and notes of the others that they are used.
pub async fn save(tx: &Tx<'_>, contents: &[(ProjectNumber, &Content)], now: Timestamp) -> Result<()> {
    save_of(tx, contents, &vec![None; contents.len()], now).await
}

/// The same, with the contact that a content goes with, unless somebody else is sent it as well.
pub async fn save_of(
    tx: &Tx<'_>,
    contents: &[(ProjectNumber, &Content)],
    soles: &[Option<ContactId>],
    now: Timestamp,
) -> Result<()> {
    // first, so that nobody removes between the two what is there
    let (renewed, inserted) = join(renew(tx, contents, now), insert(tx, contents, soles, now)).await;
    renewed.and(inserted)
}

async fn renew(tx: &Tx<'_>, contents: &[(ProjectNumber, &Content)], now: Timestamp) -> Result<()> {
    tx.each(
        "update contents set created_at = $3 from {rows r: project_id int, hash bytes} \
         where contents.project_id = r.project_id and contents.hash = r.hash and contents.created_at < $4",
        &[
            Arg::Ints(contents.iter().map(|(p, _)| Some(p.0)).collect()),
            Arg::Blobs(contents.iter().map(|(_, c)| Some(c.hash.as_slice().into())).collect()),
            now.into(),
            Timestamp(now.0 - RENEWED.as_millis() as i64).into(),
        ],
    )
    .await?;
    Ok(())
}

/// What several contacts are sent is left alone, so that nobody waits for its row.
async fn insert(
    tx: &Tx<'_>,
    contents: &[(ProjectNumber, &Content)],
    soles: &[Option<ContactId>],
    now: Timestamp,
) -> Result<()> {
    tx.each(
        "insert into contents (project_id, hash, subject, body, text_body, headers, attachments, shared, \
         tracking, links, sole_contact, created_at) \
         select r.project_id, r.hash, r.subject, r.body, r.text_body, r.headers, r.attachments, r.shared, r.tracking, \
         r.links, r.sole_contact, $12 \
         from {rows r: project_id int, hash bytes, subject text, body text, text_body text, headers json, attachments json, \
         shared json, tracking bool, links json, sole_contact id} \
         where not exists (select 1 from contents c where c.project_id = r.project_id and c.hash = r.hash \
         and c.sole_contact is null) \
         on conflict (project_id, hash) do update set sole_contact = null \
         where contents.sole_contact is distinct from excluded.sole_contact",
        &[
            Arg::Ints(contents.iter().map(|(p, _)| Some(p.0)).collect()),
            Arg::Blobs(contents.iter().map(|(_, c)| Some(c.hash.as_slice().into())).collect()),
            Arg::Texts(contents.iter().map(|(_, c)| Some(c.subject.as_str().into())).collect()),
            Arg::Texts(contents.iter().map(|(_, c)| Some(c.body.as_str().into())).collect()),
            Arg::Texts(contents.iter().map(|(_, c)| c.text.as_deref().map(Into::into)).collect()),
            Arg::Jsons(contents.iter().map(|(_, c)| Some(c.headers.to_string().into())).collect()),
            Arg::Jsons(contents.iter().map(|(_, c)| Some(c.attachments.to_string().into())).collect()),
            Arg::Jsons(
                contents
                    .iter()
                    .map(|(_, c)| (!c.shared.is_empty()).then(|| json_text(&c.shared).into()))
                    .collect(),
            ),
            Arg::Bools(contents.iter().map(|(_, c)| c.tracking).collect()),
            Arg::Jsons(contents.iter().map(|(_, c)| c.links.as_deref().map(Into::into)).collect()),
            Arg::Ids(soles.iter().map(|sole| sole.map(Into::into)).collect()),
            now.into(),
        ],
    )
    .await?;
    Ok(())
}

/// Removes contents that were not used since a time. Contents of waiting mails stay, and so do contents of campaigns,
/// whose mails may be tried once more.
///
/// A send writes the time of use of a content before its mails, so that a content that is used again meanwhile is
/// either kept or stored anew. So the contents that a read found unused can be removed later.
pub async fn forget(db: &Db, project: ProjectNumber, before: Timestamp, now: Timestamp) -> Result<()> {
    let mut after = (Timestamp(i64::MIN), Vec::new());
    loop {
        let from = after.clone();
        let old = db.read(body!(async |rx| page(rx, project, from, before).await)).await?;
        let Some(last) = old.last() else { return Ok(()) };
        after = last.clone();
        let hashes: Vec<_> = old.into_iter().map(|(_, hash)| hash).collect();
        let asked = hashes.clone();
        // all that waits may have to be looked at, which is much where a project was stopped: not on SQLite's one
        // writer
        let used = db.read_in_background(project, body!(async |rx| used(rx, project, asked).await));
        let used = used.await?;
        let unused: Vec<_> = hashes.into_iter().filter(|hash| !used.contains(hash)).collect();
        for some in unused.chunks(FORGET) {
            let some = some.to_vec();
            db.write_in_background(body!(async |tx| remove(tx, project, some, (before, now)).await)).await?;
        }
    }
}

/// A page of the contents from before a time, oldest first.
async fn page(
    rx: &Rx<'_>,
    project: ProjectNumber,
    (at, hash): (Timestamp, Vec<u8>),
    before: Timestamp,
) -> Result<Vec<(Timestamp, Vec<u8>)>> {
    rx.all(
        "select created_at, hash from contents where project_id = $1 and created_at < $2 \
         and (created_at, hash) > ($3, $4) order by created_at, hash limit $5",
        args![project, before, at, &hash[..], PAGE],
        |r| Ok((r.get(0)?, r.get(1)?)),
    )
    .await
}

/// Which of some contents belong to a campaign or to a waiting mail. Goes through the waiting mails once for all
/// contents.
async fn used(rx: &Rx<'_>, project: ProjectNumber, hashes: Vec<Vec<u8>>) -> Result<HashSet<Vec<u8>>> {
    let hashes = Arg::Blobs(hashes.into_iter().map(|hash| Some(hash.into())).collect());
    let args = [project.into(), hashes];
    let used = rx.all(
        "select content_hash from campaigns where project_id = $1 and content_hash {in $2} union \
         select content_hash from emails where project_id = $1 and campaign_id is null and due_at is not null \
         and content_hash {in $2}",
        &args,
        |r| r.get(0),
    );
    Ok(used.await?.into_iter().collect())
}

async fn remove(
    tx: &Tx<'_>,
    project: ProjectNumber,
    hashes: Vec<Vec<u8>>,
    (before, now): (Timestamp, Timestamp),
) -> Result<u64> {
    let hashes = || Arg::Blobs(hashes.iter().map(|hash| Some(hash.as_slice().into())).collect());
    link::keep(tx, project, hashes(), now).await?;
    tx.execute(
        "delete from contents where project_id = $1 and created_at < $2 and hash {in $3}",
        &[project.into(), before.into(), hashes()],
    )
    .await
}

/// Stores attachments that are not there yet. Each goes with the contact whose mails alone have it, if one is named.
pub async fn save_attachments(
    tx: &Tx<'_>,
    files: &[(ProjectNumber, &Bytes)],
    soles: &[Option<ContactId>],
    now: Timestamp,
) -> Result<()> {
    tx.each(
        "insert into attachments (project_id, hash, content, sole_contact, created_at) \
         select r.project_id, r.hash, r.content, r.sole_contact, $5 \
         from {rows r: project_id int, hash bytes, content bytes, sole_contact id} \
         where not exists (select 1 from attachments a where a.project_id = r.project_id and a.hash = r.hash \
         and a.sole_contact is null) \
         on conflict (project_id, hash) do update set sole_contact = null \
         where attachments.sole_contact is distinct from excluded.sole_contact",
        &[
            Arg::Ints(files.iter().map(|(p, _)| Some(p.0)).collect()),
            Arg::Blobs(files.iter().map(|(_, f)| Some(f.hash.as_slice().into())).collect()),
            Arg::Blobs(files.iter().map(|(_, f)| Some(f.content.as_ref().into())).collect()),
            Arg::Ids(soles.iter().map(|sole| sole.map(Into::into)).collect()),
            now.into(),
        ],
    )
    .await?;
    Ok(())
}

/// Reads a content.
pub async fn get(rx: &mut Rx<'_>, project: ProjectNumber, hash: &[u8]) -> Result<Option<Content>> {
    rx.optional(
        "select hash, subject, body, text_body, {json_out headers}, {json_out attachments}, {json_out shared}, tracking \
         from contents where project_id = $1 and hash = $2",
        args![project, hash],
        |r| {
            let hash: Vec<u8> = r.get(0)?;
            let hash = hash.try_into().map_err(|_| Error::Corrupt {
                column: 0,
                expected: "a SHA-256 hash",
                detail: "contents.hash has another length".into(),
            })?;
            Ok(Content {
                hash,
                subject: r.get(1)?,
                body: r.get(2)?,
                text: r.get(3)?,
                headers: r.get(4)?,
                attachments: r.get(5)?,
                shared: r.get::<Option<Data>>(6)?.unwrap_or_default(),
                tracking: r.get(7)?,
                links: None,
            })
        },
    )
    .await
}

/// Reads the bytes of an attachment by their SHA-256 hash. `None` when the project has no such attachment.
pub async fn attachment(rx: &mut Rx<'_>, project: ProjectNumber, hash: &[u8]) -> Result<Option<Vec<u8>>> {
    rx.optional(
        "select content from attachments where project_id = $1 and hash = $2",
        args![project, hash],
        |r| r.get(0),
    )
    .await
}

#[cfg(test)]
mod tests {
    use mailwright_core::ids::{CampaignId, EmailId};
    use serde_json::json;

    use super::*;
    use crate::database::location::Location;
    use crate::database::metrics::StoreMetrics;
    use crate::database::migrate::migrate;

    const ONE: ProjectNumber = ProjectNumber(1);
    const DAY: i64 = 24 * 60 * 60 * 1000;

    fn content(hash: u8) -> Content {
        let (subject, body) = ("Hello".to_owned(), "<p>Hello</p>".to_owned());
        Content {
            hash: [hash; 32],
            subject,
            body,
            text: None,
            headers: json!([]),
            attachments: json!([]),
            shared: Data::new(),
            tracking: None,
            links: None,
        }
    }

    async fn use_on(db: &Db, day: i64, hashes: &'static [u8]) {
        let used = db.write(body!(async |tx| {
            let contents: Vec<_> = hashes.iter().map(|hash| content(*hash)).collect();
            let contents: Vec<_> = contents.iter().map(|content| (ONE, content)).collect();
            save(tx, &contents, Timestamp(day * DAY)).await
        }));
        used.await.unwrap();
    }

    async fn left_on(db: &Db, day: i64) -> Vec<u8> {
        forget(db, ONE, Timestamp((day - 7) * DAY), Timestamp(day * DAY)).await.unwrap();
        let left = db.read(body!(async |rx| {
            let sql = "select hash from contents where project_id = $1 order by hash";
            rx.all(sql, args![ONE], |r| r.get::<Vec<u8>>(0)).await
        }));
        left.await.unwrap().iter().map(|hash| hash[0]).collect()
    }

    async fn open(folder: &tempfile::TempDir) -> Db {
        let location = Location::Sqlite(folder.path().join("content.sqlite"));
        let db = Db::open(&location, StoreMetrics::default()).unwrap();
        migrate(&db, Timestamp(0)).await.unwrap();
        db
    }

    async fn wait_with(tx: &Tx<'_>, hash: u8) -> Result<u64> {
        tx.execute(
            "insert into emails (project_id, id, contact_id, recipient, from_address, subject, content_hash, \
             variables, source, type, lane, status, due_at, claim, attempts, in_doubt, log, message_id, opens, \
             clicks, deadline_at, created_at, updated_at) values ($1, $2, $2, 'r', 'f', 's', $3, {json '[]'}, \
             'TRANSACTIONAL', 'TRANSACTIONAL', 0, 'PENDING', 1, 0, 0, 0, {json '[]'}, 'm', 0, 0, 0, 0, 0)",
            args![ONE, EmailId::new(Timestamp(DAY), rand::random()), &[hash; 32][..]],
        )
        .await
    }

    #[tokio::test]
    async fn a_content_goes_when_nobody_was_sent_it_for_a_while() {
        let folder = tempfile::tempdir().unwrap();
        let db = open(&folder).await;
        use_on(&db, 100, &[1, 2, 3, 4]).await;
        // one is a campaign's, one a mail waits with, one is used again
        let prepared = db.write(body!(async |tx| {
            let campaign = CampaignId::new(Timestamp(DAY), rand::random());
            tx.execute(
                "insert into campaigns (project_id, id, name, subject, body, from_address, type, audience_type, \
                 status, content_hash, search, recipients, lease_until, lease_holder, created_at, updated_at) \
                 values ($1, $2, 'c', 's', 'b', 'f', 'MARKETING', 'ALL', 'SENT', $3, 'c', 0, 0, 0, 0, 0)",
                args![ONE, campaign, &[2_u8; 32][..]],
            )
            .await?;
            wait_with(tx, 3).await
        }));
        prepared.await.unwrap();
        use_on(&db, 105, &[4]).await;
        assert_eq!(left_on(&db, 106).await, [1, 2, 3, 4]);
        assert_eq!(left_on(&db, 108).await, [2, 3, 4]);
        assert_eq!(left_on(&db, 113).await, [2, 3]);
        // what is used again is stored again
        use_on(&db, 113, &[1]).await;
        assert_eq!(left_on(&db, 113).await, [1, 2, 3]);
    }

    #[tokio::test]
    async fn the_writer_has_no_part_in_finding_what_can_go() {
        let folder = tempfile::tempdir().unwrap();
        let db = open(&folder).await;
        use_on(&db, 100, &[1, 2]).await;
        let waits = db.write(body!(async |tx| {
            wait_with(tx, 1).await?;
            wait_with(tx, 2).await
        }));
        waits.await.unwrap();
        // what keeps the writer until it is let go
        let (let_go, until) = std::sync::mpsc::channel::<()>();
        let (begun, has_writer) = tokio::sync::oneshot::channel();
        let holder = db.clone();
        let holding = tokio::spawn(async move {
            let work = holder.write_in_background(body!(async |_tx| {
                let _ = begun.send(());
                let _ = until.recv();
                Ok::<_, Error>(())
            }));
            work.await
        });
        has_writer.await.unwrap();
        forget(&db, ONE, Timestamp(193 * DAY), Timestamp(200 * DAY)).await.unwrap();
        drop(let_go);
        holding.await.unwrap().unwrap();
        assert_eq!(left_on(&db, 200).await, [1, 2]);
    }
}
