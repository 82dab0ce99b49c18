//! What work costs in processor time, by the program and by the database servers: the figure that other load on a
//! machine disturbs least.

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result};

/// Units of the times in `/proc` in a second: `USER_HZ`, which Linux has at 100 on all that this runs on.
const TICKS: f64 = 100.0;

/// Processes whose processor time is counted.
#[derive(Debug, Clone)]
pub(crate) struct Processes {
    /// The program.
    pub(crate) program: u32,
    /// The first process of each database server; none where there is no server, or it runs elsewhere.
    pub(crate) database: Vec<u32>,
}

/// Processor time that was used since a moment.
#[derive(Debug)]
pub(crate) struct Meter {
    processes: Processes,
    before: Spent,
}

/// Processor time of an operation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Cost {
    /// Microseconds of the program.
    pub(crate) program: f64,
    /// Microseconds of the database servers; `None` where the database is in the program, or out of sight.
    pub(crate) database: Option<f64>,
}

#[derive(Debug, Clone, Copy)]
struct Spent {
    program: Duration,
    database: Option<Duration>,
}

impl Processes {
    fn spent(&self) -> Result<Spent> {
        let program = Times::of(self.program)?.own;
        let database = if self.database.is_empty() { None } else { Some(with_children(&self.database)?) };
        Ok(Spent { program, database })
    }
}

impl Meter {
    pub(crate) fn start(processes: Processes) -> Result<Self> {
        let before = processes.spent()?;
        Ok(Self { processes, before })
    }

    /// What each of so many operations has cost since the start; `None` if there were none.
    pub(crate) fn per(&self, operations: u64) -> Result<Option<Cost>> {
        let after = self.processes.spent()?;
        if operations == 0 {
            return Ok(None);
        }
        let each = |now: Duration, before: Duration| {
            now.saturating_sub(before).as_secs_f64() * 1e6 / operations as f64
        };
        let database = after.database.zip(self.before.database).map(|(now, before)| each(now, before));
        Ok(Some(Cost { program: each(after.program, self.before.program), database }))
    }
}

impl Cost {
    /// For the table: `118 us`, or with a database server `118 + 84 us`.
    pub(crate) fn show(self) -> String {
        match self.database {
            None => format!("{:.0} us", self.program),
            Some(database) => format!("{:.0} + {database:.0} us", self.program),
        }
    }
}

/// The times of a process.
struct Times {
    parent: u32,
    own: Duration,
    /// Of its children that have ended.
    ended: Duration,
}

impl Times {
    fn of(process: u32) -> Result<Self> {
        let stat = fs::read_to_string(format!("/proc/{process}/stat"))
            .with_context(|| format!("the process {process} is gone"))?;
        Self::read(&stat).with_context(|| format!("/proc/{process}/stat cannot be read"))
    }

    /// Reads `/proc/[pid]/stat`; see `proc_pid_stat(5)`.
    fn read(stat: &str) -> Option<Self> {
        // the name of the program may hold anything, also parentheses
        let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split(' ').collect();
        let ticks = |field: usize| fields.get(field)?.parse::<u64>().ok();
        let time = |user: usize| {
            let sum = ticks(user)? + ticks(user + 1)?;
            Some(Duration::from_secs_f64(sum as f64 / TICKS))
        };
        Some(Self { parent: fields.get(1)?.parse().ok()?, own: time(11)?, ended: time(13)? })
    }
}

/// The time of some processes and of all that they started.
fn with_children(processes: &[u32]) -> Result<Duration> {
    let mut sum = Duration::ZERO;
    for process in processes {
        let first = Times::of(*process)?;
        sum += first.own + first.ended;
    }
    for id in all()? {
        // one that ends now is counted by its parent the next time
        if let Ok(times) = Times::of(id)
            && processes.contains(&times.parent)
        {
            sum += times.own;
        }
    }
    Ok(sum)
}

/// All processes.
fn all() -> Result<Vec<u32>> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc")? {
        found.extend(entry?.file_name().to_str().and_then(|name| name.parse::<u32>().ok()));
    }
    Ok(found)
}

/// The process that started another, if it has this name.
pub(crate) fn parent_named(process: u32, name: &str) -> Option<u32> {
    let parent = Times::of(process).ok()?.parent;
    is_named(parent, name).then_some(parent)
}

/// The processes with this name that were not started by one with the same name: the first ones of all servers of a
/// kind.
pub(crate) fn first_named(name: &str) -> Result<Vec<u32>> {
    let mut first = all()?;
    first.retain(|id| is_named(*id, name) && parent_named(*id, name).is_none());
    Ok(first)
}

fn is_named(process: u32, name: &str) -> bool {
    fs::read_to_string(format!("/proc/{process}/comm")).is_ok_and(|found| found.trim() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_with_an_odd_name_is_read() {
        let stat = "77 (a) b (c) S 5 77 77 0 -1 4194560 2386 0 0 0 300 200 40 10 20 0 13 0 1 2 3";
        let times = Times::read(stat).unwrap();
        assert_eq!(times.parent, 5);
        assert_eq!(times.own, Duration::from_secs_f64(500.0 / TICKS));
        assert_eq!(times.ended, Duration::from_secs_f64(50.0 / TICKS));
        assert!(Times::read("77 (short) S").is_none());
    }

    #[test]
    fn work_of_this_process_is_seen() {
        let meter = Meter::start(Processes { program: std::process::id(), database: Vec::new() }).unwrap();
        let mut sum = 0_u64;
        while meter.per(1).unwrap().unwrap().program < 20_000.0 {
            sum = (0..100_000).fold(sum, |sum, number| std::hint::black_box(sum ^ number));
        }
        let cost = meter.per(10).unwrap().unwrap();
        assert!(cost.program >= 2_000.0 && cost.database.is_none(), "{cost:?}");
        assert_eq!(meter.per(0).unwrap(), None);
        assert_eq!(Cost { program: 118.4, database: Some(84.0) }.show(), "118 + 84 us");
    }

    #[test]
    fn servers_are_counted_with_what_they_started() {
        let this = std::process::id();
        let name = fs::read_to_string(format!("/proc/{this}/comm")).unwrap();
        assert!(first_named(name.trim()).unwrap().contains(&this));
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        assert_eq!(parent_named(child.id(), name.trim()), Some(this));
        let own = Times::of(this).unwrap().own + Times::of(child.id()).unwrap().own;
        assert!(with_children(&[this]).unwrap() >= own);
        assert!(with_children(&[this, child.id()]).unwrap() >= own);
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
