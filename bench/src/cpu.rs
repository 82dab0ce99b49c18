//! What work costs in processor time, by the program and by the database server: the figure that other load on a machine
//! disturbs least.

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result};

/// Units of the times in `/proc` in a second: `USER_HZ`, which Linux has at 100 on all that this runs on.
const TICKS: f64 = 100.0;

/// Processes whose processor time is counted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Processes {
    /// The program.
    pub(crate) program: u32,
    /// The first process of the database server, where there is one and it runs on this machine.
    pub(crate) database: Option<u32>,
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
    /// Microseconds of the database server; `None` where it is in the program, or out of sight.
    pub(crate) database: Option<f64>,
}

#[derive(Debug, Clone, Copy)]
struct Spent {
    program: Duration,
    database: Option<Duration>,
}

impl Processes {
    fn spent(self) -> Result<Spent> {
        let program = Times::of(self.program)?.own;
        Ok(Spent { program, database: self.database.map(with_children).transpose()? })
    }
}

impl Meter {
    pub(crate) fn start(processes: Processes) -> Result<Self> {
        Ok(Self { processes, before: processes.spent()? })
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

/// The time of a process and of all that it started.
fn with_children(process: u32) -> Result<Duration> {
    let first = Times::of(process)?;
    let mut sum = first.own + first.ended;
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let Some(id) = name.to_str().and_then(|name| name.parse().ok()) else { continue };
        // one that ends now is counted by its parent the next time
        if let Ok(times) = Times::of(id)
            && times.parent == process
        {
            sum += times.own;
        }
    }
    Ok(sum)
}

/// The process that started another, if it has this name.
pub(crate) fn parent_named(process: u32, name: &str) -> Option<u32> {
    let parent = Times::of(process).ok()?.parent;
    let is_meant = fs::read_to_string(format!("/proc/{parent}/comm")).ok()?.trim() == name;
    is_meant.then_some(parent)
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
        let meter = Meter::start(Processes { program: std::process::id(), database: None }).unwrap();
        let mut sum = 0_u64;
        while meter.per(1).unwrap().unwrap().program < 20_000.0 {
            sum = (0..100_000).fold(sum, |sum, number| std::hint::black_box(sum ^ number));
        }
        let cost = meter.per(10).unwrap().unwrap();
        assert!(cost.program >= 2_000.0 && cost.database.is_none(), "{cost:?}");
        assert_eq!(meter.per(0).unwrap(), None);
        assert_eq!(Cost { program: 118.4, database: Some(84.0) }.show(), "118 + 84 us");
    }
}
