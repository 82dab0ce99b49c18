//! The turns of large operations.

use futures_util::FutureExt;

use super::*;

#[tokio::test]
async fn one_large_operation_at_a_time_goes_to_the_one_writer() {
    let folder = tempfile::tempdir().unwrap();
    let location = Location::Sqlite(folder.path().join("test.sqlite"));
    let db = Db::open(&location, StoreMetrics::default()).unwrap();
    let first = db.turn_of_large().await;
    assert!(db.turn_of_large().now_or_never().is_none());
    drop(first);
    assert!(db.turn_of_large().now_or_never().flatten().is_some());
}
