//! Which connections are used again.

use mailwright_core::ids::ProjectNumber;

use crate::body;
use crate::database::db::Db;
use crate::database::error::{Error, Result};
use crate::database::migrate::tests::Database;

/// The connection that a slow read runs on, by its process in the server.
async fn slow_connection(db: &Db) -> Result<i64> {
    let sql = "select cast(pg_backend_pid() as {int})";
    db.read_slow(ProjectNumber(1), body!(async |rx| rx.one(sql, &[], |r| r.get::<i64>(0)).await)).await
}

/// What refused a write is a standby by now, or was one when the connections were made: whoever reads there reads what
/// was.
#[tokio::test]
async fn connections_of_slow_reads_are_replaced_once_writes_are_refused() {
    let database = Database::create("renewed");
    let db = database.open();
    let first = slow_connection(&db).await.unwrap();
    assert_eq!(slow_connection(&db).await.unwrap(), first, "it is used again");
    let refused = db.write(body!(async |tx| {
        tx.execute("set transaction read only", &[]).await?;
        tx.script("create table never (n {int})").await
    }));
    let error = refused.await.unwrap_err();
    assert!(matches!(error, Error::ReadOnly(_)), "{error}");
    assert_ne!(slow_connection(&db).await.unwrap(), first, "it is replaced");
    drop(db);
}
