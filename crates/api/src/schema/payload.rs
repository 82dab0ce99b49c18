//! Types of request bodies, with their limits and rules.

use mailwright_core::issue::Issue;
use serde::de::DeserializeOwned;
use serde_json::Value;
use utoipa::ToSchema;

use super::deserialize::WholeNumber;

/// A request body.
pub(crate) trait Payload: DeserializeOwned + ToSchema + Send + 'static {
    /// Most bytes of the body: 1 MB where nothing is said, well above the largest `data`.
    const MAX_BODY: usize = 1024 * 1024;

    /// Rules on single fields that a schema cannot say.
    fn check(&self) -> Vec<Issue> {
        Vec::new()
    }

    /// Rules across fields, which are looked at once each field is good (reference 1.1).
    fn check_across(&self) -> Vec<Issue> {
        Vec::new()
    }

    /// The message of the legacy error that the contract has for a body that is not valid; `None` if it has none.
    fn legacy(_body: &Value) -> Option<&'static str> {
        None
    }
}

/// The message of the first of some members that a body does not have: they are missing, null or empty. For
/// [`Payload::legacy`].
pub(crate) fn missing(body: &Value, members: &[(&str, &'static str)]) -> Option<&'static str> {
    let object = body.as_object()?;
    let is_missing = |name: &str| object.get(name).is_none_or(|value| value.is_null() || value == "");
    members.iter().find(|(name, _)| is_missing(name)).map(|(_, message)| *message)
}

/// Refuses a number that is not from `least` to `most`.
pub(crate) fn check_range(field: &str, number: WholeNumber, least: i64, most: i64) -> Option<Issue> {
    let (code, text) = match number.0 {
        found if found < least => ("too_small", format!("Must be at least {least}.")),
        found if found > most => ("too_big", format!("Must be at most {most}.")),
        _ => return None,
    };
    Some(Issue::new(field, code, text).received(number.0.to_string()))
}

/// Refuses a list that is empty or has more than `most` elements.
pub(crate) fn check_count(field: &str, count: usize, most: usize) -> Vec<Issue> {
    if count == 0 {
        vec![Issue::new(field, "too_small", "Must have at least 1 element.")]
    } else if count > most {
        vec![Issue::new(field, "too_big", format!("Must have at most {most} elements."))]
    } else {
        Vec::new()
    }
}
