//! A database with the schema of this program, on either engine.

#![expect(clippy::unwrap_used, reason = "what cannot go wrong in a test may panic")]

use std::time::Duration;

use mailwright_core::time::Timestamp;
use mailwright_store::database::migrate;
use mailwright_store::{Db, Location, StoreMetrics};
use tokio::runtime::Runtime;
use tokio_postgres::error::SqlState;

/// How often a database is tried to be dropped that is in use.
const ATTEMPTS: usize = 5;

/// A database that is dropped with this value.
pub(crate) struct TestDatabase {
    pub(crate) db: Db,
    _folder: tempfile::TempDir,
    /// The server and the database's name, on PostgreSQL.
    server: Option<(String, String)>,
}

impl TestDatabase {
    pub(crate) async fn sqlite(now: Timestamp) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let location = Location::Sqlite(folder.path().join("test.db"));
        Self::open(folder, &location, None, now).await
    }

    /// `test` is a name that no other test has.
    pub(crate) async fn postgres(test: &str, now: Timestamp) -> Self {
        let server = std::env::var("MAILWRIGHT_TEST_POSTGRES").ok().filter(|url| !url.is_empty());
        let server = server.expect(
            "this test needs PostgreSQL: set MAILWRIGHT_TEST_POSTGRES to a server on which databases may be created, \
             or run the tests through scripts/with-postgres",
        );
        let server = server.trim_end_matches('/').to_owned();
        let name = format!("mailwright_{test}_{}", std::process::id());
        administer(&server, format!("drop database if exists {name} with (force)"));
        administer(&server, format!("create database {name}"));
        let location = Location::Postgres {
            url: format!("{server}/{name}"),
            connections: 4,
            lock_wait: Duration::from_millis(250),
        };
        Self::open(tempfile::tempdir().unwrap(), &location, Some((server, name)), now).await
    }

    async fn open(
        folder: tempfile::TempDir,
        location: &Location,
        server: Option<(String, String)>,
        now: Timestamp,
    ) -> Self {
        let db = Db::open(location, StoreMetrics::default()).unwrap();
        migrate::migrate(&db, now).await.unwrap();
        Self { db, _folder: folder, server }
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        if let Some((server, name)) = &self.server {
            administer(server, format!("drop database if exists {name} with (force)"));
        }
    }
}

/// Runs a statement on the server, on a thread and a runtime of its own.
fn administer(server: &str, statement: String) {
    let url = format!("{server}/postgres");
    let run = std::thread::spawn(move || {
        Runtime::new().unwrap().block_on(async move {
            let (client, connection) = tokio_postgres::connect(&url, tokio_postgres::NoTls)
                .await
                .unwrap_or_else(|error| panic!("MAILWRIGHT_TEST_POSTGRES is out of reach: {error}"));
            tokio::spawn(connection);
            // a server of a cluster waits five seconds for sessions that others begin while they end themselves
            for _ in 0..ATTEMPTS {
                match client.batch_execute(&statement).await {
                    Err(error) if error.code() == Some(&SqlState::OBJECT_IN_USE) => {}
                    done => return done.unwrap_or_else(|error| panic!("{statement}: {error:?}")),
                }
            }
            panic!("{statement}: in use");
        });
    });
    run.join().unwrap();
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
