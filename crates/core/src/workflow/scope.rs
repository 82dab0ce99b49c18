//! What a condition of a workflow can look at, by name (reference 1.3, field addressing).
//!
//! - `email`, `subscribed`, `createdAt`, `updatedAt` and `id` of the contact, with or without `contact.` before it;
//! - `data.plan`, or `contact.data.plan`: a custom field of the contact;
//! - `event.total`, or `workflow.total`: a value of the execution's context, which begins with the data of the event.
//!
//! Dots lead into objects. A value in the context that was sent as `{ value, persistent: false }` is its inner value.

use serde_json::Value;

use crate::contact::Contact;
use crate::custom_data::{Data, plain};
use crate::filter::DataPath;

/// A place that a condition looks at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Field {
    /// The address.
    Email,
    /// Whether the contact is subscribed.
    Subscribed,
    /// When the contact was created.
    CreatedAt,
    /// When the contact last changed.
    UpdatedAt,
    /// The contact's id.
    Id,
    /// A custom field.
    Data(DataPath),
    /// A value of the context.
    Context(DataPath),
}

impl Field {
    /// The place with a name; `None` if there is none.
    pub fn parse(name: &str) -> Option<Self> {
        let name = name.strip_prefix("contact.").unwrap_or(name);
        let path = |path: &str| {
            let path = DataPath::new(path);
            let text = path.as_str();
            let fits = !text.is_empty() && !text.contains('\0') && !path.is_too_long();
            fits.then_some(path)
        };
        if let Some(rest) = name.strip_prefix("data.") {
            return path(rest).map(Self::Data);
        }
        if let Some(rest) = name.strip_prefix("event.").or_else(|| name.strip_prefix("workflow.")) {
            return path(rest).map(Self::Context);
        }
        Some(match name {
            "email" => Self::Email,
            "subscribed" => Self::Subscribed,
            "createdAt" => Self::CreatedAt,
            "updatedAt" => Self::UpdatedAt,
            "id" => Self::Id,
            _ => return None,
        })
    }

    /// The custom field, as `/contacts/fields` names it, or the contact's own; `None` for a value of the context.
    pub fn of_contact(&self) -> Option<String> {
        Some(match self {
            Self::Email => "email".to_owned(),
            Self::Subscribed => "subscribed".to_owned(),
            Self::CreatedAt => "createdAt".to_owned(),
            Self::UpdatedAt => "updatedAt".to_owned(),
            Self::Id => "id".to_owned(),
            Self::Data(path) => format!("data.{}", path.as_str()),
            Self::Context(_) => return None,
        })
    }
}

/// A contact and the context of its execution.
#[derive(Debug, Clone, Copy)]
pub struct Scope<'a> {
    /// The contact.
    pub contact: &'a Contact,
    /// The context.
    pub context: &'a Data,
}

impl Scope<'_> {
    /// The value at a place; `None` when there is none, or null.
    pub fn value(&self, field: &Field) -> Option<Value> {
        let contact = self.contact;
        match field {
            Field::Email => Some(contact.email.as_str().into()),
            Field::Subscribed => Some(contact.subscribed.into()),
            Field::CreatedAt => Some(contact.created_at.to_string().into()),
            Field::UpdatedAt => Some(contact.updated_at.to_string().into()),
            Field::Id => Some(contact.id.to_string().into()),
            Field::Data(path) => path.find(&contact.data).cloned(),
            Field::Context(path) => path.find_plain(self.context).cloned(),
        }
    }
}

/// A context as its values are meant: what was sent as `{ value, persistent: false }` is its inner value.
pub fn plain_context(context: &Data) -> Data {
    context.iter().map(|(key, value)| (key.clone(), plain(value).clone())).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::address::EmailAddress;
    use crate::custom_data::MAX_KEY;
    use crate::ids::ContactId;
    use crate::time::Timestamp;

    fn object(json: Value) -> Data {
        json.as_object().cloned().unwrap()
    }

    #[test]
    fn values_are_found_by_every_name_they_have() {
        let contact = Contact {
            id: ContactId::first_of(Timestamp(1)),
            email: EmailAddress::parse("ada@example.com").unwrap(),
            subscribed: true,
            data: object(json!({ "plan": "pro", "a": { "b": 1 }, "a.b": 2, "none": null, "event": "x" })),
            created_at: Timestamp(0),
            updated_at: Timestamp(1000),
        };
        let context = object(json!({
            "total": 5, "order": { "value": { "id": 7 }, "persistent": false }, "kept": { "value": 1 }, "n": null,
        }));
        let scope = Scope { contact: &contact, context: &context };
        for (name, expected) in [
            ("email", json!("ada@example.com")),
            ("contact.email", json!("ada@example.com")),
            ("contact.subscribed", json!(true)),
            ("createdAt", json!("1970-01-01T00:00:00.000Z")),
            ("contact.updatedAt", json!("1970-01-01T00:00:01.000Z")),
            ("data.plan", json!("pro")),
            ("contact.data.plan", json!("pro")),
            ("data.a.b", json!(2)),
            ("data.event", json!("x")),
            ("event.total", json!(5)),
            ("workflow.total", json!(5)),
            ("event.order", json!({ "id": 7 })),
            ("event.order.id", json!(7)),
            ("event.kept.value", json!(1)),
        ] {
            let field = Field::parse(name).unwrap();
            assert_eq!(scope.value(&field), Some(expected), "{name}");
        }
        for name in ["data.none", "data.plan.x", "event.n", "event.order.value", "event.nothing"] {
            assert_eq!(scope.value(&Field::parse(name).unwrap()), None, "{name}");
        }
        assert_eq!(plain_context(&context)["order"], json!({ "id": 7 }));
    }

    #[test]
    fn other_names_are_no_places() {
        let long = format!("data.{}", "a".repeat(MAX_KEY + 1));
        for name in ["", "plan", "data.", "data", "event", "contact.", "contact.plan", "data.a\0", &long] {
            assert_eq!(Field::parse(name), None, "{name:?}");
        }
    }
}
