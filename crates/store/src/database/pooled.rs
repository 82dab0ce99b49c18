//! Taking a connection to PostgreSQL from its pool.

use std::time::Duration;

use deadpool_postgres::{Object, Pool};

use crate::database::error::{Error, Result};

/// How long a connection is waited for.
pub(crate) const WAIT: Duration = Duration::from_secs(5);

/// A connection that answers.
pub(crate) async fn connection(pool: &Pool) -> Result<Object> {
    match tokio::time::timeout(2 * WAIT, pool.get()).await {
        Ok(connection) => Ok(connection?),
        Err(_) => Err(Error::Unavailable("the database did not answer in time".into())),
    }
}
