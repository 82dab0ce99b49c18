//! Lets a test move the clock, so that hours pass at once. This is in builds with debug assertions only.
//!
//! The harness names a socket, and says by how much the clock is ahead when the process begins. Later it connects and
//! writes another number of milliseconds. The answer has two lines: the first when the time is taken over, the second
//! when the background work has had the rounds that became due. What these rounds started may go on.
//!
//! A move is for the process what a sleep of the machine is: leases that are held meanwhile run out. So tests move the
//! clock while nothing is under way, unless that is what they look at.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use mailwright_app::background::tasks::Tasks;
use mailwright_core::time::Clock;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};

/// The socket that the process listens on.
const SOCKET: &str = "MAILWRIGHT_TEST_CLOCK";
/// By how many milliseconds the clock is ahead of the system's when the process begins.
const AHEAD: &str = "MAILWRIGHT_TEST_CLOCK_AHEAD_MS";
/// How long rounds are waited for.
const PATIENCE: Duration = Duration::from_secs(20);

/// The clock that a process begins with.
pub(crate) fn clock() -> Clock {
    let clock = Clock::system();
    if let Some(ahead) = std::env::var(AHEAD).ok().and_then(|ahead| ahead.parse().ok()) {
        clock.move_to(Duration::from_millis(ahead));
    }
    clock
}

/// Moves the clock as the harness says, if one started this process.
pub(crate) fn follow(tasks: &Tasks) -> Result<()> {
    let Some(socket) = std::env::var_os(SOCKET).map(PathBuf::from) else { return Ok(()) };
    // of a process that was killed
    let _ = std::fs::remove_file(&socket);
    let listener = UnixListener::bind(&socket).with_context(|| format!("{SOCKET}: {}", socket.display()))?;
    let following = tasks.clone();
    tasks.spawn("test clock", async move {
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = following.stopping() => break,
            };
            if let Ok((stream, _)) = accepted
                && let Err(error) = answer(stream, &following).await
            {
                tracing::warn!(%error, "the clock was not moved");
            }
        }
        let _ = std::fs::remove_file(&socket);
    });
    Ok(())
}

async fn answer(stream: UnixStream, tasks: &Tasks) -> Result<()> {
    let (reader, mut writer) = stream.into_split();
    let mut line = String::new();
    BufReader::new(reader).read_line(&mut line).await?;
    let ahead = line.trim().parse().context("a number of milliseconds")?;
    tasks.move_clock(Duration::from_millis(ahead));
    writer.write_all(b"taken\n").await?;
    let late = tasks.caught_up(PATIENCE).await;
    let done = if late.is_empty() { "done\n".to_owned() } else { format!("late: {}\n", late.join(", ")) };
    Ok(writer.write_all(done.as_bytes()).await?)
}
