//! The audit log of a project. Entries are written by the use cases, each in the transaction that does what it says.

use mailwright_core::ids::AuditId;
use mailwright_core::project::Project;
use mailwright_store::audit;

use crate::App;
use crate::error::Result;

pub use mailwright_store::audit::Recorded;

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
    /// A page of the audit log.
    pub async fn audit(&self, project: &Project, after: Option<AuditId>, limit: usize) -> Result<Page> {
        let number = project.number;
        let (mut entries, total) = self
            .0
            .db
            .read(move |rx| {
                Box::pin(async move {
                    let total = if after.is_none() { audit::count(rx, number).await? } else { 0 };
                    Ok((audit::list(rx, number, after, limit + 1).await?, total))
                })
            })
            .await?;
        let has_more = entries.len() > limit;
        entries.truncate(limit);
        Ok(Page { entries, has_more, total })
    }
}
