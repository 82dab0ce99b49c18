//! The tables whose rows belong to projects, and what happens to the rows when a project is reset or deleted.
//!
//! A test derives these tables from the migrated database and fails for a table with a column `project_id` that is
//! missing from [`TABLES`]. Keys and indexes of these tables begin with `project_id`, so that the schema can be divided
//! by project. Tables whose rows are found by other keys are [`Retirement::Following`] or [`Retirement::Cascading`].

/// What happens to a table's rows when the number of their project is retired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retirement {
    /// The rows are purged in the background. A reset first copies the rows that it keeps.
    Purged(Rows),
    /// The rows are moved in the background to the number that the project has after a reset, and purged after a
    /// deletion.
    Moved(Rows),
    /// The rows are found by other keys than their project's. In the transaction of a reset they get the project's new
    /// number, and in that of a deletion they are deleted.
    Following,
    /// The rows are purged by a step of their own, because something outside of the database goes with them.
    WithObjects(Rows),
    /// The rows refer to a project's number, and are deleted with its row in `projects`.
    Cascading,
}

/// How rows of a table are removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rows {
    /// The columns of the table's key after `project_id`, separated by commas.
    pub key: &'static str,
    /// How many rows are removed in one transaction.
    pub at_once: u32,
}

const fn purged_by(key: &'static str, at_once: u32) -> Retirement {
    Retirement::Purged(Rows { key, at_once })
}

pub(crate) const AUDIT: Rows = Rows { key: "id", at_once: 500 };
pub(crate) const UPLOADS: Rows = Rows { key: "hash", at_once: 100 };

/// Every table of projects' rows. Tables are purged in this order.
pub const TABLES: &[(&str, Retirement)] = &[
    ("campaigns", purged_by("id", 50)),
    ("jobs", purged_by("id", 100)),
    ("job_inputs", purged_by("job_id", 10)),
    ("job_failures", purged_by("job_id, position", 500)),
    ("job_flips", purged_by("job_id, position", 500)),
    ("verification_results", purged_by("job_id, position", 500)),
    ("workflows", purged_by("id", 10)),
    ("workflow_versions", purged_by("workflow_id, number", 10)),
    ("workflow_listeners", purged_by("event, workflow_id, number, enrols", 500)),
    ("workflow_periods", purged_by("workflow_id, began_at", 500)),
    ("workflow_references", purged_by("kind, name, workflow_id", 500)),
    ("workflow_executions", purged_by("id", 500)),
    ("workflow_outputs", purged_by("execution_id, entry", 100)),
    ("workflow_signals", purged_by("id", 500)),
    ("workflow_requests", purged_by("id", 100)),
    ("workflow_refusals", purged_by("event_id", 500)),
    ("segments", purged_by("id", 50)),
    ("segment_upkeep", purged_by("project_id", 1)),
    ("segment_members", purged_by("segment_id, contact_id", 500)),
    ("segment_removals", purged_by("segment_id", 500)),
    ("segment_timers", purged_by("contact_id", 500)),
    ("segment_days", purged_by("segment_id, day", 500)),
    ("contact_changes", purged_by("id", 500)),
    ("suppressions", purged_by("email", 500)),
    ("suppression_rules", purged_by("id", 100)),
    ("suppressed_emails", purged_by("email_id", 500)),
    ("held_emails", purged_by("email_id", 500)),
    ("soft_bounces", purged_by("email", 500)),
    ("topics", purged_by("id", 50)),
    ("topic_choices", purged_by("topic_id, contact_id", 500)),
    ("confirmations", purged_by("topic_id, contact_id", 500)),
    ("consents", purged_by("contact_id, id", 500)),
    ("former_addresses", purged_by("contact_id, email", 500)),
    ("hits", purged_by("email_id, id", 500)),
    ("news_receipts", purged_by("key", 500)),
    ("inbound_mails", purged_by("id", 100)),
    ("inbound_raw", purged_by("hash", 10)),
    ("inbound_contents", purged_by("hash", 50)),
    ("inbound_days", purged_by("day", 500)),
    ("dmarc_reports", purged_by("domain_id, sender, reporter, report_id", 500)),
    (
        "dmarc_sums",
        purged_by("domain_id, day, sender, source, header_from, disposition, dkim, spf, ours", 500),
    ),
    ("emails", purged_by("id", 500)),
    ("contacts", purged_by("id", 500)),
    ("contact_followers", purged_by("project_id", 1)),
    ("contact_log", purged_by("id", 500)),
    ("contact_columns", purged_by("first_id, aspect", 20)),
    ("contact_column_parts", purged_by("first_id", 500)),
    ("contact_fields", purged_by("name", 500)),
    ("event_names", purged_by("name", 500)),
    ("event_fields", purged_by("event, name", 500)),
    ("counters", purged_by("kind, name, shard", 500)),
    ("events", purged_by("id", 500)),
    ("event_days", purged_by("project_id", 1)),
    ("event_hour_sums", purged_by("hour, name", 500)),
    ("event_day_sums", purged_by("day, name", 500)),
    ("event_block_sums", purged_by("block, name", 500)),
    ("rollup_days", purged_by("day", 500)),
    ("contact_months", purged_by("contact_id, month", 500)),
    ("domain_days", purged_by("day", 500)),
    ("activity_streams", purged_by("project_id", 1)),
    ("activity_log", purged_by("id", 500)),
    ("idempotency_keys", purged_by("key", 500)),
    ("mailbox", purged_by("id", 100)),
    ("contents", purged_by("hash", 50)),
    ("content_links", purged_by("hash", 50)),
    ("attachments", purged_by("hash", 10)),
    ("mail_sources", purged_by("owner_id", 50)),
    ("mail_versions", purged_by("owner_id, number", 100)),
    ("version_texts", purged_by("owner_id, hash", 20)),
    ("templates", purged_by("id", 50)),
    ("uploads", Retirement::WithObjects(UPLOADS)),
    ("upload_usage", purged_by("project_id", 1)),
    ("domains", purged_by("id", 100)),
    ("domain_keys", purged_by("domain_id, selector", 100)),
    ("domain_identities", purged_by("domain_id, transport", 100)),
    ("rate_windows", purged_by("project_id", 1)),
    ("public_rate_windows", purged_by("project_id", 1)),
    ("request_log", purged_by("id", 500)),
    ("request_log_gaps", purged_by("minute", 500)),
    ("throttles", purged_by("project_id", 1)),
    ("search_indexes", purged_by("project_id", 1)),
    ("audit", Retirement::Moved(AUDIT)),
    ("domain_names", Retirement::Following),
    ("api_keys", Retirement::Following),
    ("memberships", Retirement::Following),
    ("invitations", Retirement::Following),
    ("suspensions", Retirement::Following),
    ("erasures", Retirement::Following),
    ("erased_addresses", Retirement::Following),
    ("billing_accounts", Retirement::Following),
    ("billing_metered", Retirement::Following),
    ("billing_notices", Retirement::Following),
    ("departures", Retirement::Cascading),
];

/// The tables whose rows are found by their project alone: every key and every index of them begins with it.
pub fn found_by_project() -> impl Iterator<Item = &'static str> {
    TABLES.iter().filter_map(|(table, retirement)| match retirement {
        Retirement::Purged(_) | Retirement::Moved(_) | Retirement::WithObjects(_) => Some(*table),
        Retirement::Following | Retirement::Cascading => None,
    })
}

/// The tables that are purged.
pub(crate) fn purged() -> impl Iterator<Item = (&'static str, Rows)> {
    TABLES.iter().filter_map(|(table, retirement)| match retirement {
        Retirement::Purged(rows) => Some((*table, *rows)),
        Retirement::Moved(_) | Retirement::WithObjects(_) | Retirement::Following | Retirement::Cascading => {
            None
        }
    })
}

/// The tables whose rows follow their project.
pub(crate) fn following() -> impl Iterator<Item = &'static str> {
    TABLES.iter().filter(|(_, retirement)| *retirement == Retirement::Following).map(|(table, _)| *table)
}
