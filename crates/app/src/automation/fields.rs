//! The fields that conditions of workflows can look at.

use mailwright_core::custom_data::FieldType;
use mailwright_core::names;
use mailwright_core::project::Project;
use mailwright_store::audience::{contact_field, event_field};
use mailwright_store::body;

use crate::App;
use crate::error::Result;

names! {
    /// What a field belongs to.
    pub enum Category {
        /// What every contact has.
        Contact = "Contact Fields",
        /// The custom data of contacts.
        Custom = "Custom Data",
        /// The data of events.
        Event = "Event Data",
    }
}

/// A field that conditions can look at.
#[derive(Debug, Clone)]
pub struct WorkflowField {
    /// Its name: `contact.email`, `contact.data.plan`, `event.total`.
    pub name: String,
    /// Its type.
    pub kind: FieldType,
    /// What it belongs to.
    pub category: Category,
}

/// What every contact has.
const OF_CONTACT: [(&str, FieldType); 5] = [
    ("contact.createdAt", FieldType::Date),
    ("contact.email", FieldType::String),
    ("contact.id", FieldType::String),
    ("contact.subscribed", FieldType::Boolean),
    ("contact.updatedAt", FieldType::Date),
];

impl App {
    /// The fields that conditions can look at, sorted by name; of events of one name, if it is given.
    pub async fn workflow_fields(
        &self,
        project: &Project,
        event: Option<String>,
    ) -> Result<Vec<WorkflowField>> {
        let number = project.number;
        let (custom, events) = self
            .read(body!(async |rx| Ok((
                contact_field::all(rx, number).await?,
                event_field::all(rx, number, event.as_deref()).await?,
            ))))
            .await?;
        let of_contact = OF_CONTACT.iter().map(|(name, kind)| WorkflowField {
            name: (*name).to_owned(),
            kind: *kind,
            category: Category::Contact,
        });
        let custom = custom.into_iter().map(|field| WorkflowField {
            name: format!("contact.data.{}", field.name),
            kind: field.kind,
            category: Category::Custom,
        });
        let events = events.into_iter().map(|(name, kind)| WorkflowField {
            name: format!("event.{name}"),
            kind,
            category: Category::Event,
        });
        let mut fields: Vec<WorkflowField> = of_contact.chain(custom).chain(events).collect();
        fields.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(fields)
    }
}
