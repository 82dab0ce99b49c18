//! Asks the pace of each site what may be brought there, tells it what was said, and gives back the mail of sites that take
//! none for a while.
//!
//! A pace is a row that all processes share ([`mailwright_store::delivery::site`]). The steps of many sites are one
//! transaction, and the rows are locked in the order of their names.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use mailwright_core::email::{Lane, Reason};
use mailwright_core::pacing::limits::{Limits, receiver_of};
use mailwright_core::pacing::{Grant, Pace, PaceReason, Report, Wish};
use mailwright_core::routing::TransportNumber;
use mailwright_core::time::Timestamp;
use mailwright_store::body;
use mailwright_store::delivery::site::{self, SiteKey};
use mailwright_store::sending::email::{self, Claimed, Parked};

use super::Direct;
use super::explained::explained;
use super::site::room::{HANGING_HELD, LONG, Room};
use super::site::{Slow, Standing};
use crate::delivery::dispatcher::Taken;
use crate::delivery::flows::{Destination, Flow};
use crate::delivery::outcome::Via;
use crate::delivery::site_metrics::{SiteSums, with_most_mail};
use crate::delivery::{Delivery, claim_ref};

/// How often it is looked which sites are to be asked.
const LOOK: Duration = Duration::from_millis(250);
/// The shortest time between two looks, so that many mails share one.
const APART: Duration = Duration::from_millis(10);
/// Pause after the database did not answer.
const AFTER_FAILURE: Duration = Duration::from_secs(1);
/// Most steps in one transaction.
const MOST_STEPS: usize = 250;
/// How often what is not needed is forgotten.
const TIDIED_EVERY: Duration = Duration::from_secs(30);
/// How often the metrics are written.
const MEASURED_EVERY: Duration = Duration::from_secs(5);
/// The longest time until mail is looked at again that waits for a site.
const HORIZON: Duration = Duration::from_mins(15);
/// When mail is looked at again for which its project's other mail leaves no room.
const CROWDED_FOR: Duration = Duration::from_secs(15);

/// What a process tells and asks a pace.
#[derive(Debug, Clone)]
struct Step {
    key: SiteKey,
    report: Report,
    wish: Wish,
    limits: Limits,
}

/// What a pace answers.
struct Answer {
    site: String,
    grant: Grant,
    rate: Option<f64>,
    reply: Option<String>,
}

/// Runs until the service stops.
pub(super) async fn run(delivery: Arc<Delivery>, transport: TransportNumber, direct: Arc<Direct>) {
    let (mut tidied_at, mut measured_at) = (delivery.now(), Timestamp(0));
    let mut measured = Vec::new();
    while !delivery.tasks.is_stopping() {
        let now = delivery.now();
        let queued = delivery.app.0.delivery.dispatcher.queued_by_destination(transport);
        let (steps, reaped, by_site) = {
            let mut sites = direct.sites();
            sites.interventions = delivery.interventions.current();
            let by_site = sites.by_site(&queued);
            if now.since(tidied_at) >= TIDIED_EVERY || tidied_at > now {
                sites.forget(&queued, now);
                tidied_at = now;
            }
            let reaped = sites.reap(now);
            let source = direct.source();
            let steps = sites.each().filter_map(|(name, site)| {
                let waiting = by_site.get(name).copied().unwrap_or_default();
                site.note_queue(waiting, now);
                let (report, wish) = site.ask(waiting, now)?;
                let key = SiteKey { source: source.clone(), site: name.to_string() };
                Some(Step { key, report, wish, limits: site.limits })
            });
            (steps.collect::<Vec<_>>(), reaped, by_site)
        };
        Direct::close(&delivery.tasks, reaped);
        if delivery.now().since(measured_at) >= MEASURED_EVERY || measured_at > delivery.now() {
            measured = measure(&delivery, &direct, transport, &measured, &by_site);
            measured_at = delivery.now();
        }
        let answered = ask(&delivery, &direct, steps).await;
        if delivery.tasks.is_stopping() {
            break; // the feeders give back what is queued
        }
        park(&delivery, &direct, by_site.keys()).await;
        let pause = if answered { APART } else { AFTER_FAILURE };
        delivery.tasks.pause(pause).await;
        tokio::select! {
            () = direct.asked.notified() => {}
            _ = delivery.tasks.pause(LOOK) => {}
        }
    }
    leave(&delivery, &direct).await;
}

/// Shows in the metrics how the sites are, those with most mail by name. `before` and what is returned are their names.
fn measure(
    delivery: &Delivery,
    direct: &Direct,
    transport: TransportNumber,
    before: &[String],
    held: &BTreeMap<Arc<str>, usize>,
) -> Vec<String> {
    let now = delivery.now();
    let (mut sums, mut all) = (SiteSums::default(), Vec::new());
    let figures = {
        let mut sites = direct.sites();
        for (name, site) in sites.each() {
            let held = held.get(name).copied().unwrap_or_default();
            sums.add(held, site.open, site.state(now));
            all.push((held, site.open, Arc::clone(name)));
        }
        let most = with_most_mail(all).into_iter();
        most.filter_map(|(held, _, name)| Some(sites.site(&name)?.figures(&name, held, now))).collect()
    };
    let name = delivery.outlets.all.get(usize::from(transport.0)).map(|outlet| Arc::clone(outlet.hop.name()));
    let (name, metrics) = (name.as_deref().unwrap_or_default(), &delivery.app.metrics().sites);
    metrics.note_sums(name, &sums);
    metrics.note(name, before, figures)
}

/// Asks the paces, many in one transaction. Returns whether all have answered.
async fn ask(delivery: &Delivery, direct: &Direct, mut steps: Vec<Step>) -> bool {
    steps.sort_unstable_by(|a, b| a.key.cmp(&b.key));
    let mut answered = true;
    for part in steps.chunks(MOST_STEPS) {
        match step(delivery, direct.process, part).await {
            Ok(answers) => {
                let mut sites = direct.sites();
                for Answer { site: name, grant, rate, reply } in answers {
                    let Some(site) = sites.site(&name) else { continue };
                    if let Some(reason) = site.granted(grant, rate, reply.as_deref()) {
                        tell(&name, reason, reply.as_deref().unwrap_or_default());
                        // others could be made to say so, to hold the address back
                        let is_large = receiver_of(&name).is_some();
                        if let (PaceReason::Blocked, true, Some(address)) =
                            (reason, is_large, direct.new_address())
                        {
                            delivery.warm_up.blocked(address);
                        }
                    }
                }
                drop(sites);
                direct.changed.notify_one();
            }
            Err(error) => {
                tracing::warn!(%error, "the pace of sites could not be asked, mail for them waits");
                answered = false;
                let mut sites = direct.sites();
                for step in part {
                    if let Some(site) = sites.site(&step.key.site) {
                        site.unasked(step.report.clone());
                    }
                }
            }
        }
    }
    answered
}

/// Says in the log that a site takes nothing for a while.
fn tell(site: &str, reason: PaceReason, reply: &str) {
    match reason {
        PaceReason::Blocked => {
            tracing::warn!(site, reply, "a site blocks the address that mail comes from, mail for it waits");
        }
        PaceReason::Resting => {
            tracing::info!(site, reply, "a site asks for less mail, it is left alone for a while");
        }
        PaceReason::Rate | PaceReason::Connections => {}
    }
}

/// One transaction: what was said is taken into account, and what may be brought is granted.
async fn step(delivery: &Delivery, process: u64, steps: &[Step]) -> mailwright_store::Result<Vec<Answer>> {
    let (steps, now) = (steps.to_vec(), delivery.now());
    // where no other process can use the database, whoever did has ended
    let alone_since = (!delivery.app.0.db.is_shared()).then_some(delivery.begun_at);
    let stepped = delivery.app.0.db.write(body!(async |tx| {
        let keys: Vec<_> = steps.iter().map(|step| step.key.clone()).collect();
        let stored = site::lock(tx, &keys, now).await?;
        let mut answers = Vec::with_capacity(steps.len());
        let mut paces = Vec::with_capacity(steps.len());
        for step in &steps {
            // a row that cannot be read begins anew: it is a hint, and the site says again what it takes
            let mut pace: Pace =
                stored.get(&step.key).and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
            if let Some(since) = alone_since {
                pace.take_back(since);
            }
            let grant = pace.step(process, &step.report, step.wish, step.limits, now);
            let reply = pace.trouble().map(|(_, reply)| reply.to_owned());
            answers.push(Answer { site: step.key.site.clone(), grant, rate: pace.per_minute(), reply });
            paces.push((step.key.clone(), serde_json::to_string(&pace).unwrap_or_else(|_| "{}".into())));
        }
        site::put(tx, &paces, now).await?;
        Ok(answers)
    }));
    stepped.await
}

/// What mail for a site waits for that is given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Awaited {
    /// The site as a whole.
    Site,
    /// Servers that hang.
    Answer,
    /// Room beside other mail of its project.
    Room,
    /// Servers that cannot be reached.
    Servers(Destination),
}

/// Mails for a site that are given back, with the times at which they are looked at again.
struct Waiting {
    why: String,
    mails: Vec<(Claimed, Timestamp)>,
}

/// Gives back what sites do not take soon, each mail to be looked at again when it may leave. Where a site blocks us, mail
/// that may leave by another transport does so.
async fn park(delivery: &Arc<Delivery>, direct: &Direct, queued: impl Iterator<Item = &Arc<str>>) {
    let now = delivery.now();
    let (waiting, elsewhere) = withdraw(delivery, direct, queued, now);
    for Waiting { why, mails } in waiting {
        delivery.park(mails, &why, now).await;
    }
    for (lane, mails) in elsewhere {
        delivery.place(lane, mails).await;
    }
}

fn withdraw<'q>(
    delivery: &Delivery,
    direct: &Direct,
    queued: impl Iterator<Item = &'q Arc<str>>,
    now: Timestamp,
) -> (Vec<Waiting>, Vec<(Lane, Vec<Claimed>)>) {
    let mut sites = direct.sites();
    let mut rooms = HashMap::new();
    for name in queued {
        if let Some(site) = sites.site(name) {
            rooms.insert(Arc::clone(name), site.room(now));
        }
    }
    // what is held is held for a site, however many projects, lanes and domains it is of
    let mut left: HashMap<_, _> = rooms.iter().map(|(name, room)| (Arc::clone(name), room.keeps)).collect();
    // and sites that do not answer must not keep the mail for others out, however many they are
    let mut held_for_silent = sites.held_for_silent();
    let withdrawn = delivery.app.0.delivery.dispatcher.withdraw(|flow: Flow, count| {
        let path = sites.path(flow.destination)?;
        if sites.interventions.moves(flow.project, &path.site) {
            return Some(0);
        }
        if let Some((until, _)) = sites.rests(flow.destination, now)
            && until.since(now) > LONG
        {
            return Some(0);
        }
        let left = left.get_mut(&path.site)?;
        let mut kept = left.map_or(count, |left| count.min(left));
        let standing = sites.standing(flow.destination, now);
        let hangs = standing == Standing::Hangs;
        if hangs {
            kept = kept.min(HANGING_HELD);
        }
        if hangs || sites.is_silent(flow.destination, now) || sites.is_crowded_out(flow.project, standing) {
            kept = kept.min(held_for_silent);
            held_for_silent -= kept;
        }
        // what hangs leaves what is held for the site to its other servers
        if let Some(left) = left.as_mut().filter(|_| !hangs) {
            *left -= kept;
        }
        Some(kept)
    });
    let mut by_site: BTreeMap<(Arc<str>, Awaited), Vec<Claimed>> = BTreeMap::new();
    let mut elsewhere = Vec::new();
    for Taken { lane, flow, mails } in withdrawn {
        // withdrawn since it has one
        let Some(path) = sites.path(flow.destination) else { continue };
        let is_blocked = sites.blocked_until(flow.destination, now).is_some();
        let is_meant = sites.interventions.moves(flow.project, &path.site);
        let (choice, rest): (Vec<_>, Vec<_>) =
            mails.into_iter().partition(|mail| is_meant || is_blocked && delivery.has_choice(mail, lane));
        let awaited = match (sites.rests(flow.destination, now), sites.standing(flow.destination, now)) {
            (Some(_), _) => Awaited::Servers(flow.destination),
            (None, Standing::Hangs) => Awaited::Answer,
            (None, standing) if sites.is_crowded_out(flow.project, standing) => Awaited::Room,
            (None, _) => Awaited::Site,
        };
        by_site.entry((Arc::clone(&path.site), awaited)).or_default().extend(rest);
        elsewhere.push((lane, choice));
    }
    elsewhere.retain(|(_, mails)| !mails.is_empty());
    let waiting = by_site.into_iter().filter(|(_, mails)| !mails.is_empty());
    let waiting = waiting.filter_map(|((name, awaited), mails)| {
        let (room, slow) = match awaited {
            Awaited::Servers(destination) => {
                let (until, error) = sites.rests(destination, now)?;
                (Room::after(until), Slow::Unreachable(error.to_owned()))
            }
            Awaited::Answer => (sites.site(&name)?.room_of_hanging(now), Slow::Hangs),
            Awaited::Room => (Room::after(now.plus(CROWDED_FOR)), Slow::Crowded),
            Awaited::Site => (rooms.get(&name)?.clone(), sites.site(&name)?.why(now)),
        };
        let site = sites.site(&name)?;
        let why = explained(&name, &slow);
        let slots = site.slots(mails.len(), &room, HORIZON);
        Some(Waiting { why, mails: mails.into_iter().zip(slots).collect() })
    });
    (waiting.collect(), elsewhere)
}

/// Gives back what was granted, so that other processes need not wait until it ends.
async fn leave(delivery: &Arc<Delivery>, direct: &Direct) {
    let (steps, lines) = {
        let mut sites = direct.sites();
        let lines = sites.close();
        let source = direct.source();
        let steps = sites.each().filter_map(|(name, site)| {
            let report = site.last_report()?;
            let key = SiteKey { source: source.clone(), site: name.to_string() };
            Some(Step { key, report, wish: Wish::default(), limits: site.limits })
        });
        (steps.collect(), lines)
    };
    Direct::close(&delivery.tasks, lines);
    ask(delivery, direct, steps).await;
}

impl Delivery {
    /// Gives mails back without an attempt, each to be looked at again at a time of its own. Those that would wait for
    /// longer than a mail may are given up.
    pub(in crate::delivery) async fn park(
        self: &Arc<Self>,
        mails: Vec<(Claimed, Timestamp)>,
        why: &str,
        now: Timestamp,
    ) {
        let (in_time, late): (Vec<_>, Vec<_>) = mails
            .into_iter()
            .partition(|(mail, due_at)| mail.waited + due_at.since(now) <= self.backoff.patience);
        for (mail, _) in late {
            let text = format!("Given up after waiting for too long. {why}");
            self.record(self.unsendable(&mail, None, (Reason::Expired, text), Via::NOWHERE)).await;
        }
        let parked: Vec<_> = in_time
            .iter()
            .map(|(mail, due_at)| Parked {
                claim: self.held.current(claim_ref(mail)),
                due_at: *due_at,
                waits: due_at.since(now),
            })
            .collect();
        for (mail, _) in &in_time {
            self.done_with(mail.id);
        }
        for part in parked.chunks(500) {
            let (part, why) = (part.to_vec(), why.to_owned());
            let written = self.app.0.db.write(body!(async |tx| email::park(tx, &part, &why).await)).await;
            if let Err(error) = written {
                tracing::warn!(%error, "claims could not be given back, their leases will end");
            }
        }
    }
}
