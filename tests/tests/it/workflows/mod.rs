//! Workflows: their records, what may be edited and how, and what executions do.

mod acting;
mod any_graph;
mod calendar;
mod capping;
mod choosing;
mod dates;
mod editing;
mod enrolling;
mod enrolment;
mod example;
mod executions;
mod migration;
mod records;
mod references;
mod running;
mod schedules;
mod signatures;
mod simulated_log;
mod simulated_versions;
mod simulation;
mod simulation_command;
mod stats;
mod versions;
mod waiting;
mod webhooks;
mod why;
