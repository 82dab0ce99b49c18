//! What templates and campaigns said before: the version that each save replaced, up to [`MAX_VERSIONS`] and
//! [`MAX_VERSION_BYTES`]. Texts are stored once for all versions of a template or campaign, by their hash, since a save
//! mostly changes one of them.

use mailwright_core::address::EmailAddress;
use mailwright_core::audit::Actor;
use mailwright_core::ids::ProjectNumber;
use mailwright_core::time::Timestamp;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::source::{self, Owner, Source};
use crate::args;
use crate::database::error::Result;
use crate::database::tx::{Row, Rx, Tx};
use crate::database::value::Arg;
use crate::project::audit;

/// How many former versions of a template or campaign are kept.
pub const MAX_VERSIONS: i64 = 50;
/// How many bytes of text (HTML, MJML and document) the former versions of a template or campaign have together.
pub const MAX_VERSION_BYTES: i64 = 10 * 1024 * 1024;

/// A former version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// Its number, from 1.
    pub number: i64,
    /// Subject, with variables.
    pub subject: String,
    /// HTML, with variables.
    pub body: String,
    /// What the HTML is made from.
    pub source: Source,
    /// Sender address.
    pub from: EmailAddress,
    /// Sender name.
    pub from_name: Option<String>,
    /// Reply address.
    pub reply_to: Option<EmailAddress>,
    /// When it was saved.
    pub saved_at: Timestamp,
    /// Who saved it, without address or name; `None` where that is not known any more.
    pub by: Option<Actor>,
}

impl Version {
    /// Its texts: HTML, MJML and document.
    fn texts(&self) -> [Option<&str>; 3] {
        [Some(&self.body), self.source.mjml.as_deref(), self.source.document.as_deref()]
    }
}

/// A former version as lists have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Its number, from 1.
    pub number: i64,
    /// Subject, with variables.
    pub subject: String,
    /// Bytes of its HTML.
    pub size: i64,
    /// When it was saved.
    pub saved_at: Timestamp,
    /// Who saved it, without address or name; `None` where that is not known any more.
    pub by: Option<Actor>,
}

/// Keeps a version that is replaced. Those that are too many go.
pub async fn keep(tx: &Tx<'_>, project: ProjectNumber, owner: Owner, version: &Version) -> Result<()> {
    let hash = |text: &str| Sha256::digest(text).to_vec();
    for text in version.texts().into_iter().flatten() {
        tx.execute(
            "insert into version_texts (project_id, owner_id, hash, content) values ($1, $2, $3, $4) \
             on conflict (project_id, owner_id, hash) do nothing",
            args![project, owner.id(), hash(text), text],
        )
        .await?;
    }
    let [body, mjml, document] = version.texts().map(|text| text.map(hash));
    let (kind, id) = match &version.by {
        Some(actor) => {
            let (kind, id, _) = audit::stored(actor);
            (Some(kind), id)
        }
        None => (None, Arg::Null),
    };
    tx.execute_one(
        "insert into mail_versions (project_id, owner_id, number, subject, from_address, from_name, reply_to, body_hash, \
         mjml_hash, document_hash, size, bytes, actor_type, actor_id, saved_at) \
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)",
        args![
            project,
            owner.id(),
            version.number,
            &version.subject,
            &version.from,
            version.from_name.as_deref(),
            version.reply_to.as_ref().map(EmailAddress::as_str),
            body,
            mjml,
            document,
            version.body.len(),
            version.texts().into_iter().flatten().map(str::len).sum::<usize>(),
            kind,
            id,
            version.saved_at,
        ],
    )
    .await?;
    let too_large = too_large(tx, project, owner).await?.unwrap_or(0);
    forget_old(tx, project, owner, too_large.max(version.number - MAX_VERSIONS)).await
}

/// The newest version that the ones after it leave no room for.
async fn too_large(tx: &Tx<'_>, project: ProjectNumber, owner: Owner) -> Result<Option<i64>> {
    tx.one(
        "select max(number) from (select number, cast(sum(bytes) over (order by number desc) as bigint) as bytes from mail_versions \
         where project_id = $1 and owner_id = $2) v where bytes > $3",
        args![project, owner.id(), MAX_VERSION_BYTES],
        |r| r.get(0),
    )
    .await
}

/// Removes the versions up to a number, and the texts that no other has.
async fn forget_old(tx: &Tx<'_>, project: ProjectNumber, owner: Owner, up_to: i64) -> Result<()> {
    let gone = tx
        .execute(
            "delete from mail_versions where project_id = $1 and owner_id = $2 and number <= $3",
            args![project, owner.id(), up_to],
        )
        .await?;
    if gone > 0 {
        tx.execute(
            "delete from version_texts where project_id = $1 and owner_id = $2 and not exists (\
             select 1 from mail_versions v where v.project_id = $1 and v.owner_id = $2 and (\
             v.body_hash = version_texts.hash or v.mjml_hash = version_texts.hash \
             or v.document_hash = version_texts.hash))",
            args![project, owner.id()],
        )
        .await?;
    }
    Ok(())
}

fn actor(row: &Row<'_>, kind: usize) -> Result<Option<Actor>> {
    let (kind, id): (Option<String>, Option<Uuid>) = (row.get(kind)?, row.get(kind + 1)?);
    Ok(kind.map(|kind| audit::read(&kind, id, None)))
}

/// A page of the former versions, newest first: those before the version `before`, if it is given.
pub async fn list(
    rx: &Rx<'_>,
    project: ProjectNumber,
    owner: Owner,
    before: Option<i64>,
    limit: usize,
) -> Result<Vec<Listed>> {
    rx.all(
        "select number, subject, size, saved_at, actor_type, actor_id from mail_versions \
         where project_id = $1 and owner_id = $2 and number < $3 order by number desc limit $4",
        args![project, owner.id(), before.unwrap_or(i64::MAX), limit],
        |r| {
            Ok(Listed {
                number: r.get(0)?,
                subject: r.get(1)?,
                size: r.get(2)?,
                saved_at: r.get(3)?,
                by: actor(r, 4)?,
            })
        },
    )
    .await
}

/// How many former versions there are.
pub async fn count(rx: &Rx<'_>, project: ProjectNumber, owner: Owner) -> Result<i64> {
    rx.one(
        "select count(*) from mail_versions where project_id = $1 and owner_id = $2",
        args![project, owner.id()],
        |r| r.get(0),
    )
    .await
}

/// A former version.
pub async fn get(rx: &Rx<'_>, project: ProjectNumber, owner: Owner, number: i64) -> Result<Option<Version>> {
    rx.optional(
        "select v.number, v.subject, b.content, m.content, d.content, v.from_address, v.from_name, v.reply_to, \
         v.saved_at, v.actor_type, v.actor_id from mail_versions v \
         join version_texts b on b.project_id = $1 and b.owner_id = $2 and b.hash = v.body_hash \
         left join version_texts m on m.project_id = $1 and m.owner_id = $2 and m.hash = v.mjml_hash \
         left join version_texts d on d.project_id = $1 and d.owner_id = $2 and d.hash = v.document_hash \
         where v.project_id = $1 and v.owner_id = $2 and v.number = $3",
        args![project, owner.id(), number],
        |r| {
            Ok(Version {
                number: r.get(0)?,
                subject: r.get(1)?,
                body: r.get(2)?,
                source: Source { mjml: r.get(3)?, document: r.get(4)? },
                from: r.get(5)?,
                from_name: r.get(6)?,
                reply_to: r.get(7)?,
                saved_at: r.get(8)?,
                by: actor(r, 9)?,
            })
        },
    )
    .await
}

/// Removes all that is kept beside a template or campaign, with the template or campaign itself.
pub(super) async fn delete_all(tx: &Tx<'_>, project: ProjectNumber, owner: Owner) -> Result<()> {
    source::delete(tx, project, owner).await?;
    for statement in [
        "delete from mail_versions where project_id = $1 and owner_id = $2",
        "delete from version_texts where project_id = $1 and owner_id = $2",
    ] {
        tx.execute(statement, args![project, owner.id()]).await?;
    }
    Ok(())
}
