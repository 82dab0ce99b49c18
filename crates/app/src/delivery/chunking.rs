//! Which mail servers that offer CHUNKING (RFC 3030) get content by DATA nevertheless.
//!
//! Some do not know BDAT, refuse it, or break off at it. The first content on each connection finds that out with one
//! line ([`Connection::content`]). That a server takes chunks is never known beyond a connection: behind a name may be
//! several servers, and one that does not know BDAT would read what users wrote as commands. That it takes none is
//! remembered by its name. A mail at which that turned out was not taken: it comes back at once, without an attempt.

use std::time::Duration;

use mailwright_core::time::Timestamp;
use mailwright_mail::smtp::{Connection, ContentError, Reply};

use super::remembered::Remembered;

/// How long a host gets content by DATA.
const KNOWN_FOR: Duration = Duration::from_hours(6);

/// The hosts that get content by DATA, although they offer CHUNKING.
pub(super) struct Chunking(Remembered<String, ()>);

impl Default for Chunking {
    fn default() -> Self {
        Self(Remembered::lasting(KNOWN_FOR))
    }
}

impl Chunking {
    /// Has the content that follows on a connection go as its host takes it. To be called before an envelope.
    pub(super) fn prepare(&self, connection: &mut Connection, host: &str, now: Timestamp) {
        if self.0.get(&host.to_owned(), now).is_some() {
            connection.stop_chunking();
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
        let (error, what) = match said {
            Err(ContentError::NoChunks { error }) => (error, "it does not take BDAT"),
            // It may always break off there, and would leave every mail in doubt. After an accident DATA costs little.
            Err(ContentError::LostBefore { error } | ContentError::InDoubt { error })
                if connection.sends_chunks() =>
            {
                (error, "content was lost by BDAT")
            }
            Ok(_) | Err(_) => return,
        };
        tracing::info!(host, error, "a mail server offers CHUNKING and gets mail by DATA: {what}");
        self.0.put(host.to_owned(), (), now);
    }
}

/// Why a mail waits that comes back from a host that takes no chunks.
pub(super) fn goes_by_data(host: &str, error: &str) -> String {
    format!("{host} offers CHUNKING and does not take BDAT: {error}. The mail goes by DATA.")
}
