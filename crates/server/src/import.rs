//! `mailwright import`: contacts from a CSV file of any size.

use std::fs::File;
use std::io::{IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use mailwright_app::audience::import::{Chunk, Chunks, NO_ROWS};
use mailwright_core::import::{Columns, RowFailure};
use mailwright_core::short_text::counted;
use tokio::sync::mpsc;

use crate::config::Config;
use crate::printable::printable;
use crate::{print, setup};

/// How much of the file is read at a time.
const BLOCK: usize = 256 * 1024;
/// Chunks that are read ahead while one is written.
const AHEAD: usize = 4;
/// How often progress is told where there is no terminal.
const TELL: Duration = Duration::from_secs(5);
/// Failed rows that are shown, each on a line.
const SHOWN: u64 = 1000;
/// What the program ends with when it imported the file except for some rows.
const SOME_FAILED: u8 = 2;

#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// Id of the project, or the name with which `bootstrap` created it, if no other project has that name.
    #[arg(long)]
    project: String,
    /// Whether contacts that the import creates are subscribed, for rows without a value in the column subscribed.
    #[arg(long, value_name = "BOOLEAN", default_value_t = true, action = clap::ArgAction::Set)]
    subscribed: bool,
    /// Verify the addresses: rows whose address cannot receive mail fail, with the reason.
    #[arg(long)]
    verify: bool,
    /// CSV in UTF-8 with a column named email.
    file: PathBuf,
}

/// Imports the file and prints what came of it. Harmless when repeated, so an import that was interrupted is done
/// again.
pub(crate) async fn import(config: &Config, args: ImportArgs) -> Result<ExitCode> {
    let file = File::open(&args.file).with_context(|| format!("cannot open {}", args.file.display()))?;
    let found = file.metadata().with_context(|| format!("cannot read {}", args.file.display()))?;
    if found.is_dir() {
        bail!("{} is a folder", args.file.display());
    }
    let setup = setup::open_existing(config).await?;
    let app = setup.app(config).await?;
    let project = app.find_project(&args.project).await?;
    let (chunks, mut read) = mpsc::channel(AHEAD);
    let reader = tokio::task::spawn_blocking(move || read_file(file, &chunks));
    let mut report = Report::new(found.len());
    while let Some(chunk) = read.recv().await {
        let chunk = if args.verify { Arc::new(app.verified_chunk(&project, &chunk).await?) } else { chunk };
        let applied = app.import_chunk(&project, &chunk, args.subscribed).await;
        let applied = applied.with_context(|| report.interrupted(&args.file))?;
        report.created += applied.created;
        report.updated += applied.updated;
        report.note(&chunk, &applied.failures);
    }
    let outcome = reader.await.map_err(|error| anyhow!("the file could not be read: {error}"))?;
    report.bar.finish_and_clear();
    outcome.map_err(|error| anyhow!("{}", report.unreadable(&args.file, &error)))?;
    if report.rows() + report.failed == 0 {
        bail!("{}: {NO_ROWS}", args.file.display());
    }
    print(&format!(
        "Imported {}: {} created, {} updated. {} failed.",
        counted(report.rows(), "row"),
        counted(report.created, "contact"),
        report.updated,
        counted(report.failed, "row")
    ))?;
    drop(app);
    setup.db.close().await;
    Ok(if report.failed == 0 { ExitCode::SUCCESS } else { ExitCode::from(SOME_FAILED) })
}

/// Reads the file ahead of the database.
fn read_file(mut file: File, out: &mpsc::Sender<Arc<Chunk<Columns>>>) -> Result<(), String> {
    // whoever does not receive any more has failed, and says why
    let send = |chunk: Chunk<Columns>| out.blocking_send(Arc::new(chunk)).is_ok();
    let mut chunks = Chunks::<Columns>::default();
    let mut block = vec![0; BLOCK];
    loop {
        let length = match file.read(&mut block) {
            Ok(0) => break,
            Ok(length) => length,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error.to_string()),
        };
        let mut rest = &block[..length];
        while let (taken, Some(chunk)) = chunks.read(rest)? {
            rest = &rest[taken..];
            if !send(chunk) {
                return Ok(());
            }
        }
    }
    send(chunks.finish()?);
    Ok(())
}

/// What was done so far, and how people are told.
struct Report {
    bar: ProgressBar,
    told: Instant,
    size: u64,
    created: u64,
    updated: u64,
    failed: u64,
}

impl Report {
    fn new(size: u64) -> Self {
        let bar =
            if std::io::stderr().is_terminal() { ProgressBar::new(size) } else { ProgressBar::hidden() };
        let style = ProgressStyle::with_template("{bar:40} {percent:>3}% {msg}, {eta} left");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self { bar, told: Instant::now(), size, created: 0, updated: 0, failed: 0 }
    }

    fn note(&mut self, chunk: &Chunk<Columns>, failed: &[RowFailure]) {
        let mut failures: Vec<_> = chunk.failures.iter().chain(failed).collect();
        failures.sort_by_key(|failure| failure.row);
        for failure in failures {
            self.failed += 1;
            if self.failed <= SHOWN {
                self.tell(&format!("line {}: {}: {}", failure.row, failure.email, failure.error));
            } else if self.failed == SHOWN + 1 {
                self.tell("further rows that fail are counted and not shown");
            }
        }
        self.bar.set_position(chunk.end.bytes);
        self.bar.set_message(format!("{} rows", self.rows()));
        if self.bar.is_hidden() && self.told.elapsed() >= TELL {
            self.told = Instant::now();
            let percent = chunk.end.bytes * 100 / self.size.max(1);
            self.tell(&format!("{percent}%: {} rows", self.rows()));
        }
    }

    fn tell(&self, line: &str) {
        self.bar.suspend(|| {
            let _ = writeln!(std::io::stderr(), "{}", printable(line));
        });
    }

    fn interrupted(&self, file: &Path) -> String {
        let rows = counted(self.rows(), "row");
        format!("the import of {} stopped after {rows}; run it again from the start", file.display())
    }

    /// What is said of a file that cannot be read to its end.
    fn unreadable(&self, file: &Path, error: &str) -> String {
        let file = file.display();
        if self.rows() + self.failed == 0 {
            return format!("{file}: {error} Nothing was imported.");
        }
        let rows = counted(self.rows(), "row");
        format!(
            "{file}: {error} The import stopped after {rows}; correct the file and import all of it \
                 again."
        )
    }

    fn rows(&self) -> u64 {
        self.created + self.updated
    }
}
