//! What the payment service told, kept so that its events lead to the same end in any order: a subscription that ended
//! stays ended, an invoice that was paid stays paid, and each event is applied once.

use mailwright_core::time::Timestamp;

use crate::args;
use crate::database::error::Result;
use crate::database::tx::{Rx, Tx};

/// Notes an event; false when it was applied before.
pub async fn is_new(tx: &Tx<'_>, event: &str, now: Timestamp) -> Result<bool> {
    let sql = "insert into payment_events (id, received_at) values ($1, $2) on conflict (id) do nothing";
    Ok(tx.execute(sql, args![event, now]).await? == 1)
}

/// Locks a customer: other events of the same one wait until the transaction ends.
pub async fn lock(tx: &Tx<'_>, customer: &str, now: Timestamp) -> Result<()> {
    tx.execute_one(
        "insert into payment_customers (customer, touched_at) values ($1, $2) \
         on conflict (customer) do update set touched_at = excluded.touched_at",
        args![customer, now],
    )
    .await
}

/// Notes that a subscription ended.
pub async fn end(tx: &Tx<'_>, subscription: &str, now: Timestamp) -> Result<()> {
    tx.execute(
        "insert into payment_ends (subscription, ended_at) values ($1, $2) on conflict (subscription) do nothing",
        args![subscription, now],
    )
    .await?;
    Ok(())
}

/// Whether a subscription ended.
pub async fn is_ended(rx: &Rx<'_>, subscription: &str) -> Result<bool> {
    rx.exists("select 1 from payment_ends where subscription = $1", args![subscription]).await
}

/// Notes that an invoice was paid, or that its payment failed.
pub async fn invoice(tx: &Tx<'_>, id: &str, customer: &str, paid: bool, now: Timestamp) -> Result<()> {
    tx.execute_one(
        "insert into payment_invoices (id, customer, failed, paid, updated_at) values ($1, $2, $3, $4, $5) \
         on conflict (id) do update set failed = payment_invoices.failed or excluded.failed, \
         paid = payment_invoices.paid or excluded.paid, updated_at = excluded.updated_at",
        args![id, customer, !paid, paid, now],
    )
    .await
}

/// Whether an invoice of a customer is unpaid of which a payment failed.
pub async fn owes(rx: &Rx<'_>, customer: &str) -> Result<bool> {
    rx.exists("select 1 from payment_invoices where customer = $1 and failed and not paid", args![customer])
        .await
}

/// Forgets what was told before a time, some of each kind at a time, but no unpaid invoice; how many.
pub async fn forget(tx: &Tx<'_>, before: Timestamp, limit: i64) -> Result<u64> {
    let mut gone = 0;
    for sql in [
        "delete from payment_events where id in \
         (select id from payment_events where received_at < $1 order by received_at limit $2)",
        "delete from payment_ends where subscription in \
         (select subscription from payment_ends where ended_at < $1 order by ended_at limit $2)",
        "delete from payment_invoices where id in \
         (select id from payment_invoices where paid and updated_at < $1 order by updated_at limit $2)",
    ] {
        gone += tx.execute(sql, args![before, limit]).await?;
    }
    Ok(gone)
}
