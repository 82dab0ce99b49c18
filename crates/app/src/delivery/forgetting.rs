//! What delivery remembers in the database is forgotten when it has served.

use std::time::Duration;

use mailwright_core::time::Timestamp;
use mailwright_store::body;
use mailwright_store::delivery::{intervention, provider_mail, site, tls_policy, tls_report, warm_up};

use crate::App;
use crate::error::Result;

/// How long the pace of a site is kept that nobody used: longer than a pace itself remembers trouble. A warm-up begins again
/// after a month without mail.
const SITES_KEPT: Duration = Duration::from_hours(31 * 24);
/// How long news of a service finds its mail by the service's id.
const IDS_KEPT: Duration = Duration::from_hours(14 * 24);
/// For how many days what was counted for reports about TLS is kept, that of today included.
const TLS_REPORT_DAYS: i64 = 3;
/// Most rows that are removed at a time.
const MOST: i64 = 1_000;

impl App {
    /// Forgets the paces of sites that nobody used for long, policies that hold no longer, what reports about TLS were made of,
    /// ids of services whose news has come, and what was wanted with mail of projects that are gone.
    pub(crate) async fn forget_delivery(&self, now: Timestamp) -> Result<()> {
        let (sites, ids) = (now.minus(SITES_KEPT), now.minus(IDS_KEPT));
        let oldest = tls_report::day(now) - TLS_REPORT_DAYS + 1;
        while self.0.db.write_in_background(body!(async |tx| site::forget(tx, sites, MOST).await)).await? > 0
        {
        }
        while self.0.db.write_in_background(body!(async |tx| warm_up::forget(tx, sites, MOST).await)).await?
            > 0
        {}
        while self.0.db.write_in_background(body!(async |tx| tls_policy::forget(tx, now, MOST).await)).await?
            > 0
        {}
        while self
            .0
            .db
            .write_in_background(body!(async |tx| tls_report::forget(tx, oldest, MOST).await))
            .await?
            > 0
        {}
        while self
            .0
            .db
            .write_in_background(body!(async |tx| provider_mail::forget(tx, ids, MOST).await))
            .await?
            > 0
        {}
        self.forget_interventions().await
    }

    /// Forgets what was wanted with mail of projects that are gone. Mostly there is nothing, so that it is read first.
    async fn forget_interventions(&self) -> Result<()> {
        loop {
            let gone = self.read(body!(async |rx| intervention::of_deleted(rx, MOST).await)).await?;
            if gone.is_empty() {
                return Ok(());
            }
            self.0.db.write_in_background(body!(async |tx| intervention::remove(tx, &gone).await)).await?;
        }
    }
}
