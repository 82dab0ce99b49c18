//! Tests of the template language through its public door.

mod errors;
mod filters;
mod limits;
mod liquid;
mod marks;
mod properties;
mod reference;
mod scope;

use serde_json::{Map, Value};

use super::{Escape, Scope, Template};

/// `source`, parsed strictly, filled in from `data` as HTML.
fn html(source: &str, data: &Value) -> String {
    rendered(source, data, Escape::Html)
}

/// `source`, parsed strictly, filled in from `data` as text.
fn text(source: &str, data: &Value) -> String {
    rendered(source, data, Escape::Text)
}

/// `source`, parsed leniently, filled in from `data` as text.
fn lenient(source: &str, data: &Value) -> String {
    Template::parse_lenient(source).render(&Scope::new().layer(object(data)), Escape::Text)
}

#[track_caller]
fn rendered(source: &str, data: &Value, mode: Escape) -> String {
    let strict = match Template::parse(source) {
        Ok(template) => template,
        Err(error) => panic!("{source}: {error}"),
    };
    let scope = Scope::new().layer(object(data));
    let output = strict.render(&scope, mode);
    let lenient = Template::parse_lenient(source);
    assert_eq!(lenient.render(&scope, mode), output, "parsed leniently: {source}");
    assert_eq!(strict.render(&scope, mode), output, "rendered again: {source}");
    output
}

fn object(data: &Value) -> &Map<String, Value> {
    data.as_object().expect("data is an object")
}

/// Checks rows of source and output, in text mode.
#[track_caller]
fn check(data: &Value, rows: &[(&str, &str)]) {
    for (source, expected) in rows {
        assert_eq!(text(source, data), *expected, "{source}");
    }
}
