//! DELAY, `WAIT_FOR_EVENT` and `WAIT_UNTIL`.

use std::time::Duration;

use jiff::SignedDuration;
use jiff::civil::Time;
use serde_json::Value;

use super::{Reader, at};
use crate::custom_data::MAX_KEY;
use crate::filter::MAX_PATH_KEYS;
use crate::issue::Issue;
use crate::reading::{Object, join, member, unknown};
use crate::workflow::action::Action;
use crate::workflow::limits::{MAX_DELAY, MAX_TIMEOUT};
use crate::workflow::scope::Field;
use crate::workflow::wait_until::{Date, Until, Window};
use crate::workflow::weekdays;

impl Reader {
    pub(super) fn delay(&mut self, object: &Object) -> Option<Action> {
        let (amount, unit) = self.amount(object, super::AT)?;
        if amount <= 0.0 {
            return self.issues.note(Issue::new(at("amount"), "too_small", "Must be greater than 0."));
        }
        let millis = amount * unit as f64;
        if millis > MAX_DELAY.as_millis() as f64 {
            let message = format!("Must be at most {} days.", MAX_DELAY.as_secs() / 86_400);
            return self.issues.note(Issue::new(at("amount"), "too_big", message));
        }
        // a wait of no time at all would be none
        Some(Action::Delay(Duration::from_millis((millis.round() as u64).max(1))))
    }

    /// A number of units, and how many milliseconds a unit has.
    fn amount(&mut self, object: &Object, place: &str) -> Option<(f64, i64)> {
        let amount = self.issues.number(member(object, "amount"), &join(place, "amount"));
        let unit = match self.issues.text(member(object, "unit"), &join(place, "unit")) {
            Some("minutes") => Some(60_000),
            Some("hours") => Some(3_600_000),
            Some("days") => Some(86_400_000),
            Some(other) => {
                let message = "Must be one of minutes, hours, days.";
                self.issues.note(unknown(&join(place, "unit"), message, other))
            }
            None => None,
        };
        Some((amount?, unit?))
    }

    pub(super) fn wait_for_event(&mut self, object: &Object) -> Option<Action> {
        let name = self.event_name(object);
        let seconds = match member(object, "timeout") {
            None => Some(0.0),
            found => self.issues.number(found, &at("timeout")),
        };
        let timeout = self.timeout(seconds?)?;
        // 0 means without end, as the dashboard of the reference has it
        Some(Action::WaitForEvent {
            name: name?,
            timeout: Some(timeout).filter(|timeout| !timeout.is_zero()),
        })
    }

    fn event_name(&mut self, object: &Object) -> Option<String> {
        let place = at("eventName");
        let name = self.issues.text(member(object, "eventName"), &place)?;
        self.issues.event_name(name.trim(), &place)
    }

    fn timeout(&mut self, seconds: f64) -> Option<Duration> {
        if seconds < 0.0 {
            return self.issues.note(Issue::new(at("timeout"), "too_small", "Must be 0 or more seconds."));
        }
        if seconds > MAX_TIMEOUT.as_secs_f64() {
            let message = format!("Must be at most {} seconds.", MAX_TIMEOUT.as_secs());
            return self.issues.note(Issue::new(at("timeout"), "too_big", message));
        }
        Some(Duration::from_millis((seconds * 1000.0).round() as u64))
    }

    pub(super) fn wait_until(&mut self, object: &Object) -> Option<Action> {
        let until = match self.issues.text(member(object, "mode"), &at("mode"))? {
            "date" => self.date(object),
            "field" => self.date_field(object),
            "window" => self.window(object),
            other => self.issues.note(unknown(&at("mode"), "Must be one of date, field, window.", other)),
        };
        until.map(Action::WaitUntil)
    }

    fn date(&mut self, object: &Object) -> Option<Until> {
        let text = self.issues.text(member(object, "date"), &at("date"))?;
        let date = Date::parse(text);
        if date.is_none() {
            let message = "Must be a date such as 2026-01-31T09:00:00Z, or 2026-01-31T09:00 in local time.";
            return self.issues.note(Issue::new(at("date"), "invalid_date", message));
        }
        date.map(Until::Date)
    }

    fn date_field(&mut self, object: &Object) -> Option<Until> {
        let field = self.field(object);
        let offset = match member(object, "offset") {
            None => Some(SignedDuration::ZERO),
            Some(json) => self.offset(json),
        };
        Some(Until::Field { field: field?, offset: offset? })
    }

    pub(super) fn field(&mut self, object: &Object) -> Option<Field> {
        let name = self.issues.text(member(object, "field"), &at("field"))?;
        let field = Field::parse(name);
        if field.is_none() {
            let message = format!(
                "Must be email, subscribed, createdAt, updatedAt, id or data.<field>, with or without contact. before \
                 it, event.<field> or workflow.<field>. A <field> has at most {MAX_KEY} bytes and {MAX_PATH_KEYS} levels."
            );
            return self.issues.note(unknown(&at("field"), message, name));
        }
        field
    }

    fn offset(&mut self, json: &Value) -> Option<SignedDuration> {
        let place = at("offset");
        let object = self.issues.object(json, &place)?;
        let (amount, unit) = self.amount(object, &place)?;
        let millis = amount * unit as f64;
        if millis.abs() > MAX_DELAY.as_millis() as f64 {
            let message = format!("Must be at most {} days.", MAX_DELAY.as_secs() / 86_400);
            return self.issues.note(Issue::new(join(&place, "amount"), "too_big", message));
        }
        Some(SignedDuration::from_millis(millis.round() as i64))
    }

    fn window(&mut self, object: &Object) -> Option<Until> {
        let opens = self.time(object, "from");
        let closes = self.time(object, "to");
        let days = match member(object, "days") {
            None => Some(weekdays::all()),
            Some(days) => weekdays::read(&mut self.issues, days, &at("days")),
        };
        Some(Until::Window(Window { opens: opens?, closes: closes?, days: days? }))
    }

    fn time(&mut self, object: &Object, name: &str) -> Option<Time> {
        let text = self.issues.text(member(object, name), &at(name))?;
        let is_plain = (5..=8).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit() || b == b':');
        let time = text.parse::<Time>().ok().filter(|_| is_plain);
        if time.is_none() {
            return self.issues.note(Issue::new(at(name), "invalid_string", "Must be a time such as 09:00."));
        }
        time
    }
}
