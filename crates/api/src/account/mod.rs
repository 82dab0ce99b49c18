//! People: signing up and in, sessions, one-time links, second factors, providers.

pub(crate) mod oauth;
pub(crate) mod one_time_link;
pub(crate) mod session;
pub(crate) mod totp;
pub(crate) mod user;
