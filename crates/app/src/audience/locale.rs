//! The one custom field whose type the service relies on.

use mailwright_core::custom_data::Data;

use crate::error::{Error, Result};

/// `locale` is the one key whose type the service relies on.
pub(crate) fn check_locale(data: &Data) -> Result<()> {
    let locale = match data.get("locale") {
        Some(serde_json::Value::Object(wrapped)) if wrapped.get("persistent") == Some(&false.into()) => {
            wrapped.get("value")
        }
        other => other,
    };
    match locale {
        None | Some(serde_json::Value::Null | serde_json::Value::String(_)) => Ok(()),
        Some(_) => {
            Err(Error::BadRequest("data.locale must be a string, such as \"en\" or \"pt-BR\".".into()))
        }
    }
}
