//! The nine rules for `data` (contract, Custom data rules).

#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

use crate::excess::Excess;
pub use crate::excess::{MAX_CONTACT_BYTES, MAX_CONTACT_KEYS, MAX_FIELDS, MAX_PUBLIC_FIELDS};
use crate::issue::Issue;
use crate::names;
use crate::time::Timestamp;

/// A JSON object of custom fields.
pub type Data = Map<String, Value>;

/// Keys that no `data` payload can set (rule 6).
pub const RESERVED_KEYS: [&str; 7] =
    ["id", "svc_id", "svc_email", "email", "unsubscribeUrl", "subscribeUrl", "manageUrl"];
/// The longest key of a custom field, in bytes.
pub const MAX_KEY: usize = 1000;
/// The largest `data` payload, in bytes of JSON: as much as a contact can hold.
pub const MAX_PAYLOAD: usize = MAX_CONTACT_BYTES;
/// The most keys of a `data` payload.
pub const MAX_KEYS: usize = 500;
const MAX_DEPTH: usize = 32;
/// How many issues of one payload are reported.
const MAX_ISSUES: usize = 100;

names! {
    /// The type of a custom field, inferred from the first non-null value seen in a project (rule 8).
    pub enum FieldType {
        /// A JSON number.
        Number = "number",
        /// A JSON boolean.
        Boolean = "boolean",
        /// `YYYY-MM-DD`, or `YYYY-MM-DDTHH:MM:SS[.sss]Z`.
        Date = "date",
        /// Anything else.
        String = "string",
    }
}

impl FieldType {
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

/// Whether a value has the form `{ value, persistent: false }` (rule 5).
fn is_one_off(value: &Value) -> bool {
    value.get("persistent") == Some(&Value::Bool(false)) && value.get("value").is_some()
}

/// Rule 5: the inner value of `{ value, persistent: false }`, or the value as it came.
fn one_off(mut value: Value) -> Result<Value, Value> {
    if is_one_off(&value) { Ok(value["value"].take()) } else { Err(value) }
}

/// What a value of a payload says: the inner value of `{ value, persistent: false }` (rule 5), or the value itself.
pub fn plain(value: &Value) -> &Value {
    if is_one_off(value) { &value["value"] } else { value }
}

/// Bytes of data as JSON, nearly: what the limits count.
pub fn size(data: &Data) -> usize {
    data.iter().map(|(key, value)| entry_size(key, value)).sum()
}

/// Bytes of one key and its value as JSON, nearly.
pub(crate) fn entry_size(key: &str, value: &Value) -> usize {
    key.len() + 4 + value_size(value)
}

/// Bytes of a value as JSON, nearly: what the limits count.
pub fn value_size(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 2,
        // what is empty weighs as much as a number, because it takes as much memory
        Value::Array(items) => 8 + items.iter().map(value_size).sum::<usize>(),
        Value::Object(object) => 8 + size(object),
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
    }
}

/// Whether a text or a key in JSON has the NUL character, which PostgreSQL cannot store.
pub fn holds_nul(json: &Value) -> bool {
    match json {
        Value::String(text) => text.contains('\0'),
        Value::Array(elements) => elements.iter().any(holds_nul),
        Value::Object(members) => members.iter().any(|(key, value)| key.contains('\0') || holds_nul(value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Whether JSON is nested deeper than some levels.
pub fn is_deeper(json: &Value, levels: usize) -> bool {
    let Some(below) = levels.checked_sub(1) else {
        return json.is_array() || json.is_object();
    };
    match json {
        Value::Array(elements) => elements.iter().any(|element| is_deeper(element, below)),
        Value::Object(members) => members.values().any(|member| is_deeper(member, below)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// The longest text that is told of a value that something looked at, in bytes of JSON.
const MAX_SHOWN: usize = 1000;

/// A value that something looked at, bounded: the beginning of a long text, and null for other large values.
pub fn shortened(value: &Value) -> Value {
    match value {
        Value::String(text) if text.len() > MAX_SHOWN => {
            let end = text.floor_char_boundary(MAX_SHOWN);
            format!("{}…", &text[..end]).into()
        }
        value if value_size(value) > 2 * MAX_SHOWN => Value::Null,
        value => value.clone(),
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
