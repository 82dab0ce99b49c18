//! Which keys of events' data this process has noted, so that an event whose keys are all known costs no look at the
//! database.

use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

use mailwright_core::custom_data::{Data, FieldType, plain};
use mailwright_core::ids::ProjectNumber;
use mailwright_store::audience::event_field::EventField;
use quick_cache::sync::Cache;

/// Most keys that are remembered.
const REMEMBERED: usize = 100_000;
/// After how long a key is noted again: somebody may have removed the events meanwhile.
const FRESH: Duration = Duration::from_mins(10);

/// The keys that were noted.
#[derive(Debug)]
pub(crate) struct EventFields {
    hasher: RandomState,
    noted: Cache<u64, Instant>,
}

impl Default for EventFields {
    fn default() -> Self {
        Self { hasher: RandomState::new(), noted: Cache::new(REMEMBERED) }
    }
}

impl EventFields {
    fn hash(&self, project: ProjectNumber, event: &str, name: &str) -> u64 {
        self.hasher.hash_one((project, event, name))
    }

    /// The keys of an event's data that may be new.
    pub(super) fn unknown(&self, project: ProjectNumber, event: &str, data: &Data) -> Vec<EventField> {
        let is_known = |name: &str| {
            let noted = self.noted.get(&self.hash(project, event, name));
            noted.is_some_and(|at| at.elapsed() < FRESH)
        };
        let unknown = data.iter().filter(|(name, value)| !value.is_null() && !is_known(name));
        unknown
            .map(|(name, value)| EventField {
                event: event.to_owned(),
                name: name.clone(),
                kind: FieldType::infer(plain(value)),
            })
            .collect()
    }

    /// Remembers keys that were noted.
    pub(super) fn remember(&self, project: ProjectNumber, event: &str, names: &[String]) {
        for name in names {
            self.noted.insert(self.hash(project, event, name), Instant::now());
        }
    }
}
