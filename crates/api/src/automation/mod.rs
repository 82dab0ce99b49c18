//! Workflows, their steps and transitions, and the executions of contacts.

pub(crate) mod enrolment;
pub(crate) mod execution;
pub(crate) mod fields;
pub(crate) mod list;
pub(crate) mod of_contact;
pub(crate) mod simulation;
pub(crate) mod stats;
pub(crate) mod step;
pub(crate) mod transition;
pub(crate) mod versions;
pub(crate) mod webhook_secret;
pub(crate) mod why;
pub(crate) mod workflow;
