//! The mail servers that the mail of a domain goes to, and what connections to them have to be like.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use mailwright_core::pacing::limits::receiver_of;
use mailwright_mail::route::MailServer;

use super::site::{Idle, ServerSet};

/// The mail servers of a destination.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::delivery) struct Path {
    /// The name of the site.
    pub(in crate::delivery) site: Arc<str>,
    /// The best first, equally good ones by name.
    pub(in crate::delivery) servers: Vec<MailServer>,
    /// Tells these servers from others of the site.
    pub(super) set: ServerSet,
    /// What connections to them have to be like.
    pub(in crate::delivery) need: Need,
    /// Whether TLSA records of the servers count beside that: DNSSEC proves that mail for the domain goes to them.
    pub(in crate::delivery) minds_tlsa: bool,
}

/// What was found about a domain.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(in crate::delivery) struct Found {
    /// Its mail servers, the best first, equally good ones by name.
    pub(in crate::delivery) servers: Vec<MailServer>,
    pub(in crate::delivery) need: Need,
    /// As in [`Path`].
    pub(in crate::delivery) minds_tlsa: bool,
}

/// What connections to mail servers have to be like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::delivery) enum Need {
    /// Encrypted where the server offers it, whatever its certificate (RFC 7435).
    Opportunistic,
    /// Encrypted, with a certificate that is valid for the server, as TLSA records that count say or, where they say
    /// nothing, the authorities of the system.
    Verified,
}

impl Path {
    pub(super) fn new(site: Arc<str>, Found { servers, need, minds_tlsa }: Found) -> Self {
        let mut hasher = DefaultHasher::new();
        // whatever their order: who owns a domain chooses it
        let mut hosts: Vec<&str> = servers.iter().map(|server| server.host.as_str()).collect();
        hosts.sort_unstable();
        hosts.hash(&mut hasher);
        Self { site, servers, set: ServerSet(hasher.finish()), need, minds_tlsa }
    }

    /// Whether it leads to a large receiver, whose servers are known by name.
    pub(super) fn is_of_large_receiver(&self) -> bool {
        self.servers.first().is_some_and(|server| receiver_of(&server.host).is_some())
    }

    /// Whether a connection to a server will do. One that was opened without a look at TLSA records that count now will
    /// not; one that was is as good for those for whom they do not count.
    pub(super) fn takes(&self, idle: &Idle<impl Sized>) -> bool {
        (self.need == Need::Opportunistic || idle.is_verified)
            && (!self.minds_tlsa || idle.minded_tlsa)
            && self.servers.iter().any(|server| server.host == idle.host)
    }
}

/// Why there is no way to a domain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::delivery) enum NoWay {
    /// The domain takes no mail, it says (RFC 7505).
    Refused,
    /// There is no such domain, or it is an alias of a name that is not there.
    Missing,
    /// The domain is there, and has neither mail servers nor an address.
    Nowhere,
    /// One of these two, by answers that do not make it certain.
    Doubtful,
    /// Its aliases lead in a circle, or are too many.
    Circle,
    /// The name server gave no answer.
    Unknown,
    /// None of its mail servers is one that its MTA-STS policy names (RFC 8461 section 5).
    Policy,
}
