//! What is counted of a project for each quarter of an hour.

use crate::event::Activity;
use crate::names;
use crate::time::Timestamp;

names! {
    /// What is counted.
    #[derive(PartialOrd, Ord)]
    pub enum Metric {
        /// Mails that were accepted, also those that are held back.
        Emails = "emails",
        /// Mails that the next hop took.
        Sent = "sent",
        /// Mails that the recipient's host took.
        Delivered = "delivered",
        /// Mails that a person opened.
        Opened = "opened",
        /// Mails of which a person followed a link.
        Clicked = "clicked",
        /// Mails that were refused for good, or came back.
        Bounced = "bounced",
        /// Mails that their recipient called spam.
        Complained = "complained",
        /// Mails by which their recipient opted out.
        Unsubscribed = "unsubscribed",
        /// Mails that came in.
        Received = "received",
        /// Events.
        Events = "events",
        /// Executions of workflows that began.
        Started = "started",
    }
}

impl Metric {
    /// The number by which it is stored.
    pub fn code(self) -> i64 {
        self as i64
    }

    /// The metric that is stored by a number.
    pub fn from_code(code: i64) -> Option<Self> {
        Self::ALL.get(usize::try_from(code).ok()?).copied()
    }
}

impl From<Activity> for Metric {
    fn from(activity: Activity) -> Self {
        match activity {
            Activity::Sent => Self::Sent,
            Activity::Delivered => Self::Delivered,
            Activity::Opened => Self::Opened,
            Activity::Clicked => Self::Clicked,
            Activity::Bounced => Self::Bounced,
            Activity::Complained => Self::Complained,
        }
    }
}

/// A quarter of an hour: how many there were since the Unix epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Quarter(pub i64);

impl Quarter {
    /// Milliseconds of one.
    const MILLIS: i64 = 15 * 60 * 1000;
    /// How many a day has (UTC).
    pub const A_DAY: i64 = 96;

    /// The quarter in which an instant is.
    pub fn of(at: Timestamp) -> Self {
        Self(at.0.div_euclid(Self::MILLIS))
    }

    /// The first quarter that begins at an instant or later.
    pub fn from(at: Timestamp) -> Self {
        Self(at.0.saturating_add(Self::MILLIS - 1).div_euclid(Self::MILLIS))
    }

    /// When it begins.
    pub fn begin(self) -> Timestamp {
        Timestamp(self.0.saturating_mul(Self::MILLIS))
    }

    /// The day in which it is: days since the Unix epoch (UTC).
    pub fn day(self) -> i64 {
        self.0.div_euclid(Self::A_DAY)
    }

    /// The first of a day.
    pub fn first_of_day(day: i64) -> Self {
        Self(day * Self::A_DAY)
    }
}
