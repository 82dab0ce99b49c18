//! A database with the schema of this program, on either engine.

#![expect(clippy::unwrap_used, reason = "what cannot go wrong in a test may panic")]

use std::time::Duration;

use mailwright_core::time::Timestamp;
use mailwright_store::database::migrate;
use mailwright_store::{Db, Location, StoreMetrics};
use mailwright_testkit::EmptyDatabase;

/// A database that is dropped with this value.
pub(crate) struct TestDatabase {
    pub(crate) db: Db,
    _folder: tempfile::TempDir,
    _server: Option<EmptyDatabase>,
}

impl TestDatabase {
    pub(crate) async fn sqlite(now: Timestamp) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let location = Location::Sqlite(folder.path().join("test.db"));
        Self::open(folder, &location, None, now).await
    }

    /// `test` is a name that no other test has.
    pub(crate) async fn postgres(test: &str, now: Timestamp) -> Self {
        let database = EmptyDatabase::create(test);
        let location =
            Location::Postgres { url: database.url(), connections: 4, lock_wait: Duration::from_millis(250) };
        Self::open(tempfile::tempdir().unwrap(), &location, Some(database), now).await
    }

    async fn open(
        folder: tempfile::TempDir,
        location: &Location,
        server: Option<EmptyDatabase>,
        now: Timestamp,
    ) -> Self {
        let db = Db::open(location, StoreMetrics::default()).unwrap();
        migrate::migrate(&db, now).await.unwrap();
        Self { db, _folder: folder, _server: server }
    }
}

/// Makes a test on each engine of functions that take a [`TestDatabase`]. Their databases on PostgreSQL are named after the
/// area and them.
macro_rules! both_engines {
    ($area:literal: $($name:ident),+ $(,)?) => {
        mod sqlite {
            $(
                #[tokio::test(flavor = "multi_thread")]
                async fn $name() {
                    super::$name(super::TestDatabase::sqlite(super::NOW).await).await;
                }
            )+
        }
        mod postgres {
            $(
                #[tokio::test(flavor = "multi_thread")]
                async fn $name() {
                    let name = concat!($area, "_", stringify!($name));
                    super::$name(super::TestDatabase::postgres(name, super::NOW).await).await;
                }
            )+
        }
    };
}
pub(crate) use both_engines;
