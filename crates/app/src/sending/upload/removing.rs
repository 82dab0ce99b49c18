//! Removes objects from the store: those of pictures that were deleted, with their project or alone, and those that no
//! picture refers to because an upload did not get to its end.

use std::time::Duration;

use mailwright_store::body;
use mailwright_store::sending::upload_removal as removal;

use crate::App;
use crate::background::runner::every;
use crate::background::tasks::Tasks;
use crate::error::{Error, Result};

/// How long an upload may take before its object counts as left behind. All limits of an upload together are minutes.
pub(super) const GRACE: Duration = Duration::from_hours(1);
/// When an object is tried again whose removal failed, or began in a process that died.
const PAUSE: Duration = Duration::from_mins(1);
/// How often objects are looked for.
const PERIOD: Duration = Duration::from_secs(2);
/// Objects that are removed in one step.
const AT_ONCE: usize = 100;

/// Starts the background work.
pub(crate) fn start(app: &App, tasks: &Tasks) {
    every(app, tasks, "uploads", PERIOD, |app| async move { app.remove_objects().await });
}

impl App {
    /// Removes the objects that are due, step by step. A step that is interrupted is done again: removing an object twice
    /// does no harm.
    async fn remove_objects(&self) -> Result<()> {
        loop {
            let now = self.0.clock.now();
            let claimed = self.write_in_background(body!(async |tx| {
                Ok(removal::claim(tx, now, now.plus(PAUSE), AT_ONCE).await?)
            }));
            let mut claimed = claimed.await?;
            if claimed.is_empty() {
                return Ok(());
            }
            let mut failed = None;
            let mut removed = 0;
            for object in &claimed {
                match self.objects().remove(object).await {
                    Ok(()) => removed += 1,
                    Err(error) => {
                        failed = Some(error);
                        break;
                    }
                }
            }
            claimed.truncate(removed);
            if !claimed.is_empty() {
                self.write_in_background(body!(async |tx| Ok(removal::done(tx, &claimed).await?))).await?;
            }
            if let Some(error) = failed {
                return Err(Error::Unavailable(format!("objects are removed later: {error}")));
            }
        }
    }
}
