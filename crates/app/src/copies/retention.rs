//! What is kept no longer is removed, some objects at a time.
//!
//! Every moment since then can still be restored: of each generation the newest snapshot from before then stays, with
//! everything after it. A generation that ended before then goes as a whole once a newer one has a snapshot from before
//! then. So the only one always stays.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use mailwright_core::time::Timestamp;

use super::catalogue::{self, GONE, SnapshotName, UPLOADS};
use super::destination::{Destination, Fault};
use super::pictures::pictures_in;

/// Most objects that are removed at a time.
const AT_ONCE: usize = 2_000;

/// What is known of a generation.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Known {
    generation: String,
    /// Its complete snapshots, oldest first.
    snapshots: Vec<SnapshotName>,
}

/// What is to be done with a generation.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Fate {
    Stays,
    /// All of it goes.
    Goes,
    /// What is before this snapshot goes.
    GoesBefore(SnapshotName),
}

/// What is to be done with each generation; they are given oldest first.
fn fates(known: &[Known], before: Timestamp) -> Vec<Fate> {
    let covers = |of: &Known| of.snapshots.iter().rfind(|snapshot| snapshot.committed_by <= before).cloned();
    let last_that_covers = known.iter().rposition(|of| covers(of).is_some());
    let fate = |(index, of): (usize, &Known)| match covers(of) {
        _ if last_that_covers.is_some_and(|last| index < last) => Fate::Goes,
        Some(snapshot) if of.snapshots.first() != Some(&snapshot) => Fate::GoesBefore(snapshot),
        _ => Fate::Stays,
    };
    known.iter().enumerate().map(fate).collect()
}

/// Removes what is not needed to restore a moment after `before`; how many objects.
pub(super) async fn remove(at: &Destination, before: Timestamp) -> Result<usize, Fault> {
    let mut known = Vec::new();
    for generation in catalogue::generations(at).await? {
        let snapshots = catalogue::complete(at, &generation).await?;
        known.push(Known { generation, snapshots });
    }
    let mut removed = 0;
    for (of, fate) in known.iter().zip(fates(&known, before)) {
        let doomed = match fate {
            Fate::Stays => continue,
            Fate::Goes => {
                let mut names = catalogue::everything(at, &of.generation).await?;
                // what cannot be restored any more is not to be seen as a snapshot
                names.sort_by_key(|name| !name.ends_with("/manifest"));
                names
            }
            Fate::GoesBefore(snapshot) => older(at, &snapshot).await?,
        };
        for name in doomed {
            if removed >= AT_ONCE {
                return Ok(removed);
            }
            at.remove(&name).await?;
            removed += 1;
        }
    }
    Ok(removed)
}

/// The objects of a generation that a snapshot makes unnecessary.
async fn older(at: &Destination, kept: &SnapshotName) -> Result<Vec<String>, Fault> {
    let mut names = Vec::new();
    for snapshot in catalogue::snapshot_folders(at, &kept.generation).await? {
        if snapshot.committed_by < kept.committed_by {
            names.push(snapshot.manifest());
            names.extend(at.list(&snapshot.folder(), None).await?);
        }
    }
    let segments = catalogue::following(at, &kept.generation, 0).await?;
    let doomed = segments.into_iter().filter(|name| name.sequence <= kept.sequence);
    names.extend(doomed.map(|name| catalogue::segment(&kept.generation, name)));
    Ok(names)
}

/// Removes pictures that the instance has not had since before then; how many. When one was first found to be gone, an
/// object says so.
pub(super) async fn remove_pictures(
    at: &Destination,
    local: &Path,
    before: Timestamp,
) -> Result<usize, Fault> {
    // nothing is removed because a folder could not be read
    let Ok(here) = pictures_in(local) else { return Ok(0) };
    let here: BTreeSet<String> = here.into_iter().collect();
    let gone: BTreeMap<String, Timestamp> = at.aged(GONE).await?.into_iter().collect();
    let (mut noted, mut removed) = (0, 0);
    for name in at.list(UPLOADS, None).await? {
        let path = name.strip_prefix(UPLOADS).unwrap_or(&name).trim_start_matches('/');
        if here.contains(path) || noted + removed >= AT_ONCE {
            continue;
        }
        let note = format!("{GONE}/{path}");
        match gone.get(&note) {
            None => {
                at.put(&note, b"").await?;
                noted += 1;
            }
            Some(since) if *since < before => {
                at.remove(&name).await?;
                at.remove(&note).await?;
                removed += 1;
            }
            Some(_) => {}
        }
    }
    Ok(removed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(generation: &str, times: &[i64]) -> Known {
        let snapshot = |(number, time): (usize, &i64)| SnapshotName {
            committed_by: Timestamp(*time),
            generation: generation.into(),
            sequence: number as u64 * 10,
        };
        Known { generation: generation.into(), snapshots: times.iter().enumerate().map(snapshot).collect() }
    }

    #[test]
    fn every_moment_that_is_kept_can_be_restored() {
        let all = [known("a", &[10, 20]), known("b", &[30, 40, 50]), known("c", &[60])];
        let fates = |before| fates(&all, Timestamp(before));
        assert_eq!(fates(5), [Fate::Stays, Fate::Stays, Fate::Stays]);
        assert_eq!(fates(15), [Fate::Stays, Fate::Stays, Fate::Stays]);
        assert_eq!(fates(25)[0], Fate::GoesBefore(all[0].snapshots[1].clone()));
        assert_eq!(fates(35), [Fate::Goes, Fate::Stays, Fate::Stays]);
        assert_eq!(fates(55)[1], Fate::GoesBefore(all[1].snapshots[2].clone()));
        assert_eq!(fates(1000), [Fate::Goes, Fate::Goes, Fate::Stays], "the only one stays");
    }

    #[test]
    fn a_generation_without_a_snapshot_replaces_nothing() {
        let all = [known("a", &[10]), known("b", &[])];
        assert_eq!(fates(&all, Timestamp(1000)), [Fate::Stays, Fate::Stays]);
        let all = [known("a", &[10]), known("b", &[]), known("c", &[20])];
        assert_eq!(fates(&all, Timestamp(1000)), [Fate::Goes, Fate::Goes, Fate::Stays]);
    }
}
