//! Where mail goes: the transports that the operator configured, and which mails leave by which.

use mailwright_core::email::Lane;
use mailwright_core::ids::ProjectId;
use mailwright_core::routing::{DomainPattern, TransportNumber};
use mailwright_mail::ses::config::SesConfig;
use mailwright_mail::smtp::RelayConfig;

use super::DirectConfig;

/// A way for mail to leave.
#[derive(Debug, Clone)]
pub enum Transport {
    /// Nowhere: it is kept in the mailbox that the API shows.
    Capture,
    /// To a mail server.
    Smtp(Box<RelayConfig>),
    /// To the recipients' own mail servers.
    Direct(Box<DirectConfig>),
    /// To Amazon SES.
    Ses(Box<SesConfig>),
}

impl Transport {
    /// The name under which it is known what was learnt of the one server that takes all mail; `None` where there is none.
    pub fn next_hop(&self) -> Option<String> {
        match self {
            Self::Capture | Self::Direct(_) => None,
            Self::Smtp(relay) => Some(relay.name()),
            Self::Ses(ses) => Some(ses.host().to_owned()),
        }
    }
}

/// A transport with its name.
#[derive(Debug, Clone)]
pub struct NamedTransport {
    /// The name in routes, attempts, logs and metrics.
    pub name: String,
    /// Where mail goes.
    pub transport: Transport,
}

/// A route as it is configured: projects have their public ids.
#[derive(Debug, Clone, Default)]
pub struct ConfiguredRoute {
    /// The projects; empty for all. An id that no project has means none.
    pub projects: Vec<ProjectId>,
    /// The lanes; empty for all.
    pub lanes: Vec<Lane>,
    /// The domains of senders; empty for all.
    pub sender_domains: Vec<DomainPattern>,
    /// The domains of recipients; empty for all.
    pub recipient_domains: Vec<DomainPattern>,
    /// Of how many of a hundred mails; `None` for all.
    pub share: Option<u8>,
    /// The transports, in the order in which they are tried.
    pub via: Vec<TransportNumber>,
}

/// The transports of the instance and its routes.
#[derive(Debug, Clone)]
pub struct Transports {
    /// The transports; never empty. The first takes the mail that no route is for.
    pub all: Vec<NamedTransport>,
    /// The routes, the first that a mail meets decides.
    pub routes: Vec<ConfiguredRoute>,
}

impl Transports {
    /// The name of the one transport that has none.
    pub const DEFAULT: &'static str = "default";

    /// One transport for all mail.
    pub fn one(transport: Transport) -> Self {
        Self { all: vec![NamedTransport { name: Self::DEFAULT.into(), transport }], routes: Vec::new() }
    }

    /// Whether a transport has this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.all.iter().any(|one| one.name == name)
    }

    /// The names of the transports, in their order.
    pub(crate) fn names(&self) -> Vec<&str> {
        self.all.iter().map(|one| one.name.as_str()).collect()
    }

    /// Whether a route is for some projects alone.
    pub(crate) fn name_projects(&self) -> bool {
        self.routes.iter().any(|route| !route.projects.is_empty())
    }

    /// Whether mail leaves the machine.
    pub fn leave(&self) -> bool {
        self.all.iter().any(|one| !matches!(one.transport, Transport::Capture))
    }

    /// The names of the addresses from which mail is brought to the recipients' own servers.
    pub(crate) fn sources(&self) -> Vec<String> {
        let direct = self.all.iter().filter_map(|one| match &one.transport {
            Transport::Direct(config) => Some(config.source_name()),
            Transport::Capture | Transport::Smtp(_) | Transport::Ses(_) => None,
        });
        direct.collect()
    }

    /// Whether a transport brings mail to the recipients' own servers.
    pub(crate) fn is_direct(&self, name: &str) -> bool {
        self.all.iter().any(|one| one.name == name && matches!(one.transport, Transport::Direct(_)))
    }

    /// The names under which it is known what was learnt of the mail servers that take all mail.
    pub(crate) fn next_hops(&self) -> Vec<String> {
        self.all.iter().filter_map(|one| one.transport.next_hop()).collect()
    }
}
