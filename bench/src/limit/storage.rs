//! The product's own storage layer without HTTP: what `/v1/track` stores, many callers in a group.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result};
use mailwright_core::address::EmailAddress;
use mailwright_core::consent::{ConsentWay, Evidence};
use mailwright_core::contact::Subscription;
use mailwright_core::custom_data::{Data, DataPatch};
use mailwright_core::ids::{EventId, ProjectNumber};
use mailwright_core::time::{Clock, Timestamp};
use mailwright_store::audience::contact::{Contacts, Upsert};
use mailwright_store::audience::event::{self, NewEvent};
use mailwright_store::insight::deltas::Deltas;
use mailwright_store::{Coalescer, Tx};
use tokio::task::JoinSet;

use crate::case::Bench;
use crate::people::{self, EVENTS, Kind, People, SCORES, STRANGER_DATA};
use crate::random::Random;
use crate::stats::{Latencies, Summary};

/// Calls a second and their latencies, with `callers` calls under way at any time.
pub(crate) async fn coalesced(bench: &mut Bench<'_>, callers: usize) -> Result<(f64, Summary)> {
    let measured = bench.options.measured();
    let (project, people) = (bench.site.project, Arc::clone(&bench.site.people));
    let database = bench.limit_database().await?;
    database.settle().await?;
    let db = database.open()?;
    let coalescer = Arc::new(Coalescer::writes(&db, |tx, calls| Box::pin(run(tx, calls))));
    let begin = Instant::now();
    let mut tasks = JoinSet::new();
    for caller in 0..callers {
        let (coalescer, people) = (Arc::clone(&coalescer), Arc::clone(&people));
        tasks.spawn(async move {
            let (mut random, clock) = (Random::new(caller as u64 + 1), Clock::system());
            let mut latencies = Latencies::default();
            let mut calls = 0_u64;
            while begin.elapsed() < measured {
                let call = Call::make(project, &people, &mut random, clock.now())?;
                let since = Instant::now();
                coalescer.call(call.route(), call).await?;
                latencies.record(since.elapsed());
                calls += 1;
            }
            anyhow::Ok((calls, latencies))
        });
    }
    let (mut calls, mut latencies) = (0, Latencies::default());
    while let Some(done) = tasks.join_next().await {
        let (count, part) = done??;
        calls += count;
        latencies.merge(part);
    }
    let rate = calls as f64 / begin.elapsed().as_secs_f64();
    drop(coalescer);
    db.close().await;
    Ok((rate, latencies.summary().context("nothing was stored")?))
}

struct Call {
    project: ProjectNumber,
    email: EmailAddress,
    event: &'static str,
    patch: DataPatch,
    data: Option<String>,
    at: Timestamp,
}

impl Call {
    fn make(project: ProjectNumber, people: &People, random: &mut Random, at: Timestamp) -> Result<Self> {
        let (email, data) = match Kind::of(random.next()) {
            Kind::New => (people.stranger(), Some(STRANGER_DATA.to_owned())),
            Kind::Changed => {
                let score = SCORES + random.below(1_000_000_000);
                (people::email(random.below(people.len())), Some(format!("{{\"score\":{score}}}")))
            }
            Kind::Known => (people::email(random.below(people.len())), None),
        };
        let patch = data.as_deref().map(serde_json::from_str::<Data>).transpose()?.unwrap_or_default();
        Ok(Self {
            project,
            email: EmailAddress::from_stored(&email),
            event: EVENTS[random.below(EVENTS.len())],
            patch: DataPatch::new(patch),
            data,
            at,
        })
    }

    /// Calls about the same contact take the same way.
    fn route(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.email.hash(&mut hasher);
        hasher.finish()
    }
}

async fn run(tx: &mut Tx<'_>, calls: &[Call]) -> mailwright_store::Result<Vec<()>> {
    let subscription = Subscription { given: None, default_for_new: true, preserve_existing: false };
    let mut contacts = Contacts::load(tx, calls.iter().map(|call| (call.project, &call.email))).await?;
    let mut events = Vec::with_capacity(calls.len());
    for call in calls {
        let evidence = Evidence::by(ConsentWay::Track);
        let (project, email, patch) = (call.project, &call.email, &call.patch);
        let upsert = Upsert { project, email, subscription, patch, evidence, double_opt_in: false };
        let contact = contacts.upsert(upsert, call.at).contact.id;
        events.push(NewEvent {
            id: EventId::new(call.at, rand::random()),
            data: call.data.clone(),
            ..NewEvent::bare(call.project, call.event, contact, call.at)
        });
    }
    let mut deltas = Deltas::default();
    contacts.save(tx, &mut deltas).await?;
    event::append(tx, &events, &mut deltas).await?;
    deltas.save(tx).await?;
    Ok(vec![(); calls.len()])
}
