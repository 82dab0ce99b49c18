//! Everything that a project has about a person, section by section: pages in the order of an index, so that neither a
//! page nor a document depends on how much the person has.
//!
//! [`tables::TABLES_AND_PEOPLE`] says for every table where the export has it, and what an erasure does with it.

mod mails;
mod people;
mod place;
pub mod tables;
mod ways;

use mailwright_core::address::EmailAddress;
use mailwright_core::ids::{ContactId, ProjectNumber};
use serde_json::Value as Json;

pub use self::place::Place;

use self::place::{Key, Section};
use crate::database::error::Result;
use crate::database::tx::Rx;
use crate::database::value::Arg;

/// Who is exported.
#[derive(Debug, Clone)]
pub struct Person {
    /// Project.
    pub project: ProjectNumber,
    /// The contact.
    pub id: ContactId,
    /// Its address.
    pub email: EmailAddress,
}

/// The sections in the order of the document.
pub const SECTIONS: &[Section] = &[
    people::FORMER_ADDRESSES,
    people::CONSENTS,
    people::TOPICS,
    people::CONFIRMATIONS,
    people::SEGMENTS,
    people::EVENTS,
    mails::EMAILS,
    mails::HITS,
    mails::CAPTURED,
    mails::RECEIVED,
    mails::RECEIVED_FROM_ADDRESS,
    mails::RECEIVED_MESSAGES,
    ways::EXECUTIONS,
    ways::OUTPUTS,
    ways::SIGNALS,
    ways::REQUESTS,
    ways::REFUSALS,
    people::SUPPRESSIONS,
    people::SOFT_BOUNCES,
    people::OPENED_MONTHS,
    people::VERIFICATIONS,
    people::AUDIT,
    people::IMPORT_ROWS,
];

/// The next rows of a section after a place, and the place of the last of them; `None` when no more follow.
pub async fn page(
    rx: &mut Rx<'_>,
    section: usize,
    person: &Person,
    after: Option<&Place>,
) -> Result<(Vec<Json>, Option<Place>)> {
    let Some(section) = SECTIONS.get(section) else { return Ok((Vec::new(), None)) };
    let first = Place::default();
    let after = after.unwrap_or(&first);
    let who: Arg<'_> = if section.by_address { (&person.email).into() } else { person.id.into() };
    let mut args = vec![person.project.into(), who, section.page.into()];
    match section.key {
        Key::Id => args.push(Arg::Id(after.ids[0])),
        Key::Ids => args.extend(after.ids.map(Arg::Id)),
        Key::TextAndId => args.extend([after.text.as_str().into(), Arg::Id(after.ids[0])]),
        Key::IdAndNumber => args.extend([Arg::Id(after.ids[0]), after.number.into()]),
        Key::Only => {}
    }
    let rows = rx.all(section.sql, &args, section.read).await?;
    let is_full = rows.len() as i64 >= section.page && !matches!(section.key, Key::Only);
    let last = rows.last().filter(|_| is_full).map(|(place, _)| place.clone());
    Ok((rows.into_iter().map(|(_, row)| row).collect(), last))
}
