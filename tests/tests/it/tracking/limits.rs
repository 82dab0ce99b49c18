//! Bounds on what is kept of a mail's opens and clicks, and that nothing of it is lost.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::future::join_all;
use mailwright_testkit::{App, Engine, both_engines, json};
use mailwright_tests::{early_in_a_minute, inline, items, send_ok, text};

use super::{
    Mail, OTHER_PERSON, PERSON, builder, column, counts, events, judged, later, sent, start, stored, target,
    visit,
};

const MINUTE: Duration = Duration::from_mins(1);

/// Asks for the picture of a mail very often.
async fn flood(app: &App, mail: &Mail) {
    let picture = mail.picture();
    for _ in 0..8 {
        for answer in join_all((0..50).map(|_| visit(app, &picture, PERSON))).await {
            assert_eq!(answer.status, 200);
        }
    }
}

async fn hits_of(app: &App, mail: &Mail) -> usize {
    app.list_all(&format!("/emails/{}/hits", mail.id)).await.len()
}

both_engines! {
    async fn four_hundred_fetches_of_a_picture_do_no_harm(engine: Engine) {
        let app = start(engine).await;
        let (mail, other) = (sent(&app, &json!({})).await, sent(&app, &json!({"to": "bob@example.com"})).await);
        later(&app).await;
        early_in_a_minute(&app).await;
        for minute in 1..=4 {
            flood(&app, &mail).await;
            // another mail of the project has its own, and what came before is stored when that is
            visit(&app, &other.picture(), PERSON).await;
            judged(&app, &other, minute).await;
            let kept = hits_of(&app, &mail).await;
            assert_eq!(kept, (100 * minute).min(300), "after {minute} minutes");
            app.advance(MINUTE).await;
            early_in_a_minute(&app).await;
        }
        app.eventually("further ones are not kept", async || {
            let rows = app.rows().await;
            let of_mail = rows["hits"].len() - 4;
            (of_mail == 300 && hits_of(&app, &mail).await == 300).then_some(())
        })
        .await;
        assert_eq!(counts(&app, &mail).await, [300, 0, 0, 0]);
        assert_eq!(counts(&app, &other).await, [4, 0, 0, 0]);
        assert_eq!(events(&app, &other, "email.open").await.len(), 4);
        assert_eq!(target(&app, &mail.links()[0], PERSON).await, "https://shop.test/one", "its links lead on");
    }

    async fn a_graceful_stop_loses_no_hit_that_was_answered(engine: Engine) {
        const EACH: usize = 40;
        let mut app = builder(engine).start().await;
        let to: Vec<String> = (0..20).map(|n| format!("a{n}@example.com")).collect();
        let data = send_ok(&app, inline(&app, &json!(to))).await;
        let mut mails = Vec::new();
        for email in items(&data["emails"]) {
            mails.push(Mail::of(&app, text(&email["email"])).await);
        }
        later(&app).await;
        early_in_a_minute(&app).await;
        let answered = AtomicUsize::new(0);
        let fetches = (0..EACH).flat_map(|_| &mails).map(|mail| {
            let request = app.request("GET", &mail.picture()).header("user-agent", PERSON.agent);
            let request = request.header("x-forwarded-for", PERSON.address).timeout(Duration::from_secs(10));
            let answered = &answered;
            async move {
                if request.try_send().await.is_ok_and(|answer| answer.status == 200) {
                    answered.fetch_add(1, Ordering::SeqCst);
                }
            }
        });
        let fetching = futures_util::stream::iter(fetches).buffer_unordered(8).for_each(async |()| {});
        let stopping = async {
            app.eventually("some were answered", async || (answered.load(Ordering::SeqCst) >= 100).then_some(())).await;
            app.terminate();
        };
        tokio::join!(fetching, stopping);
        let answered = answered.into_inner();
        assert!(app.wait_for_exit().await.success());
        assert!((100..=EACH * mails.len()).contains(&answered), "{answered} were answered");
        app.restart().await;
        let mut kept = 0;
        for mail in &mails {
            kept += hits_of(&app, mail).await;
        }
        assert!(kept >= answered, "{answered} were answered, {kept} are kept");
        // and they are counted after the start
        app.advance(Duration::from_secs(5)).await;
        let mut opens = 0;
        for mail in &mails {
            let count = hits_of(&app, mail).await;
            let hits = judged(&app, mail, count).await;
            assert!(column(&hits, "class").iter().all(|class| *class == "human"), "{hits:?}");
            opens += counts(&app, mail).await[0] as usize;
        }
        assert_eq!(opens, kept);
    }

    async fn what_was_answered_outlives_a_kill_a_second_later(engine: Engine) {
        let mut app = builder(engine).start().await;
        let mail = sent(&app, &json!({})).await;
        later(&app).await;
        visit(&app, &mail.picture(), PERSON).await;
        target(&app, &mail.links()[0], PERSON).await;
        stored(&app, &mail, 2).await;
        app.kill();
        app.restart().await;
        judged(&app, &mail, 2).await;
        assert_eq!(counts(&app, &mail).await, [1, 1, 0, 0]);
        app.kill();
        app.restart().await;
        app.advance(MINUTE).await;
        assert_eq!(counts(&app, &mail).await, [1, 1, 0, 0], "counted once");
        assert_eq!(events(&app, &mail, "email.click").await.len(), 1);
    }

    async fn what_a_client_says_of_itself_is_bounded(engine: Engine) {
        let app = start(engine).await;
        let mail = sent(&app, &json!({})).await;
        later(&app).await;
        let long = format!("Mozilla/5.0 {}", "é".repeat(3_000));
        for agent in [long.as_str(), "<b>\"x\"</b>", "tab\there", "\u{fffd}"] {
            let request = app.request("GET", &mail.picture()).header("user-agent", agent);
            request.header("x-forwarded-for", "nonsense, \u{fffd}").send().await.assert_status(200);
        }
        let hits = judged(&app, &mail, 4).await;
        for hit in &hits {
            assert!(text(&hit["userAgent"]).len() <= 255, "{hit}");
        }
        assert!(text(&hits[0]["userAgent"]).starts_with("Mozilla/5.0 é"), "{hits:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_that_work_at_the_same_time_count_everything_once() {
    const MAILS: usize = 12;
    let one = start(Engine::Postgres).await;
    let to: Vec<String> = (0..MAILS).map(|n| format!("a{n}@example.com")).collect();
    let data = send_ok(&one, inline(&one, &json!(to))).await;
    let mut mails = Vec::new();
    for email in items(&data["emails"]) {
        mails.push(Mail::of(&one, text(&email["email"])).await);
    }
    // whose own name in links would be another
    let two = one.second_node().await;
    later(&one).await;
    for round in 1..=5 {
        join_all(mails.iter().map(async |mail| {
            let path = mail.picture();
            tokio::join!(visit(&one, &path, PERSON), visit(&two, &path, OTHER_PERSON));
        }))
        .await;
        for mail in &mails {
            judged(&two, mail, round * 2).await;
        }
    }
    for mail in &mails {
        assert_eq!(counts(&one, mail).await, [10, 0, 0, 0]);
        let opened = events(&one, mail, "email.open").await;
        let mut told: Vec<i64> = opened.iter().filter_map(|event| event["data"]["opens"].as_i64()).collect();
        told.sort_unstable();
        assert_eq!(told, (1..=10).collect::<Vec<i64>>(), "{opened:?}");
        let first = opened.iter().filter(|event| event["data"]["isFirstOpen"] == true);
        assert_eq!(first.count(), 1, "{opened:?}");
    }
}
