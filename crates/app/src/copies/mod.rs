//! Continuous copies of the embedded database, in a folder or a bucket.
//!
//! The store reads what is committed from the write-ahead log and leaves it in a spool
//! (`mailwright_store::database::sqlite::copies`). Here it is shipped ([`shipping`]), snapshots are made and old copies
//! removed ([`snapshots`], [`retention`]), and copies are read back ([`mod@fetch`]). [`catalogue`] has the names of the
//! objects, [`envelope`] what is around their bytes. `docs/adr/0069-continuous-copies.md` has the reasons.
//!
//! Nothing in the service waits for the destination. What cannot be shipped waits on this machine up to a bound; beyond
//! it the line of copies ends, and another one begins with a snapshot.

mod catalogue;
mod destination;
mod envelope;
mod fetch;
pub(crate) mod metrics;
mod pictures;
mod retention;
mod shared;
mod shipping;
mod snapshots;

use mailwright_store::Result;
use mailwright_store::database::sqlite::copies::{Copies, Follow};

pub use self::catalogue::Manifest;
pub use self::destination::{Destination, Fault};
pub use self::fetch::{Plan, Span, Unread, fetch, plan, spans};
pub use self::shared::{CopySettings, InstanceFiles};

use crate::App;
use crate::background::tasks::Tasks;

/// The folder in the data directory for what waits, which is no part of a backup.
pub const FOLDER: &str = "copies";

/// Makes copies as long as the service runs. Only the process that serves the embedded database may.
pub fn start(app: &App, tasks: &Tasks, settings: CopySettings, files: InstanceFiles) -> Result<()> {
    let follow = Follow {
        folder: files.data_dir.join(FOLDER),
        spool_bytes: settings.spool_bytes,
        every: settings.every,
    };
    let Some(copies) = Copies::new(&app.0.db, &follow, app.clock())? else { return Ok(()) };
    let metrics = app.metrics().copies.clone();
    let shared =
        shared::Shared::new(copies, settings, files, app.clock().clone(), app.0.dns.clone(), metrics);
    shipping::start(&shared, tasks);
    snapshots::start(&shared, tasks);
    Ok(())
}
