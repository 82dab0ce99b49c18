use serde_json::{Value, json};

use super::{Data, DataPatch, FieldType, MAX_ISSUES, MAX_KEYS, MAX_PAYLOAD, check, shortened, size};
use crate::excess::{Excess, MAX_CONTACT_BYTES, MAX_CONTACT_KEYS};

fn object(value: Value) -> Data {
    value.as_object().unwrap().clone()
}

fn applied(before: Value, payload: Value) -> Value {
    let mut data = object(before);
    DataPatch::new(object(payload)).apply(&mut data);
    Value::Object(data)
}

#[test]
fn only_sent_keys_change() {
    assert_eq!(
        applied(json!({"a": 1, "b": {"x": 1}}), json!({"b": {"y": 2}})),
        json!({"a": 1, "b": {"y": 2}})
    );
}

#[test]
fn null_deletes_and_empty_strings_are_ignored() {
    assert_eq!(applied(json!({"a": 1, "b": "x"}), json!({"a": null, "b": "", "c": null})), json!({"b": "x"}));
}

#[test]
fn one_off_values_render_but_are_not_stored() {
    let patch = DataPatch::new(object(
        json!({"code": {"value": 7, "persistent": false}, "p": {"value": 1, "persistent": true}}),
    ));
    assert_eq!(Value::Object(patch.stored.clone()), json!({"p": {"value": 1, "persistent": true}}));
    assert_eq!(patch.request["code"], json!(7));
}

#[test]
fn an_empty_string_shadows_nothing_wrapped_or_not() {
    let patch = DataPatch::new(object(
        json!({"a": "", "b": {"value": "", "persistent": false}, "c": " ", "d": {"x": ""}, "e": null}),
    ));
    assert_eq!(Value::Object(patch.request), json!({"c": " ", "d": {"x": ""}, "e": null}));
}

#[test]
fn reserved_keys_vanish_even_with_null() {
    assert_eq!(
        applied(json!({}), json!({"id": 1, "email": null, "svc_id": "x", "manageUrl": "y", "name": "z"})),
        json!({"name": "z"})
    );
}

#[test]
fn types_are_inferred_as_the_contract_says() {
    for (value, name) in [
        (json!(42), "number"),
        (json!(2.5), "number"),
        (json!(true), "boolean"),
        (json!("2026-01-31"), "date"),
        (json!("2026-01-31T10:00:00Z"), "date"),
        (json!("2026-01-31T10:00:00.123Z"), "date"),
        (json!("2026-02-30"), "string"),
        (json!("01/31/2026"), "string"),
        (json!("2026-01-31 10:00:00"), "string"),
        (json!([1]), "string"),
        (json!({"a": 1}), "string"),
    ] {
        assert_eq!(FieldType::infer(&value).as_str(), name, "{value}");
    }
}

#[test]
fn a_text_of_a_dates_length_that_is_not_ascii_is_no_date() {
    for text in [
        "2026-01-3é",
        "202é-01-31",
        "2026-01-31T10:00:0é",
        "2026-01-31T10:00:é",
        "2026-01-31T10:00:00é",
        "2026-01-31T10:00:00.1é",
        "2026-01-31T10:00:00.é",
        "2026-01-31T10:00:00.é2",
        "2026-01-31T10:00:0éZ",
        "2026-01-31T10:00:0é.123",
        "2026-01-31T10:00:00.1éZ",
        "2026-01-31T10:00:0💥Z",
    ] {
        assert_eq!(FieldType::infer(&json!(text)), FieldType::String, "{text}");
    }
    for length in [10].into_iter().chain(19..=24) {
        for at in 0..length - 1 {
            let text = format!("{}é{}", "2".repeat(at), "T".repeat(length - at - 2));
            assert_eq!(text.len(), length);
            assert_eq!(FieldType::infer(&json!(text)), FieldType::String, "{text}");
        }
    }
}

#[test]
fn the_number_of_keys_is_bounded() {
    let keys =
        |count: usize| -> Data { (0..count).map(|index| (format!("k{index}"), json!(index))).collect() };
    assert_eq!(check(&keys(MAX_KEYS), "data"), []);
    let issues = check(&keys(MAX_KEYS + 1), "data");
    let codes: Vec<_> = issues.iter().map(|i| (i.field.as_str(), i.code)).collect();
    assert_eq!(codes, [("data", "too_big")]);
}

#[test]
fn the_number_of_issues_is_bounded() {
    let data: Data = (0..400).map(|index| (format!("k{index}\0"), json!("\0"))).collect();
    let count = check(&data, "data").len();
    assert!((MAX_ISSUES..=MAX_ISSUES + 3).contains(&count), "{count}");
}

fn patch(payload: Value) -> DataPatch {
    DataPatch::new(object(payload))
}

#[test]
fn a_contact_holds_so_many_keys() {
    let keys = |from: usize, to: usize| -> Data {
        (from..to).map(|index| (format!("k{index}"), json!(index))).collect()
    };
    let full = keys(0, MAX_CONTACT_KEYS);
    assert_eq!(DataPatch::new(full.clone()).fits(&Data::new()), Ok(()));
    assert_eq!(patch(json!({"one more": 1})).fits(&full), Err(Excess::Keys));
    assert_eq!(patch(json!({"one more": null, "k1": "other"})).fits(&full), Ok(()));
    assert_eq!(patch(json!({"one more": 1, "k1": null})).fits(&full), Ok(()));
    // what has too many already may change and shrink
    let over = keys(0, MAX_CONTACT_KEYS + 10);
    assert_eq!(patch(json!({"k1": 2, "k2": null})).fits(&over), Ok(()));
    assert_eq!(patch(json!({"one more": 1})).fits(&over), Err(Excess::Keys));
}

#[test]
fn a_contact_holds_so_many_bytes() {
    let half = "x".repeat(MAX_CONTACT_BYTES / 2);
    let data = object(json!({"a": half}));
    assert_eq!(patch(json!({"b": half})).fits(&data), Err(Excess::Bytes));
    assert_eq!(patch(json!({"b": half, "a": null})).fits(&data), Ok(()));
    assert_eq!(patch(json!({"a": half})).fits(&data), Ok(()));
    let over = object(json!({"a": half, "b": half, "c": "x"}));
    assert_eq!(patch(json!({"c": "xy"})).fits(&over), Err(Excess::Bytes));
    assert_eq!(patch(json!({"a": "x"})).fits(&over), Ok(()));
    // the largest payload is never too much for a new contact
    let largest = object(json!({"a": "x".repeat(MAX_PAYLOAD - 7)}));
    assert_eq!((size(&largest), check(&largest, "data").len()), (MAX_PAYLOAD, 0));
    assert_eq!(DataPatch::new(largest).fits(&Data::new()), Ok(()));
}

#[test]
fn numbers_come_back_as_they_were_sent() {
    for number in ["31.245270191439438", "121.48791951161945", "0.10000000000000001", "1e-7"] {
        let value: Value = serde_json::from_str(number).unwrap();
        let again: f64 = value.to_string().parse().unwrap();
        assert_eq!(again.to_bits(), number.parse::<f64>().unwrap().to_bits(), "{number}");
    }
}

#[test]
fn nul_depth_and_size_are_refused() {
    let mut deep = json!(1);
    for _ in 0..40 {
        deep = json!([deep]);
    }
    let issues = check(&object(json!({"a": "x\0", "b": deep, "c": "y".repeat(MAX_PAYLOAD)})), "data");
    let codes: Vec<_> = issues.iter().map(|i| (i.field.as_str(), i.code)).collect();
    assert_eq!(codes, [("data.a", "invalid_string"), ("data.b", "too_big"), ("data", "too_big")]);
}

#[test]
fn what_is_told_of_a_value_is_bounded() {
    assert_eq!(shortened(&json!("é".repeat(1000))).as_str().unwrap().chars().count(), 501);
    assert_eq!(shortened(&json!(vec![1; 1000])), Value::Null);
    assert_eq!(shortened(&json!([1, 2])), json!([1, 2]));
}
