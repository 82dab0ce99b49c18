//! Judges opens and clicks some seconds after they came in, when it shows whether a person or a machine was there.
//!
//! All hits of a mail are judged together, every time: what is stored of each is compared with what it is now, and the
//! difference is counted. So it does not matter in how many pieces they come, and whether they are judged again because
//! the lists of machines have changed. The counters, and the events, are those of the last judgement.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mailwright_core::event::Activity;
use mailwright_core::hit::{self as core, HitClass, Judgement, MailFacts, RawHit, Target};
use mailwright_core::ids::{EmailId, EventId, ProjectNumber};
use mailwright_core::time::Timestamp;
use mailwright_store::feedback::heat::{self, Heat};
use mailwright_store::feedback::hit::{self as store, Hit, Judged};
use mailwright_store::feedback::mail::State;
use mailwright_store::{Result as StoreResult, Tx, body};

use super::intake::{Intake, Learnt};
use super::mail_links::{MailLinks, stored_links};
use super::tracked::{LinkNumber, TRAP};
use crate::App;
use crate::background::project_work::ProjectWork;
use crate::background::runner::{Next, Runner, Work};
use crate::background::tasks::Tasks;
use crate::delivery::bookkeeping::Suppress;
use crate::error::Result;
use crate::sending::content::Link;

/// How often it is looked for hits that are due.
const SWEEP: Duration = Duration::from_millis(500);
/// How much longer than a look the pause after it is.
const REST: u32 = 10;
/// Most hits whose mails are judged in one transaction.
const BATCH: i64 = 500;
/// Most opens of a mail, and most clicks. Further ones are not kept, and not counted.
const MAX_HITS: usize = 300;
/// When the hits of a mail that is being handed over are looked at again.
const TOO_EARLY: Duration = Duration::from_secs(5);
/// How long a project rests whose hits could not be judged: at first, doubling up to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

pub(super) fn start(app: &App, tasks: &Tasks) {
    let judging = Judging { app: app.clone(), work: ProjectWork::new(tasks) };
    Runner::new(app, "opens and clicks", SWEEP).woken_by(&app.0.feedback.hits).start(tasks, judging);
}

struct Judging {
    app: App,
    work: ProjectWork,
}

impl Work for Judging {
    async fn round(&mut self) -> Result<Next> {
        let (began, now) = (Instant::now(), self.app.clock().now());
        let projects = self.app.read(body!(async |rx| store::due_projects(rx, now).await)).await?;
        for project in projects {
            let (app, work) = (self.app.clone(), self.work.clone());
            self.work.start("opens and clicks", project, async move {
                let mut pause = FIRST_PAUSE;
                while let Err(error) = app.judge_hits(project, &work).await {
                    tracing::warn!(%error, project = project.0, ?pause, "opens and clicks could not be judged, trying again");
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
            });
        }
        Ok(Next::Rested(began.elapsed() * REST))
    }
}

impl App {
    /// Judges what is due of a project, batch after batch.
    async fn judge_hits(&self, project: ProjectNumber, work: &ProjectWork) -> Result<()> {
        let began = Instant::now();
        loop {
            let now = self.clock().now();
            let mails = self.read(body!(async |rx| store::due(rx, project, now, BATCH).await)).await?;
            if mails.is_empty() {
                return Ok(());
            }
            let app = self.clone();
            let judged =
                self.write_in_background(body!(async |tx| Ok(run(tx, &app, project, &mails, now).await?)));
            match judged.await {
                // what another transaction is at is for a later round
                Err(error) if error.is_contention() => return Ok(()),
                other => other?,
            }
            if !work.goes_on(began) {
                return Ok(());
            }
        }
    }
}

/// Judges the hits of some mails.
async fn run(
    tx: &mut Tx<'_>,
    app: &App,
    project: ProjectNumber,
    mails: &[EmailId],
    now: Timestamp,
) -> StoreResult<()> {
    let mut intake = Intake::open(tx, project, mails).await?;
    let stored = store::of_mails(tx, project, mails).await?;
    let (mut put_off, mut removed, mut judged) = (Vec::new(), Vec::new(), Vec::new());
    for hits in stored.chunk_by(|one, other| one.email == other.email) {
        let Some(first) = hits.first() else { continue };
        let of_mail = intake
            .mail(first.email)
            .map(|mail| (mail.state(), mail.content_hash.clone(), mail.own_links.clone()));
        match of_mail {
            None | Some((State::Never, ..)) => removed.extend(hits.iter().map(|hit| (hit.email, hit.id))),
            Some((State::TooEarly, ..)) => put_off.push(first.email),
            Some((State::Left, hash, own)) => {
                let links = MailLinks { content: links_of(tx, app, project, hash).await?, own };
                let (kept, surplus) = within_limits(hits);
                removed.extend(surplus);
                judge(&mut intake, project, kept, (app, &links), &mut judged);
            }
        }
    }
    let judged: Vec<Judged<'_>> = judged
        .iter()
        .map(|(hit, judgement)| Judged {
            hit,
            class: judgement.class.as_str(),
            reason: judgement.reason.as_str(),
        })
        .collect();
    store::judge(tx, project, &judged).await?;
    store::put_off(tx, project, &put_off, now.plus(TOO_EARLY)).await?;
    store::remove(tx, project, &removed).await?;
    intake.save(tx, now).await
}

/// The hits of a mail that are kept, oldest first, and those that are too many.
fn within_limits(hits: &[Hit]) -> (Vec<&Hit>, Vec<(EmailId, EventId)>) {
    let (mut opens, mut clicks) = (0, 0);
    let (kept, surplus): (Vec<&Hit>, Vec<&Hit>) = hits.iter().partition(|hit| {
        let count = if hit.link.is_some() { &mut clicks } else { &mut opens };
        *count += 1;
        *count <= MAX_HITS
    });
    (kept, surplus.into_iter().map(|hit| (hit.email, hit.id)).collect())
}

/// The links of a content, from memory if it is known there.
async fn links_of(
    tx: &mut Tx<'_>,
    app: &App,
    project: ProjectNumber,
    hash: Vec<u8>,
) -> StoreResult<Arc<Vec<Link>>> {
    let (known, key) = (&app.0.feedback.links, (project, hash));
    if let Some(links) = known.get(&key) {
        return Ok(links);
    }
    let links = stored_links(tx, project, &key.1).await?;
    known.insert(key, Arc::clone(&links));
    Ok(links)
}

/// Judges the hits of one mail, and notes what has changed.
fn judge<'h>(
    intake: &mut Intake,
    project: ProjectNumber,
    hits: Vec<&'h Hit>,
    (app, links): (&App, &MailLinks),
    judged: &mut Vec<(&'h Hit, Judgement)>,
) {
    let Some(mail) = hits.first().and_then(|hit| intake.mail(hit.email)) else { return };
    let (id, campaign) = (mail.id, mail.campaign);
    let facts = MailFacts {
        handed_over_at: mail.before.sent_at,
        delivered_at: mail.before.delivered_at,
        links: links.count(),
        trap: Some(TRAP),
    };
    let raw: Vec<RawHit> = hits.iter().map(|hit| raw(hit)).collect();
    let tables = app.0.feedback.machine_lists.tables();
    let judgements = core::judge(&tables, &app.settings().tracking.timing, &facts, &[], &raw).hits;
    let mut all: Vec<(&Hit, Judgement)> = hits.into_iter().zip(judgements).collect();
    all.sort_by_key(|(hit, _)| (hit.at, hit.id));
    for (hit, judgement) in &all {
        change(intake, id, links, hit, judgement.class);
    }
    correct(intake, id, &all);
    if let Some(campaign) = campaign {
        for (link, heat, delta) in heat_of(&all) {
            heat::count(&mut intake.deltas, project, campaign, link, (heat, delta));
        }
    }
    let is_news = |hit: &Hit, judgement: &Judgement| {
        hit.is_due
            || hit.class.as_deref() != Some(judgement.class.as_str())
            || hit.reason.as_deref() != Some(judgement.reason.as_str())
    };
    judged.extend(all.into_iter().filter(|(hit, judgement)| is_news(hit, judgement)));
}

fn raw(hit: &Hit) -> RawHit {
    let link = hit.link.and_then(|link| u32::try_from(link).ok());
    RawHit {
        at: hit.at,
        target: link.map_or(Target::Pixel, Target::Link),
        agent: hit.agent.clone(),
        address: hit.address.parse().ok(),
    }
}

/// What a hit was judged to be before.
fn before(hit: &Hit) -> Option<HitClass> {
    hit.class.as_deref().and_then(HitClass::from_name)
}

fn is_person(class: Option<HitClass>) -> bool {
    class == Some(HitClass::Human)
}

/// Counts a hit that is now of a class, and takes back what it was counted as.
fn change(intake: &mut Intake, id: EmailId, links: &MailLinks, hit: &Hit, class: HitClass) {
    let (before, activity) = (before(hit), activity(hit));
    if before == Some(class) {
        return;
    }
    let Some(mail) = intake.mail(id) else { return };
    let now = &mut mail.now;
    let (people, machines) = match activity {
        Activity::Clicked => (&mut now.clicks, &mut now.machine_clicks),
        _ => (&mut now.opens, &mut now.machine_opens),
    };
    match (is_person(before), is_person(Some(class))) {
        (true, false) => {
            *people = (*people - 1).max(0);
            *machines += 1;
            intake.withdraw(hit.id, activity, hit.at);
        }
        (false, true) => {
            if before.is_some() {
                *machines = (*machines - 1).max(0);
            }
            let target = hit.url.clone().or_else(|| links.target(u32::try_from(hit.link?).ok()?));
            let data = hit.link.map(|_| ("link", target.into()));
            let data = data.into_iter().collect();
            intake.learn(
                id,
                Learnt { activity, at: hit.at, id: Some(hit.id), data, suppress: Suppress::Never },
            );
        }
        // a proxy that is a scanner, or the other way round
        (false, false) if before.is_some() => {}
        (false, false) => {
            *machines += 1;
            now.settle(hit.at);
        }
        (true, true) => {}
    }
}

fn activity(hit: &Hit) -> Activity {
    if hit.link.is_some() { Activity::Clicked } else { Activity::Opened }
}

/// Sets the times anew of a mail of which an open or a click was taken back.
fn correct(intake: &mut Intake, id: EmailId, all: &[(&Hit, Judgement)]) {
    let taken_back = all.iter().any(|(hit, now)| is_person(before(hit)) && now.class != HitClass::Human);
    let Some(mail) = intake.mail(id).filter(|_| taken_back) else { return };
    let times = |activity_of: Activity| {
        let people =
            all.iter().filter(|(hit, now)| now.class == HitClass::Human && activity(hit) == activity_of);
        let times: Vec<Timestamp> = people.map(|(hit, _)| hit.at).collect();
        times.iter().min().copied().zip(times.iter().max().copied())
    };
    let (opened, clicked) = (times(Activity::Opened), times(Activity::Clicked));
    let now = &mut mail.now;
    set(now.opens, opened, &mut now.opened_at, &mut now.last_opened_at);
    set(now.clicks, clicked, &mut now.clicked_at, &mut now.last_clicked_at);
    let sent_at = now.sent_at.unwrap_or_default();
    now.settle(sent_at);
}

/// Sets first and last time to those of the hits that are left; where some are counted that are not stored any more,
/// the times stay.
fn set(
    count: i64,
    times: Option<(Timestamp, Timestamp)>,
    first: &mut Option<Timestamp>,
    last: &mut Option<Timestamp>,
) {
    if count == 0 {
        (*first, *last) = (None, None);
    } else if let Some((earliest, latest)) = times {
        (*first, *last) = (Some(earliest), Some(latest));
    }
}

/// What has changed for the links of the campaign: link, what, by how much.
fn heat_of(all: &[(&Hit, Judgement)]) -> Vec<(i64, Heat, i64)> {
    #[derive(Default)]
    struct Counts {
        people: (i64, i64),
        machines: (i64, i64),
    }
    let mut links: BTreeMap<i64, Counts> = BTreeMap::new();
    for (hit, judgement) in all {
        // the link that nobody sees is none of the mail's
        let number = hit.link.and_then(|link| u32::try_from(link).ok()).filter(|number| *number != TRAP);
        let Some(number) = number else { continue };
        let counts = links.entry(i64::from(LinkNumber::of(number).link)).or_default();
        match before(hit) {
            Some(HitClass::Human) => counts.people.0 += 1,
            Some(HitClass::Proxy | HitClass::Scanner) => counts.machines.0 += 1,
            None => {}
        }
        match judgement.class {
            HitClass::Human => counts.people.1 += 1,
            HitClass::Proxy | HitClass::Scanner => counts.machines.1 += 1,
        }
    }
    let is_any = |count: i64| i64::from(count > 0);
    let changes = links.into_iter().flat_map(|(link, Counts { people, machines })| {
        [
            (link, Heat::Clicks, people.1 - people.0),
            (link, Heat::People, is_any(people.1) - is_any(people.0)),
            (link, Heat::Machines, machines.1 - machines.0),
        ]
    });
    changes.filter(|(_, _, delta)| *delta != 0).collect()
}
