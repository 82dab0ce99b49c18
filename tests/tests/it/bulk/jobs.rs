//! Jobs as such: they survive the process, are shared by several, and projects get their turns.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use mailwright_testkit::{App, Engine, both_engines};
use mailwright_tests::random::Random;
use mailwright_tests::{UNKNOWN_ID, as_project, contact_by_email, items, read, subscription_events};
use serde_json::json;

use super::{counts, csv_part, finished, import_path, numbered, queued, total, upload, with_form};

/// Rows of the large file.
const ROWS: usize = 30_000;
/// Every so many rows of it there is one whose contact is known.
const KNOWN: usize = 40;

/// A file that unsubscribes those of its contacts that are known, and in which every tenth row fails.
fn large(rows: usize) -> String {
    let mut csv = String::from("email,subscribed,number,plan\n");
    for number in 0..rows {
        if number % 10 == 9 {
            writeln!(csv, "broken{number},false,{number},x").expect("a string");
        } else {
            writeln!(csv, "c{number}@example.com,false,{number},x").expect("a string");
        }
    }
    csv
}

/// Contacts of the large file that exist, subscribed, before it is imported.
fn known() -> String {
    let rows = (0..ROWS).step_by(KNOWN).map(|number| format!("c{number}@example.com,true\n"));
    format!("email,subscribed\n{}", rows.collect::<String>())
}

async fn progress(app: &App, path: &str) -> Option<i64> {
    let status = app.get(path).send().await.assert_status(200).json();
    status["progress"].as_i64()
}

/// From now on no contact can be added.
async fn break_contacts(app: &App) {
    app.tamper(match app.engine() {
        Engine::Sqlite => {
            "create trigger broken before insert on contacts begin select raise(abort, 'no'); end"
        }
        Engine::Postgres => {
            // and none that is there be changed; Citus has no triggers for tables that are divided
            "alter table contacts add constraint broken check (false) not valid"
        }
    })
    .await;
}

async fn mend_contacts(app: &App) {
    app.tamper(match app.engine() {
        Engine::Sqlite => "drop trigger broken",
        Engine::Postgres => "alter table contacts drop constraint broken",
    })
    .await;
}

/// Queues an import that fails, and waits until it is put off.
async fn delayed(app: &App) -> String {
    let path = import_path(&queued(&upload(app, "email\na@example.com\n").await));
    app.eventually("the job is put off", async || {
        let status = read(app, &path).await;
        assert_eq!(status["result"], json!(null), "{status}");
        (status["state"] == "delayed").then_some(())
    })
    .await;
    path
}

async fn assert_given_up(app: &App, path: &str) {
    let status = finished(app, path).await;
    assert_eq!(status["state"], "failed", "{status}");
    assert_eq!(status["failedReason"], "An unexpected error stopped the job.");
    assert_eq!(total(app).await, 0);
}

both_engines! {
    async fn a_job_that_fails_is_put_off_and_tried_again(engine: Engine) {
        let app = App::start(engine).await;
        break_contacts(&app).await;
        let path = delayed(&app).await;
        mend_contacts(&app).await;
        let status = finished(&app, &path).await;
        assert_eq!(counts(&status["result"]), [1, 1, 0, 0]);
        assert_eq!(total(&app).await, 1);
    }

    async fn a_job_that_fails_ten_times_is_given_up(engine: Engine) {
        let app = App::start(engine).await;
        break_contacts(&app).await;
        let path = delayed(&app).await;
        app.tamper("update jobs set attempts = 9, due_at = 0 where due_at is not null").await;
        assert_given_up(&app, &path).await;
        // it stands in nobody's way
        mend_contacts(&app).await;
        crate::bulk::imported(&app, "email\nb@example.com\n").await;
        assert_eq!(total(&app).await, 1);
    }

    async fn a_job_that_was_claimed_ten_times_in_vain_is_not_begun_again(engine: Engine) {
        let app = App::start(engine).await;
        break_contacts(&app).await;
        let path = delayed(&app).await;
        // as ten processes leave it that died of it: it would succeed now
        mend_contacts(&app).await;
        app.tamper("update jobs set attempts = 10, due_at = 0 where due_at is not null").await;
        assert_given_up(&app, &path).await;
    }

    async fn a_killed_import_goes_on_where_it_was(engine: Engine) {
        let mut random = Random::from_environment();
        let mut app = App::start(engine).await;
        crate::bulk::imported(&app, known()).await;
        let path = import_path(&queued(&upload(&app, large(ROWS)).await));
        for _ in 0..4 {
            let before = progress(&app, &path).await.expect("a number");
            let waiting = async || progress(&app, &path).await.filter(|now| *now > before || *now == 100);
            app.eventually_within(Duration::from_mins(1), "the import makes progress", waiting).await;
            tokio::time::sleep(random.millis(60)).await;
            app.kill();
            app.restart().await;
        }
        let status = finished(&app, &path).await;
        let (failed, updated) = ((ROWS / 10) as i64, ROWS.div_ceil(KNOWN) as i64);
        let rows = ROWS as i64;
        assert_eq!(counts(&status["result"]), [rows, rows - failed - updated, updated, failed]);
        let errors = items(&status["result"]["errors"]);
        assert_eq!(errors.len(), 1000);
        assert!(errors.iter().enumerate().all(|(position, error)| error["row"] == 11 + 10 * position));
        assert_eq!(total(&app).await, rows - failed);
        assert_eq!(read(&app, "/contacts?subscribed=true&limit=1").await["total"], 0);
        for number in (0..ROWS).step_by(ROWS / 20) {
            let contact = contact_by_email(&app, &format!("c{number}@example.com")).await.expect("a contact");
            assert_eq!(contact["data"], json!({"number": number, "plan": "x"}));
            let flips = usize::from(number % KNOWN == 0);
            assert_eq!(subscription_events(&app, &contact["id"]).await.len(), flips, "{number}");
        }
        let flips = read(&app, "/events?eventName=contact.unsubscribed&limit=1000").await;
        assert_eq!(items(&flips["events"]).len() as i64, updated);
    }

    async fn a_large_import_does_not_keep_another_project_waiting(engine: Engine) {
        let app = App::builder(engine).env("MAILWRIGHT_JOBS_AT_ONCE", "1").start().await;
        let other = app.bootstrap("Neighbour", "neighbour.example").await;
        let large = import_path(&queued(&upload(&app, large(4 * ROWS)).await));
        app.eventually("the import has begun", async || progress(&app, &large).await.filter(|now| *now > 0)).await;
        let form = as_project(&app, &other, "POST", "/contacts/import");
        let small = queued(&with_form(form, &[csv_part(b"email\na@example.com\n")]).send().await);
        let path = import_path(&small);
        app.eventually("the small import is done", async || {
            let status = as_project(&app, &other, "GET", &path).send().await.assert_status(200).json();
            (status["state"] == "completed").then_some(())
        })
        .await;
        assert!(progress(&app, &large).await < Some(100), "the large one is still under way");
        assert_eq!(finished(&app, &large).await["result"]["totalRows"], 4 * ROWS);
    }

    async fn a_stopped_import_is_given_back(engine: Engine) {
        let mut app = App::builder(engine).env("MAILWRIGHT_JOBS_LEASE_MS", "600000").start().await;
        let path = import_path(&queued(&upload(&app, large(ROWS)).await));
        app.eventually("the import has begun", async || progress(&app, &path).await.filter(|now| *now > 0)).await;
        assert!(app.stop().await.success());
        app.restart().await;
        // the lease of ten minutes is not waited for
        let status = finished(&app, &path).await;
        assert_eq!(counts(&status["result"])[..2], [ROWS as i64, (ROWS - ROWS / 10) as i64]);
    }

    async fn the_queue_of_a_project_is_bounded(engine: Engine) {
        let app = App::start(engine).await;
        let other = app.bootstrap("Neighbour", "neighbour.example").await;
        // the others wait behind it
        let large = import_path(&queued(&upload(&app, large(4 * ROWS)).await));
        let body = json!({"contactIds": [UNKNOWN_ID]});
        let mut accepted = Vec::new();
        let mut refused = None;
        while accepted.len() < 100 && refused.is_none() {
            let answer = app.post("/contacts/bulk-delete").json(&body).send().await;
            if answer.status == 202 { accepted.push(queued(&answer)) } else { refused = Some(answer) }
        }
        let refused = match refused {
            Some(answer) => answer,
            None => app.post("/contacts/bulk-delete").json(&body).send().await,
        };
        refused.assert_error(429, "RATE_LIMIT_EXCEEDED");
        assert!(refused.headers.get("retry-after").is_some());
        assert!(accepted.len() >= 99, "{}", accepted.len());
        let theirs = as_project(&app, &other, "POST", "/contacts/bulk-delete").json(&body).send().await;
        queued(&theirs);
        finished(&app, &large).await;
        for job in &accepted {
            assert_eq!(finished(&app, &crate::bulk::bulk_path(job)).await["result"]["failureCount"], 1);
        }
    }

    async fn the_last_hundred_finished_jobs_are_kept(engine: Engine) {
        let app = App::start(engine).await;
        let mut jobs = Vec::new();
        for _ in 0..105 {
            let job = queued(&upload(&app, "email\na@example.com\nnope\n").await);
            finished(&app, &import_path(&job)).await;
            jobs.push(job);
        }
        for (position, job) in jobs.iter().enumerate() {
            let answer = app.get(&import_path(job)).send().await;
            assert_eq!(answer.status, if position < 5 { 404 } else { 200 }, "{position}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_nodes_share_the_jobs() {
    const PROJECTS: usize = 6;
    let one = App::start(Engine::Postgres).await;
    let two = one.second_node().await;
    let csv = numbered(4000);
    let mut jobs = Vec::new();
    for number in 0..PROJECTS {
        let project = one.bootstrap(&format!("P{number}"), &format!("p{number}.example")).await;
        let form = as_project([&one, &two][number % 2], &project, "POST", "/contacts/import");
        jobs.push((queued(&with_form(form, &[csv_part(csv.as_bytes())]).send().await), project));
    }
    for (job, project) in &jobs {
        let path = import_path(job);
        let status = one
            .eventually_within(Duration::from_mins(2), "the import is done", async || {
                let status = as_project(&two, project, "GET", &path).send().await.assert_status(200).json();
                (status["state"] == "completed").then_some(status)
            })
            .await;
        assert_eq!(counts(&status["result"]), [4000, 4000, 0, 0]);
        let page =
            as_project(&one, project, "GET", "/contacts?limit=1").send().await.assert_status(200).json();
        assert_eq!(page["total"], 4000);
    }
    let done: BTreeMap<usize, usize> = [&one, &two]
        .iter()
        .enumerate()
        .map(|(node, app)| (node, app.log().matches("a job was completed").count()))
        .collect();
    assert_eq!(done.values().sum::<usize>(), PROJECTS, "each job once: {done:?}");
    assert!(done.values().all(|count| *count > 0), "both work: {done:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_dies_hands_its_job_over() {
    let mut one = App::start(Engine::Postgres).await;
    let path = import_path(&queued(&upload(&one, large(ROWS)).await));
    one.eventually("the import has begun", async || progress(&one, &path).await.filter(|now| *now > 0)).await;
    let two = one.second_node().await;
    one.kill();
    let status = finished(&two, &path).await;
    let failed = (ROWS / 10) as i64;
    assert_eq!(counts(&status["result"]), [ROWS as i64, ROWS as i64 - failed, 0, failed]);
    assert_eq!(total(&two).await, ROWS as i64 - failed);
}
