//! The MTA-STS policy about mail that comes in for sender domains (RFC 8461). It is the same for all of them: it says that
//! our SMTP server takes their mail, with TLS. A domain has it while its mail is taken.

use std::time::Duration;

use mailwright_core::address::DomainName;
use mailwright_core::time::Timestamp;
use mailwright_mail::domain::ServedPolicy;
use mailwright_mail::mta_sts::{Mode, Policy};
use mailwright_store::body;
use mailwright_store::sending::domain as store;
use quick_cache::sync::Cache;

use crate::App;
use crate::error::Result;
use crate::settings::Settings;

/// For how long senders keep the policy. Each looks at the record once a day as a rule.
const KEPT: Duration = Duration::from_hours(7 * 24);
/// What the name of the host that serves the policy of a domain begins with (RFC 8461 section 3.2).
const LABEL: &str = "mta-sts.";
/// How long it is known whether mail for a domain is taken.
const KNOWN_FOR: Duration = Duration::from_mins(1);
/// Domains of which that is known: the least used are forgotten.
const KNOWN: usize = 10_000;

/// The policy, and the domains that have it.
pub(crate) struct MailPolicy {
    text: String,
    id: String,
    known: Cache<String, (Timestamp, bool)>,
}

impl MailPolicy {
    /// The policy that the settings ask for; `None` where they ask for none, nothing listens, or the service has no name
    /// that others can point to.
    pub(crate) fn of(settings: &Settings) -> Option<Self> {
        let mode = settings.domains.mta_sts;
        let host =
            settings.inbound_host().filter(|_| mode != Mode::None && settings.tracking_host().is_some())?;
        let policy = Policy { mode, max_age: KEPT, servers: vec![host.to_owned()] };
        Some(Self { text: policy.text(), id: policy.id(), known: Cache::new(KNOWN) })
    }
}

impl App {
    /// The policy of the domain whose `mta-sts.` host this is; `None` where it has none.
    pub async fn mail_policy(&self, host: &str) -> Result<Option<&str>> {
        let Some(policy) = &self.0.sending.mail_policy else { return Ok(None) };
        let host = host.to_ascii_lowercase();
        let Some(domain) = host.strip_prefix(LABEL).and_then(DomainName::parse) else { return Ok(None) };
        let now = self.clock().now();
        let known = policy.known.get(domain.as_str()).filter(|(at, _)| now.since(*at) < KNOWN_FOR);
        let takes = match known {
            Some((_, takes)) => takes,
            None => self.takes_mail_for(&domain).await?,
        };
        if known.is_none() {
            policy.known.insert(domain.to_string(), (now, takes));
        }
        Ok(takes.then_some(policy.text.as_str()))
    }

    /// What the record of the policy says, and where it has to lead.
    pub(super) fn served_policy(&self) -> Option<ServedPolicy<'_>> {
        let policy = self.0.sending.mail_policy.as_ref()?;
        Some(ServedPolicy { id: &policy.id, host: self.settings().tracking_host()? })
    }

    /// Whether mail for a domain is taken, as its last check says.
    async fn takes_mail_for(&self, domain: &DomainName) -> Result<bool> {
        let (leaves, unproven) = (self.mail_leaves(), self.takes_unproven_mail());
        let name = domain.to_string();
        self.read(body!(async |rx| store::takes_mail(rx, &name, leaves, unproven).await)).await
    }
}
