//! Columns in memory find the same contacts, with what was read from the database.

use std::time::Duration;

use mailwright_core::filter::Filter;
use mailwright_core::ids::{ContactId, ProjectNumber};
use mailwright_core::time::Clock;
use mailwright_store::audience::columns::{AudienceColumns, ColumnLimits, Page};
use mailwright_store::audience::filter::Segments;
use mailwright_store::{Db, args, body};
use proptest::prelude::*;

use super::NOW;

/// For how long columns may be read.
const PATIENCE: Duration = Duration::from_secs(20);

pub(super) async fn agree(
    db: &Db,
    project: ProjectNumber,
    tree: &Filter,
    segments: &Segments,
    members: &[ContactId],
) -> Result<(), TestCaseError> {
    let columns = columns(db);
    found(&columns, project, tree, segments, members).await?;
    prop_assert!(columns.bytes() > 0);
    // twice: the columns of a filter before are read first
    columns.save().await.unwrap();
    columns.save().await.unwrap();
    drop(columns);
    let saved = db.read(body!(async |rx| rx
        .one(
            "select count(*) from contact_column_parts where project_id = $1 and position is not null",
            args![project],
            |r| r.get::<i64>(0),
        )
        .await));
    prop_assert_eq!(saved.await.unwrap(), 1);
    found(&self::columns(db), project, tree, segments, members).await
}

fn columns(db: &Db) -> AudienceColumns {
    AudienceColumns::new(db.clone(), Clock::system(), ColumnLimits { bytes: 1 << 24, contacts: 0 })
}

async fn found(
    columns: &AudienceColumns,
    project: ProjectNumber,
    tree: &Filter,
    segments: &Segments,
    members: &[ContactId],
) -> Result<(), TestCaseError> {
    let page = Page { after: None, offset: 1, limit: 3 };
    let found = async {
        loop {
            if let Some(found) = columns.find(project, vec![tree.clone()], segments, NOW, page).await.unwrap()
            {
                break found;
            }
            tokio::task::yield_now().await;
        }
    };
    let found = tokio::time::timeout(PATIENCE, found).await.expect("columns are read").remove(0);
    prop_assert_eq!(found.count, members.len() as i64, "{:?}", tree);
    prop_assert_eq!(&found.newest[..], &members[members.len().min(1)..members.len().min(4)], "{:?}", tree);
    Ok(())
}
