//! How mails leave, and what happens to them.

pub(crate) mod checks;
pub(crate) mod email_check;
pub(crate) mod interventions;
pub(crate) mod mailbox;
pub(crate) mod reputation;
pub(crate) mod sites;
