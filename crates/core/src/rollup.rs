//! What is counted of a project for each quarter of an hour.

use crate::event::Activity;
use crate::names;
use crate::time::Timestamp;
use crate::time_zone::Zone;

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

/// A month of the calendar (UTC): how many there were since the beginning of year 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Month(pub i64);

impl Month {
    /// The month in which an instant is.
    pub fn of(at: Timestamp) -> Self {
        let date = Zone::UTC.local(at).date();
        Self(i64::from(date.year()) * 12 + i64::from(date.month()) - 1)
    }

    /// When it begins; the last instant that there is, for one beyond it.
    pub fn begin(self) -> Timestamp {
        let (year, month) = (self.0.div_euclid(12), self.0.rem_euclid(12) + 1);
        let date = jiff::civil::Date::new(year as i16, month as i8, 1).unwrap_or(jiff::civil::Date::MAX);
        Zone::UTC
            .instant(date.to_datetime(jiff::civil::Time::midnight()))
            .unwrap_or(Timestamp(i64::MAX >> 20))
    }

    /// The next one.
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl std::fmt::Display for Month {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:04}-{:02}", self.0.div_euclid(12), self.0.rem_euclid(12) + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_is_in_the_month_that_its_date_says() {
        for (at, month) in [
            (0, "1970-01"),
            (1_767_225_599_999, "2025-12"),
            (1_767_225_600_000, "2026-01"),
            (1_769_903_999_999, "2026-01"),
        ] {
            let of = Month::of(Timestamp(at));
            assert_eq!(of.to_string(), month);
            assert!(of.begin() <= Timestamp(at) && Timestamp(at) < of.next().begin(), "{month}");
            assert_eq!(Month::of(of.begin()), of);
        }
    }
}
