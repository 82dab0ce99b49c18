//! When a workflow with a SCHEDULE trigger starts: once, daily, weekly, monthly, or by a rule of RFC 5545.
//!
//! Times are local. They are counted without a zone, so that 09:00 stays 09:00 when clocks are set, and then taken in
//! the zone of the schedule.

mod read;

use chrono::{Datelike, NaiveDate, NaiveDateTime, TimeDelta, TimeZone, Timelike};
use jiff::civil::DateTime;
use rrule::{Frequency, RRuleSet, Tz};

use crate::time::Timestamp;
use crate::time_zone::Zone;

/// When a workflow starts.
#[derive(Debug, Clone, PartialEq)]
pub struct Schedule {
    /// When it starts first, in local time.
    start: DateTime,
    /// The zone of local times; `None` for that of the project.
    zone: Option<Zone>,
    /// How it goes on after the first time.
    repeat: Repeat,
}

#[derive(Debug, Clone, PartialEq)]
enum Repeat {
    Once,
    By(Box<RRuleSet>),
}

impl Schedule {
    /// The first time after `after` at which the workflow starts; `None` when it does not start any more.
    pub fn next(&self, project_zone: &Zone, after: Timestamp) -> Option<Timestamp> {
        self.times(project_zone, after, Timestamp::LAST, 1).first().copied()
    }

    /// The times after `after` and until `until` at which the workflow starts, the first ones.
    pub fn times(
        &self,
        project_zone: &Zone,
        after: Timestamp,
        until: Timestamp,
        most: usize,
    ) -> Vec<Timestamp> {
        let zone = self.zone.as_ref().unwrap_or(project_zone);
        let rules = match &self.repeat {
            Repeat::Once => {
                let is_between = |start: &Timestamp| *start > after && *start <= until;
                return zone.instant(self.start).filter(is_between).into_iter().collect();
            }
            Repeat::By(rules) => rules,
        };
        // a local time may be skipped or come twice: look from a little before
        let from = zone.local(after).checked_sub(jiff::Span::new().hours(3)).ok().and_then(floating);
        let Some(from) = from else { return Vec::new() };
        let rules = begun_late(rules, from).limit();
        let dates = rules.into_iter().skip_while(|date| *date < from).take(most + LOOKED_AT);
        let mut last = after;
        let times = dates.filter_map(|date| zone.instant(local(date.naive_utc())?));
        times
            .take_while(|time| *time <= until)
            .filter(|time| {
                let is_later = *time > last;
                last = last.max(*time);
                is_later
            })
            .take(most)
            .collect()
    }
}

/// How many times of a schedule are looked at beyond those that are wanted: some are before the first instant.
const LOOKED_AT: usize = 16;

/// The rule as if it had begun later, whole intervals and not long before `from`: it is followed from its beginning on,
/// which may be decades ago. One that ends after a number of times is followed from the first of them on.
fn begun_late(rules: &RRuleSet, from: chrono::DateTime<Tz>) -> RRuleSet {
    let start = *rules.get_dt_start();
    let begun = rules.get_rrule().first().filter(|rule| rule.get_count().is_none()).and_then(|rule| {
        let later = later_start(rule.get_freq(), rule.get_interval().into(), start, from)?;
        // what the rule takes from its start, such as the day of the month, is among its parts by now
        Some(RRuleSet::new(later).rrule(rule.clone()))
    });
    begun.unwrap_or_else(|| rules.clone())
}

/// A start whole intervals after another one, at least one before `from`; `None` if the first is not longer ago.
fn later_start(
    frequency: Frequency,
    interval: i64,
    start: chrono::DateTime<Tz>,
    from: chrono::DateTime<Tz>,
) -> Option<chrono::DateTime<Tz>> {
    let whole = |passed: i64| Some((passed / interval - 1) * interval).filter(|whole| *whole > 0);
    let passed = from - start;
    let (months, years) = (i64::from(from.month0()) - i64::from(start.month0()), from.year() - start.year());
    let in_year = |year: i32, month0: u32| {
        let date = NaiveDate::from_ymd_opt(year, month0 + 1, 1)?;
        Some(Tz::UTC.from_utc_datetime(&date.and_time(start.time())))
    };
    match frequency {
        Frequency::Hourly => start.checked_add_signed(TimeDelta::try_hours(whole(passed.num_hours())?)?),
        Frequency::Daily => start.checked_add_signed(TimeDelta::try_days(whole(passed.num_days())?)?),
        Frequency::Weekly => start.checked_add_signed(TimeDelta::try_weeks(whole(passed.num_weeks())?)?),
        Frequency::Monthly => {
            let later = i64::from(start.month0()) + whole(i64::from(years) * 12 + months)?;
            let year = start.year() + i32::try_from(later / 12).ok()?;
            in_year(year, u32::try_from(later % 12).ok()?)
        }
        Frequency::Yearly => in_year(start.year() + i32::try_from(whole(i64::from(years))?).ok()?, 0),
        Frequency::Minutely | Frequency::Secondly => None,
    }
}

/// A local time as the library counts it, without a zone.
fn floating(local: DateTime) -> Option<chrono::DateTime<Tz>> {
    let date = NaiveDate::from_ymd_opt(local.year().into(), local.month() as u32, local.day() as u32)?;
    let time = date.and_hms_opt(local.hour() as u32, local.minute() as u32, local.second() as u32)?;
    Some(Tz::UTC.from_utc_datetime(&time))
}

fn local(time: NaiveDateTime) -> Option<DateTime> {
    DateTime::new(
        time.year().try_into().ok()?,
        time.month() as i8,
        time.day() as i8,
        time.hour() as i8,
        time.minute() as i8,
        time.second() as i8,
        0,
    )
    .ok()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::issue::Issue;
    use crate::reading::Issues;

    fn schedule(config: Value) -> Result<Schedule, Vec<Issue>> {
        let mut issues = Issues::default();
        let read = Schedule::read(&mut issues, config.as_object().unwrap(), "triggerConfig");
        issues.finish(read, &config, "triggerConfig")
    }

    /// The next times, in the zone of Berlin.
    fn times(config: Value, after: &str, most: usize) -> Vec<String> {
        let berlin = Zone::parse("Europe/Berlin").unwrap();
        let schedule = schedule(config).unwrap();
        let mut after = Timestamp::parse(after).unwrap();
        let next = || {
            after = schedule.next(&berlin, after)?;
            Some(berlin.local(after).to_string())
        };
        std::iter::from_fn(next).take(most).collect()
    }

    #[test]
    fn a_schedule_keeps_its_local_time() {
        let start = "2026-01-31T09:00";
        let after = "2026-01-01T00:00:00Z";
        for (config, expected) in [
            (json!({ "start": start }), vec!["2026-01-31T09:00:00"]),
            (
                json!({ "start": "2026-03-28T02:30", "repeat": "daily" }),
                // clocks are set forward over 02:30
                vec!["2026-03-28T02:30:00", "2026-03-29T03:30:00", "2026-03-30T02:30:00"],
            ),
            (
                json!({ "start": start, "repeat": "weekly", "days": ["MO", "TH"] }),
                vec!["2026-02-02T09:00:00", "2026-02-05T09:00:00", "2026-02-09T09:00:00"],
            ),
            (
                json!({ "start": start, "repeat": "weekly" }),
                vec!["2026-01-31T09:00:00", "2026-02-07T09:00:00", "2026-02-14T09:00:00"],
            ),
            (
                json!({ "start": start, "repeat": "monthly" }),
                vec!["2026-01-31T09:00:00", "2026-02-28T09:00:00", "2026-03-31T09:00:00"],
            ),
            (
                json!({ "start": start, "repeat": "rule", "rule": "FREQ=YEARLY;BYMONTH=12;BYDAY=-1FR;UNTIL=20271231" }),
                vec!["2026-12-25T09:00:00", "2027-12-31T09:00:00"],
            ),
            (
                json!({ "start": start, "repeat": "rule", "rule": "RRULE:FREQ=HOURLY;INTERVAL=12;COUNT=3" }),
                vec!["2026-01-31T09:00:00", "2026-01-31T21:00:00", "2026-02-01T09:00:00"],
            ),
        ] {
            assert_eq!(times(config.clone(), after, 3), expected, "{config}");
        }
    }

    #[test]
    fn a_zone_of_its_own_takes_precedence_and_the_past_is_past() {
        let config =
            json!({ "start": "2026-01-31T09:00", "timeZone": "America/New_York", "repeat": "daily" });
        assert_eq!(times(config.clone(), "2026-01-01T00:00:00Z", 1), ["2026-01-31T15:00:00"]);
        assert_eq!(times(config, "2031-06-01T00:00:00Z", 1), ["2031-06-01T15:00:00"]);
        assert!(times(json!({ "start": "2026-01-31T09:00" }), "2026-01-31T08:00:00Z", 1).is_empty());
    }

    #[test]
    fn a_time_that_comes_twice_starts_once() {
        let config = json!({ "start": "2026-10-24T02:30", "repeat": "daily" });
        let expected = ["2026-10-24T02:30:00", "2026-10-25T02:30:00", "2026-10-26T02:30:00"];
        assert_eq!(times(config, "2026-10-01T00:00:00Z", 3), expected);
    }

    #[test]
    fn a_rule_that_began_long_ago_is_followed_as_from_its_start() {
        let rules = [
            "FREQ=HOURLY;INTERVAL=7",
            "FREQ=HOURLY;BYHOUR=3,15;BYDAY=MO",
            "FREQ=HOURLY;BYMONTH=2;BYMONTHDAY=29;BYHOUR=3",
            "FREQ=DAILY;INTERVAL=10",
            "FREQ=DAILY;BYMONTHDAY=13;BYDAY=FR",
            "FREQ=WEEKLY;INTERVAL=3;BYDAY=SU,WE;WKST=SU",
            "FREQ=WEEKLY;INTERVAL=2;BYDAY=SU,MO;BYSETPOS=-1",
            "FREQ=MONTHLY;INTERVAL=5",
            "FREQ=MONTHLY;INTERVAL=2;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1",
            "FREQ=YEARLY;INTERVAL=3",
            "FREQ=YEARLY;INTERVAL=2;BYWEEKNO=20;BYDAY=MO",
            "FREQ=YEARLY;BYYEARDAY=-1,100;UNTIL=20370101",
        ];
        for start in ["2019-01-31T23:30", "2020-02-29T00:15", "2018-12-30T09:00"] {
            for rule in rules {
                let config = json!({ "start": start, "repeat": "rule", "rule": rule });
                let Repeat::By(rules) = schedule(config).unwrap().repeat else { panic!("no rule") };
                let mut all = rules.clone().into_iter().peekable();
                for day in (0..20).map(|n| n * 317) {
                    let from = *rules.get_dt_start() + TimeDelta::try_hours(day * 24 + day % 31).unwrap();
                    while all.next_if(|date| *date < from).is_some() {}
                    let late = begun_late(&rules, from).into_iter().find(|date| *date >= from);
                    assert_eq!(late.as_ref(), all.peek(), "{start} {rule} {from}");
                }
            }
        }
    }

    #[test]
    fn a_rule_that_never_comes_true_ends_the_search() {
        for rule in ["FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30", "FREQ=HOURLY;BYMONTH=2;BYMONTHDAY=30;BYHOUR=3"] {
            let config = json!({ "start": "2026-01-31T09:00", "repeat": "rule", "rule": rule });
            assert!(times(config, "2026-01-01T00:00:00Z", 1).is_empty(), "{rule}");
        }
    }

    #[test]
    fn what_cannot_be_followed_is_named() {
        for (config, field) in [
            (json!({}), "start"),
            (json!({ "start": "2026-01-31T09:00:00Z" }), "start"),
            (json!({ "start": "tomorrow" }), "start"),
            (json!({ "start": "2026-01-31T09:00", "timeZone": "Atlantis" }), "timeZone"),
            (json!({ "start": "2026-01-31T09:00", "repeat": "often" }), "repeat"),
            (json!({ "start": "2026-01-31T09:00", "repeat": "weekly", "days": [] }), "days"),
            (json!({ "start": "2026-01-31T09:00", "repeat": "weekly", "days": ["Mond"] }), "days.0"),
            (json!({ "start": "2026-01-31T09:00", "repeat": "rule" }), "rule"),
            (json!({ "start": "2026-01-31T09:00", "repeat": "rule", "rule": "every day" }), "rule"),
            (json!({ "start": "2026-01-31T09:00", "repeat": "rule", "rule": "FREQ=MINUTELY" }), "rule"),
            (
                json!({ "start": "2026-01-31T09:00", "repeat": "rule", "rule": "FREQ=DAILY;BYMINUTE=1,2" }),
                "rule",
            ),
            (
                json!({ "start": "2026-01-31T09:00", "repeat": "rule", "rule": "FREQ=DAILY;INTERVAL=0" }),
                "rule",
            ),
            (
                json!({ "start": "2026-01-31T09:00", "repeat": "rule", "rule": "FREQ=HOURLY;COUNT=10001" }),
                "rule",
            ),
        ] {
            let issues = schedule(config.clone()).unwrap_err();
            assert_eq!(issues[0].field, format!("triggerConfig.{field}"), "{config}");
        }
    }
}
