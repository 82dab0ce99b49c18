//! Has opens and clicks be judged again, when more is known of machines than before.

use mailwright_core::ids::{EmailId, ProjectNumber};
use mailwright_store::body;
use mailwright_store::feedback::hit;

use crate::App;
use crate::error::Result;

/// Hits that are due again with one transaction.
const BATCH: i64 = 500;

impl App {
    /// Has all opens and clicks of a project be judged again that are stored one by one: the worker does it, and
    /// corrects the counters.
    pub async fn judge_hits_again(&self, project: ProjectNumber) -> Result<()> {
        let mut after = EmailId::from_bytes([0; 16]);
        loop {
            let now = self.clock().now();
            let last = self
                .write_in_background(body!(async |tx| {
                    Ok(hit::judge_again(tx, project, after, BATCH, now).await?)
                }))
                .await?;
            match last {
                Some(last) => after = last,
                None => return Ok(()),
            }
        }
    }
}
