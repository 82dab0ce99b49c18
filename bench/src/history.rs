//! What the contacts of a project did in the past: events, stored as the product stores them.

use std::time::Instant;

use anyhow::Result;
use mailwright_core::ids::{ContactId, ProjectNumber};
use mailwright_core::time::Timestamp;
use mailwright_store::audience::event::{self, NewEvent};
use mailwright_store::body;
use mailwright_store::insight::deltas::Deltas;

use crate::people::People;
use crate::random::Random;
use crate::report::progress;
use crate::seed::{HISTORY, Site};

/// Events of one transaction.
const BATCH: usize = 10_000;
/// How many events of a thousand have a frequent name.
const FREQUENT: [(&str, usize); 4] =
    [("page.viewed", 500), ("item.added", 200), ("feature.used", 150), ("order.placed", 125)];
/// Names that one event of a thousand has each.
pub(crate) const RARE: usize = 25;

/// The name of rare events: `step.07`.
pub(crate) fn rare(number: usize) -> String {
    format!("step.{number:02}")
}

/// The rare events of a project; who has the frequent ones is not remembered.
#[derive(Debug)]
pub(crate) struct History {
    rare: Vec<Vec<(usize, Timestamp)>>,
}

impl History {
    /// The events of a rare name: which contact, and when, the oldest first.
    pub(crate) fn of(&self, number: usize) -> &[(usize, Timestamp)] {
        &self.rare[number]
    }
}

/// Stores `count` events of a site's contacts, evenly over the time since the first contact was created. Each is about
/// one of the contacts that there were by then, so the older ones have more.
pub(crate) async fn store(site: &Site, count: usize) -> Result<History> {
    let since = Instant::now();
    // rows one by one into indexes as large as these would take most of an hour
    let indexes = site.database.drop_indexes("events").await?;
    let db = site.database.open()?;
    let mut past = Past::new(&site.people, site.project, count);
    while let Some(events) = past.next_batch() {
        db.write(body!(async |tx| append(tx, &events).await)).await?;
    }
    db.close().await;
    site.database.make_indexes(indexes).await?;
    site.database.vacuum().await?;
    site.database.settle().await?;
    progress(format_args!("stored {count} events in {:.1} s", since.elapsed().as_secs_f64()));
    Ok(History { rare: past.rare })
}

/// Records events in a transaction, with all that is counted of them.
pub(crate) async fn append(
    tx: &mut mailwright_store::Tx<'_>,
    events: &[NewEvent],
) -> mailwright_store::Result<()> {
    let mut deltas = Deltas::default();
    event::append(tx, events, &mut deltas).await?;
    deltas.save(tx).await
}

/// The events, batch by batch.
struct Past<'p> {
    people: &'p People,
    project: ProjectNumber,
    count: usize,
    made: usize,
    random: Random,
    rare: Vec<Vec<(usize, Timestamp)>>,
}

impl<'p> Past<'p> {
    fn new(people: &'p People, project: ProjectNumber, count: usize) -> Self {
        Self { people, project, count, made: 0, random: Random::new(5), rare: vec![Vec::new(); RARE] }
    }

    fn next_batch(&mut self) -> Option<Vec<NewEvent>> {
        let end = self.count.min(self.made + BATCH);
        let events: Vec<_> = (self.made..end).map(|number| self.event(number)).collect();
        self.made = end;
        (!events.is_empty()).then_some(events)
    }

    fn event(&mut self, number: usize) -> NewEvent {
        let first = ContactId::from(self.people.id(0)).instant();
        let passed = (number + 1) as f64 / self.count as f64;
        let at = first.plus(HISTORY.mul_f64(passed));
        let contact = self.random.below((self.people.len() as f64 * passed) as usize);
        let name = match Name::of(self.random.below(1000)) {
            Name::Frequent(name) => name.to_owned(),
            Name::Rare(number) => {
                self.rare[number].push((contact, at));
                rare(number)
            }
        };
        NewEvent::bare(self.project, &name, self.people.id(contact).into(), at)
    }
}

/// The name of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Name {
    Frequent(&'static str),
    Rare(usize),
}

impl Name {
    /// The name of the event that has this number out of a thousand.
    fn of(mut number: usize) -> Self {
        for (name, share) in FREQUENT {
            if number < share {
                return Self::Frequent(name);
            }
            number -= share;
        }
        Self::Rare(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_has_a_name() {
        let names: Vec<_> = (0..1000).map(Name::of).collect();
        for (name, share) in FREQUENT {
            assert_eq!(names.iter().filter(|given| **given == Name::Frequent(name)).count(), share);
        }
        for number in 0..RARE {
            assert_eq!(names.iter().filter(|given| **given == Name::Rare(number)).count(), 1);
        }
    }
}
