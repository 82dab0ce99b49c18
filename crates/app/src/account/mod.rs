//! People: how they sign up and in, and what proves who they are.

pub mod oauth;
pub mod one_time_link;
pub mod password;
pub mod session;
pub mod totp;
