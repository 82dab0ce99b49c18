//! How far warm-ups have come, for operators, who can end them or begin them anew.

use mailwright_core::pacing::warm_up::{Standing, WarmUp};
use mailwright_core::time::Timestamp;
use mailwright_store::body;
use mailwright_store::delivery::warm_up as store;

use super::subject::Subject;
use crate::App;
use crate::error::Result;

/// Subjects that are read at a time.
const PAGE: i64 = 500;

/// How far a subject has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// What warms up.
    pub subject: Subject,
    /// Where its plan stands; `None` when it is over.
    pub standing: Option<Standing>,
    /// When mail of it was last counted.
    pub updated_at: Timestamp,
}

impl App {
    /// How far all addresses and domains have come that a warm-up was begun for.
    pub async fn warm_ups(&self) -> Result<Vec<Progress>> {
        let (plan, now) = (&self.settings().warm_up.plan, self.clock().now());
        let (mut found, mut after) = (Vec::new(), String::new());
        loop {
            let from = after.clone();
            let page = self.read(body!(async |rx| store::all(rx, &from, PAGE).await)).await?;
            let Some(last) = page.last() else { return Ok(found) };
            after.clone_from(&last.subject);
            found.extend(page.into_iter().filter_map(|row| {
                let progress: WarmUp = serde_json::from_str(&row.progress).unwrap_or_default();
                let standing = progress.standing(plan, now);
                Some(Progress {
                    subject: Subject::parse(&row.subject)?,
                    standing,
                    updated_at: row.updated_at,
                })
            }));
        }
    }

    /// Ends the warm-up of a subject, which receivers know already, or begins it anew.
    pub async fn set_warm_up(&self, subject: &Subject, is_over: bool) -> Result<()> {
        let now = self.clock().now();
        let progress = if is_over { WarmUp::finished(now) } else { WarmUp::default() };
        let row = (subject.to_string(), serde_json::to_string(&progress).unwrap_or_else(|_| "{}".into()));
        self.write(body!(async |tx| {
            store::lock(tx, std::slice::from_ref(&row.0), now).await?;
            Ok(store::put(tx, std::slice::from_ref(&row), now).await?)
        }))
        .await?;
        tracing::info!(%subject, is_over, "an operator has set a warm-up");
        Ok(())
    }
}
