//! Amazon SES: its requests, their signatures, and what its answers mean. The requests are made elsewhere.

pub mod api;
pub mod config;
pub mod identity;
pub mod request;
pub mod signature;
