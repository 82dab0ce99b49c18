//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, ValueEnum};

/// A group of measurements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Case {
    /// Time to start, and memory.
    Process,
    /// Lists, search and lookups among all contacts.
    Contacts,
    /// POST /v1/track.
    Track,
    /// POST /v1/track in a small and in a large project.
    Scale,
    /// Counts and pages of filters over contacts and their events.
    Filter,
    /// Contacts from files.
    Import,
    /// A campaign to everybody, and mails of other kinds meanwhile.
    Campaign,
    /// Tracked segments while contacts change.
    Segments,
    /// Contacts that wait, their timers and steps, events beside workflows, and a rehearsal.
    Workflows,
    /// Mails handed to an SMTP server.
    Delivery,
    /// A million mails for ten thousand sites, most of them paused.
    Backlog,
    /// POST /v1/send.
    Send,
    /// Opens and clicks, redirects beside a campaign, and what tracking and bounces cost.
    Tracking,
    /// Mails of one project while another one asks for all it may.
    Noisy,
    /// POST /v1/track and POST /v1/send of 1, 16 and 1,000 projects.
    Projects,
    /// The feed of activity, and figures over time, of a year with many events.
    Insight,
    /// People with many events who are erased.
    Erasure,
    /// POST /v1/track while old events are removed.
    Retention,
}

impl Case {
    /// Whether it is measured on the large project.
    fn needs_large_project(self) -> bool {
        self != Self::Projects
    }
}

/// Which databases are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Engines {
    /// The embedded one.
    Sqlite,
    /// The server named by `MAILWRIGHT_TEST_POSTGRES`.
    Postgres,
    /// One after the other.
    Both,
}

/// Measures Mailwright against limits of the same machine, measured in the same run.
///
/// Build both programs with --release first. For PostgreSQL run it through scripts/with-postgres, which sets
/// `MAILWRIGHT_TEST_POSTGRES`. `MAILWRIGHT_BIN` names the program to measure; the default is the one beside this one.
#[derive(Debug, Parser)]
#[command(name = "mailwright-bench", version)]
pub(crate) struct Options {
    /// Database to measure on
    #[arg(long, value_enum, default_value = "both")]
    pub(crate) engine: Engines,

    /// Measure only these
    #[arg(long, value_enum, value_delimiter = ',', value_name = "NAME,...")]
    only: Vec<Case>,

    /// A tenth of the rows and shorter measurements, for trying things out
    #[arg(long)]
    quick: bool,

    /// Exit with status 1 when a bar is missed
    #[arg(long)]
    pub(crate) strict: bool,

    /// Write everything measured to this file as JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    /// Write everything measured to this file as tables in Markdown
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,

    /// Contacts of the large project [default: 1000000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(25_000..=10_000_000))]
    contacts: Option<u64>,

    /// Events of the past, for what looks at them [default: five for each contact; 10000000 for a year of them]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(50_000..=100_000_000))]
    events: Option<u64>,

    /// Length of one measurement under load in seconds, warm-up not included [default: 5]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=600))]
    seconds: Option<u64>,

    /// Mails of one measurement of the delivery [default: 20000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(100..=1_000_000))]
    mails: Option<u64>,

    /// Folder for the data, on the disk to measure [default: the system's temporary folder]
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
}

impl Options {
    /// Whether a case is to be measured.
    pub(crate) fn wants(&self, case: Case) -> bool {
        self.only.is_empty() || self.only.contains(&case)
    }

    /// Contacts of the large project; none where no case is measured on it.
    pub(crate) fn contacts(&self) -> usize {
        let is_needed = self.only.is_empty() || self.only.iter().any(|case| case.needs_large_project());
        if !is_needed {
            return 0;
        }
        self.contacts.unwrap_or(if self.quick { 100_000 } else { 1_000_000 }) as usize
    }

    /// Events of the past, where they are wanted.
    pub(crate) fn events(&self) -> usize {
        self.events.map_or_else(|| self.contacts() * 5, |events| events as usize)
    }

    /// Events of a year, where they are wanted.
    pub(crate) fn year(&self) -> usize {
        self.events.map_or(if self.quick { 300_000 } else { 10_000_000 }, |events| events as usize)
    }

    /// Length of one measurement under load.
    pub(crate) fn measured(&self) -> Duration {
        Duration::from_secs(self.seconds.unwrap_or(if self.quick { 2 } else { 5 }))
    }

    /// Load before a measurement that is not counted.
    pub(crate) fn warm_up(&self) -> Duration {
        Duration::from_millis(if self.quick { 300 } else { 1000 })
    }

    /// Mails of one measurement of the delivery.
    pub(crate) fn mails(&self) -> u64 {
        self.mails.unwrap_or(if self.quick { 4_000 } else { 20_000 })
    }

    /// Mails that wait for very many sites.
    pub(crate) fn waiting(&self) -> u64 {
        if self.quick { 100_000 } else { 1_000_000 }
    }

    /// How many opens and clicks are recorded.
    pub(crate) fn hits(&self) -> u64 {
        if self.quick { 60_000 } else { 200_000 }
    }

    /// How many timers fall due, and within what time.
    pub(crate) fn timers(&self) -> (usize, Duration) {
        if self.quick { (20_000, Duration::from_secs(12)) } else { (100_000, Duration::from_mins(1)) }
    }

    /// How many requests of a kind are made one after the other.
    pub(crate) fn samples(&self) -> usize {
        if self.quick { 50 } else { 200 }
    }

    /// How long a server is watched without traffic.
    pub(crate) fn idle(&self) -> Duration {
        Duration::from_secs(if self.quick { 3 } else { 10 })
    }

    /// How often the start is timed.
    pub(crate) fn starts(&self) -> usize {
        if self.quick { 1 } else { 3 }
    }
}
