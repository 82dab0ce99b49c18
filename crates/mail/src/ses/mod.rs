//! Amazon SES: how requests to it are signed.

pub mod signature;
