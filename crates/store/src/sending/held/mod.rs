//! What a restore holds: mails that may have been handed over after the backup was made.
//!
//! Every restore raises the instance's epoch ([`epoch`]). In the same run every mail that waits becomes one in doubt
//! ([`hold`]), since nobody knows what the lost stretch did with it, and its id is noted in `held_emails`. Campaigns and
//! executions that go on are marked, so that what they make later, and may have made before, is held when it is made.
//! A held mail is never due. It leaves after a decision ([`mod@decide`]), and not otherwise; news that it had left before ends
//! the question.

mod decide;
pub mod epoch;
pub mod hold;
mod list;
pub(crate) mod note;

pub use self::decide::{Decided, Decision, Which, decide};
pub use self::list::{Counts, HeldEmail, count, count_everywhere, count_up_to, counts, page};
