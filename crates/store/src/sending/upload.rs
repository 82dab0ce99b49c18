//! Pictures that people uploaded, one row for each hash of a project, and what they take together.

use mailwright_core::audit::Actor;
use mailwright_core::ids::{ProjectId, ProjectNumber, UploadId};
use mailwright_core::time::Timestamp;
use mailwright_core::upload::{PictureName, PictureType};
use uuid::Uuid;

use crate::args;
use crate::database::error::{Error, Result};
use crate::database::tx::{Row, Rx, Tx};
use crate::database::value::Arg;
use crate::project::{self, audit};
use crate::sending::upload_removal;

/// A picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upload {
    /// Identifier; its order is that of lists.
    pub id: UploadId,
    /// Its name within the project.
    pub name: PictureName,
    /// Bytes.
    pub size: i64,
    /// Pixels.
    pub width: i64,
    /// Pixels.
    pub height: i64,
    /// 1, unless it is animated.
    pub frames: i64,
    /// The file name that the uploader gave.
    pub file_name: String,
    /// The object that has its bytes.
    pub object: String,
    /// Who uploaded it, without address or name.
    pub by: Actor,
    /// When.
    pub at: Timestamp,
}

/// What the pictures of a project take together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// How many there are.
    pub pictures: i64,
    /// Their bytes.
    pub bytes: i64,
}

/// What is needed to serve a picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Served {
    /// The object that has its bytes.
    pub object: String,
    /// Bytes.
    pub size: i64,
}

const COLUMNS: &str =
    "hash, id, type, size, width, height, frames, file_name, object, actor_type, actor_id, created_at";

fn read(row: &Row<'_>) -> Result<Upload> {
    let (actor, by): (String, Option<Uuid>) = (row.get(9)?, row.get(10)?);
    let hash: Vec<u8> = row.get(0)?;
    let hash = hash.try_into().map_err(|_| Error::Corrupt {
        column: 0,
        expected: "a hash of 32 bytes",
        detail: "uploads.hash has another length".into(),
    })?;
    Ok(Upload {
        id: row.get(1)?,
        name: PictureName { hash, kind: row.named(2, "uploads.type", PictureType::from_name)? },
        size: row.get(3)?,
        width: row.get(4)?,
        height: row.get(5)?,
        frames: row.get(6)?,
        file_name: row.get(7)?,
        object: row.get(8)?,
        by: audit::read(&actor, by, None),
        at: row.get(11)?,
    })
}

/// The picture of a project with a hash.
pub async fn find(rx: &Rx<'_>, project: ProjectNumber, hash: &[u8]) -> Result<Option<Upload>> {
    rx.optional(
        format!("select {COLUMNS} from uploads where project_id = $1 and hash = $2"),
        args![project, hash],
        read,
    )
    .await
}

/// The picture with a name, of the project that has this id now.
pub async fn served(rx: &mut Rx<'_>, project: ProjectId, name: &PictureName) -> Result<Option<Served>> {
    let Some(number) = project::number(rx, project).await? else { return Ok(None) };
    rx.optional(
        "select object, size from uploads where project_id = $1 and hash = $2 and type = $3",
        args![number, name.hash.as_slice(), name.kind.as_str()],
        |r| Ok(Served { object: r.get(0)?, size: r.get(1)? }),
    )
    .await
}

/// A page of the pictures of a project, newest first. `after` is the last one of the page before.
pub async fn list(
    rx: &Rx<'_>,
    project: ProjectNumber,
    after: Option<UploadId>,
    limit: usize,
) -> Result<Vec<Upload>> {
    let mut args: Vec<Arg<'_>> = vec![project.into(), limit.into()];
    let mut filter = "";
    if let Some(after) = after {
        args.push(after.into());
        filter = " and id < $3";
    }
    rx.all(
        format!("select {COLUMNS} from uploads where project_id = $1{filter} order by id desc limit $2"),
        &args,
        read,
    )
    .await
}

fn read_usage(row: &Row<'_>) -> Result<Usage> {
    Ok(Usage { pictures: row.get(0)?, bytes: row.get(1)? })
}

/// What the pictures of a project take.
pub async fn usage(rx: &Rx<'_>, project: ProjectNumber) -> Result<Usage> {
    let found = rx
        .optional(
            "select pictures, bytes from upload_usage where project_id = $1",
            args![project],
            read_usage,
        )
        .await?;
    Ok(found.unwrap_or_default())
}

/// The same, which nobody else changes before the transaction ends.
pub async fn hold_usage(tx: &Tx<'_>, project: ProjectNumber) -> Result<Usage> {
    tx.execute(
        "insert into upload_usage (project_id, pictures, bytes) values ($1, 0, 0) \
         on conflict (project_id) do nothing",
        args![project],
    )
    .await?;
    tx.one(
        "select pictures, bytes from upload_usage where project_id = $1 {for_update}",
        args![project],
        read_usage,
    )
    .await
}

/// Stores a new picture. The caller holds the usage.
pub async fn insert(tx: &Tx<'_>, project: ProjectNumber, upload: &Upload) -> Result<()> {
    let (kind, by, _) = audit::stored(&upload.by);
    tx.execute_one(
        format!(
            "insert into uploads (project_id, {COLUMNS}) \
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)"
        ),
        args![
            project,
            upload.name.hash.as_slice(),
            upload.id,
            upload.name.kind.as_str(),
            upload.size,
            upload.width,
            upload.height,
            upload.frames,
            upload.file_name.as_str(),
            upload.object.as_str(),
            kind,
            by,
            upload.at,
        ],
    )
    .await?;
    change_usage(tx, project, 1, upload.size).await
}

async fn change_usage(tx: &Tx<'_>, project: ProjectNumber, pictures: i64, bytes: i64) -> Result<()> {
    tx.execute_one(
        "update upload_usage set pictures = pictures + $2, bytes = bytes + $3 where project_id = $1",
        args![project, pictures, bytes],
    )
    .await
}

/// Removes a picture, and has its object removed. Whether there was one. The caller holds the usage.
pub async fn delete(
    tx: &Tx<'_>,
    project: ProjectNumber,
    name: &PictureName,
    owner: ProjectId,
    now: Timestamp,
) -> Result<bool> {
    let removed = tx
        .optional(
            "delete from uploads where project_id = $1 and hash = $2 and type = $3 returning object, size",
            args![project, name.hash.as_slice(), name.kind.as_str()],
            |r| Ok((r.get::<String>(0)?, r.get::<i64>(1)?)),
        )
        .await?;
    let Some((object, size)) = removed else { return Ok(false) };
    upload_removal::plan(tx, &object, owner, now).await?;
    change_usage(tx, project, -1, -size).await?;
    Ok(true)
}

/// Removes some pictures of a number that is retired, and has their objects removed. How many.
pub(crate) async fn purge_step(
    tx: &Tx<'_>,
    project: ProjectNumber,
    at_once: u32,
    now: Timestamp,
) -> Result<u64> {
    let removed = tx
        .all(
            format!(
                "delete from uploads where project_id = $1 and hash in \
                 (select hash from uploads where project_id = $1 limit {at_once}) returning object"
            ),
            args![project],
            |r| r.get::<String>(0),
        )
        .await?;
    for object in &removed {
        // the number of a project that is gone does not tell its id, which the name of the object begins with
        let owner = object.split('/').next().unwrap_or_default().parse();
        let owner = owner.map_err(|_| Error::Corrupt {
            column: 0,
            expected: "the id of a project and a name",
            detail: "uploads.object has another form".into(),
        })?;
        upload_removal::plan(tx, object, owner, now).await?;
    }
    Ok(removed.len() as u64)
}
