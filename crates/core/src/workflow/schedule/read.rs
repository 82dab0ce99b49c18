//! Reads a schedule from the configuration of a trigger, and finds everything that is wrong with it.

use jiff::civil::{DateTime, Weekday};
use rrule::{Frequency, NWeekday, RRule, RRuleSet, Unvalidated};
use serde_json::Value;

use super::{Repeat, Schedule, floating};
use crate::issue::Issue;
use crate::reading::{Issues, Noted, Object, join, member, unknown};
use crate::time_zone::Zone;
use crate::workflow::weekdays;

/// The longest rule, in bytes.
const MAX_RULE: usize = 500;

/// The most times after which a rule ends. They are counted from the first one on.
const MAX_COUNT: u32 = 10_000;

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
        let message = "Must be a local date and time such as 2026-01-31T09:00, without an offset, of the years 1970 to 2200.";
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
        if rule.get_count().is_some_and(|count| count > MAX_COUNT) {
            return self.refused("rule", "custom", format!("COUNT must be at most {MAX_COUNT}."));
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
