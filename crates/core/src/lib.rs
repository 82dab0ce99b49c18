//! The domain of Mailwright: its terms and rules, with no I/O and no async.
//!
//! Nothing in this crate can fail for a reason outside its arguments. Time comes from [`time::Clock`], which a test can
//! move. Ids ([`ids`]) are made from the time and random bytes that the caller passes.

pub mod activity;
pub mod activity_log;
pub mod address;
pub mod address_file;
pub mod attempt;
pub mod attention;
pub mod audit;
pub mod billing;
pub mod bounce;
pub mod bulk;
pub mod campaign;
pub mod campaign_review;
pub mod consent;
pub mod contact;
pub mod csv;
pub mod custom_data;
pub mod domain;
pub mod email;
pub mod erasure;
pub mod event;
pub mod excess;
pub mod filter;
pub mod header;
pub mod hit;
pub mod ids;
pub mod import;
pub mod issue;
pub mod job;
pub mod locale;
pub mod lost;
pub mod mail_check;
pub mod month;
pub mod name;
mod names;
pub mod pacing;
pub mod patch;
pub mod project;
mod reading;
pub mod reputation;
pub mod request_log;
pub mod retention;
pub mod role;
pub mod rollup;
pub mod segment;
pub mod short_text;
pub mod standing;
pub mod suppression;
pub mod template;
pub mod template_language;
pub mod time;
pub mod time_zone;
pub mod topic;
pub mod upload;
pub mod workflow;
