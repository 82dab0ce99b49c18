//! The audit log of a project. Use cases write its entries, each in the transaction of the action that it records.

use mailwright_core::ids::{AuditId, ProjectId};
use mailwright_core::project::Project;
use mailwright_store::body;
use mailwright_store::project;
use mailwright_store::project::{audit, purge};

use crate::App;
use crate::error::{Error, Resource, Result};

pub use mailwright_store::project::audit::Recorded;
pub use mailwright_store::project::purge::Deletion;

/// The trail of a project, for the operator.
#[derive(Debug)]
pub enum Trail {
    /// The project exists: the newest entries of its log, newest first.
    There(Vec<Recorded>),
    /// The project was deleted.
    Deleted(Deletion),
}

/// A page of the audit log.
#[derive(Debug)]
pub struct Page {
    /// The entries, newest first.
    pub entries: Vec<Recorded>,
    /// Whether more follow.
    pub has_more: bool,
    /// How many there are in all, counted up to 10,000, on the first page; 0 on later ones.
    pub total: i64,
}

impl App {
    /// The audit log of a project, or who deleted it: for its operator.
    pub async fn trail(&self, id: ProjectId, limit: usize) -> Result<Trail> {
        let found = self
            .read(body!(async |rx| {
                if let Some(project) = project::by_id(rx, id).await? {
                    return Ok(Some(Trail::There(audit::list(rx, project.number, None, limit).await?)));
                }
                Ok(purge::deletion(rx, id).await?.map(Trail::Deleted))
            }))
            .await?;
        found.ok_or_else(|| Error::not_found(Resource::Project, id))
    }

    /// A page of the audit log, with at most `limit` entries: those that follow the entry `after`, if it is given.
    pub async fn audit(&self, project: &Project, after: Option<AuditId>, limit: usize) -> Result<Page> {
        let number = project.number;
        let (mut entries, total) = self
            .read_slow(
                number,
                body!(async |rx| {
                    let total = if after.is_none() { audit::count(rx, number).await? } else { 0 };
                    Ok((audit::list(rx, number, after, limit + 1).await?, total))
                }),
            )
            .await?;
        let has_more = entries.len() > limit;
        entries.truncate(limit);
        Ok(Page { entries, has_more, total })
    }
}
