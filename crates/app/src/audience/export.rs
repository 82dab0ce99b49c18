//! Everything that a project has about a person, as one JSON document that is written while it is read: a page at a time,
//! by the way of slow reads, so that neither the memory nor other requests depend on how much the person has.

use std::sync::Arc;
use std::time::Duration;

use futures_util::Stream;
use futures_util::stream::try_unfold;
use mailwright_core::ids::ContactId;
use mailwright_core::project::Project;
use mailwright_store::audience::export::{self as store, Person, Place, SECTIONS};
use mailwright_store::{Error as StoreError, Patience, body, retrying};
use serde_json::{Value as Json, json};

use super::places;
use crate::App;
use crate::error::{Error, Result};

/// Most exports of a project at once.
pub const AT_ONCE: usize = 2;
/// How long a page is tried again for which there was no place.
const PATIENCE: Patience = Patience { tries: 5, time: Duration::from_secs(30) };

/// Where an export is.
struct At {
    app: App,
    person: Arc<Person>,
    _place: places::Place,
    /// The number of the section; all of them are done when there is none with it.
    section: usize,
    /// The last row of the section that was written; `None` before its beginning.
    after: Option<Place>,
    is_over: bool,
}

impl App {
    /// Everything about a contact as the pieces of a JSON object. Its last member is `complete`, so that a document that
    /// broke off can be told.
    pub async fn export_contact(
        &self,
        project: &Project,
        id: ContactId,
    ) -> Result<impl Stream<Item = Result<String>> + Send + use<>> {
        let number = project.number;
        let place = self.0.audience.exports.take(number).ok_or_else(|| {
            Error::QueueFull(format!(
                "{AT_ONCE} exports of this project are under way already. Try again when one of them is done."
            ))
        })?;
        let contact = self.contact(project, id).await?;
        let person = Arc::new(Person { project: number, id, email: contact.email.clone() });
        let head = json!({
            "id": contact.id, "email": contact.email, "subscribed": contact.subscribed, "data": contact.data,
            "createdAt": contact.created_at, "updatedAt": contact.updated_at,
        });
        let head = format!("{{\"exportedAt\":{},\"contact\":{head}", json!(self.0.clock.now()));
        let at = At { app: self.clone(), person, _place: place, section: 0, after: None, is_over: false };
        let beginning = futures_util::stream::once(async move { Ok(head) });
        Ok(futures_util::StreamExt::chain(beginning, try_unfold(at, next)))
    }
}

/// The next piece of the document.
async fn next(mut at: At) -> Result<Option<(String, At)>> {
    if at.is_over {
        return Ok(None);
    }
    let Some(section) = SECTIONS.get(at.section) else {
        at.is_over = true;
        return Ok(Some((",\"complete\":true}".to_owned(), at)));
    };
    let (rows, last) = page(&at, at.section).await?;
    let mut text = String::new();
    if at.after.is_none() {
        text = format!(",\"{}\":[", section.name);
    }
    for (index, row) in rows.iter().enumerate() {
        if index > 0 || at.after.is_some() {
            text.push(',');
        }
        text += &row.to_string();
    }
    at.after = last;
    if at.after.is_none() {
        text.push(']');
        at.section += 1;
    }
    Ok(Some((text, at)))
}

/// The next rows of a section, and the last of them; `None` when no more follow.
async fn page(at: &At, section: usize) -> Result<(Vec<Json>, Option<Place>)> {
    let once = || {
        let (person, after) = (Arc::clone(&at.person), at.after.clone());
        at.app.0.db.read_slow(
            at.person.project,
            body!(async |rx| store::page(rx, section, &person, after.as_ref()).await),
        )
    };
    let mut tries = 0;
    loop {
        let read = retrying(PATIENCE, once).await;
        match read {
            // other slow reads of the project are before it
            Err(StoreError::Crowded(_) | StoreError::NoTurn(_)) if tries < PATIENCE.tries => {
                tries += 1;
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            read => return Ok(read?),
        }
    }
}
