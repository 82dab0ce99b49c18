//! Which mail servers that offer CHUNKING (RFC 3030) take content by BDAT.
//!
//! Some do not know the command, refuse it, or break off at it. The first mail to a host finds that out with one line
//! ([`Connection::content`]). What follows goes in one chunk, or by DATA. A mail at which a host turned out to take no
//! chunks was not taken: it comes back at once, without an attempt.

use std::time::Duration;

use mailwright_core::time::Timestamp;
use mailwright_mail::smtp::{Connection, ContentError, Reply};

use super::remembered::Remembered;

/// How long it counts what a host makes of BDAT.
const KNOWN_FOR: Duration = Duration::from_hours(6);

/// What a host makes of BDAT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Chunks {
    Taken,
    Refused,
}

/// The hosts of which that is known.
pub(super) struct Chunking(Remembered<String, Chunks>);

impl Default for Chunking {
    fn default() -> Self {
        Self(Remembered::lasting(KNOWN_FOR))
    }
}

impl Chunking {
    /// Has the content that follows on a connection go as its host takes it. To be called before an envelope.
    pub(super) fn prepare(&self, connection: &mut Connection, host: &str, now: Timestamp) {
        match self.0.get(&host.to_owned(), now) {
            Some(Chunks::Taken) => connection.trust_chunks(),
            Some(Chunks::Refused) => connection.stop_chunking(),
            None => {}
        }
    }

    /// Takes note of what came of a content.
    pub(super) fn learn(
        &self,
        connection: &Connection,
        host: &str,
        said: &Result<Reply, ContentError>,
        now: Timestamp,
    ) {
        let host = host.to_owned();
        match said {
            Err(ContentError::NoChunks { error }) => {
                tracing::info!(
                    host,
                    error,
                    "a mail server offers CHUNKING and takes no BDAT, mail goes by DATA"
                );
                self.0.put(host, Chunks::Refused, now);
            }
            // of several servers behind one name, the one that takes no chunks counts
            Ok(_) | Err(ContentError::Refused(_)) => {
                if connection.takes_chunks() && self.0.get(&host, now).is_none() {
                    self.0.put(host, Chunks::Taken, now);
                }
            }
            // it may be that the host takes no chunks any more: the next mail finds out
            Err(ContentError::LostBefore { .. } | ContentError::InDoubt { .. }) => {
                if connection.sends_chunks() {
                    self.0.forget(&host);
                }
            }
        }
    }
}

/// Why a mail waits that comes back from a host that takes no chunks.
pub(super) fn goes_by_data(host: &str, error: &str) -> String {
    format!("{host} offers CHUNKING and does not take BDAT: {error}. The mail goes by DATA.")
}
