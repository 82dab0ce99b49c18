//! How far the instance has seen time pass. A clock that jumps ahead would have everything removed at once.

use mailwright_core::time::Timestamp;

use crate::args;
use crate::database::error::Result;
use crate::database::tx::{Rx, Tx};

/// Up to when time was seen to pass; `None` before the first look.
pub async fn seen(rx: &Rx<'_>) -> Result<Option<Timestamp>> {
    rx.optional("select seen_at from retention_clock where id = 1", args![], |r| r.get(0)).await
}

/// Notes up to when time was seen to pass.
pub async fn save_seen(tx: &Tx<'_>, at: Timestamp) -> Result<()> {
    tx.execute(
        "insert into retention_clock (id, seen_at) values (1, $1) \
         on conflict (id) do update set seen_at = excluded.seen_at",
        args![at],
    )
    .await?;
    Ok(())
}
