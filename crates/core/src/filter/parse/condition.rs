//! What a condition asks of its field: operator, value and unit.

use std::time::Duration;

use serde_json::{Map, Value};

use super::field::Field;
use super::operator::Operator;
use crate::address::EmailAddress;
use crate::filter::date::Moment;
use crate::filter::tree::{Condition, DataTest, EventTest, Operand, Ordered, TextTest, TimeTest};
use crate::issue::Issue;
use crate::reading::{Issues, join, missing, nul, unknown, wrong_type};
use crate::time::Timestamp;

/// The longest text to compare with, in characters.
pub const MAX_TEXT: usize = 1000;

/// How far from 1970 a time given as a number can lie, in milliseconds: a hundred million days.
const FARTHEST: f64 = 8.64e15;
const DAY: i64 = 24 * 60 * 60 * 1000;

/// One filter whose field and operator are known, and fit.
pub(super) struct RawFilter<'r, 'j> {
    pub(super) issues: &'r mut Issues,
    pub(super) object: &'j Map<String, Value>,
    pub(super) at: &'r str,
    pub(super) operator: Operator,
}

impl<'j> RawFilter<'_, 'j> {
    pub(super) fn build(mut self, field: Field) -> Option<Condition> {
        Some(match field {
            Field::Email => Condition::Email(self.email()?),
            Field::Subscribed => {
                // only true itself means true
                let value = self.value()? == &Value::Bool(true);
                Condition::Subscribed(value == (self.operator == Operator::Equals))
            }
            Field::Time(field) => Condition::Time { field, test: self.time()? },
            Field::Data(path) => Condition::Data { path, test: self.data()? },
            Field::Context(path) => Condition::Context { path, test: self.data()? },
            Field::Event(name) => Condition::Event { name, test: self.event()? },
            Field::Activity(kind) => Condition::Activity { kind, test: self.event()? },
            Field::Segment(id) => {
                Condition::Segment { id, member: self.operator == Operator::MemberOfSegment }
            }
        })
    }

    fn email(&mut self) -> Option<TextTest> {
        let text = self.text_value()?;
        let part = text.to_ascii_lowercase();
        let whole = || EmailAddress::parse(text).map_or_else(|| part.clone(), |a| a.as_str().to_owned());
        Some(match self.operator {
            Operator::Equals => TextTest::Equals(whole()),
            Operator::NotEquals => TextTest::NotEquals(whole()),
            Operator::NotContains => TextTest::NotContains(part),
            _ => TextTest::Contains(part),
        })
    }

    fn time(&mut self) -> Option<TimeTest> {
        Some(match self.operator {
            Operator::Within => TimeTest::Within(self.length()?),
            Operator::OlderThan => TimeTest::OlderThan(self.length()?),
            Operator::Compare(comparison) => TimeTest::Compare(comparison, self.instant()?),
            Operator::NotEquals => TimeTest::NotOnDay(midnight(self.instant()?)),
            _ => TimeTest::OnDay(midnight(self.instant()?)),
        })
    }

    fn data(&mut self) -> Option<DataTest> {
        Some(match self.operator {
            Operator::NotEquals => DataTest::NotEquals(self.operand()?),
            Operator::Contains => DataTest::Contains(self.text_value()?.to_owned()),
            Operator::NotContains => DataTest::NotContains(self.text_value()?.to_owned()),
            Operator::Compare(comparison) => DataTest::Compare(comparison, self.ordered()?),
            Operator::Exists => DataTest::Exists,
            Operator::NotExists => DataTest::NotExists,
            Operator::Within => DataTest::Within(self.length()?),
            Operator::OlderThan => DataTest::OlderThan(self.length()?),
            _ => DataTest::Equals(self.operand()?),
        })
    }

    fn event(&mut self) -> Option<EventTest> {
        Some(match self.operator {
            Operator::NotTriggered => EventTest::NotTriggered,
            Operator::TriggeredWithin => EventTest::Within(self.length()?),
            Operator::TriggeredOlderThan => EventTest::OlderThan(self.length()?),
            Operator::NotTriggeredWithin => EventTest::NotWithin(self.length()?),
            _ => EventTest::Triggered,
        })
    }

    /// The value, which must be there; null counts as missing.
    fn value(&mut self) -> Option<&'j Value> {
        let value = self.object.get("value").filter(|value| !value.is_null());
        if value.is_none() {
            let message = format!("{} needs a value.", self.operator.as_str());
            return self.issues.note(missing(&join(self.at, "value"), message));
        }
        value
    }

    fn wrong_value<T>(&mut self, expected: &str, value: &Value) -> Option<T> {
        self.issues.note(wrong_type(&join(self.at, "value"), expected, value))
    }

    fn text_value(&mut self) -> Option<&'j str> {
        match self.value()? {
            Value::String(text) => self.bounded(text),
            other => self.wrong_value("a string", other),
        }
    }

    fn bounded(&mut self, text: &'j str) -> Option<&'j str> {
        let at = join(self.at, "value");
        if text.contains('\0') {
            return self.issues.note(nul(&at));
        }
        if text.chars().count() > MAX_TEXT {
            let message = format!("Must have at most {MAX_TEXT} characters.");
            return self.issues.note(Issue::new(at, "too_big", message));
        }
        Some(text)
    }

    fn operand(&mut self) -> Option<Operand> {
        match self.value()? {
            Value::Bool(value) => Some(Operand::Bool(*value)),
            other @ (Value::Array(_) | Value::Object(_)) => {
                self.wrong_value("a string, a number or a boolean", other)
            }
            _ => self.ordered().map(Operand::Ordered),
        }
    }

    fn ordered(&mut self) -> Option<Ordered> {
        match self.value()? {
            Value::Number(number) => number.as_f64().map(Ordered::Number),
            Value::String(text) => {
                let text = self.bounded(text)?;
                let date = Moment::parse(text).map(Ordered::Date);
                Some(date.unwrap_or_else(|| Ordered::Text(text.to_owned())))
            }
            other => self.wrong_value("a number or a string", other),
        }
    }

    /// An instant: a date in one of the forms of custom data, any other ISO 8601 text, or milliseconds since 1970.
    fn instant(&mut self) -> Option<Timestamp> {
        let at = join(self.at, "value");
        match self.value()? {
            Value::String(text) => {
                let text = self.bounded(text)?;
                let date = Moment::parse(text).and_then(|date| date.instant());
                date.or_else(|| Timestamp::parse(text)).or_else(|| {
                    let message = "Must be a date such as 2025-01-31 or 2025-01-31T10:20:30Z.";
                    self.issues.note(Issue::new(at, "invalid_date", message))
                })
            }
            Value::Number(number) => {
                let millis = number.as_f64().unwrap_or(f64::INFINITY);
                if millis.abs() > FARTHEST {
                    return self.issues.note(Issue::new(at, "invalid_date", "The date is out of range."));
                }
                Some(Timestamp(millis.floor() as i64))
            }
            other => self.wrong_value("a date or a number of milliseconds", other),
        }
    }

    /// A number of units, as a time; one too long to be told is as long as can be.
    fn length(&mut self) -> Option<Duration> {
        let unit = self.unit();
        let count = match self.value() {
            Some(Value::Number(number)) => number.as_f64().filter(|count| count.is_finite()),
            Some(other) => self.wrong_value("a number", other),
            None => None,
        };
        let count = match count {
            Some(count) if count < 0.0 => {
                self.issues.note(Issue::new(join(self.at, "value"), "too_small", "Must be 0 or more."))
            }
            other => other,
        };
        // a cast of a float that is too great gives the greatest integer
        let millis = (count? * unit? as f64).round() as i64;
        Some(Duration::from_millis(millis as u64))
    }

    /// Milliseconds of the unit.
    fn unit(&mut self) -> Option<i64> {
        let at = join(self.at, "unit");
        let Some(unit) = self.object.get("unit").filter(|unit| !unit.is_null()) else {
            let message = format!("{} needs a unit: days, hours or minutes.", self.operator.as_str());
            return self.issues.note(missing(&at, message));
        };
        match self.issues.text(Some(unit), &at)? {
            "days" => Some(DAY),
            "hours" => Some(DAY / 24),
            "minutes" => Some(DAY / 24 / 60),
            other => self.issues.note(unknown(&at, "Must be one of days, hours, minutes.", other)),
        }
    }
}

fn midnight(instant: Timestamp) -> Timestamp {
    Timestamp(instant.0.div_euclid(DAY) * DAY)
}
