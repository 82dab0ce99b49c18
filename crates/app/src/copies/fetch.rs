//! Reads copies back: what moments there are, and the database of one of them.

use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Component, Path};

use futures_util::{StreamExt, TryStreamExt, stream};
use mailwright_core::time::Timestamp;
use mailwright_store::database::sqlite::copies::{Name, Rebuild};

use super::catalogue::{self, Manifest, SnapshotName, UPLOADS};
use super::destination::{Destination, Fault};

/// Objects that are read at once.
const AT_ONCE: usize = 8;

/// Why copies cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Unread {
    /// The destination, or one of its objects.
    #[error("{0}")]
    Destination(#[from] Fault),
    /// There are none.
    #[error("there are no complete copies in {0}")]
    Nothing(String),
    /// The moment is not among them.
    #[error("nothing is known of {at}; what can be restored:\n{spans}")]
    Outside {
        /// What was asked for.
        at: Timestamp,
        /// What there is.
        spans: String,
    },
    /// An object on the way is not what it was.
    #[error("{fault}; what comes before it can be restored with --at {until}")]
    Broken {
        /// The object.
        fault: Fault,
        /// The last moment before it.
        until: Timestamp,
    },
    /// A snapshot is not what it was.
    #[error("{fault}; {}", earlier(*.until))]
    BrokenSnapshot {
        /// The object.
        fault: Fault,
        /// The last moment that needs another snapshot.
        until: Option<Timestamp>,
    },
    /// What was read cannot be put together.
    #[error("{0}")]
    Store(#[from] mailwright_store::Error),
    /// A file cannot be written.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// A newer program made them.
    #[error(
        "these copies were made by Mailwright {0}, which is newer than this program; restore them with that version"
    )]
    Newer(String),
}

fn earlier(until: Option<Timestamp>) -> String {
    match until {
        Some(until) => format!("what comes before it can be restored with --at {until}"),
        None => "nothing from before it is kept".into(),
    }
}

/// Moments that can be restored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// The line of copies.
    pub generation: String,
    /// The first moment.
    pub from: Timestamp,
    /// The last one.
    pub until: Timestamp,
    /// How many snapshots it has.
    pub snapshots: usize,
    /// Whether an object is missing after the last moment.
    pub is_broken: bool,
}

impl std::fmt::Display for Span {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { generation, from, until, snapshots, is_broken } = self;
        write!(f, "from {from} until {until}  {generation}, {snapshots} snapshots")?;
        if *is_broken { write!(f, "; an object after that is missing") } else { Ok(()) }
    }
}

/// The moments that can be restored, oldest first.
pub async fn spans(at: &Destination) -> Result<Vec<Span>, Fault> {
    let mut found = Vec::new();
    for generation in catalogue::generations(at).await? {
        let snapshots = catalogue::complete(at, &generation).await?;
        let (Some(first), Some(last)) = (snapshots.first(), snapshots.last()) else { continue };
        let names = catalogue::following(at, &generation, last.sequence).await?;
        let unbroken = unbroken(&names, last.sequence);
        let until = ends(unbroken).map(|name| name.committed_by).max();
        found.push(Span {
            from: first.committed_by,
            until: until.map_or(last.committed_by, |until| until.max(last.committed_by)),
            snapshots: snapshots.len(),
            is_broken: unbroken.len() < names.len(),
            generation,
        });
    }
    Ok(found)
}

/// The names that follow a number without a gap.
fn unbroken(names: &[Name], after: u64) -> &[Name] {
    let count =
        names.iter().zip(after + 1..).take_while(|(name, sequence)| name.sequence == *sequence).count();
    names.get(..count).unwrap_or_default()
}

fn ends(names: &[Name]) -> impl Iterator<Item = &Name> {
    names.iter().filter(|name| name.is_last)
}

/// What is read to restore a moment.
#[derive(Debug, Clone)]
pub struct Plan {
    snapshot: SnapshotName,
    /// What its manifest says.
    pub manifest: Manifest,
    objects: Vec<Name>,
    /// The moment: nothing was committed after it.
    pub moment: Timestamp,
    /// The last moment that does not need this snapshot.
    earlier: Option<Timestamp>,
}

/// Finds what is needed to restore a moment; the last one if none is given.
pub async fn plan(at: &Destination, moment: Option<Timestamp>) -> Result<Plan, Unread> {
    let mut snapshots = Vec::new();
    for generation in catalogue::generations(at).await? {
        snapshots.extend(catalogue::complete(at, &generation).await?);
    }
    snapshots.sort();
    if snapshots.is_empty() {
        return Err(Unread::Nothing(at.name().to_owned()));
    }
    let chosen = match moment {
        None => snapshots.pop(),
        Some(moment) => snapshots.into_iter().rfind(|snapshot| snapshot.committed_by <= moment),
    };
    let outside = async |at_moment| -> Result<Plan, Unread> {
        let spans: Vec<String> = spans(at).await?.iter().map(|span| format!("  {span}")).collect();
        Err(Unread::Outside { at: at_moment, spans: spans.join("\n") })
    };
    let Some(snapshot) = chosen else { return outside(moment.unwrap_or_default()).await };
    let generation = &snapshot.generation;
    let names = catalogue::following(at, generation, snapshot.sequence).await?;
    let wanted = match moment {
        None => names.iter().rposition(|name| name.is_last),
        Some(moment) => names.iter().rposition(|name| name.is_last && name.committed_by <= moment),
    };
    let objects = names.get(..wanted.map_or(0, |last| last + 1)).unwrap_or_default().to_vec();
    let last = objects.last().map_or(snapshot.committed_by, |name| name.committed_by);
    let reached = unbroken(&names, snapshot.sequence);
    // a moment after the last object is known by the object that comes next, and that one is not missing
    let needed = objects.len() + usize::from(moment.is_some_and(|moment| moment != last));
    let comes_after = |moment| names.get(objects.len()).is_some_and(|next| next.committed_by > moment);
    if let Some(moment) = moment.filter(|moment| *moment != last && !comes_after(*moment)) {
        return outside(moment).await;
    }
    let until = ends(reached).last().map_or(snapshot.committed_by, |name| name.committed_by);
    if reached.len() < needed {
        let number = snapshot.sequence + 1 + reached.len() as u64;
        let missing = format!("{}/{number:012}", catalogue::segments(generation));
        return Err(Unread::Broken { fault: Fault::Missing(missing), until });
    }
    let earlier = before(at, &snapshot).await?;
    let manifest = match catalogue::manifest(at, &snapshot).await {
        Ok(Some(manifest)) => manifest,
        Ok(None) => return Err(Unread::Nothing(at.name().to_owned())),
        Err(Fault::Away(error)) => return Err(Fault::Away(error).into()),
        Err(fault) => return Err(Unread::BrokenSnapshot { fault, until: earlier }),
    };
    if manifest.format != Manifest::FORMAT {
        return Err(Unread::Newer(manifest.program));
    }
    Ok(Plan { snapshot, manifest, objects, moment: last, earlier })
}

/// The last moment that is restored from an earlier snapshot.
async fn before(at: &Destination, snapshot: &SnapshotName) -> Result<Option<Timestamp>, Fault> {
    let mut last = None;
    for generation in catalogue::generations(at).await? {
        for earlier in catalogue::complete(at, &generation).await? {
            if earlier.committed_by >= snapshot.committed_by {
                continue;
            }
            let names = catalogue::following(at, &generation, earlier.sequence).await?;
            let reached = ends(unbroken(&names, earlier.sequence)).map(|name| name.committed_by);
            let reached = reached.filter(|at| *at < snapshot.committed_by).max();
            last = last.max(Some(reached.unwrap_or(earlier.committed_by)));
        }
    }
    Ok(last)
}

/// Puts the database of a plan into a folder, under a name, with the files of the instance beside it.
pub async fn fetch(at: &Destination, plan: &Plan, folder: &Path, database: &str) -> Result<(), Unread> {
    let snapshot = &plan.snapshot;
    let broken = |fault: Fault| match fault {
        Fault::Away(_) => Unread::Destination(fault),
        fault => Unread::BrokenSnapshot { fault, until: plan.earlier },
    };
    let mut rebuild = Rebuild::new(&folder.join(database))?;
    let names: Vec<String> = (0..plan.manifest.parts).map(|number| snapshot.part(number)).collect();
    let mut parts = stream::iter(names).map(|name| async move { at.get(&name).await }).buffered(AT_ONCE);
    let mut bytes = 0;
    while let Some(part) = parts.try_next().await.map_err(broken)? {
        bytes += part.len() as u64;
        rebuild.snapshot(&part)?;
    }
    if bytes != plan.manifest.bytes {
        return Err(broken(Fault::Damaged(snapshot.folder())));
    }
    let (mut until, mut complete) = (snapshot.committed_by, Timestamp(plan.manifest.complete_until));
    let read = |name: Name| {
        let full = catalogue::segment(&snapshot.generation, name);
        async move { (name, at.get(&full).await) }
    };
    let mut objects = stream::iter(plan.objects.clone()).map(read).buffered(AT_ONCE);
    while let Some((name, object)) = objects.next().await {
        let object = object.map_err(|fault| match fault {
            Fault::Away(_) => Unread::Destination(fault),
            fault => Unread::Broken { fault, until },
        })?;
        let head = rebuild.apply(&object)?;
        if head.generation != snapshot.generation || head.name() != name {
            let fault = Fault::Damaged(catalogue::segment(&snapshot.generation, name));
            return Err(Unread::Broken { fault, until });
        }
        if head.is_last {
            (until, complete) = (head.committed_by, head.complete_until);
        }
    }
    rebuild.finish(complete, &plan.manifest.program)?;
    for name in &plan.manifest.files {
        let bytes = at.get(&snapshot.file(name)).await.map_err(broken)?;
        write(folder, name, &bytes)?;
    }
    for name in &at.list(UPLOADS, None).await? {
        match at.get(name).await {
            Ok(bytes) => write(folder, name, &bytes)?,
            Err(Fault::Away(error)) => return Err(Fault::Away(error).into()),
            // the database is worth more than a picture
            Err(fault) => tracing::warn!(%fault, "a picture could not be restored"),
        }
    }
    Ok(())
}

/// Writes a file below a folder, and waits until it is on disk. A path that leads elsewhere is refused.
fn write(folder: &Path, path: &str, bytes: &[u8]) -> io::Result<()> {
    let inside = Path::new(path);
    if path.is_empty() || !inside.components().all(|part| matches!(part, Component::Normal(_))) {
        return Err(io::Error::other(format!("{path:?} is no path in a copy")));
    }
    let full = folder.join(inside);
    if let Some(parent) = full.parent() {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
    }
    let mut file = std::fs::File::create_new(&full)?;
    io::Write::write_all(&mut file, bytes).and_then(|()| file.sync_all())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_followed_to_the_first_gap() {
        let name = |sequence| Name { sequence, committed_by: Timestamp(1), is_last: true };
        let names = [name(4), name(5), name(7)];
        assert_eq!(unbroken(&names, 3).len(), 2);
        assert_eq!(unbroken(&names, 2).len(), 0);
        assert_eq!(unbroken(&[], 2).len(), 0);
    }

    #[test]
    fn files_are_written_into_the_folder_alone() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "uploads/a/b.png", b"x").unwrap();
        assert_eq!(std::fs::read(folder.path().join("uploads/a/b.png")).unwrap(), b"x");
        for path in ["../x", "/etc/x", "", "uploads/../../x"] {
            assert!(write(folder.path(), path, b"x").is_err(), "{path}");
        }
    }
}
