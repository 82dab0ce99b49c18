//! How fast mail goes to the sites that take the mail of domains, for whoever looks at what waits.

use std::collections::HashMap;
use std::sync::Arc;

use mailwright_core::attempt::Attempt;
use mailwright_core::pacing::limits::limits_of;
use mailwright_core::pacing::{Pace, PaceReason};
use mailwright_core::time::Timestamp;
use mailwright_mail::route::{MailServer, site};
use mailwright_store::body;
use mailwright_store::delivery::site as store;

use crate::App;
use crate::error::Result;

/// How fast mail goes to a site, from all our addresses together.
#[derive(Debug, Clone, PartialEq)]
pub struct SitePace {
    /// The name of the site.
    pub site: Arc<str>,
    /// Mails a minute; `None` for any number.
    pub per_minute: Option<f64>,
    /// Most connections of all processes.
    pub connections: u32,
    /// Why nothing is tried from any address, and until when.
    pub stands_still: Option<(PaceReason, Timestamp)>,
    /// When the site last said something about us, and the codes of that reply.
    pub reply: Option<(Timestamp, String)>,
}

impl App {
    /// The paces of the sites that take the mail of domains, where mail is brought to those directly. With each domain comes
    /// the last attempt with a mail to it.
    pub(super) async fn paces_of(
        &self,
        domains: &[(&str, Option<&Attempt>)],
        now: Timestamp,
    ) -> Result<Vec<Option<SitePace>>> {
        let sources = self.transports().sources();
        if sources.is_empty() {
            return Ok(vec![None; domains.len()]);
        }
        let sites: Vec<_> = domains.iter().map(|(domain, last)| self.site_of(domain, *last, now)).collect();
        let mut names: Vec<Arc<str>> = sites.iter().flatten().cloned().collect();
        names.sort_unstable();
        names.dedup();
        let stored = self.read(body!(async |rx| {
            let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
            store::at(rx, &names).await
        }));
        let mut paces: HashMap<String, Vec<Pace>> = HashMap::new();
        for row in stored.await?.into_iter().filter(|row| sources.contains(&row.key.source)) {
            if let Ok(pace) = serde_json::from_str(&row.pace) {
                paces.entry(row.key.site).or_default().push(pace);
            }
        }
        let new = vec![Pace::default()];
        let of = |site: Arc<str>| {
            let known = paces.get(&*site).unwrap_or(&new);
            SitePace::of(site, known, now)
        };
        Ok(sites.into_iter().map(|site| site.map(of)).collect())
    }

    /// The site that takes the mail of a domain: as this process looked it up, or as the last attempt has it.
    fn site_of(&self, domain: &str, last: Option<&Attempt>, now: Timestamp) -> Option<Arc<str>> {
        self.0.delivery.known_sites.get(&domain.to_owned(), now).or_else(|| {
            let last = last.filter(|last| !last.host.is_empty())?;
            let is_direct = last.transport.as_ref().is_some_and(|name| self.transports().is_direct(name));
            is_direct.then(|| site(&[MailServer { host: last.host.clone(), preference: 0 }]).into())
        })
    }
}

impl SitePace {
    /// What several addresses of ours have together.
    fn of(site: Arc<str>, paces: &[Pace], now: Timestamp) -> Self {
        let published = limits_of(&site).per_minute.map(f64::from);
        let rates = paces.iter().map(|pace| pace.per_minute().or(published));
        let troubles = paces.iter().filter_map(Pace::trouble);
        let still: Option<Vec<_>> = paces.iter().map(|pace| pace.stands_still(now)).collect();
        let first = still.into_iter().flatten().min_by_key(|wait| wait.until);
        Self {
            per_minute: rates.sum(),
            connections: paces.iter().map(Pace::connections).sum(),
            stands_still: first.map(|wait| (wait.reason, wait.until)),
            reply: troubles.max_by_key(|(at, _)| *at).map(|(at, reply)| (at, reply.to_owned())),
            site,
        }
    }
}
