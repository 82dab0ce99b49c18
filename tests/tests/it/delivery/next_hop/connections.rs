//! How many connections the next hop takes: it is found out, used to the full, and remembered.

use mailwright_testkit::smtp::{Answer, ScriptedServer};
use mailwright_testkit::{App, Engine, both_engines, json};
use std::time::{Duration, Instant};

use crate::delivery::all_settled;

use super::{figure, send_many, slow, until_received};

/// Mails that each server of a comparison is sent: some 15 seconds of work.
const COMPARED: usize = 750;
/// How many of them the relay takes in a second, over all connections that it takes.
const A_SECOND: usize = 50;

/// A relay that takes `limit` connections, and a server that uses `configured` ones; `None` for the default.
async fn relayed(limit: usize, configured: Option<usize>) -> (App, ScriptedServer) {
    // long beside what anything else costs here, so that the connections are what decides
    let each = Duration::from_secs(1) * limit as u32 / A_SECOND as u32;
    let server = ScriptedServer::builder()
        .without_contents()
        .most_connections(limit)
        .start(move |_, _| Answer::Delay(each))
        .await;
    let app = App::builder(Engine::Sqlite).smtp(server.port);
    let app = match configured {
        Some(connections) => app.env("MAILWRIGHT_DELIVERY_CONNECTIONS", connections.to_string()),
        None => app,
    };
    (app.start().await, server)
}

/// When mails arrived, counted from the first of them.
fn arrivals(server: &ScriptedServer) -> Vec<Duration> {
    let mut times: Vec<Instant> = server.received().iter().map(|mail| mail.at).collect();
    times.sort_unstable();
    times.iter().map(|at| *at - times[0]).collect()
}

/// Two servers do the same work at the same time, so that what else the machine has to do slows both: one was told how
/// many connections its relay takes, the other has the default settings and has to find out. Over the same span of time,
/// from the first mail of each on, learning included, the second moves at least 95 % of what the first does.
async fn a_relay_with_a_limit_is_used_to_the_full(limit: usize) {
    let ((told, told_relay), (learning, relay)) =
        tokio::join!(relayed(limit, Some(limit)), relayed(limit, None));
    let (from, also_from) = (told.from(), learning.from());
    tokio::join!(
        send_many(&told, told.secret_key(), &from, "a", COMPARED),
        send_many(&learning, learning.secret_key(), &also_from, "a", COMPARED),
    );
    tokio::join!(until_received(&told, &told_relay, COMPARED), until_received(&learning, &relay, COMPARED),);
    let (fixed, learnt) = (arrivals(&told_relay), arrivals(&relay));
    let span = fixed[COMPARED - 1].min(learnt[COMPARED - 1]);
    let moved = |times: &[Duration]| times.iter().filter(|at| **at <= span).count();
    let (fixed, learnt) = (moved(&fixed), moved(&learnt));
    assert!(
        learnt * 100 >= fixed * 95,
        "{learnt} mails in {span:?} where the limit of {limit} was learnt, {fixed} where it was configured"
    );
    assert_eq!(relay.busiest(), limit);
    assert!(relay.refused_connections() < 40, "{} were refused", relay.refused_connections());
    for email in all_settled(&learning, COMPARED).await {
        assert_eq!((&email["status"], &email["attemptCount"]), (&json!("SENT"), &json!(1)), "{email}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_relay_that_takes_5_connections_is_used_to_the_full() {
    a_relay_with_a_limit_is_used_to_the_full(5).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_relay_that_takes_10_connections_is_used_to_the_full() {
    a_relay_with_a_limit_is_used_to_the_full(10).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_relay_that_takes_20_connections_is_used_to_the_full() {
    a_relay_with_a_limit_is_used_to_the_full(20).await;
}

both_engines! {
    async fn what_was_learnt_is_shown_and_outlives_a_restart(engine: Engine) {
        let server = ScriptedServer::builder().most_connections(3).start(slow).await;
        let mut app = App::builder(engine).smtp(server.port).start().await;
        send_many(&app, app.secret_key(), &app.from(), "a", 60).await;
        until_received(&app, &server, 60).await;
        let doctor = app.eventually("the doctor knows it", async || {
            let said = app.run(&["doctor"]).await;
            said.contains("allows 3 connections at a time; configured are 32").then_some(said)
        }).await;
        assert!(doctor.contains("LOOK   next hop"), "{doctor}");
        assert_eq!(figure(&app, "mailwright_next_hop_connections{transport=\"default\",kind=\"allowed\"}").await, Some(3.0));
        assert_eq!(figure(&app, "mailwright_next_hop_connections{transport=\"default\",kind=\"configured\"}").await, Some(32.0));
        assert_eq!(figure(&app, "mailwright_next_hop_state{transport=\"default\",state=\"working\"}").await, Some(1.0));

        assert!(app.stop().await.success());
        app.restart().await;
        app.eventually("the limit is known again", async || {
            let allowed = figure(&app, "mailwright_next_hop_connections{transport=\"default\",kind=\"allowed\"}").await;
            (allowed == Some(3.0)).then_some(())
        }).await;
        let refused = server.refused_connections();
        send_many(&app, app.secret_key(), &app.from(), "b", 20).await;
        until_received(&app, &server, 80).await;
        let refused = server.refused_connections() - refused;
        assert!(refused <= 3, "it does not begin from the top again: {refused} were refused");
    }
}
