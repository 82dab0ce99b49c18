//! The stages of an erasure, in their order, and what they work on.

use mailwright_core::address::EmailAddress;
use mailwright_core::ids::{ContactId, ProjectNumber};
use mailwright_core::names;
use mailwright_core::time::Timestamp;

names! {
    /// What an erasure does next.
    pub(super) enum Stage {
        /// Mails to the contact that wait are not sent.
        Stop = "stop",
        /// Nor are mails of workflows and tests that go to the address on behalf of others. They are blanked with it.
        Elsewhere = "elsewhere",
        /// The mails to the contact are blanked: from then on nothing is recorded of them.
        Mails = "mails",
        /// Captured mails.
        Captured = "captured",
        /// Executions of workflows, with what they were to be told.
        Executions = "executions",
        /// Mails that the contact wrote.
        Received = "received",
        /// Mails that came from the address while it was no contact.
        ReceivedFrom = "received_from",
        /// Events.
        Events = "events",
        /// Entries of the audit log.
        Audit = "audit",
        /// Idempotency keys.
        Keys = "keys",
        /// Imports that were queued before are waited for, since their files may contain the address.
        Imports = "imports",
        /// What finished jobs tell.
        Jobs = "jobs",
        /// The rejected rows of jobs.
        Failures = "failures",
        /// What jobs found out about addresses.
        Verified = "verified",
    }
}

impl Stage {
    /// The first stage.
    pub(super) const FIRST: Self = Self::Stop;

    /// Whether a mail may still leave before this stage and those after it.
    pub(super) fn stops_mail(self) -> bool {
        matches!(self, Self::Stop | Self::Elsewhere)
    }

    /// The stage after this one; `None` after the last.
    pub(super) fn next(self) -> Option<Self> {
        let at = Self::ALL.iter().position(|stage| *stage == self)?;
        Self::ALL.get(at + 1).copied()
    }
}

/// An erasure under way.
pub(super) struct Running {
    pub(super) project: ProjectNumber,
    pub(super) contact: Option<ContactId>,
    pub(super) email: EmailAddress,
    /// The addresses that the contact had before and nobody has now.
    pub(super) formerly: Vec<EmailAddress>,
    pub(super) requested_at: Timestamp,
    /// Where the stage is.
    pub(super) place: String,
}

impl Running {
    /// All addresses of the person.
    pub(super) fn addresses(&self) -> impl Iterator<Item = &EmailAddress> {
        std::iter::once(&self.email).chain(&self.formerly)
    }
}

/// What a part of a stage came to.
pub(super) enum Part {
    /// The stage goes on at a place.
    Goes(String),
    /// It waits for others.
    Waits,
    /// Nothing is left of it.
    Done,
}

impl Part {
    /// Part of a stage that has no place: it goes on if it did as much as it does at once.
    pub(super) fn of(done: usize, most: i64) -> Self {
        if done as i64 >= most { Self::Goes(String::new()) } else { Self::Done }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mail_is_stopped_before_anything_else_is_done() {
        let mut stages = vec![Stage::FIRST];
        while let Some(next) = stages.last().and_then(|last| last.next()) {
            stages.push(next);
        }
        assert_eq!(stages, Stage::ALL);
        assert!(stages.is_sorted_by_key(|stage| !stage.stops_mail()));
    }
}
