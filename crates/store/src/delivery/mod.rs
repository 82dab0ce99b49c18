//! How mails leave, and what becomes of them.

pub mod delivery_stats;
pub mod mailbox;
pub mod next_hop;
pub mod suspension;
