//! What warms up.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use mailwright_mail::route::registered;

/// What warms up.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// An address of ours that connections come from.
    Address(IpAddr),
    /// A sender's domain.
    Domain(Arc<str>),
}

impl Subject {
    /// The domain of a sender, by the name that was registered: names below it are as well known as it is.
    pub fn of_domain(domain: &str) -> Self {
        Self::Domain(registered(domain).into())
    }

    /// Reads what [`fmt::Display`] writes.
    pub(super) fn parse(text: &str) -> Option<Self> {
        match text.split_once(' ')? {
            ("address", address) => address.parse().ok().map(Self::Address),
            ("domain", domain) => Some(Self::Domain(domain.into())),
            _ => None,
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(address) => write!(f, "address {address}"),
            Self::Domain(domain) => write!(f, "domain {domain}"),
        }
    }
}
