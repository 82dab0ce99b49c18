//! Whether an address can take mail, and what kind of address it is, found out without a mail to it.
//!
//! Three sources: the form of the address, lists that come with the program, and DNS. None of them can say that a mailbox
//! exists, so `valid` means that nothing speaks against it. A name server that is away, too slow or talks nonsense never
//! makes an address invalid: what it should have said is unknown then, and a reason says so.
//!
//! A domain exists when its own name does, with whatever records (RFC 8020): it need not be the top of a zone, and a name
//! that was never created below a registered domain does not exist, although the registered one does.

mod distance;
mod domain_set;
mod facts;
mod judge;
mod lists;
mod parking;
mod providers;
mod result;
mod syntax;
mod typo;

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::stream::{self, StreamExt as _};

pub use domain_set::{DomainSet, ListError, MAX_LIST_BYTES, MAX_LIST_DOMAINS};
pub use facts::DEADLINE;
pub use lists::{Lists, PublishedList};
pub use result::Verification;

use crate::dns::Dns;
use judge::Domain;

/// The most domains that are asked about at the same time. Each is five questions or more.
pub const MAX_PARALLEL: usize = 64;

/// What is known of a domain that was not asked about.
const UNKNOWN: Domain = Domain { facts: facts::NOTHING, meant: None };

/// Verifies addresses. Cheap to clone; clones share the answers that are kept.
#[derive(Debug, Clone)]
pub struct Verifier {
    dns: Dns,
    lists: Arc<Lists>,
}

impl Verifier {
    /// Asks this name server, and keeps its answers as [`Dns::keeping_answers`] does.
    pub fn new(dns: &Dns, lists: Arc<Lists>) -> Self {
        Self { dns: dns.keeping_answers(), lists }
    }

    /// The same with other lists. The answers that were kept stay.
    #[must_use]
    pub fn with_lists(&self, lists: Arc<Lists>) -> Self {
        Self { dns: self.dns.clone(), lists }
    }

    /// The lists.
    pub fn lists(&self) -> &Arc<Lists> {
        &self.lists
    }

    /// Verifies one address. Takes [`DEADLINE`] at most.
    pub async fn verify(&self, address: &str) -> Verification {
        match syntax::parse(address) {
            Err(why) => judge::malformed(address, why),
            Ok(parts) => {
                let domain = self.domain(parts.domain.as_str()).await;
                judge::judge(address, &parts, &domain, &self.lists)
            }
        }
    }

    /// Verifies many addresses and asks about each domain once, `parallel` domains at the same time (from 1 to
    /// [`MAX_PARALLEL`]). The results have the order of the addresses.
    ///
    /// It takes [`DEADLINE`] for each `parallel` domains at most: a caller that has not that long hands over fewer.
    pub async fn verify_all<S: AsRef<str>>(&self, addresses: &[S], parallel: usize) -> Vec<Verification> {
        let parsed: Vec<_> =
            addresses.iter().map(|address| (address.as_ref(), syntax::parse(address.as_ref()))).collect();
        let names =
            parsed.iter().filter_map(|(_, parts)| parts.as_ref().ok().map(|parts| parts.domain.as_str()));
        let domains = self.domains(names, parallel).await;
        let judged = parsed.iter().map(|(address, parts)| match parts {
            Err(why) => judge::malformed(address, why),
            Ok(parts) => {
                let domain = domains.get(parts.domain.as_str()).unwrap_or(&UNKNOWN);
                judge::judge(address, parts, domain, &self.lists)
            }
        });
        judged.collect()
    }

    async fn domains<'a>(
        &self,
        names: impl Iterator<Item = &'a str>,
        parallel: usize,
    ) -> HashMap<String, Domain> {
        let mut once: Vec<String> = names.map(ToOwned::to_owned).collect();
        once.sort_unstable();
        once.dedup();
        let questions = stream::iter(once).map(|name| {
            let verifier = self.clone();
            async move {
                let domain = verifier.domain(&name).await;
                (name, domain)
            }
        });
        questions.buffer_unordered(parallel.clamp(1, MAX_PARALLEL)).collect().await
    }

    async fn domain(&self, name: &str) -> Domain {
        Domain { facts: facts::ask(&self.dns, name).await, meant: typo::meant(name) }
    }
}
