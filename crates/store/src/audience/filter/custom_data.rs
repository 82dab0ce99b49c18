//! Conditions on custom data in SQL.
//!
//! A value is compared only if its JSON type is that of the operand: on PostgreSQL a cast of another type fails, and on
//! SQLite a text is greater than every number. Every comparison is inside a `case` or a `coalesce`, which fix the order
//! of evaluation and make a missing value false. Looking a value up is the expensive step, so it is done once if
//! possible. Dates are compared as texts in the canonical form of `core::filter::date`, because a cast can fail; on
//! SQLite the database calls that very function (`canonical_date`).

use mailwright_core::filter::date::{FILLER, Moment};
use mailwright_core::filter::{Comparison, DataPath, DataTest, Operand, Ordered};
use mailwright_core::time::Timestamp;
use serde_json::Value as Json;

use super::values::{Values, sign};

/// From here on, not every integer is a float.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// The condition of a test of the value at a path.
pub(super) fn condition(path: &DataPath, test: &DataTest, now: Timestamp, values: &mut Values<'_>) -> String {
    let field = if values.postgres { Field::postgres(path, values) } else { Field::sqlite(path, values) };
    match test {
        DataTest::Equals(operand) => field.equals(operand, values),
        DataTest::NotEquals(operand) => {
            let equal = field.equals(operand, values);
            format!("({} and not {equal})", field.exists())
        }
        DataTest::Contains(part) => field.contains(part, ">", values),
        DataTest::NotContains(part) => field.contains(part, "=", values),
        DataTest::Compare(comparison, operand) => field.compare(*comparison, operand, values),
        DataTest::Exists => field.exists(),
        DataTest::NotExists => format!("not {}", field.exists()),
        DataTest::Within(length) => {
            field.date(Comparison::GreaterOrEqual, &Moment::of(now.minus(*length)), values)
        }
        DataTest::OlderThan(length) => field.date(Comparison::Less, &Moment::of(now.minus(*length)), values),
    }
}

/// How the value at a path is got at.
struct Field {
    /// Its JSON type as the engine calls it; null when there is no value.
    kind: String,
    /// A text as text; something else as whatever the engine makes of it; null when there is no value, or null.
    text: String,
    /// PostgreSQL: the value as JSON.
    json: Option<String>,
}

impl Field {
    /// A key that has dots in it goes before a path of keys.
    fn postgres(path: &DataPath, values: &mut Values<'_>) -> Self {
        let whole = values.bind(path.as_str().to_owned());
        let (json, text) = if path.is_dotted() {
            let mut nested = "c.data".to_owned();
            for key in path.keys() {
                nested += &format!(" -> {}::text", values.bind(key.to_owned()));
            }
            let json = format!("coalesce(c.data -> {whole}::text, {nested})");
            let text = format!("({json} #>> '{{}}')");
            (json, text)
        } else {
            (format!("(c.data -> {whole}::text)"), format!("(c.data ->> {whole}::text)"))
        };
        Self { kind: format!("jsonb_typeof({json})"), text, json: Some(json) }
    }

    fn sqlite(path: &DataPath, values: &mut Values<'_>) -> Self {
        let label = |key: &str| format!(".{}", Json::from(key));
        let whole = values.bind(format!("${}", label(path.as_str())));
        if !path.is_dotted() {
            let (kind, text) = (format!("json_type(c.data, {whole})"), format!("(c.data ->> {whole})"));
            return Self { kind, text, json: None };
        }
        let nested = values.bind(format!("${}", path.keys().map(label).collect::<String>()));
        let kind = format!("coalesce(json_type(c.data, {whole}), json_type(c.data, {nested}))");
        let text = format!(
            "(case when json_type(c.data, {whole}) is null then c.data ->> {nested} else c.data ->> {whole} end)"
        );
        Self { kind, text, json: None }
    }

    fn exists(&self) -> String {
        format!("coalesce({} <> 'null', false)", self.kind)
    }

    fn is_text(&self) -> String {
        format!("{} = '{}'", self.kind, if self.json.is_some() { "string" } else { "text" })
    }

    fn equals(&self, operand: &Operand, values: &mut Values<'_>) -> String {
        match operand {
            Operand::Bool(wanted) => {
                // on SQLite, true and false are types
                format!("coalesce({} = '{wanted}', false)", self.json.as_ref().unwrap_or(&self.kind))
            }
            Operand::Ordered(Ordered::Number(number)) => self.number(None, *number, values),
            Operand::Ordered(Ordered::Text(text)) => self.text("=", text, values),
            Operand::Ordered(Ordered::Date(date)) => {
                let day = values.text(date.day());
                let is_date = self.is_date();
                format!("(case when substr({}, 1, 10) = {day} then {is_date} else false end)", self.text)
            }
        }
    }

    fn compare(&self, comparison: Comparison, operand: &Ordered, values: &mut Values<'_>) -> String {
        match operand {
            Ordered::Number(number) => self.number(Some(comparison), *number, values),
            Ordered::Text(text) => self.text(sign(comparison), text, values),
            Ordered::Date(date) => self.date(comparison, date, values),
        }
    }

    fn contains(&self, part: &str, sign: &str, values: &mut Values<'_>) -> String {
        let part = values.text(part);
        let find = if self.json.is_some() { "strpos" } else { "instr" };
        let text = &self.text;
        format!("(case when {} then {find}({text}, {part}) {sign} 0 else false end)", self.is_text())
    }

    fn text(&self, sign: &str, operand: &str, values: &mut Values<'_>) -> String {
        let operand = values.text(operand);
        format!("(case when {} {sign} {operand} then {} else false end)", self.text, self.is_text())
    }

    /// That the value is a number and stands so to another; `None` is equality.
    fn number(&self, comparison: Option<Comparison>, number: f64, values: &mut Values<'_>) -> String {
        let Some(json) = &self.json else { return self.sqlite_number(comparison, number, values) };
        let (sign, number) = (comparison.map_or("=", sign), values.number(number));
        format!("(case when {} = 'number' then ({json})::float8 {sign} {number} else false end)", self.kind)
    }

    /// The range of what matches: no text and no null lies in one. True and false are 1 and 0 here, so that the type
    /// is looked at where those are in the range; and where SQLite would compare an integer more exactly than floats
    /// are, it is made a float.
    fn sqlite_number(&self, comparison: Option<Comparison>, number: f64, values: &mut Values<'_>) -> String {
        let (least, most) = match comparison {
            None => (number, number),
            Some(Comparison::Greater) => (number.next_up(), f64::INFINITY),
            Some(Comparison::GreaterOrEqual) => (number, f64::INFINITY),
            Some(Comparison::Less) => (f64::NEG_INFINITY, number.next_down()),
            Some(Comparison::LessOrEqual) => (f64::NEG_INFINITY, number),
        };
        let exact = number.abs() < EXACT;
        let text = if exact { self.text.clone() } else { format!("cast({} as real)", self.text) };
        let in_range = format!("{text} between {} and {}", values.number(least), values.number(most));
        let has_booleans = [0.0, 1.0].iter().any(|value| (least..=most).contains(value));
        if exact && !has_booleans {
            format!("coalesce({in_range}, false)")
        } else {
            format!("(case when {in_range} then {} in ('integer', 'real') else false end)", self.kind)
        }
    }

    /// That the value is a date that stands so to another, both in their canonical form.
    fn date(&self, comparison: Comparison, date: &Moment, values: &mut Values<'_>) -> String {
        let near = match comparison {
            Comparison::Greater | Comparison::GreaterOrEqual => format!(">= {}", values.text(date.day())),
            Comparison::Less | Comparison::LessOrEqual => {
                format!("< {}", values.text(&format!("{}~", date.day())))
            }
        };
        let date = values.text(date.as_str());
        let (text, sign) = (&self.text, sign(comparison));
        // what is on the wrong side by its day alone is done with one look
        if self.json.is_none() {
            return format!(
                "(case when {text} {near} then coalesce(canonical_date({text}) {sign} {date}, false) else false end)"
            );
        }
        // as `core::filter::date` does
        let bare = format!("rtrim({text}, 'Z')");
        let canonical = format!("({bare} || substr('{FILLER}', length({bare}) + 1))");
        format!(
            "(case when {text} {near} and {} then {canonical} {sign} {date} else false end)",
            self.is_date()
        )
    }

    /// Whether the value has the form of a date, which only a text can have: its JSON type need not be looked at.
    fn is_date(&self) -> String {
        let text = &self.text;
        if self.json.is_none() {
            // differs because SQLite can call the very function that the other evaluator uses
            return format!("canonical_date({text}) is not null");
        }
        // digits are made zeros; what is long is no date, and not worth the work
        let (day, time) = (&FILLER[..10], &FILLER[..19]);
        format!(
            "octet_length({text}) <= 24 and translate({text}, '123456789', '000000000') \
             in ('{day}', '{time}', '{time}Z', '{FILLER}', '{FILLER}Z')"
        )
    }
}
