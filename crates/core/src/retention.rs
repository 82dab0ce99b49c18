//! How long what grows is kept: a period for each kind, of the instance and of a project.
//!
//! A project may keep things for a shorter time than the instance, never for a longer one: the disk is the operator's.

use std::time::Duration;

use serde_json::{Map, Value as Json};

use crate::names;
use crate::time::Timestamp;

names! {
    /// What is removed when its period is over.
    pub enum Kind {
        /// Events, by when they happened.
        Events = "events",
        /// The contents of mails, by when they were used last.
        Bodies = "bodies",
        /// Captured mail, by when it was captured.
        CapturedMail = "capturedMail",
        /// Mail that came in as it came, with its files.
        RawInbound = "rawInbound",
        /// Opens and clicks one by one, by when their mail was accepted.
        Hits = "hits",
        /// The log of requests.
        RequestLog = "requestLog",
        /// The audit log.
        AuditLog = "auditLog",
        /// Executions of workflows that are over, by when they ended.
        Executions = "executions",
        /// Mails that are settled and mails that came in, by when they were accepted and last changed.
        Mails = "mails",
    }
}

/// The longest period, in days: ten years.
pub const MAX_DAYS: u32 = 3650;

impl Kind {
    /// The shortest period, in days. Shorter ones would take away what the service itself needs: a content is noted as
    /// used once a day and may be sent again for a week, what was delivered is reported for weeks, and who looks into
    /// the audit log does so later.
    pub const fn least_days(self) -> u32 {
        match self {
            Self::Bodies => 7,
            Self::AuditLog | Self::Mails => 31,
            Self::Events
            | Self::CapturedMail
            | Self::RawInbound
            | Self::Hits
            | Self::RequestLog
            | Self::Executions => 1,
        }
    }
}

/// A period for each kind, in days; `None` where there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Periods([Option<u32>; Kind::ALL.len()]);

impl Periods {
    /// The period of a kind, in days.
    pub fn days(&self, kind: Kind) -> Option<u32> {
        self.0[kind as usize]
    }

    /// Sets the period of a kind.
    #[must_use]
    pub fn with(mut self, kind: Kind, days: Option<u32>) -> Self {
        self.0[kind as usize] = days;
        self
    }

    /// The periods of a project, given those of its instance (`self`) and its own: the shorter of each.
    #[must_use]
    pub fn shortened(&self, own: &Self) -> Self {
        let shorter = |kind| match (self.days(kind), own.days(kind)) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        Kind::ALL.into_iter().fold(*self, |periods, kind| periods.with(kind, shorter(kind)))
    }

    /// Before when things of a kind are removed; `None` where they are kept for ever.
    pub fn before(&self, kind: Kind, now: Timestamp) -> Option<Timestamp> {
        let days = self.days(kind)?;
        Some(now.minus(Duration::from_hours(24 * u64::from(days))))
    }

    /// As they are stored and shown: the kinds that have a period.
    pub fn to_json(&self) -> Map<String, Json> {
        let of = |kind: Kind| Some((kind.as_str().to_owned(), self.days(kind)?.into()));
        Kind::ALL.into_iter().filter_map(of).collect()
    }

    /// Reads what [`Periods::to_json`] made.
    pub fn from_json(stored: &Json) -> Self {
        let days = |kind: Kind| stored[kind.as_str()].as_u64().and_then(|days| u32::try_from(days).ok());
        Kind::ALL.into_iter().fold(Self::default(), |periods, kind| periods.with(kind, days(kind)))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_project_keeps_things_for_a_shorter_time_only() {
        let instance = Periods::default().with(Kind::Events, Some(100)).with(Kind::Mails, None);
        for (own, in_force) in [(None, Some(100)), (Some(99), Some(99)), (Some(101), Some(100))] {
            let own = Periods::default().with(Kind::Events, own);
            assert_eq!(instance.shortened(&own).days(Kind::Events), in_force);
        }
        let own = Periods::default().with(Kind::Mails, Some(40));
        assert_eq!(instance.shortened(&own).days(Kind::Mails), Some(40), "the instance keeps them for ever");
        assert_eq!(instance.shortened(&Periods::default()), instance);
    }

    #[test]
    fn what_is_stored_is_read_again() {
        let all =
            Kind::ALL.into_iter().zip(1..).fold(Periods::default(), |p, (kind, n)| p.with(kind, Some(n)));
        for periods in [Periods::default(), all, Periods::default().with(Kind::Hits, Some(MAX_DAYS))] {
            assert_eq!(Periods::from_json(&periods.to_json().into()), periods);
        }
        assert_eq!(Periods::from_json(&json!({"events": -1, "hits": "x", "other": 3})), Periods::default());
    }

    #[test]
    fn a_period_ends_at_a_moment() {
        let day = |days: i64| Timestamp(days * 24 * 3_600_000);
        let periods = Periods::default().with(Kind::Events, Some(3));
        assert_eq!(periods.before(Kind::Events, day(10)), Some(day(7)));
        assert_eq!(periods.before(Kind::Mails, day(10)), None);
    }
}
