//! How well a project's mail is received, and when that is bad enough to disable the project.

use serde::{Deserialize, Serialize};

use crate::names;

/// Mails of a period, with their bounces and complaints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Totals {
    /// Mails whose hand-over ended: taken or refused.
    pub total: i64,
    /// Mails that bounced.
    pub bounces: i64,
    /// Mails whose recipients complained.
    pub complaints: i64,
}

impl Totals {
    /// Bounces in percent of the mails.
    pub fn bounce_rate(self) -> f64 {
        percent(self.bounces, self.total)
    }

    /// Complaints in percent of the mails.
    pub fn complaint_rate(self) -> f64 {
        percent(self.complaints, self.total)
    }

    /// The difference to `earlier` sums.
    fn since(self, earlier: Self) -> Self {
        Self {
            total: (self.total - earlier.total).max(0),
            bounces: (self.bounces - earlier.bounces).max(0),
            complaints: (self.complaints - earlier.complaints).max(0),
        }
    }
}

/// Mails that came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Returned {
    /// Mails that bounced.
    pub bounces: i64,
    /// Mails whose recipients complained.
    pub complaints: i64,
}

impl Returned {
    /// The difference to `earlier` sums.
    fn since(self, earlier: Self) -> Self {
        Self {
            bounces: (self.bounces - earlier.bounces).max(0),
            complaints: (self.complaints - earlier.complaints).max(0),
        }
    }
}

/// How a project's mails were received.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DeliveryStats {
    /// Since the project began.
    pub ever: Totals,
    /// Today: days since the Unix epoch.
    pub today: i64,
    /// On each of the last seven days, today first.
    pub days: Vec<Totals>,
    /// This hour: hours since the Unix epoch.
    pub this_hour: i64,
    /// Bounces and complaints of each of the last 24 hours, the current hour first.
    pub hours: Vec<Returned>,
}

impl DeliveryStats {
    /// The stats to judge by. Hours and days are those of the clock and the calendar, in UTC.
    pub fn stats(&self, is_new: bool) -> Stats {
        let sum = |days: &[Totals]| {
            days.iter().fold(Totals::default(), |sum, day| Totals {
                total: sum.total + day.total,
                bounces: sum.bounces + day.bounces,
                complaints: sum.complaints + day.complaints,
            })
        };
        let day = self.hours.iter().fold(Returned::default(), |sum, hour| Returned {
            bounces: sum.bounces + hour.bounces,
            complaints: sum.complaints + hour.complaints,
        });
        Stats { day, week: sum(&self.days), ever: self.ever, is_new }
    }

    /// The sums that no longer count against the project once a person enabled it.
    pub fn baseline(&self) -> ReputationBaseline {
        let of_day = self.days.first().copied().unwrap_or_default();
        let of_hour = self.hours.first().copied().unwrap_or_default();
        ReputationBaseline { ever: self.ever, day: self.today, of_day, hour: self.this_hour, of_hour }
    }

    /// The sums since a person enabled the project.
    #[must_use]
    pub fn after(mut self, baseline: &ReputationBaseline) -> Self {
        self.ever = self.ever.since(baseline.ever);
        for (back, day) in (0..).zip(&mut self.days) {
            match self.today - back {
                date if date < baseline.day => *day = Totals::default(),
                date if date == baseline.day => *day = day.since(baseline.of_day),
                _ => {}
            }
        }
        for (back, hour) in (0..).zip(&mut self.hours) {
            match self.this_hour - back {
                time if time < baseline.hour => *hour = Returned::default(),
                time if time == baseline.hour => *hour = hour.since(baseline.of_hour),
                _ => {}
            }
        }
        self
    }
}

/// How a project's mails had been received when a person enabled it again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReputationBaseline {
    /// Since the project began.
    pub ever: Totals,
    /// The day: days since the Unix epoch.
    pub day: i64,
    /// On that day.
    pub of_day: Totals,
    /// The hour: hours since the Unix epoch.
    #[serde(default)]
    pub hour: i64,
    /// In that hour.
    #[serde(default)]
    pub of_hour: Returned,
}

fn percent(part: i64, whole: i64) -> f64 {
    if whole <= 0 { 0.0 } else { part as f64 * 100.0 / whole as f64 }
}

names! {
    /// How bad a rate is.
    #[derive(PartialOrd, Ord)]
    pub enum Level {
        /// Fine.
        Healthy = "healthy",
        /// To be looked at.
        Warning = "warning",
        /// Reason to stop the project's mail.
        Critical = "critical",
    }
}

/// Stats that a project is judged by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stats {
    /// The last 24 hours.
    pub day: Returned,
    /// The last seven days.
    pub week: Totals,
    /// Since the project began, or was reset.
    pub ever: Totals,
    /// Whether the project is younger than 30 days.
    pub is_new: bool,
}

/// The judgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Health {
    /// Bounces of the last seven days.
    pub bounce_week: Level,
    /// Bounces since the beginning.
    pub bounce_ever: Level,
    /// Complaints of the last seven days.
    pub complaint_week: Level,
    /// Complaints since the beginning.
    pub complaint_ever: Level,
    /// Counts of a new project, which few mails can already tell about.
    pub start: Level,
}

impl Health {
    /// Judges a project.
    pub fn of(stats: &Stats) -> Self {
        let Stats { day, week, ever, is_new } = *stats;
        let start = if is_new {
            [
                by_count(day.bounces, 10, 25),
                by_count(week.bounces, 25, 50),
                by_count(day.complaints, 3, 7),
                by_count(week.complaints, 10, 20),
            ]
            .into_iter()
            .max()
            .unwrap_or(Level::Healthy)
        } else {
            Level::Healthy
        };
        Self {
            bounce_week: by_rate(week.total, week.bounces, BOUNCE, (5.0, 10.0)),
            bounce_ever: by_rate(ever.total, ever.bounces, BOUNCE, (4.0, 8.0)),
            complaint_week: by_rate(week.total, week.complaints, COMPLAINT, (0.075, 0.15)),
            complaint_ever: by_rate(ever.total, ever.complaints, COMPLAINT, (0.03, 0.12)),
            start,
        }
    }

    /// The rates with a level, in words without the thresholds, because senders of spam could adapt to them.
    pub fn words(&self, level: Level) -> Vec<&'static str> {
        let bounces = [self.bounce_week, self.bounce_ever].contains(&level);
        let complaints = [self.complaint_week, self.complaint_ever].contains(&level);
        [
            (bounces, "Too many of the project's mails bounce."),
            (complaints, "Too many recipients complain about the project's mails."),
            (self.start == level, "Too many of the project's first mails come back."),
        ]
        .into_iter()
        .filter_map(|(found, words)| found.then_some(words))
        .collect()
    }

    /// The worst of the levels.
    pub fn worst(&self) -> Level {
        [self.bounce_week, self.bounce_ever, self.complaint_week, self.complaint_ever, self.start]
            .into_iter()
            .max()
            .unwrap_or(Level::Healthy)
    }
}

/// A rate means something from this many mails on.
const LEAST_MAILS: i64 = 100;
/// Fewest bounces for a warning, and for worse.
const BOUNCE: (i64, i64) = (5, 10);
/// Fewest complaints for a warning, and for worse.
const COMPLAINT: (i64, i64) = (3, 5);

fn by_rate(total: i64, bad: i64, least: (i64, i64), limits: (f64, f64)) -> Level {
    let rate = percent(bad, total);
    match () {
        () if total < LEAST_MAILS => Level::Healthy,
        () if rate >= limits.1 && bad >= least.1 => Level::Critical,
        () if rate >= limits.0 && bad >= least.0 => Level::Warning,
        () => Level::Healthy,
    }
}

fn by_count(count: i64, warning: i64, critical: i64) -> Level {
    match count {
        n if n >= critical => Level::Critical,
        n if n >= warning => Level::Warning,
        _ => Level::Healthy,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn week(total: i64, bounces: i64, complaints: i64) -> Health {
        Health::of(&Stats { week: Totals { total, bounces, complaints }, ..Stats::default() })
    }

    #[test]
    fn rates_count_from_a_hundred_mails_on() {
        for (total, bounces, level) in [
            (99, 99, Level::Healthy),
            (100, 4, Level::Healthy),
            (100, 5, Level::Warning),
            (100, 9, Level::Warning),
            (100, 10, Level::Critical),
            (20_000, 200, Level::Healthy),
        ] {
            assert_eq!(week(total, bounces, 0).bounce_week, level, "{bounces} of {total}");
        }
        for (total, complaints, level) in [
            (1000, 2, Level::Healthy),
            (1000, 3, Level::Warning),
            (1000, 4, Level::Warning),
            (1000, 5, Level::Critical),
            (10_000, 5, Level::Healthy),
        ] {
            assert_eq!(week(total, 0, complaints).complaint_week, level, "{complaints} of {total}");
        }
    }

    #[test]
    fn new_projects_are_judged_by_counts() {
        let day = Returned { bounces: 26, complaints: 0 };
        let new = Health::of(&Stats { day, is_new: true, ..Stats::default() });
        assert_eq!((new.start, new.worst()), (Level::Critical, Level::Critical));
        let old = Health::of(&Stats { day, ..Stats::default() });
        assert_eq!(old.worst(), Level::Healthy);
    }

    #[test]
    fn periods_are_days_of_the_calendar_and_hours_of_the_clock() {
        let one = Totals { total: 1, bounces: 1, complaints: 0 };
        let hours = vec![Returned { bounces: 2, complaints: 1 }; 24];
        let ever = Totals { total: 9, ..one };
        let stats = DeliveryStats { ever, today: 20_000, days: vec![one; 7], this_hour: 480_000, hours };
        let found = stats.stats(true);
        assert_eq!(
            (found.day.bounces, found.day.complaints, found.week.total, found.ever.total),
            (48, 24, 7, 9)
        );
        assert_eq!(DeliveryStats::default().stats(false).week, Totals::default());
    }

    #[test]
    fn what_a_person_looked_at_counts_no_more() {
        let totals = |total| Totals { total, bounces: total, complaints: 0 };
        let back = |bounces| Returned { bounces, complaints: 0 };
        let before = DeliveryStats {
            ever: totals(40),
            today: 20_000,
            days: vec![totals(26), totals(5), totals(1)],
            this_hour: 480_023,
            hours: vec![back(20), back(6)],
        };
        let baseline = before.baseline();
        let stats = before.after(&baseline).stats(true);
        assert_eq!((stats.day.bounces, stats.week.bounces, stats.ever.bounces), (0, 0, 0));
        // two days later
        let days = vec![totals(3), totals(2), totals(30), totals(5)];
        let hours = vec![back(1), back(2), back(23), back(6)];
        let later = DeliveryStats { ever: totals(49), today: 20_002, days, this_hour: 480_025, hours };
        let later = later.after(&baseline).stats(true);
        assert_eq!((later.day.bounces, later.week.bounces, later.ever.bounces), (6, 9, 9));
    }

    #[test]
    fn nothing_sent_is_no_rate() {
        assert!(Totals::default().bounce_rate() < f64::EPSILON);
        assert_eq!(Health::of(&Stats::default()).worst(), Level::Healthy);
    }
}
