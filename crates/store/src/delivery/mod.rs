//! How mails leave, and what happens to them.

pub mod delivery_stats;
pub mod intervention;
pub mod mailbox;
pub mod next_hop;
pub mod provider_mail;
pub mod site;
pub mod suspension;
pub mod tls_policy;
pub mod tls_report;
pub mod warm_up;
