//! How many connections there can be, computed from the limit on open files.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::beyond::BEYOND_CAP;
use super::connection::Bounds;

/// What connections are held to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Connections at once.
    pub(crate) connections: usize,
    /// Those of one client; `None` where all come from a proxy.
    pub(crate) connections_per_client: Option<usize>,
    /// Connections that bring mail, at once.
    pub(crate) inbound: usize,
    /// How long what may take.
    pub(crate) bounds: Bounds,
}

/// Most connections where nothing is said.
const MOST: usize = 8192;
/// Fewest, however few descriptors there are.
const FEWEST: usize = 16;
/// Descriptors for everything but clients, the mail server, the database and outgoing requests: files, pipes, DNS, and
/// those of connections that are being closed.
const OWN: usize = 96;

/// How many connections of clients there may be, where `files` can be open and others need `taken` of them.
pub(crate) fn connections(wanted: usize, files: usize, taken: usize) -> usize {
    let room = files.saturating_sub(OWN + BEYOND_CAP + taken).max(FEWEST);
    match wanted {
        0 => room.min(MOST),
        wanted => wanted.min(room),
    }
}

/// How many connections for mail that comes in there may be: at most a quarter of the `files` that can be open.
pub(crate) fn inbound_connections(wanted: usize, files: usize) -> usize {
    wanted.min(files / 4)
}

/// Raises the limit on open files as far as it goes without asking anybody, and returns it. Shells and service
/// managers set a low one for programs that cannot handle more.
pub(crate) fn raise_open_files() -> usize {
    let limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
        if let Err(error) = setrlimit(Resource::Nofile, raised) {
            tracing::warn!(%error, "the limit on open files could not be raised");
        }
    }
    getrlimit(Resource::Nofile)
        .current
        .map_or(usize::MAX, |files| usize::try_from(files).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_room_for_everything_else() {
        assert_eq!(connections(0, usize::MAX, 48), MOST);
        assert_eq!(connections(20_000, usize::MAX, 48), 20_000);
        assert_eq!(connections(0, 1024, 48), 1024 - 48 - OWN - BEYOND_CAP);
        assert_eq!(connections(2000, 1024, 48), 1024 - 48 - OWN - BEYOND_CAP);
        assert_eq!(connections(100, 1024, 48), 100);
        assert_eq!(connections(0, 64, 48), FEWEST);
    }
}
