//! The tests that load both processors: kills, faults, several processes, and the API document held against the program.

mod activity_stream;
mod campaign_crash;
mod cluster;
mod copies;
mod crash;
mod document;
mod faults;
mod feedback_crash;
mod inbound;
mod restore;
mod workflow_crash;
