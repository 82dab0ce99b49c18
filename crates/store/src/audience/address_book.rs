//! The addresses of large projects in memory, to count those that hold a common substring.
//!
//! The trigram index finds a rare substring. How many addresses hold a common one only a scan can tell, which takes a
//! database 100 ns an address and memory a few. So the first common search of a large project has its addresses read
//! in the background, and the searches that follow are counted here.
//!
//! A book is never trusted: before each count it takes in the contacts that were added since, and it is thrown away
//! unless the project then has exactly as many contacts as the book has addresses, and none was removed or got another
//! address meanwhile.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mailwright_core::ids::{ContactId, ProjectNumber};
use mailwright_core::time::Timestamp;
use memchr::memchr;
use memchr::memmem::Finder;
use tokio::task::AbortHandle;

use crate::args;
use crate::database::db::Db;
use crate::database::error::{Error, Result};
use crate::database::tx::Rx;
use crate::database::value::Arg;

/// Most bytes of all books together.
const BYTES: usize = 64 * 1024 * 1024;
/// A book that nobody asked for this long is thrown away.
const IDLE: Duration = Duration::from_mins(5);
/// Addresses read at a time.
const STEP: i64 = 20_000;

/// The addresses of a project, one a line, in the order of the contacts' ids.
#[derive(Debug)]
struct Book {
    lines: Vec<u8>,
    count: i64,
    newest: ContactId,
    /// How many contacts of the project had been removed or got another address.
    moves: i64,
}

impl Book {
    fn new(moves: i64) -> Self {
        Self { lines: Vec::new(), count: 0, newest: ContactId::first_of(Timestamp(0)), moves }
    }

    fn add(&mut self, contacts: &[(ContactId, String)]) {
        for (id, email) in contacts {
            self.lines.extend_from_slice(email.as_bytes());
            self.lines.push(b'\n');
            self.newest = *id;
        }
        self.count += contacts.len() as i64;
    }

    /// How many addresses hold a text.
    fn holding(&self, text: &str) -> i64 {
        if text.contains('\n') {
            return 0;
        }
        let finder = Finder::new(text);
        let (mut rest, mut count) = (&self.lines[..], 0);
        while let Some(at) = finder.find(rest) {
            count += 1;
            // the rest of this address counts no second time
            let end = memchr(b'\n', &rest[at..]).map_or(rest.len(), |end| at + end + 1);
            rest = &rest[end..];
        }
        count
    }
}

/// The books of this process.
#[derive(Debug)]
pub struct AddressBooks {
    db: Db,
    shelf: Arc<Mutex<Shelf>>,
}

#[derive(Debug, Default)]
struct Shelf {
    books: Vec<Kept>,
    writing: Vec<(ProjectNumber, AbortHandle)>,
}

#[derive(Debug)]
struct Kept {
    project: ProjectNumber,
    /// As it was written; what is added later is little.
    bytes: usize,
    used: Instant,
    book: Arc<tokio::sync::Mutex<Book>>,
}

impl Shelf {
    fn take_out(&mut self, project: ProjectNumber) -> Option<Arc<tokio::sync::Mutex<Book>>> {
        self.books.retain(|kept| kept.used.elapsed() < IDLE);
        let kept = self.books.iter_mut().find(|kept| kept.project == project)?;
        kept.used = Instant::now();
        Some(Arc::clone(&kept.book))
    }

    fn throw_away(&mut self, project: ProjectNumber) {
        self.books.retain(|kept| kept.project != project);
    }

    /// Where there is no room, the books that were not asked for the longest go.
    fn put(&mut self, project: ProjectNumber, book: Book) {
        self.throw_away(project);
        let bytes = book.lines.len();
        let book = Arc::new(tokio::sync::Mutex::new(book));
        self.books.push(Kept { project, bytes, used: Instant::now(), book });
        self.books.sort_by_key(|kept| std::cmp::Reverse(kept.used));
        let mut sum = 0;
        self.books.retain(|kept| {
            sum += kept.bytes;
            sum <= BYTES
        });
    }
}

impl Drop for AddressBooks {
    fn drop(&mut self) {
        for (_, task) in &lock(&self.shelf).writing {
            task.abort();
        }
    }
}

fn lock(shelf: &Mutex<Shelf>) -> MutexGuard<'_, Shelf> {
    shelf.lock().unwrap_or_else(PoisonError::into_inner)
}

impl AddressBooks {
    /// An empty shelf.
    pub fn new(db: Db) -> Self {
        Self { db, shelf: Arc::default() }
    }

    /// How many contacts of a project hold a text in their address; `None` when there is no book to tell.
    pub async fn count(&self, project: ProjectNumber, text: &str) -> Result<Option<i64>> {
        let Some(book) = lock(&self.shelf).take_out(project) else { return Ok(None) };
        let mut book = book.lock_owned().await;
        let (moves, newest, held) = (book.moves, book.newest, book.count);
        let added = self
            .db
            .read_slow(project, move |rx| {
                Box::pin(async move { added(rx, project, moves, newest, held).await })
            })
            .await?;
        let Some(added) = added else {
            lock(&self.shelf).throw_away(project);
            return Ok(None);
        };
        book.add(&added);
        let text = text.to_owned();
        let count = tokio::task::spawn_blocking(move || book.holding(&text)).await;
        count.map(Some).map_err(|e| Error::Panicked(e.to_string()))
    }

    /// Has a project's book written in the background, unless it is being written already.
    pub fn write_soon(&self, project: ProjectNumber) {
        let mut kept = lock(&self.shelf);
        kept.writing.retain(|(_, task)| !task.is_finished());
        if kept.writing.iter().any(|(number, _)| *number == project) {
            return;
        }
        let (db, to) = (self.db.clone(), Arc::clone(&self.shelf));
        let task = tokio::spawn(async move {
            match write(&db, project).await {
                Ok(Some(book)) => lock(&to).put(project, book),
                Ok(None) => {}
                Err(error) => tracing::debug!(%error, "the addresses of a project could not be read"),
            }
        });
        kept.writing.push((project, task.abort_handle()));
    }
}

async fn write(db: &Db, project: ProjectNumber) -> Result<Option<Book>> {
    let moves = db.read(move |rx| Box::pin(async move { sums(rx, project).await })).await?.1;
    let mut book = Book::new(moves);
    loop {
        let newest = book.newest;
        let step = db.read_in_background(project, move |rx| {
            Box::pin(async move { after(rx, project, newest, STEP).await })
        });
        let step = step.await?;
        book.add(&step);
        if step.len() < STEP as usize {
            return Ok(Some(book));
        }
        if book.lines.len() > BYTES {
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
    rx.one(
        "select cast(coalesce(sum(case when kind = 'contacts' then value end), 0) as {int}), \
         cast(coalesce(sum(case when kind = 'moves' then value end), 0) as {int}) \
         from counters where project_id = $1 and kind {in $2} and name = ''",
        &[project.into(), Arg::Texts(vec![Some("contacts".into()), Some("moves".into())])],
        |r| Ok((r.get(0)?, r.get(1)?)),
    )
    .await
}

/// What has to be added to a book for it to be complete; `None` when that is not enough.
async fn added(
    rx: &Rx<'_>,
    project: ProjectNumber,
    moves: i64,
    newest: ContactId,
    held: i64,
) -> Result<Option<Vec<(ContactId, String)>>> {
    let added = after(rx, project, newest, STEP).await?;
    let (contacts, moves_now) = sums(rx, project).await?;
    Ok((moves == moves_now && held + added.len() as i64 == contacts).then_some(added))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_holds_a_text_twice_counts_once() {
        let mut book = Book::new(0);
        let id = ContactId::first_of(Timestamp(1));
        book.add(&[(id, "anna@anna.example".into()), (id, "bob@host.example".into())]);
        assert_eq!([book.holding("anna"), book.holding("example"), book.holding("bob")], [1, 2, 1]);
        assert_eq!([book.holding("nobody"), book.holding("e\nbob")], [0, 0]);
    }
}
