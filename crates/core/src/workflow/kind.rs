//! The enumerations of workflows.

use crate::names::names_in_json;

names_in_json! {
    /// What starts the executions of a workflow.
    pub enum TriggerType {
        /// An event of a contact.
        Event = "EVENT",
        /// Nothing by itself: `POST /workflows/:id/executions`, or enrolling a segment.
        Manual = "MANUAL",
        /// A schedule, for the members of a segment.
        Schedule = "SCHEDULE",
    }
}

names_in_json! {
    /// What a step does.
    pub enum StepType {
        /// Where an execution begins. Every workflow has one, which is created with it.
        Trigger = "TRIGGER",
        /// Sends a mail from a template.
        SendEmail = "SEND_EMAIL",
        /// Waits for a length of time.
        Delay = "DELAY",
        /// Waits for an event of the contact, or for so long.
        WaitForEvent = "WAIT_FOR_EVENT",
        /// Waits for a date, or for the next time of day within a window.
        WaitUntil = "WAIT_UNTIL",
        /// Chooses a route by what is known of the contact and of the event.
        Condition = "CONDITION",
        /// Chooses a route by chance, the same one each time for the same contact.
        RandomSplit = "RANDOM_SPLIT",
        /// Makes an HTTP request.
        Webhook = "WEBHOOK",
        /// Writes custom fields of the contact, or changes its subscription.
        UpdateContact = "UPDATE_CONTACT",
        /// Adds the contact to a static segment.
        AddToSegment = "ADD_TO_SEGMENT",
        /// Removes the contact from a static segment.
        RemoveFromSegment = "REMOVE_FROM_SEGMENT",
        /// Ends the execution.
        Exit = "EXIT",
    }
}

impl StepType {
    /// Whether its transitions carry a branch.
    pub fn has_branches(self) -> bool {
        matches!(self, Self::Condition | Self::RandomSplit)
    }
}

names_in_json! {
    /// The state of an execution.
    pub enum ExecutionStatus {
        /// A step is due, or a request of a WEBHOOK step is under way.
        Running = "RUNNING",
        /// It waits for a time or an event.
        Waiting = "WAITING",
        /// It came to the end of its route.
        Completed = "COMPLETED",
        /// It came to an EXIT step, or the contact reached the goal of the workflow.
        Exited = "EXITED",
        /// A step failed.
        Failed = "FAILED",
        /// It was cancelled.
        Cancelled = "CANCELLED",
    }
}

impl ExecutionStatus {
    /// Whether there is more to come.
    pub fn is_active(self) -> bool {
        matches!(self, Self::Running | Self::Waiting)
    }
}

names_in_json! {
    /// The state of a step in an execution.
    pub enum StepStatus {
        /// It waits for a time or an event.
        Waiting = "WAITING",
        /// Its request is under way.
        Running = "RUNNING",
        /// It is done.
        Completed = "COMPLETED",
        /// It did nothing, for a reason that its output names.
        Skipped = "SKIPPED",
        /// It failed, and the execution with it.
        Failed = "FAILED",
    }
}

names_in_json! {
    /// What ended the wait of a `WAIT_FOR_EVENT` step.
    #[derive(PartialOrd, Ord)]
    pub enum WaitOutcome {
        /// The event.
        Event = "EVENT",
        /// The time ran out.
        Timeout = "TIMEOUT",
    }
}

names_in_json! {
    /// What a `SEND_EMAIL` step does when the contact got as many marketing mails as the project allows.
    pub enum OverCap {
        /// It waits until another mail is allowed.
        Wait = "WAIT",
        /// It sends nothing, and the execution goes on.
        Skip = "SKIP",
    }
}

names_in_json! {
    /// Why an event did not begin an execution.
    pub enum Refused {
        /// The contact goes through the workflow.
        Active = "active",
        /// The contact went through the workflow before, and may not again.
        Reentry = "reentry",
        /// The filter of the trigger does not hold.
        Filter = "filter",
        /// The contact goes through as many workflows as it may.
        TooMany = "too_many",
        /// The data of the event is larger than an execution may keep.
        TooLarge = "too_large",
        /// The filters of the triggers of its event look through too much text.
        TooMuchText = "too_much_text",
        /// The workflow was not enabled.
        Disabled = "disabled",
    }
}
