//! A project gets a part of its own while the program knows the part that it was in.

use mailwright_testkit::{App, Engine};

use super::{EVENTS, ask, on_two_workers, place, track};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a cluster of Citus: make test-citus"]
async fn writes_follow_a_project_into_a_part_of_its_own() {
    let app = App::builder(Engine::Postgres).start().await;
    let [moving, staying] = on_two_workers(&app).await;
    for placed in [&moving, &staying] {
        track(&app, placed, "before").await;
    }
    // the same server, so that only the part is another one, and then another server
    let isolate = format!(
        "select isolate_tenant_to_new_shard('contacts', {}::bigint, 'CASCADE', 'block_writes')",
        moving.number
    );
    let rows = ask(&app, &isolate).await;
    for placed in [&moving, &staying] {
        track(&app, placed, "isolated").await;
    }
    let (from, to) = (&moving.worker, &staying.worker);
    let part = &rows[0][0];
    let carry = format!(
        "select citus_move_shard_placement({part}, '{}', {}, '{}', {}, 'block_writes')",
        from.host, from.port, to.host, to.port
    );
    ask(&app, &carry).await;
    for placed in [&moving, &staying] {
        track(&app, placed, "moved").await;
    }
    assert_eq!(&place(&app, &moving.project).await.worker, to);
    for placed in [&moving, &staying] {
        for event in ["before", "isolated", "moved"] {
            let query = format!(
                "select count(*) from events where project_id = {} and name = '{event}'",
                placed.number
            );
            assert_eq!(ask(&app, &query).await, [[EVENTS.to_string()]], "{event}");
        }
    }
}
