//! A worker that the coordinator reaches and the program does not: what is written about its projects goes through the
//! coordinator, until the program reaches it.

use mailwright_testkit::{App, Engine};

use super::away::put_proxy_before;
use super::{EVENTS, ask, on_two_workers, track};

/// What our sessions say when they begin, and those of the coordinator do not.
const OURS: &str = "application_name\0mailwright\0";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a cluster of Citus: make test-citus"]
async fn what_cannot_be_sent_to_a_worker_goes_through_the_coordinator() {
    let mut app = App::builder(Engine::Postgres).start().await;
    let projects = on_two_workers(&app).await;
    let [near, far] = &projects;
    let proxy = put_proxy_before(&mut app, &far.worker).await;

    proxy.break_after(Some(OURS));
    for placed in &projects {
        track(&app, placed, "before").await;
    }
    assert!(app.log().contains("a worker cannot be reached"), "{}", app.log());
    let reached = sessions(&app).await;
    assert_eq!(reached, [near.worker.port.to_string()], "the other worker has sessions of ours");

    proxy.break_after(None);
    let ports = [near.worker.port, proxy.port()].map(|port| port.to_string());
    app.eventually("both workers have sessions of ours", async || {
        for placed in &projects {
            track(&app, placed, "after").await;
        }
        let found = sessions(&app).await;
        ports.iter().all(|port| found.contains(port)).then_some(())
    })
    .await;
    for placed in &projects {
        let query = format!(
            "select count(*) from events where project_id = {} and name in ('before', 'after') having count(*) >= {}",
            placed.number,
            2 * EVENTS
        );
        assert_eq!(ask(&app, &query).await.len(), 1, "events were lost");
    }
}

/// The ports of the workers that have sessions of ours.
async fn sessions(app: &App) -> Vec<String> {
    let query = "select nodeport from run_command_on_workers('select count(*) from pg_stat_activity \
                 where application_name = ''mailwright'' and datname = current_database()') \
                 where success and result::int > 0 order by nodeport";
    ask(app, query).await.into_iter().flatten().collect()
}
