//! Counts what receivers say that no rule knows, so that the table of rules can grow: `mailwright bounces` shows it.
//!
//! The counts are gathered in memory and stored some seconds later. They are lost when a process is killed.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use mailwright_core::bounce::{BounceClass, fingerprint_of};
use mailwright_core::ids::{EmailId, ProjectNumber};
use mailwright_store::body;
use mailwright_store::feedback::mail;
use mailwright_store::feedback::unknown_bounce::{self, UnknownBounce};

use super::happening::Happening;
use crate::App;
use crate::background::runner::{Next, Runner, Work};
use crate::background::tasks::Tasks;
use crate::error::Result;

/// How often the counts are stored.
const STORED: Duration = Duration::from_secs(10);
/// Most texts that are counted between two times.
const GATHERED: usize = 1_000;
/// Most texts that are kept: those that were said last.
const KEPT: i64 = 5_000;

/// The texts that are not stored yet, and how often each was said.
#[derive(Debug, Default)]
pub(crate) struct UnknownBounces(Mutex<HashMap<String, i64>>);

impl UnknownBounces {
    /// Counts a text. `addresses` are those of the mail: they are taken out of it.
    pub(crate) fn note(&self, text: &str, addresses: &[&str]) {
        let said = fingerprint_of(text, addresses);
        let mut gathered = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !said.is_empty() && (gathered.len() < GATHERED || gathered.contains_key(&said)) {
            *gathered.entry(said).or_default() += 1;
        }
    }

    fn take(&self) -> Vec<(String, i64)> {
        let mut gathered = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *gathered).into_iter().collect()
    }
}

pub(super) fn start(app: &App, tasks: &Tasks) {
    Runner::new(app, "unknown bounces", STORED).later().start(tasks, Storing(app.clone()));
}

struct Storing(App);

impl Work for Storing {
    async fn round(&mut self) -> Result<Next> {
        self.0.store_unknown_bounces().await?;
        Ok(Next::Woken)
    }

    async fn stop(&mut self) {
        if let Err(error) = self.0.store_unknown_bounces().await {
            tracing::warn!(%error, "the last counts of unknown bounces could not be stored");
        }
    }
}

impl App {
    /// Counts the words of a report that no rule knows.
    pub(super) async fn note_unknown(
        &self,
        project: ProjectNumber,
        id: EmailId,
        happening: &Happening,
    ) -> Result<()> {
        let Happening::Bounced(bounce) = happening else { return Ok(()) };
        if bounce.class == BounceClass::Unknown {
            let parties = self.read(body!(async |rx| mail::parties(rx, project, id).await)).await?;
            let parties: Vec<&str> = parties.iter().map(String::as_str).collect();
            self.0.feedback.unknown_bounces.note(&bounce.text, &parties);
        }
        Ok(())
    }

    /// Counts the reply of a next hop, if no rule knows it.
    pub(crate) fn note_reply(&self, class: Option<BounceClass>, text: &str, addresses: &[&str]) {
        if class == Some(BounceClass::Unknown) {
            self.0.feedback.unknown_bounces.note(text, addresses);
        }
    }

    async fn store_unknown_bounces(&self) -> Result<()> {
        let said = self.0.feedback.unknown_bounces.take();
        if said.is_empty() {
            return Ok(());
        }
        let now = self.clock().now();
        self.write_in_background(body!(async |tx| {
            unknown_bounce::count(tx, &said, now).await?;
            unknown_bounce::trim(tx, KEPT).await?;
            Ok(())
        }))
        .await
    }

    /// The texts that were said most often and that no rule knows.
    pub async fn unknown_bounces(&self, limit: i64) -> Result<Vec<UnknownBounce>> {
        self.read(body!(async |rx| unknown_bounce::most_frequent(rx, limit).await)).await
    }
}
