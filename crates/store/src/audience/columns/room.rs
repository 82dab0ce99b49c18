//! The memory that the columns of a project take, of what all of this process may take together. Columns ask for it as
//! they grow, while they are read and while they follow what changes.

use std::fmt::Debug;
use std::sync::Weak;
use std::sync::atomic::{AtomicBool, Ordering};

use mailwright_core::ids::ProjectNumber;

/// Columns that are of no use: they take too much memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unfit;

/// Who asks for memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asking {
    pub(super) project: ProjectNumber,
    /// The columns are being read, beside those that the project has.
    pub(super) is_loading: bool,
    /// Nothing is taken from others.
    pub(super) is_modest: bool,
}

/// Who has the memory.
pub(super) trait Memory: Debug + Send + Sync {
    /// Whether columns may take so many bytes.
    fn admits(&self, asking: Asking, bytes: usize) -> bool;

    /// Columns that were being read are those of their project now, or are gone.
    fn loaded(&self);
}

/// The memory of the columns of a project.
#[derive(Debug)]
pub(super) struct Room {
    memory: Weak<dyn Memory>,
    project: ProjectNumber,
    is_loading: AtomicBool,
    is_modest: bool,
}

impl Room {
    /// That of columns that are being read.
    pub(super) fn new(memory: Weak<dyn Memory>, project: ProjectNumber, is_modest: bool) -> Self {
        Self { memory, project, is_loading: AtomicBool::new(true), is_modest }
    }

    /// The columns are now those of the project.
    pub(super) fn settle(&self) {
        if self.is_loading.swap(false, Ordering::Relaxed)
            && let Some(memory) = self.memory.upgrade()
        {
            memory.loaded();
        }
    }

    /// Whether the columns may take so many bytes.
    pub(super) fn admits(&self, bytes: usize) -> bool {
        let is_loading = self.is_loading.load(Ordering::Relaxed);
        let asking = Asking { project: self.project, is_loading, is_modest: self.is_modest && is_loading };
        self.memory.upgrade().is_some_and(|memory| memory.admits(asking, bytes))
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.settle();
    }
}
