//! What of a project needs a person.

use std::time::Duration;

use mailwright_testkit::net::free_port;
use mailwright_testkit::smtp::{Answer, ScriptedServer};
use mailwright_testkit::{App, Engine, OWNER, both_engines};
use mailwright_tests::browser::Browser;
use mailwright_tests::{
    UNKNOWN_ID, as_project, assert_only_keys, assert_timestamp, create_contact, inline, items, read, send_ok,
    text,
};
use serde_json::{Value, json};

/// What needs a person, as the key finds it.
async fn attention(app: &App) -> Vec<Value> {
    let found = read(app, &format!("/projects/{}/attention", app.project_id())).await;
    assert_only_keys(&found, &["items", "hasMore"]);
    items(&found["items"]).to_vec()
}

async fn kinds(app: &App) -> Vec<String> {
    attention(app).await.iter().map(|item| text(&item["kind"]).to_owned()).collect()
}

/// Waits until these kinds of things need a person; the things.
async fn until(app: &App, wanted: &[&str]) -> Vec<Value> {
    app.eventually(&format!("{wanted:?} need a person"), async || {
        let found = attention(app).await;
        let kinds: Vec<_> = found.iter().map(|item| text(&item["kind"])).collect();
        (kinds == wanted).then_some(found)
    })
    .await
}

/// Sends a campaign to one contact; its id.
async fn campaign(app: &App) -> String {
    create_contact(app, "cara@example.com", true, json!({})).await;
    let body = json!({"name": "Spring", "subject": "s", "body": "<p>b</p>", "from": app.from(), "audienceType": "ALL"});
    let made = app.post("/campaigns").json(&body).send().await.assert_status(201).json();
    let id = text(&made["data"]["id"]).to_owned();
    app.post(&format!("/campaigns/{id}/send")).json(&json!({})).send().await.assert_status(200);
    id
}

both_engines! {
    async fn nothing_needs_a_person_where_all_is_well(engine: Engine) {
        let app = App::start(engine).await;
        app.send_to("ann@example.com").await;
        assert_eq!(kinds(&app).await, Vec::<String>::new());
        // a person is told of the own account as well
        let owner = Browser::log_in(&app, OWNER.0, OWNER.1).await;
        let member = Browser::sign_up(&app, "member@example.com").await;
        owner.add_member(&app, app.project_id(), &member, "MEMBER").await;
        app.tamper("update users set email_verified_at = null where email = 'member@example.com'").await;
        let path = format!("/projects/{}/attention", app.project_id());
        let told = member.request(&app, "GET", &path).send().await.assert_status(200).json();
        let [item] = items(&told["items"]) else { panic!("{told}") };
        assert_only_keys(item, &["kind", "severity", "since", "title", "detail", "target", "name", "count"]);
        assert_eq!((&item["kind"], &item["severity"]), (&json!("ADDRESS_UNVERIFIED"), &json!("info")));
        assert_eq!(item["target"], json!({"kind": "user", "id": member.id}));
        assert_timestamp(&item["since"]);
    }

    async fn what_is_wrong_is_told_in_one_order(engine: Engine) {
        let app = App::start(engine).await;
        for to in ["ann@example.com", "bea@example.com"] {
            let id = app.send_to(to).await;
            app.email_in(&id, &["SENT"]).await;
        }
        let campaign = campaign(&app).await;
        app.eventually("the campaign is sent", async || {
            let found = read(&app, &format!("/campaigns/{campaign}")).await;
            (found["status"] == "SENT").then_some(())
        })
        .await;
        app.tamper("update emails set status = 'IN_DOUBT' where recipient = 'ann@example.com'").await;
        assert_eq!(kinds(&app).await, ["MAILS_IN_DOUBT"]);
        // what is held is in doubt, and told once
        app.tamper("insert into held_emails (project_id, email_id) select project_id, id from emails where recipient = 'ann@example.com'").await;
        app.tamper("update domains set verified = false, vouched = false where name = 'acme.test'").await;
        app.tamper("insert into jobs (project_id, id, kind, state, progress, percent, claim, attempts, failed_reason, created_at, updated_at) \
            select e.project_id, e.id, 'import_contacts', 'failed', e.variables, 0, 1, 1, 'It is no CSV file.', e.created_at, e.created_at \
            from emails e where e.recipient = 'bea@example.com' and e.campaign_id is null").await;
        app.tamper("update campaigns set status = 'SENDING', paused_at = sent_at, next_at = sent_at + 1000000000, note = 'Paused, because.' \
            where name = 'Spring'").await;
        let found = attention(&app).await;
        let told: Vec<_> = found.iter().map(|item| (text(&item["kind"]), text(&item["severity"]), text(&item["target"]["kind"]))).collect();
        assert_eq!(told, [
            ("DOMAIN_UNVERIFIED", "warning", "domain"),
            ("HELD_MAILS", "critical", "held"),
            ("CAMPAIGN_PAUSED", "critical", "campaign"),
            ("JOB_FAILED", "warning", "job"),
        ]);
        assert_eq!(found[2]["target"]["id"], campaign.as_str());
        assert_eq!(found[2]["detail"], "Paused, because.");
        assert_eq!(found[3]["detail"], "It is no CSV file.");
        let named: Vec<_> = found.iter().map(|item| (item["name"].as_str(), item["count"].as_i64())).collect();
        assert_eq!(named, [(Some("acme.test"), None), (None, Some(2)), (Some("Spring"), None), (None, None)]);
        assert!(text(&found[0]["title"]).contains("acme.test"), "{}", found[0]);
        // what is over for a week is told no more
        app.advance(Duration::from_hours(8 * 24)).await;
        let later = kinds(&app).await;
        assert!(!later.contains(&"JOB_FAILED".to_owned()) && later.contains(&"HELD_MAILS".to_owned()), "{later:?}");

        let other = app.bootstrap("Neighbour", "neighbour.example").await;
        let theirs = format!("/projects/{}/attention", other.id);
        assert_eq!(as_project(&app, &other, "GET", &theirs).send().await.assert_status(200).json()["items"], json!([]));
        for id in [&*other.id, UNKNOWN_ID] {
            app.get(&format!("/projects/{id}/attention")).send().await.assert_error(404, "RESOURCE_NOT_FOUND");
        }
    }

    async fn mail_that_cannot_leave_is_told(engine: Engine) {
        let app = App::builder(engine).smtp(free_port()).start().await;
        send_ok(&app, inline(&app, &json!("ann@example.com"))).await;
        let found = until(&app, &["NEXT_HOP_TROUBLE"]).await;
        assert_eq!((&found[0]["severity"], &found[0]["target"]), (&json!("critical"), &json!({"kind": "delivery", "id": null})));
    }

    async fn mail_that_a_server_puts_off_is_told_after_a_while(engine: Engine) {
        let server = ScriptedServer::start(|_, _| Answer::RefuseRcpt(450, "4.2.0 later")).await;
        let app = App::builder(engine).smtp(server.port).env("MAILWRIGHT_DELIVERY_RETRY_BASE_MS", "3600000").start().await;
        let sent = send_ok(&app, inline(&app, &json!("ann@example.com"))).await;
        let id = text(&sent["emails"][0]["email"]).to_owned();
        app.eventually("it was tried", async || {
            (app.email(&id).await["attemptCount"] == 1).then_some(())
        })
        .await;
        assert_eq!(kinds(&app).await, Vec::<String>::new());
        app.advance(Duration::from_mins(16)).await;
        let found = attention(&app).await;
        assert_eq!((found.len(), &found[0]["kind"]), (1, &json!("MAILS_WAIT")), "{found:?}");
        assert!(text(&found[0]["detail"]).contains("later"), "{found:?}");
    }

    async fn a_disabled_project_and_a_campaign_with_failures_are_told(engine: Engine) {
        let server = ScriptedServer::start(|_, _| Answer::RefuseRcpt(550, "5.1.1 no such user")).await;
        let app = App::builder(engine).smtp(server.port).start().await;
        let campaign = campaign(&app).await;
        let found = until(&app, &["CAMPAIGN_FAILURES"]).await;
        assert_eq!(found[0]["target"], json!({"kind": "campaign", "id": campaign}));
        app.run(&["project", "disable", app.project_id(), "--reason", "It sends what nobody asked for."]).await;
        let found = until(&app, &["PROJECT_DISABLED", "CAMPAIGN_FAILURES"]).await;
        assert!(text(&found[0]["detail"]).contains("It sends what nobody asked for."), "{}", found[0]);
        assert_timestamp(&found[0]["since"]);
    }
}
