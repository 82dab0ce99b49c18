//! Rehearsing a workflow: what would have become of a project's contacts, or of those of given events, if a version had
//! been in force. Nothing is sent, and nothing is written.
//!
//! `core::workflow` itself takes the steps, on a time that is counted (`core::workflow::rehearsal`). Contacts do not meet
//! each other in a workflow, so they are rehearsed one after the other, some hundred read at a time: memory is bounded,
//! whatever the project has.
//!
//! A contact begins as it is now, with what its events carry stored with it as they happen. Segments, suppressions and
//! what became of mails are taken as they are now. Requests of WEBHOOK steps count as answered at once.

mod given;
mod history;
mod job;
mod person;
mod plan;
mod rehearsed;
mod seen;
mod setting;

pub use self::given::{LONGEST_REQUEST, MAX_EVENTS, ScriptedEvent};
pub use self::plan::{DEFAULT_DAYS, MAX_DAYS, Which, afterwards};
pub use self::rehearsed::Rehearsed;

pub(crate) use self::job::Simulation;
