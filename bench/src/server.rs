//! The program that is measured, as a process.

use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};

use crate::http::{Connection, get};

/// How long a start or a stop may take.
const PATIENCE: Duration = Duration::from_secs(90);

/// Settings of every process: no limits on requests, nothing that leaves the machine.
const COMMON: [(&str, &str); 5] = [
    ("MAILWRIGHT_RATE_LIMIT_PER_MINUTE", "0"),
    ("MAILWRIGHT_SENDING_PER_SECOND", "0"),
    ("MAILWRIGHT_SECRET", "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"),
    ("MAILWRIGHT_DNS_SERVER", "127.0.0.1:9"),
    ("MAILWRIGHT_LOG", "warn"),
];

/// Variables for a process.
pub(crate) type Variables = Vec<(&'static str, String)>;

/// The program.
#[derive(Debug, Clone)]
pub(crate) struct Program(PathBuf);

impl Program {
    /// The program named by `MAILWRIGHT_BIN`, or the one beside this one.
    pub(crate) fn find() -> Result<Self> {
        let named = std::env::var_os("MAILWRIGHT_BIN").filter(|path| !path.is_empty());
        let path = match named {
            Some(path) => PathBuf::from(path),
            None => std::env::current_exe()?.with_file_name("mailwright"),
        };
        let missing =
            || format!("{} is missing: run `cargo build --release`, or set MAILWRIGHT_BIN", path.display());
        let path = path.canonicalize().with_context(missing)?;
        Ok(Self(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Runs a command to its end and returns what it printed.
    pub(crate) async fn run(&self, arguments: &[&str], variables: &Variables) -> Result<String> {
        let mut command = self.command(variables);
        command.args(arguments).stdin(Stdio::null());
        let output = tokio::task::spawn_blocking(move || command.output()).await??;
        ensure!(
            output.status.success(),
            "`mailwright {}` failed ({}):\n{}{}",
            arguments.join(" "),
            output.status,
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(String::from_utf8(output.stdout)?)
    }

    /// Starts a command, and sends what it prints to a file.
    pub(crate) fn spawn(&self, arguments: &[&str], variables: &Variables, output: &Path) -> Result<Job> {
        let output = std::fs::File::create(output)?;
        let mut command = self.command(variables);
        command.args(arguments).stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output);
        Ok(Job { child: command.spawn()? })
    }

    fn command(&self, variables: &Variables) -> Command {
        let mut command = Command::new(&self.0);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("MAILWRIGHT_") {
                command.env_remove(name);
            }
        }
        command.envs(COMMON).envs(variables.iter().map(|(name, value)| (name, value)));
        command
    }
}

/// A command under way. Killed when it is dropped.
#[derive(Debug)]
pub(crate) struct Job {
    child: Child,
}

impl Job {
    /// How it ended, if it did.
    pub(crate) fn ended(&mut self) -> Result<Option<ExitStatus>> {
        Ok(self.child.try_wait()?)
    }

    /// The number of its process.
    pub(crate) fn process(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn memory(&self) -> Result<Memory> {
        Memory::of(&self.child)
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        kill(&mut self.child);
    }
}

/// A running `mailwright serve`. Killed when it is dropped.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    port: u16,
    log: PathBuf,
}

/// Memory of a process in megabytes (10^6 bytes).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Memory {
    /// Resident, files mapped or cached included.
    pub(crate) resident: f64,
    /// Resident and of the process alone.
    pub(crate) anonymous: f64,
    /// The most that was resident since the start.
    pub(crate) peak: f64,
}

impl Memory {
    fn of(child: &Child) -> Result<Self> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id()))?;
        let field = |name: &str| -> Result<f64> {
            let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            let kibibytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<f64>().ok());
            Ok(kibibytes.with_context(|| format!("/proc shows no {name}"))? * 1024.0 / 1e6)
        };
        Ok(Self { resident: field("VmRSS")?, anonymous: field("RssAnon")?, peak: field("VmHWM")? })
    }
}

impl Server {
    /// Starts a server and waits until `/ready` answers 200; returns how long that took as well. The log goes to a
    /// file in `folder`.
    pub(crate) async fn start(
        program: &Program,
        folder: &Path,
        variables: &Variables,
    ) -> Result<(Self, Duration)> {
        let port = free_port()?;
        let log = folder.join(format!("server-{port}.log"));
        let output = std::fs::File::create(&log)?;
        let mut command = program.command(variables);
        command
            .env("MAILWRIGHT_LISTEN", format!("127.0.0.1:{port}"))
            .env("MAILWRIGHT_BASE_URL", format!("http://127.0.0.1:{port}"))
            .arg("serve")
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output);
        let since = Instant::now();
        let child = command.spawn().context("the server cannot be started")?;
        let mut server = Self { child, port, log };
        loop {
            if is_ready(port).await {
                return Ok((server, since.elapsed()));
            }
            if let Some(status) = server.child.try_wait()? {
                bail!("the server ended while starting ({status}); its log:\n{}", server.last_words());
            }
            ensure!(
                since.elapsed() < PATIENCE,
                "the server was not ready in time; its log:\n{}",
                server.last_words()
            );
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// The end of the log.
    pub(crate) fn last_words(&self) -> String {
        let log = String::from_utf8_lossy(&std::fs::read(&self.log).unwrap_or_default()).into_owned();
        let lines: Vec<_> = log.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }

    /// The number of its process.
    pub(crate) fn process(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn memory(&self) -> Result<Memory> {
        Memory::of(&self.child)
    }

    /// Stops the server in order and waits for its end. Returns its memory just before.
    pub(crate) async fn stop(mut self) -> Result<Memory> {
        let memory =
            self.memory().with_context(|| format!("the server is gone; its log:\n{}", self.last_words()))?;
        let pid = Pid::from_raw(self.child.id().try_into()?).context("no process id")?;
        kill_process(pid, Signal::TERM)?;
        let since = Instant::now();
        while self.child.try_wait()?.is_none() {
            ensure!(
                since.elapsed() < PATIENCE,
                "the server did not stop in time; its log:\n{}",
                self.last_words()
            );
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Ok(memory)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        kill(&mut self.child);
    }
}

fn kill(child: &mut Child) {
    if !matches!(child.try_wait(), Ok(Some(_))) {
        let _ = child.kill();
        let _ = child.wait();
    }
}

async fn is_ready(port: u16) -> bool {
    let asked = async {
        let mut connection = Connection::open(port).await?;
        anyhow::Ok(connection.exchange(&get("/ready", None)).await?.status)
    };
    matches!(tokio::time::timeout(Duration::from_secs(5), asked).await, Ok(Ok(200)))
}

/// A port that is free now, below those that the kernel gives to outgoing connections.
fn free_port() -> Result<u16> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    const FIRST: u32 = 10_000;
    const COUNT: u32 = 10_000;
    for _ in 0..COUNT {
        let next = std::process::id().wrapping_mul(7_919).wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
        let port = (FIRST + next % COUNT) as u16;
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return Ok(port);
        }
    }
    bail!("no port of 127.0.0.1 is free")
}
