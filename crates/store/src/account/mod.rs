//! People: how they sign up and in, and what proves who they are.

pub mod attempts;
pub mod identity;
pub mod one_time_link;
pub mod session;
pub mod totp;
pub mod user;
