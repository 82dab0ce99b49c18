//! How long what grows is kept.

use anyhow::{Result, bail};
use mailwright_core::retention::{Kind, MAX_DAYS, Periods};
use serde::Deserialize;

use super::layers::variable;

/// The periods that have no section of their own, in days; 0: for ever.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_field_names, reason = "these are the names of the settings")]
pub(super) struct Retention {
    events_days: u32,
    bodies_days: u32,
    captured_mail_days: u32,
    audit_log_days: u32,
    executions_days: u32,
    mails_days: u32,
}

/// The periods that are set elsewhere, in days.
pub(super) struct Elsewhere {
    /// `tracking.hits_days`.
    pub(super) hits: u64,
    /// `inbound.keep_days`.
    pub(super) raw_inbound: u64,
    /// `requests.retention_days`.
    pub(super) request_log: u64,
}

impl Retention {
    /// The periods of the instance.
    pub(super) fn periods(&self, elsewhere: &Elsewhere) -> Result<Periods> {
        // they were compared with their ranges, whose ends fit
        let number = |days: u64| u32::try_from(days).ok();
        let mut periods = Periods::default()
            .with(Kind::RawInbound, number(elsewhere.raw_inbound))
            .with(Kind::Hits, number(elsewhere.hits))
            .with(Kind::RequestLog, number(elsewhere.request_log));
        for (kind, name, days) in [
            (Kind::Events, "events_days", self.events_days),
            (Kind::Bodies, "bodies_days", self.bodies_days),
            (Kind::CapturedMail, "captured_mail_days", self.captured_mail_days),
            (Kind::AuditLog, "audit_log_days", self.audit_log_days),
            (Kind::Executions, "executions_days", self.executions_days),
            (Kind::Mails, "mails_days", self.mails_days),
        ] {
            let least = kind.least_days();
            if (1..least).contains(&days) {
                bail!(
                    "retention.{name} ({}) must be 0 or from {least} to {MAX_DAYS}, not {days}",
                    variable(&format!("retention.{name}"))
                );
            }
            periods = periods.with(kind, (days > 0).then_some(days));
        }
        Ok(periods)
    }
}
