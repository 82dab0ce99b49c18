//! Repeats what failed because another transaction got in the way ([`Error::Contention`]). Nothing of it was done then.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use tokio::time::Instant;

use crate::database::error::Error;
use crate::database::undone::Refusal;

/// How long something is tried again that another transaction got in the way of: as often, and not longer.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// How often it is tried again.
    pub tries: u32,
    /// After so long it is not tried again.
    pub time: Duration,
}

impl Patience {
    /// For what a client waits for.
    pub const USUAL: Self = Self::of(10);

    /// This number of tries, without a limit of time.
    pub const fn of(tries: u32) -> Self {
        Self { tries, time: Duration::MAX }
    }
}

/// Makes an attempt, again with a pause while it fails with [`Error::Contention`]: nothing of it was done then.
pub async fn retrying<T, E, W>(patience: Patience, mut attempt: impl FnMut() -> W) -> Result<T, E>
where
    E: Refusal,
    W: Future<Output = Result<T, E>>,
{
    let (began, mut tries) = (Instant::now(), 0);
    loop {
        let error = match attempt().await {
            Ok(done) => return Ok(done),
            Err(error) => error.into_failure()?,
        };
        let goes_on = tries < patience.tries && began.elapsed() < patience.time;
        if !goes_on || !matches!(error, Error::Contention(_)) {
            return Err(error.into());
        }
        tokio::time::sleep(pause(tries)).await;
        tries += 1;
    }
}

/// How long to wait before the next try: 1 to 20 ms, longer with each, and not the same in two processes that got in
/// each other's way.
pub fn pause(tries: u32) -> Duration {
    let most = 2_u64.saturating_pow(tries.saturating_add(1)).min(20);
    Duration::from_millis(1 + RandomState::new().hash_one(tries) % most)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;
    use crate::body;
    use crate::database::db::Db;
    use crate::database::location::Location;
    use crate::database::metrics::StoreMetrics;
    use crate::database::migrate::tests::Database;

    const INSERT: &str = "insert into taken (n) values (1)";

    /// What a caller of the store ends a transaction with.
    #[derive(Debug)]
    enum Own {
        Full { room: u32 },
        Store(Error),
    }

    impl From<Error> for Own {
        fn from(error: Error) -> Self {
            Self::Store(error)
        }
    }

    impl Refusal for Own {
        fn into_failure(self) -> Result<Error, Self> {
            match self {
                Self::Store(error) => Ok(error),
                full @ Self::Full { .. } => Err(full),
            }
        }
    }

    fn sqlite(folder: &tempfile::TempDir) -> Db {
        let location = Location::Sqlite(folder.path().join("retry.db"));
        Db::open(&location, StoreMetrics::default()).unwrap()
    }

    async fn with_table(db: Db) -> Db {
        let table = "create table taken (n {int} primary key)";
        db.write(body!(async |tx| tx.script(table).await)).await.unwrap();
        db
    }

    async fn rows(db: &Db) -> i64 {
        let count = "select count(*) from taken";
        db.read(body!(async |rx| rx.one(count, &[], |r| r.get(0)).await)).await.unwrap()
    }

    /// Runs a body that ends with contention `times`, then as `last` says; what came of it, and how often it ran.
    async fn after_contention(db: &Db, times: u32, last: fn() -> Result<(), Own>) -> (Result<(), Own>, u32) {
        let ran = Arc::new(AtomicU32::new(0));
        let counter = Arc::clone(&ran);
        let outcome = db.write(move |tx| {
            let counter = Arc::clone(&counter);
            Box::pin(async move {
                tx.execute_one(INSERT, &[]).await?;
                if counter.fetch_add(1, Ordering::SeqCst) < times {
                    return Err(Error::Contention("in the way".into()).into());
                }
                last()
            })
        });
        (outcome.await, ran.load(Ordering::SeqCst))
    }

    async fn a_refusal_undoes(db: &Db) {
        let (refused, ran) = after_contention(db, 0, || Err(Own::Full { room: 7 })).await;
        assert!(matches!(refused, Err(Own::Full { room: 7 })), "{refused:?}");
        assert_eq!((ran, rows(db).await), (1, 0), "what was written before stays undone");
        // nothing is left of it that is in the way
        let (done, _) = after_contention(db, 0, || Ok(())).await;
        assert!(done.is_ok(), "{done:?}");
        assert_eq!(rows(db).await, 1);
    }

    async fn contention_is_tried_again(db: &Db) {
        let (refused, ran) = after_contention(db, 2, || Err(Own::Full { room: 0 })).await;
        assert!(matches!(refused, Err(Own::Full { .. })), "{refused:?}");
        assert_eq!(ran, 3, "a refusal is not tried again");
    }

    #[tokio::test]
    async fn bodies_of_the_embedded_database_can_refuse() {
        let folder = tempfile::tempdir().unwrap();
        let db = with_table(sqlite(&folder)).await;
        a_refusal_undoes(&db).await;
    }

    #[tokio::test]
    async fn bodies_of_postgresql_can_refuse() {
        let database = Database::create("refusal");
        let db = with_table(database.open()).await;
        contention_is_tried_again(&db).await;
        a_refusal_undoes(&db).await;
        // an error of the store is seen in the caller's own: the first one says why
        let aborted = db.write(body!(async |tx| {
            let _ = tx.execute(INSERT, &[]).await;
            tx.execute(INSERT, &[]).await?;
            Ok::<_, Own>(())
        }));
        let error = aborted.await.unwrap_err();
        assert!(matches!(error, Own::Store(Error::Conflict(_))), "{error:?}");
    }

    /// Behind another job the writer undoes a body to a savepoint, and the others of its group stay.
    #[tokio::test]
    async fn a_refusal_undoes_nothing_of_others() {
        let folder = tempfile::tempdir().unwrap();
        let db = with_table(sqlite(&folder)).await;
        let write = |n: i64, room: Option<u32>| {
            let db = db.clone();
            async move {
                let insert = "insert into taken (n) values ($1)";
                let body = db.write(body!(async |tx| {
                    tx.execute_one(insert, crate::args![n]).await?;
                    room.map_or(Ok(()), |room| Err(Own::Full { room }))
                }));
                body.await.is_ok()
            }
        };
        let kept = (0..20).map(|n| write(n, (n % 2 == 0).then_some(1)));
        let kept = futures_util::future::join_all(kept).await;
        assert_eq!(kept.iter().filter(|kept| **kept).count(), 10);
        assert_eq!(rows(&db).await, 10);
    }
}
