//! Workflows: graphs of steps that contacts go through (contract, Workflow and other resources; reference 1).
//!
//! - What the owner edits is a [`graph`], whose steps have a configuration that [`config`] reads into an
//!   [`action`](action::Action). [`edit`] has the rules for changing it.
//! - A [`definition`] is that graph with what starts it and what ends it.
//! - A [`version`] is a definition that is in force. It never changes once somebody goes through it.
//! - An [`execution`] is a contact's way through a version. [`advance`](mod@advance) says what becomes of it when
//!   something happens, as a function of its arguments alone; [`run`](mod@run) gives it all that is due.
//! - A [`rehearsal`] takes contacts through a version in memory, a [`summary`] adds up what it comes to.
//! - A [`world`] is what an execution needs to know, and what its steps do.

pub mod action;
pub mod advance;
pub mod condition;
pub mod config;
pub mod definition;
pub mod edit;
pub mod execution;
pub mod figures;
pub mod goal;
pub mod graph;
pub mod kind;
pub mod lifecycle;
pub mod limits;
pub mod migrate;
pub mod output;
pub mod rehearsal;
pub mod request;
pub mod run;
pub mod schedule;
pub mod scope;
pub mod summary;
#[cfg(test)]
mod tests;
pub mod trigger;
pub mod version;
pub mod wait_until;
mod weekdays;
pub mod world;
