//! The numbers that each setting takes.

use anyhow::{Result, bail};
use toml::{Table, Value};

use super::layers::{value, variable};

/// The longest times: ten years.
const MOST_MS: i64 = 315_360_000_000;
const MOST_SECONDS: i64 = 315_360_000;
const MOST_HOURS: i64 = 87_600;
const MOST_DAYS: i64 = 3650;
/// The largest counts.
const MANY: i64 = 1_000_000_000;

/// The numbers that each setting takes. One that is out of its range is refused, so that nothing else is done than what
/// was asked for.
pub(super) const RANGES: [(&str, i64, i64); 80] = [
    ("rate_limit_per_minute", 0, MANY),
    ("member_share_per_minute", 0, MANY),
    ("public_rate_limit_per_minute", 1, MANY),
    ("public_share_per_minute", 0, MANY),
    ("person_requests_per_minute", 1, MANY),
    ("keyless_requests_per_minute", 1, MANY),
    ("invalid_keys_per_minute", 1, MANY),
    ("projects_per_user", 0, MANY),
    ("trusted_proxies", 0, 100),
    ("drain_ms", 0, 3_600_000),
    ("http.connections", 0, 1_000_000),
    ("http.connections_per_client", 0, 1_000_000),
    ("http.header_seconds", 1, MOST_SECONDS),
    ("http.header_kb", 8, 1024),
    ("http.idle_seconds", 1, MOST_SECONDS),
    ("http.body_pause_seconds", 1, MOST_SECONDS),
    ("http.body_seconds", 1, MOST_SECONDS),
    ("http.write_seconds", 1, MOST_SECONDS),
    // twice the largest body: the large bodies of a client have half of the budget at most
    ("http.body_budget_mb", 100, 1_048_576),
    ("requests.retention_days", 0, 3650),
    ("requests.sample_percent", 0, 100),
    ("retention.events_days", 0, MOST_DAYS),
    ("retention.bodies_days", 0, MOST_DAYS),
    ("retention.captured_mail_days", 0, MOST_DAYS),
    ("retention.audit_log_days", 0, MOST_DAYS),
    ("retention.executions_days", 0, MOST_DAYS),
    ("retention.mails_days", 0, MOST_DAYS),
    // one is for reads that may take long
    ("database.connections", 2, 10_000),
    ("database.lock_wait_ms", 1, 600_000),
    ("database.clock_check_seconds", 1, MOST_SECONDS),
    ("database.slow_reads", 1, 100),
    ("database.slow_read_ms", 100, 3_600_000),
    ("delivery.connections", 1, 1000),
    ("delivery.retry_base_ms", 1, MOST_MS),
    ("delivery.retry_max_ms", 1, MOST_MS),
    ("delivery.lease_ms", 100, MOST_MS),
    ("delivery.deadline_hours", 0, MOST_HOURS),
    ("delivery.refused_base_ms", 1, MOST_MS),
    ("delivery.refused_max_ms", 1, MOST_MS),
    ("delivery.reply_timeout_ms", 1, MOST_MS),
    ("delivery.final_reply_timeout_ms", 1, MOST_MS),
    ("sending.per_second", 0, MANY),
    ("sending.instance_per_second", 0, MANY),
    ("idempotency.ttl_seconds", 1, MOST_SECONDS),
    ("domains.check_interval_seconds", 1, MOST_SECONDS),
    ("domains.key_lifetime_days", 0, 3650),
    ("jobs.at_once", 1, 100),
    ("jobs.lease_ms", 1000, MOST_MS),
    ("segments.refresh_interval_seconds", 1, MOST_SECONDS),
    ("segments.memory_mb", 0, 1_000_000),
    ("segments.memory_from_contacts", 0, 1_000_000_000),
    ("search.memory_mb", 0, 1_000_000),
    ("campaigns.latest_start_hours", 0, MOST_HOURS),
    ("tracking.settle_ms", 0, 60_000),
    ("tracking.hits_days", 1, 3650),
    ("tracking.links_days", 7, 3650),
    ("inbound.connections", 1, 100_000),
    ("inbound.connections_per_client", 1, 100_000),
    ("inbound.message_mb", 1, 1024),
    ("inbound.keep_days", 1, 3650),
    ("inbound.mails_per_day", 0, MANY),
    ("inbound.mb_per_day", 0, MANY),
    ("activity.stream_hours", 1, MOST_HOURS),
    ("activity.streams_per_project", 0, 1_000_000),
    ("activity.streams", 0, 1_000_000),
    ("attachments.count", 0, 1000),
    ("attachments.total_mb", 0, 1024),
    ("mailbox.count", 1, MANY),
    ("mailbox.total_mb", 1, 1_048_576),
    ("uploads.mb_per_project", 0, MANY),
    ("login.attempts_per_address", 1, MANY),
    ("login.attempts_per_client", 1, MANY),
    ("login.window_seconds", 1, MOST_SECONDS),
    ("login.link_seconds", 1, MOST_SECONDS),
    ("oauth.state_ttl_seconds", 1, MOST_SECONDS),
    ("billing.free_mails", 0, MANY),
    ("backup.copy_seconds", 1, 3600),
    ("backup.snapshot_hours", 1, MOST_HOURS),
    ("backup.keep_days", 1, 3650),
    ("backup.spool_mb", 16, 1_048_576),
];

/// Refuses a number that is out of its range.
pub(super) fn check(table: &Table) -> Result<()> {
    RANGES.into_iter().try_for_each(|(name, least, most)| check_range(table, name, least, most))
}

fn check_range(table: &Table, name: &str, least: i64, most: i64) -> Result<()> {
    let Some(Value::Integer(number)) = value(table, name) else { return Ok(()) };
    if (least..=most).contains(number) {
        return Ok(());
    }
    bail!("{name} ({}) must be from {least} to {most}, not {number}", variable(name));
}
