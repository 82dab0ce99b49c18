//! The feed as it happens.

use std::time::Duration;

use mailwright_testkit::events::Events;
use mailwright_testkit::{App, Engine, OWNER, Value, both_engines, json};
use mailwright_tests::browser::Browser;
use mailwright_tests::{items, read, text, track_ok};

use super::live;
use crate::tracking::builder;

/// How long an event is waited for.
const PATIENCE: Duration = Duration::from_secs(20);

async fn follow(app: &App, query: &str, last: &str) -> Events {
    let path = format!("/activity/stream?{query}");
    let opened = Events::open(app.base_url(), &path, app.secret_key(), last).await;
    opened.expect("the stream opens").begun().await.expect("the stream begins")
}

async fn next(events: &mut Events) -> Value {
    let next = tokio::time::timeout(PATIENCE, events.next()).await.expect("an event comes in time");
    next.expect("the connection holds").expect("the stream goes on")
}

async fn take(events: &mut Events, count: usize) -> Vec<Value> {
    let mut all = Vec::new();
    while all.len() < count {
        all.push(next(events).await);
    }
    all
}

async fn track(app: &App, name: &str, numbers: std::ops::Range<i64>) {
    for number in numbers {
        track_ok(app, json!({"email": "ann@example.com", "event": name, "data": {"number": number}})).await;
    }
}

fn numbers(entries: &[Value]) -> Vec<i64> {
    entries.iter().filter_map(|entry| entry["metadata"]["eventData"]["number"].as_i64()).collect()
}

/// What an opening of the stream is refused with.
async fn refused(app: &App, query: &str, last: &str) -> String {
    let path = format!("/activity/stream?{query}");
    let opened = Events::open(app.base_url(), &path, app.secret_key(), last).await;
    opened.expect_err("the stream is refused").to_string()
}

both_engines! {
    async fn everything_that_is_in_the_feed_comes_in_the_stream(engine: Engine) {
        let app = builder(engine).env("MAILWRIGHT_TRACKING_SETTLE_MS", "0").start().await;
        let mut events = follow(&app, "", "").await;
        let lived = live(&app).await;
        let feed = read(&app, "/activity?limit=100").await;
        let mut feed = items(&feed["data"]).to_vec();
        let mut told = take(&mut events, feed.len()).await;
        // what an execution, or a mail, is like today may have changed since it was told
        let of = |entry: &Value| (text(&entry["id"]).to_owned(), text(&entry["type"]).to_owned(), text(&entry["timestamp"]).to_owned());
        let key = |entry: &Value| text(&entry["id"]).to_owned();
        feed.sort_by_key(key);
        told.sort_by_key(key);
        assert_eq!(told.iter().map(of).collect::<Vec<_>>(), feed.iter().map(of).collect::<Vec<_>>());
        for kind in ["contact.created", "event.triggered", "campaign.sent"] {
            let in_feed = feed.iter().find(|entry| entry["type"] == kind);
            assert_eq!(told.iter().find(|entry| entry["type"] == kind), in_feed);
        }
        // a part of it: all that came is read again by what it is about
        let start = "1.0";
        for query in [
            format!("campaignId={}", text(&lived.campaign["id"])),
            format!("workflowId={}", lived.workflow),
            format!("templateId={}", text(&lived.template["id"])),
            format!("contactId={}", text(&lived.contact["id"])),
            "types=email.opened,contact.created,nothing".to_owned(),
        ] {
            let expected = read(&app, &format!("/activity?limit=100&{query}")).await;
            let mut expected: Vec<_> = items(&expected["data"]).iter().map(key).collect();
            let mut part = follow(&app, &query, start).await;
            let mut found: Vec<_> = take(&mut part, expected.len()).await.iter().map(key).collect();
            expected.sort();
            found.sort();
            assert_eq!(found, expected, "{query}");
        }
        assert!(refused(&app, "contactId=x", "").await.contains(" 400 "));
        assert!(refused(&app, "", "x").await.contains(" 400 "));
    }

    async fn who_comes_back_misses_nothing_and_gets_nothing_twice(engine: Engine) {
        let mut app = App::start(engine).await;
        let mut events = follow(&app, "types=event.triggered", "").await;
        track(&app, "one", 0..5).await;
        assert_eq!(numbers(&take(&mut events, 3).await), [0, 1, 2]);
        let (last, stopped) = (events.last_id().to_owned(), events);
        track(&app, "one", 5..8).await;
        let mut again = follow(&app, "types=event.triggered", &last).await;
        assert_eq!(numbers(&take(&mut again, 5).await), [3, 4, 5, 6, 7]);
        let last = again.last_id().to_owned();
        drop((stopped, again));
        // nobody follows, and the process is killed
        track(&app, "one", 8..10).await;
        app.kill();
        app.restart().await;
        track(&app, "one", 10..12).await;
        let query = format!("types=event.triggered&lastEventId={last}");
        let mut again = follow(&app, &query, "").await;
        assert_eq!(numbers(&take(&mut again, 4).await), [8, 9, 10, 11]);
        // the header wins, since a browser keeps the address
        let mut again = follow(&app, &query, again.last_id()).await;
        track(&app, "two", 12..13).await;
        assert_eq!(numbers(&take(&mut again, 1).await), [12]);
        // who comes now gets what happens from now on
        let mut late = follow(&app, "", "").await;
        track(&app, "two", 13..14).await;
        assert_eq!(numbers(&take(&mut late, 1).await), [13]);
    }

    async fn large_entries_come_in_several_pages(engine: Engine) {
        let app = App::start(engine).await;
        let start = follow(&app, "", "").await.last_id().to_owned();
        let large = "x".repeat(20_000);
        for number in 0..40 {
            let data = json!({"number": number, "text": large});
            track_ok(&app, json!({"email": "ann@example.com", "event": "large", "data": data})).await;
        }
        let mut events = follow(&app, "types=event.triggered", &start).await;
        let told = take(&mut events, 40).await;
        assert_eq!(numbers(&told), (0..40).collect::<Vec<_>>());
        assert!(told.iter().all(|entry| entry["metadata"]["eventData"]["text"] == large));
        // from the middle of a page
        let mut events = follow(&app, "types=event.triggered", &start).await;
        assert_eq!(numbers(&take(&mut events, 9).await), (0..9).collect::<Vec<_>>());
        let mut again = follow(&app, "types=event.triggered", events.last_id()).await;
        assert_eq!(numbers(&take(&mut again, 31).await), (9..40).collect::<Vec<_>>());
    }

    async fn who_is_erased_is_not_told_of_again(engine: Engine) {
        let app = App::start(engine).await;
        let owner = Browser::log_in(&app, OWNER.0, OWNER.1).await;
        let mut events = follow(&app, "", "").await;
        let start = events.last_id().to_owned();
        track_ok(&app, json!({"email": "jane@example.com", "event": "tested", "data": {"result": "positive"}})).await;
        let told = take(&mut events, 2).await;
        assert!(told.iter().any(|entry| entry.to_string().contains("positive")));
        let jane = mailwright_tests::contact_by_email(&app, "jane@example.com").await.expect("a contact");
        let path = format!("/contacts/{}/erase", text(&jane["id"]));
        let begun = owner.in_project(&app, app.project_id(), "POST", &path).json(&json!({})).send().await;
        let receipt = format!("/erasures/{}", text(&begun.assert_status(202).json()["id"]));
        app.eventually("the erasure is complete", async || {
            let found = owner.in_project(&app, app.project_id(), "GET", &receipt).send().await;
            (found.assert_status(200).json()["status"] == "COMPLETED").then_some(())
        })
        .await;
        track(&app, "one", 0..1).await;
        app.eventually("nothing of the person is told", async || {
            let mut events = follow(&app, "", &start).await;
            let mut told = Vec::new();
            while told.last().is_none_or(|last: &Value| numbers(std::slice::from_ref(last)).is_empty()) {
                told.push(next(&mut events).await);
            }
            let told = json!(told).to_string();
            (!told.contains("jane@") && !told.contains("positive")).then_some(())
        })
        .await;
    }

    async fn a_bookmark_from_before_a_reset_leads_nowhere(engine: Engine) {
        let app = App::start(engine).await;
        let owner = Browser::log_in(&app, OWNER.0, OWNER.1).await;
        let mut events = follow(&app, "", "").await;
        track(&app, "one", 0..3).await;
        take(&mut events, 4).await;
        let before = events.last_id().to_owned();
        let path = format!("/users/@me/projects/{}/reset", app.project_id());
        owner.request(&app, "POST", &path).send().await.assert_status(200);
        let mut events = app
            .eventually("the key leads to the project again", async || {
                let opened = Events::open(app.base_url(), "/activity/stream", app.secret_key(), "").await;
                opened.ok()
            })
            .await
            .begun()
            .await
            .expect("the stream begins");
        track(&app, "one", 10..20).await;
        assert_eq!(numbers(&take(&mut events, 11).await), (10..20).collect::<Vec<_>>());
        for bookmark in [before.as_str(), "1.0", "2.0"] {
            assert!(refused(&app, "", bookmark).await.contains(" 410 "), "{bookmark}");
        }
    }

    async fn a_bookmark_is_good_for_the_time_that_is_set(engine: Engine) {
        let app = App::builder(engine).env("MAILWRIGHT_ACTIVITY_STREAM_HOURS", "2").start().await;
        let mut events = follow(&app, "", "").await;
        let start = events.last_id().to_owned();
        track(&app, "one", 0..3).await;
        let read = take(&mut events, 4).await;
        assert_eq!(numbers(&read), [0, 1, 2]);
        let end = events.last_id().to_owned();
        drop(events);
        app.advance(Duration::from_mins(90)).await;
        assert_eq!(numbers(&take(&mut follow(&app, "", &start).await, 4).await), [0, 1, 2]);
        app.advance(Duration::from_mins(90)).await;
        app.eventually("what is old is removed", async || {
            let opened = Events::open(app.base_url(), "/activity/stream", app.secret_key(), &start).await;
            opened.err().filter(|error| error.to_string().contains(" 410 "))
        })
        .await;
        // who had read everything goes on
        let mut events = follow(&app, "", &end).await;
        track(&app, "one", 3..4).await;
        assert_eq!(numbers(&take(&mut events, 1).await), [3]);
        let end = events.last_id().to_owned();
        drop(events);
        // nobody follows for so long that the log stops: who comes back then has missed something
        app.advance(Duration::from_hours(3)).await;
        app.eventually("the log stops", async || {
            track(&app, "one", 4..5).await;
            app.rows().await["activity_log"].is_empty().then_some(())
        })
        .await;
        assert!(refused(&app, "", &end).await.contains(" 410 "));
        assert!(refused(&app, "", "99.0").await.contains(" 410 "));
        let mut events = follow(&app, "", "").await;
        track(&app, "one", 5..6).await;
        assert_eq!(numbers(&take(&mut events, 1).await), [5]);
    }

    async fn streams_are_bounded_and_end_with_the_key(engine: Engine) {
        let app = App::builder(engine)
            .env("MAILWRIGHT_ACTIVITY_STREAMS_PER_PROJECT", "2")
            .env("MAILWRIGHT_ACTIVITY_STREAMS", "3")
            .start()
            .await;
        let other = app.bootstrap("Other", "other.test").await;
        let mine = (follow(&app, "", "").await, follow(&app, "", "").await);
        assert!(refused(&app, "", "").await.contains(" 429 "));
        let open = async |key: &str| Events::open(app.base_url(), "/activity/stream", key, "").await;
        let theirs = open(&other.secret_key).await.expect("the other project has its own");
        assert!(open(&other.secret_key).await.expect_err("all places are taken").to_string().contains(" 429 "));
        // another project's events are its own
        track(&app, "mine", 0..1).await;
        drop(mine);
        let mut events = app.eventually("a place is free", async || open(app.secret_key()).await.ok()).await;
        drop(theirs);
        let owner = Browser::log_in(&app, OWNER.0, OWNER.1).await;
        let key = owner.create_key(&app, app.project_id(), "Reader", &["read"]).await;
        let with_key = app.eventually("a place is free", async || open(text(&key["key"])).await.ok()).await;
        let mut with_key = with_key.begun().await.expect("the stream begins");
        let path = format!("/projects/{}/keys/{}", app.project_id(), text(&key["id"]));
        owner.request(&app, "DELETE", &path).send().await.assert_status(200);
        let ended = tokio::time::timeout(PATIENCE, with_key.next()).await.expect("the stream ends in time");
        assert_eq!(ended.expect("it ends as it should"), None);
        // the others go on
        track(&app, "mine", 1..2).await;
        assert_eq!(numbers(&take(&mut events, 1).await), [1]);
    }

    async fn a_project_takes_half_of_the_streams_that_others_leave(engine: Engine) {
        let app = App::builder(engine).env("MAILWRIGHT_ACTIVITY_STREAMS", "4").start().await;
        let other = app.bootstrap("Other", "other.test").await;
        let third = app.bootstrap("Third", "third.test").await;
        let open = async |key: &str| Events::open(app.base_url(), "/activity/stream", key, "").await;
        let mut streams = Vec::new();
        for (key, most) in [(app.secret_key(), 2), (&*other.secret_key, 1), (&*third.secret_key, 1)] {
            for _ in 0..most {
                streams.push(open(key).await.expect("there is a place"));
            }
            let refused = open(key).await.expect_err("the share is taken").to_string();
            assert!(refused.contains(" 429 "), "{refused}");
        }
    }

    async fn a_stream_ends_when_the_service_stops(engine: Engine) {
        let mut app = App::start(engine).await;
        let mut events = follow(&app, "", "").await;
        let stopped = tokio::spawn(async move { (events.next().await, events.last_id().to_owned()) });
        app.stop().await;
        let (ended, last) = stopped.await.expect("the stream was read");
        assert_eq!(ended.expect("it ends as it should"), None);
        app.restart().await;
        track(&app, "one", 0..1).await;
        assert_eq!(numbers(&take(&mut follow(&app, "types=event.triggered", &last).await, 1).await), [0]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_one_process_does_comes_in_the_streams_of_another() {
    let app = App::start(Engine::Postgres).await;
    let node = app.second_node().await;
    let (mut one, mut two) =
        (follow(&app, "types=event.triggered", "").await, follow(&node, "types=event.triggered", "").await);
    track(&app, "one", 0..3).await;
    track(&node, "one", 3..6).await;
    let (one, two) = (take(&mut one, 6).await, take(&mut two, 6).await);
    assert_eq!(one, two);
    assert_eq!(numbers(&one), [0, 1, 2, 3, 4, 5]);
}
