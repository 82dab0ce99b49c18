//! POST /contacts/bulk/:jobId/undo, and the list of bulk operations.

use futures_util::future::{join, join_all};
use mailwright_testkit::{App, Engine, both_engines};
use mailwright_tests::browser::change_project;
use mailwright_tests::{
    UNKNOWN_ID, as_project, column, contact, create_contact, items, read, subscription_events, text,
};
use serde_json::{Value, json};

use super::{bulk_path, finished, import_path, queued, upload};

/// Runs an operation to its end and returns the job.
async fn done(app: &App, operation: &str, contacts: &[&Value]) -> String {
    let ids: Vec<_> = contacts.iter().map(|contact| contact["id"].clone()).collect();
    let asked = app.post(&format!("/contacts/bulk-{operation}")).json(&json!({"contactIds": ids}));
    let job = queued(&asked.send().await);
    assert_eq!(finished(app, &bulk_path(&job)).await["state"], "completed");
    job
}

fn undo_path(job: &str) -> String {
    format!("{}/undo", bulk_path(job))
}

/// Undoes a job; the job that did, and its result.
async fn undone(app: &App, job: &str) -> (String, Value) {
    let undoing = queued(&app.post(&undo_path(job)).send().await);
    let status = finished(app, &bulk_path(&undoing)).await;
    assert_eq!(status["state"], "completed", "{status}");
    assert_eq!(status["result"]["undoes"], job);
    (undoing, status["result"].clone())
}

/// Requested, succeeded, unchanged, failed.
fn counts(result: &Value) -> [i64; 4] {
    ["totalRequested", "successCount", "unchangedCount", "failureCount"]
        .map(|key| result[key].as_i64().expect("a number"))
}

async fn subscribed(app: &App, contacts: &[&Value]) -> Vec<bool> {
    let mut found = Vec::new();
    for one in contacts {
        found.push(contact(app, &one["id"]).await["subscribed"].as_bool().expect("a boolean"));
    }
    found
}

both_engines! {
    async fn what_a_job_flipped_is_set_back_unless_it_changed_since(engine: Engine) {
        let app = App::start(engine).await;
        let mut contacts = Vec::new();
        for (name, subscribed) in
            [("ann", true), ("bob", false), ("carl", true), ("dora", true), ("emil", true), ("fay", true)]
        {
            let data = json!({"name": name});
            contacts.push(create_contact(&app, &format!("{name}@example.com"), subscribed, data).await);
        }
        let all: Vec<&Value> = contacts.iter().collect();
        let [ann, bob, carl, dora, emil, fay] = all[..] else { panic!("six contacts") };
        let job = done(&app, "unsubscribe", &all).await;
        assert_eq!(subscribed(&app, &all).await, [false; 6]);

        // one subscribes and goes again, one subscribes, one's address is suppressed, one is deleted, one's data changes
        let set = async |of: &Value, body: Value| {
            app.patch(&format!("/contacts/{}", text(&of["id"]))).json(&body).send().await.assert_status(200);
        };
        set(carl, json!({"subscribed": true})).await;
        set(carl, json!({"subscribed": false})).await;
        set(dora, json!({"subscribed": true})).await;
        set(ann, json!({"data": {"plan": "pro"}})).await;
        let listed = json!({"email": "emil@example.com", "reason": "hard-bounce"});
        app.post("/suppressions/addresses").json(&listed).send().await.assert_status(201);
        app.delete(&format!("/contacts/{}", text(&fay["id"]))).send().await.assert_status(204);

        let (undoing, result) = undone(&app, &job).await;
        assert_eq!(result["operation"], "subscribe");
        assert_eq!(counts(&result), [5, 1, 3, 1], "bob was unsubscribed before");
        assert_eq!(result["errors"][0]["contactId"], fay["id"]);
        assert_eq!(subscribed(&app, &[ann, bob, carl, dora, emil]).await, [true, false, false, true, false]);
        assert_eq!(contact(&app, &ann["id"]).await["data"], json!({"name": "ann", "plan": "pro"}));
        assert_eq!(subscription_events(&app, &ann["id"]).await, ["contact.unsubscribed", "contact.subscribed"]);
        let still = read(&app, "/suppressions/addresses").await;
        assert_eq!(column(&still["data"], "email"), ["emil@example.com"], "nothing is lifted");

        // a second time there is nothing left to set back, and what was undone can be done again
        assert_eq!(counts(&undone(&app, &job).await.1), [5, 0, 4, 1]);
        let (_, again) = undone(&app, &undoing).await;
        assert_eq!((&again["operation"], counts(&again)), (&json!("unsubscribe"), [1, 1, 0, 0]));
        assert_eq!(subscribed(&app, &[ann]).await, [false]);
    }

    async fn who_confirmed_before_is_not_asked_again(engine: Engine) {
        let app = App::start(engine).await;
        let ann = create_contact(&app, "ann@example.com", true, json!({})).await;
        let bob = create_contact(&app, "bob@example.com", false, json!({})).await;
        change_project(&app, &json!({"doubleOptIn": true})).await;
        let job = done(&app, "unsubscribe", &[&ann]).await;
        assert_eq!(counts(&undone(&app, &job).await.1), [1, 1, 0, 0]);
        assert_eq!(subscribed(&app, &[&ann, &bob]).await, [true, false]);
        // nobody flipped, so there is nothing to undo
        let asking = done(&app, "subscribe", &[&bob]).await;
        app.post(&undo_path(&asking)).send().await.assert_error(409, "CONFLICT");
    }

    async fn who_refuses_meanwhile_is_not_brought_back(engine: Engine) {
        let app = App::start(engine).await;
        let mut contacts = Vec::new();
        for name in ["ann", "bob", "carl", "dora"] {
            contacts.push(create_contact(&app, &format!("{name}@example.com"), true, json!({})).await);
        }
        let [ann, bob, carl, dora] = [0, 1, 2, 3].map(|index| &contacts[index]);
        let all = [ann, bob, carl, dora];
        let job = done(&app, "unsubscribe", &all).await;
        let form = "application/x-www-form-urlencoded";
        let (page, public) = (|of: &Value| format!("/unsubscribe/{}", text(&of["id"])), "/contacts/public");
        for _ in 0..2 {
            let click = app.request("POST", &page(ann)).body("List-Unsubscribe=One-Click", form);
            click.send().await.assert_status(200);
            app.request("POST", &page(bob)).body("", form).send().await.assert_status(200);
            let path = format!("{public}/{}/unsubscribe", text(&carl["id"]));
            app.request("POST", &path).send().await.assert_status(200);
        }
        assert_eq!(counts(&undone(&app, &job).await.1), [4, 1, 3, 0]);
        assert_eq!(subscribed(&app, &all).await, [false, false, false, true]);
        // it is evidence, once
        for (of, way) in [(ann, "one-click"), (bob, "one-click"), (carl, "page")] {
            let evidence = read(&app, &format!("/contacts/{}/consent", text(&of["id"]))).await["data"].clone();
            assert_eq!(column(&evidence, "way"), [way, "api", "api"], "{evidence}");
        }
    }

    async fn who_refuses_while_a_job_is_undone_stays_out(engine: Engine) {
        let app = App::start(engine).await;
        let names: Vec<_> = (0..40).map(|number| format!("c{number}@example.com")).collect();
        let contacts: Vec<_> = join_all(names.iter().map(|name| create_contact(&app, name, true, json!({})))).await;
        let all: Vec<&Value> = contacts.iter().collect();
        let job = done(&app, "unsubscribe", &all).await;
        let refuse = async |of: &Value| {
            let path = format!("/contacts/public/{}/unsubscribe", text(&of["id"]));
            app.request("POST", &path).send().await.assert_status(200);
        };
        let (undo, refusals) = (undone(&app, &job), join_all(all.iter().map(|of| refuse(of))));
        join(undo, refusals).await;
        assert_eq!(subscribed(&app, &all).await, vec![false; all.len()]);
    }

    async fn not_everything_can_be_undone(engine: Engine) {
        let app = App::start(engine).await;
        let other = app.bootstrap("Neighbour", "neighbour.example").await;
        let ann = create_contact(&app, "ann@example.com", true, json!({})).await;
        let bob = create_contact(&app, "bob@example.com", true, json!({})).await;
        let unchanged = done(&app, "subscribe", &[&ann]).await;
        let flipped = done(&app, "unsubscribe", &[&ann]).await;
        let deleted = done(&app, "delete", &[&bob]).await;
        let refused = app.post(&undo_path(&deleted)).send().await.assert_error(409, "CONFLICT");
        assert!(text(&refused["message"]).contains("deleted"), "{refused}");
        let refused = app.post(&undo_path(&unchanged)).send().await.assert_error(409, "CONFLICT");
        assert!(text(&refused["message"]).contains("changed no subscription"), "{refused}");
        let import = queued(&upload(&app, "email\nc@example.com\n").await);
        finished(&app, &import_path(&import)).await;
        for unknown in [UNKNOWN_ID, "nonsense", &import] {
            app.post(&undo_path(unknown)).send().await.assert_error(404, "RESOURCE_NOT_FOUND");
        }
        let foreign = as_project(&app, &other, "POST", &undo_path(&flipped)).send().await;
        foreign.assert_error(404, "RESOURCE_NOT_FOUND");

        let (undoing, _) = undone(&app, &flipped).await;
        let listed = read(&app, "/contacts/bulk").await["data"].clone();
        assert_eq!(column(&listed, "id"), [&undoing[..], &deleted, &flipped, &unchanged]);
        let can: Vec<_> = items(&listed).iter().map(|job| job["counts"]["canUndo"].clone()).collect();
        assert_eq!(json!(can), json!([true, false, true, false]));
        let operations: Vec<_> = items(&listed).iter().map(|job| text(&job["counts"]["operation"])).collect();
        assert_eq!(operations, ["subscribe", "delete", "unsubscribe", "subscribe"]);
        assert_eq!(listed[0]["counts"]["undoes"], flipped);
        assert_eq!(listed[2]["counts"]["undoes"], Value::Null);
        let theirs = as_project(&app, &other, "GET", "/contacts/bulk").send().await.assert_status(200).json();
        assert_eq!(theirs, json!({"data": []}));
    }
}
