//! The operators of CONDITION steps (reference 1.3). They are not those of filters: a value is taken as it comes.
//!
//! - A missing or null value fulfils `notExists` alone, and `equals` where nothing, or null, is expected.
//! - `equals` and `notEquals` heed the type and the case: `true` is not `"true"`. 1 equals 1.0.
//! - `contains` and `notContains` compare the text forms, with their case; `$` and `%` are characters like others.
//! - The four comparisons take both sides as numbers, where texts such as `"3"` are numbers, or both as dates.

use std::borrow::Cow;
use std::cmp::Ordering;

use serde_json::Value;

use crate::custom_data;
use crate::filter::Comparison;
use crate::filter::date::Moment;
use crate::names::names_in_json;
use crate::workflow::scope::{Field, Scope};

names_in_json! {
    /// How a CONDITION step compares.
    pub enum Operator {
        /// Is of the same type and value.
        Equals = "equals",
        /// Is there, and of another type or value.
        NotEquals = "notEquals",
        /// Has a text in it.
        Contains = "contains",
        /// Is there, and does not have a text in it.
        NotContains = "notContains",
        /// `>`
        GreaterThan = "greaterThan",
        /// `<`
        LessThan = "lessThan",
        /// `>=`
        GreaterThanOrEqual = "greaterThanOrEqual",
        /// `<=`
        LessThanOrEqual = "lessThanOrEqual",
        /// Is there and not null; an empty text, 0 and false are there.
        Exists = "exists",
        /// Is missing or null.
        NotExists = "notExists",
    }
}

/// An operator with what it compares with.
#[derive(Debug, Clone, PartialEq)]
pub struct Test {
    /// How it compares.
    pub operator: Operator,
    /// What it compares with; `None` and null are the same.
    pub expected: Option<Value>,
}

impl Test {
    /// Whether a value passes. `actual` is never null.
    pub fn holds(&self, actual: Option<&Value>) -> bool {
        let expected = self.expected.as_ref().filter(|value| !value.is_null());
        let Some(actual) = actual else {
            return match self.operator {
                Operator::NotExists => true,
                Operator::Equals => expected.is_none(),
                _ => false,
            };
        };
        match self.operator {
            Operator::Equals => expected.is_some_and(|expected| are_equal(actual, expected)),
            Operator::NotEquals => !expected.is_some_and(|expected| are_equal(actual, expected)),
            Operator::Contains => expected.is_some_and(|expected| contains(actual, expected)),
            Operator::NotContains => !expected.is_some_and(|expected| contains(actual, expected)),
            Operator::GreaterThan => compare(Comparison::Greater, actual, expected),
            Operator::LessThan => compare(Comparison::Less, actual, expected),
            Operator::GreaterThanOrEqual => compare(Comparison::GreaterOrEqual, actual, expected),
            Operator::LessThanOrEqual => compare(Comparison::LessOrEqual, actual, expected),
            Operator::Exists => true,
            Operator::NotExists => false,
        }
    }
}

fn are_equal(actual: &Value, expected: &Value) -> bool {
    match (actual.as_f64(), expected.as_f64()) {
        (Some(actual), Some(expected)) => actual.partial_cmp(&expected) == Some(Ordering::Equal),
        _ => actual == expected,
    }
}

fn contains(actual: &Value, expected: &Value) -> bool {
    match (text(actual), text(expected)) {
        (Some(actual), Some(part)) => actual.contains(&*part),
        _ => false,
    }
}

/// The text form of a value; `None` for objects. A list is its elements, with commas between them.
fn text(value: &Value) -> Option<Cow<'_, str>> {
    Some(match value {
        Value::String(text) => Cow::Borrowed(text),
        Value::Bool(_) | Value::Number(_) => Cow::Owned(value.to_string()),
        Value::Array(items) => Cow::Owned(items.iter().filter_map(text).collect::<Vec<_>>().join(",")),
        Value::Null | Value::Object(_) => return None,
    })
}

fn compare(comparison: Comparison, actual: &Value, expected: Option<&Value>) -> bool {
    let Some(expected) = expected else { return false };
    if let (Some(actual), Some(expected)) = (number(actual), number(expected)) {
        return comparison.holds(&actual, &expected);
    }
    match (date(actual), date(expected)) {
        (Some(actual), Some(expected)) => comparison.holds(&actual, &expected),
        _ => false,
    }
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok().filter(|number: &f64| number.is_finite()),
        _ => None,
    }
}

fn date(value: &Value) -> Option<Moment> {
    Moment::of_stored(value.as_str()?)
}

/// A branch of a CONDITION step.
#[derive(Debug, Clone, PartialEq)]
pub struct Branch {
    /// The name that transitions refer to.
    pub id: String,
    /// When it is taken.
    pub test: Test,
}

/// A choice by one field: the first branch whose test passes.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// The field.
    pub field: Field,
    /// The branches, in order.
    pub branches: Vec<Branch>,
    /// The branch that is taken when no test passes.
    pub otherwise: &'static str,
}

impl Choice {
    /// The branch that is taken, and the value that was seen; null where there is none, or one too large to keep.
    pub fn decide(&self, scope: &Scope<'_>) -> (&str, Value) {
        let actual = scope.value(&self.field);
        let taken = self.branches.iter().find(|branch| branch.test.holds(actual.as_ref()));
        let branch = taken.map_or(self.otherwise, |branch| branch.id.as_str());
        (branch, actual.as_ref().map(custom_data::shortened).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn holds(operator: &str, actual: Value, expected: Value) -> bool {
        let test = Test { operator: Operator::from_name(operator).unwrap(), expected: Some(expected) };
        test.holds(Some(&actual).filter(|value| !value.is_null()))
    }

    #[test]
    fn values_keep_their_types() {
        for (operator, actual, expected) in [
            ("equals", json!("pro"), json!("pro")),
            ("equals", json!(5), json!(5.0)),
            ("equals", json!(null), json!(null)),
            ("notEquals", json!(true), json!("true")),
            ("notEquals", json!("Pro"), json!("pro")),
            ("notEquals", json!("pro"), json!(null)),
            ("contains", json!("costs $5 (50%)"), json!("$5")),
            ("contains", json!("100%"), json!("%")),
            ("contains", json!(1234), json!(23)),
            ("contains", json!(["a", "b"]), json!("b")),
            ("notContains", json!("Ada"), json!("ada")),
            ("greaterThan", json!(5), json!("3")),
            ("greaterThan", json!("10"), json!(9)),
            ("lessThanOrEqual", json!(3), json!(3)),
            ("lessThan", json!("2026-01-31"), json!("2026-02-01T00:00:00Z")),
            ("exists", json!(""), json!(null)),
            ("exists", json!(0), json!(null)),
            ("exists", json!(false), json!(null)),
            ("notExists", json!(null), json!(null)),
        ] {
            assert!(holds(operator, actual.clone(), expected.clone()), "{actual} {operator} {expected}");
        }
        for (operator, actual, expected) in [
            ("equals", json!(true), json!("true")),
            ("equals", json!("5"), json!(5)),
            ("equals", json!("pro"), json!(null)),
            ("equals", json!(null), json!("pro")),
            ("contains", json!("100"), json!("%")),
            ("contains", json!({ "a": 1 }), json!("a")),
            ("greaterThan", json!("many"), json!(3)),
            ("greaterThan", json!(true), json!(0)),
            ("greaterThan", json!(5), json!(null)),
            ("exists", json!(null), json!(null)),
            ("notExists", json!(0), json!(null)),
        ] {
            assert!(!holds(operator, actual.clone(), expected.clone()), "{actual} {operator} {expected}");
        }
    }

    #[test]
    fn what_is_missing_fulfils_nothing_but_not_exists() {
        for operator in Operator::ALL {
            let test = Test { operator, expected: Some(json!("x")) };
            assert_eq!(test.holds(None), operator == Operator::NotExists, "{operator}");
        }
    }
}
