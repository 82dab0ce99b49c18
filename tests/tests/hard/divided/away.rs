//! One of the servers is away: its projects wait, the others do not.

use mailwright_testkit::App;
use mailwright_testkit::net::TcpProxy;
use mailwright_testkit::smtp::ScriptedServer;
use mailwright_tests::random::Random;
use mailwright_tests::sized;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::sending::{BACK_WITHIN, Callers, Outcome, assert_few_doubted, check};
use super::{Worker, ask, delivering, on_two_workers};

/// How long a server is away, at least.
const AWAY: Duration = Duration::from_secs(4);
/// Mails that are accepted of a project before a server goes away, and after it is back.
const MAILS: usize = 20;

/// How often it goes away.
fn outages() -> usize {
    sized(2, 8)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a cluster of Citus: make test-citus"]
async fn mails_leave_once_while_a_worker_is_away() {
    let (app, server) = delivering().await;
    let mut app = app.start().await;
    let [near, far] = on_two_workers(&app).await;
    let proxy = put_proxy_before(&mut app, &far.worker).await;

    let mut random = Random::from_environment();
    let mut of_near = Callers::start(&app, &near, &mut random);
    let mut of_far = Callers::start(&app, &far, &mut random);
    let mut away = Vec::new();
    for _ in 0..outages() {
        of_near.until_accepted(&app, MAILS).await;
        of_far.until_accepted(&app, MAILS).await;
        assert!(!proxy.requests("").is_empty(), "statements go to the server through the proxy");
        proxy.cut().await;
        let from = Instant::now();
        tokio::time::sleep(AWAY + random.millis(1_000)).await;
        until_left(&app, &of_near, &server).await;
        away.push((from, Instant::now()));
        proxy.restore().await;
    }
    of_near.until_accepted(&app, MAILS).await;
    of_far.until_accepted(&app, MAILS).await;
    of_near.stop().await;
    of_far.stop().await;

    check_near(&of_near, &away);
    let refused = refused(&of_far, &away);
    let outcomes = [check(&app, &of_near, &server).await, check(&app, &of_far, &server).await];
    show(&outcomes);
    assert_few_doubted(&outcomes, away.len());
    assert_not_kept(&app, &of_far, &refused).await;
}

/// Puts a proxy before a server, for the database of this test alone: each has its own list of servers.
pub(super) async fn put_proxy_before(app: &mut App, worker: &Worker) -> TcpProxy {
    let proxy = TcpProxy::start(format!("{}:{}", worker.host, worker.port)).await;
    // sessions may keep plans that name the address before
    assert!(app.stop().await.success());
    let update = format!("select citus_update_node({}, '127.0.0.1', {})", worker.node, proxy.port());
    ask(app, &update).await;
    app.restart().await;
    proxy
}

/// Waits until mails left that were accepted from now on.
async fn until_left(app: &App, callers: &Callers, server: &ScriptedServer) {
    let since = Instant::now();
    app.eventually_within(BACK_WITHIN, "mails leave while the other server is away", async || {
        let (answers, copies) = (callers.answers(), server.copies());
        let of_now = answers.iter().filter(|answer| answer.is_accepted() && answer.began >= since);
        (of_now.filter(|answer| copies.contains_key(&answer.to)).count() >= MAILS).then_some(())
    })
    .await;
}

/// The project whose server is there is served as ever.
fn check_near(callers: &Callers, away: &[(Instant, Instant)]) {
    let answers = callers.answers();
    let refused: Vec<_> = answers.iter().filter(|answer| !answer.is_accepted()).collect();
    assert!(refused.is_empty(), "{} of {} were refused: {refused:?}", refused.len(), answers.len());
    for span in away {
        let served = answers.iter().filter(|answer| answer.is_within(*span)).count();
        assert!(served >= 5, "only {served} requests were answered while the other server was away");
    }
}

/// The addresses of what was refused because the server of the project was away: all that was asked meanwhile.
fn refused(callers: &Callers, away: &[(Instant, Instant)]) -> BTreeSet<String> {
    let answers = callers.answers();
    let mut refused = BTreeSet::new();
    for span in away {
        let meanwhile: Vec<_> = answers.iter().filter(|answer| answer.is_within(*span)).collect();
        assert!(!meanwhile.is_empty(), "nothing was answered while the server was away");
        for answer in meanwhile {
            assert_eq!(answer.status, 503, "the server was away: {answer:?}");
            refused.insert(answer.to.clone());
        }
    }
    refused
}

/// Nothing is left of what was refused: no mail, and no contact.
async fn assert_not_kept(app: &App, callers: &Callers, refused: &BTreeSet<String>) {
    let number = callers.placed.number;
    for query in ["select recipient from emails", "select email from contacts"] {
        let found = ask(app, &format!("{query} where project_id = {number}")).await;
        let kept: Vec<_> = found.iter().filter(|row| refused.contains(&row[0])).collect();
        assert!(kept.is_empty(), "refused and kept, {query}: {kept:?}");
    }
}

#[expect(clippy::print_stdout, reason = "stats worth seeing")]
fn show(outcomes: &[Outcome; 2]) {
    let [near, far] = outcomes;
    println!("on the server that stayed: {near}");
    println!("on the one that went away: {far}");
}
