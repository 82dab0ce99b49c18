//! Whether servers of a site hang: they let us wait for their answers. `sites/hanging.rs` has what follows.

use std::time::Duration;

use mailwright_core::time::Timestamp;

/// How long it is remembered that a site hung, unless it answers soon before.
const HANGS_FOR: Duration = Duration::from_hours(1);

/// What is known of whether servers hang.
#[derive(Debug, Default)]
pub(in crate::delivery::direct) struct Hanging {
    /// Conversations with it in which an answer is awaited for long, until they end.
    waiting: u32,
    /// When one last began to be, unless a mail was answered soon since.
    hung_at: Option<Timestamp>,
}

impl Hanging {
    /// An answer is awaited for long. Returns whether it is news that the site hangs.
    pub(in crate::delivery::direct) fn waits(&mut self, now: Timestamp) -> bool {
        let is_news = !self.is_remembered(now);
        self.waiting += 1;
        self.hung_at = Some(now);
        is_news
    }

    /// Conversations in which an answer is awaited for long.
    pub(in crate::delivery::direct) fn waiting(&self) -> u32 {
        self.waiting
    }

    /// The conversation in which it was has ended.
    pub(in crate::delivery::direct) fn waited(&mut self) {
        self.waiting = self.waiting.saturating_sub(1);
    }

    /// What became of a mail was said, and soon.
    pub(in crate::delivery::direct) fn answered_soon(&mut self) {
        self.hung_at = None;
    }

    /// Whether it hangs, given how many conversations there are. That it answers one of them soon is nothing while most
    /// wait: whoever owns it could answer one in ten.
    pub(in crate::delivery::direct) fn hangs(&self, conversations: usize, now: Timestamp) -> bool {
        self.is_remembered(now) || self.waiting as usize > conversations / 2
    }

    /// Whether it is remembered that it hung.
    pub(in crate::delivery::direct) fn is_remembered(&self, now: Timestamp) -> bool {
        self.hung_at.is_some_and(|at| now.since(at) < HANGS_FOR)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_hangs_until_it_answers_soon_and_while_most_of_its_conversations_wait() {
        let mut hanging = Hanging::default();
        let after = |seconds| Timestamp(0).plus(Duration::from_secs(seconds));
        assert!(!hanging.hangs(0, after(0)));
        assert!(hanging.waits(after(0)));
        assert!(!hanging.waits(after(1)), "that is known");
        assert!(hanging.hangs(10, after(2)));
        hanging.answered_soon();
        assert!(!hanging.hangs(4, after(2)) && hanging.hangs(3, after(2)));
        hanging.waited();
        hanging.waited();
        assert!(!hanging.hangs(0, after(3)));
        hanging.waits(after(4));
        hanging.waited();
        assert!(hanging.hangs(0, after(3603)) && !hanging.hangs(0, after(3604)));
    }
}
