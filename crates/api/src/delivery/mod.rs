//! How mails leave, and what happens to them.

pub(crate) mod mailbox;
pub(crate) mod reputation;
