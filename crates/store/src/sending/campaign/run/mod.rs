//! Carrying campaigns out: what is to be done next, starting, freezing the audience, and the end.
//!
//! A step changes the campaign's own row first. That row is the lock, the lease and the cursor. So a step that is
//! interrupted, or tried by two processes at once, is done once.

mod due;
mod finish;
mod freeze;
mod lease;

pub use self::due::{Due, Run, due, due_projects, ending, put_off, wait};
pub use self::finish::{balance, finish, forget_former, set_recipients};
pub use self::freeze::{Candidate, Entry, advance, candidates, fitting, freeze, go_on, stay};
pub use self::lease::{Lease, content_hash, lease, start};
