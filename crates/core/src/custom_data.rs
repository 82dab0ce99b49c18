//! The nine rules for `data` (contract, Custom data rules).

use serde_json::{Map, Value};

use crate::excess::Excess;
use crate::issue::Issue;
use crate::time::Timestamp;

/// A JSON object of custom fields.
pub type Data = Map<String, Value>;

/// Keys that no `data` payload can set (rule 6).
pub const RESERVED_KEYS: [&str; 7] =
    ["id", "svc_id", "svc_email", "email", "unsubscribeUrl", "subscribeUrl", "manageUrl"];
/// The longest key of a custom field, in bytes.
pub const MAX_KEY: usize = 1000;
/// The largest `data` payload, in bytes of JSON.
pub const MAX_PAYLOAD: usize = 256 * 1024;
/// The most keys of a `data` payload.
pub const MAX_KEYS: usize = 500;
/// The most custom fields of a contact.
pub const MAX_CONTACT_KEYS: usize = 1000;
/// The largest data of a contact, in bytes of JSON: as much as one payload can bring.
pub const MAX_CONTACT_BYTES: usize = MAX_PAYLOAD;
/// The most custom fields of a project.
pub const MAX_FIELDS: usize = 1000;
/// How many of them there may be for the public key, which everybody can read, to add another.
pub const MAX_PUBLIC_FIELDS: usize = MAX_FIELDS / 2;
const MAX_DEPTH: usize = 32;
/// How many issues of one payload are reported.
const MAX_ISSUES: usize = 100;

/// The type of a custom field, inferred from the first non-null value seen in a project (rule 8).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldType {
    /// A JSON number.
    Number,
    /// A JSON boolean.
    Boolean,
    /// `YYYY-MM-DD`, or `YYYY-MM-DDTHH:MM:SS[.sss]Z`.
    Date,
    /// Anything else.
    String,
}

impl FieldType {
    /// The name the contract shows.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Date => "date",
            Self::String => "string",
        }
    }

    /// The type whose name is `text`.
    pub fn from_name(text: &str) -> Option<Self> {
        [Self::Number, Self::Boolean, Self::Date, Self::String].into_iter().find(|t| t.as_str() == text)
    }

    /// The type of a value.
    pub fn infer(value: &Value) -> Self {
        match value {
            Value::Number(_) => Self::Number,
            Value::Bool(_) => Self::Boolean,
            Value::String(text) if is_date(text) => Self::Date,
            _ => Self::String,
        }
    }
}

/// `YYYY-MM-DD`, optionally with `THH:MM:SS`, milliseconds and `Z`, and a date that exists.
fn is_date(text: &str) -> bool {
    if !text.is_ascii() {
        return false;
    }
    let bytes = text.as_bytes();
    let shape = match bytes.len() {
        10 => true,
        19..=24 => {
            bytes[10] == b'T' && {
                let rest = text[19..].strip_suffix('Z').unwrap_or(&text[19..]);
                rest.is_empty() || (rest.len() == 4 && rest.starts_with('.') && digits(&rest[1..]))
            }
        }
        _ => false,
    };
    if !shape {
        return false;
    }
    if bytes.len() == 10 {
        Timestamp::parse(text).is_some() && bytes[4] == b'-' && bytes[7] == b'-'
    } else {
        let zoned = if text.ends_with('Z') { text.to_owned() } else { format!("{text}Z") };
        Timestamp::parse(&zoned).is_some()
    }
}

fn digits(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit())
}

/// A request's `data`, taken apart: what to store, and what is for this request only.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DataPatch {
    /// Keys to set on the contact; null deletes.
    pub stored: Data,
    /// Keys for rendering: every value sent, unwrapped, nulls included. They shadow what is stored. Empty strings are
    /// no values here either, wrapped or not (rule 4).
    pub request: Data,
}

impl DataPatch {
    /// Takes a payload apart under rules 2 to 6.
    pub fn new(payload: Data) -> Self {
        let mut patch = Self::default();
        for (key, value) in payload {
            if RESERVED_KEYS.contains(&key.as_str()) {
                continue;
            }
            let (value, is_stored) = match one_off(value) {
                Ok(value) => (value, false),
                Err(value) => (value, true),
            };
            if value.as_str() == Some("") {
                continue;
            }
            if is_stored {
                patch.stored.insert(key.clone(), value.clone());
            }
            patch.request.insert(key, value);
        }
        patch
    }

    /// The names that the patch sets.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.stored.iter().filter(|(_, value)| !value.is_null()).map(|(key, _)| key.as_str())
    }

    /// Whether a contact can hold its data once the patch was applied to it. What is too large already may become
    /// smaller, so that there is a way out.
    pub fn fits(&self, data: &Data) -> Result<(), Excess> {
        if self.names().next().is_none() {
            return Ok(());
        }
        let before = (data.len(), size(data));
        let (mut keys, mut bytes) = before;
        for (key, value) in &self.stored {
            if let Some(replaced) = data.get(key) {
                keys -= 1;
                bytes -= entry_size(key, replaced);
            }
            if !value.is_null() {
                keys += 1;
                bytes += entry_size(key, value);
            }
        }
        if keys > MAX_CONTACT_KEYS.max(before.0) {
            return Err(Excess::Keys);
        }
        if bytes > MAX_CONTACT_BYTES.max(before.1) {
            return Err(Excess::Bytes);
        }
        Ok(())
    }

    /// Applies the stored part to a contact's data (rules 1 and 3). Returns whether anything changed.
    pub fn apply(&self, data: &mut Data) -> bool {
        let mut changed = false;
        for (key, value) in &self.stored {
            changed |= match value {
                Value::Null => data.remove(key).is_some(),
                value if data.get(key) == Some(value) => false,
                value => {
                    data.insert(key.clone(), value.clone());
                    true
                }
            };
        }
        changed
    }
}

/// Rule 5: the inner value of `{ value, persistent: false }`, or the value as it came.
fn one_off(mut value: Value) -> Result<Value, Value> {
    match value.as_object_mut() {
        Some(object)
            if object.get("persistent") == Some(&Value::Bool(false)) && object.contains_key("value") =>
        {
            Ok(object["value"].take())
        }
        _ => Err(value),
    }
}

/// Bytes of data as JSON, nearly: what the limits count.
pub fn size(data: &Data) -> usize {
    data.iter().map(|(key, value)| entry_size(key, value)).sum()
}

/// Bytes of one key and its value as JSON, nearly.
fn entry_size(key: &str, value: &Value) -> usize {
    key.len() + 4 + value_size(value)
}

/// Bytes of a value as JSON, nearly: what the limits count.
pub fn value_size(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 2,
        Value::Array(items) => 2 + items.iter().map(value_size).sum::<usize>(),
        Value::Object(object) => 2 + size(object),
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
    }
}

/// Checks a payload before it is used: number and length of keys, nesting, size, NUL characters (which PostgreSQL
/// cannot store) and the type of `locale` is left to the caller. Paths start at `field`.
pub fn check(data: &Data, field: &str) -> Vec<Issue> {
    let mut issues = Vec::new();
    if data.len() > MAX_KEYS {
        issues.push(Issue::new(field, "too_big", format!("Must have at most {MAX_KEYS} keys.")));
    }
    for (key, value) in data {
        if issues.len() >= MAX_ISSUES {
            break;
        }
        let path = format!("{field}.{key}");
        if key.is_empty() || key.len() > MAX_KEY {
            issues.push(Issue::new(&path, "too_big", format!("A key has 1 to {MAX_KEY} bytes.")));
        }
        if key.contains('\0') {
            issues.push(Issue::new(field, "invalid_string", "A key must not contain the NUL character."));
        }
        if let Err(issue) = check_value(value, &path, 1) {
            issues.push(issue);
        }
    }
    if size(data) > MAX_PAYLOAD {
        issues.push(Issue::new(field, "too_big", format!("Must be at most {MAX_PAYLOAD} bytes of JSON.")));
    }
    issues
}

fn check_value(value: &Value, path: &str, depth: usize) -> Result<(), Issue> {
    if depth > MAX_DEPTH {
        return Err(Issue::new(path, "too_big", format!("Must be nested at most {MAX_DEPTH} levels deep.")));
    }
    match value {
        Value::String(text) => {
            if text.contains('\0') {
                return Err(Issue::new(path, "invalid_string", "Must not contain the NUL character."));
            }
        }
        Value::Array(items) => {
            for item in items {
                check_value(item, path, depth + 1)?;
            }
        }
        Value::Object(object) => {
            for (key, item) in object {
                if key.contains('\0') {
                    return Err(Issue::new(path, "invalid_string", "Must not contain the NUL character."));
                }
                check_value(item, path, depth + 1)?;
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

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
        assert_eq!(
            applied(json!({"a": 1, "b": "x"}), json!({"a": null, "b": "", "c": null})),
            json!({"b": "x"})
        );
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
}
