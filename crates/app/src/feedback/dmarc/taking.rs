//! Taking reports that come in: they are read on a thread of their own, since a large one takes long, and stored.

use std::sync::Arc;
use std::time::Duration;

use mailwright_core::ids::{DomainId, ProjectNumber};
use mailwright_mail::authentication::{self, Origin};
use mailwright_mail::dmarc_report::{self, AggregateReport};
use mailwright_store::feedback::dmarc::{self as store, Added, Report};
use mailwright_store::sending::{domain, domain_key};
use mailwright_store::{Rx, body};
use tokio::sync::Semaphore;

use super::sums::{Ours, is_timely, oldest_day, sums};
use crate::App;
use crate::error::{Error, Result};

/// Messages that are read at the same time in a process.
const AT_ONCE: usize = 2;
/// How long a message waits for its turn; then its sender is told to try again.
const PATIENCE: Duration = Duration::from_mins(1);
/// Rows that are forgotten in one transaction.
const FORGET: i64 = 500;

/// The turns of those who read reports.
#[derive(Debug, Clone)]
pub(crate) struct Readers(Arc<Semaphore>);

impl Default for Readers {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(AT_ONCE)))
    }
}

impl App {
    /// The address that takes reports about a domain, where the instance takes mail for it.
    pub(crate) fn dmarc_address(&self, domain: DomainId) -> Option<String> {
        let settings = self.settings();
        let host = settings.return_path().filter(|_| settings.inbound_host().is_some())?;
        Some(format!("{}@{host}", self.0.feedback.dmarc_address.local_part(domain)))
    }

    /// Stores what a message reports of the domains that its recipients are for. False when it says nothing of any of
    /// them: it is dropped, since who sends reports sends them again when they are refused.
    pub(in crate::feedback) async fn take_dmarc_report(
        &self,
        domains: &[DomainId],
        origin: Origin<'_>,
        message: &Arc<Vec<u8>>,
    ) -> Result<bool> {
        let Some(report) = self.read_dmarc_report(message).await? else { return Ok(false) };
        if !is_timely(&report, self.0.clock.now()) {
            tracing::debug!(reporter = report.org_name, "a DMARC report is about no day that is kept");
            return Ok(false);
        }
        // a report says who it is from, but anybody can write that
        let sender = authentication::proven_organisation(&self.0.dns, origin, message).await;
        let report = Arc::new(report);
        let mut is_stored = false;
        for domain in domains {
            is_stored |= self.store_dmarc_report(*domain, sender.clone(), &report).await?;
        }
        Ok(is_stored)
    }

    /// The report that a message brings, if there is one that can be read.
    async fn read_dmarc_report(&self, message: &Arc<Vec<u8>>) -> Result<Option<AggregateReport>> {
        let turns = Arc::clone(&self.0.feedback.dmarc_readers.0);
        let Ok(Ok(turn)) = tokio::time::timeout(PATIENCE, turns.acquire_owned()).await else {
            return Err(Error::Busy(format!("{AT_ONCE} DMARC reports are read, which is the limit.")));
        };
        let message = Arc::clone(message);
        let reading = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            dmarc_report::read(&message)
        });
        Ok(match reading.await {
            Ok(Some(Ok(report))) => Some(report),
            Ok(Some(Err(error))) => {
                tracing::debug!(%error, "a DMARC report cannot be read");
                None
            }
            Ok(None) => None,
            // whoever sent it would bring it again and again
            Err(error) => {
                tracing::error!(%error, "a DMARC report could not be read");
                None
            }
        })
    }

    /// Stores a report about a domain. False when it is about another one, or there is no room for it.
    async fn store_dmarc_report(
        &self,
        id: DomainId,
        sender: Option<String>,
        report: &Arc<AggregateReport>,
    ) -> Result<bool> {
        let name = report.policy.domain.clone();
        let found = self.read(body!(async |rx| {
            let Some(project) = store::owner(rx, &name, id).await? else { return Ok(None) };
            Ok(selectors(rx, project, id).await?.map(|selectors| (project, selectors)))
        }));
        let Some((project, selectors)) = found.await? else { return Ok(false) };
        let settings = self.settings();
        let own = format!("{}.{}", settings.domains.return_path_label, report.policy.domain);
        let ours = Ours {
            domain: &report.policy.domain,
            selectors: selectors.iter().map(String::as_str).collect(),
            return_paths: settings.return_path().map(str::to_owned).into_iter().chain([own]).collect(),
        };
        let sums = sums(report, &ours);
        let row = Report {
            domain: id,
            sender,
            reporter: report.org_name.clone(),
            report_id: report.report_id.clone(),
            begin: report.begin,
            end: report.end,
            policy: report.policy.p.as_str(),
            records: report.records.len() as i64,
            messages: sums.iter().map(|(_, messages)| messages).sum(),
        };
        let now = self.0.clock.now();
        let added =
            self.write_large(body!(async |tx| Ok(store::add(tx, project, &row, &sums, now).await?))).await?;
        if added == Added::Full {
            tracing::warn!(
                domain = %id,
                project = project.0,
                "a DMARC report is dropped: its sender, or all senders, have used up their share of its day"
            );
        }
        Ok(matches!(added, Added::Stored | Added::Known))
    }

    /// Forgets what reports said of days that are not kept any longer.
    pub(in crate::feedback) async fn forget_dmarc(&self, project: ProjectNumber) -> Result<()> {
        let before = oldest_day(self.0.clock.now());
        while self
            .write_in_background(body!(async |tx| Ok(store::forget(tx, project, before, FORGET).await?)))
            .await?
            > 0
        {}
        Ok(())
    }
}

/// The selectors of a domain's keys, former ones included; `None` when the domain is gone.
async fn selectors(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    id: DomainId,
) -> mailwright_store::Result<Option<Vec<String>>> {
    let Some(domain) = domain::get(rx, project, id).await? else { return Ok(None) };
    let keys = domain_key::of(rx, project, id).await?;
    Ok(Some(keys.into_iter().map(|key| key.selector).chain([domain.selector]).collect()))
}
