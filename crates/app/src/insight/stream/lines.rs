//! What was read of the logs of feeds, as clients get it. It is kept for a moment, because who follows a feed reads what
//! all others read.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mailwright_core::activity::{ActivityType, Place};
use mailwright_core::activity_log::Bookmark;
use mailwright_core::ids::{CampaignId, ContactId, ProjectNumber, TemplateId, WorkflowId};
use mailwright_store::body;
use mailwright_store::insight::activity::{Entry, Scope, entries};
use mailwright_store::insight::activity_log::{MOST_IN_ROW, read};
use quick_cache::sync::Cache;
use tokio::sync::Mutex;

use crate::App;
use crate::error::Result;

/// Most bytes that are kept.
const BYTES: u64 = 24 * 1024 * 1024;
/// About how many rows are kept.
const ROWS: usize = 4_096;
/// For how long what was read is good. What is removed meanwhile, such as a person who is erased, is not told after that.
const GOOD_FOR: Duration = Duration::from_secs(2);

/// A row of the log.
pub(super) struct Row {
    /// Its place.
    pub(super) position: i64,
    /// Its entries, but those of what was removed meanwhile.
    pub(super) lines: Vec<Line>,
    /// When it was read.
    read_at: Instant,
}

/// An entry.
pub(super) struct Line {
    /// Which one of the row it is.
    pub(super) index: usize,
    /// What it is about.
    pub(super) entry: About,
    /// The event of the stream.
    pub(super) text: String,
}

/// What an entry is about.
pub(super) struct About {
    pub(super) kind: ActivityType,
    contact: Option<ContactId>,
    campaign: Option<CampaignId>,
    workflow: Option<WorkflowId>,
    template: Option<TemplateId>,
}

impl About {
    fn of(entry: &Entry) -> Self {
        Self {
            kind: entry.kind(),
            contact: entry.contact,
            campaign: entry.campaign(),
            workflow: entry.workflow(),
            template: entry.template(),
        }
    }

    /// Whether it is about something.
    pub(super) fn is_about(&self, scope: Scope) -> bool {
        match scope {
            Scope::Project => true,
            Scope::Contact(contact) => self.contact == Some(contact),
            Scope::Campaign(campaign) => self.campaign == Some(campaign),
            Scope::Workflow(workflow) => self.workflow == Some(workflow),
            Scope::Template(template) => self.template == Some(template),
        }
    }
}

#[derive(Debug, Clone)]
struct BySize;

impl quick_cache::Weighter<(ProjectNumber, i64), Arc<Row>> for BySize {
    fn weight(&self, _: &(ProjectNumber, i64), row: &Arc<Row>) -> u64 {
        let texts: usize = row.lines.iter().map(|line| line.text.len() + size_of::<Line>()).sum();
        (texts + size_of::<Row>()) as u64
    }
}

/// What was read.
pub(super) struct Lines(Cache<(ProjectNumber, i64), Arc<Row>, BySize>);

impl Default for Lines {
    fn default() -> Self {
        Self(Cache::with_weighter(ROWS, BYTES, BySize))
    }
}

impl Lines {
    /// The rows from a place on that are here, as many as make a page.
    fn page(&self, project: ProjectNumber, from: i64) -> Vec<Arc<Row>> {
        let mut rows = Vec::new();
        let mut lines = 0;
        for position in from.. {
            let row = self.0.get(&(project, position)).filter(|row| row.read_at.elapsed() < GOOD_FOR);
            let Some(row) = row else { break };
            lines += row.lines.len().max(1);
            if lines > MOST_IN_ROW && !rows.is_empty() {
                break;
            }
            rows.push(row);
        }
        rows
    }
}

impl App {
    /// The rows of a log from a place on, as many as make a page. `reading` is held by who reads the log, so that the
    /// others find what was read.
    pub(super) async fn lines(
        &self,
        project: ProjectNumber,
        reading: &Mutex<()>,
        from: i64,
        write: fn(Entry) -> String,
    ) -> Result<Vec<Arc<Row>>> {
        let lines = &self.0.insight.stream.lines;
        let known = lines.page(project, from);
        if !known.is_empty() {
            return Ok(known);
        }
        let _reading = reading.lock().await;
        let known = lines.page(project, from);
        if !known.is_empty() {
            return Ok(known);
        }
        let rows = self.read_log(project, from, write).await?;
        for row in &rows {
            lines.0.insert((project, row.position), Arc::clone(row));
        }
        Ok(rows)
    }

    async fn read_log(
        &self,
        project: ProjectNumber,
        from: i64,
        write: fn(Entry) -> String,
    ) -> Result<Vec<Arc<Row>>> {
        // not later than what it says
        let read_at = Instant::now();
        let (rows, entries) = self
            .read(body!(async |rx| {
                let mut rows = read(rx, project, from, MOST_IN_ROW as i64).await?;
                let mut count = 0;
                let page = rows.iter().take_while(|(_, places)| {
                    let is_first = count == 0;
                    count += places.len();
                    is_first || count <= MOST_IN_ROW
                });
                let page = page.count();
                rows.truncate(page);
                let places: Vec<Place> = rows.iter().flat_map(|(_, places)| places).copied().collect();
                let entries = entries(rx, project, &places).await?;
                Ok((rows, entries))
            }))
            .await?;
        let mut entries = entries.into_iter().peekable();
        let rows = rows.into_iter().map(|(position, places)| {
            let mut lines = Vec::with_capacity(places.len());
            for (index, place) in places.iter().enumerate() {
                // what was removed meanwhile is missing among the entries
                if let Some(entry) = entries.next_if(|entry| entry.place == *place) {
                    let next = if index + 1 == places.len() {
                        Bookmark::behind(position)
                    } else {
                        Bookmark { position, index: index + 1 }
                    };
                    let about = About::of(&entry);
                    let text = format!("id: {next}\ndata: {}\n\n", write(entry));
                    lines.push(Line { index, entry: about, text });
                }
            }
            Arc::new(Row { position, lines, read_at })
        });
        Ok(rows.collect())
    }
}
