//! What somebody says that the columns of a file are for.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{Column, by_name};
use crate::custom_data::{MAX_KEY, MAX_KEYS, RESERVED_KEYS};
use crate::issue::{Issue, join, json_type};

/// The longest text of a mapping, in bytes.
const MAX_MAPPING: usize = 64 * 1024;
/// How much of a column's name is shown in an issue, in characters.
const SHOWN: usize = 100;

/// What columns are for, by their names, which are trimmed and lower-cased. A column that is not named here is for what
/// its own name says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Mapping(BTreeMap<String, Column>);

impl Mapping {
    /// Reads `{"E-Mail": "email", "Opt-in": "subscribed", "Plan": "plan", "Notes": null}`. Each issue names its path,
    /// which begins with `mapping`.
    pub fn parse(text: &str) -> Result<Self, Vec<Issue>> {
        let of_whole = |code, message: String| vec![Issue::new("mapping", code, message)];
        if text.len() > MAX_MAPPING {
            let message = format!("Must have at most {} KB.", MAX_MAPPING / 1024);
            return Err(of_whole("too_big", message));
        }
        let json: Value = serde_json::from_str(text)
            .map_err(|_| of_whole("invalid_type", "Must be a JSON object.".to_owned()))?;
        let Value::Object(members) = json else {
            return Err(of_whole("invalid_type", "Must be a JSON object.".to_owned()));
        };
        if members.len() > MAX_KEYS {
            return Err(of_whole("too_big", format!("Must have at most {MAX_KEYS} columns.")));
        }
        let (mut columns, mut issues) = (BTreeMap::new(), Vec::new());
        for (name, target) in &members {
            let path = join("mapping", &clip(name));
            match target_of(target, &path) {
                Err(issue) => issues.push(issue),
                Ok(column) => {
                    if columns.insert(normal(name), column).is_some() {
                        issues.push(Issue::new(path, "custom", "The column is named more than once."));
                    }
                }
            }
        }
        if issues.is_empty() { Ok(Self(columns)) } else { Err(issues) }
    }

    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text that [`parse`](Self::parse) reads.
    pub fn text(&self) -> String {
        let members = self.0.iter().map(|(name, column)| {
            let target = column.field().map_or(Value::Null, Value::from);
            (name.clone(), target)
        });
        Value::Object(members.collect()).to_string()
    }

    /// What is wrong with it for a file with this header.
    pub fn check(&self, header: &[&str]) -> Vec<Issue> {
        let names: BTreeSet<String> = header.iter().map(|name| normal(name)).collect();
        let unknown = self.0.keys().filter(|name| !names.contains(*name)).map(|name| {
            let path = join("mapping", &clip(name));
            Issue::new(path, "unrecognized_keys", "The file has no column of this name.")
        });
        let mut issues: Vec<Issue> = unknown.collect();
        let columns = match self.columns(header) {
            Ok(columns) => columns,
            Err(fault) => {
                issues.push(Issue::new("mapping", "custom", fault));
                return issues;
            }
        };
        let count = |wanted: &Column| columns.iter().filter(|column| *column == wanted).count();
        let mut wrong = |message: &str| issues.push(Issue::new("mapping", "custom", message));
        match count(&Column::Email) {
            0 => wrong("One column must be for email."),
            1 => {}
            _ => wrong("Only one column can be for email. Map the others to a field, or to null."),
        }
        if count(&Column::Subscribed) > 1 {
            wrong("Only one column can be for subscribed. Map the others to a field, or to null.");
        }
        issues
    }

    /// What each column of a header is for.
    pub(super) fn columns(&self, header: &[&str]) -> Result<Vec<Column>, String> {
        let named = by_name(header)?.into_iter().zip(header);
        Ok(named.map(|(column, name)| self.0.get(&normal(name)).cloned().unwrap_or(column)).collect())
    }
}

fn target_of(target: &Value, path: &str) -> Result<Column, Issue> {
    let text = match target {
        Value::Null => return Ok(Column::Ignored),
        Value::String(text) => text.trim(),
        other => {
            let issue =
                Issue::new(path, "invalid_type", "Must be email, subscribed, the name of a field, or null.");
            return Err(issue.received(json_type(other)));
        }
    };
    let is = |name: &str| text.eq_ignore_ascii_case(name);
    if is("email") {
        Ok(Column::Email)
    } else if is("subscribed") {
        Ok(Column::Subscribed)
    } else if text.is_empty() || text.len() > MAX_KEY {
        Err(Issue::new(path, "too_big", format!("The name of a field has 1 to {MAX_KEY} bytes.")))
    } else if text.contains('\0') {
        Err(Issue::new(path, "invalid_string", "Must not contain the NUL character."))
    } else if RESERVED_KEYS.iter().any(|key| is(key)) {
        Err(Issue::new(path, "custom", "The name is reserved. Choose another one, or null."))
    } else {
        Ok(Column::Data(text.to_owned()))
    }
}

/// A column's name as it is compared.
pub(super) fn normal(name: &str) -> String {
    name.trim().to_lowercase()
}

fn clip(name: &str) -> String {
    name.chars().take(SHOWN).collect()
}
