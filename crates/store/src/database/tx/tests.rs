//! What a transaction fails by.

use futures_util::future::join;

use super::Tx;
use crate::body;
use crate::database::db::Db;
use crate::database::error::{Error, Result};
use crate::database::migrate::tests::Database;

const INSERT: &str = "insert into taken (n) values (1)";
const LOOK: &str = "select cast(1 as {int})";

async fn look(tx: &Tx<'_>) -> Result<i64> {
    tx.one(LOOK, &[], |r| r.get(0)).await
}

/// A database with a row whose key is taken.
async fn with_row(database: &Database) -> Db {
    let db = database.open();
    let made = db.write(body!(async |tx| {
        tx.script("create table taken (n {int} primary key)").await?;
        tx.execute_one(INSERT, &[]).await
    }));
    made.await.unwrap();
    db
}

#[tokio::test]
async fn a_transaction_fails_by_its_first_error() {
    let database = Database::create("failure");
    let db = with_row(&database).await;
    // whichever answer the body looks at
    let together = db.write(body!(async |tx| {
        let (inserted, found) = join(tx.execute(INSERT, &[]), look(tx)).await;
        found.and(inserted)
    }));
    let error = together.await.unwrap_err();
    assert!(matches!(error, Error::Conflict(_)), "{error}");
    let ignored = db.write(body!(async |tx| {
        let _ = tx.execute(INSERT, &[]).await;
        Ok(())
    }));
    let error = ignored.await.unwrap_err();
    assert!(matches!(error, Error::Conflict(_)), "{error}");
    // what the body makes of the first error stays
    let named = db.write(body!(async |tx| {
        let (inserted, found) = join(tx.execute(INSERT, &[]), look(tx)).await;
        inserted.map_err(|_| Error::NotFound).and(found)
    }));
    let error = named.await.unwrap_err();
    assert!(matches!(error, Error::NotFound), "{error}");
    assert_eq!(db.write(body!(async |tx| look(tx).await)).await.unwrap(), 1);
}

#[tokio::test]
async fn a_transaction_that_does_nothing_is_undone() {
    let database = Database::create("idle");
    let db = with_row(&database).await;
    let setting = db.read(|rx| {
        let sql = "select current_setting('idle_in_transaction_session_timeout')";
        Box::pin(async move { rx.one(sql, &[], |r| r.get::<String>(0)).await })
    });
    assert_eq!(setting.await.unwrap(), "30s");
    let frozen = database.open_with("?options=-c%20idle_in_transaction_session_timeout%3D50");
    let (begun, is_held) = tokio::sync::oneshot::channel();
    let (thaw, until) = tokio::sync::oneshot::channel::<()>();
    let holding = tokio::spawn(async move {
        let work = frozen.write_in_background(body!(async |tx| {
            tx.execute_one("update taken set n = 2", &[]).await?;
            let _ = begun.send(());
            let _ = until.await;
            look(tx).await
        }));
        work.await
    });
    is_held.await.unwrap();
    let next = db.write(|tx| {
        let sql = "update taken set n = 3 where n = 1";
        Box::pin(async move { tx.execute_one(sql, &[]).await })
    });
    next.await.unwrap();
    thaw.send(()).unwrap();
    let error = holding.await.unwrap().unwrap_err();
    assert!(matches!(error, Error::Unavailable(_)), "{error}");
}

#[tokio::test]
async fn who_meets_a_lock_is_told_of_the_lock() {
    let database = Database::create("lock");
    let db = with_row(&database).await;
    let (begun, is_held) = tokio::sync::oneshot::channel();
    let (let_go, until) = tokio::sync::oneshot::channel::<()>();
    let holder = db.clone();
    let holding = tokio::spawn(async move {
        let work = holder.write_in_background(body!(async |tx| {
            tx.execute_one("update taken set n = 1", &[]).await?;
            let _ = begun.send(());
            let _ = until.await;
            Ok::<_, Error>(())
        }));
        work.await
    });
    is_held.await.unwrap();
    let meets = db.try_write(body!(async |tx| {
        let (changed, found) = join(tx.execute("update taken set n = 1", &[]), look(tx)).await;
        found.and(changed)
    }));
    let error = meets.await.unwrap_err();
    assert!(matches!(error, Error::Contention(_)), "{error}");
    let_go.send(()).unwrap();
    holding.await.unwrap().unwrap();
}
