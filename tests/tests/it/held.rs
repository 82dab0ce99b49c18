//! Held mails: what a restore holds, as members see it and decide about it. The restore itself is in `hard/restore/`.

use mailwright_testkit::{App, Engine, OWNER, both_engines};
use mailwright_tests::browser::Browser;
use mailwright_tests::{assert_only_keys, column, create_contact, encoded, items, read, text};
use serde_json::{Value, json};

use crate::tracking;

/// Has every mail to some addresses held, as a restore leaves it.
async fn hold(app: &App, like: &str) {
    app.tamper(&format!(
        "insert into held_emails (project_id, email_id, campaign_id) select project_id, id, campaign_id from emails \
         where recipient like '{like}'"
    ))
    .await;
    app.tamper(&format!(
        "update emails set status = 'IN_DOUBT', due_at = null where recipient like '{like}'"
    ))
    .await;
    app.tamper("delete from mailbox").await;
}

/// Sends a mail to each of these, and has them held; their ids.
async fn held(app: &App, count: usize) -> Vec<String> {
    let mut ids = Vec::new();
    for number in 0..count {
        let id = app.send_to(&format!("held{number}@example.com")).await;
        app.email_in(&id, &["SENT"]).await;
        ids.push(id);
    }
    hold(app, "held%").await;
    ids
}

async fn decide(app: &App, owner: &Browser, body: &Value) -> Value {
    let request = owner.in_project(app, app.project_id(), "POST", "/held/decide").json(body);
    request.send().await.assert_status(200).json()
}

both_engines! {
    async fn held_mails_are_listed_and_leave_by_a_decision(engine: Engine) {
        let app = App::start(engine).await;
        let owner = Browser::log_in(&app, OWNER.0, OWNER.1).await;
        assert_eq!(
            read(&app, "/held").await,
            json!({"data": [], "cursor": null, "hasMore": false, "total": 0,
                "counts": {"sources": [], "campaigns": [], "isCut": false}})
        );
        let ids = held(&app, 5).await;
        let first = read(&app, "/held?limit=2").await;
        assert_only_keys(&first, &["data", "cursor", "hasMore", "total", "counts"]);
        assert_eq!((&first["total"], &first["hasMore"]), (&json!(5), &json!(true)));
        assert_eq!(first["counts"]["sources"], json!([{"sourceType": "TRANSACTIONAL", "count": 5}]));
        assert_eq!(column(&first["data"], "id"), ids[..2]);
        assert_only_keys(&first["data"][0], &["id", "to", "subject", "sourceType", "campaignId", "workflowId", "createdAt"]);
        let second = read(&app, &format!("/held?limit=2&cursor={}", encoded(text(&first["cursor"])))).await;
        assert_eq!(column(&second["data"], "id"), ids[2..4]);
        assert_eq!((&second["total"], &second["counts"]), (&json!(0), &Value::Null));

        let some = json!({"decision": "release", "ids": [ids[0], ids[1], mailwright_tests::UNKNOWN_ID]});
        assert_eq!(decide(&app, &owner, &some).await, json!({"released": 2, "dropped": 0, "hasMore": false}));
        for id in &ids[..2] {
            app.email_in(id, &["SENT"]).await;
        }
        let rest = json!({"decision": "drop"});
        assert_eq!(decide(&app, &owner, &rest).await, json!({"released": 0, "dropped": 3, "hasMore": false}));
        for id in &ids[2..] {
            let email = app.email(id).await;
            assert_eq!(email["status"], "IN_DOUBT");
            assert!(text(&email["error"]).contains("not to send it again"), "{email}");
        }
        assert_eq!(read(&app, "/held").await["total"], 0);
        // what is decided is not decided again, and is no action
        assert_eq!(decide(&app, &owner, &rest).await, json!({"released": 0, "dropped": 0, "hasMore": false}));
        let audit = owner.audit(&app, app.project_id()).await;
        let done: Vec<_> = audit.iter().filter(|entry| text(&entry["action"]).contains("held")).collect();
        assert_eq!(done.len(), 2, "{done:?}");
        assert!(done.iter().all(|entry| entry["actor"]["type"] == "user"), "{done:?}");
    }

    async fn the_mails_of_a_campaign_are_decided_about_together(engine: Engine) {
        let app = App::start(engine).await;
        let owner = Browser::log_in(&app, OWNER.0, OWNER.1).await;
        for number in 0..3 {
            create_contact(&app, &format!("c{number}@example.com"), true, json!({})).await;
        }
        let body = json!({"name": "n", "subject": "s", "body": "<p>b</p>", "from": app.from(), "audienceType": "ALL"});
        let made = app.post("/campaigns").json(&body).send().await.assert_status(201).json();
        let campaign = text(&made["data"]["id"]).to_owned();
        app.post(&format!("/campaigns/{campaign}/send")).json(&json!({})).send().await.assert_status(200);
        app.eventually("the campaign is sent", async || {
            (read(&app, &format!("/campaigns/{campaign}")).await["status"] == "SENT").then_some(())
        })
        .await;
        held(&app, 1).await;
        hold(&app, "c%@example.com").await;
        let found = read(&app, "/held").await;
        assert_eq!(found["total"], 4);
        assert_eq!(found["counts"]["campaigns"], json!([{"campaignId": campaign, "count": 3}]));
        let of_campaign = read(&app, &format!("/held?campaignId={campaign}")).await;
        assert_eq!((&of_campaign["total"], items(&of_campaign["data"]).len()), (&json!(3), 3));
        let decided = decide(&app, &owner, &json!({"decision": "drop", "campaignId": campaign})).await;
        assert_eq!(decided, json!({"released": 0, "dropped": 3, "hasMore": false}));
        assert_eq!(read(&app, "/held").await["total"], 1);
    }

    async fn a_mail_of_which_it_is_known_that_it_left_is_held_no_longer(engine: Engine) {
        let app = tracking::builder(engine).start().await;
        let id = app.send_to("held0@example.com").await;
        let mail = tracking::Mail::of(&app, &id).await;
        let other = app.send_to("held1@example.com").await;
        app.email_in(&other, &["SENT"]).await;
        hold(&app, "held%").await;
        assert_eq!(read(&app, "/held").await["total"], 2);
        tracking::visit(&app, &mail.picture(), tracking::PERSON).await.assert_status(200);
        tracking::judged(&app, &mail, 1).await;
        app.eventually("one is held", async || {
            let found = read(&app, "/held").await;
            (found["total"] == 1).then(|| assert_eq!(column(&found["data"], "id"), [other.as_str()]))
        })
        .await;
    }

    async fn administrators_alone_decide(engine: Engine) {
        let app = App::start(engine).await;
        let owner = Browser::log_in(&app, OWNER.0, OWNER.1).await;
        let member = Browser::sign_up(&app, "member@example.com").await;
        let admin = Browser::sign_up(&app, "admin@example.com").await;
        owner.add_member(&app, app.project_id(), &member, "MEMBER").await;
        owner.add_member(&app, app.project_id(), &admin, "ADMIN").await;
        held(&app, 1).await;
        let body = json!({"decision": "drop"});
        let by_member = member.in_project(&app, app.project_id(), "POST", "/held/decide").json(&body);
        by_member.send().await.assert_error(403, "FORBIDDEN");
        app.post("/held/decide").json(&body).send().await.assert_error(403, "FORBIDDEN");
        member.in_project(&app, app.project_id(), "GET", "/held").send().await.assert_status(200);
        assert_eq!(decide(&app, &admin, &body).await["dropped"], 1);
    }
}
