//! People: how they sign up and in, and what proves who they are.

pub mod oauth;
pub mod password;
pub mod proof;
pub mod session;
pub mod totp;
