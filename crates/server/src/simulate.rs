//! `mailwright simulate`: what a workflow would do, with the events that a project recorded or with those of a file.

use std::collections::hash_map::DefaultHasher;
use std::fs::File;
use std::hash::{Hash, Hasher};
use std::io::{BufRead, BufReader, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use mailwright_api::Simulation;
use mailwright_app::App;
use mailwright_app::automation::simulation::{Rehearsed, ScriptedEvent, Which, afterwards};
use mailwright_app::automation::whom::Whom;
use mailwright_core::address::EmailAddress;
use mailwright_core::custom_data::{self, Data};
use mailwright_core::ids::WorkflowId;
use mailwright_core::project::Project;
use mailwright_core::time::Timestamp;
use serde::Deserialize;

use crate::config::Config;
use crate::printable::printable_json;
use crate::{print, setup};

/// How much of a file is held at a time, in bytes of its text: a longer one is read several times.
const HELD: u64 = 64 * 1024 * 1024;
/// The longest line of a file.
const MAX_LINE: usize = 1024 * 1024;

#[derive(Debug, Args)]
pub(crate) struct SimulateArgs {
    /// Id of the project, or the name with which `bootstrap` created it, if no other project has that name.
    #[arg(long)]
    project: String,
    /// Id of the workflow, as `GET /workflows` lists it.
    #[arg(long, value_parser = workflow_id)]
    workflow: WorkflowId,
    /// Number of the version. What is edited when left out.
    #[arg(long, value_name = "NUMBER")]
    version: Option<i64>,
    /// Number of a version to compare with.
    #[arg(long, value_name = "NUMBER")]
    compare_with: Option<i64>,
    /// Days of recorded events that are looked at.
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(i64).range(1..=365), conflicts_with = "events")]
    days: i64,
    /// Id or address of the only contact whose recorded events are looked at; all that becomes of it is told.
    #[arg(long, conflicts_with = "events")]
    contact: Option<String>,
    /// File of events to take instead of the recorded ones, a JSON object a line: email, event, at, and data.
    #[arg(long, value_name = "FILE")]
    events: Option<PathBuf>,
    /// When the rehearsal of a file ends: a date such as 2030-01-31, or with a time and an offset. A year after its last event when left out.
    #[arg(long, value_name = "DATE", requires = "events")]
    until: Option<String>,
}

fn workflow_id(text: &str) -> Result<WorkflowId, &'static str> {
    text.parse().map_err(|_| "must be the id of a workflow, a UUID, and not its name")
}

/// Rehearses the workflow and prints what it comes to, as `POST /workflows/:id/simulate` answers it.
pub(crate) async fn simulate(config: &Config, args: SimulateArgs) -> Result<ExitCode> {
    let until = args.until.as_deref().map(|text| {
        Timestamp::parse_any(text).context("--until is no date such as 2030-01-31 or 2030-01-31T09:00:00Z")
    });
    let until = until.transpose()?;
    let setup = setup::open_existing(config).await?;
    let app = setup.app(config).await?;
    let project = app.find_project(&args.project).await?;
    let which = (args.version.map_or(Which::Edited, Which::Number), args.compare_with.map(Which::Number));
    let rehearsed = match (&args.events, &args.contact) {
        (Some(path), _) => with_file(&app, &project, args.workflow, which, path, until).await?,
        (None, Some(contact)) => {
            let contact = Whom::parse(contact)?;
            app.simulate_contact(&project, args.workflow, which, args.days, contact).await?
        }
        (None, None) => with_history(&app, &project, args.workflow, which, args.days).await?,
    };
    print(&printable_json(&serde_json::to_string_pretty(&Simulation::from(rehearsed))?))?;
    drop(app);
    setup.db.close().await;
    Ok(ExitCode::SUCCESS)
}

async fn with_history(
    app: &App,
    project: &Project,
    id: WorkflowId,
    which: (Which, Option<Which>),
    days: i64,
) -> Result<Rehearsed> {
    let is_seen = std::io::stderr().is_terminal();
    let told = |contacts| {
        if is_seen {
            let _ = write!(std::io::stderr(), "\r{contacts} contacts");
        }
    };
    let rehearsed = app.simulate_all(project, id, which, days, told).await;
    if is_seen {
        let _ = writeln!(std::io::stderr());
    }
    Ok(rehearsed?)
}

/// A file is read once to see that it is good, and then in as many parts as it takes for one to fit into memory, each
/// with all events of its contacts.
async fn with_file(
    app: &App,
    project: &Project,
    id: WorkflowId,
    which: (Which, Option<Which>),
    path: &Path,
    until: Option<Timestamp>,
) -> Result<Rehearsed> {
    let size = std::fs::metadata(path).with_context(|| format!("cannot open {}", path.display()))?.len();
    let parts = size / HELD + 1;
    let mut last = None;
    read_file(path, |event| last = last.max(Some(event.at)))?;
    let last = last.with_context(|| format!("{} has no events", path.display()))?;
    let mut failed = None;
    let read = (0..parts).map_while(|part| {
        let mut events = Vec::new();
        let read = read_file(path, |event| {
            if part_of(&event.email, parts) == part {
                events.push(event);
            }
        });
        // the file was good, and changed since
        read.map_err(|error| failed = Some(error)).ok().map(|()| events)
    });
    let until = until.unwrap_or_else(|| afterwards(last));
    let rehearsed = app.simulate_events(project, id, which, read, until, None).await;
    match failed {
        Some(error) => Err(error),
        None => Ok(rehearsed?),
    }
}

fn part_of(email: &EmailAddress, parts: u64) -> u64 {
    let mut hasher = DefaultHasher::new();
    email.as_str().hash(&mut hasher);
    hasher.finish() % parts
}

/// An event as a line says it.
#[derive(Deserialize)]
struct Line {
    email: String,
    event: String,
    at: String,
    data: Option<Data>,
}

impl Line {
    fn event(self) -> Result<ScriptedEvent> {
        let email = EmailAddress::parse(&self.email).context("email is not an address")?;
        let at = Timestamp::parse_any(&self.at).context("at is not a date")?;
        if self.event.is_empty() || self.event.chars().count() > 255 {
            bail!("event must have 1 to 255 characters");
        }
        let data = self.data.unwrap_or_default();
        if let Some(issue) = custom_data::check(&data, "data").into_iter().next() {
            bail!("{}: {}", issue.field, issue.message);
        }
        Ok(ScriptedEvent { email, name: self.event, data, at })
    }
}

fn read_file(path: &Path, mut each: impl FnMut(ScriptedEvent)) -> Result<()> {
    let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    let mut file = BufReader::new(file);
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let length = (&mut file).take(MAX_LINE as u64 + 1).read_until(b'\n', &mut line);
        if length.with_context(|| format!("cannot read {}", path.display()))? == 0 {
            break;
        }
        if line.len() > MAX_LINE {
            bail!("line {number}: longer than {MAX_LINE} bytes");
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        let parsed = serde_json::from_slice::<Line>(&line).map_err(|error| {
            // the line is that of the file
            let text = error.to_string();
            let what = text.split_once(" at line ").map_or(text.as_str(), |(what, _)| what);
            anyhow!("no event in JSON, at column {}: {what}", error.column())
        });
        each(parsed.and_then(Line::event).with_context(|| format!("line {number}"))?);
    }
    Ok(())
}
