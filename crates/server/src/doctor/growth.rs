//! What the doctor finds of the size of the database: what its tables weigh, how fast it grows, and when the disk is full.

use std::time::Duration;

use mailwright_core::ids::ProjectNumber;
use mailwright_core::time::Timestamp;
use mailwright_store::background::retention::{Size, Weight, sizes, weights};
use mailwright_store::body;
use mailwright_store::database::migrate::Standing;
use mailwright_store::{Error as StoreError, Location};

use super::Fine;
use crate::config::Config;
use crate::setup;

/// Over how many days growth is measured, at most.
const LOOKED_BACK: i64 = 30;
/// And at least.
const FEWEST_DAYS: i64 = 3;
/// A disk that is full sooner is one to look after.
const SOON: i64 = 30;
/// Free bytes on the disk without which the service soon cannot write.
const LEAST_FREE: i64 = 16 * 1024 * 1024;
/// Tables that are named.
const NAMED: usize = 8;
/// Milliseconds of a day.
const DAY: i64 = 24 * 60 * 60 * 1000;

/// Size and growth; nothing where the database cannot be asked.
pub(super) async fn findings(
    config: &Config,
    standing: Option<Standing>,
) -> Vec<(&'static str, Result<Fine, String>)> {
    if standing != Some(Standing::Current) {
        return Vec::new();
    }
    let Ok(setup) = setup::open(config) else { return Vec::new() };
    let now = setup.clock.now();
    let since = now.minus(Duration::from_hours(24 * LOOKED_BACK.unsigned_abs()));
    let sizes = setup.db.read(body!(async |rx| sizes(rx, since, now).await)).await;
    let (noted, bytes) = match sizes {
        Ok((noted, Some(bytes))) => (noted, bytes),
        Ok((_, None)) => return vec![("size", Err("a server of the cluster does not answer".to_owned()))],
        Err(error) => return vec![("size", Err(format!("it cannot be read: {error}")))],
    };
    // on SQLite the whole database is read for it, so it is stopped as any slow read is
    let weights = setup.db.read_slow(ProjectNumber(0), body!(async |rx| weights(rx).await)).await;
    let free = match config.location() {
        Ok(Location::Sqlite(_)) => free(config),
        // the database server's disk is not ours to look at
        _ => None,
    };
    vec![
        ("size", Ok(Fine::Ok(format!("{}; {}", shown(bytes), heaviest(weights))))),
        ("growth", room(free).and(Ok(growth(&noted, Size { day: now.0.div_euclid(DAY), bytes }, free)))),
    ]
}

/// The free bytes of the disk that the data directory is on.
fn free(config: &Config) -> Option<i64> {
    let found = rustix::fs::statvfs(&config.data_dir).ok()?;
    i64::try_from(found.f_bavail.saturating_mul(found.f_frsize)).ok()
}

/// Whether there is room to write at all.
fn room(free: Option<i64>) -> Result<(), String> {
    match free {
        Some(free) if free < LEAST_FREE => Err(format!(
            "the disk is full: {} are free, and at least {} are needed; make room, or shorten the periods of [retention]",
            shown(free),
            shown(LEAST_FREE)
        )),
        _ => Ok(()),
    }
}

fn heaviest(weights: Result<Vec<Weight>, StoreError>) -> String {
    let weights = match weights {
        Ok(weights) => weights,
        Err(StoreError::TooSlow(limit)) => {
            return format!("weighing its tables takes longer than {} seconds", limit.as_secs());
        }
        Err(error) => return format!("its tables cannot be weighed: {error}"),
    };
    let named: Vec<String> = weights
        .iter()
        .take(NAMED)
        .map(|weight| format!("{} {}", weight.table, shown(weight.bytes)))
        .collect();
    let rest: i64 = weights.iter().skip(NAMED).map(|weight| weight.bytes).sum();
    format!("{}, the others {}", named.join(", "), shown(rest))
}

/// How fast the database grows, given what was noted of earlier days, and when there is no room left.
fn growth(noted: &[Size], today: Size, free: Option<i64>) -> Fine {
    let room = free.map(|free| format!("; {} are free on the disk", shown(free))).unwrap_or_default();
    let Some((first, days)) =
        noted.first().map(|first| (first, today.day - first.day)).filter(|(_, days)| *days >= FEWEST_DAYS)
    else {
        return Fine::Ok(format!("known when the service has run for {FEWEST_DAYS} days{room}"));
    };
    let a_day = (today.bytes - first.bytes) / days;
    if a_day <= 0 {
        return Fine::Ok(format!("none in the last {days} days{room}"));
    }
    let pace = format!("{} a day over the last {days} days{room}", shown(a_day));
    let Some(left) = free.map(|free| free / a_day) else { return Fine::Ok(pace) };
    let full_on = Timestamp((today.day.saturating_add(left)).saturating_mul(DAY)).to_string();
    let full_on = full_on.get(..10).unwrap_or_default();
    if left < SOON {
        return Fine::Better(format!(
            "{pace}: it is full on {full_on}, in {left} days; shorten the periods of [retention], or make room"
        ));
    }
    Fine::Ok(format!("{pace}, enough until {full_on}"))
}

/// Bytes as people read them.
pub(super) fn shown(bytes: i64) -> String {
    const UNITS: [(&str, i64); 4] = [("TB", 1 << 40), ("GB", 1 << 30), ("MB", 1 << 20), ("kB", 1 << 10)];
    for (unit, size) in UNITS {
        if bytes >= size {
            let tenths = bytes / (size / 10).max(1);
            return format!("{}.{} {unit}", tenths / 10, tenths % 10);
        }
    }
    format!("{bytes} bytes")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(fine: Fine) -> (bool, String) {
        match fine {
            Fine::Ok(text) => (true, text),
            Fine::Better(text) => (false, text),
        }
    }

    #[test]
    fn the_day_on_which_the_disk_is_full_is_told() {
        const GB: i64 = 1 << 30;
        let size = |day, bytes| Size { day, bytes };
        let noted = [size(20_000, 10 * GB), size(20_005, 12 * GB)];
        let (is_fine, soon) = text(growth(&noted, size(20_010, 20 * GB), Some(10 * GB)));
        assert!(!is_fine && soon.contains("1.0 GB a day over the last 10 days"), "{soon}");
        assert!(soon.contains("full on 2024-10-24, in 10 days"), "{soon}");
        let (is_fine, later) = text(growth(&noted, size(20_010, 20 * GB), Some(1000 * GB)));
        assert!(is_fine && later.contains("enough until 2027-07-11"), "{later}");
        let (is_fine, unknown) = text(growth(&noted, size(20_010, 20 * GB), None));
        assert!(is_fine && unknown.ends_with("over the last 10 days"), "{unknown}");
        let (_, none) = text(growth(&noted, size(20_010, 10 * GB), Some(GB)));
        assert!(none.starts_with("none in the last 10 days"), "{none}");
        let (_, early) = text(growth(&noted, size(20_002, 99 * GB), Some(GB)));
        assert!(early.starts_with("known when"), "{early}");
        assert!(text(growth(&[], size(20_002, 99 * GB), None)).1.starts_with("known when"));
    }

    #[test]
    fn a_disk_without_room_is_wrong() {
        assert!(room(None).is_ok() && room(Some(LEAST_FREE)).is_ok());
        let full = room(Some(0)).unwrap_err();
        assert!(full.contains("the disk is full: 0 bytes are free, and at least 16.0 MB"), "{full}");
    }

    #[test]
    fn bytes_are_written_for_people() {
        for (bytes, expected) in [
            (0, "0 bytes"),
            (1023, "1023 bytes"),
            (1024, "1.0 kB"),
            (1_572_864, "1.5 MB"),
            (3 << 30, "3.0 GB"),
            (5 << 40, "5.0 TB"),
        ] {
            assert_eq!(shown(bytes), expected);
        }
    }
}
