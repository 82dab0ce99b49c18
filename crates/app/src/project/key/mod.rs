//! Credentials: what keys look like, whom keys and sessions belong to, and managing keys.

mod keyring;
mod manage;
mod recheck;
pub(crate) mod token;

pub use keyring::{Identity, Keyring};
pub use manage::{MadeKey, WithKeys};
pub(crate) use manage::{pair, stored_pair};
pub(crate) use recheck::{Rechecked, Stale, recheck};
pub use token::Token;
pub(crate) use token::hash;
