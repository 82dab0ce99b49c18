//! What of a project needs a person, under the names that answers have.

use crate::names::names_in_json;

names_in_json! {
    /// What needs a person. The order is that of the list.
    #[derive(PartialOrd, Ord)]
    pub enum AttentionKind {
        /// The project is disabled.
        ProjectDisabled = "PROJECT_DISABLED",
        /// A sender domain cannot be sent from: its records are missing, or are gone.
        DomainUnverified = "DOMAIN_UNVERIFIED",
        /// No mail leaves: the next hop cannot be used, or refuses mail.
        NextHopTrouble = "NEXT_HOP_TROUBLE",
        /// Mails wait for longer than usual, for a reason that was told.
        MailsWait = "MAILS_WAIT",
        /// Mails are held after a restore until somebody decides.
        HeldMails = "HELD_MAILS",
        /// Nobody knows whether mails were sent.
        MailsInDoubt = "MAILS_IN_DOUBT",
        /// A campaign is paused.
        CampaignPaused = "CAMPAIGN_PAUSED",
        /// A campaign has mails that failed, or are in doubt.
        CampaignFailures = "CAMPAIGN_FAILURES",
        /// A job, such as an import, was given up.
        JobFailed = "JOB_FAILED",
        /// A job fails, and is tried again.
        JobDelayed = "JOB_DELAYED",
        /// So much mail comes back, or is complained about, that the project may be disabled.
        Reputation = "REPUTATION",
        /// A limit on the mails of a month is reached.
        LimitReached = "LIMIT_REACHED",
        /// Most of a limit on the mails of a month is used.
        LimitNear = "LIMIT_NEAR",
        /// The address of the user who asks is not verified.
        AddressUnverified = "ADDRESS_UNVERIFIED",
    }
}

names_in_json! {
    /// How urgent something is.
    #[derive(PartialOrd, Ord)]
    pub enum Severity {
        /// Mail does not leave, or is lost, until somebody acts.
        Critical = "critical",
        /// Something goes wrong, or soon will.
        Warning = "warning",
        /// Somebody should know, or decide, when there is time.
        Info = "info",
    }
}

names_in_json! {
    /// What something is about.
    pub enum TargetKind {
        /// The project itself.
        Project = "project",
        /// A sender domain.
        Domain = "domain",
        /// Its mails.
        Emails = "emails",
        /// Its held mails.
        Held = "held",
        /// A campaign.
        Campaign = "campaign",
        /// A job.
        Job = "job",
        /// The reputation of the project.
        Security = "security",
        /// The limits of the project.
        Billing = "billing",
        /// The next hop.
        Delivery = "delivery",
        /// The user who asks.
        User = "user",
    }
}
