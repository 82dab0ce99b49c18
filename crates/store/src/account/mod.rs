//! People: users, sessions, counts of attempts, one-time links, second factors, accounts at providers.

pub mod attempts;
pub mod identity;
pub mod one_time_link;
pub mod session;
pub mod totp;
pub mod user;
