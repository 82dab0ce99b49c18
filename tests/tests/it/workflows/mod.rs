//! Workflows: their records, what may be edited and how, and what executions do.

mod acting;
mod choosing;
mod editing;
mod enrolment;
mod executions;
mod records;
mod references;
mod running;
mod versions;
mod waiting;
mod webhooks;
