//! The ledger of a campaign: the state of the mail of each contact of its audience.
//!
//! The rows of `emails` are the ledger. `recipient_state` is WAITING, ACCEPTED, SKIPPED, FAILED or `IN_DOUBT`, and
//! `reason` says why. The sums of both are counters (`sums`), changed in the transaction that changes a row, so no page
//! and no check counts rows.

pub(crate) mod key;
mod page;
mod retry;
mod skip;
pub(crate) mod sums;

pub use self::page::{Page, Place, page};
pub use self::retry::{Retry, is_retrying, requeue, save_retry};
pub use self::skip::cancel;
pub(crate) use self::skip::{blank, forget_contact, skip};
pub(crate) use self::sums::{count_learnt, count_machines, enter, shift};
pub use self::sums::{count_unsubscribed, read};
