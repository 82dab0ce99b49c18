//! People: how they sign up and in, and what proves who they are.

pub(crate) mod oauth;
pub(crate) mod one_time_link;
pub(crate) mod session;
pub(crate) mod totp;
pub(crate) mod user;
