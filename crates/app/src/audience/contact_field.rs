//! The fields of a project's contacts.

use mailwright_core::audit::{Action, Actor};
use mailwright_core::project::Project;
use mailwright_store::audience::contact_field::{self as store, Field};
use mailwright_store::body;
use mailwright_store::insight::counter::{self, Counter};
use mailwright_store::project::audit::{self, Entry};
use mailwright_store::{Patience, retrying};
use serde_json::Value;

use crate::App;
use crate::error::Result;

/// How often a step is tried again because somebody changed one of its contacts meanwhile: there are some hundred of
/// them.
const PATIENCE: Patience = Patience::of(100);

/// The custom fields of a project and how many contacts it has.
#[derive(Debug)]
pub struct Fields {
    /// Custom fields by name.
    pub custom: Vec<Field>,
    /// All contacts.
    pub contacts: i64,
}

impl App {
    /// The custom fields.
    pub async fn contact_fields(&self, project: &Project) -> Result<Fields> {
        let number = project.number;
        let (custom, contacts) = self
            .read_slow(
                number,
                body!(async |rx| Ok((
                    store::all(rx, number).await?,
                    counter::value(rx, number, Counter::Contacts, "").await?,
                ))),
            )
            .await?;
        Ok(Fields { custom, contacts })
    }

    /// Distinct values of a custom field, in the order of their text: null and empty ones left out.
    pub async fn contact_field_values(
        &self,
        project: &Project,
        name: &str,
        limit: usize,
    ) -> Result<Vec<Value>> {
        let (number, name) = (project.number, name.to_owned());
        let values =
            self.read_slow(number, body!(async |rx| store::values(rx, number, &name, limit).await)).await?;
        let mut values: Vec<Value> = values
            .into_iter()
            .filter(|v| {
                matches!(v, Value::Bool(_) | Value::Number(_)) || v.as_str().is_some_and(|s| !s.is_empty())
            })
            .collect();
        values.sort_by_key(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
        Ok(values)
    }

    /// How many contacts have a field; of a standard field, all do.
    pub async fn contact_field_count(&self, project: &Project, custom: Option<&str>) -> Result<i64> {
        let (number, name) = (project.number, custom.map(str::to_owned));
        self.read(body!(async |rx| {
            match name {
                Some(name) => counter::value(rx, number, Counter::Field, &name).await,
                None => counter::value(rx, number, Counter::Contacts, "").await,
            }
        }))
        .await
    }

    /// Removes a custom field from every contact; how many had it.
    pub async fn delete_contact_field(&self, project: &Project, actor: &Actor, name: &str) -> Result<usize> {
        let (number, now) = (project.number, self.0.clock.now());
        let (mut removed, mut after) = (0, None);
        loop {
            let step = || {
                let (name, actor) = (name.to_owned(), actor.clone());
                self.write_bulk(body!(async |tx| {
                    let step = store::remove(tx, number, &name, after, now).await?;
                    if step.1.is_none() {
                        let entry = Entry::new(Action::FieldDeleted, name);
                        audit::record(tx, number, &actor, &entry, now).await?;
                    }
                    Ok(step)
                }))
            };
            let (count, next) = retrying(PATIENCE, step).await?;
            removed += count;
            match next {
                Some(next) => after = Some(next),
                None => return Ok(removed),
            }
        }
    }
}
