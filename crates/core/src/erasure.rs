//! The erasure of a person from a project: how far it is, and what its receipt counts.

use crate::names;
use crate::names::names_in_json;

names_in_json! {
    /// How far an erasure is.
    pub enum ErasureStatus {
        /// It is under way: the person gets no mail any more, and some records are still there.
        Running = "RUNNING",
        /// Nothing is left of what is searched for.
        Completed = "COMPLETED",
    }
}

names! {
    /// A kind of records that a receipt counts.
    #[derive(PartialOrd, Ord)]
    pub enum Counted {
        /// The contact.
        Contacts = "contacts",
        /// Evidence of consent.
        Consents = "consents",
        /// Choices of topics.
        Topics = "topics",
        /// Requests to confirm a subscription.
        Confirmations = "confirmations",
        /// Memberships of segments, former ones included.
        Segments = "segments",
        /// Events.
        Events = "events",
        /// Mails to the person. Their rows stay without address and content, for the sums.
        Emails = "emails",
        /// Those of them that waited, or were being handed over.
        Stopped = "stopped",
        /// Opens and clicks.
        Hits = "hits",
        /// Contents that were the person's alone.
        Contents = "contents",
        /// Attachments that were the person's alone.
        Attachments = "attachments",
        /// Captured mails.
        Captured = "captured",
        /// Mails that the person wrote.
        Received = "received",
        /// Executions of workflows, with their logs, outputs and requests.
        Executions = "executions",
        /// What executions were to be told.
        Signals = "signals",
        /// Refusals to begin executions.
        Refusals = "refusals",
        /// Entries of the list of suppressed addresses.
        Suppressions = "suppressions",
        /// Bounces of a full mailbox that were counted.
        SoftBounces = "softBounces",
        /// Results of verifications of the address.
        Verifications = "verifications",
        /// Entries of the audit log that named the address.
        AuditEntries = "auditEntries",
        /// Idempotency keys that contained the address or the contact's id.
        IdempotencyKeys = "idempotencyKeys",
        /// Results and rejected rows of imports and other jobs that contained the address.
        JobRows = "jobRows",
    }
}

/// The word that stands where an address was.
pub const ERASED: &str = "[erased]";
