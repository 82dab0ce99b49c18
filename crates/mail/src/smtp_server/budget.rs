//! How much memory the messages of all sessions take together.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The bytes that are held.
#[derive(Debug, Default)]
pub(super) struct Budget(AtomicUsize);

/// Bytes of one session, which are given back when this is dropped.
#[derive(Debug)]
pub(super) struct Held {
    of: Arc<Budget>,
    bytes: usize,
}

impl Held {
    pub(super) fn new(of: &Arc<Budget>) -> Self {
        Self { of: Arc::clone(of), bytes: 0 }
    }

    /// Takes so many more, if all sessions together then hold no more than `most`; whether it did.
    pub(super) fn grow(&mut self, bytes: usize, most: usize) -> bool {
        let grown = |held: usize| held.checked_add(bytes).filter(|held| *held <= most);
        let is_granted = self.of.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, grown).is_ok();
        self.bytes += if is_granted { bytes } else { 0 };
        is_granted
    }

    /// Gives all of them back.
    pub(super) fn release(&mut self) {
        self.of.0.fetch_sub(self.bytes, Ordering::Relaxed);
        self.bytes = 0;
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.release();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_back_can_be_taken_again() {
        let budget = Arc::new(Budget::default());
        let (mut one, mut other) = (Held::new(&budget), Held::new(&budget));
        assert!(one.grow(60, 100) && other.grow(40, 100));
        assert!(!other.grow(1, 100));
        drop(one);
        assert!(other.grow(60, 100) && !other.grow(1, 100));
        other.release();
        assert_eq!(budget.0.load(Ordering::Relaxed), 0);
    }
}
