//! The steps of the schema, in their order.

/// One step of the schema. Never edited after a release.
pub(super) struct Migration {
    pub(super) number: i64,
    pub(super) name: &'static str,
    pub(super) sql: &'static str,
}

/// The step from which on events are counted by day.
pub(crate) const EVENT_DAYS: &str = "event days";
/// The step from which on events are counted by hour.
pub(crate) const EVENT_SUMS: &str = "event sums";

pub(super) const MIGRATIONS: &[Migration] = &[
    Migration { number: 1, name: "foundation", sql: include_str!("../../../migrations/0001_foundation.sql") },
    Migration { number: 2, name: "segments", sql: include_str!("../../../migrations/0002_segments.sql") },
    Migration { number: 3, name: "jobs", sql: include_str!("../../../migrations/0003_jobs.sql") },
    Migration { number: 4, name: "campaigns", sql: include_str!("../../../migrations/0004_campaigns.sql") },
    Migration { number: 5, name: "accounts", sql: include_str!("../../../migrations/0005_accounts.sql") },
    Migration { number: 6, name: "sign-in", sql: include_str!("../../../migrations/0006_sign_in.sql") },
    Migration {
        number: 7,
        name: "account care",
        sql: include_str!("../../../migrations/0007_account_care.sql"),
    },
    Migration {
        number: 8,
        name: "invitations of keys",
        sql: include_str!("../../../migrations/0008_invitations_of_keys.sql"),
    },
    Migration { number: 9, name: "deletions", sql: include_str!("../../../migrations/0009_deletions.sql") },
    Migration {
        number: 10,
        name: "instance rate",
        sql: include_str!("../../../migrations/0010_instance_rate.sql"),
    },
    Migration { number: 11, name: "next hops", sql: include_str!("../../../migrations/0011_next_hops.sql") },
    Migration { number: 12, name: "attempts", sql: include_str!("../../../migrations/0012_attempts.sql") },
    Migration { number: 13, name: EVENT_DAYS, sql: include_str!("../../../migrations/0013_event_days.sql") },
    Migration {
        number: 14,
        name: "public rate",
        sql: include_str!("../../../migrations/0014_public_rate.sql"),
    },
    Migration { number: 15, name: "bounds", sql: include_str!("../../../migrations/0015_bounds.sql") },
    Migration { number: 16, name: "trust", sql: include_str!("../../../migrations/0016_trust.sql") },
    Migration {
        number: 17,
        name: "text of mails",
        sql: include_str!("../../../migrations/0017_text_of_mails.sql"),
    },
    Migration { number: 18, name: "consent", sql: include_str!("../../../migrations/0018_consent.sql") },
    Migration {
        number: 19,
        name: "age of contents",
        sql: include_str!("../../../migrations/0019_age_of_contents.sql"),
    },
    Migration {
        number: 20,
        name: "check of the secret",
        sql: include_str!("../../../migrations/0020_secret_check.sql"),
    },
    Migration {
        number: 21,
        name: "plain names",
        sql: include_str!("../../../migrations/0021_plain_names.sql"),
    },
    Migration { number: 22, name: "inviters", sql: include_str!("../../../migrations/0022_inviters.sql") },
    Migration { number: 23, name: "workflows", sql: include_str!("../../../migrations/0023_workflows.sql") },
    Migration { number: 24, name: "feedback", sql: include_str!("../../../migrations/0024_feedback.sql") },
    Migration {
        number: 25,
        name: "suppressions",
        sql: include_str!("../../../migrations/0025_suppressions.sql"),
    },
    Migration { number: 26, name: "topics", sql: include_str!("../../../migrations/0026_topics.sql") },
    Migration { number: 27, name: "inbound", sql: include_str!("../../../migrations/0027_inbound.sql") },
    Migration {
        number: 28,
        name: "inbound contents",
        sql: include_str!("../../../migrations/0028_inbound_contents.sql"),
    },
    Migration { number: 29, name: "activity", sql: include_str!("../../../migrations/0029_activity.sql") },
    Migration { number: 30, name: "uploads", sql: include_str!("../../../migrations/0030_uploads.sql") },
    Migration { number: 31, name: "billing", sql: include_str!("../../../migrations/0031_billing.sql") },
    Migration { number: 32, name: "epochs", sql: include_str!("../../../migrations/0032_epochs.sql") },
    Migration {
        number: 33,
        name: "request log",
        sql: include_str!("../../../migrations/0033_request_log.sql"),
    },
    Migration {
        number: 34,
        name: "verification",
        sql: include_str!("../../../migrations/0034_verification.sql"),
    },
    Migration { number: 35, name: "erasure", sql: include_str!("../../../migrations/0035_erasure.sql") },
    Migration {
        number: 36,
        name: "activity stream",
        sql: include_str!("../../../migrations/0036_activity_stream.sql"),
    },
    Migration { number: 37, name: "analytics", sql: include_str!("../../../migrations/0037_analytics.sql") },
    Migration { number: 38, name: "retention", sql: include_str!("../../../migrations/0038_retention.sql") },
    Migration {
        number: 39,
        name: "former addresses",
        sql: include_str!("../../../migrations/0039_former_addresses.sql"),
    },
    Migration { number: 40, name: EVENT_SUMS, sql: include_str!("../../../migrations/0040_event_sums.sql") },
    Migration { number: 41, name: "sources", sql: include_str!("../../../migrations/0041_sources.sql") },
    Migration { number: 42, name: "audience", sql: include_str!("../../../migrations/0042_audience.sql") },
    Migration {
        number: 43,
        name: "tests of campaigns",
        sql: include_str!("../../../migrations/0043_campaign_tests.sql"),
    },
    Migration {
        number: 44,
        name: "log of contacts",
        sql: include_str!("../../../migrations/0044_contact_log.sql"),
    },
    Migration {
        number: 45,
        name: "search that follows",
        sql: include_str!("../../../migrations/0045_search_follows.sql"),
    },
    Migration {
        number: 46,
        name: "saved columns",
        sql: include_str!("../../../migrations/0046_saved_columns.sql"),
    },
    Migration {
        number: 47,
        name: "search trigrams",
        sql: include_str!("../../../migrations/0047_search_trigrams.sql"),
    },
    Migration {
        number: 48,
        name: "delivery sites",
        sql: include_str!("../../../migrations/0048_delivery_sites.sql"),
    },
    Migration {
        number: 49,
        name: "transports",
        sql: include_str!("../../../migrations/0049_transports.sql"),
    },
    Migration {
        number: 50,
        name: "provider mails",
        sql: include_str!("../../../migrations/0050_provider_mails.sql"),
    },
    Migration {
        number: 51,
        name: "policies of TLS",
        sql: include_str!("../../../migrations/0051_tls_policies.sql"),
    },
    Migration {
        number: 52,
        name: "keys of domains",
        sql: include_str!("../../../migrations/0052_domain_keys.sql"),
    },
    Migration {
        number: 53,
        name: "reports of DMARC",
        sql: include_str!("../../../migrations/0053_dmarc.sql"),
    },
    Migration {
        number: 54,
        name: "interventions",
        sql: include_str!("../../../migrations/0054_interventions.sql"),
    },
    Migration {
        number: 55,
        name: "identities of domains",
        sql: include_str!("../../../migrations/0055_domain_identities.sql"),
    },
    Migration {
        number: 56,
        name: "proven domains",
        sql: include_str!("../../../migrations/0056_proven_domains.sql"),
    },
    Migration {
        number: 57,
        name: "warm-up of addresses and domains",
        sql: include_str!("../../../migrations/0057_warm_ups.sql"),
    },
    Migration {
        number: 58,
        name: "reports about TLS",
        sql: include_str!("../../../migrations/0058_tls_reports.sql"),
    },
    Migration {
        number: 59,
        name: "names of those who intervene",
        sql: include_str!("../../../migrations/0059_intervention_names.sql"),
    },
    Migration {
        number: 60,
        name: "identities of Amazon SES",
        sql: include_str!("../../../migrations/0060_ses_identities.sql"),
    },
    Migration {
        number: 61,
        name: "allowed domains",
        sql: include_str!("../../../migrations/0061_allowed_domains.sql"),
    },
    Migration {
        number: 62,
        name: "senders of reports of DMARC",
        sql: include_str!("../../../migrations/0062_dmarc_senders.sql"),
    },
    Migration {
        number: 63,
        name: "resumed sites",
        sql: include_str!("../../../migrations/0063_resumed_sites.sql"),
    },
];
