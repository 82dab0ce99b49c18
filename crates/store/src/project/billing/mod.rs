//! What projects pay, and what they are limited to: how much they used, their accounts at the payment service, what it
//! told of them, and what is reported to it.

pub mod account;
pub mod allowance;
pub mod batch;
pub mod notice;
pub mod payment;
pub mod usage;
