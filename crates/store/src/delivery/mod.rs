//! How mails leave, and what becomes of them.

pub mod hop;
pub mod mailbox;
pub mod reception;
pub mod suspension;
