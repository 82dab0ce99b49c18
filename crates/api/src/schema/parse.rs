//! From bytes to a checked body, or to all that is wrong with it.

use mailwright_core::issue::Issue;
use serde_json::Value;

use super::count::has_more_values;
use super::deserialize::Object;
use super::issues::{MAX_ISSUES, document};
use super::payload::Payload;
use super::stand_in::is_within;
use crate::error::{ApiError, Failure};

/// How many values a body consists of at most. In memory each takes many times the two bytes that it can have in JSON.
pub(super) const MAX_VALUES: usize = 200_000;

pub(crate) fn parse<T: Payload>(bytes: &[u8]) -> Result<T, Failure> {
    if has_more_values(bytes, MAX_VALUES) {
        return Err(ApiError::too_many_values(MAX_VALUES).into());
    }
    if let Ok(Object(value)) = serde_json::from_slice::<Object<T>>(bytes) {
        return checked(value);
    }
    let mut body: Value = serde_json::from_slice(bytes).map_err(|error| {
        if is_form(bytes) {
            ApiError::form_instead_of_json()
        } else {
            ApiError::malformed_json(&error.to_string())
        }
    })?;
    if let Some(message) = T::legacy(&body) {
        return Err(Failure::Legacy(message.to_owned()));
    }
    let document = document::<T>();
    let mut issues = Vec::new();
    document.walk(&document.root, &body, "", &mut issues);
    if issues.is_empty() {
        match serde_json::from_value::<Object<T>>(body) {
            // a key that comes twice, which serde refuses in a struct: the last one counts
            Ok(Object(value)) => return checked(value),
            // serde and the schema disagree: say what serde says rather than nothing
            Err(error) => issues.push(Issue::new("", "custom", error.to_string())),
        }
    } else if document.stand_in(&mut body, &issues)
        && let Ok(Object(value)) = serde_json::from_value::<Object<T>>(body)
    {
        let others = value.check().into_iter().filter(|issue| !is_within(&issue.field, &issues));
        issues.extend(others.collect::<Vec<_>>());
    }
    issues.truncate(MAX_ISSUES);
    Err(ApiError::invalid(issues).into())
}

/// Whether what is no JSON looks like a form that was filled in, as curl sends it with -d name=value or -F name=value.
fn is_form(body: &[u8]) -> bool {
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-.[]%+".contains(byte);
    let name = body.iter().take_while(|byte| is_name(byte)).count();
    body.starts_with(b"--") || (name > 0 && body.get(name) == Some(&b'='))
}

fn checked<T: Payload>(value: T) -> Result<T, Failure> {
    let mut issues = value.check();
    if issues.is_empty() {
        issues = value.check_across();
    }
    if issues.is_empty() {
        return Ok(value);
    }
    issues.truncate(MAX_ISSUES);
    Err(ApiError::invalid(issues).into())
}
