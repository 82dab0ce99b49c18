//! Networks of machines as their owners publish them, for all projects of the instance.

use mailwright_core::time::Timestamp;

use crate::args;
use crate::database::error::Result;
use crate::database::tx::{Rx, Tx};

/// A list as it was fetched last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    /// Which list it is.
    pub list: String,
    /// Its networks, separated by spaces.
    pub networks: String,
    /// When it was fetched.
    pub at: Timestamp,
}

/// Keeps a list as it was fetched now.
pub async fn put(tx: &mut Tx<'_>, list: &str, networks: &str, now: Timestamp) -> Result<()> {
    tx.execute(
        "insert into published_networks (list, networks, fetched_at) values ($1, $2, $3) \
         on conflict (list) do update set networks = excluded.networks, fetched_at = excluded.fetched_at",
        args![list, networks, now],
    )
    .await?;
    Ok(())
}

/// When one was fetched last.
pub async fn newest(rx: &mut Rx<'_>) -> Result<Option<Timestamp>> {
    rx.one("select max(fetched_at) from published_networks", args![], |row| row.get(0)).await
}

/// All of them.
pub async fn all(rx: &mut Rx<'_>) -> Result<Vec<Fetched>> {
    rx.all("select list, networks, fetched_at from published_networks order by list", args![], |row| {
        Ok(Fetched { list: row.get(0)?, networks: row.get(1)?, at: row.get(2)? })
    })
    .await
}
