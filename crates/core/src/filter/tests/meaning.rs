//! What conditions mean: every row of the table of semantics, in memory. The database is held to the same by
//! `store/tests/it/filter/`.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::person::{DAY, HOUR, NOW, holds, of, person};
use super::{filter, parse, timed, tree};
use crate::filter::Resolved;
use crate::ids::SegmentId;
use crate::time::Timestamp;

#[test]
fn equality_is_strict_about_types() {
    for (stored, operand, equal) in [
        (json!("5"), json!("5"), true),
        (json!("5"), json!(5), false),
        (json!(5), json!(5), true),
        (json!(5), json!(5.0), true),
        (json!(-0.0), json!(0), true),
        (json!(5), json!("5"), false),
        (json!(true), json!(true), true),
        (json!(true), json!("true"), false),
        (json!("true"), json!(true), false),
        (json!(1), json!(true), false),
        (json!(true), json!(1), false),
        (json!(false), json!(0), false),
        (json!("Pro"), json!("pro"), false),
        (json!("pro"), json!("pro"), true),
        (json!(""), json!(""), true),
        (json!("é"), json!("e\u{301}"), false),
        (json!(["pro"]), json!("pro"), false),
        (json!({ "a": 1 }), json!("{\"a\":1}"), false),
    ] {
        assert_eq!(of(stored.clone(), "equals", operand.clone()), equal, "{stored} equals {operand}");
        assert_eq!(of(stored.clone(), "notEquals", operand.clone()), !equal, "{stored} notEquals {operand}");
    }
}

#[test]
fn what_is_missing_or_null_matches_nothing_but_not_exists() {
    for data in [json!({}), json!({ "x": null }), json!({ "y": 1 }), json!({ "x": null, "y": { "x": 1 } })] {
        let person = person(data.clone());
        for (operator, operand) in [
            ("equals", json!("a")),
            ("notEquals", json!("a")),
            ("notEquals", json!(1)),
            ("notEquals", json!(true)),
            ("notEquals", json!("2025-03-01")),
            ("contains", json!("")),
            ("notContains", json!("a")),
            ("greaterThan", json!(-1)),
            ("lessThan", json!("z")),
            ("greaterThanOrEqual", json!(0)),
            ("lessThanOrEqual", json!(0)),
            ("within", json!(1e9)),
            ("olderThan", json!(0)),
            ("exists", json!(null)),
        ] {
            let json = timed("data.x", operator, operand, "days");
            assert!(!holds(&person, json), "{operator} on {data}");
        }
        assert!(holds(&person, filter("data.x", "notExists", json!(null))), "{data}");
    }
}

#[test]
fn what_is_there_exists_whatever_it_is() {
    for value in [json!(""), json!(0), json!(false), json!([]), json!({}), json!("a")] {
        assert!(of(value.clone(), "exists", json!(null)), "{value}");
        assert!(!of(value.clone(), "notExists", json!(null)), "{value}");
    }
}

#[test]
fn texts_contain_literally_and_with_case() {
    for (stored, part, contained) in [
        (json!("a Pro plan"), "Pro", true),
        (json!("a Pro plan"), "pro", false),
        (json!("50% off"), "%", true),
        (json!("50 off"), "%", false),
        (json!("a_b"), "_", true),
        (json!("ab"), "a_", false),
        (json!("ab"), "", true),
        (json!(""), "", true),
        (json!("straße"), "ß", true),
    ] {
        assert_eq!(of(stored.clone(), "contains", json!(part)), contained, "{stored} contains {part}");
        assert_eq!(of(stored.clone(), "notContains", json!(part)), !contained, "{stored} notContains {part}");
    }
    for other in [json!(5), json!(true), json!(["5"]), json!({ "5": 5 })] {
        assert!(!of(other.clone(), "contains", json!("5")), "{other}");
        assert!(!of(other.clone(), "notContains", json!("x")), "{other}");
    }
}

#[test]
fn comparisons_are_among_values_of_one_type() {
    let all = ["greaterThan", "greaterThanOrEqual", "lessThan", "lessThanOrEqual"];
    for (stored, operand, expected) in [
        (json!(6), json!(5), "yynn"),
        (json!(5), json!(5), "nyny"),
        (json!(5.0), json!(5), "nyny"),
        (json!(4.999), json!(5), "nnyy"),
        (json!(10), json!(9), "yynn"),
        (json!("10"), json!("9"), "nnyy"),
        (json!("b"), json!("a"), "yynn"),
        (json!("a"), json!("a"), "nyny"),
        (json!("Z"), json!("a"), "nnyy"),
        (json!("6"), json!(5), "nnnn"),
        (json!(6), json!("5"), "nnnn"),
        (json!(true), json!(0), "nnnn"),
        (json!([9]), json!(1), "nnnn"),
        (json!({ "a": 1 }), json!("a"), "nnnn"),
        // dates, in all their forms
        (json!("2025-03-01"), json!("2025-03-01T00:00:00.000Z"), "nyny"),
        (json!("2025-03-01T00:00:00Z"), json!("2025-03-01"), "nyny"),
        (json!("2025-03-01T00:00:00.001"), json!("2025-03-01T00:00:00Z"), "yynn"),
        (json!("2025-03-01T10:00:00Z"), json!("2025-03-01T10:00:00.500Z"), "nnyy"),
        (json!("2025-02-28"), json!("2025-03-01"), "nnyy"),
        (json!("soon"), json!("2025-03-01"), "nnnn"),
        (json!("2025-03-02T00:00:00+02:00"), json!("2025-03-01"), "nnnn"),
    ] {
        let found = all.map(|operator| of(stored.clone(), operator, operand.clone()));
        let found: String = found.into_iter().map(|holds| if holds { 'y' } else { 'n' }).collect();
        assert_eq!(found, expected, "{stored} to {operand}");
    }
}

#[test]
fn dates_are_equal_by_their_day() {
    for (stored, operand, equal) in [
        (json!("2025-03-01"), "2025-03-01", true),
        (json!("2025-03-01T00:00:00.000Z"), "2025-03-01", true),
        (json!("2025-03-01T23:59:59.999Z"), "2025-03-01", true),
        (json!("2025-03-01T23:59:59"), "2025-03-01T08:00:00Z", true),
        (json!("2025-03-01"), "2025-03-01T08:00:00.123Z", true),
        (json!("2025-03-02"), "2025-03-01", false),
        (json!("2025-03-02T00:00:00Z"), "2025-03-01", false),
        (json!("2025-02-28T23:59:59.999Z"), "2025-03-01", false),
        (json!("2025-03-01 is the day"), "2025-03-01", false),
        (json!("soon"), "2025-03-01", false),
        (json!("2025-03-01x"), "2025-03-01x", true),
        (json!(20_250_301), "2025-03-01", false),
    ] {
        assert_eq!(of(stored.clone(), "equals", json!(operand)), equal, "{stored} equals {operand}");
        assert_eq!(of(stored.clone(), "notEquals", json!(operand)), !equal, "{stored} notEquals {operand}");
    }
}

#[test]
fn dates_lie_within_a_time_or_before_it() {
    for (stored, within, older) in [
        ("2025-03-08T12:00:00.000Z", true, false),
        ("2025-03-08T11:59:59.999Z", false, true),
        ("2025-03-08T12:00:00", true, false),
        ("2025-03-08T11:59:59Z", false, true),
        ("2025-03-08", false, true),
        ("2025-03-09", true, false),
        ("2031-01-01", true, false),
        ("03/09/2025", false, false),
        ("2025-03-09T12:00:00+00:00", false, false),
    ] {
        assert_eq!(of(json!(stored), "within", json!(2)), within, "{stored} within 2 days");
        assert_eq!(of(json!(stored), "olderThan", json!(2)), older, "{stored} older than 2 days");
    }
    for other in [json!(1_741_608_000_000_i64), json!(true), json!(["2025-03-09"])] {
        assert!(!of(other.clone(), "within", json!(2)) && !of(other, "olderThan", json!(2)));
    }
}

#[test]
fn paths_lead_through_objects_and_keys_with_dots_go_first() {
    for (data, path, found) in [
        (json!({ "a": { "b": "yes" } }), "a.b", true),
        (json!({ "a.b": "yes" }), "a.b", true),
        (json!({ "a.b": "yes", "a": { "b": "no" } }), "a.b", true),
        (json!({ "a.b": "no", "a": { "b": "yes" } }), "a.b", false),
        (json!({ "a.b": null, "a": { "b": "yes" } }), "a.b", false),
        (json!({ "a": { "b.c": "yes" } }), "a.b.c", false),
        (json!({ "a": ["yes"] }), "a.0", false),
        (json!({ "a": { "0": "yes" } }), "a.0", true),
        (json!({ "a": "yes" }), "a.b", false),
        (json!({ "it's \"odd\" \\ %": "yes" }), "it's \"odd\" \\ %", true),
        (json!({ "": "yes", "a": { "": "yes" } }), "a.", true),
    ] {
        let json = filter(&format!("data.{path}"), "equals", json!("yes"));
        assert_eq!(holds(&person(data.clone()), json), found, "{path} of {data}");
    }
}

#[test]
fn addresses_are_compared_without_case() {
    let ada = person(json!({}));
    for (operator, value, expected) in [
        ("equals", "ADA.l_%@Example.com", true),
        ("equals", "ada", false),
        ("notEquals", "ADA.l_%@example.com", false),
        ("notEquals", "ada", true),
        ("contains", "@EXAMPLE", true),
        ("contains", "l_%", true),
        ("contains", "a_a", false),
        ("notContains", "@EXAMPLE", false),
        ("notContains", "%%", true),
    ] {
        assert_eq!(holds(&ada, filter("email", operator, json!(value))), expected, "{operator} {value}");
    }
}

#[test]
fn only_true_means_subscribed() {
    let mut ada = person(json!({}));
    for subscribed in [true, false] {
        ada.contact.subscribed = subscribed;
        for (value, means) in
            [(json!(true), true), (json!(false), false), (json!("true"), false), (json!(1), false)]
        {
            assert_eq!(holds(&ada, filter("subscribed", "equals", value.clone())), subscribed == means);
            assert_eq!(holds(&ada, filter("subscribed", "notEquals", value)), subscribed != means);
        }
    }
}

#[test]
fn times_of_contacts() {
    let mut ada = person(json!({}));
    let midnight = Timestamp(NOW.0 - DAY / 2);
    for (time, operator, value, expected) in [
        (midnight, "equals", json!("2025-03-10"), true),
        (Timestamp(midnight.0 + DAY - 1), "equals", json!("2025-03-10"), true),
        (Timestamp(midnight.0 + DAY), "equals", json!("2025-03-10"), false),
        (Timestamp(midnight.0 - 1), "equals", json!("2025-03-10"), false),
        (midnight, "equals", json!("2025-03-10T18:00:00Z"), true),
        (midnight, "equals", json!(NOW.0), true),
        (Timestamp(midnight.0 - 1), "notEquals", json!("2025-03-10"), true),
        (midnight, "notEquals", json!("2025-03-10"), false),
        (midnight, "greaterThan", json!("2025-03-10"), false),
        (midnight, "greaterThanOrEqual", json!("2025-03-10"), true),
        (midnight, "lessThan", json!("2025-03-10"), false),
        (midnight, "lessThanOrEqual", json!("2025-03-10"), true),
        (midnight, "lessThan", json!("2025-03-10T02:00:00+01:00"), true),
        (NOW, "greaterThan", json!(NOW.0 - 1), true),
        (NOW, "greaterThan", json!(NOW.0), false),
        (Timestamp(NOW.0 - 2 * DAY), "within", json!(2), true),
        (Timestamp(NOW.0 - 2 * DAY - 1), "within", json!(2), false),
        (Timestamp(NOW.0 + DAY), "within", json!(0), true),
        (Timestamp(NOW.0 - 2 * DAY), "olderThan", json!(2), false),
        (Timestamp(NOW.0 - 2 * DAY - 1), "olderThan", json!(2), true),
    ] {
        ada.contact.created_at = time;
        let json = timed("createdAt", operator, value.clone(), "days");
        assert_eq!(holds(&ada, json), expected, "{time} {operator} {value}");
        (ada.contact.created_at, ada.contact.updated_at) = (NOW, time);
        let json = timed("updatedAt", operator, value.clone(), "days");
        assert_eq!(holds(&ada, json), expected, "{time} {operator} {value}");
    }
}

#[test]
fn events_and_activities_are_judged_by_the_last() {
    let operators =
        ["triggered", "notTriggered", "triggeredWithin", "triggeredOlderThan", "notTriggeredWithin"];
    for (last, expected) in [
        (None, "nynny"),
        (Some(NOW.0), "ynynn"),
        (Some(NOW.0 - 2 * HOUR), "ynynn"),
        (Some(NOW.0 - 2 * HOUR - 1), "ynnyy"),
        (Some(NOW.0 + DAY), "ynynn"),
    ] {
        let mut ada = person(json!({}));
        ada.opened = last.map(Timestamp);
        ada.events.extend(last.map(|at| ("a.b", Timestamp(at))));
        ada.events.insert("other", NOW);
        for field in ["event.a.b", "a.b", "email.opened"] {
            let found = operators.map(|operator| holds(&ada, timed(field, operator, json!(2), "hours")));
            let found: String = found.into_iter().map(|holds| if holds { 'y' } else { 'n' }).collect();
            assert_eq!(found, expected, "{field} at {last:?}");
        }
    }
}

#[test]
fn units_are_days_hours_and_minutes() {
    let mut ada = person(json!({}));
    for (unit, length) in [("days", DAY), ("hours", HOUR), ("minutes", HOUR / 60)] {
        for (beside, expected) in [(0, true), (1, false)] {
            ada.contact.created_at = Timestamp(NOW.0 - 3 * length / 2 - beside);
            assert_eq!(holds(&ada, timed("createdAt", "within", json!(1.5), unit)), expected, "{unit}");
        }
    }
}

#[test]
fn segments_are_asked_for_and_filters_among_them_evaluated() {
    let [stored, other, vip, all, circle] =
        [1, 2, 3, 4, 5].map(|n| SegmentId::new(Timestamp(n), rand::random()));
    let member = |id: SegmentId| filter(&format!("segment.{id}"), "memberOfSegment", json!(null));
    let stranger = |id: SegmentId| filter(&format!("segment.{id}"), "notMemberOfSegment", json!(null));
    let mut ada = person(json!({ "plan": "vip" }));
    ada.segments.insert(stored);
    assert!(holds(&ada, member(stored)) && !holds(&ada, stranger(stored)));
    assert!(!holds(&ada, member(other)) && holds(&ada, stranger(other)));

    let trees = BTreeMap::from([
        (vip, Arc::new(parse(&tree(&[filter("data.plan", "equals", json!("vip"))])))),
        (all, Arc::new(parse(&tree(&[member(vip), member(stored)])))),
        (circle, Arc::new(parse(&tree(&[member(circle)])))),
    ]);
    let resolved = Resolved::new(&ada, &trees, NOW);
    for (json, expected) in [
        (member(vip), true),
        (member(all), true),
        (stranger(all), false),
        (member(other), false),
        (member(circle), false),
    ] {
        assert_eq!(parse(&tree(std::slice::from_ref(&json))).matches(&resolved, NOW), expected, "{json}");
    }
}

#[test]
fn texts_are_looked_through_up_to_a_limit() {
    let ada = person(json!({ "long": "a".repeat(100), "short": "b" }));
    let has = |field: &str| filter(field, "contains", json!("b"));
    let trees = BTreeMap::new();
    for (conditions, text, expected) in [
        (vec![has("data.long")], 99, (false, true)),
        (vec![filter("data.long", "notContains", json!("b"))], 99, (false, true)),
        (vec![filter("data.long", "notContains", json!("b")), has("data.short")], 100, (false, true)),
        (vec![filter("data.long", "notContains", json!("b")), has("data.short")], 101, (true, false)),
        (vec![filter("data.long", "exists", json!(null)), has("data.number")], 0, (false, false)),
    ] {
        let resolved = Resolved::new(&ada, &trees, NOW).with_text(text);
        let holds = parse(&tree(&conditions)).matches(&resolved, NOW);
        assert_eq!((holds, resolved.is_over()), expected, "{conditions:?} with {text} bytes");
    }
}

#[test]
fn groups_are_combined_as_the_tree_says() {
    let ada = person(json!({ "a": 1 }));
    let yes = filter("data.a", "exists", json!(null));
    let no = filter("data.a", "notExists", json!(null));
    let group = |filters: &[&Value]| json!({ "filters": filters });
    let of = |logic: &str, groups: &[Value]| json!({ "logic": logic, "groups": groups });
    for (json, expected) in [
        (of("AND", &[group(&[&yes, &yes])]), true),
        (of("AND", &[group(&[&yes, &no])]), false),
        (of("OR", &[group(&[&yes, &no])]), false),
        (of("AND", &[group(&[&yes]), group(&[&no])]), false),
        (of("OR", &[group(&[&yes]), group(&[&no])]), true),
        (of("OR", &[group(&[&no]), group(&[&no])]), false),
        (
            of(
                "AND",
                &[json!({ "filters": [yes], "conditions": of("OR", &[group(&[&no]), group(&[&yes])]) })],
            ),
            true,
        ),
        (
            of(
                "AND",
                &[json!({ "filters": [yes], "conditions": of("AND", &[group(&[&no]), group(&[&yes])]) })],
            ),
            false,
        ),
        (of("AND", &[json!({ "filters": [no], "conditions": of("AND", &[group(&[&yes])]) })]), false),
        (of("AND", &[json!({ "filters": [], "conditions": of("AND", &[group(&[&yes])]) })]), true),
    ] {
        assert_eq!(parse(&json).matches(&ada, NOW), expected, "{json}");
    }
}
