//! Reads a filter from JSON and finds everything that is wrong with it.

mod condition;
mod field;
mod operator;

use serde_json::Value;

pub use self::condition::MAX_TEXT;
use self::condition::RawFilter;
pub use self::operator::operator_names;
use crate::filter::tree::{Condition, Filter, Group, Logic};
use crate::issue::Issue;
use crate::reading::{Issues, join, unknown};

/// How deep trees can be nested; the outermost counts.
pub const MAX_DEPTH: usize = 10;
/// The most conditions of a filter, nested ones included.
pub const MAX_CONDITIONS: usize = 200;

impl Filter {
    /// Reads a filter. Every issue names its path inside of the filter (`groups.0.filters.1.operator`); the path of the
    /// filter itself is empty.
    pub fn parse(json: &Value) -> Result<Self, Vec<Issue>> {
        Self::parse_for(json, false)
    }

    /// The same where an event is being handled: `event.total`, with an operator that is not one for events, is a value
    /// of its data.
    pub fn parse_with_context(json: &Value) -> Result<Self, Vec<Issue>> {
        Self::parse_for(json, true)
    }

    fn parse_for(json: &Value, has_context: bool) -> Result<Self, Vec<Issue>> {
        let mut reader = Reader { issues: Issues::default(), conditions: 0, has_context };
        let tree = reader.tree(json, "", 1);
        reader.issues.finish(tree, json, "")
    }
}

/// Reads the tree. `None` means that an issue was noted; the reading goes on all the same.
struct Reader {
    issues: Issues,
    conditions: usize,
    has_context: bool,
}

impl Reader {
    fn tree(&mut self, json: &Value, at: &str, depth: usize) -> Option<Filter> {
        let object = self.issues.object(json, at)?;
        if depth > MAX_DEPTH {
            let message = format!("Conditions must be nested at most {MAX_DEPTH} levels deep.");
            return self.issues.note(Issue::new(at, "too_big", message));
        }
        let logic = self.logic(object.get("logic"), &join(at, "logic"));
        let groups = self.groups(object.get("groups"), &join(at, "groups"), depth);
        Some(Filter { logic: logic?, groups: groups? })
    }

    fn logic(&mut self, json: Option<&Value>, at: &str) -> Option<Logic> {
        match self.issues.text(json, at)? {
            "AND" => Some(Logic::And),
            "OR" => Some(Logic::Or),
            other => self.issues.note(unknown(at, "Must be one of AND, OR.", other)),
        }
    }

    fn groups(&mut self, json: Option<&Value>, at: &str, depth: usize) -> Option<Vec<Group>> {
        let groups = self.issues.list(json, at)?;
        if groups.is_empty() {
            return self.issues.note(Issue::new(at, "too_small", "Must have at least 1 group."));
        }
        let groups = groups.iter().enumerate().map(|(index, group)| {
            if self.is_full() { None } else { self.group(group, &join(at, &index.to_string()), depth) }
        });
        all(groups)
    }

    fn group(&mut self, json: &Value, at: &str, depth: usize) -> Option<Group> {
        let object = self.issues.object(json, at)?;
        let nested = object.get("conditions").filter(|tree| !tree.is_null());
        let conditions = self.filters(object.get("filters"), &join(at, "filters"), nested.is_some());
        let nested = match nested {
            Some(tree) => Some(Box::new(self.tree(tree, &join(at, "conditions"), depth + 1)?)),
            None => None,
        };
        Some(Group { conditions: conditions?, nested })
    }

    fn filters(&mut self, json: Option<&Value>, at: &str, may_be_empty: bool) -> Option<Vec<Condition>> {
        let filters = self.issues.list(json, at)?;
        if filters.is_empty() && !may_be_empty {
            return self.issues.note(Issue::new(
                at,
                "too_small",
                "Must have at least 1 filter, or nested conditions.",
            ));
        }
        self.conditions += filters.len();
        if self.conditions > MAX_CONDITIONS {
            let message = format!("Must have at most {MAX_CONDITIONS} filters in all.");
            return self.issues.note(Issue::new(at, "too_big", message));
        }
        let filters = filters.iter().enumerate().map(|(index, filter)| {
            if self.is_full() { None } else { self.condition(filter, &join(at, &index.to_string())) }
        });
        all(filters)
    }

    /// Whether there are so many issues, or conditions, that reading on would tell nothing new.
    fn is_full(&self) -> bool {
        self.issues.is_full() || self.conditions > MAX_CONDITIONS
    }

    fn condition(&mut self, json: &Value, at: &str) -> Option<Condition> {
        let object = self.issues.object(json, at)?;
        let operator = field::operator(&mut self.issues, object.get("operator"), &join(at, "operator"));
        let place = join(at, "field");
        let field = field::field(&mut self.issues, object.get("field"), operator, self.has_context, &place);
        let (operator, field) = (operator?, field?);
        if !field.takes(operator) {
            let message = format!("{} cannot be used with this field.", operator.as_str());
            return self
                .issues
                .note(Issue::new(join(at, "operator"), "custom", message).received(operator.as_str()));
        }
        RawFilter { issues: &mut self.issues, object, at, operator }.build(field)
    }
}

/// All of them, or nothing when one is missing; every one is read all the same.
fn all<T>(items: impl Iterator<Item = Option<T>>) -> Option<Vec<T>> {
    let items: Vec<Option<T>> = items.collect();
    items.into_iter().collect()
}
