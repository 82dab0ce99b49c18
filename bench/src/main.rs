//! Measures Mailwright against what the same machine allows, in one run: see [`Options`].
//!
//! Each figure that has a bar stands beside a limit that was measured minutes before on the same disk and processor,
//! so the ratio says something on any machine, and on one that others use too.

mod case;
mod cpu;
mod engine;
mod history;
mod http;
mod letter;
mod limit;
mod load;
mod machine;
mod names;
mod options;
mod people;
mod random;
mod report;
mod seed;
mod server;
mod sink;
mod stats;
mod year;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, anyhow};
use clap::Parser;
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};

use crate::engine::{Cluster, Host};
use crate::options::{Engines, Options};
use crate::report::{Report, progress};
use crate::server::Program;

#[tokio::main]
async fn main() -> ExitCode {
    let options = Options::parse();
    // Whichever way this ends, what was started is dropped with the future: servers are killed, data is removed.
    let outcome = tokio::select! {
        outcome = run(&options) => outcome,
        () = interrupted() => Err(anyhow!("interrupted")),
    };
    let status = match outcome {
        Ok(missed) if missed > 0 && options.strict => 1,
        Ok(_) => 0,
        Err(error) => {
            progress(format_args!("{error:?}"));
            2
        }
    };
    // threads that are in the middle of a measurement are not waited for
    std::process::exit(status)
}

/// Measures and reports. Returns how many bars were missed.
async fn run(options: &Options) -> Result<usize> {
    let begin = Instant::now();
    rustls::crypto::ring::default_provider()
        .install_default()
        .map_err(|_| anyhow!("a TLS provider is installed already"))?;
    let program = Program::find()?;
    let hosts = hosts(options.engine).await?;
    let parent = options.dir.clone().unwrap_or_else(std::env::temp_dir);
    let folder = tempfile::Builder::new()
        .prefix("mailwright-bench.")
        .tempdir_in(&parent)
        .with_context(|| format!("no folder for the data can be made in {}", parent.display()))?;
    let folder_path = folder.path().canonicalize()?;

    let mut facts = machine::facts(&folder_path)?;
    for host in &hosts {
        if let Host::Postgres(cluster) = host {
            facts.insert("PostgreSQL".into(), json!(cluster.version));
        }
    }
    facts.insert("program".into(), json!(program.path().display().to_string()));
    facts.insert("version".into(), json!(program.run(&["--version"], &Vec::new()).await?.trim()));
    if options.contacts() > 0 {
        facts.insert("contacts".into(), json!(options.contacts()));
    }
    facts.insert("seconds per measurement".into(), json!(options.measured().as_secs()));
    print(&machine::show(&facts));

    let mut report = Report::default();
    if facts["flush to disk, p50 ms"].as_f64().is_some_and(|p50| p50 < 0.02) {
        report.note(
            "a flush to disk takes no time here: the data is not on a disk, or the disk does not flush",
        );
    }
    let mut failures = Vec::new();
    for host in &hosts {
        // what was measured until then is shown all the same
        if let Err(error) = Box::pin(case::measure(options, &program, host, &folder_path, &mut report)).await
        {
            report.note(format!("{} was given up: {error:#}", host.engine()));
            failures.push(error);
        }
    }
    facts.insert("minutes".into(), json!((begin.elapsed().as_secs_f64() / 6.0).round() / 10.0));
    print(&report.to_string());
    if let Some(path) = &options.json {
        save(path, serde_json::to_string_pretty(&report.json(&facts))?)?;
    }
    if let Some(path) = &options.markdown {
        save(path, report.markdown(&facts))?;
    }
    match failures.pop() {
        Some(error) => Err(error),
        None => Ok(report.missed()),
    }
}

fn save(path: &Path, text: String) -> Result<()> {
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

async fn hosts(engines: Engines) -> Result<Vec<Host>> {
    let mut hosts = Vec::new();
    if engines != Engines::Postgres {
        hosts.push(Host::Sqlite);
    }
    if engines != Engines::Sqlite {
        hosts.push(Host::Postgres(Arc::new(Cluster::from_environment().await?)));
    }
    Ok(hosts)
}

async fn interrupted() {
    let signals = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()].map(signal);
    let [Ok(mut interrupt), Ok(mut terminate), Ok(mut hangup)] = signals else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        _ = hangup.recv() => {}
    }
}

#[expect(clippy::print_stdout, reason = "the report is what this program is for")]
fn print(text: &str) {
    println!("{text}");
}
