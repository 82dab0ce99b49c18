//! What a filter must look like, and what is reported of one that does not.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};

use super::{filter, parse, timed, tree};
use crate::filter::date::Moment;
use crate::filter::{
    Activity, Comparison, Condition, DataPath, DataTest, EventTest, Filter, Operand, Ordered, TextTest,
    TimeField, TimeTest, Window, WindowSource,
};
use crate::ids::SegmentId;
use crate::time::Timestamp;

const SEGMENT: &str = "0199a000-0000-7000-8000-000000000001";

/// Fields and codes of what is wrong.
fn issues(json: &Value) -> Vec<(String, &'static str)> {
    let issues = Filter::parse(json).expect_err("the filter is valid");
    issues.into_iter().map(|issue| (issue.field, issue.code)).collect()
}

/// The issues of one filter, its own path left out.
fn of_filter(json: Value) -> Vec<(String, &'static str)> {
    let short = |(field, code): (String, _)| {
        (field.strip_prefix("groups.0.filters.0").unwrap_or(&field).trim_start_matches('.').to_owned(), code)
    };
    issues(&tree(&[json])).into_iter().map(short).collect()
}

fn condition(json: Value) -> Condition {
    parse(&tree(&[json])).groups.remove(0).conditions.remove(0)
}

const OPERATORS: [(&str, &str); 19] = [
    // an operator, and the kinds of fields that take it: (e)mail, (s)ubscribed, (t)ime, (d)ata, e(v)ent, se(g)ment
    ("equals", "estd"),
    ("notEquals", "estd"),
    ("contains", "ed"),
    ("notContains", "ed"),
    ("greaterThan", "td"),
    ("lessThan", "td"),
    ("greaterThanOrEqual", "td"),
    ("lessThanOrEqual", "td"),
    ("exists", "d"),
    ("notExists", "d"),
    ("within", "td"),
    ("olderThan", "td"),
    ("triggered", "v"),
    ("notTriggered", "v"),
    ("triggeredWithin", "v"),
    ("triggeredOlderThan", "v"),
    ("notTriggeredWithin", "v"),
    ("memberOfSegment", "g"),
    ("notMemberOfSegment", "g"),
];

#[test]
fn each_operator_is_taken_by_its_fields_alone() {
    let segment = format!("segment.{SEGMENT}");
    let fields = [
        ('e', "email"),
        ('s', "subscribed"),
        ('t', "createdAt"),
        ('t', "updatedAt"),
        ('d', "data.plan"),
        ('d', "data.address.city"),
        ('v', "event.signup"),
        ('v', "email.opened"),
        ('g', segment.as_str()),
    ];
    for (operator, kinds) in OPERATORS {
        for (kind, field) in fields {
            let value = match (kind, operator) {
                (_, "within" | "olderThan") | ('v', _) => json!(3),
                _ => json!("2025-03-01"),
            };
            let json = timed(field, operator, value, "days");
            if kinds.contains(kind) {
                condition(json);
            } else {
                assert_eq!(of_filter(json), [("operator".into(), "custom")], "{operator} on {field}");
            }
        }
    }
}

#[test]
fn conditions_are_typed() {
    let data = |path: &str, test| Condition::Data { path: DataPath::new(path), test };
    let day = Duration::from_hours(24);
    for (json, expected) in [
        (filter("email", "equals", json!(" Ada@Bücher.example ")), {
            Condition::Email(TextTest::Equals("ada@xn--bcher-kva.example".into()))
        }),
        (
            filter("email", "notEquals", json!("NOBODY")),
            Condition::Email(TextTest::NotEquals("nobody".into())),
        ),
        (filter("email", "contains", json!("@Example")), {
            Condition::Email(TextTest::Contains("@example".into()))
        }),
        (filter("subscribed", "equals", json!(true)), Condition::Subscribed(true)),
        (filter("subscribed", "equals", json!("true")), Condition::Subscribed(false)),
        (filter("subscribed", "notEquals", json!(true)), Condition::Subscribed(false)),
        (filter("subscribed", "notEquals", json!(0)), Condition::Subscribed(true)),
        (filter("createdAt", "equals", json!("1970-01-02T10:00:00")), {
            Condition::Time { field: TimeField::CreatedAt, test: TimeTest::OnDay(Timestamp(86_400_000)) }
        }),
        (filter("updatedAt", "lessThan", json!("1970-01-01T01:00:00+01:00")), {
            let test = TimeTest::Compare(Comparison::Less, Timestamp(0));
            Condition::Time { field: TimeField::UpdatedAt, test }
        }),
        (filter("createdAt", "greaterThanOrEqual", json!(-1.5)), {
            let test = TimeTest::Compare(Comparison::GreaterOrEqual, Timestamp(-2));
            Condition::Time { field: TimeField::CreatedAt, test }
        }),
        (timed("createdAt", "within", json!(1.5), "hours"), {
            Condition::Time { field: TimeField::CreatedAt, test: TimeTest::Within(Duration::from_mins(90)) }
        }),
        (filter("data.a.b", "equals", json!(5)), {
            data("a.b", DataTest::Equals(Operand::Ordered(Ordered::Number(5.0))))
        }),
        (filter("data.a", "equals", json!(false)), data("a", DataTest::Equals(Operand::Bool(false)))),
        (filter("data.a", "equals", json!("")), {
            data("a", DataTest::Equals(Operand::Ordered(Ordered::Text(String::new()))))
        }),
        (filter("data.a", "greaterThan", json!("2025-03-01T10:00:00Z")), {
            let moment = Moment::parse("2025-03-01T10:00:00").unwrap();
            data("a", DataTest::Compare(Comparison::Greater, Ordered::Date(moment)))
        }),
        (filter("data.a", "notEquals", json!("2025-02-30")), {
            data("a", DataTest::NotEquals(Operand::Ordered(Ordered::Text("2025-02-30".into()))))
        }),
        (filter("data.a", "exists", json!({ "ignored": true })), data("a", DataTest::Exists)),
        (timed("data.a", "olderThan", json!(1e300), "days"), {
            data("a", DataTest::OlderThan(Duration::from_millis(i64::MAX as u64)))
        }),
        (timed("event.a.b", "triggeredWithin", json!(1), "days"), {
            Condition::Event { name: "a.b".into(), test: EventTest::Within(day) }
        }),
        (timed("email.clicked", "notTriggeredWithin", json!(1440), "minutes"), {
            Condition::Activity { kind: Activity::Clicked, test: EventTest::NotWithin(day) }
        }),
        (filter("signup", "triggered", Value::Null), {
            Condition::Event { name: "signup".into(), test: EventTest::Triggered }
        }),
        (filter("email.open", "notTriggered", Value::Null), {
            Condition::Event { name: "email.open".into(), test: EventTest::NotTriggered }
        }),
        (filter("segment.vip.entry", "triggered", Value::Null), {
            Condition::Event { name: "segment.vip.entry".into(), test: EventTest::Triggered }
        }),
        (filter(&format!("segment.{SEGMENT}"), "notMemberOfSegment", Value::Null), {
            Condition::Segment { id: SEGMENT.parse().unwrap(), member: false }
        }),
    ] {
        assert_eq!(condition(json.clone()), expected, "{json}");
    }
}

#[test]
fn every_mistake_in_a_filter_is_named() {
    let long = "x".repeat(1001);
    let deep = format!("data.{}", ["a"; 33].join("."));
    let event = |length| format!("event.{}", "e".repeat(length));
    let invalid = "invalid_type";
    for (json, expected) in [
        (json!([]), vec![("", invalid)]),
        (json!({}), vec![("operator", invalid), ("field", invalid)]),
        (json!({ "field": 1, "operator": null }), vec![("operator", invalid), ("field", invalid)]),
        (
            filter("plan", "is", json!(1)),
            vec![("operator", "invalid_enum_value"), ("field", "invalid_enum_value")],
        ),
        (filter("plan", "equals", json!(1)), vec![("field", "invalid_enum_value")]),
        (filter("Email", "equals", json!("a")), vec![("field", "invalid_enum_value")]),
        (filter("segment.vip", "memberOfSegment", json!(null)), vec![("field", "invalid_enum_value")]),
        (filter("email.read", "equals", json!("a")), vec![("field", "invalid_enum_value")]),
        (filter("data", "exists", json!(null)), vec![("field", "invalid_enum_value")]),
        (filter("data.", "exists", json!(null)), vec![("field", "too_small")]),
        (filter(&deep, "exists", json!(null)), vec![("field", "too_big")]),
        (filter(&format!("data.{long}"), "exists", json!(null)), vec![("field", "too_big")]),
        (filter("data.a\0", "exists", json!(null)), vec![("field", "invalid_string")]),
        (filter("event.", "triggered", json!(null)), vec![("field", "too_small")]),
        (filter("", "triggered", json!(null)), vec![("field", "too_small")]),
        (filter(&event(256), "triggered", json!(null)), vec![("field", "too_big")]),
        // values
        (filter("email", "equals", json!(null)), vec![("value", invalid)]),
        (filter("email", "equals", json!(5)), vec![("value", invalid)]),
        (filter("email", "contains", json!(true)), vec![("value", invalid)]),
        (filter("subscribed", "equals", json!(null)), vec![("value", invalid)]),
        (filter("createdAt", "equals", json!(true)), vec![("value", invalid)]),
        (filter("createdAt", "equals", json!("soon")), vec![("value", "invalid_date")]),
        (filter("createdAt", "lessThan", json!("2025-02-30")), vec![("value", "invalid_date")]),
        (filter("createdAt", "lessThan", json!(9e15)), vec![("value", "invalid_date")]),
        (json!({ "field": "data.a", "operator": "equals" }), vec![("value", invalid)]),
        (filter("data.a", "equals", json!([1])), vec![("value", invalid)]),
        (filter("data.a", "notEquals", json!({})), vec![("value", invalid)]),
        (filter("data.a", "contains", json!(5)), vec![("value", invalid)]),
        (filter("data.a", "greaterThan", json!(true)), vec![("value", invalid)]),
        (filter("data.a", "greaterThan", json!(null)), vec![("value", invalid)]),
        (filter("data.a", "equals", json!(long)), vec![("value", "too_big")]),
        (filter("data.a", "contains", json!("a\0")), vec![("value", "invalid_string")]),
        // times
        (filter("createdAt", "within", json!(5)), vec![("unit", invalid)]),
        (filter("data.a", "olderThan", json!(null)), vec![("unit", invalid), ("value", invalid)]),
        (filter("event.a", "triggeredWithin", json!("5")), vec![("unit", invalid), ("value", invalid)]),
        (timed("data.a", "within", json!(-1), "days"), vec![("value", "too_small")]),
        (timed("data.a", "within", json!(1), "weeks"), vec![("unit", "invalid_enum_value")]),
        (timed("event.a", "triggeredOlderThan", json!(1), "day"), vec![("unit", "invalid_enum_value")]),
        (json!({ "field": "email.sent", "operator": "notTriggeredWithin", "value": 1, "unit": 5 }), {
            vec![("unit", invalid)]
        }),
    ] {
        let expected: Vec<_> = expected.into_iter().map(|(field, code)| (field.to_owned(), code)).collect();
        assert_eq!(of_filter(json.clone()), expected, "{json}");
    }
    condition(filter("data.a", "equals", json!("é".repeat(1000))));
    condition(filter(&event(255), "triggered", json!(null)));
    condition(filter(&format!("event.{}", "名".repeat(255)), "triggered", json!(null)));
}

#[test]
fn missing_and_wrong_values_tell_what_was_received() {
    let given = tree(&[filter("data.a", "equals", json!(null)), filter("data.a", "equals", json!([]))]);
    let found = Filter::parse(&given).unwrap_err();
    let received: Vec<_> = found.iter().map(|issue| issue.received.as_deref()).collect();
    assert_eq!(received, [Some("undefined"), Some("array")]);
    assert_eq!(found[0].message, "equals needs a value.");
}

#[test]
fn every_mistake_in_the_shape_is_named() {
    let good = filter("data.a", "exists", json!(null));
    for (json, expected) in [
        (json!(null), vec![("", "invalid_type")]),
        (json!({}), vec![("logic", "invalid_type"), ("groups", "invalid_type")]),
        (
            json!({ "logic": "and", "groups": {} }),
            vec![("logic", "invalid_enum_value"), ("groups", "invalid_type")],
        ),
        (json!({ "logic": "AND", "groups": [] }), vec![("groups", "too_small")]),
        (json!({ "logic": "AND", "groups": [5] }), vec![("groups.0", "invalid_type")]),
        (json!({ "logic": "AND", "groups": [{}] }), vec![("groups.0.filters", "invalid_type")]),
        (json!({ "logic": "AND", "groups": [{ "filters": [] }] }), vec![("groups.0.filters", "too_small")]),
        (json!({ "logic": "AND", "groups": [{ "filters": [], "conditions": null }] }), {
            vec![("groups.0.filters", "too_small")]
        }),
        (json!({ "logic": "AND", "groups": [{ "filters": [good], "conditions": [] }] }), {
            vec![("groups.0.conditions", "invalid_type")]
        }),
        (
            json!({ "logic": "OR", "groups": [
            { "filters": [5, good, { "field": "x", "operator": "exists" }] },
            { "filters": [], "conditions": { "logic": "OR", "groups": [{ "filters": [{}] }] } },
        ] }),
            vec![
                ("groups.0.filters.0", "invalid_type"),
                ("groups.0.filters.2.field", "invalid_enum_value"),
                ("groups.1.conditions.groups.0.filters.0.operator", "invalid_type"),
                ("groups.1.conditions.groups.0.filters.0.field", "invalid_type"),
            ],
        ),
    ] {
        let expected: Vec<_> = expected.into_iter().map(|(field, code)| (field.to_owned(), code)).collect();
        assert_eq!(issues(&json), expected, "{json}");
    }
    parse(&json!({ "logic": "AND", "groups": [{ "filters": [], "conditions": tree(&[good]) }] }));
}

/// A tree that is `depth` levels deep and has so many filters in the innermost.
fn nested(depth: usize, filters: usize) -> Value {
    let good = filter("data.a", "exists", json!(null));
    (1..depth).fold(
        tree(&vec![good; filters]),
        |inner, _| json!({ "logic": "AND", "groups": [{ "filters": [], "conditions": inner }] }),
    )
}

#[test]
fn size_and_depth_are_bounded() {
    parse(&nested(10, 200));
    let too_deep = ["groups.0.conditions"; 10].join(".");
    assert_eq!(issues(&nested(11, 1)), [(too_deep, "too_big")]);
    assert_eq!(issues(&nested(1, 201)), [("groups.0.filters".to_owned(), "too_big")]);
    let group = |filters| nested(1, filters)["groups"][0].take();
    let two = json!({ "logic": "OR", "groups": [group(0), group(150), group(51)] });
    let found = issues(&two);
    assert_eq!(
        found,
        [("groups.0.filters".to_owned(), "too_small"), ("groups.2.filters".to_owned(), "too_big")]
    );
}

#[test]
fn the_number_of_issues_is_bounded() {
    let many = tree(&vec![json!({}); 200]);
    assert_eq!(issues(&many).len(), 100);
    let groups = json!({ "logic": "AND", "groups": vec![json!(1); 5000] });
    assert_eq!(issues(&groups).len(), 100);
}

#[test]
fn references_and_windows_are_found_in_nested_trees_too() {
    let inner = tree(&[
        timed("event.signup", "triggeredWithin", json!(2), "days"),
        timed("email.opened", "triggeredOlderThan", json!(1), "hours"),
        filter(&format!("segment.{SEGMENT}"), "memberOfSegment", json!(null)),
        timed("data.a.b", "within", json!(1), "minutes"),
        timed("updatedAt", "olderThan", json!(1), "minutes"),
    ]);
    let json = json!({ "logic": "OR", "groups": [
        { "filters": [
            filter("email", "contains", json!("a")),
            filter("subscribed", "equals", json!(true)),
            filter("event.signup", "triggered", json!(null)),
            timed("data.a.b", "olderThan", json!(1), "minutes"),
            timed("createdAt", "within", json!(7), "days"),
            filter("data.x", "equals", json!("2025-03-01")),
        ], "conditions": inner },
    ] });
    let tree = parse(&json);
    let references = tree.references();
    let fields = ["createdAt", "data.a.b", "data.x", "email", "subscribed", "updatedAt"];
    assert_eq!(references.fields, fields.map(str::to_owned).into());
    assert_eq!(references.events, ["signup".to_owned()].into());
    assert_eq!(references.activities, [Activity::Opened].into());
    assert_eq!(references.segments, BTreeSet::from([SEGMENT.parse::<SegmentId>().unwrap()]));
    let window = |source, length| Window { source, length };
    assert_eq!(
        tree.windows(),
        [
            window(WindowSource::CreatedAt, Duration::from_hours(7 * 24)),
            window(WindowSource::UpdatedAt, Duration::from_mins(1)),
            window(WindowSource::Data(DataPath::new("a.b")), Duration::from_mins(1)),
            window(WindowSource::Event("signup".into()), Duration::from_hours(48)),
            window(WindowSource::Activity(Activity::Opened), Duration::from_hours(1)),
        ]
    );
}

/// PostgreSQL stores no NUL, and a filter is stored with what is not looked at.
#[test]
fn no_part_of_a_filter_holds_a_nul() {
    let good = filter("subscribed", "equals", json!(true));
    for (name, value) in [
        ("note", json!("a\0b")),
        ("no\0te", json!(1)),
        ("note", json!([{ "deep": [{ "a\0": null }] }])),
        ("value", json!("\0")),
        ("unit", json!("\0")),
    ] {
        let mut bad = good.clone();
        bad[name] = value;
        assert_eq!(issues(&tree(&[bad])), [(String::new(), "invalid_string")], "{name:?}");
    }
    let mut with_note = good;
    with_note["note"] = json!("a b");
    parse(&tree(&[with_note]));
}
