//! `kill -9` at random moments, many times, while it is told what became of mails: delivery reports and complaints by
//! mail, notifications of SNS, visits of pictures and links, each once or several times, in any order, some while the mail
//! is still being handed over. At the end every counter is what a recount of the rows gives, and each thing that happened
//! is one event.

mod check;
mod course;
mod news;
mod once;
mod recount;
mod senders;

use std::sync::Arc;
use std::time::{Duration, Instant};

use mailwright_testkit::net::free_port;
use mailwright_testkit::{App, Engine, both_engines};
use mailwright_tests::random::Random;
use mailwright_tests::sized;

use self::check::check;
use self::course::{Course, start};
use self::news::Maker;
use self::senders::{Node, Progress};

/// How often a process is killed.
fn kills() -> usize {
    sized(5, 50)
}

both_engines! {
    async fn news_survive_kills_at_any_moment(engine: Engine) {
        let (app, course) = start(engine).await;
        let inbound = course.inbound;
        run(vec![(app, inbound)], course).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_are_told_and_either_may_be_killed() {
    let (one, course) = start(Engine::Postgres).await;
    let inbound = free_port();
    let two = one.second_node_with(&[("MAILWRIGHT_INBOUND_LISTEN", &format!("127.0.0.1:{inbound}"))]).await;
    let first = course.inbound;
    run(vec![(one, first), (two, inbound)], course).await;
}

/// Tells everything while the processes are killed, and checks what they hold.
async fn run(processes: Vec<(App, u16)>, course: Course) {
    let mut random = Random::from_environment();
    let (course, progress) = (Arc::new(course), Arc::new(Progress::new(kills())));
    let maker = Maker { random: random.fork(), service: Arc::clone(&course.service), made: 0 };
    let planning = tokio::spawn(senders::plan(Arc::clone(&course), Arc::clone(&progress), maker));
    let nodes = processes.iter().map(|(app, inbound)| Node::new(app, *inbound)).collect();
    let mut senders = senders::start(nodes, &progress, &mut random);
    let mut apps: Vec<App> = processes.into_iter().map(|(app, _)| app).collect();
    let began = Instant::now();
    for _ in 0..kills() {
        tokio::time::sleep(random.millis(600)).await;
        progress.until_told(&mut random).await;
        let victim = random.below(apps.len() as u64) as usize;
        progress.kill(victim, &mut apps[victim]);
        tokio::time::sleep(random.millis(100)).await;
        apps[victim].restart().await;
        progress.is_back();
    }
    let killing = began.elapsed();
    let app = &apps[0];
    let left = app.eventually_within(Duration::from_mins(4), "every mail was handed over", async || {
        tokio::time::sleep(Duration::from_millis(300)).await;
        if !course.is_sent(app).await {
            return None;
        }
        let rows = app.rows().await;
        let waits = |row: &&String| row.contains(r#""PENDING""#) || row.contains(r#""SENDING""#);
        (rows["emails"].len() == course::mails() && rows["emails"].iter().find(waits).is_none()).then_some(())
    });
    left.await;
    progress.complete();
    planning.await.expect("news were made up");
    while let Some(ended) = senders.join_next().await {
        ended.expect("a sender got an answer it should not get");
    }
    let settled = app.eventually_within(Duration::from_mins(2), "everything is judged", async || {
        tokio::time::sleep(Duration::from_millis(300)).await;
        let rows = app.rows().await;
        let is_settled = |table: &str| recount::table(&rows, table).iter().all(|row| row["due_at"].is_null());
        (is_settled("hits") && is_settled("news_receipts")).then_some(rows)
    });
    let rows = settled.await;
    check(app, &course, &progress, &rows, killing).await;
}
