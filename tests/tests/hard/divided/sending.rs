//! Callers that send mails of a project all the time, what they were answered, and what became of the mails.

use mailwright_testkit::smtp::ScriptedServer;
use mailwright_testkit::{App, Request, json};
use mailwright_tests::random::Random;
use mailwright_tests::{as_project, text};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

use crate::faults::assert_unavailable;

use super::{CONNECTIONS, Placed};

/// Callers of a project at the same time.
const CALLERS: usize = 4;
/// How long an answer may take: longer than the service lets a statement run.
const ANSWERED_WITHIN: Duration = Duration::from_mins(2);
/// How long it may take until mails are accepted, once nothing is in their way.
pub(super) const BACK_WITHIN: Duration = Duration::from_secs(30);
/// How long the queue may take until it is empty.
const EMPTY_WITHIN: Duration = Duration::from_mins(2);

/// A request to send that was answered.
#[derive(Clone, Debug)]
pub(super) struct Answered {
    pub(super) to: String,
    pub(super) status: u16,
    /// The id of the mail, if it was accepted.
    email: Option<String>,
    pub(super) began: Instant,
    pub(super) ended: Instant,
}

impl Answered {
    pub(super) fn is_accepted(&self) -> bool {
        self.email.is_some()
    }

    /// Whether it was asked and answered between two moments.
    pub(super) fn is_within(&self, (from, until): (Instant, Instant)) -> bool {
        self.began >= from && self.ended <= until
    }
}

/// What the callers of a project share.
#[derive(Debug, Default)]
struct Shared {
    enough: AtomicBool,
    next: AtomicUsize,
    answers: Mutex<Vec<Answered>>,
}

/// The callers of a project.
#[derive(Debug)]
pub(super) struct Callers {
    pub(super) placed: Placed,
    shared: Arc<Shared>,
    running: JoinSet<()>,
}

impl Callers {
    pub(super) fn start(app: &App, placed: &Placed, random: &mut Random) -> Self {
        let (shared, mut running) = (Arc::new(Shared::default()), JoinSet::new());
        for _ in 0..CALLERS {
            let request = as_project(app, &placed.project, "POST", "/v1/send").timeout(ANSWERED_WITHIN);
            running.spawn(send(request, placed.clone(), Arc::clone(&shared), random.fork()));
        }
        Self { placed: placed.clone(), shared, running }
    }

    /// What was answered so far.
    pub(super) fn answers(&self) -> Vec<Answered> {
        self.shared.answers.lock().expect("the answers").clone()
    }

    /// Waits until so many mails were accepted that were asked for from now on.
    pub(super) async fn until_accepted(&self, app: &App, count: usize) {
        let since = Instant::now();
        let what = format!("{count} mails of {} are accepted", self.placed.project.domain);
        app.eventually_within(BACK_WITHIN, &what, async || {
            let accepted = self.answers().iter().filter(|a| a.is_accepted() && a.began >= since).count();
            (accepted >= count).then_some(())
        })
        .await;
    }

    pub(super) async fn stop(&mut self) {
        self.shared.enough.store(true, Ordering::Relaxed);
        while let Some(ended) = self.running.join_next().await {
            ended.expect("a caller got an answer it should not get");
        }
    }
}

/// The address of a mail; those of different projects differ.
fn address(placed: &Placed, number: usize) -> String {
    format!("{}{number}@example.com", prefix(placed))
}

fn prefix(placed: &Placed) -> String {
    format!("project{}.mail", placed.number)
}

/// Sends mails to addresses of their own until there are enough.
async fn send(request: Request, placed: Placed, shared: Arc<Shared>, mut random: Random) {
    while !shared.enough.load(Ordering::Relaxed) {
        let to = address(&placed, shared.next.fetch_add(1, Ordering::Relaxed));
        let from = &placed.project.from;
        let body = json!({"to": to, "subject": "Hello", "body": "<p>Hello there</p>", "from": from});
        let began = Instant::now();
        let answer = request.clone().json(&body).send().await;
        let ended = Instant::now();
        let email = if answer.status == 200 {
            Some(text(&answer.json()["data"]["emails"][0]["email"]).to_owned())
        } else {
            assert_unavailable(&answer);
            None
        };
        let answered = Answered { to, status: answer.status, email, began, ended };
        shared.answers.lock().expect("the answers").push(answered);
        tokio::time::sleep(Duration::from_millis(50) + random.millis(100)).await;
    }
}

/// What was answered and what became of the mails of a project.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// Answers by status.
    answers: BTreeMap<u16, usize>,
    /// The longest time that an answer took.
    slowest: Duration,
    /// Mails that were kept.
    kept: usize,
    /// Mails that are marked as in doubt.
    doubted: usize,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { answers, slowest, kept, doubted } = self;
        write!(f, "answers {answers:?}, the slowest after {slowest:?}; {kept} mails kept, {doubted} in doubt")
    }
}

/// Every accepted mail arrived; no mail arrived more than once, or than twice where it is marked as in doubt; and every
/// mail that arrived was kept.
pub(super) async fn check(app: &App, callers: &Callers, server: &ScriptedServer) -> Outcome {
    let placed = &callers.placed;
    app.nothing_left_within(EMPTY_WITHIN, async || {
        // each mail is looked at once: asked for by status, one that moves between two would be missed
        let emails = app.list_all_by(&placed.project.secret_key, "/emails").await;
        emails.into_iter().filter(|email| ["PENDING", "SENDING"].contains(&text(&email["status"]))).collect()
    })
    .await;
    let emails = app.list_all_by(&placed.project.secret_key, "/emails").await;
    let (answers, copies) = (callers.answers(), server.copies());
    let asked: BTreeSet<&str> = answers.iter().map(|answer| &*answer.to).collect();
    let (mut ids, mut addresses, mut doubted) = (BTreeSet::new(), BTreeSet::new(), 0);
    for email in &emails {
        let (id, to, status) = (text(&email["id"]), text(&email["to"]), text(&email["status"]));
        let received = copies.get(to).copied().unwrap_or_default();
        let is_doubted = email["inDoubt"] == true;
        let complaint = format!("received {received} times: {email}");
        assert!(ids.insert(id) && addresses.insert(to), "two mails from one request: {email}");
        assert!(asked.contains(to), "nobody asked for this mail: {email}");
        assert!(status == "SENT" || (status == "IN_DOUBT" && is_doubted), "{complaint}");
        assert!((1..=if is_doubted { 2 } else { 1 }).contains(&received), "{complaint}");
        doubted += usize::from(is_doubted);
    }
    for answer in &answers {
        let is_there = answer.email.as_ref().is_none_or(|id| ids.contains(id.as_str()));
        assert!(is_there, "accepted and lost: {answer:?}");
    }
    let own = prefix(placed);
    let unexplained = copies.keys().find(|to| to.starts_with(&own) && !addresses.contains(to.as_str()));
    assert!(unexplained.is_none(), "a mail was handed over that no record explains: {unexplained:?}");

    let mut outcome = Outcome { kept: emails.len(), doubted, ..Outcome::default() };
    for answer in &answers {
        *outcome.answers.entry(answer.status).or_default() += 1;
        outcome.slowest = outcome.slowest.max(answer.ended - answer.began);
    }
    outcome
}

/// No more mails are in doubt than were under way each time that something got in their way: for each connection the
/// one on the wire, and the one before it, whose outcome may not be recorded yet.
pub(super) fn assert_few_doubted(outcomes: &[Outcome], times: usize) {
    let doubted: usize = outcomes.iter().map(|outcome| outcome.doubted).sum();
    assert!(doubted <= 2 * CONNECTIONS * times, "{doubted} in doubt, {times} times: {outcomes:?}");
}
