//! Which segments there are, who is in them, and which changes make contacts join.
//!
//! Half of the segments look at a number among the data, half at events of a rare name: ever, and in windows of three
//! lengths. Who is a member follows from how contacts and events are made.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use mailwright_core::ids::{ContactId, ProjectNumber, SegmentId};
use mailwright_core::segment::{Segment, SegmentType, event_name};
use mailwright_core::time::Timestamp;
use mailwright_store::Db;
use mailwright_store::audience::segment::{self as store, Membership, Standing};
use mailwright_store::body;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::history::{History, RARE, rare};
use crate::people::{self, People, SCORES};
use crate::random::{Random, Shuffle};
use crate::seed::Site;

/// Segments that look at the score.
const SLICES: usize = 100;
/// From the first score of a slice to that of the next one.
const APART: usize = SCORES / SLICES;
/// Scores that belong to a slice.
const WIDTH: usize = APART / 5;
/// The windows of segments that look at events, in days.
const WINDOWS: [Option<u64>; 4] = [None, Some(30), Some(7), Some(1)];
/// Memberships of one transaction. On SQLite, larger ones take longer for each row.
const BATCH: usize = 500;

/// Segments and their members.
pub(super) struct Plan {
    people: Arc<People>,
    now: Timestamp,
    segments: Vec<(Segment, Vec<usize>)>,
    /// Who had which rare event.
    had: HashSet<(usize, usize)>,
}

/// A change that makes a contact join segments.
pub(super) struct Change {
    pub(super) contact: Uuid,
    number: usize,
    kind: Kind,
}

enum Kind {
    /// A score in this slice.
    Score { slice: usize, score: usize },
    /// The first event of this rare name.
    Event { rare: usize },
}

impl Plan {
    /// The segments of a site as they are at `now`.
    pub(super) fn new(site: &Site, history: &History, now: Timestamp) -> Self {
        let mut slices = vec![Vec::new(); SLICES];
        for number in 0..site.people.len() {
            let score = people::score(number);
            if score % APART < WIDTH {
                slices[score / APART].push(number);
            }
        }
        let slices = slices.into_iter().enumerate().map(|(slice, members)| {
            let first = slice * APART;
            let filters = json!([
                { "field": "data.score", "operator": "greaterThanOrEqual", "value": first },
                { "field": "data.score", "operator": "lessThan", "value": first + WIDTH },
            ]);
            (segment(&slice_name(slice), &filters, now), members)
        });
        let mut segments: Vec<_> = slices.collect();
        for rare in 0..RARE {
            let newest: BTreeMap<usize, Timestamp> = history.of(rare).iter().copied().collect();
            for days in WINDOWS {
                let from = days.map_or(Timestamp(0), |days| now.minus(Duration::from_hours(24 * days)));
                let members = newest.iter().filter(|(_, at)| **at >= from).map(|(number, _)| *number);
                segments.push((window(rare, days, now), members.collect()));
            }
        }
        let had = (0..RARE).flat_map(|rare| history.of(rare).iter().map(move |(number, _)| (rare, *number)));
        Self { people: Arc::clone(&site.people), now, segments, had: had.collect() }
    }

    /// How many segments there are.
    pub(super) fn segments(&self) -> usize {
        self.segments.len()
    }

    /// How many memberships there are.
    pub(super) fn members(&self) -> usize {
        self.segments.iter().map(|(_, members)| members.len()).sum()
    }

    /// A segment of each kind, and how many members it has.
    pub(super) fn samples(&self) -> impl Iterator<Item = (&Segment, u64)> {
        [0, SLICES, SLICES + 1].into_iter().map(|at| {
            let (segment, members) = &self.segments[at];
            (segment, members.len() as u64)
        })
    }

    /// Stores segments and members, as they are after everybody was judged. No server may be running.
    pub(super) async fn store(&self, db: &Db, project: ProjectNumber) -> Result<()> {
        let segments: Vec<_> = self.segments.iter().map(|(segment, _)| segment.clone()).collect();
        let now = self.now;
        db.write(body!(async |tx| {
            store::lock(tx, project, now).await?;
            for segment in &segments {
                let standing = Standing { counted: 0, settled: true, due_at: None };
                store::create(tx, project, segment, standing).await?;
            }
            store::changed(tx, project, now).await
        }))
        .await?;
        let mut all: Vec<_> = self.segments.iter().flat_map(|entry| self.memberships(entry)).collect();
        all.sort_unstable();
        for batch in all.chunks(BATCH) {
            let batch = batch.to_vec();
            db.write(body!(async |tx| enter(tx, project, &batch, now).await)).await?;
        }
        Ok(())
    }

    fn memberships<'p>(
        &'p self,
        (segment, members): &'p (Segment, Vec<usize>),
    ) -> impl Iterator<Item = Membership> + 'p {
        members.iter().map(|number| Membership {
            segment: segment.id,
            contact: ContactId::from(self.people.id(*number)),
        })
    }

    /// Changes that each make another contact join: every other one by new data.
    pub(super) fn changes(&self, count: usize) -> Vec<Change> {
        let mut random = Random::new(9);
        let mut order = Shuffle::new(self.people.len(), 1);
        let change = |at: usize| {
            let number = order.next();
            let kind = if at.is_multiple_of(2) {
                new_score(number, &mut random)
            } else {
                self.first_event(number, &mut random)
            };
            Change { contact: self.people.id(number), number, kind }
        };
        (0..count).map(change).collect()
    }

    fn first_event(&self, number: usize, random: &mut Random) -> Kind {
        loop {
            let rare = random.below(RARE);
            if !self.had.contains(&(rare, number)) {
                return Kind::Event { rare };
            }
        }
    }
}

impl Change {
    pub(super) fn is_event(&self) -> bool {
        matches!(self.kind, Kind::Event { .. })
    }

    pub(super) fn is_of_data(&self) -> bool {
        !self.is_event()
    }

    /// Method, path and body.
    pub(super) fn request(&self) -> (&'static str, String, Value) {
        match self.kind {
            Kind::Score { score, .. } => {
                ("PATCH", format!("/contacts/{}", self.contact), json!({ "data": { "score": score } }))
            }
            Kind::Event { rare: number } => {
                let body = json!({ "email": people::email(self.number), "event": rare(number) });
                ("POST", "/v1/track".to_owned(), body)
            }
        }
    }

    /// The names of the events that follow.
    pub(super) fn entries(&self) -> Vec<String> {
        match self.kind {
            Kind::Score { slice, .. } => vec![event_name(&slice_name(slice), true)],
            Kind::Event { rare } => {
                WINDOWS.iter().map(|days| event_name(&window_name(rare, *days), true)).collect()
            }
        }
    }
}

/// A score that belongs to another slice than the one that is stored.
fn new_score(number: usize, random: &mut Random) -> Kind {
    let slice = loop {
        let slice = random.below(SLICES);
        if slice != people::score(number) / APART {
            break slice;
        }
    };
    Kind::Score { slice, score: slice * APART + random.below(WIDTH) }
}

fn slice_name(slice: usize) -> String {
    format!("slice {slice:03}")
}

fn window_name(number: usize, days: Option<u64>) -> String {
    match days {
        None => format!("step {number:02} ever"),
        Some(days) => format!("step {number:02} in {days} days"),
    }
}

fn window(number: usize, days: Option<u64>, now: Timestamp) -> Segment {
    let field = format!("event.{}", rare(number));
    let filter = match days {
        None => json!({ "field": field, "operator": "triggered" }),
        Some(days) => {
            json!({ "field": field, "operator": "triggeredWithin", "value": days, "unit": "days" })
        }
    };
    segment(&window_name(number, days), &json!([filter]), now)
}

fn segment(name: &str, filters: &Value, now: Timestamp) -> Segment {
    Segment {
        id: SegmentId::new(now, rand::random()),
        name: name.to_owned(),
        description: None,
        kind: SegmentType::Dynamic,
        condition: Some(json!({ "logic": "AND", "groups": [{ "filters": filters }] })),
        track_membership: true,
        member_count: 0,
        created_at: now,
        updated_at: now,
    }
}

async fn enter(
    tx: &mut mailwright_store::Tx<'_>,
    project: ProjectNumber,
    members: &[Membership],
    now: Timestamp,
) -> mailwright_store::Result<()> {
    store::enter(tx, project, members, now).await?;
    let mut sums: HashMap<SegmentId, i64> = HashMap::new();
    for member in members {
        *sums.entry(member.segment).or_default() += 1;
    }
    store::count_changes(tx, project, &sums.into_iter().collect()).await
}
