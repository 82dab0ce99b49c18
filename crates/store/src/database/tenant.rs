//! The tables whose rows belong to projects, and what becomes of the rows when a project is reset or deleted.
//!
//! A test derives these tables from the migrated database, so that none can be forgotten here: a table with a column
//! `project_id` that is missing from [`TABLES`] fails it.

/// What becomes of a table's rows when the number of their project is retired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retirement {
    /// They are wiped in the background. A reset copies first what it keeps of `domains` and `counters`.
    Wiped(Rows),
    /// They are moved in the background to the number that the project has after a reset, and wiped after a deletion.
    Moved(Rows),
    /// They are found by other keys than their project's. In the transaction of a reset they get the project's new number,
    /// and in that of a deletion they go.
    Following,
    /// They speak of a number, and go with its row in `projects`.
    Cascading,
}

/// How rows of a table are removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rows {
    /// The columns of the table's key after `project_id`.
    pub key: &'static str,
    /// How many go in one transaction.
    pub at_once: u32,
}

const fn wiped_by(key: &'static str, at_once: u32) -> Retirement {
    Retirement::Wiped(Rows { key, at_once })
}

pub(crate) const AUDIT: Rows = Rows { key: "id", at_once: 500 };

/// Every table of projects' rows. Those that are wiped go in this order.
pub const TABLES: &[(&str, Retirement)] = &[
    ("campaigns", wiped_by("id", 50)),
    ("jobs", wiped_by("id", 100)),
    ("job_inputs", wiped_by("job_id", 10)),
    ("job_failures", wiped_by("job_id, position", 500)),
    ("segments", wiped_by("id", 50)),
    ("segment_upkeep", wiped_by("project_id", 1)),
    ("segment_members", wiped_by("segment_id, contact_id", 500)),
    ("segment_removals", wiped_by("segment_id", 500)),
    ("segment_timers", wiped_by("contact_id", 500)),
    ("contact_changes", wiped_by("id", 500)),
    ("suppressions", wiped_by("email", 500)),
    ("emails", wiped_by("id", 500)),
    ("contacts", wiped_by("id", 500)),
    ("contact_fields", wiped_by("name", 500)),
    ("event_names", wiped_by("name", 500)),
    ("counters", wiped_by("kind, name, shard", 500)),
    ("events", wiped_by("id", 500)),
    ("event_days", wiped_by("project_id", 1)),
    ("idempotency_keys", wiped_by("key", 500)),
    ("mailbox", wiped_by("id", 100)),
    ("contents", wiped_by("hash", 50)),
    ("attachments", wiped_by("hash", 10)),
    ("templates", wiped_by("id", 50)),
    ("domains", wiped_by("id", 100)),
    ("rate_windows", wiped_by("project_id", 1)),
    ("public_rate_windows", wiped_by("project_id", 1)),
    ("throttles", wiped_by("project_id", 1)),
    ("search_indexes", wiped_by("project_id", 1)),
    ("audit", Retirement::Moved(AUDIT)),
    ("api_keys", Retirement::Following),
    ("memberships", Retirement::Following),
    ("invitations", Retirement::Following),
    ("suspensions", Retirement::Following),
    ("departures", Retirement::Cascading),
];

/// The tables that are wiped.
pub(crate) fn wiped() -> impl Iterator<Item = (&'static str, Rows)> {
    TABLES.iter().filter_map(|(table, retirement)| match retirement {
        Retirement::Wiped(rows) => Some((*table, *rows)),
        Retirement::Moved(_) | Retirement::Following | Retirement::Cascading => None,
    })
}

/// The tables whose rows follow their project.
pub(crate) fn following() -> impl Iterator<Item = &'static str> {
    TABLES.iter().filter(|(_, retirement)| *retirement == Retirement::Following).map(|(table, _)| *table)
}
