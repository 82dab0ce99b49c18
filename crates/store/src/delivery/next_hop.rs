//! What processes learnt about the next hops: a hint for the next start, and for `mailwright doctor`. The limits of
//! connections and the troubles of a next hop are learnt, not configured.

use std::time::Duration;

use mailwright_core::time::Timestamp;

use crate::args;
use crate::database::error::Result;
use crate::database::tx::{Rx, Tx};

/// What is known of a next hop.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Known {
    /// Connections it takes at a time; `None` when as many as are configured.
    pub connections: Option<i64>,
    /// Why it cannot be used, in one word; `None` when it can.
    pub trouble: Option<String>,
    /// Its last reply or error.
    pub detail: Option<String>,
}

/// How long stored trouble counts if no process repeats it: the process that met it may have died.
pub const TROUBLE_COUNTS: Duration = Duration::from_mins(5);

/// What is known of the next hop of that name.
pub async fn get(rx: &mut Rx<'_>, name: &str, now: Timestamp) -> Result<Option<Known>> {
    let sql = "select connections, case when updated_at > $2 then trouble end, \
               case when updated_at > $2 then detail end from next_hops where name = $1";
    rx.optional(sql, args![name, now.minus(TROUBLE_COUNTS)], |r| {
        Ok(Known { connections: r.get(0)?, trouble: r.get(1)?, detail: r.get(2)? })
    })
    .await
}

/// What is known of one of several next hops: of one with trouble where there is any.
pub async fn worst(rx: &mut Rx<'_>, names: &[String], now: Timestamp) -> Result<Option<Known>> {
    let mut worst: Option<Known> = None;
    for name in names {
        let known = get(rx, name, now).await?;
        if worst.as_ref().is_none_or(|worst| worst.trouble.is_none()) {
            worst = known.filter(|known| worst.is_none() || known.trouble.is_some()).or(worst);
        }
    }
    Ok(worst)
}

/// Stores what is known of a next hop. Trouble counts for some minutes only, so the caller stores it again while it
/// lasts.
pub async fn put(tx: &mut Tx<'_>, name: &str, known: &Known, now: Timestamp) -> Result<()> {
    tx.execute(
        "insert into next_hops (name, connections, trouble, detail, updated_at) values ($1, $2, $3, $4, $5) \
         on conflict (name) do update set connections = excluded.connections, trouble = excluded.trouble, \
         detail = excluded.detail, updated_at = excluded.updated_at",
        args![name, known.connections, known.trouble.as_deref(), known.detail.as_deref(), now],
    )
    .await?;
    Ok(())
}
