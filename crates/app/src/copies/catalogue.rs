//! What is at a destination, and what its objects are called.
//!
//! ```text
//! generations/<generation>/begun                                   written first
//! generations/<generation>/snapshots/<number>-<time>/manifest      written last
//! generations/<generation>/snapshots/<number>-<time>/part-00000    the database, 4 MB each
//! generations/<generation>/snapshots/<number>-<time>/files/secret
//! generations/<generation>/segments/<number>-<time>-end            or -part, where more follows
//! uploads/<path>                                                   pictures, if they are in the data directory
//! gone/<path>                                                      when a picture was first found to be gone
//! ```

use mailwright_core::time::Timestamp;
use mailwright_store::database::sqlite::copies::Name;
use serde::{Deserialize, Serialize};

use super::destination::{Destination, Fault};

/// The form of copies that this program makes and reads.
const FORMAT: u32 = 1;
const GENERATIONS: &str = "generations";
/// What names of pictures begin with.
pub(super) const UPLOADS: &str = "uploads";
/// What names of objects begin with that say since when a picture is gone.
pub(super) const GONE: &str = "gone";

/// What a snapshot is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    pub(super) format: u32,
    /// The version of the program that made it.
    pub program: String,
    /// The newest step of the schema.
    pub last_migration: i64,
    /// The epoch of the instance.
    pub epoch: i64,
    /// Everything that was committed before this moment is in it, in milliseconds since 1970.
    pub(super) complete_until: i64,
    /// Where the instance's secret is: `file` if it is beside the database, `environment` if it has to be kept apart.
    pub secret: String,
    /// In how many parts the database is.
    pub(super) parts: usize,
    /// Bytes of the database.
    pub(super) bytes: u64,
    /// The files of the instance beside it.
    pub(super) files: Vec<String>,
}

impl Manifest {
    pub(super) const FORMAT: u32 = FORMAT;
}

/// A snapshot at the destination.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SnapshotName {
    pub(super) committed_by: Timestamp,
    pub(super) generation: String,
    pub(super) sequence: u64,
}

impl SnapshotName {
    fn parse(generation: &str, folder: &str) -> Option<Self> {
        let (sequence, time) = folder.split_once('-')?;
        let name = Self {
            committed_by: Timestamp(time.parse().ok()?),
            generation: generation.to_owned(),
            sequence: sequence.parse().ok()?,
        };
        name.folder().ends_with(&format!("/{folder}")).then_some(name)
    }

    pub(super) fn folder(&self) -> String {
        let below = snapshots(&self.generation);
        format!("{below}/{:012}-{:015}", self.sequence, self.committed_by.0)
    }

    pub(super) fn manifest(&self) -> String {
        format!("{}/manifest", self.folder())
    }

    pub(super) fn part(&self, number: usize) -> String {
        format!("{}/part-{number:05}", self.folder())
    }

    pub(super) fn file(&self, name: &str) -> String {
        format!("{}/files/{name}", self.folder())
    }
}

fn snapshots(generation: &str) -> String {
    format!("{GENERATIONS}/{generation}/snapshots")
}

/// What the names of all segments of a generation begin with.
pub(super) fn segments(generation: &str) -> String {
    format!("{GENERATIONS}/{generation}/segments")
}

/// The object that says that a generation was begun.
pub(super) fn begun(generation: &str) -> String {
    format!("{GENERATIONS}/{generation}/begun")
}

/// The name of an object of a segment.
pub(super) fn segment(generation: &str, name: Name) -> String {
    format!("{}/{name}", segments(generation))
}

/// A name for a generation that begins now. Names sort by when they began.
pub(super) fn new_generation(now: Timestamp) -> String {
    let time: String = now.to_string().chars().filter(char::is_ascii_alphanumeric).collect();
    format!("{time}-{}", hex::encode(rand::random::<[u8; 3]>()))
}

/// The generations, oldest first.
pub(super) async fn generations(at: &Destination) -> Result<Vec<String>, Fault> {
    at.folders(GENERATIONS).await
}

/// All objects of a generation.
pub(super) async fn everything(at: &Destination, generation: &str) -> Result<Vec<String>, Fault> {
    at.list(&format!("{GENERATIONS}/{generation}"), None).await
}

/// The folders of the snapshots of a generation, complete or not, oldest first.
pub(super) async fn snapshot_folders(at: &Destination, generation: &str) -> Result<Vec<SnapshotName>, Fault> {
    let folders = at.folders(&snapshots(generation)).await?;
    Ok(folders.iter().filter_map(|folder| SnapshotName::parse(generation, folder)).collect())
}

/// The manifest of a snapshot; `None` if it is not complete.
pub(super) async fn manifest(at: &Destination, snapshot: &SnapshotName) -> Result<Option<Manifest>, Fault> {
    let name = snapshot.manifest();
    match at.get(&name).await {
        Err(Fault::Missing(_)) => Ok(None),
        Err(fault) => Err(fault),
        Ok(bytes) => serde_json::from_slice(&bytes).map(Some).map_err(|_| Fault::Damaged(name)),
    }
}

/// The complete snapshots of a generation, oldest first.
pub(super) async fn complete(at: &Destination, generation: &str) -> Result<Vec<SnapshotName>, Fault> {
    let names = at.list(&snapshots(generation), None).await?;
    let of = |name: &String| {
        let folder = name.strip_suffix("/manifest")?.rsplit('/').next()?;
        SnapshotName::parse(generation, folder)
    };
    Ok(names.iter().filter_map(of).collect())
}

/// The objects of segments that follow a number, in their order.
pub(super) async fn following(at: &Destination, generation: &str, after: u64) -> Result<Vec<Name>, Fault> {
    // no time comes before the digits, and `:` comes after them
    let offset = format!("{}/{after:012}:", segments(generation));
    let names = at.list(&segments(generation), Some(&offset)).await?;
    let parsed = names.iter().filter_map(|name| Name::parse(name.rsplit('/').next()?));
    Ok(parsed.filter(|name| name.sequence > after).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        let name = SnapshotName { committed_by: Timestamp(17), generation: "g".into(), sequence: 3 };
        assert_eq!(name.folder(), "generations/g/snapshots/000000000003-000000000000017");
        assert_eq!(SnapshotName::parse("g", "000000000003-000000000000017"), Some(name));
        for text in ["", "3-17", "000000000003", "x-000000000000017"] {
            assert_eq!(SnapshotName::parse("g", text), None, "{text}");
        }
        assert!(new_generation(Timestamp(0)).starts_with("19700101T000000000Z-"));
    }
}
