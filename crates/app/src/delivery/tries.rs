//! The pauses between the tries of a write.

use std::time::Duration;

use mailwright_store::Error as StoreError;

/// The pauses between the tries of a write, which become longer.
pub(super) struct Tries {
    next: Duration,
}

impl Default for Tries {
    fn default() -> Self {
        Self { next: Duration::from_millis(50) }
    }
}

impl Tries {
    /// How long the next try waits; `None` when it is time to give up. A database that is away is waited for, but not
    /// when the service stops. Other errors are retried for about a second: after that the retries would keep a worker
    /// and its connection for good.
    pub(super) fn after(&mut self, error: &StoreError, is_stopping: bool) -> Option<Duration> {
        let may_pass = error.is_temporary() || matches!(error, StoreError::Unknown(_));
        if self.next > Duration::from_secs(1) && (is_stopping || !may_pass) {
            return None;
        }
        let pause = self.next;
        self.next = (pause * 2).min(Duration::from_secs(2));
        Some(pause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_is_waited_for_and_an_error_that_does_not_pass_is_not() {
        let pauses = |error: &StoreError, is_stopping| {
            let mut tries = Tries::default();
            std::iter::from_fn(|| tries.after(error, is_stopping)).take(1000).collect::<Vec<_>>()
        };
        let away = [StoreError::Unavailable("away".into()), StoreError::Unknown("cut off".into())];
        let hopeless = StoreError::Statement("constraint".into());
        for error in &away {
            assert_eq!(pauses(error, false).len(), 1000, "{error}");
            assert!(pauses(error, false).iter().all(|pause| *pause <= Duration::from_secs(2)));
        }
        for pauses in [pauses(&away[0], true), pauses(&hopeless, false), pauses(&hopeless, true)] {
            let all: Duration = pauses.iter().sum();
            assert!(all > Duration::from_secs(1) && all < Duration::from_secs(3), "{pauses:?}");
        }
    }
}
