//! Many clients follow the feed, come back at random from where they stopped, and go to other processes, while much
//! happens and processes are killed. Each of them sees every entry, once, in one order.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use mailwright_testkit::events::Events;
use mailwright_testkit::{App, Engine, Request, both_engines, json};
use mailwright_tests::random::Random;
use mailwright_tests::{items, read, sized, text};
use tokio::task::JoinSet;

/// Clients that follow.
fn clients() -> usize {
    sized(20, 200)
}

/// Events that are recorded.
fn events() -> usize {
    sized(3_000, 100_000)
}

/// How often a process is killed.
fn kills() -> usize {
    sized(3, 20)
}

/// Callers that record events.
const CALLERS: usize = 24;
/// How long nothing is heard before a client is told that all is over.
const QUIET: Duration = Duration::from_secs(5);

both_engines! {
    async fn who_follows_sees_everything_once_and_in_order(engine: Engine) {
        run(vec![start(engine).await]).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_follows_two_processes_sees_everything_once_and_in_order() {
    let one = start(Engine::Postgres).await;
    let two = one.second_node().await;
    run(vec![one, two]).await;
}

async fn start(engine: Engine) -> App {
    App::builder(engine).env("MAILWRIGHT_ACTIVITY_STREAMS_PER_PROJECT", "1000").start().await
}

/// What the clients share.
struct Shared {
    addresses: Vec<String>,
    key: String,
    /// Whether nothing more happens.
    is_over: AtomicBool,
    reopened: AtomicUsize,
}

#[expect(clippy::print_stdout, reason = "stats worth seeing")]
async fn run(mut apps: Vec<App>) {
    let mut random = Random::from_environment();
    let shared = Arc::new(Shared {
        addresses: apps.iter().map(|app| app.base_url().to_owned()).collect(),
        key: apps[0].secret_key().to_owned(),
        is_over: AtomicBool::new(false),
        reopened: AtomicUsize::new(0),
    });
    let began = Instant::now();
    let mut following = JoinSet::new();
    for number in 0..clients() {
        let stream =
            Events::open(&shared.addresses[number % apps.len()], "/activity/stream", &shared.key, "");
        let stream = stream.await.expect("it opens").begun().await.expect("it begins");
        following.spawn(follow(Arc::clone(&shared), stream, random.fork()));
    }
    let done = Arc::new(AtomicUsize::new(0));
    let mut callers = JoinSet::new();
    for _ in 0..CALLERS {
        let requests =
            apps.iter().map(|app| app.post("/v1/track").timeout(Duration::from_secs(10))).collect();
        callers.spawn(call(requests, Arc::clone(&done), random.fork()));
    }
    for kill in 1..=kills() {
        while done.load(Ordering::Relaxed) < events() * kill / (kills() + 1) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let victim = random.below(apps.len() as u64) as usize;
        apps[victim].kill();
        tokio::time::sleep(random.millis(300)).await;
        apps[victim].restart().await;
    }
    while let Some(ended) = callers.join_next().await {
        ended.expect("a caller ends");
    }
    let recorded = began.elapsed();
    shared.is_over.store(true, Ordering::Relaxed);
    let mut seen: Vec<Vec<u64>> = Vec::new();
    while let Some(ended) = following.join_next().await {
        seen.push(ended.expect("a client ends"));
    }
    let feed = feed(&apps[0]).await;
    let mut all = seen[0].clone();
    all.sort_unstable();
    assert!(all.windows(2).all(|pair| pair[0] != pair[1]), "an entry came twice");
    assert!(feed.len() >= events(), "{} entries are stored", feed.len());
    assert!(all == feed, "{} entries came, {} are in the feed", all.len(), feed.len());
    let others = seen.iter().filter(|entries| **entries != seen[0]).count();
    assert_eq!(others, 0, "of {} clients so many saw something else than the first", seen.len());
    println!(
        "{} clients came back {} times, {} entries, {} kills: all the same; recorded in {recorded:.1?}, read after {:.1?}",
        seen.len(),
        shared.reopened.load(Ordering::Relaxed),
        feed.len(),
        kills(),
        began.elapsed(),
    );
}

/// What stands for an entry.
fn mark(id: &str) -> u64 {
    let (head, tail) = id.split_at(id.len().min(36));
    let uuid = u128::from_str_radix(&head.replace('-', ""), 16).expect("an id begins with a UUID");
    (uuid as u64) ^ ((uuid >> 64) as u64).rotate_left(1) ^ tail.len() as u64
}

/// Reads on, from one process or another, until all is over.
async fn follow(shared: Arc<Shared>, stream: Events, mut random: Random) -> Vec<u64> {
    let (mut seen, mut last) = (Vec::new(), stream.last_id().to_owned());
    let mut stream = Some(stream);
    let mut left = random.below(2_000);
    loop {
        let open = if let Some(open) = stream.as_mut() {
            open
        } else {
            shared.reopened.fetch_add(1, Ordering::Relaxed);
            let address = &shared.addresses[random.below(shared.addresses.len() as u64) as usize];
            match Events::open(address, "/activity/stream", &shared.key, &last).await {
                Ok(opened) => {
                    left = random.below(2_000);
                    stream.insert(opened)
                }
                Err(error) if error.to_string().contains(" 4") => panic!("{error}"),
                // the process was killed
                Err(_) => {
                    tokio::time::sleep(random.millis(200)).await;
                    continue;
                }
            }
        };
        let was_over = shared.is_over.load(Ordering::Relaxed);
        match tokio::time::timeout(QUIET, open.next_text()).await {
            Ok(Ok(Some(event))) => {
                let id = event.strip_prefix(r#"{"id":""#).and_then(|rest| rest.split('"').next());
                seen.push(mark(id.expect("an event begins with its id")));
                last = open.last_id().to_owned();
                left = left.saturating_sub(1);
                if left == 0 {
                    stream = None;
                }
            }
            Ok(Ok(None) | Err(_)) => stream = None,
            Err(_) if was_over => return seen,
            Err(_) => {}
        }
    }
}

/// Records events until there are enough, again where it is not known whether it was done.
async fn call(requests: Vec<Request>, done: Arc<AtomicUsize>, mut random: Random) {
    while done.load(Ordering::Relaxed) < events() {
        let contact = format!("person-{}@example.com", random.below(50));
        let request = requests[random.below(requests.len() as u64) as usize].clone();
        let body = json!({"email": contact, "event": "seen", "data": {"page": random.below(100)}});
        match request.json(&body).try_send().await {
            Ok(answer) if answer.status == 200 => {
                done.fetch_add(1, Ordering::Relaxed);
            }
            _ => tokio::time::sleep(random.millis(100)).await,
        }
    }
}

/// All entries of the feed.
async fn feed(app: &App) -> Vec<u64> {
    let (mut all, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = read(app, &format!("/activity?limit=100{cursor}")).await;
        all.extend(items(&page["data"]).iter().map(|entry| mark(text(&entry["id"]))));
        let Some(next) = page["cursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    all.sort_unstable();
    all
}
