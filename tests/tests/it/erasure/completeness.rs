//! Nothing is left of a person who was erased, and everything of everybody else.

use std::time::Duration;

use mailwright_testkit::{App, Engine, Rows, Value, both_engines, json};
use mailwright_tests::browser::Browser;
use mailwright_tests::{create_contact, read, text};

use super::filled::{Person, Scene, fill, import, started};
use super::{completed, erase, erased, owner, rows_with, standing, tables};

/// The tables that a filled person stands in by address or word.
const FILLED: [&str; 16] = [
    "audit",
    "contacts",
    "contents",
    "emails",
    "events",
    "idempotency_keys",
    "inbound_contents",
    "inbound_mails",
    "inbound_raw",
    "job_failures",
    "mailbox",
    "soft_bounces",
    "suppressions",
    "verification_results",
    "workflow_outputs",
    "workflow_requests",
];

/// The rows that have a word of a person.
async fn rows_of(app: &App, person: &Person) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for word in person.words() {
        found.extend(rows_with(app, word).await);
    }
    found.sort();
    found.dedup();
    found
}

/// The rows that refer to a contact.
fn about(rows: &Rows, contact: &Value) -> Vec<(String, String)> {
    let plain = text(contact).to_owned();
    let listed: Vec<String> = plain
        .replace('-', "")
        .as_bytes()
        .chunks(2)
        .map(|pair| String::from_utf8_lossy(pair).into_owned())
        .collect();
    let listed = listed.join(", ");
    // the log of requests has ids in paths, and goes on while it is looked at
    let found = rows.iter().filter(|(table, _)| *table != "request_log").flat_map(|(table, rows)| {
        let rows = rows.iter().filter(|row| row.contains(&plain) || row.contains(&listed));
        rows.map(|row| (table.clone(), row.clone())).collect::<Vec<_>>()
    });
    found.collect()
}

/// How many contacts and mails a project has, as its sums say.
async fn counted(app: &App) -> [i64; 2] {
    let mut totals = [0; 2];
    for (total, path) in totals.iter_mut().zip(["/contacts", "/emails"]) {
        *total = read(app, path).await["total"].as_i64().expect("a number");
    }
    totals
}

async fn other_project(app: &App, email: &str) -> Person {
    let other = app.bootstrap("Other", "other.test").await;
    let body = json!({"email": email, "data": {"name": "canary-other"}, "event": "viewed"});
    app.post("/v1/track").bearer(&other.secret_key).json(&body).send().await.assert_status(200);
    Person { email: email.to_owned(), word: "canary-other".into(), contact: json!("none") }
}

both_engines! {
    async fn nothing_is_left_of_who_was_erased_and_everything_of_others(engine: Engine) {
        let (app, inbound) = started(engine).await;
        let scene = Scene::new(&app).await;
        let ann = fill(&app, inbound, &scene, "ann").await;
        let bob = fill(&app, inbound, &scene, "bob").await;
        let other = other_project(&app, &ann.email).await;
        let owner = owner(&app).await;
        let before = rows_of(&app, &ann).await;
        for table in FILLED {
            assert!(tables(&before).contains(&table), "{table} has nothing of the person: {:?}", tables(&before));
        }
        // once nothing in the background changes it any more
        let of_bob = app.eventually("bob is at rest", async || {
            let seen = (rows_of(&app, &bob).await, about(&app.rows().await, &bob.contact));
            app.advance(Duration::from_secs(2)).await;
            let again = (rows_of(&app, &bob).await, about(&app.rows().await, &bob.contact));
            (seen == again).then_some(again)
        }).await;
        let of_other = rows_with(&app, &other.word).await;

        let receipt = erased(&app, &owner, &ann.contact, json!({})).await;
        let left = rows_of(&app, &ann).await;
        // the same address in another project
        let left: Vec<_> = left.into_iter().filter(|row| !of_other.contains(row)).collect();
        assert!(left.is_empty(), "{left:#?}");
        assert_eq!(rows_with(&app, &other.word).await, of_other, "another project is untouched");
        let now = (rows_of(&app, &bob).await, about(&app.rows().await, &bob.contact));
        assert_eq!(now.0, of_bob.0, "another person is untouched");
        assert_eq!(now.1, of_bob.1, "another person is untouched");

        // blank mails still refer to the id, which leads nowhere, and campaigns whose audience ended with it
        let refer = about(&app.rows().await, &ann.contact);
        assert!(
            tables(&refer).iter().all(|table| ["campaigns", "emails"].contains(table)),
            "{:?}",
            tables(&refer)
        );
        for (what, least) in [
            ("contacts", 1), ("consents", 1), ("topics", 1), ("confirmations", 1), ("segments", 1), ("events", 4),
            ("emails", 3), ("hits", 1), ("contents", 1), ("captured", 3), ("received", 1), ("executions", 1),
            ("refusals", 1), ("suppressions", 1), ("softBounces", 1), ("verifications", 1), ("auditEntries", 1), ("idempotencyKeys", 1),
            ("jobRows", 1),
        ] {
            assert!(receipt["counts"][what].as_i64() >= Some(least), "{what}: {receipt}");
        }
        for word in ann.words() {
            assert!(!receipt.to_string().contains(word), "{receipt}");
        }
    }

    async fn what_is_counted_stays_true(engine: Engine) {
        let (app, inbound) = started(engine).await;
        let scene = Scene::new(&app).await;
        let ann = fill(&app, inbound, &scene, "ann").await;
        let bob = fill(&app, inbound, &scene, "bob").await;
        let owner = owner(&app).await;
        let [contacts, mails] = counted(&app).await;
        erased(&app, &owner, &ann.contact, json!({})).await;
        // the mail that the person wrote is gone, the rows of the others stay
        assert_eq!(counted(&app).await, [contacts - 1, mails - 1]);
        let listed = app.list_all("/emails").await;
        assert_eq!(listed.len() as i64, mails - 1, "the total is that of the rows");
        let of_bob = read(&app, &format!("/contacts/{}", text(&bob.contact))).await;
        assert_eq!(of_bob["email"], bob.email);
        let events = read(&app, "/events").await;
        assert!(!events.to_string().contains(&ann.word), "{events}");
        let activity = app.get("/activity").send().await.assert_status(200).text();
        assert!(!activity.contains(&ann.email) && !activity.contains(&ann.word));
    }

    async fn an_erasure_goes_on_when_the_service_was_killed(engine: Engine) {
        let (mut app, inbound) = started(engine).await;
        let scene = Scene::new(&app).await;
        let ann = fill(&app, inbound, &scene, "ann").await;
        let owner = owner(&app).await;
        for n in 0..3 {
            let id = erase(&app, &owner, &ann.contact, json!({"keepOut": true})).await;
            app.kill();
            app.restart().await;
            if n == 2 {
                let receipt = completed(&app, &owner, &id).await;
                assert_eq!(receipt["keepOut"], true);
            }
        }
        let left = rows_of(&app, &ann).await;
        assert!(left.is_empty(), "{left:#?}");
    }

    async fn whatever_runs_at_the_same_time_leaves_nothing(engine: Engine) {
        let (app, _) = started(engine).await;
        let owner = owner(&app).await;
        let (email, word) = ("ann@people.example", "canary-ann");
        let ann = create_contact(&app, email, true, json!({"name": word})).await;
        let requests = async {
            for n in 0..30 {
                let body = json!({"email": email, "event": "viewed", "data": {"page": word}});
                app.track(body).await;
                app.send(json!({"to": email, "from": app.from(), "subject": word, "body": format!("{word} {n}")})).await;
                app.post("/contacts").json(&json!({"email": email, "data": {"n": n}})).send().await;
            }
        };
        let importing = async {
            for _ in 0..3 {
                import(&app, &format!("email,name\r\nzoe@people.example,x\r\n{email},{word}\r\n")).await;
            }
        };
        let erasing = async {
            app.eventually("something was recorded", async || {
                (!rows_with(&app, "viewed").await.is_empty()).then_some(())
            })
            .await;
            let id = erase(&app, &owner, &ann["id"], json!({"keepOut": true})).await;
            completed(&app, &owner, &id).await
        };
        let ((), (), receipt) = tokio::join!(requests, importing, erasing);
        assert_eq!(receipt["counts"]["contacts"], 1);
        // an import that came later tells whom it refused
        let id = text(&app_erase_address(&app, &owner, email).await["id"]).to_owned();
        completed(&app, &owner, &id).await;
        for what in [email, word] {
            let left = rows_with(&app, what).await;
            assert!(left.is_empty(), "{left:#?}");
        }
        assert_eq!(standing(&app, &owner, email).await["isKeptOut"], true);
    }
}

async fn app_erase_address(app: &App, owner: &Browser, email: &str) -> Value {
    let request = owner.in_project(app, app.project_id(), "POST", "/erasures").json(&json!({"email": email}));
    request.send().await.assert_status(202).json()
}
