//! The warm-up of new source addresses and sender domains: which mails may leave by a transport now.
//!
//! When mails are placed, those that a new address or domain would send are counted against its
//! [plan](mailwright_core::pacing::warm_up) in one transaction, in a row that all processes share. What exceeds the volume
//! of the hour goes by the next transport of its route, or waits until there is room. A mail that is given back without
//! having left is counted no more; where a process dies, its mails stay counted.

pub mod progress;
pub mod subject;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mailwright_core::email::Lane;
use mailwright_core::ids::{EmailId, ProjectNumber};
use mailwright_core::pacing::warm_up::{Mails, Plan, Standing, WarmUp};
use mailwright_core::time::Timestamp;
use mailwright_store::body;
use mailwright_store::delivery::warm_up as store;
use mailwright_store::sending::email::Claimed;

use self::subject::Subject;
use super::Delivery;
use super::flows::Destination;
use crate::settings::WarmUpSettings;

/// How often what did not leave is written back, where nothing else is asked.
const WRITTEN_EVERY: Duration = Duration::from_secs(30);
/// How often a plan is asked whose hour is used up.
const ASKED_EVERY: Duration = Duration::from_mins(1);
/// How long mail waits while the database does not answer.
const AFTER_FAILURE: Duration = Duration::from_secs(5);
/// The most hours after which mail is looked at again that waits for its turn.
const HORIZON: u32 = 6;

const HOUR: Duration = Duration::from_hours(1);

/// A mail that asks to leave.
pub(super) struct Ask {
    pub(super) destination: Destination,
    pub(super) mail: Claimed,
    pub(super) subjects: Vec<Subject>,
}

/// Until when a subject sends nothing more.
#[derive(Debug)]
struct Spent {
    until: Timestamp,
    /// When it is asked again before: an operator may have ended the plan, and mail may not have left that was counted.
    asked_at: Timestamp,
    /// Mails that may leave in an hour, and how many wait for a later one.
    hourly: u32,
    waiting: u32,
    why: String,
}

impl Spent {
    fn holds(&self, now: Timestamp) -> bool {
        now < self.until && now < self.asked_at
    }
}

/// A mail that is counted.
#[derive(Debug)]
struct Counted {
    project: ProjectNumber,
    subjects: Vec<Subject>,
    is_urgent: bool,
}

#[derive(Debug, Default)]
struct State {
    counted: HashMap<EmailId, Counted>,
    /// Mails that were counted and did not leave.
    owed: BTreeMap<(Subject, ProjectNumber), Mails>,
    /// Addresses that a site has blocked.
    blocked: BTreeSet<Subject>,
    /// By project, and whether the mail is urgent.
    spent: HashMap<(Subject, ProjectNumber, bool), Spent>,
}

impl State {
    fn give_back(&mut self, mail: EmailId) {
        let Some(Counted { project, subjects, is_urgent }) = self.counted.remove(&mail) else { return };
        for subject in subjects {
            // there is room again, for this mail or for another one of the project
            for urgency in [true, false] {
                if let Some(spent) = self.spent.get_mut(&(subject.clone(), project, urgency)) {
                    spent.asked_at = Timestamp(0);
                }
            }
            *count(self.owed.entry((subject, project)).or_default(), is_urgent) += 1;
        }
    }
}

/// What this process knows of warm-ups.
#[derive(Debug)]
pub(super) struct WarmUps {
    settings: WarmUpSettings,
    state: Mutex<State>,
}

/// What a transaction has to do.
#[derive(Debug, Clone, Default)]
struct Work {
    /// The mails that ask, with their subjects.
    asks: Vec<(EmailId, ProjectNumber, Vec<Subject>)>,
    is_urgent: bool,
    owed: BTreeMap<(Subject, ProjectNumber), Mails>,
    blocked: BTreeSet<Subject>,
}

/// What came of it.
#[derive(Debug, Default)]
struct Done {
    admitted: HashSet<EmailId>,
    /// The subjects that send nothing more of a project for now, with where their plans stand.
    spent: Vec<(Subject, ProjectNumber, Standing)>,
}

impl WarmUps {
    pub(super) fn new(settings: &WarmUpSettings) -> Self {
        Self { settings: settings.clone(), state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What warms up with a mail that leaves from an address, if that is new.
    pub(super) fn subjects(&self, new_address: Option<IpAddr>, mail: &Claimed) -> Vec<Subject> {
        let domain = || Subject::of_domain(mail.from.domain());
        let address = new_address.map(Subject::Address);
        address.into_iter().chain(self.settings.domains.then(domain)).collect()
    }

    /// How long a mail waits, and why, of whose subjects one sends nothing more for now.
    pub(super) fn spent(
        &self,
        project: ProjectNumber,
        subjects: &[Subject],
        lane: Lane,
        now: Timestamp,
    ) -> Option<(Duration, String)> {
        let mut state = self.state();
        let key = subjects
            .iter()
            .map(|subject| (subject.clone(), project, is_urgent(lane)))
            .find(|key| state.spent.get(key).is_some_and(|spent| spent.holds(now)))?;
        let spent = state.spent.get_mut(&key)?;
        // one hour's volume for each hour
        let later = (spent.waiting / spent.hourly.max(1)).min(HORIZON);
        spent.waiting = spent.waiting.saturating_add(1);
        Some((spent.until.since(now) + HOUR * later, spent.why.clone()))
    }

    /// Whether an address sends nothing more of a project and lane for now.
    pub(super) fn is_spent(
        &self,
        address: IpAddr,
        project: ProjectNumber,
        lane: Lane,
        now: Timestamp,
    ) -> bool {
        let key = (Subject::Address(address), project, is_urgent(lane));
        self.state().spent.get(&key).is_some_and(|spent| spent.holds(now))
    }

    /// A site blocks an address: today does not count for its plan.
    pub(super) fn blocked(&self, address: IpAddr) {
        self.state().blocked.insert(Subject::Address(address));
    }

    /// A mail has left, or is given up after it was tried.
    pub(super) fn left(&self, mail: EmailId) {
        self.state().counted.remove(&mail);
    }

    /// A mail is no longer this process's: if it has not left, it is not counted.
    pub(super) fn let_go(&self, mail: EmailId) {
        self.state().give_back(mail);
    }

    /// Counts the mails that may leave. Returns those, and those that exceed what may.
    pub(super) async fn admit(
        &self,
        delivery: &Delivery,
        lane: Lane,
        asks: Vec<Ask>,
    ) -> (Vec<(Destination, Claimed)>, Vec<Claimed>) {
        if asks.is_empty() {
            return (Vec::new(), Vec::new());
        }
        let is_urgent = is_urgent(lane);
        let work = {
            let mut state = self.state();
            for ask in &asks {
                // it was to leave by another transport before
                state.give_back(ask.mail.id);
            }
            let asks = asks.iter().map(|ask| (ask.mail.id, ask.mail.project, ask.subjects.clone())).collect();
            Work { asks, is_urgent, ..Self::due(&mut state) }
        };
        let done = self.count(delivery, work).await;
        let mut admitted = Vec::with_capacity(asks.len());
        let mut denied = Vec::new();
        let mut state = self.state();
        for Ask { destination, mail, subjects } in asks {
            if done.contains(&mail.id) {
                state.counted.insert(mail.id, Counted { project: mail.project, subjects, is_urgent });
                admitted.push((destination, mail));
            } else {
                denied.push(mail);
            }
        }
        (admitted, denied)
    }

    /// What is to be written, without mails that ask.
    fn due(state: &mut State) -> Work {
        let (owed, blocked) = (std::mem::take(&mut state.owed), std::mem::take(&mut state.blocked));
        Work { owed, blocked, ..Work::default() }
    }

    /// Does what is to be done. Returns the mails that may leave.
    async fn count(&self, delivery: &Delivery, work: Work) -> HashSet<EmailId> {
        let (plan, now, asked) = (self.settings.plan.clone(), delivery.now(), work.clone());
        let counted = delivery.app.0.db.write(body!(async |tx| count_in(tx, &plan, &asked, now).await)).await;
        let mut state = self.state();
        state.spent.retain(|_, spent| spent.until > now);
        match counted {
            Ok(done) => {
                for (subject, project, standing) in done.spent {
                    let why = explained(&subject, standing, &self.settings.plan);
                    let (until, hourly) = (WarmUp::next_hour(now), standing.hourly);
                    let key = (subject, project, work.is_urgent);
                    let asked_at = now.plus(ASKED_EVERY);
                    if let Some(known) = state.spent.get_mut(&key) {
                        (known.asked_at, known.why) = (asked_at, why);
                        continue;
                    }
                    tracing::info!(subject = %key.0, project = project.0, day = standing.day, volume = standing.volume,
                            today = standing.today, "a warm-up has used what may leave in this hour");
                    state.spent.insert(key, Spent { until, asked_at, hourly, waiting: 0, why });
                }
                done.admitted
            }
            Err(error) => {
                tracing::warn!(%error, "the progress of warm-ups could not be written, their mail waits");
                for (of, mails) in work.owed {
                    let owed = state.owed.entry(of).or_default();
                    owed.urgent += mails.urgent;
                    owed.bulk += mails.bulk;
                }
                state.blocked.extend(work.blocked);
                let of = |(_, project, subjects): (EmailId, ProjectNumber, Vec<Subject>)| {
                    subjects.into_iter().map(move |subject| (subject, project))
                };
                let asked: BTreeSet<_> = work.asks.into_iter().flat_map(of).collect();
                for (subject, project) in asked {
                    let why = "The mail waits, because the database did not answer.".to_owned();
                    let until = now.plus(AFTER_FAILURE);
                    let spent = Spent { until, asked_at: until, hourly: u32::MAX, waiting: 0, why };
                    state.spent.insert((subject, project, work.is_urgent), spent);
                }
                HashSet::new()
            }
        }
    }
}

/// Counts mails against the plans of their subjects, in a transaction.
async fn count_in(
    tx: &mut mailwright_store::Tx<'_>,
    plan: &Plan,
    work: &Work,
    now: Timestamp,
) -> mailwright_store::Result<Done> {
    let mut wanted: BTreeMap<(&Subject, ProjectNumber), Mails> = BTreeMap::new();
    for (_, project, subjects) in &work.asks {
        for subject in subjects {
            *count(wanted.entry((subject, *project)).or_default(), work.is_urgent) += 1;
        }
    }
    let asked = wanted.keys().map(|(subject, _)| *subject);
    let subjects: BTreeSet<&Subject> =
        asked.chain(work.owed.keys().map(|(subject, _)| subject)).chain(&work.blocked).collect();
    let mut names: Vec<String> = subjects.iter().map(ToString::to_string).collect();
    names.sort_unstable();
    let stored = store::lock(tx, &names, now).await?;
    let read = |subject: &&Subject| {
        let text = stored.get(&subject.to_string());
        text.and_then(|text| serde_json::from_str::<WarmUp>(text).ok()).unwrap_or_default()
    };
    let mut known: BTreeMap<&Subject, WarmUp> =
        subjects.iter().map(|subject| (*subject, read(subject))).collect();
    for ((subject, project), mails) in &work.owed {
        if let Some(progress) = known.get_mut(subject) {
            progress.give_back(*project, *mails);
        }
    }
    for subject in &work.blocked {
        if let Some(progress) = known.get_mut(subject) {
            progress.blocked();
        }
    }
    let mut done = Done::default();
    let mut left: HashMap<(&Subject, ProjectNumber), u32> = HashMap::new();
    for ((subject, project), asked) in wanted {
        let Some(progress) = known.get_mut(subject) else { continue };
        let taken = progress.take(plan, project, asked, now).all();
        if taken < asked.all()
            && let Some(standing) = progress.standing(plan, now)
        {
            done.spent.push((subject.clone(), project, standing));
        }
        left.insert((subject, project), taken);
    }
    for (mail, project, subjects) in &work.asks {
        let has_room = |subject: &Subject| left.get(&(subject, *project)).is_some_and(|left| *left > 0);
        if subjects.iter().all(has_room) {
            for subject in subjects {
                if let Some(left) = left.get_mut(&(subject, *project)) {
                    *left -= 1;
                }
            }
            done.admitted.insert(*mail);
        }
    }
    for ((subject, project), unused) in left {
        let mut mails = Mails::default();
        *count(&mut mails, work.is_urgent) = unused;
        if let Some(progress) = known.get_mut(subject) {
            progress.give_back(project, mails);
        }
    }
    let written = |progress: &WarmUp| serde_json::to_string(progress).unwrap_or_else(|_| "{}".into());
    let mut rows: Vec<_> =
        known.iter().map(|(subject, progress)| (subject.to_string(), written(progress))).collect();
    rows.sort_unstable();
    store::put(tx, &rows, now).await?;
    Ok(done)
}

fn is_urgent(lane: Lane) -> bool {
    lane == Lane::Transactional
}

fn count(mails: &mut Mails, is_urgent: bool) -> &mut u32 {
    if is_urgent { &mut mails.urgent } else { &mut mails.bulk }
}

/// Why mail of a subject waits, in a sentence.
fn explained(subject: &Subject, standing: Standing, plan: &Plan) -> String {
    let Standing { day, volume, hourly, .. } = standing;
    let what = match subject {
        Subject::Address(address) => format!("the address {address}"),
        Subject::Domain(domain) => format!("the domain {domain}"),
    };
    let days = plan.days();
    format!(
        "The mail waits, because {what} is new to receivers: on day {day} of {days} it sends {volume} mails, \
         {hourly} in an hour."
    )
}

/// Writes back what did not leave, until the service stops.
pub(super) async fn run(delivery: Arc<Delivery>) {
    while delivery.tasks.pause(WRITTEN_EVERY).await {
        let work = {
            let warm_up = &delivery.warm_up;
            let mut state = warm_up.state();
            WarmUps::due(&mut state)
        };
        if !work.owed.is_empty() || !work.blocked.is_empty() {
            delivery.warm_up.count(&delivery, work).await;
        }
    }
}
