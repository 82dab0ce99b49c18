//! The tests that load both processors: kills, faults, several processes, tables divided over several servers, the API
//! document held against the program, and figures of a long history.

mod activity_stream;
mod campaign_crash;
mod cluster;
mod copies;
mod crash;
mod divided;
mod document;
mod faults;
mod feedback_crash;
mod inbound;
mod large_history;
mod real_sites;
mod restore;
mod workflow_crash;
