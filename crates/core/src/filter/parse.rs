//! Reads a filter from JSON and finds everything that is wrong with it.

use std::time::Duration;

use serde_json::{Map, Value};

use super::date::Moment;
use super::{
    Activity, Comparison, Condition, DataPath, DataTest, EventTest, Filter, Group, Logic, Operand, Ordered,
    TextTest, TimeField, TimeTest,
};
use crate::address::EmailAddress;
use crate::custom_data::MAX_KEY;
use crate::event::{MAX_EVENT_NAME, is_too_long};
use crate::ids::SegmentId;
use crate::issue::Issue;
use crate::time::Timestamp;

/// How deep trees can be nested; the outermost counts.
pub const MAX_DEPTH: usize = 10;
/// The most conditions of a filter, nested ones included.
pub const MAX_CONDITIONS: usize = 200;
/// The longest text to compare with, in characters.
pub const MAX_TEXT: usize = 1000;
/// How deep a path into custom data can lead.
const MAX_KEYS: usize = 32;
/// How many issues of one filter are reported.
const MAX_ISSUES: usize = 100;
/// How far from 1970 a time given as a number can lie, in milliseconds: a hundred million days.
const FARTHEST: f64 = 8.64e15;
const DAY: i64 = 24 * 60 * 60 * 1000;

impl Filter {
    /// Reads a filter. Every issue names its path inside of the filter (`groups.0.filters.1.operator`); the path of the
    /// filter itself is empty.
    pub fn parse(json: &Value) -> Result<Self, Vec<Issue>> {
        let mut reader = Reader { issues: Vec::new(), conditions: 0 };
        let tree = reader.tree(json, "", 1);
        // a filter is stored as it was given, with what is not looked at
        if reader.issues.is_empty() && holds_nul(json) {
            return Err(vec![nul("")]);
        }
        match tree {
            Some(tree) if reader.issues.is_empty() => Ok(tree),
            _ => Err(reader.issues),
        }
    }
}

/// What goes wrong is noted, and the reading goes on; `None` means that something was noted.
struct Reader {
    issues: Vec<Issue>,
    conditions: usize,
}

impl Reader {
    fn note<T>(&mut self, issue: Issue) -> Option<T> {
        if self.issues.len() < MAX_ISSUES {
            self.issues.push(issue);
        }
        None
    }

    fn tree(&mut self, json: &Value, at: &str, depth: usize) -> Option<Filter> {
        let object = self.object(json, at)?;
        if depth > MAX_DEPTH {
            let message = format!("Conditions must be nested at most {MAX_DEPTH} levels deep.");
            return self.note(Issue::new(at, "too_big", message));
        }
        let logic = self.logic(object.get("logic"), &join(at, "logic"));
        let groups = self.groups(object.get("groups"), &join(at, "groups"), depth);
        Some(Filter { logic: logic?, groups: groups? })
    }

    fn logic(&mut self, json: Option<&Value>, at: &str) -> Option<Logic> {
        match self.text(json, at)? {
            "AND" => Some(Logic::And),
            "OR" => Some(Logic::Or),
            other => self.note(unknown(at, "Must be one of AND, OR.", other)),
        }
    }

    fn groups(&mut self, json: Option<&Value>, at: &str, depth: usize) -> Option<Vec<Group>> {
        let groups = self.list(json, at)?;
        if groups.is_empty() {
            return self.note(Issue::new(at, "too_small", "Must have at least 1 group."));
        }
        let groups = groups.iter().enumerate().map(|(index, group)| {
            if self.is_full() { None } else { self.group(group, &join(at, &index.to_string()), depth) }
        });
        all(groups)
    }

    fn group(&mut self, json: &Value, at: &str, depth: usize) -> Option<Group> {
        let object = self.object(json, at)?;
        let nested = object.get("conditions").filter(|tree| !tree.is_null());
        let conditions = self.filters(object.get("filters"), &join(at, "filters"), nested.is_some());
        let nested = match nested {
            Some(tree) => Some(Box::new(self.tree(tree, &join(at, "conditions"), depth + 1)?)),
            None => None,
        };
        Some(Group { conditions: conditions?, nested })
    }

    fn filters(&mut self, json: Option<&Value>, at: &str, may_be_empty: bool) -> Option<Vec<Condition>> {
        let filters = self.list(json, at)?;
        if filters.is_empty() && !may_be_empty {
            return self.note(Issue::new(
                at,
                "too_small",
                "Must have at least 1 filter, or pass conditions.",
            ));
        }
        self.conditions += filters.len();
        if self.conditions > MAX_CONDITIONS {
            let message = format!("Must have at most {MAX_CONDITIONS} filters in all.");
            return self.note(Issue::new(at, "too_big", message));
        }
        let filters = filters.iter().enumerate().map(|(index, filter)| {
            if self.is_full() { None } else { self.condition(filter, &join(at, &index.to_string())) }
        });
        all(filters)
    }

    /// Whether there are so many issues, or conditions, that reading on would tell nothing new.
    fn is_full(&self) -> bool {
        self.issues.len() >= MAX_ISSUES || self.conditions > MAX_CONDITIONS
    }

    fn condition(&mut self, json: &Value, at: &str) -> Option<Condition> {
        let object = self.object(json, at)?;
        let operator = self.operator(object.get("operator"), &join(at, "operator"));
        let field = self.field(object.get("field"), operator, &join(at, "field"));
        let (operator, field) = (operator?, field?);
        if !field.takes(operator) {
            let message = format!("{} cannot be used with this field.", operator.as_str());
            return self
                .note(Issue::new(join(at, "operator"), "custom", message).received(operator.as_str()));
        }
        RawFilter { reader: self, object, at, operator }.build(field)
    }

    fn operator(&mut self, json: Option<&Value>, at: &str) -> Option<Operator> {
        let name = self.text(json, at)?;
        let operator = Operator::ALL.into_iter().find(|operator| operator.as_str() == name);
        if operator.is_none() {
            let names = Operator::ALL.map(Operator::as_str).join(", ");
            return self.note(unknown(at, format!("Must be one of {names}."), name));
        }
        operator
    }

    /// The field; a name by itself is an event's when the operator is one for events.
    fn field(&mut self, json: Option<&Value>, operator: Option<Operator>, at: &str) -> Option<Field> {
        let name = self.text(json, at)?;
        if name.contains('\0') {
            return self.note(nul(at));
        }
        if let Some(path) = name.strip_prefix("data.") {
            return self.path(path, at);
        }
        if let Some(event) = name.strip_prefix("event.") {
            return self.event(event, at);
        }
        let known = match name {
            "email" => Some(Field::Email),
            "subscribed" => Some(Field::Subscribed),
            "createdAt" => Some(Field::Time(TimeField::CreatedAt)),
            "updatedAt" => Some(Field::Time(TimeField::UpdatedAt)),
            _ => None,
        };
        let activity = || name.strip_prefix("email.").and_then(Activity::from_name).map(Field::Activity);
        let segment = || name.strip_prefix("segment.").and_then(|id| id.parse().ok()).map(Field::Segment);
        if let Some(field) = known.or_else(activity).or_else(segment) {
            return Some(field);
        }
        if operator.is_some_and(Operator::is_for_events) {
            return self.event(name, at);
        }
        let message = "Must be email, subscribed, createdAt, updatedAt, data.<field>, event.<name>, segment.<id>, \
                       or email. with one of sent, delivered, opened, clicked, bounced, complained.";
        self.note(unknown(at, message, name))
    }

    fn path(&mut self, path: &str, at: &str) -> Option<Field> {
        if path.is_empty() {
            return self.note(Issue::new(at, "too_small", "Name a field after data."));
        }
        if path.len() > MAX_KEY || path.split('.').count() > MAX_KEYS {
            let message = format!("A path has at most {MAX_KEY} bytes and {MAX_KEYS} levels.");
            return self.note(Issue::new(at, "too_big", message));
        }
        Some(Field::Data(DataPath::new(path)))
    }

    fn event(&mut self, name: &str, at: &str) -> Option<Field> {
        if name.is_empty() {
            return self.note(Issue::new(at, "too_small", "Name an event."));
        }
        if is_too_long(name) {
            let message = format!("The name of an event has at most {MAX_EVENT_NAME} characters.");
            return self.note(Issue::new(at, "too_big", message));
        }
        Some(Field::Event(name.to_owned()))
    }

    fn object<'j>(&mut self, json: &'j Value, at: &str) -> Option<&'j Map<String, Value>> {
        match json {
            Value::Object(object) => Some(object),
            other => self.note(wrong_type(at, "an object", other)),
        }
    }

    fn list<'j>(&mut self, json: Option<&'j Value>, at: &str) -> Option<&'j Vec<Value>> {
        match json {
            Some(Value::Array(list)) => Some(list),
            Some(other) => self.note(wrong_type(at, "an array", other)),
            None => self.note(missing(at, "Required.")),
        }
    }

    fn text<'j>(&mut self, json: Option<&'j Value>, at: &str) -> Option<&'j str> {
        match json {
            Some(Value::String(text)) => Some(text),
            Some(other) => self.note(wrong_type(at, "a string", other)),
            None => self.note(missing(at, "Required.")),
        }
    }
}

/// What a filter looks at.
#[derive(Debug, Clone)]
enum Field {
    Email,
    Subscribed,
    Time(TimeField),
    Data(DataPath),
    Event(String),
    Activity(Activity),
    Segment(SegmentId),
}

impl Field {
    /// Whether an operator can be used with this field.
    fn takes(&self, operator: Operator) -> bool {
        use Operator as O;
        match self {
            Self::Email => matches!(operator, O::Equals | O::NotEquals | O::Contains | O::NotContains),
            Self::Subscribed => matches!(operator, O::Equals | O::NotEquals),
            Self::Time(_) => {
                matches!(operator, O::Equals | O::NotEquals | O::Compare(_) | O::Within | O::OlderThan)
            }
            Self::Data(_) => !operator.is_for_events() && !operator.is_for_segments(),
            Self::Event(_) | Self::Activity(_) => operator.is_for_events(),
            Self::Segment(_) => operator.is_for_segments(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Equals,
    NotEquals,
    Contains,
    NotContains,
    Compare(Comparison),
    Exists,
    NotExists,
    Within,
    OlderThan,
    Triggered,
    NotTriggered,
    TriggeredWithin,
    TriggeredOlderThan,
    NotTriggeredWithin,
    MemberOfSegment,
    NotMemberOfSegment,
}

/// The names of all operators.
pub fn operator_names() -> impl Iterator<Item = &'static str> {
    Operator::ALL.into_iter().map(Operator::as_str)
}

impl Operator {
    const ALL: [Self; 19] = [
        Self::Equals,
        Self::NotEquals,
        Self::Contains,
        Self::NotContains,
        Self::Compare(Comparison::Greater),
        Self::Compare(Comparison::Less),
        Self::Compare(Comparison::GreaterOrEqual),
        Self::Compare(Comparison::LessOrEqual),
        Self::Exists,
        Self::NotExists,
        Self::Within,
        Self::OlderThan,
        Self::Triggered,
        Self::NotTriggered,
        Self::TriggeredWithin,
        Self::TriggeredOlderThan,
        Self::NotTriggeredWithin,
        Self::MemberOfSegment,
        Self::NotMemberOfSegment,
    ];

    fn as_str(self) -> &'static str {
        match self {
            Self::Equals => "equals",
            Self::NotEquals => "notEquals",
            Self::Contains => "contains",
            Self::NotContains => "notContains",
            Self::Compare(Comparison::Greater) => "greaterThan",
            Self::Compare(Comparison::Less) => "lessThan",
            Self::Compare(Comparison::GreaterOrEqual) => "greaterThanOrEqual",
            Self::Compare(Comparison::LessOrEqual) => "lessThanOrEqual",
            Self::Exists => "exists",
            Self::NotExists => "notExists",
            Self::Within => "within",
            Self::OlderThan => "olderThan",
            Self::Triggered => "triggered",
            Self::NotTriggered => "notTriggered",
            Self::TriggeredWithin => "triggeredWithin",
            Self::TriggeredOlderThan => "triggeredOlderThan",
            Self::NotTriggeredWithin => "notTriggeredWithin",
            Self::MemberOfSegment => "memberOfSegment",
            Self::NotMemberOfSegment => "notMemberOfSegment",
        }
    }

    fn is_for_events(self) -> bool {
        matches!(
            self,
            Self::Triggered
                | Self::NotTriggered
                | Self::TriggeredWithin
                | Self::TriggeredOlderThan
                | Self::NotTriggeredWithin
        )
    }

    fn is_for_segments(self) -> bool {
        matches!(self, Self::MemberOfSegment | Self::NotMemberOfSegment)
    }
}

/// One filter whose field and operator are known, and fit.
struct RawFilter<'r, 'j> {
    reader: &'r mut Reader,
    object: &'j Map<String, Value>,
    at: &'r str,
    operator: Operator,
}

impl<'j> RawFilter<'_, 'j> {
    fn build(mut self, field: Field) -> Option<Condition> {
        Some(match field {
            Field::Email => Condition::Email(self.email()?),
            Field::Subscribed => {
                // only true itself means true
                let value = self.value()? == &Value::Bool(true);
                Condition::Subscribed(value == (self.operator == Operator::Equals))
            }
            Field::Time(field) => Condition::Time { field, test: self.time()? },
            Field::Data(path) => Condition::Data { path, test: self.data()? },
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
            return self.reader.note(missing(&join(self.at, "value"), message));
        }
        value
    }

    fn wrong_value<T>(&mut self, expected: &str, value: &Value) -> Option<T> {
        self.reader.note(wrong_type(&join(self.at, "value"), expected, value))
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
            return self.reader.note(nul(&at));
        }
        if text.chars().count() > MAX_TEXT {
            let message = format!("Must have at most {MAX_TEXT} characters.");
            return self.reader.note(Issue::new(at, "too_big", message));
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
                    self.reader.note(Issue::new(at, "invalid_date", message))
                })
            }
            Value::Number(number) => {
                let millis = number.as_f64().unwrap_or(f64::INFINITY);
                if millis.abs() > FARTHEST {
                    return self.reader.note(Issue::new(at, "invalid_date", "No date is that far away."));
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
                self.reader.note(Issue::new(join(self.at, "value"), "too_small", "Must be 0 or more."))
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
            return self.reader.note(missing(&at, message));
        };
        match self.reader.text(Some(unit), &at)? {
            "days" => Some(DAY),
            "hours" => Some(DAY / 24),
            "minutes" => Some(DAY / 24 / 60),
            other => self.reader.note(unknown(&at, "Must be one of days, hours, minutes.", other)),
        }
    }
}

/// All of them, or nothing when one is missing; every one is read all the same.
fn all<T>(items: impl Iterator<Item = Option<T>>) -> Option<Vec<T>> {
    let items: Vec<Option<T>> = items.collect();
    items.into_iter().collect()
}

fn midnight(instant: Timestamp) -> Timestamp {
    Timestamp(instant.0.div_euclid(DAY) * DAY)
}

fn join(at: &str, name: &str) -> String {
    if at.is_empty() { name.to_owned() } else { format!("{at}.{name}") }
}

fn missing(at: &str, message: impl Into<String>) -> Issue {
    Issue::new(at, "invalid_type", message).received("undefined")
}

fn wrong_type(at: &str, expected: &str, found: &Value) -> Issue {
    let name = match found {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    Issue::new(at, "invalid_type", format!("Must be {expected}.")).received(name)
}

fn unknown(at: &str, message: impl Into<String>, found: &str) -> Issue {
    let short: String = found.chars().take(100).collect();
    Issue::new(at, "invalid_enum_value", message).received(short)
}

fn holds_nul(json: &Value) -> bool {
    match json {
        Value::String(text) => text.contains('\0'),
        Value::Array(elements) => elements.iter().any(holds_nul),
        Value::Object(members) => members.iter().any(|(key, value)| key.contains('\0') || holds_nul(value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn nul(at: &str) -> Issue {
    Issue::new(at, "invalid_string", "Must not contain the NUL character.")
}
