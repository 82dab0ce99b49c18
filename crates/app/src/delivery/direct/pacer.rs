//! Asks the pace of each site what may be brought there, and tells it what was said.
//!
//! A pace is a row that all processes share ([`mailwright_store::delivery::site`]). The steps of many sites are one
//! transaction, and the rows are locked in the order of their names.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use mailwright_core::pacing::limits::{Limits, receiver_of};
use mailwright_core::pacing::{Grant, Pace, PaceReason, Report, Wish};
use mailwright_core::routing::TransportNumber;
use mailwright_core::time::Timestamp;
use mailwright_store::body;
use mailwright_store::delivery::site::{self, SiteKey};

use super::Direct;
use super::giving_back::give_back;
use crate::delivery::Delivery;
use crate::delivery::site_metrics::{SiteSums, with_most_mail};

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
            let (source, known) = (direct.source(), Arc::clone(&sites.interventions));
            let steps = sites.each().filter_map(|(name, site)| {
                if let Some(at) = known.resumed_at(name) {
                    site.resumed(at);
                }
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
        give_back(&delivery, &direct, by_site.keys()).await;
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
