//! People: how they sign up and in, and what proves who they are.

pub mod identity;
pub mod login;
pub mod proof;
pub mod session;
pub mod totp;
pub mod user;
