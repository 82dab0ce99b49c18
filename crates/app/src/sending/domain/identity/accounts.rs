//! The accounts of Amazon SES with which sender domains are registered.

use mailwright_core::domain::{DomainIdentity, IdentityWay};
use mailwright_mail::ses::config::SesConfig;

use crate::App;
use crate::delivery::{NamedTransport, Transport};

/// An account.
#[derive(Debug, Clone, Copy)]
pub(super) struct Account<'a> {
    /// The name of the transport that leads to it.
    pub(super) transport: &'a str,
    pub(super) config: &'a SesConfig,
    /// What it is to sign with.
    pub(super) way: IdentityWay,
}

impl App {
    /// The accounts, in the order of the transports.
    pub(super) fn ses_accounts(&self) -> impl Iterator<Item = Account<'_>> {
        self.transports().all.iter().filter_map(of)
    }

    /// The account that a transport leads to.
    pub(super) fn ses_account(&self, transport: &str) -> Option<Account<'_>> {
        self.ses_accounts().find(|account| account.transport == transport)
    }

    /// Whether there is any.
    pub(crate) fn registers_domains(&self) -> bool {
        self.ses_accounts().next().is_some()
    }

    /// Leaves out what is known of accounts with which nothing is registered any more.
    pub(in crate::sending::domain) fn configured(
        &self,
        mut known: Vec<DomainIdentity>,
    ) -> Vec<DomainIdentity> {
        known.retain(|identity| self.ses_account(&identity.transport).is_some());
        known
    }
}

fn of(named: &NamedTransport) -> Option<Account<'_>> {
    match &named.transport {
        Transport::Ses(config) => Some(Account { transport: &named.name, config, way: config.identities? }),
        Transport::Capture | Transport::Smtp(_) | Transport::Direct(_) => None,
    }
}
