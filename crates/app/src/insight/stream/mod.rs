//! The feed as it happens (`/activity/stream`).
//!
//! Whoever follows has a [`Follower`]. It reads the log of the project's feed (`store::insight::activity_log`) from its
//! bookmark on, a page at a time and only when the client has taken the page before. So a slow client costs one page of
//! memory, and misses nothing. What one reads is kept for the others for a moment (`lines`).
//!
//! One piece of background work gives places in the log to what was committed, for the projects that are followed in
//! this process, and wakes the followers (`placing`).

mod lines;
mod placing;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mailwright_core::activity::ActivityType;
use mailwright_core::activity_log::Bookmark;
use mailwright_core::ids::ProjectNumber;
use mailwright_core::project::Project;
use mailwright_store::body;
use mailwright_store::database::placed_log::Head;
use mailwright_store::insight::activity::{Entry, Scope};
use mailwright_store::insight::activity_log as store;
use tokio::sync::{Mutex as AsyncMutex, watch};
use tokio_util::sync::CancellationToken;

use self::lines::{Lines, Row};
use crate::App;
use crate::background::runner::Waker;
use crate::error::{Error, Result};

/// So many bytes end a page: a client that takes none of it costs that much, and one entry more.
const PAGE_BYTES: usize = 128 * 1024;

/// How entries are written for clients, one line each.
pub type Write = fn(Entry) -> String;

/// Which entries somebody follows.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// What they are about.
    pub scope: Scope,
    /// Of which types; `None` for all.
    pub types: Option<BTreeSet<ActivityType>>,
    /// From where on; `None` for what happens from now on.
    pub from: Option<Bookmark>,
}

/// What a follower is told.
#[derive(Debug, PartialEq, Eq)]
pub enum Told {
    /// Events of the stream, ready to be sent.
    Events(String),
    /// Nothing has happened that is wanted. How far was read.
    Nothing(Bookmark),
    /// The stream ends: the service stops, or the log was removed before it was read.
    End,
}

/// What this process keeps.
pub(super) struct State {
    followed: Arc<Mutex<BTreeMap<ProjectNumber, Arc<Followed>>>>,
    lines: Lines,
    waker: Waker,
    over: CancellationToken,
}

impl Default for State {
    fn default() -> Self {
        let followed = Arc::default();
        Self { followed, lines: Lines::default(), waker: Waker::default(), over: CancellationToken::new() }
    }
}

/// A project that somebody follows in this process.
struct Followed {
    project: ProjectNumber,
    /// The newest place in its log.
    newest: watch::Sender<i64>,
    /// Held by who reads the log, so that others find what was read.
    reading: AsyncMutex<()>,
}

type Map = BTreeMap<ProjectNumber, Arc<Followed>>;

fn locked(followed: &Mutex<Map>) -> MutexGuard<'_, Map> {
    followed.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Somebody's place among those who follow, until it is dropped.
struct Seat {
    followed: Arc<Followed>,
    news: watch::Receiver<i64>,
    all: Arc<Mutex<Map>>,
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut all = locked(&self.all);
        // this one is still counted
        if self.followed.newest.receiver_count() <= 1 {
            all.remove(&self.followed.project);
        }
    }
}

impl State {
    /// Ends all streams.
    pub(crate) fn end(&self) {
        self.over.cancel();
    }

    /// A place among those who follow, if there is one. A project takes at most half of what the others leave, so that a
    /// few projects do not take all.
    fn seat(&self, project: ProjectNumber, most: usize, most_of_project: usize) -> Result<Seat> {
        let mut all = locked(&self.followed);
        let taken: usize = all.values().map(|followed| followed.newest.receiver_count()).sum();
        let of_project = all.get(&project).map_or(0, |followed| followed.newest.receiver_count());
        if of_project >= most_of_project {
            return Err(Error::QueueFull(format!(
                "The feed of the project is followed by {most_of_project} clients here, which is the limit \
                 (activity.streams_per_project)."
            )));
        }
        if taken >= most {
            return Err(Error::QueueFull(format!(
                "{most} clients follow feeds here, which is the limit (activity.streams)."
            )));
        }
        let left = most - (taken - of_project);
        if of_project >= left.div_ceil(2) {
            return Err(Error::QueueFull(format!(
                "The feed of the project is followed by {of_project} clients here, half of what others leave of \
                 {most} (activity.streams)."
            )));
        }
        let followed = all.entry(project).or_insert_with(|| {
            Arc::new(Followed { project, newest: watch::Sender::new(-1), reading: AsyncMutex::new(()) })
        });
        let followed = Arc::clone(followed);
        let news = followed.newest.subscribe();
        Ok(Seat { followed, news, all: Arc::clone(&self.followed) })
    }
}

/// Somebody who follows the feed of a project.
pub struct Follower {
    app: App,
    seat: Seat,
    wanted: Wanted,
    write: Write,
    at: Bookmark,
}

impl App {
    /// Follows the feed of a project: from a bookmark on, or from now on.
    pub async fn follow(&self, project: &Project, wanted: Wanted, write: Write) -> Result<Follower> {
        let (number, limits) = (project.number, &self.settings().activity);
        let seat = self.0.insight.stream.seat(number, limits.streams, limits.streams_per_project)?;
        let now = self.clock().now();
        self.write(body!(async |tx| Ok(store::LOG.follow(tx, number, now).await.map(drop)?))).await?;
        // what happened before is before the bookmark
        let newest = self.place_all(number).await?;
        let head = self.read(body!(async |rx| store::LOG.head(rx, number).await)).await?;
        let head = head.unwrap_or(Head { position: newest, removed_to: newest, is_on: false });
        let at = match wanted.from {
            None => Bookmark::behind(newest),
            Some(from) if from.position <= head.removed_to || from > Bookmark::behind(head.position) => {
                return Err(Error::BookmarkGone);
            }
            Some(from) => from,
        };
        seat.followed.newest.send_if_modified(|known| std::mem::replace(known, newest.max(*known)) < newest);
        self.0.insight.stream.waker.wake();
        Ok(Follower { app: self.clone(), seat, wanted, write, at })
    }
}

impl Follower {
    /// How far was read.
    pub fn bookmark(&self) -> Bookmark {
        self.at
    }

    /// Waits for what is wanted, for so long.
    pub async fn next(&mut self, longest: Duration) -> Result<Told> {
        let deadline = tokio::time::Instant::now() + longest;
        loop {
            let newest = *self.seat.news.borrow_and_update();
            if self.at.position <= newest {
                match self.read().await? {
                    Some(events) if events.is_empty() => {}
                    Some(events) => return Ok(Told::Events(events)),
                    None => return Ok(Told::End),
                }
                if tokio::time::Instant::now() < deadline {
                    continue;
                }
            }
            let over = self.app.0.insight.stream.over.clone();
            tokio::select! {
                biased;
                () = over.cancelled() => return Ok(Told::End),
                () = tokio::time::sleep_until(deadline) => return Ok(Told::Nothing(self.at)),
                changed = self.seat.news.changed() => if changed.is_err() { return Ok(Told::End) },
            }
        }
    }

    /// The next page, as far as it is wanted; `None` where the log was removed before it was read.
    async fn read(&mut self) -> Result<Option<String>> {
        let followed = &self.seat.followed;
        let rows = self.app.lines(followed.project, &followed.reading, self.at.position, self.write).await?;
        let mut events = String::new();
        for row in rows {
            if row.position != self.at.position {
                return Ok(if events.is_empty() { None } else { Some(events) });
            }
            self.take(&row, &mut events);
            if events.len() >= PAGE_BYTES {
                break;
            }
        }
        Ok(Some(events))
    }

    /// Adds what is wanted of a row, as much as makes a page, and moves on behind it.
    fn take(&mut self, row: &Row, events: &mut String) {
        let from = self.at.index;
        for line in row.lines.iter().filter(|line| line.index >= from) {
            if self.wanted.has(&line.entry) {
                events.push_str(&line.text);
            }
            if events.len() >= PAGE_BYTES {
                self.at = Bookmark { position: row.position, index: line.index + 1 };
                return;
            }
        }
        self.at = Bookmark::behind(row.position);
    }
}

impl Wanted {
    fn has(&self, entry: &lines::About) -> bool {
        self.types.as_ref().is_none_or(|types| types.contains(&entry.kind)) && entry.is_about(self.scope)
    }
}
