//! What is asked of a database before it is worked with, and whether it answers.

use super::{Db, Engine};
use crate::body;
use crate::database::error::Result;

impl Db {
    /// Looks whether this is a database to work with, before anything is asked of it. Fails with
    /// [`Unusable`](crate::Error::Unusable) when waiting does not help, and with [`Unavailable`](crate::Error::Unavailable)
    /// when it does not answer now; both say where it was looked for. The file of the embedded database was looked at when
    /// it was opened.
    pub async fn examine(&self) -> Result<()> {
        match &*self.engine {
            Engine::Sqlite(_) => Ok(()),
            Engine::Postgres(engine) => engine.examine().await,
        }
    }

    /// How many sessions of other processes of ours a PostgreSQL server has for this database. The embedded database
    /// does not know: a lock in its folder says whether it is served.
    pub async fn other_sessions(&self) -> Result<i64> {
        let Engine::Postgres(_) = &*self.engine else { return Ok(0) };
        let ours = "select count(*) from pg_stat_activity where datname = current_database() \
                    and application_name = 'mailwright' and pid <> pg_backend_pid()";
        self.read(body!(async |rx| rx.one(ours, &[], |r| r.get(0)).await)).await
    }

    /// Whether the database answers.
    pub async fn ping(&self) -> Result<()> {
        self.read(body!(async |rx| rx.one("select cast(1 as {int})", &[], |r| r.get::<i64>(0)).await))
            .await
            .map(drop)
    }
}
