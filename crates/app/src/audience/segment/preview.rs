//! Conditions that no segment has: how many contacts meet one, and which.
//!
//! Whoever edits a segment asks anew with every change. Each of these reads is a slow read: one at a time for a project,
//! a bounded number that wait, and one that is given up ends in the database too.

use std::time::Duration;

use mailwright_core::contact::Contact;
use mailwright_core::filter::Filter;
use mailwright_core::ids::ProjectNumber;
use mailwright_core::project::Project;
use mailwright_store::audience::columns::Page as Part;
use mailwright_store::audience::contact::List;
use mailwright_store::audience::filter;
use mailwright_store::audience::segment as store;
use mailwright_store::{Door, body};
use serde_json::Value;

use super::check;
use crate::App;
use crate::audience::contact::{Page, page_of};
use crate::error::Result;

/// How long a count may take while a segment is edited, its turn included.
const PATIENCE: Duration = Duration::from_secs(5);

/// What a condition finds.
#[derive(Debug)]
pub struct Preview {
    /// How many contacts meet it; at least so many if this is not exact.
    pub count: i64,
    /// Whether they were counted to the end in time.
    pub exact: bool,
    /// The newest of them.
    pub sample: Vec<Contact>,
}

impl App {
    /// Counts who meets a condition, and shows up to `sample` of them. A count that takes too long is given up; then
    /// only the sample is known.
    pub async fn preview_segment(
        &self,
        project: &Project,
        condition: &Value,
        sample: usize,
    ) -> Result<Preview> {
        let (number, now) = (project.number, self.0.clock.now());
        let tree = self.condition_of_none(number, condition).await?;
        let page = Part { limit: sample, ..Part::default() };
        if let Some((sample, count)) = self.page_found(number, &tree, now, page).await? {
            return Ok(Preview { count, exact: true, sample });
        }
        let sample = if sample == 0 {
            Vec::new()
        } else {
            let tree = tree.clone();
            let read = self.read_slow(
                number,
                body!(async |rx| {
                    let segments = store::resolve(rx, number, &tree).await?;
                    filter::page(rx, number, &tree, &segments, now, None, sample).await
                }),
            );
            read.await?
        };
        let counting = self.count_in_database(Door::Slow(number), number, tree, now);
        let counted = match tokio::time::timeout(PATIENCE, counting).await {
            Ok(Ok(counted)) => Some(counted),
            Ok(Err(error)) if error.is_too_slow() => None,
            Ok(Err(error)) => return Err(error),
            Err(_) => None,
        };
        Ok(Preview { count: counted.unwrap_or(sample.len() as i64), exact: counted.is_some(), sample })
    }

    /// A page of the contacts that meet a condition.
    pub async fn contacts_meeting(
        &self,
        project: &Project,
        condition: &Value,
        mut list: List,
    ) -> Result<Page> {
        let (number, now) = (project.number, self.0.clock.now());
        let tree = self.condition_of_none(number, condition).await?;
        let limit = list.limit;
        list.limit += 1; // one more tells whether there is more
        if let Some(found) = self.list_found(number, &tree, now, &list).await? {
            return page_of(Ok(found), limit);
        }
        let read = self.0.db.read_slow(
            number,
            body!(async |rx| {
                let segments = store::resolve(rx, number, &tree).await?;
                let contacts = filter::list(rx, number, &tree, &segments, now, &list).await?;
                let total = match list.after {
                    Some(_) => 0,
                    None => filter::total(rx, number, &tree, &segments, now, &list).await?,
                };
                Ok((contacts, total))
            }),
        );
        page_of(read.await, limit)
    }

    /// Reads a condition that no segment has, under the rules for those of segments.
    async fn condition_of_none(&self, project: ProjectNumber, condition: &Value) -> Result<Filter> {
        let tree = check::condition(condition)?;
        if !tree.references().segments.is_empty() {
            let all = self.read(body!(async |rx| store::all(rx, project).await));
            check::references_of_none(&all.await?, condition)?;
        }
        Ok(tree)
    }
}
