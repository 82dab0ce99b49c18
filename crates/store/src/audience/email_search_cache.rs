//! The addresses of large projects in memory, to count those that contain a common substring.
//!
//! The trigram index finds a rare substring. How many addresses contain a common one is known only after a scan, which
//! takes a database 100 ns for each address and memory a few. So the first common search of a large project starts to
//! read its addresses in the background, and later searches are counted here.
//!
//! A cache is checked before each count. It reads the contacts that were added since. It is discarded unless the
//! project then has exactly as many contacts as the cache has addresses, and no contact was removed or got another
//! address meanwhile.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mailwright_core::ids::{ContactId, ProjectNumber};
use mailwright_core::time::Timestamp;
use memchr::memchr;
use memchr::memmem::Finder;
use tokio::task::AbortHandle;

use crate::args;
use crate::body;
use crate::database::db::Db;
use crate::database::error::{Error, Result};
use crate::database::tx::Rx;
use crate::insight::counter::{self, Counter};

/// A cache that nobody asked for this long is thrown away.
const IDLE: Duration = Duration::from_mins(5);
/// Addresses read at a time.
const STEP: i64 = 20_000;
/// Bytes of a block of addresses. One block for all would be copied each time it grew, and need twice its memory then.
const BLOCK: usize = 256 * 1024;

/// The addresses of a project, one a line, in the order of the contacts' ids.
#[derive(Debug)]
struct Cache {
    blocks: Vec<Vec<u8>>,
    count: i64,
    newest: ContactId,
    /// How many contacts of the project had been removed or got another address.
    revisions: i64,
}

impl Cache {
    fn new(revisions: i64) -> Self {
        Self { blocks: Vec::new(), count: 0, newest: ContactId::first_of(Timestamp(0)), revisions }
    }

    fn add(&mut self, contacts: &[(ContactId, String)]) {
        for (id, email) in contacts {
            let block = match self.blocks.last_mut() {
                Some(block) if block.capacity() - block.len() > email.len() => block,
                _ => self.blocks.push_mut(Vec::with_capacity(BLOCK.max(email.len() + 1))),
            };
            block.extend_from_slice(email.as_bytes());
            block.push(b'\n');
            self.newest = *id;
        }
        self.count += contacts.len() as i64;
    }

    /// How many bytes as many addresses take as a project has contacts, if they are as long as those that are here.
    fn bytes_of(&self, contacts: i64) -> usize {
        let (bytes, held) = (self.bytes() as i128, i128::from(self.count.max(1)));
        usize::try_from(bytes * i128::from(contacts) / held).unwrap_or(usize::MAX)
    }

    fn bytes(&self) -> usize {
        self.blocks.iter().map(Vec::capacity).sum()
    }

    /// How many addresses hold a text.
    fn holding(&self, text: &str) -> i64 {
        if text.contains('\n') {
            return 0;
        }
        let finder = Finder::new(text);
        self.blocks.iter().map(|block| lines_with(&finder, block)).sum()
    }
}

/// How many lines hold what is looked for.
fn lines_with(finder: &Finder<'_>, lines: &[u8]) -> i64 {
    let (mut rest, mut count) = (lines, 0);
    while let Some(at) = finder.find(rest) {
        count += 1;
        // the rest of this address counts no second time
        let end = memchr(b'\n', &rest[at..]).map_or(rest.len(), |end| at + end + 1);
        rest = &rest[end..];
    }
    count
}

/// The caches of this process.
#[derive(Debug)]
pub struct EmailSearchCaches {
    db: Db,
    slot: Arc<Mutex<Slot>>,
}

#[derive(Debug, Default)]
struct Slot {
    /// Most bytes of all caches together.
    limit: usize,
    caches: Vec<Kept>,
    writing: Vec<(ProjectNumber, AbortHandle)>,
}

#[derive(Debug)]
struct Kept {
    project: ProjectNumber,
    bytes: usize,
    used: Instant,
    cache: Arc<tokio::sync::Mutex<Cache>>,
}

impl Slot {
    fn take_out(&mut self, project: ProjectNumber) -> Option<Arc<tokio::sync::Mutex<Cache>>> {
        self.drop_idle();
        let kept = self.caches.iter_mut().find(|kept| kept.project == project)?;
        kept.used = Instant::now();
        Some(Arc::clone(&kept.cache))
    }

    fn drop_idle(&mut self) {
        self.caches.retain(|kept| kept.used.elapsed() < IDLE);
    }

    fn throw_away(&mut self, project: ProjectNumber) {
        self.caches.retain(|kept| kept.project != project);
    }

    fn put(&mut self, project: ProjectNumber, cache: Cache) {
        self.throw_away(project);
        let bytes = cache.bytes();
        let cache = Arc::new(tokio::sync::Mutex::new(cache));
        self.caches.push(Kept { project, bytes, used: Instant::now(), cache });
        self.make_room();
    }

    /// Addresses were added to a project's cache.
    fn grew(&mut self, project: ProjectNumber, bytes: usize) {
        for kept in self.caches.iter_mut().filter(|kept| kept.project == project) {
            kept.bytes = bytes;
        }
        self.make_room();
    }

    /// Where there is no room, the caches that were not asked for the longest go.
    fn make_room(&mut self) {
        self.caches.sort_by_key(|kept| std::cmp::Reverse(kept.used));
        let mut sum = 0;
        self.caches.retain(|kept| {
            sum += kept.bytes;
            sum <= self.limit
        });
    }

    fn bytes(&mut self) -> usize {
        self.drop_idle();
        self.caches.iter().map(|kept| kept.bytes).sum()
    }
}

impl Drop for EmailSearchCaches {
    fn drop(&mut self) {
        for (_, task) in &lock(&self.slot).writing {
            task.abort();
        }
    }
}

fn lock(slot: &Mutex<Slot>) -> MutexGuard<'_, Slot> {
    slot.lock().unwrap_or_else(PoisonError::into_inner)
}

impl EmailSearchCaches {
    /// No caches yet; those to come take `limit` bytes together at most.
    pub fn new(db: Db, limit: usize) -> Self {
        Self { db, slot: Arc::new(Mutex::new(Slot { limit, ..Slot::default() })) }
    }

    /// How many bytes the caches take. Those that nobody asked for long enough are thrown away.
    pub fn bytes(&self) -> usize {
        lock(&self.slot).bytes()
    }

    /// How many contacts of a project hold a text in their address; `None` when there is no cache to tell.
    pub async fn count(&self, project: ProjectNumber, text: &str) -> Result<Option<i64>> {
        let Some(cache) = lock(&self.slot).take_out(project) else { return Ok(None) };
        let mut cache = cache.lock_owned().await;
        let (revisions, newest, held) = (cache.revisions, cache.newest, cache.count);
        let added = self
            .db
            .read_slow(project, body!(async |rx| added(rx, project, revisions, newest, held).await))
            .await?;
        let Some(added) = added else {
            lock(&self.slot).throw_away(project);
            return Ok(None);
        };
        if !added.is_empty() {
            cache.add(&added);
            lock(&self.slot).grew(project, cache.bytes());
        }
        let text = text.to_owned();
        let count = tokio::task::spawn_blocking(move || cache.holding(&text)).await;
        count.map(Some).map_err(|e| Error::Panicked(e.to_string()))
    }

    /// Has a project's cache written in the background, unless it is there or being written.
    pub fn write_soon(&self, project: ProjectNumber) {
        let mut kept = lock(&self.slot);
        kept.writing.retain(|(_, task)| !task.is_finished());
        // one that is there already was written while the search went on
        let is_there = kept.caches.iter().any(|kept| kept.project == project);
        if is_there || kept.writing.iter().any(|(number, _)| *number == project) {
            return;
        }
        let (db, to, limit) = (self.db.clone(), Arc::clone(&self.slot), kept.limit);
        let task = tokio::spawn(async move {
            match write(&db, project, limit).await {
                Ok(Some(cache)) => lock(&to).put(project, cache),
                Ok(None) => {}
                Err(error) => tracing::debug!(%error, "the addresses of a project could not be read"),
            }
        });
        kept.writing.push((project, task.abort_handle()));
    }
}

/// Reads the addresses of a project; `None` when they take more bytes than `limit`, which the first of them tell already.
async fn write(db: &Db, project: ProjectNumber, limit: usize) -> Result<Option<Cache>> {
    let (contacts, revisions) = db.read(body!(async |rx| sums(rx, project).await)).await?;
    let mut cache = Cache::new(revisions);
    loop {
        let newest = cache.newest;
        let step = db.read_in_background(project, body!(async |rx| after(rx, project, newest, STEP).await));
        let step = step.await?;
        cache.add(&step);
        if step.len() < STEP as usize {
            return Ok(Some(cache));
        }
        if cache.bytes_of(contacts.max(cache.count)) > limit {
            return Ok(None);
        }
    }
}

async fn after(
    rx: &Rx<'_>,
    project: ProjectNumber,
    newest: ContactId,
    limit: i64,
) -> Result<Vec<(ContactId, String)>> {
    rx.all(
        "select id, email from contacts where project_id = $1 and id > $2 order by id limit $3",
        args![project, newest, limit],
        |r| Ok((r.get(0)?, r.get(1)?)),
    )
    .await
}

/// How many contacts a project has, and how many of them were removed or got another address so far.
async fn sums(rx: &Rx<'_>, project: ProjectNumber) -> Result<(i64, i64)> {
    Ok((
        counter::value(rx, project, Counter::Contacts, "").await?,
        counter::value(rx, project, Counter::AddressRevisions, "").await?,
    ))
}

/// What has to be added to a cache for it to be complete; `None` when that is not enough.
async fn added(
    rx: &Rx<'_>,
    project: ProjectNumber,
    revisions: i64,
    newest: ContactId,
    held: i64,
) -> Result<Option<Vec<(ContactId, String)>>> {
    let added = after(rx, project, newest, STEP).await?;
    let (contacts, revised_now) = sums(rx, project).await?;
    Ok((revisions == revised_now && held + added.len() as i64 == contacts).then_some(added))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_holds_a_text_twice_counts_once() {
        let mut cache = Cache::new(0);
        let id = ContactId::first_of(Timestamp(1));
        cache.add(&[(id, "anna@anna.example".into()), (id, "bob@host.example".into())]);
        assert_eq!([cache.holding("anna"), cache.holding("example"), cache.holding("bob")], [1, 2, 1]);
        assert_eq!([cache.holding("nobody"), cache.holding("e\nbob")], [0, 0]);
    }

    #[test]
    fn addresses_of_many_blocks_are_counted_and_their_memory_is_known_after_the_first() {
        let mut cache = Cache::new(0);
        let id = ContactId::first_of(Timestamp(1));
        let contacts: Vec<_> = (0..20_000).map(|n| (id, format!("person-{n}@host.example"))).collect();
        for _ in 0..3 {
            cache.add(&contacts);
        }
        assert_eq!((cache.count, cache.holding("host"), cache.holding("person-7@")), (60_000, 60_000, 3));
        assert!((5..=7).contains(&cache.blocks.len()), "{}", cache.blocks.len());
        assert_eq!(cache.bytes(), cache.blocks.len() * BLOCK);
        assert_eq!(cache.bytes_of(120_000), 2 * cache.bytes());
    }
}
