//! A year of a project that records many events: what the feed, figures over time, erasure and retention are measured on.

use std::time::{Duration, Instant};

use anyhow::Result;
use mailwright_core::address::EmailAddress;
use mailwright_core::campaign::{Audience, Campaign, CampaignStatus};
use mailwright_core::ids::{CampaignId, ContactId, ProjectNumber};
use mailwright_core::template::TemplateType;
use mailwright_core::time::{Clock, Timestamp};
use mailwright_store::audience::event::NewEvent;
use mailwright_store::audience::event_counts;
use mailwright_store::body;
use mailwright_store::insight::counter::Counter;
use mailwright_store::insight::deltas::Deltas;
use mailwright_store::insight::rollup;
use mailwright_store::sending::campaign;

use crate::history::append;
use crate::people::People;
use crate::random::Random;
use crate::report::progress;
use crate::seed::{RSA_DOMAIN, Site};

/// How long it is.
pub(crate) const YEAR: Duration = Duration::from_hours(365 * 24);
/// Contacts that do far more than others, the oldest ones, and how many events each of them has.
pub(crate) const BUSY: usize = 8;
pub(crate) const OF_BUSY: usize = 10_000;
/// Campaigns that were sent in it.
const CAMPAIGNS: usize = 200;
/// Events of one transaction.
const BATCH: usize = 10_000;
/// How many events of a thousand have a name. The others have one of [`RARE`] names.
const NAMES: [(&str, usize); 7] = [
    ("page.viewed", 450),
    ("item.added", 200),
    ("feature.used", 150),
    ("order.placed", 120),
    ("contact.subscribed", 30),
    ("segment.vip.entry", 10),
    ("segment.vip.exit", 10),
];
const RARE: usize = 30;

/// A copy of a site with a year of events.
#[derive(Debug)]
pub(crate) struct Year {
    pub(crate) site: Site,
    pub(crate) from: Timestamp,
    pub(crate) events: usize,
}

impl Year {
    pub(crate) fn until(&self) -> Timestamp {
        self.from.plus(YEAR)
    }

    /// A time in it.
    pub(crate) fn any(&self, random: &mut Random) -> Timestamp {
        self.from.plus(Duration::from_millis(random.below(YEAR.as_millis() as usize) as u64))
    }
}

/// Stores `count` events of a site's contacts, evenly over the year that begins at `from`, and some campaigns. Sums of
/// quarters of an hour, and of hours, are folded as the maintenance does.
pub(crate) async fn store(site: Site, count: usize, from: Timestamp) -> Result<Year> {
    let since = Instant::now();
    // rows one by one into indexes as large as these would take most of an hour
    let indexes = site.database.drop_indexes("events").await?;
    let (db, project, now) = (site.database.open()?, site.project, Clock::system().now());
    let mut making = Making { people: &site.people, project, count, from, made: 0, random: Random::new(11) };
    while let Some(events) = making.next_batch() {
        db.write(body!(async |tx| append(tx, &events).await)).await?;
        while db.write(body!(async |tx| rollup::fold(tx, project, now).await)).await? {}
        while db.write(body!(async |tx| event_counts::fold(tx, project, now).await)).await? {}
    }
    campaigns(&db, project, from).await?;
    db.close().await;
    site.database.make_indexes(indexes).await?;
    site.database.vacuum().await?;
    site.database.settle().await?;
    progress(format_args!("stored a year of {count} events in {:.1} s", since.elapsed().as_secs_f64()));
    Ok(Year { site, from, events: count })
}

/// The events, batch by batch.
struct Making<'p> {
    people: &'p People,
    project: ProjectNumber,
    count: usize,
    from: Timestamp,
    made: usize,
    random: Random,
}

impl Making<'_> {
    fn next_batch(&mut self) -> Option<Vec<NewEvent>> {
        let end = self.count.min(self.made + BATCH);
        let events: Vec<_> = (self.made..end).map(|number| self.event(number)).collect();
        self.made = end;
        (!events.is_empty()).then_some(events)
    }

    fn event(&mut self, number: usize) -> NewEvent {
        let at = self.from.plus(YEAR.mul_f64(number as f64 / self.count as f64));
        let contact = match busy(number, self.count) {
            Some(busy) => busy,
            None => BUSY + self.random.below(self.people.len() - BUSY),
        };
        let name = name(self.random.below(1000), &mut self.random);
        NewEvent::bare(self.project, &name, ContactId::from(self.people.id(contact)), at)
    }
}

/// The busy contact whose event this one is.
fn busy(number: usize, count: usize) -> Option<usize> {
    let before = |number: usize| number * BUSY * OF_BUSY / count;
    (before(number) != before(number + 1)).then(|| before(number) % BUSY)
}

fn name(mut number: usize, random: &mut Random) -> String {
    for (name, share) in NAMES {
        if number < share {
            return name.to_owned();
        }
        number -= share;
    }
    format!("step.{:02}", random.below(RARE))
}

/// Campaigns that were sent, with the sums of their mails.
async fn campaigns(db: &mailwright_store::Db, project: ProjectNumber, from: Timestamp) -> Result<()> {
    let campaigns: Vec<Campaign> = (0..CAMPAIGNS).map(|number| one(number, from)).collect();
    db.write(body!(async |tx| {
        let mut deltas = Deltas::default();
        for campaign in &campaigns {
            campaign::create(tx, project, campaign).await?;
            campaign::save_state(tx, project, campaign).await?;
            for (what, count) in [("AUDIENCE", 1000), ("ACCEPTED", 1000), ("OPENED", 400), ("CLICKED", 90)] {
                deltas.add(project, Counter::Campaign, &format!("{}:{what}", campaign.id), count);
            }
        }
        deltas.save(tx).await
    }))
    .await?;
    Ok(())
}

fn one(number: usize, from: Timestamp) -> Campaign {
    let at = from.plus(YEAR.mul_f64(number as f64 / CAMPAIGNS as f64));
    Campaign {
        id: CampaignId::new(at, rand::random()),
        name: format!("News {number}"),
        description: None,
        subject: "News".to_owned(),
        body: "<p>News</p>".to_owned(),
        from: EmailAddress::from_stored(&format!("hello@{RSA_DOMAIN}")),
        from_name: None,
        reply_to: None,
        kind: TemplateType::Marketing,
        tracking: None,
        topic: None,
        status: CampaignStatus::Sent,
        audience: Audience::All,
        scheduled_for: None,
        recipients: 1000,
        sent_at: Some(at),
        paused_at: None,
        frozen_at: None,
        finished_at: Some(at),
        note: None,
        created_at: at,
        updated_at: at,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_contacts_have_as_many_events_each() {
        for count in [300_000, 1_000_003] {
            let mut events = [0; BUSY];
            for busy in (0..count).filter_map(|number| busy(number, count)) {
                events[busy] += 1;
            }
            assert_eq!(events, [OF_BUSY; BUSY], "{count}");
        }
    }

    #[test]
    fn the_shares_of_names_leave_some_for_rare_ones() {
        let frequent: usize = NAMES.iter().map(|(_, share)| share).sum();
        assert_eq!(frequent, 970);
    }
}
