//! Background jobs: long work of a project that is done in steps.

use crate::names;

names! {
    /// The kinds of jobs.
    pub enum JobKind {
        /// Creates and updates contacts from a CSV file.
        ImportContacts = "import_contacts",
        /// Subscribes contacts.
        SubscribeContacts = "subscribe_contacts",
        /// Unsubscribes contacts.
        UnsubscribeContacts = "unsubscribe_contacts",
        /// Removes contacts.
        DeleteContacts = "delete_contacts",
        /// Enrols the members of a segment in a workflow.
        EnrolSegment = "enrol_segment",
        /// Moves executions of a workflow to the version in force.
        MigrateExecutions = "migrate_executions",
        /// Rehearses a workflow with what a project recorded.
        SimulateWorkflow = "simulate_workflow",
        /// Puts the addresses of a CSV file on the list of those that get no mail.
        ImportSuppressions = "import_suppressions",
        /// Verifies the addresses of a segment or of a CSV file.
        VerifyAddresses = "verify_addresses",
    }
}

names! {
    /// The state of a job.
    pub enum JobState {
        /// The job waits for its turn, for the first time or again.
        Waiting = "waiting",
        /// A process works on it.
        Active = "active",
        /// The job is tried again after a failure.
        Delayed = "delayed",
        /// The job is done.
        Completed = "completed",
        /// The job was given up.
        Failed = "failed",
    }
}
