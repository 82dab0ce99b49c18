//! Mails: outbox, ledger and delivery log in one table, with one row for each recipient.
//!
//! `due_at` drives everything. A waiting mail is due at some time. A claim moves that time into the future, which is
//! the lease. A terminal mail has none. `claim` counts the claims, and only the holder of the newest may change a mail.
//! A claim waits for the locks of other transactions for a moment only.
//!
//! A refusal that is not about the mail gives it back without an attempt ([`postpone`]). A mail that is found `SENDING`
//! after its lease has ended had an owner that died: it is in doubt.
//!
//! The mails of campaigns wait by campaign (see [`crate::sending::campaign::queue`]). The functions here that take a
//! lane are about all others.

pub(crate) mod claim;
mod conclude;
mod contact_now;
pub(crate) mod count;
mod due;
mod forward;
mod insert;
mod late;
mod lease;
mod list;
mod recheck;
pub(crate) mod record;
#[cfg(test)]
mod tests;
mod unreadable;
mod waiting;

pub use self::claim::{Claimed, Taken, claim};
pub use self::conclude::{Concluded, Outcome, conclude};
pub(crate) use self::contact_now::{ContactNow, contacts_of};
pub(crate) use self::due::BACKLOG;
pub use self::due::{SOON, backlog, due, due_projects, make_due, make_due_that_say};
pub use self::forward::{Latest, Place, Portion, Queue, bring_forward, portion, queues, waits_ahead};
pub(crate) use self::insert::NO_DEADLINE;
pub use self::insert::{NewEmail, Origin, enqueue};
pub use self::late::conclude_late;
pub use self::lease::{
    ClaimRef, Mark, Parked, extend, hold, keep_links, mark_sending, park, postpone, release,
};
pub use self::list::{
    Counted, List, OfStep, Source, Trouble, counted_by_cap, get, in_doubt, is_to, list, of_execution,
    sources, suppressed, times_counted_by_cap, topic_of, total, troubles,
};
pub use self::recheck::recheck;
pub(crate) use self::recheck::{Unsent, note, settle};
pub use self::record::{Email, Illegible};
pub use self::unreadable::{Unreadable, settle_unreadable};
pub use self::waiting::{WaitingMail, waiting, waiting_of_campaign};
