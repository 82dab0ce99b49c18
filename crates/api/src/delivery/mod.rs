//! How mails leave, and what becomes of them.

pub(crate) mod mailbox;
pub(crate) mod reputation;
