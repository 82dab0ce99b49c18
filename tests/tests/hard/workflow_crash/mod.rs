//! `kill -9` at random moments, many times, while contacts go through a workflow of every step type, with events, mails,
//! and requests to a receiver that answers, errs, hangs and drops: every step of every execution is done once, every
//! mail is stored once, every request arrives under one id, and no execution is stuck.

mod check;
mod course;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use mailwright_testkit::{App, Engine, Request, both_engines, json};
use mailwright_tests::random::Random;
use mailwright_tests::{read, sized};
use tokio::sync::RwLock;
use tokio::task::JoinSet;

use self::check::check;
use self::course::{Behaviour, Course, receiver, start};

/// Executions.
fn count() -> usize {
    sized(600, 5_000)
}

/// How often the program is killed.
fn kills() -> usize {
    sized(10, 50)
}

/// Callers that track at the same time.
const TRACKERS: usize = 8;

fn address(number: usize) -> String {
    format!("c{number}@example.com")
}

/// Whether a contact is told of as paying, and as converting.
pub(super) fn pays(number: usize) -> bool {
    number.is_multiple_of(4)
}

fn converts(number: usize) -> bool {
    number % 10 == 9
}

/// Who tracks an event reads it, who moves the clock writes it. An event has the time at which its request came, and is
/// recorded a moment later. If the clock moved by a minute meanwhile, the wait that it ends would be over when it is.
type Road = Arc<RwLock<()>>;

/// Tracks an event until it is acknowledged; it is recorded once.
async fn track((request, road): (&Request, &Road), event: &str, number: usize, key: &str) {
    let _on_the_way = road.read().await;
    let data = json!({
        "number": {"value": number, "persistent": false}, "even": {"value": number.is_multiple_of(2), "persistent": false},
    });
    let body = json!({"email": address(number), "event": event, "data": data});
    let request = request.clone().header("idempotency-key", key).json(&body);
    loop {
        match request.clone().try_send().await {
            Ok(answer) if answer.status == 200 => return,
            // what was asked before, and got no answer, was done
            Ok(answer) if answer.status == 409 => {
                answer.assert_error(409, "IDEMPOTENCY_KEY_REUSED");
                return;
            }
            Ok(answer) => assert_eq!(answer.status, 503, "{}", answer.text()),
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

/// How far the visitors came.
struct Progress {
    next: AtomicUsize,
    /// Whose execution is known to have begun. Of two requests at the same time nobody knows which comes first.
    begun: Vec<AtomicBool>,
}

/// Begins executions, and has other events happen to the contacts some time later.
async fn visit(request: Request, road: Road, progress: Arc<Progress>, mut random: Random) {
    let to = (&request, &road);
    loop {
        let number = progress.next.fetch_add(1, Ordering::Relaxed);
        if number >= count() {
            return;
        }
        track(to, "begin", number, &format!("begin-{number}")).await;
        progress.begun[number].store(true, Ordering::SeqCst);
        // those that came some time before
        let earlier = number.saturating_sub(usize::try_from(random.below(60)).expect("a small number"));
        let has_begun = progress.begun[earlier].load(Ordering::SeqCst);
        if pays(earlier) && has_begun {
            track(to, "paid", earlier, &format!("paid-{earlier}-{number}")).await;
        }
        if converts(earlier) && has_begun {
            track(to, "converted", earlier, &format!("converted-{earlier}")).await;
        }
        tokio::time::sleep(random.millis(60)).await;
    }
}

fn visitors(apps: &[&App], road: &Road, random: &mut Random) -> JoinSet<()> {
    let begun = (0..count()).map(|_| AtomicBool::new(false)).collect();
    let progress = Arc::new(Progress { next: AtomicUsize::new(0), begun });
    let mut visitors = JoinSet::new();
    for visitor in 0..TRACKERS {
        let app = apps[visitor % apps.len()];
        let request =
            app.request("POST", "/v1/track").bearer(app.public_key()).timeout(Duration::from_secs(10));
        visitors.spawn(visit(request, Arc::clone(road), Arc::clone(&progress), random.fork()));
    }
    visitors
}

/// Moves the clock to after what is waited for, while no event is on its way.
async fn pass_a_minute(app: &App, road: &Road) {
    let _nobody_is_on_the_way = road.write().await;
    app.advance(Duration::from_secs(61)).await;
}

/// Waits until everybody acknowledged every event, and every execution is over.
async fn finish(app: &App, course: &Course, mut visitors: JoinSet<()>) {
    while let Some(ended) = visitors.join_next().await {
        ended.expect("a visitor got an answer it should not get");
    }
    let since = Instant::now();
    let always =
        (0..count()).filter(|n| Behaviour::of(&format!("/{n}")) == Behaviour::ErrsAlways).count() as u64;
    while !course.is_over(app, count()).await {
        assert!(since.elapsed() < Duration::from_mins(8), "{}", read(app, &course.path("/stats")).await);
        // what waits for an event, and for the next try of a request
        tokio::time::sleep(Duration::from_millis(500)).await;
        // a receiver that hangs takes its time, which nobody moves: the hours pass when only those are left that err for ever
        let has_others = course.open(app).await > always;
        app.advance(if has_others { Duration::from_secs(30) } else { Duration::from_mins(10) }).await;
    }
}

both_engines! {
    async fn workflows_survive_kills_at_any_moment(engine: Engine) {
        let mut random = Random::from_environment();
        let receiver = receiver().await;
        let mut app = start(engine).await;
        let course = Course::new(&app, &receiver).await;
        let road = Road::default();
        let visitors = visitors(&[&app], &road, &mut random);
        for kill in 0..kills() {
            tokio::time::sleep(Duration::from_millis(200) + random.millis(700)).await;
            if kill % 3 == 2 {
                pass_a_minute(&app, &road).await;
                tokio::time::sleep(random.millis(100)).await;
            }
            app.kill();
            tokio::time::sleep(random.millis(50)).await;
            app.restart().await;
        }
        finish(&app, &course, visitors).await;
        check(&app, &course, &receiver).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_share_workflows_and_either_may_be_killed() {
    let mut random = Random::from_environment();
    let receiver = receiver().await;
    let mut one = start(Engine::Postgres).await;
    let course = Course::new(&one, &receiver).await;
    let mut two = one.second_node().await;
    let road = Road::default();
    let visitors = visitors(&[&one, &two], &road, &mut random);
    for kill in 0..kills() {
        tokio::time::sleep(Duration::from_millis(200) + random.millis(700)).await;
        if kill % 3 == 2 {
            pass_a_minute(&one, &road).await;
        }
        let victim = if random.below(2) == 0 { &mut one } else { &mut two };
        victim.kill();
        tokio::time::sleep(random.millis(200)).await;
        victim.restart().await;
    }
    finish(&two, &course, visitors).await;
    check(&two, &course, &receiver).await;
}
