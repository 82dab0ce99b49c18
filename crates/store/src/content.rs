//! What mails say, stored once for everybody who is sent the same.

use mailwright_core::ids::ProjectNumber;
use mailwright_core::time::Timestamp;
use serde_json::Value as Json;

use crate::args;
use crate::error::{Error, Result};
use crate::tx::{Rx, Tx};
use crate::value::Arg;

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
}

/// The bytes of an attachment.
#[derive(Debug, Clone)]
pub struct Bytes {
    /// SHA-256 of `content`.
    pub hash: ContentHash,
    /// The bytes.
    pub content: std::sync::Arc<[u8]>,
}

/// Stores contents that are not there yet.
pub async fn save(tx: &Tx<'_>, contents: &[(ProjectNumber, &Content)], now: Timestamp) -> Result<()> {
    tx.each(
        "insert into contents (project_id, hash, subject, body, text_body, headers, attachments, created_at) \
         select r.project_id, r.hash, r.subject, r.body, r.text_body, r.headers, r.attachments, $8 \
         from {rows r: project_id int, hash bytes, subject text, body text, text_body text, headers json, \
         attachments json} where true \
         on conflict (project_id, hash) do nothing",
        &[
            Arg::Ints(contents.iter().map(|(p, _)| Some(p.0)).collect()),
            Arg::Blobs(contents.iter().map(|(_, c)| Some(c.hash.as_slice().into())).collect()),
            Arg::Texts(contents.iter().map(|(_, c)| Some(c.subject.as_str().into())).collect()),
            Arg::Texts(contents.iter().map(|(_, c)| Some(c.body.as_str().into())).collect()),
            Arg::Texts(contents.iter().map(|(_, c)| c.text.as_deref().map(Into::into)).collect()),
            Arg::Jsons(contents.iter().map(|(_, c)| Some(c.headers.to_string().into())).collect()),
            Arg::Jsons(contents.iter().map(|(_, c)| Some(c.attachments.to_string().into())).collect()),
            now.into(),
        ],
    )
    .await?;
    Ok(())
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
        "select hash, subject, body, text_body, {json_out headers}, {json_out attachments} from contents \
         where project_id = $1 and hash = $2",
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
