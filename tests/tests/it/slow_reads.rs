//! Reads that take long: they have places and a time of their own, and stand in nobody's way.
//!
//! What makes a read take long here is a view in the place of the table that statistics of days look into: reading it has
//! no end on SQLite, and none for ten minutes on PostgreSQL.

use std::time::Duration;

use mailwright_testkit::{App, Engine, Project, Request, Response, both_engines, json};
use mailwright_tests::{as_project, create_contact, required_header, text};
use tokio::task::JoinHandle;

const ENDLESS: &str = "/events/stats?startDate=2020-01-01";
/// A read by the same door that ends at once.
const SHORT: &str = "/events/names";
/// How many requests of a project wait at most.
const QUEUE: usize = 16;
const LONG: Duration = Duration::from_mins(1);

async fn start(engine: Engine, places: &str, limit_ms: &str) -> App {
    let app = App::builder(engine)
        .env("MAILWRIGHT_DATABASE_SLOW_READS", places)
        .env("MAILWRIGHT_DATABASE_SLOW_READ_MS", limit_ms)
        .env("MAILWRIGHT_DATABASE_CONNECTIONS", "5")
        .start()
        .await;
    app.reshape(match engine {
        Engine::Sqlite => &[
            "alter table event_days rename to event_days_before",
            "create view event_days as with recursive n (i) as (select 1 union all select i + 1 from n) \
             select -i as project_id, null as counted_to from n",
        ],
        Engine::Postgres => &[
            "alter table event_days rename to event_days_before",
            "create function endless() returns table (project_id bigint, counted_to uuid) language plpgsql as \
             $$ begin perform pg_sleep(600); end $$",
            "create view event_days as select * from endless()",
        ],
    })
    .await;
    app
}

/// Requests of a project that read without an end: one that runs and as many as may wait. One more is refused, so that
/// whoever has this knows that they are there.
async fn crowd(app: &App, project: &Project) -> Vec<JoinHandle<Response>> {
    let mut crowd: Vec<_> = (0..QUEUE + 2)
        .map(|_| tokio::spawn(as_project(app, project, "GET", ENDLESS).timeout(LONG).send()))
        .collect();
    let refused = app
        .eventually("one request more than may wait is refused", async || {
            crowd.iter().position(JoinHandle::is_finished)
        })
        .await;
    let refused = crowd.swap_remove(refused).await.expect("the request was made");
    refused.assert_error(429, "RATE_LIMIT_EXCEEDED");
    required_header(&refused, "retry-after");
    crowd
}

async fn answered(request: Request) -> Response {
    request.timeout(LONG).send().await.assert_status(200)
}

/// Waits until the database runs none of the endless reads any more.
async fn assert_ended(app: &App) {
    if app.engine() == Engine::Sqlite {
        return;
    }
    app.tamper(
        "do $$ declare began timestamptz := clock_timestamp(); begin \
         while exists (select 1 from pg_stat_activity where datname = current_database() and state = 'active' \
         and pid <> pg_backend_pid() and query like '%event_days%') loop \
         if clock_timestamp() > began + interval '20 seconds' then raise exception 'a query goes on'; end if; \
         perform pg_sleep(0.05); perform pg_stat_clear_snapshot(); end loop; end $$",
    )
    .await;
}

both_engines! {
    async fn nothing_else_stands_behind_them(engine: Engine) {
        let app = start(engine, "2", "600000").await;
        let contact = create_contact(&app, "ada@example.com", true, json!({})).await;
        let (one, other) =
            (app.bootstrap("One", "one.example").await, app.bootstrap("Other", "other.example").await);
        let ada = json!({"email": "ada@example.com"});
        as_project(&app, &one, "POST", "/contacts").json(&ada).send().await.assert_status(201);
        // every place is taken, and both projects have others waiting
        let _held = (crowd(&app, &one).await, crowd(&app, &other).await);

        answered(app.get("/ready")).await;
        answered(app.get(&format!("/contacts/{}", text(&contact["id"])))).await;
        answered(app.get("/contacts")).await;
        let mail = app.send_to("ada@example.com").await;
        app.email_in(&mail, &["SENT"]).await;
        // also what these projects themselves ask for by other doors
        answered(as_project(&app, &one, "GET", "/contacts")).await;
        let to_all = json!({"name": "News", "subject": "News", "body": "<p>News</p>", "from": one.from,
            "audienceType": "ALL"});
        let made = as_project(&app, &one, "POST", "/campaigns").json(&to_all).timeout(LONG).send().await;
        let made = made.assert_status(201).json();
        let send = format!("/campaigns/{}/send", text(&made["data"]["id"]));
        answered(as_project(&app, &one, "POST", &send).json(&json!({}))).await;
        app.get("/contacts").bearer("sk_0000000000000000").timeout(LONG).send().await.assert_status(401);
    }

    async fn one_project_does_not_hold_all_places(engine: Engine) {
        let app = start(engine, "2", "600000").await;
        let one = app.bootstrap("One", "one.example").await;
        let _held = crowd(&app, &one).await;
        answered(app.get(SHORT)).await;
        answered(app.get(SHORT)).await;
    }

    async fn who_goes_away_leaves_the_place_and_the_query_ends(engine: Engine) {
        let app = start(engine, "1", "600000").await;
        let one = app.bootstrap("One", "one.example").await;
        for request in crowd(&app, &one).await {
            request.abort();
        }
        app.eventually("the places of those who went away are free", async || {
            let answer = as_project(&app, &one, "GET", SHORT).timeout(LONG).send().await;
            (answer.status != 429).then(|| answer.assert_status(200))
        })
        .await;
        answered(app.get(SHORT)).await;
        assert_ended(&app).await;
    }

    async fn a_segment_that_takes_too_long_to_count_is_not_made(engine: Engine) {
        let app = start(engine, "1", "700").await;
        let waits = match engine {
            Engine::Sqlite => {
                "create view events as with recursive n (i) as (select 1 union all select i + 1 from n) \
                 select e.* from n cross join events_before e where n.i < 0"
            }
            Engine::Postgres => "create view events as select e.* from events_before e, endless()",
        };
        app.track(serde_json::json!({"email": "a@example.com", "event": "seen"})).await.assert_status(200);
        app.reshape(&["alter table events rename to events_before", waits]).await;
        let filter = serde_json::json!({"field": "event.seen", "operator": "triggered"});
        let condition = serde_json::json!({"logic": "AND", "groups": [{"filters": [filter]}]});
        let segment = serde_json::json!({"name": "Heavy", "condition": condition});
        app.post("/segments").json(&segment).send().await.assert_error(503, "DATABASE_ERROR");
        assert_eq!(app.get("/segments").send().await.assert_status(200).json(), serde_json::json!([]));
    }

    async fn they_have_a_limit(engine: Engine) {
        let app = start(engine, "1", "700").await;
        let refused = app.get(ENDLESS).send().await;
        let error = refused.assert_error(503, "DATABASE_ERROR");
        assert!(error.to_string().contains("limit of 0.7 seconds"), "{error}");
        assert!(error.to_string().contains("slow_read_ms"), "what to do is said: {error}");
        required_header(&refused, "retry-after");
        assert_ended(&app).await;
        // the place is free again; what waits for it or reads slowly is refused within the limit as well
        app.eventually("the place is free again", async || {
            (app.get(SHORT).send().await.status == 200).then_some(())
        })
        .await;
    }
}
