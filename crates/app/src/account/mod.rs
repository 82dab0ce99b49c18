//! People: signing up and in, sessions, passwords, one-time links, second factors, providers.

pub mod oauth;
pub mod one_time_link;
pub mod password;
pub mod session;
pub mod totp;
