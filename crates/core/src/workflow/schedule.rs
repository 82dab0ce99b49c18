//! When a workflow with a SCHEDULE trigger starts: once, daily, weekly, monthly, or by a rule of RFC 5545.
//!
//! Times are local. They are counted without a zone, so that 09:00 stays 09:00 when clocks are set, and then taken in
//! the zone of the schedule.

use chrono::{Datelike, NaiveDate, NaiveDateTime, TimeZone, Timelike};
use jiff::civil::{DateTime, Weekday};
use rrule::{Frequency, NWeekday, RRule, RRuleSet, Tz, Unvalidated};
use serde_json::Value;

use crate::issue::Issue;
use crate::reading::{Issues, Noted, Object, join, member, unknown};
use crate::time::Timestamp;
use crate::time_zone::Zone;
use crate::workflow::weekdays;

/// The longest rule, in bytes.
pub const MAX_RULE: usize = 500;

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
        let zone = self.zone.as_ref().unwrap_or(project_zone);
        let rules = match &self.repeat {
            Repeat::Once => return zone.instant(self.start).filter(|start| *start > after),
            Repeat::By(rules) => rules,
        };
        // a local time may be skipped or come twice: look from a little before
        let from = zone.local(after).checked_sub(jiff::Span::new().hours(3)).ok()?;
        let found = (**rules).clone().after(floating(from)?).all(LOOKED_AT);
        let times = found.dates.iter().filter_map(|date| zone.instant(local(date.naive_utc())?));
        times.into_iter().find(|time| *time > after)
    }
}

/// How many times of a schedule are looked at to find the next one.
const LOOKED_AT: u16 = 16;

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

impl Schedule {
    /// Reads a schedule from the configuration of a trigger. `None` means that an issue was noted.
    pub(crate) fn read(issues: &mut Issues, object: &Object, at: &str) -> Option<Self> {
        let mut reader = Reader { issues, object, at };
        let start = reader.start();
        let zone = reader.zone().ok();
        let rule = reader.rule().ok();
        let (start, zone, rule) = (start?, zone?, rule?);
        let repeat = match rule {
            None => Repeat::Once,
            Some(rule) => Repeat::By(Box::new(reader.built(rule, start)?)),
        };
        Some(Self { start, zone, repeat })
    }
}

/// Reads the members of a configuration.
struct Reader<'r, 'j> {
    issues: &'r mut Issues,
    object: &'j Object,
    at: &'r str,
}

impl<'j> Reader<'_, 'j> {
    fn member(&self, name: &str) -> Option<&'j Value> {
        member(self.object, name)
    }

    fn place(&self, name: &str) -> String {
        join(self.at, name)
    }

    fn optional_text(&mut self, name: &str) -> Result<Option<&'j str>, Noted> {
        self.issues.optional_text(self.member(name), &self.place(name))
    }

    fn refused<T>(&mut self, name: &str, code: &'static str, message: impl Into<String>) -> Option<T> {
        self.issues.note(Issue::new(join(self.at, name), code, message))
    }

    fn start(&mut self) -> Option<DateTime> {
        let text = self.issues.text(self.member("start"), &self.place("start"))?;
        // what is read beyond the time, an offset or a zone, would be left aside
        let time = text.split_once(['T', 't', ' ']).map_or("", |(_, time)| time);
        let is_local = time.bytes().all(|byte| byte.is_ascii_digit() || b":.,".contains(&byte));
        let start =
            text.parse::<DateTime>().ok().filter(|start| is_local && (1970..=2200).contains(&start.year()));
        let message = "Must be a local date and time such as 2026-01-31T09:00, without an offset.";
        start.or_else(|| self.refused("start", "invalid_date", message))
    }

    fn zone(&mut self) -> Result<Option<Zone>, Noted> {
        let Some(name) = self.optional_text("timeZone")? else { return Ok(None) };
        let message = "Must be the name of a time zone such as Europe/Berlin.";
        let zone = Zone::parse(name);
        zone.or_else(|| self.refused("timeZone", "custom", message)).map(Some).ok_or(Noted)
    }

    /// The rule by which the schedule goes on; `None` if it does not.
    fn rule(&mut self) -> Result<Option<RRule<Unvalidated>>, Noted> {
        let repeat = self.optional_text("repeat")?.unwrap_or("once");
        for (name, of) in [("rule", "rule"), ("days", "weekly")] {
            if self.member(name).is_some() && repeat != of {
                self.refused::<()>(name, "custom", format!("Goes with repeat: {of} alone."));
                return Err(Noted);
            }
        }
        let rule = match repeat {
            "once" => return Ok(None),
            "daily" => Some(RRule::new(Frequency::Daily)),
            "weekly" => self.weekly(),
            "monthly" => Some(RRule::new(Frequency::Monthly)),
            "rule" => self.given(),
            other => {
                let message = "Must be one of once, daily, weekly, monthly, rule.";
                self.issues.note(unknown(&self.place("repeat"), message, other))
            }
        };
        rule.map(Some).ok_or(Noted)
    }

    /// Each week on the day of the start, or on the days that are named.
    fn weekly(&mut self) -> Option<RRule<Unvalidated>> {
        let rule = RRule::new(Frequency::Weekly);
        let Some(days) = self.member("days") else { return Some(rule) };
        let days = weekdays::read(self.issues, days, &self.place("days"))?;
        let day = |day: Weekday| chrono::Weekday::try_from(day.to_monday_zero_offset() as u8).ok();
        Some(rule.by_weekday(days.into_iter().filter_map(day).map(NWeekday::Every).collect()))
    }

    /// A rule as RFC 5545 writes it.
    fn given(&mut self) -> Option<RRule<Unvalidated>> {
        let text = self.issues.text(self.member("rule"), &self.place("rule"))?;
        if text.len() > MAX_RULE {
            return self.refused("rule", "too_big", format!("Must have at most {MAX_RULE} bytes."));
        }
        let text = text.trim();
        if text.contains(char::is_whitespace) {
            return self.refused(
                "rule",
                "invalid_string",
                "Must be one rule, without spaces and line breaks.",
            );
        }
        let text = text.strip_prefix("RRULE:").unwrap_or(text);
        let rule = match with_universal_end(text).parse::<RRule<Unvalidated>>() {
            Ok(rule) => rule,
            Err(error) => {
                let message = format!("Must be a rule such as FREQ=WEEKLY;BYDAY=MO: {error}");
                return self.refused("rule", "invalid_string", message);
            }
        };
        let is_frequent = matches!(rule.get_freq(), Frequency::Minutely | Frequency::Secondly);
        if is_frequent || rule.get_by_minute().len() > 1 || rule.get_by_second().len() > 1 {
            return self.refused("rule", "custom", "A schedule starts a workflow at most once an hour.");
        }
        if rule.get_interval() == 0 {
            return self.refused("rule", "custom", "INTERVAL must be 1 or more.");
        }
        Some(rule)
    }

    fn built(&mut self, rule: RRule<Unvalidated>, start: DateTime) -> Option<RRuleSet> {
        let day = start.day();
        let is_plain_month = rule.get_freq() == Frequency::Monthly && self.member("rule").is_none();
        // a month without that day has its last one
        let rule = match (is_plain_month, day) {
            (true, 29..) => rule.by_month_day((28..=day).collect()).by_set_pos(vec![-1]),
            _ => rule,
        };
        match rule.build(floating(start)?) {
            Ok(rules) => Some(rules),
            Err(error) => self.refused("rule", "custom", format!("The rule cannot be followed: {error}")),
        }
    }
}

/// The rule with an end that has a zone, as its start has: both are counted without one.
fn with_universal_end(rule: &str) -> String {
    let part = |part: &str| match part.strip_prefix("UNTIL=") {
        Some(end) if end.len() == 8 => format!("UNTIL={end}T235959Z"),
        Some(end) if !end.ends_with('Z') => format!("UNTIL={end}Z"),
        _ => part.to_owned(),
    };
    rule.split(';').map(part).collect::<Vec<_>>().join(";")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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
        ] {
            let issues = schedule(config.clone()).unwrap_err();
            assert_eq!(issues[0].field, format!("triggerConfig.{field}"), "{config}");
        }
    }
}
