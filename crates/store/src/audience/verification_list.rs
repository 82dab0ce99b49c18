//! Lists of domains as others publish them, for all projects of the instance.

use mailwright_core::time::Timestamp;

use crate::args;
use crate::database::error::Result;
use crate::database::tx::{Rx, Tx};

/// A list as it was fetched last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    /// Which list it is.
    pub list: String,
    /// Where it was fetched.
    pub url: String,
    /// Its domains, one on each line.
    pub domains: String,
    /// When it was fetched.
    pub at: Timestamp,
}

/// Keeps a list instead of the one before.
pub async fn put(tx: &Tx<'_>, fetched: &Fetched) -> Result<()> {
    tx.execute(
        "insert into published_domains (list, url, domains, fetched_at) values ($1, $2, $3, $4) \
         on conflict (list) do update set url = excluded.url, domains = excluded.domains, \
         fetched_at = excluded.fetched_at",
        args![&fetched.list, &fetched.url, &fetched.domains, fetched.at],
    )
    .await
    .map(drop)
}

/// When one was fetched last.
pub async fn newest(rx: &Rx<'_>) -> Result<Option<Timestamp>> {
    rx.one("select max(fetched_at) from published_domains", args![], |row| row.get(0)).await
}

/// All of them.
pub async fn all(rx: &Rx<'_>) -> Result<Vec<Fetched>> {
    rx.all("select list, url, domains, fetched_at from published_domains order by list", args![], |row| {
        Ok(Fetched { list: row.get(0)?, url: row.get(1)?, domains: row.get(2)?, at: row.get(3)? })
    })
    .await
}
