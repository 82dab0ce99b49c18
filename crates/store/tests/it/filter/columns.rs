//! Columns in memory find the same contacts, with what was read from the database.

use std::time::Duration;

use mailwright_core::filter::Filter;
use mailwright_core::filter::columns::Aspect;
use mailwright_core::ids::{ContactId, ProjectNumber};
use mailwright_core::time::Clock;
use mailwright_store::Db;
use mailwright_store::audience::columns::{AudienceColumns, ColumnLimits, Page};
use mailwright_store::audience::filter::Segments;
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
    let limits = ColumnLimits { bytes: 1 << 24, contacts: 0 };
    let columns = AudienceColumns::new(db.clone(), Clock::system(), limits);
    let page = Page { after: None, offset: 1, limit: 3 };
    if tree.aspects(segments.trees()).iter().any(|aspect| matches!(aspect, Aspect::Segment(_))) {
        let found = columns.find(project, vec![tree.clone()], segments, NOW, page).await.unwrap();
        prop_assert!(found.is_none(), "columns know who is in a segment");
        return Ok(());
    }
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
    prop_assert!(columns.bytes() > 0);
    Ok(())
}
