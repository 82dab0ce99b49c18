//! Workflows: what they are made of, and the ways of contacts through them.
//!
//! A workflow's row has what its owner edits. What is in force is a row in `workflow_versions`, which never changes: an
//! execution runs the version that it began with.
//!
//! **Locks.** Whoever gives an execution a step, or takes executions of a contact away, holds the contact's row. An event
//! takes no lock: it adds a row for the execution that it begins, and a signal for those that wait. A unique index keeps
//! a contact from going through a workflow twice at a time.

pub mod beginning;
pub mod due;
pub mod enrol;
pub mod execution;
pub mod execution_list;
pub mod figures;
pub mod forget;
pub mod listener;
pub(crate) mod log;
pub mod period;
pub mod publish;
pub mod reference;
pub mod refusal;
pub mod request;
mod row;
pub mod signal;
pub mod version;
pub mod workflow;
