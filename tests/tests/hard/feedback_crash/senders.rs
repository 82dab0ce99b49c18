//! Whoever tells of mails: each repeats what it has to say until it is answered that it is taken.

use std::collections::HashSet;
use std::io::Result;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use mailwright_testkit::mail_in::MailIn;
use mailwright_testkit::{App, Request};
use mailwright_tests::random::Random;
use tokio::task::JoinSet;

use super::course::{Course, Mail, mails};
use super::news::{Effect, Maker, News, Way};

/// Senders at the same time.
const SENDERS: usize = 12;
/// How long an answer is waited for.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long it is waited at most for what is told before a kill.
const LONGEST: Duration = Duration::from_secs(20);
/// What is answered is durable after this time, if it is a visit.
const DURABLE: Duration = Duration::from_secs(1);

/// A process that is told.
pub(super) struct Node {
    request: Request,
    inbound: u16,
}

impl Node {
    pub(super) fn new(app: &App, inbound: u16) -> Self {
        Self { request: app.request("GET", "/").timeout(PATIENCE), inbound }
    }
}

/// One request of a visitor.
#[derive(Debug)]
pub(super) struct Visit {
    /// Stands in what the client calls itself, and in that of no other request.
    pub(super) tag: String,
    pub(super) news: Arc<News>,
    node: usize,
    begun: Instant,
    /// When it was answered, if it was.
    answered: Option<Instant>,
}

/// How far everything came.
pub(super) struct Progress {
    kills: usize,
    /// What is told at least, as far as is known before.
    expected: usize,
    waiting: Mutex<Vec<Arc<News>>>,
    told: AtomicUsize,
    killed: AtomicUsize,
    /// Whether no more mails come.
    is_complete: AtomicBool,
    /// How many news came first while their mail was being handed over.
    pub(super) early: AtomicUsize,
    /// How often something had to be told again because it was not taken.
    pub(super) refused: AtomicUsize,
    pub(super) mails: Mutex<Vec<Arc<Mail>>>,
    pub(super) news: Mutex<Vec<Arc<News>>>,
    pub(super) visits: Mutex<Vec<Visit>>,
    /// Which process was killed, from when to when.
    deaths: Mutex<Vec<(usize, Instant, Instant)>>,
}

pub(super) fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().expect("nobody panicked")
}

impl Progress {
    pub(super) fn new(kills: usize) -> Self {
        Self {
            kills,
            // twice two things of each at least, and some mails get lost by the kills
            expected: 5 * mails(),
            waiting: Mutex::default(),
            told: AtomicUsize::new(0),
            killed: AtomicUsize::new(0),
            is_complete: AtomicBool::new(false),
            early: AtomicUsize::new(0),
            refused: AtomicUsize::new(0),
            mails: Mutex::default(),
            news: Mutex::default(),
            visits: Mutex::default(),
            deaths: Mutex::default(),
        }
    }

    /// How often anything was told, and told again.
    pub(super) fn told(&self) -> usize {
        self.told.load(Ordering::SeqCst)
    }

    /// The next of what is to be told; before the last kill no more than its share.
    fn next(&self, random: &mut Random) -> Option<Arc<News>> {
        let killed = self.killed.load(Ordering::SeqCst);
        let is_enough = killed < self.kills && self.told() >= self.expected * (killed + 1) / (self.kills + 1);
        let mut waiting = lock(&self.waiting);
        if is_enough || waiting.is_empty() {
            return None;
        }
        self.told.fetch_add(1, Ordering::SeqCst);
        // often what came last, while its mail is still being handed over
        let is_last = random.below(3) == 0;
        let place = if is_last { waiting.len() - 1 } else { random.below(waiting.len() as u64) as usize };
        Some(waiting.swap_remove(place))
    }

    fn is_over(&self) -> bool {
        self.is_complete.load(Ordering::SeqCst)
            && self.killed.load(Ordering::SeqCst) == self.kills
            && lock(&self.waiting).is_empty()
    }

    /// Waits for a moment in the stretch that is told before the next kill; not for ever, because the last mails may have
    /// come.
    pub(super) async fn until_told(&self, random: &mut Random) {
        let part = random.below(9) as usize;
        let moment =
            self.expected * (10 * self.killed.load(Ordering::SeqCst) + part) / (10 * (self.kills + 1));
        let since = Instant::now();
        while self.told() < moment && since.elapsed() < LONGEST {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Kills a process.
    pub(super) fn kill(&self, node: usize, app: &mut App) {
        let from = Instant::now();
        app.kill();
        lock(&self.deaths).push((node, from, Instant::now()));
    }

    /// Notes that a process that was killed is there again.
    pub(super) fn is_back(&self) {
        self.killed.fetch_add(1, Ordering::SeqCst);
    }

    /// Notes that no more mails come.
    pub(super) fn complete(&self) {
        self.is_complete.store(true, Ordering::SeqCst);
    }

    /// Whether a visit is certainly stored: it was answered, and its process lived on for a second.
    pub(super) fn is_certain(&self, visit: &Visit) -> bool {
        let Some(answered) = visit.answered else { return false };
        let died = |(node, from, to): &(usize, Instant, Instant)| {
            *node == visit.node && *to >= visit.begun && *from <= answered + DURABLE
        };
        !lock(&self.deaths).iter().any(died)
    }
}

/// Finds the mails that were received, and makes up news of each.
pub(super) async fn plan(course: Arc<Course>, progress: Arc<Progress>, mut maker: Maker) {
    let (mut seen, mut known) = (0, HashSet::new());
    loop {
        let is_last = progress.is_complete.load(Ordering::SeqCst);
        let received = course.server.received_since(seen);
        seen += received.len();
        for one in &received {
            let mail = Arc::new(Mail::read(one));
            // what was in doubt comes twice
            if !known.insert(mail.id.clone()) {
                continue;
            }
            lock(&progress.mails).push(Arc::clone(&mail));
            for _ in 0..2 + maker.random.below(4) {
                let news = Arc::new(maker.news(&mail));
                lock(&progress.news).push(Arc::clone(&news));
                let times = 1 + maker.random.below(3) as usize;
                lock(&progress.waiting).extend(std::iter::repeat_n(news, times));
            }
        }
        if is_last {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Starts telling.
pub(super) fn start(nodes: Vec<Node>, progress: &Arc<Progress>, random: &mut Random) -> JoinSet<()> {
    let nodes = Arc::new(nodes);
    let mut senders = JoinSet::new();
    for _ in 0..SENDERS {
        let (nodes, progress, random) = (Arc::clone(&nodes), Arc::clone(progress), random.fork());
        senders.spawn(Sender { nodes, progress, random, session: None }.run());
    }
    senders
}

struct Sender {
    nodes: Arc<Vec<Node>>,
    progress: Arc<Progress>,
    random: Random,
    /// A session for mail with a process.
    session: Option<(usize, MailIn)>,
}

impl Sender {
    async fn run(mut self) {
        while !self.progress.is_over() {
            match self.progress.next(&mut self.random) {
                Some(news) => self.tell(&news).await,
                None => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        }
    }

    /// Tells it until it is taken.
    async fn tell(&mut self, news: &Arc<News>) {
        if news.effect != Effect::Nothing && Instant::now() < news.mail.held_until {
            self.progress.early.fetch_add(1, Ordering::Relaxed);
        }
        loop {
            let node = self.random.below(self.nodes.len() as u64) as usize;
            let is_taken = match &news.way {
                Way::Message { to, text } => self.bring(node, to, text).await,
                Way::Notification(message) => self.notify(node, message).await,
                Way::Visit { .. } => self.visit(node, news).await,
            };
            if is_taken {
                return;
            }
            self.progress.refused.fetch_add(1, Ordering::Relaxed);
            tokio::time::sleep(self.random.millis(60)).await;
        }
    }

    async fn bring(&mut self, node: usize, to: &str, text: &str) -> bool {
        let brought = tokio::time::timeout(PATIENCE, self.try_bring(node, to, text)).await;
        match brought {
            Ok(Ok(reply)) if reply.starts_with("250") => {
                // some come by one session, some do not
                self.session = self.session.take().filter(|_| self.random.below(8) > 0);
                true
            }
            Ok(Ok(reply)) => {
                assert!(reply.starts_with('4'), "{to}: {reply}");
                self.session = None;
                false
            }
            Ok(Err(_)) | Err(_) => {
                self.session = None;
                false
            }
        }
    }

    async fn try_bring(&mut self, node: usize, to: &str, text: &str) -> Result<String> {
        let mut session = match self.session.take() {
            Some((of, session)) if of == node => session,
            _ => MailIn::try_connect(self.nodes[node].inbound).await?,
        };
        let reply = session.try_deliver(to, text).await?;
        self.session = Some((node, session));
        Ok(reply)
    }

    async fn notify(&self, node: usize, message: &str) -> bool {
        let request = self.nodes[node].request.clone().path("/webhooks/sns").method("POST");
        match request.body(message.to_owned(), "text/plain; charset=UTF-8").try_send().await {
            Ok(answer) if answer.status == 200 => {
                assert_eq!(answer.json()["success"], true, "{message}: {}", answer.text());
                true
            }
            Ok(answer) => {
                assert!(
                    [500, 503].contains(&answer.status),
                    "{message}: {} {}",
                    answer.status,
                    answer.text()
                );
                false
            }
            Err(_) => false,
        }
    }

    /// Asks for a picture or a link. Whoever asks again is another hit.
    async fn visit(&self, node: usize, news: &Arc<News>) -> bool {
        let Way::Visit { path, agent, address, head } = &news.way else { return true };
        let (tag, begun) = {
            let mut visits = lock(&self.progress.visits);
            let tag = format!("visit-{}.", visits.len());
            let visit = Visit {
                tag: tag.clone(),
                news: Arc::clone(news),
                node,
                begun: Instant::now(),
                answered: None,
            };
            visits.push(visit);
            (tag, visits.len() - 1)
        };
        let request = self.nodes[node].request.clone().path(path).method(if *head { "HEAD" } else { "GET" });
        let request =
            request.header("user-agent", &format!("{agent} {tag}")).header("x-forwarded-for", address);
        match request.try_send().await {
            Ok(answer) if [200, 204, 302].contains(&answer.status) => {
                lock(&self.progress.visits)[begun].answered = Some(Instant::now());
                true
            }
            Ok(answer) => {
                assert!([500, 503].contains(&answer.status), "{path}: {} {}", answer.status, answer.text());
                false
            }
            Err(_) => false,
        }
    }
}
