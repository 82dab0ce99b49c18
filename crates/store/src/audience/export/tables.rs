//! What each table of projects has about people: where the export has it, and what an erasure does with it.

/// What a table has about people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum About {
    /// Rows about one person: the sections of the export that have them, and what an erasure does with them.
    Person(&'static [&'static str], &'static str),
    /// Rows that refer to a person by the contact's id alone, for as long as some work takes: nothing to export.
    Passing(&'static str),
    /// Nothing about a person who is no member of the project, unless its members wrote it there themselves.
    Nobody,
}

use About::{Nobody, Passing, Person};

/// Every table of [`TABLES`](crate::database::tenant::TABLES).
pub const TABLES_AND_PEOPLE: &[(&str, About)] = &[
    ("contacts", Person(&["contact"], "the row goes first")),
    ("consents", Person(&["consents"], "rows go with the contact")),
    ("former_addresses", Person(&["formerAddresses"], "rows go with the contact, and what is known by them")),
    ("topic_choices", Person(&["topics"], "rows go with the contact")),
    ("confirmations", Person(&["confirmations"], "rows go with the contact")),
    ("segment_members", Person(&["segments"], "rows go with the contact")),
    ("segment_timers", Passing("rows go with the contact")),
    ("contact_changes", Passing("the contact's id, until the segments were looked at")),
    ("events", Person(&["events"], "rows go")),
    ("emails", Person(&["emails"], "rows stay for the sums, without address, content and values")),
    ("suppressed_emails", Passing("the mail's id, whose row stays blank")),
    ("contents", Person(&["emails"], "those that the person's mails alone have go")),
    ("content_links", Person(&["emails"], "those that the person's mails alone have go")),
    ("attachments", Person(&["emails"], "those that the person's mails alone have go")),
    ("hits", Person(&["hits"], "rows go")),
    ("news_receipts", Passing("rows about the person's mails go")),
    ("mailbox", Person(&["captured"], "rows go")),
    ("inbound_mails", Person(&["received", "receivedFromAddress"], "what the person wrote goes")),
    ("inbound_contents", Person(&["received"], "what the person wrote goes")),
    ("inbound_raw", Person(&["receivedMessages"], "what the person wrote goes")),
    ("workflow_executions", Person(&["executions"], "rows go")),
    ("workflow_outputs", Person(&["executionOutputs"], "rows go with their execution")),
    ("workflow_signals", Person(&["executionSignals"], "rows go")),
    ("workflow_requests", Person(&["webhookRequests"], "rows go with their execution")),
    ("workflow_refusals", Person(&["executionRefusals"], "rows go")),
    ("suppressions", Person(&["suppressions"], "the row goes; of a complaint a hash stays")),
    ("soft_bounces", Person(&["softBounces"], "the row goes")),
    ("audit", Person(&["auditEntries"], "the address is taken out of entries about it")),
    ("idempotency_keys", Passing("keys with the address or the contact's id go; all of them after a day")),
    ("jobs", Passing("the address is taken out of what finished jobs tell")),
    ("job_inputs", Passing("files of imports go when they are done, which is waited for")),
    ("job_flips", Passing("the contact's id, as long as the job is kept")),
    ("job_failures", Person(&["importRows"], "the address is taken out of rejected rows")),
    ("contact_months", Person(&["openedMonths"], "rows go with the contact")),
    ("verification_results", Person(&["verifications"], "rows go")),
    ("request_log", Passing("the contact's id in paths, until the log is that old")),
    ("activity_log", Passing("ids of entries of the feed, for as long as they can be read again")),
    ("contact_log", Passing("ids of contacts that changed, for some minutes")),
    ("contact_columns", Passing("what filters look at; the part with the person goes with the contact")),
    ("held_emails", Passing("the mail's id, whose row stays blank")),
    ("erasures", Passing("the receipt: the address until it is complete, afterwards hashes")),
    ("erased_addresses", Passing("hashes")),
    ("campaigns", Nobody),
    ("workflows", Nobody),
    ("workflow_versions", Nobody),
    ("workflow_listeners", Nobody),
    ("workflow_periods", Nobody),
    ("workflow_references", Nobody),
    ("segments", Nobody),
    ("segment_upkeep", Nobody),
    ("segment_removals", Nobody),
    ("segment_days", Nobody),
    ("suppression_rules", Nobody),
    ("topics", Nobody),
    ("inbound_days", Nobody),
    ("dmarc_reports", Nobody),
    ("dmarc_sums", Nobody),
    ("contact_followers", Nobody),
    ("contact_column_parts", Passing("the id at which a part begins")),
    ("contact_fields", Nobody),
    ("event_names", Nobody),
    ("event_fields", Nobody),
    ("counters", Nobody),
    ("event_days", Nobody),
    ("event_hour_sums", Nobody),
    ("event_day_sums", Nobody),
    ("event_block_sums", Nobody),
    ("rollup_days", Nobody),
    ("domain_days", Nobody),
    ("activity_streams", Nobody),
    ("request_log_gaps", Nobody),
    ("uploads", Nobody),
    ("upload_usage", Nobody),
    ("billing_accounts", Nobody),
    ("billing_metered", Nobody),
    ("billing_notices", Nobody),
    ("templates", Nobody),
    ("mail_sources", Nobody),
    ("mail_versions", Nobody),
    ("version_texts", Nobody),
    ("domains", Nobody),
    ("domain_keys", Nobody),
    ("domain_identities", Nobody),
    ("rate_windows", Nobody),
    ("public_rate_windows", Nobody),
    ("throttles", Nobody),
    ("search_indexes", Nobody),
    ("domain_names", Nobody),
    ("api_keys", Nobody),
    ("memberships", Nobody),
    ("invitations", Nobody),
    ("suspensions", Nobody),
    ("departures", Nobody),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::audience::export::SECTIONS;
    use crate::database::tenant::TABLES;

    #[test]
    fn every_table_is_exported_or_has_nothing_of_a_person() {
        let known: BTreeSet<&str> = TABLES_AND_PEOPLE.iter().map(|(table, _)| *table).collect();
        let all: BTreeSet<&str> = TABLES.iter().map(|(table, _)| *table).collect();
        assert_eq!(known, all, "what a new table has about people is said here");
        let mut named = BTreeSet::from(["contact"]);
        named.extend(SECTIONS.iter().map(|section| section.name));
        let mut used = BTreeSet::new();
        for (_, about) in TABLES_AND_PEOPLE {
            if let Person(sections, _) = about {
                used.extend(sections.iter().copied());
            }
        }
        assert_eq!(used, named, "every section is of a table");
    }

    #[test]
    fn every_section_reads_the_tables_that_it_is_named_for() {
        for (table, about) in TABLES_AND_PEOPLE {
            let Person(sections, _) = about else { continue };
            let reads = |name: &&str| {
                let section = SECTIONS.iter().find(|section| section.name == *name);
                *name == "contact"
                    || section.is_some_and(|section| {
                        section
                            .sql
                            .split(|c: char| !c.is_alphanumeric() && c != '_')
                            .any(|word| word == *table)
                    })
            };
            let is_beside = ["content_links", "attachments"].contains(table);
            assert!(is_beside || sections.iter().all(reads), "{table}: {sections:?}");
        }
    }
}
