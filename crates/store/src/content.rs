//! What mails say, stored once for everybody who is sent the same.

use std::time::Duration;

use futures_util::future::join;
use mailwright_core::custom_data::Data;
use mailwright_core::ids::ProjectNumber;
use mailwright_core::time::Timestamp;
use serde_json::Value as Json;

use crate::args;
use crate::error::{Error, Result};
use crate::tx::{Rx, Tx};
use crate::value::{Arg, json_text};

/// How long a content stays after it was used for the last time.
const KEPT: Duration = Duration::from_hours(7 * 24);
/// How often it is noted at most that a content is used.
const RENEWED: Duration = Duration::from_hours(24);
/// Most contents that go at a time.
const FORGET: i64 = 50;

/// SHA-256 of a content or attachment.
pub type ContentHash = [u8; 32];

/// The content of a mail before it is rendered for a recipient.
#[derive(Debug, Clone)]
pub struct Content {
    /// Identity: the hash of everything below.
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
    /// Values that are the same for everybody who is sent this.
    pub shared: Data,
}

/// The bytes of an attachment.
#[derive(Debug, Clone)]
pub struct Bytes {
    /// SHA-256 of `content`.
    pub hash: ContentHash,
    /// The bytes.
    pub content: std::sync::Arc<[u8]>,
}

/// Stores contents that are not there yet, and notes of the others that they are used.
pub async fn save(tx: &Tx<'_>, contents: &[(ProjectNumber, &Content)], now: Timestamp) -> Result<()> {
    // first, so that nobody removes between the two what is there
    let (renewed, inserted) = join(renew(tx, contents, now), insert(tx, contents, now)).await;
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

async fn insert(tx: &Tx<'_>, contents: &[(ProjectNumber, &Content)], now: Timestamp) -> Result<()> {
    tx.each(
        "insert into contents (project_id, hash, subject, body, text_body, headers, attachments, shared, created_at) \
         select r.project_id, r.hash, r.subject, r.body, r.text_body, r.headers, r.attachments, r.shared, $9 \
         from {rows r: project_id int, hash bytes, subject text, body text, text_body text, headers json, attachments json, \
         shared json} where true on conflict (project_id, hash) do nothing",
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
            now.into(),
        ],
    )
    .await?;
    Ok(())
}

/// Removes contents that nobody was sent for a while: those that no mail waits with and that are no campaign's, whose
/// mails may be tried once more. Returns how many; call again until there are none.
///
/// A content that is used again meanwhile is written before, so that it is either kept or stored anew.
pub async fn forget(tx: &mut Tx<'_>, project: ProjectNumber, now: Timestamp) -> Result<u64> {
    let before = Timestamp(now.0 - KEPT.as_millis() as i64);
    let unused = tx
        .all(
            "select c.hash from contents c where c.project_id = $1 and c.created_at < $2 \
             and not exists (select 1 from campaigns k where k.project_id = $1 and k.content_hash = c.hash) \
             and not exists (select 1 from emails e where e.project_id = $1 and e.campaign_id is null \
             and e.due_at is not null and e.content_hash = c.hash) order by c.created_at limit $3",
            args![project, before, FORGET],
            |r| r.get::<Vec<u8>>(0),
        )
        .await?;
    if unused.is_empty() {
        return Ok(0);
    }
    let hashes = Arg::Blobs(unused.into_iter().map(|hash| Some(hash.into())).collect());
    tx.execute(
        "delete from contents where project_id = $1 and created_at < $2 and hash {in $3}",
        &[project.into(), before.into(), hashes],
    )
    .await
}

/// Stores attachments that are not there yet.
pub async fn save_attachments(tx: &Tx<'_>, files: &[(ProjectNumber, &Bytes)], now: Timestamp) -> Result<()> {
    tx.each(
        "insert into attachments (project_id, hash, content, created_at) \
         select r.project_id, r.hash, r.content, $4 \
         from {rows r: project_id int, hash bytes, content bytes} where true on conflict (project_id, hash) do nothing",
        &[
            Arg::Ints(files.iter().map(|(p, _)| Some(p.0)).collect()),
            Arg::Blobs(files.iter().map(|(_, f)| Some(f.hash.as_slice().into())).collect()),
            Arg::Blobs(files.iter().map(|(_, f)| Some(f.content.as_ref().into())).collect()),
            now.into(),
        ],
    )
    .await?;
    Ok(())
}

/// Reads a content.
pub async fn get(rx: &mut Rx<'_>, project: ProjectNumber, hash: &[u8]) -> Result<Option<Content>> {
    rx.optional(
        "select hash, subject, body, text_body, {json_out headers}, {json_out attachments}, {json_out shared} \
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
            })
        },
    )
    .await
}

/// Reads the bytes of an attachment.
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
    use mailwright_core::ids::CampaignId;
    use serde_json::json;

    use super::*;
    use crate::db::{Db, Location, StoreMetrics};
    use crate::migrate::migrate;

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
        }
    }

    async fn use_on(db: &Db, day: i64, hashes: &'static [u8]) {
        let used = db.write(move |tx| {
            Box::pin(async move {
                let contents: Vec<_> = hashes.iter().map(|hash| content(*hash)).collect();
                let contents: Vec<_> = contents.iter().map(|content| (ONE, content)).collect();
                save(tx, &contents, Timestamp(day * DAY)).await
            })
        });
        used.await.unwrap();
    }

    async fn left_on(db: &Db, day: i64) -> Vec<u8> {
        let left = db.write(move |tx| {
            Box::pin(async move {
                while forget(tx, ONE, Timestamp(day * DAY)).await? > 0 {}
                let sql = "select hash from contents where project_id = $1 order by hash";
                tx.all(sql, args![ONE], |r| r.get::<Vec<u8>>(0)).await
            })
        });
        left.await.unwrap().iter().map(|hash| hash[0]).collect()
    }

    #[tokio::test]
    async fn a_content_goes_when_nobody_was_sent_it_for_a_while() {
        let folder = tempfile::tempdir().unwrap();
        let location = Location::Sqlite(folder.path().join("content.sqlite"));
        let db = Db::open(&location, StoreMetrics::default()).unwrap();
        migrate(&db, Timestamp(0)).await.unwrap();
        use_on(&db, 100, &[1, 2, 3, 4]).await;
        // one is a campaign's, one a mail waits with, one is used again
        let prepared = db.write(|tx| {
            Box::pin(async move {
                let campaign = CampaignId::new(Timestamp(DAY));
                tx.execute(
                    "insert into campaigns (project_id, id, name, subject, body, from_address, type, audience_type, \
                     status, content_hash, search, recipients, lease_until, lease_holder, created_at, updated_at) \
                     values ($1, $2, 'c', 's', 'b', 'f', 'MARKETING', 'ALL', 'SENT', $3, 'c', 0, 0, 0, 0, 0)",
                    args![ONE, campaign, &[2_u8; 32][..]],
                )
                .await?;
                tx.execute(
                    "insert into emails (project_id, id, contact_id, recipient, from_address, subject, content_hash, \
                     variables, source, type, lane, status, due_at, claim, attempts, in_doubt, log, message_id, opens, \
                     clicks, deadline_at, created_at, updated_at) values ($1, $2, $2, 'r', 'f', 's', $3, {json '[]'}, \
                     'TRANSACTIONAL', 'TRANSACTIONAL', 0, 'PENDING', 1, 0, 0, 0, {json '[]'}, 'm', 0, 0, 0, 0, 0)",
                    args![ONE, campaign, &[3_u8; 32][..]],
                )
                .await
            })
        });
        prepared.await.unwrap();
        use_on(&db, 105, &[4]).await;
        assert_eq!(left_on(&db, 106).await, [1, 2, 3, 4]);
        assert_eq!(left_on(&db, 108).await, [2, 3, 4]);
        assert_eq!(left_on(&db, 113).await, [2, 3]);
        // what is used again is stored again
        use_on(&db, 113, &[1]).await;
        assert_eq!(left_on(&db, 113).await, [1, 2, 3]);
    }
}
