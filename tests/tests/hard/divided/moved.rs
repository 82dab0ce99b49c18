//! The parts of a server move to another one and back while mail is sent.

use mailwright_testkit::App;
use mailwright_tests::random::Random;
use std::time::{Duration, Instant};

use super::sending::{Answered, BACK_WITHIN, Callers, Outcome, assert_few_doubted, check};
use super::{Worker, ask, delivering, on_two_workers, place};

/// Mails that are accepted of each project before and after each move.
const MAILS: usize = 10;
/// How often a move is tried that the program got in the way of.
const TRIES: usize = 10;
/// The pause between two tries.
const PAUSE: Duration = Duration::from_secs(1);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a cluster of Citus: make test-citus"]
async fn mails_leave_once_while_shards_are_moved() {
    let (app, server) = delivering().await;
    let app = app.start().await;
    let [moving, staying] = on_two_workers(&app).await;
    let (home, away) = (&moving.worker, &staying.worker);
    let shards = shards_on(&app, home).await;

    let mut random = Random::from_environment();
    let mut of_moving = Callers::start(&app, &moving, &mut random);
    let mut of_staying = Callers::start(&app, &staying, &mut random);
    let mut moves = Vec::new();
    for (from, to) in [(home, away), (away, home)] {
        for shard in &shards {
            of_moving.until_accepted(&app, MAILS).await;
            of_staying.until_accepted(&app, MAILS).await;
            moves.push(move_shard(&app, shard, from, to).await);
        }
        of_moving.until_accepted(&app, MAILS).await;
        of_staying.until_accepted(&app, MAILS).await;
        assert_eq!(&place(&app, &moving.project).await.worker, to, "the project moved along");
    }
    of_moving.stop().await;
    of_staying.stop().await;

    let longest = moves.iter().max().copied().unwrap_or_default();
    for callers in [&of_moving, &of_staying] {
        let pause = longest_pause(&callers.answers());
        assert!(
            pause <= longest + BACK_WITHIN,
            "nothing was accepted for {pause:?}, a move took {longest:?}"
        );
    }
    let outcomes = [check(&app, &of_moving, &server).await, check(&app, &of_staying, &server).await];
    show(&moves, &outcomes);
    assert_few_doubted(&outcomes, moves.len());
}

/// The parts of the table that the others lie beside, on one server.
async fn shards_on(app: &App, worker: &Worker) -> Vec<String> {
    let query = format!(
        "select s.shardid from pg_dist_shard s join pg_dist_placement p on p.shardid = s.shardid \
         join pg_dist_node n on n.groupid = p.groupid and n.noderole = 'primary' \
         where s.logicalrelid = 'contacts'::regclass and n.nodeid = {} order by 1",
        worker.node
    );
    ask(app, &query).await.into_iter().map(|mut row| row.remove(0)).collect()
}

/// Moves a part of all tables from one server to another; how long that took. Writes to it wait meanwhile.
#[expect(clippy::print_stderr, reason = "a move that had to be tried again is worth seeing")]
async fn move_shard(app: &App, shard: &str, from: &Worker, to: &Worker) -> Duration {
    let statement = format!(
        "select citus_move_shard_placement({shard}, '{}', {}, '{}', {}, shard_transfer_mode := 'block_writes')",
        from.host, from.port, to.host, to.port
    );
    let began = Instant::now();
    for _ in 0..TRIES {
        let Err(error) = app.try_ask(&statement).await else { return began.elapsed() };
        // a transaction holds the part of one table and waits for that of another, which the move has locked; or one
        // still reads what an earlier move left behind
        let will_pass = ["deadlock", "orphaned shard"].iter().any(|reason| error.contains(reason));
        assert!(will_pass, "{statement}: {error}");
        eprintln!("a move is tried again after {:?}: {error}", began.elapsed());
        tokio::time::sleep(PAUSE).await;
    }
    panic!("{statement}: not within {TRIES} tries");
}

/// The longest time from one accepted mail to the next.
fn longest_pause(answers: &[Answered]) -> Duration {
    let mut accepted: Vec<_> =
        answers.iter().filter(|answer| answer.is_accepted()).map(|answer| answer.ended).collect();
    accepted.sort_unstable();
    accepted.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or_default()
}

#[expect(clippy::print_stdout, reason = "stats worth seeing")]
fn show(moves: &[Duration], outcomes: &[Outcome; 2]) {
    let [moving, staying] = outcomes;
    println!("moves took {moves:?}");
    println!("of the project that moved: {moving}");
    println!("of the other: {staying}");
}
