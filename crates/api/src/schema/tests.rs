use axum::extract::Request;
use axum::http::header::CONTENT_LENGTH;
use mailwright_core::issue::Issue;
use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::body::Body;
use super::count::has_more_values;
use super::deserialize::{WholeNumber, object};
use super::issues::{MAX_ISSUES, document, has_type};
use super::parse::{MAX_VALUES, parse};
use super::payload::Payload;
use crate::error::Failure;
use crate::fields::{Email, Subject};

#[test]
fn a_whole_number_may_have_a_fraction_of_nothing() {
    let schema = serde_json::json!({ "type": ["integer", "null"] });
    for (json, expected) in [
        ("5", Some(5)),
        ("-5.0", Some(-5)),
        ("5e2", Some(500)),
        ("9223372036854775807", Some(i64::MAX)),
        ("1e300", Some(i64::MAX)),
        ("5.5", None),
        ("true", None),
        ("\"5\"", None),
    ] {
        let read = serde_json::from_str::<WholeNumber>(json).ok().map(|number| number.0);
        assert_eq!(read, expected, "{json}");
        let value: Value = serde_json::from_str(json).unwrap();
        assert_eq!(has_type(&schema, &value), expected.is_some(), "{json}");
    }
}

#[derive(Debug, Deserialize, ToSchema)]
#[expect(dead_code, reason = "only parsed")]
struct Named {
    email: Email,
    name: Option<Subject>,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only parsed")]
enum To {
    One(Email),
    #[serde(deserialize_with = "object")]
    Named(Named),
    Many(Vec<OneTo>),
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only parsed")]
enum OneTo {
    One(Email),
    #[serde(deserialize_with = "object")]
    Named(Named),
}

#[derive(Debug, Deserialize, ToSchema)]
#[expect(dead_code, reason = "only parsed")]
struct Sample {
    to: To,
    subject: Option<Subject>,
    subscribed: Option<bool>,
    #[schema(max_items = 1)]
    files: Option<Vec<Subject>>,
}

impl Payload for Sample {}

/// Its rules go beyond the schema.
#[derive(Debug, Deserialize, ToSchema)]
struct Ruled {
    #[expect(dead_code, reason = "only parsed")]
    to: To,
    subject: Option<Subject>,
    files: Vec<Subject>,
    notes: Option<std::collections::BTreeMap<String, Subject>>,
}

impl Payload for Ruled {
    fn check(&self) -> Vec<Issue> {
        let mut issues = Vec::new();
        for (name, _) in self.notes.iter().flatten().filter(|(name, _)| name.contains('!')) {
            issues.push(Issue::new(format!("notes.{name}"), "custom", "Must have a quiet name."));
        }
        if self.subject.is_none() {
            issues.push(Issue::new("subject", "custom", "Pass a subject."));
        }
        if self.files.len() == 2 {
            issues.push(Issue::new("files", "custom", "Must not be a pair."));
        }
        issues
    }
}

#[test]
fn rules_beyond_the_schema_are_applied_to_the_fields_that_it_allows() {
    use serde_json::json;
    for (body, wanted) in [
        (json!({"to": "a@b.co", "files": [], "notes": {"a!": "b"}}), vec!["notes.a!", "subject"]),
        (
            json!({"to": 5, "files": ["a", "b"], "notes": {"a!": "b"}}),
            vec!["files", "notes.a!", "subject", "to"],
        ),
        (json!({"files": ["a", "b"], "subject": 1}), vec!["files", "subject", "to"]),
        (json!({"to": ["nope"], "subject": "a", "files": [1, "b"]}), vec!["files", "files.0", "to.0"]),
        (
            json!({"to": "a@b.co", "subject": "a", "files": 5, "notes": {"a": "b\nc"}}),
            vec!["files", "notes.a"],
        ),
        (json!({"to": "a@b.co", "subject": "a", "files": [], "notes": {"a!": 1}}), vec!["notes.a!"]),
        (json!([]), vec![""]),
    ] {
        let error = refused(parse::<Ruled>(body.to_string().as_bytes()));
        let named = error["errors"].as_array().unwrap().iter().map(|issue| issue["field"].as_str().unwrap());
        let mut named: Vec<_> = named.collect();
        named.sort_unstable();
        assert_eq!(named, wanted, "{body}");
    }
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "only parsed")]
struct Strict {
    scheduled_for: Option<bool>,
}

impl Payload for Strict {}

#[test]
fn a_strict_body_has_no_other_fields() {
    for (name, hint) in [
        ("scheduleFor", "Did you mean scheduledFor?"),
        ("scheduled_for", "Did you mean scheduledFor?"),
        ("ScheduledFor", "Did you mean scheduledFor?"),
        ("shceduledFor", "Did you mean scheduledFor?"),
        ("data", "Known fields: scheduledFor."),
        ("", "Known fields: scheduledFor."),
    ] {
        let error = refused(parse::<Strict>(serde_json::json!({name: null}).to_string().as_bytes()));
        let issue = &error["errors"][0];
        assert_eq!((&issue["field"], &issue["code"]), (&name.into(), &"unrecognized_keys".into()));
        assert_eq!(issue["message"], format!("There is no field {name}. {hint}"));
    }
    let error = refused(parse::<Strict>(format!("{{\"{}\": 1}}", "x".repeat(100_000)).as_bytes()));
    assert!(error.to_string().len() < 1000, "{error}");
    assert!(parse::<Strict>(br#"{"scheduledFor": null}"#).is_ok());
    assert!(parse::<Strict>(br#"{"scheduledFor": true, "scheduledFor": null}"#).is_ok());
}

#[test]
fn a_value_without_an_allowed_shape_is_told_the_shapes() {
    let error = refused(parse::<Sample>(br#"{"to": 5}"#));
    assert_eq!(error["errors"][0]["message"], "Must be a string, or an object with email, or an array.");
}

fn issues(body: &Value) -> Vec<(String, String)> {
    let document = document::<Sample>();
    let mut out = Vec::new();
    document.walk(&document.root, body, "", &mut out);
    assert_eq!(
        out.is_empty(),
        parse::<Sample>(body.to_string().as_bytes()).is_ok(),
        "serde and schema: {body}"
    );
    out.into_iter().map(|i| (i.field, i.code.to_owned())).collect()
}

fn refused<T: std::fmt::Debug>(result: Result<T, Failure>) -> Value {
    let Err(Failure::Standard(error)) = result else { panic!("{result:?}") };
    serde_json::to_value(error.envelope("id", mailwright_core::time::Timestamp(0))).unwrap()["error"].take()
}

async fn read(request: Request) -> Result<Sample, Failure> {
    Body::read(request).await.map(|Body(sample)| sample)
}

#[test]
fn values_are_counted_outside_of_strings() {
    for (json, values) in [
        ("[0,0,0]", 3),
        (r#"{"a": [1], "b": ",[{", "c": "\\", "d": "\",[{", "e": 1}"#, 6),
        (r#"{"a": "no end, [[["#, 1),
        (r#"["\"#, 1),
        ("", 0),
    ] {
        // long enough that the quick look does not decide
        let json = format!("{json}{}", " ".repeat(100));
        assert!(!has_more_values(json.as_bytes(), values), "{json}");
        assert!(values == 0 || has_more_values(json.as_bytes(), values - 1), "{json}");
    }
}

#[test]
fn a_name_with_an_address_and_a_form_are_recognised() {
    let error = refused(parse::<Sample>(br#"{"to": "Ann <ann@example.com>"}"#));
    assert!(
        error["errors"][0]["message"].as_str().unwrap().contains(r#"{"name": "Ada", "email":"#),
        "{error}"
    );
    let error = refused(parse::<Sample>(br#"{"to": "nope"}"#));
    assert_eq!(error["errors"][0]["message"], "Must be an email address.");
    for (body, is_form) in [
        ("to=ann%40example.com&subject=Hi", true),
        ("--boundary\r\nContent-Disposition: form-data", true),
        ("{to: 1}", false),
        ("nope", false),
        ("=", false),
    ] {
        let error = refused(parse::<Sample>(body.as_bytes()));
        assert_eq!(error["message"].as_str().unwrap().contains("form"), is_form, "{error}");
    }
}

#[test]
fn a_body_of_countless_values_is_refused() {
    let body = format!(r#"{{"to": [{}0]}}"#, "0,".repeat(MAX_VALUES));
    let error = refused(parse::<Sample>(body.as_bytes()));
    assert_eq!((&error["statusCode"], &error["errors"][0]["code"]), (&422.into(), &"too_big".into()));
}

#[tokio::test]
async fn a_body_is_as_long_as_its_payload_says() {
    let body = |length: usize| {
        let json = r#"{"to": "a@b.co"}"#;
        format!("{json}{}", " ".repeat(length - json.len()))
    };
    let limit = Sample::MAX_BODY;
    let told = Request::builder().header(CONTENT_LENGTH, limit + 1).body(axum::body::Body::empty()).unwrap();
    for request in [told, Request::new(body(limit + 1).into())] {
        let error = refused(read(request).await);
        assert_eq!(error["statusCode"], 413);
        assert_eq!(error["message"], "The request body is larger than 1 MB.");
    }
    assert!(read(Request::new(body(limit).into())).await.is_ok());
}

#[test]
fn a_key_that_comes_twice_counts_once() {
    let body = br#"{"to": "nope", "to": "a@b.co", "subject": "a", "subject": "b"}"#;
    let sample: Sample = parse(body).unwrap();
    assert_eq!(sample.subject, Some(Subject("b".into())));
    let error = refused(parse::<Sample>(br#"{"to": "a@b.co", "to": "nope"}"#));
    assert_eq!(error["errors"][0]["field"], "to");
}

#[test]
fn the_number_of_issues_is_bounded() {
    let body = serde_json::json!({"to": vec!["nope"; 10_000], "files": vec![""; 10_000], "subscribed": 1});
    let error = refused(parse::<Sample>(body.to_string().as_bytes()));
    assert_eq!(error["errors"].as_array().unwrap().len(), MAX_ISSUES);
}

#[test]
fn every_failing_field_is_named() {
    use serde_json::json;
    let table = [
        (json!({"to": "a@b.co"}), vec![]),
        (json!({"to": {"email": "a@b.co", "name": null}}), vec![]),
        (json!({"to": ["a@b.co", {"email": "c@d.ee"}]}), vec![]),
        (json!({}), vec![("to", "invalid_union")]),
        (json!({"to": 5}), vec![("to", "invalid_union")]),
        (json!({"to": {"name": "x"}}), vec![("to", "invalid_union")]),
        (json!({"to": "nope"}), vec![("to", "invalid_string")]),
        (json!({"to": {"email": "nope"}}), vec![("to.email", "invalid_string")]),
        (
            json!({"to": ["a@b.co", "nope", {"email": "x"}]}),
            vec![("to.1", "invalid_string"), ("to.2.email", "invalid_string")],
        ),
        (
            json!({"to": "a@b.co", "subject": "a\nb", "subscribed": "yes", "files": ["", "b"]}),
            vec![
                ("files", "too_big"),
                ("files.0", "too_small"),
                ("subject", "invalid_string"),
                ("subscribed", "invalid_type"),
            ],
        ),
        (json!([]), vec![("", "invalid_type")]),
        (json!(["a@b.co", "subject"]), vec![("", "invalid_type")]),
        (json!({"to": ["a@b.co", ["c@d.ee", "x"]]}), vec![("to.1", "invalid_union")]),
        (json!({"to": "a@b.co", "subscribed": 1, "subject": null}), vec![("subscribed", "invalid_type")]),
    ];
    for (body, wanted) in table {
        let mut found = issues(&body);
        found.sort();
        let wanted: Vec<_> = wanted.into_iter().map(|(f, c)| (f.to_owned(), c.to_owned())).collect();
        assert_eq!(found, wanted, "{body}");
    }
}
