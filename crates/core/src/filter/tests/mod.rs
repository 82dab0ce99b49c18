mod meaning;
mod person;
mod reading;

use serde_json::{Value, json};

use super::Filter;

/// A filter.
fn filter(field: &str, operator: &str, value: Value) -> Value {
    json!({ "field": field, "operator": operator, "value": value })
}

/// A filter with a time.
fn timed(field: &str, operator: &str, value: Value, unit: &str) -> Value {
    json!({ "field": field, "operator": operator, "value": value, "unit": unit })
}

/// A tree of one group.
fn tree(filters: &[Value]) -> Value {
    json!({ "logic": "AND", "groups": [{ "filters": filters }] })
}

fn parse(json: &Value) -> Filter {
    Filter::parse(json).unwrap_or_else(|issues| panic!("{json}: {issues:?}"))
}
