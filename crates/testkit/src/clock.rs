//! The time of the servers under test, which a test moves forward.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

/// How long a server may take to answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// The clock of all servers on one database.
#[derive(Debug)]
pub(crate) struct MovedClock {
    ahead: AtomicU64,
    /// Where the sockets of the servers are.
    folder: PathBuf,
}

impl MovedClock {
    pub(crate) fn new(folder: &Path) -> Self {
        Self { ahead: AtomicU64::new(0), folder: folder.to_owned() }
    }

    /// By how much it is ahead of the machine's.
    pub(crate) fn ahead(&self) -> Duration {
        Duration::from_millis(self.ahead.load(Ordering::SeqCst))
    }

    /// What a process of the program is told at its start.
    pub(crate) fn environment(&self, port: u16) -> [(&'static str, String); 2] {
        [
            ("MAILWRIGHT_TEST_CLOCK", self.folder.join(format!("clock-{port}")).display().to_string()),
            ("MAILWRIGHT_TEST_CLOCK_AHEAD_MS", self.ahead().as_millis().to_string()),
        ]
    }

    /// Moves the clock of every server that runs, and waits for the rounds that become due. Returns how many run.
    pub(crate) async fn advance(&self, by: Duration) -> usize {
        let by = by.as_millis() as u64;
        let ahead = self.ahead.fetch_add(by, Ordering::SeqCst) + by;
        let mut servers = Vec::new();
        for entry in std::fs::read_dir(&self.folder).unwrap().map(Result::unwrap) {
            if entry.file_name().to_string_lossy().starts_with("clock-")
                // nobody listens on that of a server that was killed
                && let Ok(stream) = UnixStream::connect(entry.path()).await
            {
                servers.push(Told::new(stream));
            }
        }
        for server in &mut servers {
            server.write.write_all(format!("{ahead}\n").as_bytes()).await.unwrap();
        }
        for expected in ["taken", "done"] {
            for server in &mut servers {
                let line = tokio::time::timeout(PATIENCE, server.lines.next_line()).await;
                let line = line.expect("a server answers").unwrap().unwrap_or_default();
                assert_eq!(line, expected, "what became due when the clock was moved");
            }
        }
        servers.len()
    }
}

/// A server that is told the time.
struct Told {
    lines: Lines<BufReader<OwnedReadHalf>>,
    write: OwnedWriteHalf,
}

impl Told {
    fn new(stream: UnixStream) -> Self {
        let (read, write) = stream.into_split();
        Self { lines: BufReader::new(read).lines(), write }
    }
}
