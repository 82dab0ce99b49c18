//! Whose columns give way where all memory is taken: those of projects that nobody asked for [`SETTLED`] or longer, then
//! what the project had before, and then, as long as its columns take no more than an equal share, those of the project
//! that takes most. So projects do not take memory from each other in turns.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::Duration;

use mailwright_core::ids::ProjectNumber;

use super::projects::{Entry, Shared};
use super::room::{Asking, Memory};

/// Columns that were not used for so long give way to any others.
const SETTLED: Duration = Duration::from_mins(1);
/// This part of all memory is left to what follows, and grows.
const GROWTH: usize = 16;

impl Memory for Shared {
    fn admits(&self, asking: Asking, bytes: usize) -> bool {
        let Asking { project, is_loading, is_modest } = asking;
        let mut limit = self.limits.bytes;
        if is_loading {
            self.loading.store(bytes, Ordering::Relaxed);
            limit -= limit / GROWTH;
        }
        let mut projects = self.projects();
        loop {
            let kept = projects.iter().filter(|(other, _)| is_loading || **other != project);
            let kept: usize = kept.map(|(_, entry)| entry.bytes()).sum();
            if kept + bytes <= limit {
                return true;
            }
            let victim = if is_modest { None } else { victim(&mut projects, asking, (bytes, limit)) };
            match victim {
                Some(victim) => victim.kept = None,
                None => return false,
            }
        }
    }

    fn loaded(&self) {
        self.loading.store(0, Ordering::Relaxed);
    }
}

fn victim(
    projects: &mut BTreeMap<ProjectNumber, Entry>,
    Asking { project: own, is_loading, .. }: Asking,
    (bytes, limit): (usize, usize),
) -> Option<&mut Entry> {
    let share = limit / projects.values().filter(|entry| entry.is_active()).count().max(1);
    let others: Vec<(ProjectNumber, &Entry)> = projects
        .iter()
        .filter(|(project, entry)| **project != own && entry.kept.is_some())
        .map(|(project, entry)| (*project, entry))
        .collect();
    let idle = others.iter().filter(|(_, entry)| entry.used.elapsed() >= SETTLED);
    let idle = idle.min_by_key(|(_, entry)| entry.used).map(|(project, _)| *project);
    let before = projects.get(&own).filter(|entry| is_loading && entry.kept.is_some()).map(|_| own);
    let largest = others.iter().max_by_key(|(_, entry)| entry.bytes());
    let largest = largest.filter(|(_, entry)| bytes <= share && entry.bytes() > share);
    let victim = idle.or(before).or(largest.map(|(project, _)| *project))?;
    projects.get_mut(&victim)
}
