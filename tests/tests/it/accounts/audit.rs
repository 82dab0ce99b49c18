//! Who did what.

use mailwright_testkit::{App, Engine, OWNER, both_engines};
use mailwright_tests::browser::Browser;
use mailwright_tests::{
    assert_only_keys, assert_timestamp, create_contact, create_template, items, text, track_ok,
};
use serde_json::json;

both_engines! {
    async fn what_is_done_is_recorded_with_who_did_it(engine: Engine) {
        let app = App::start(engine).await;
        let owner = Browser::log_in(&app, OWNER.0, OWNER.1).await;
        let ada = Browser::sign_up(&app, "ada@example.com").await;
        let project = app.project_id();
        owner.add_member(&app, project, &ada, "ADMIN").await;
        let key = ada.create_key(&app, project, "CI", &["everything"]).await;
        let ci = |method: &str, path: &str| app.request(method, path).bearer(text(&key["key"]));
        let rename = owner.request(&app, "PATCH", &format!("/users/@me/projects/{project}"));
        rename.json(&json!({"name": "Apollo"})).send().await.assert_status(200);
        let domain = ci("POST", "/domains").json(&json!({"domain": "mail.example"})).send().await;
        let domain = domain.assert_status(201).json();
        ci("DELETE", &format!("/domains/{}", text(&domain["id"]))).send().await.assert_status(200);
        let contact = create_contact(&app, "doomed@example.com", true, json!({"plan": "pro"})).await;
        app.delete("/contacts/fields/data.plan").send().await.assert_status(200);
        app.delete(&format!("/contacts/{}", text(&contact["id"]))).send().await.assert_status(204);
        let template = create_template(&app, &json!({})).await;
        let path = format!("/templates/{}", text(&template["id"]));
        ada.in_project(&app, project, "DELETE", &path).send().await.assert_status(204);
        app.delete("/mailbox").send().await.assert_status(204);

        let audit = owner.audit(&app, project).await;
        let rows: Vec<(&str, &str, Option<&str>)> = audit
            .iter()
            .map(|e| (text(&e["action"]), text(&e["actor"]["type"]), e["actor"]["name"].as_str()))
            .collect();
        assert_eq!(
            rows,
            [
                ("mailbox.cleared", "key", None),
                ("template.deleted", "user", Some("ada@example.com")),
                ("contact.deleted", "key", None),
                ("field.deleted", "key", None),
                ("domain.removed", "key", Some("CI")),
                ("domain.added", "key", Some("CI")),
                ("project.updated", "user", Some(OWNER.0)),
                ("key.created", "user", Some("ada@example.com")),
                ("member.added", "user", Some("ada@example.com")),
                ("member.invited", "user", Some(OWNER.0)),
                ("domain.added", "operator", None),
                ("key.created", "operator", None),
            ]
        );
        assert_only_keys(&audit[0], &["id", "actor", "action", "target", "details", "createdAt"]);
        assert_timestamp(&audit[0]["createdAt"]);
        assert_eq!(audit[6]["details"], json!({"name": "Apollo"}));
        assert_eq!(audit[2]["target"], contact["id"], "a deleted contact's address is not kept");
        assert_eq!(audit[7]["details"], json!({"name": "CI", "scopes": ["everything"]}));
    }

    async fn what_is_done_with_campaigns_and_in_bulk_is_recorded(engine: Engine) {
        let app = App::builder(engine)
            .env("MAILWRIGHT_SENDING_PER_SECOND", "2")
            .env("MAILWRIGHT_DELIVERY_CONNECTIONS", "1")
            .start()
            .await;
        let owner = Browser::log_in(&app, OWNER.0, OWNER.1).await;
        let project = app.project_id();
        let mut contacts = Vec::new();
        for n in 0..12 {
            contacts.push(create_contact(&app, &format!("a{n}@example.com"), true, json!({})).await["id"].clone());
        }
        let draft = json!({
            "name": "News", "subject": "News", "body": "<p>News</p>", "from": app.from(), "audienceType": "ALL",
        });
        let campaign = app.post("/campaigns").json(&draft).send().await.assert_status(201).json()["data"].clone();
        let id = text(&campaign["id"]);
        let act = async |what: &str, body: serde_json::Value| {
            let path = format!("/campaigns/{id}/{what}");
            owner.in_project(&app, project, "POST", &path).json(&body).send().await
        };
        act("send", json!({"scheduledFor": "2099-01-31T00:00:00.000Z"})).await.assert_status(200);
        act("cancel", json!({})).await.assert_status(200);
        act("send", json!({})).await.assert_status(200);
        act("pause", json!({})).await.assert_status(200);
        act("pause", json!({})).await.assert_error(400, "BAD_REQUEST");
        act("resume", json!({})).await.assert_status(200);
        act("cancel", json!({})).await.assert_status(200);
        app.eventually("it is cancelled to the end", async || {
            (app.delete(&format!("/campaigns/{id}")).send().await.status == 204).then_some(())
        })
        .await;
        let condition = json!({"logic": "AND", "groups": [
            {"filters": [{"field": "email", "operator": "equals", "value": "a0@example.com"}]}]});
        let segment = json!({"name": "Ada", "condition": condition});
        let segment = app.post("/segments").json(&segment).send().await.assert_status(201).json();
        app.delete(&format!("/segments/{}", text(&segment["id"]))).send().await.assert_status(204);
        track_ok(&app, json!({"email": "a0@example.com", "event": "clicked"})).await;
        app.delete("/events/clicked").send().await.assert_status(200);
        app.delete("/events/never").send().await.assert_status(200);
        app.post("/contacts/bulk-delete").json(&json!({"contactIds": contacts})).send().await.assert_status(202);

        let audit = owner.audit(&app, project).await;
        let rows: Vec<_> = audit.iter().map(|e| (text(&e["action"]), text(&e["actor"]["type"]))).take(10).collect();
        assert_eq!(
            rows,
            [
                ("contacts.deleted", "key"),
                ("events.deleted", "key"),
                ("segment.deleted", "key"),
                ("campaign.deleted", "key"),
                ("campaign.cancelled", "user"),
                ("campaign.resumed", "user"),
                ("campaign.paused", "user"),
                ("campaign.sent", "user"),
                ("campaign.cancelled", "user"),
                ("campaign.scheduled", "user"),
            ]
        );
        assert_eq!((&audit[0]["target"], &audit[0]["details"]), (&json!(null), &json!({"contacts": 12})));
        assert_eq!(audit[1]["target"], "clicked");
        assert_eq!(audit[2]["details"], json!({"name": "Ada"}));
        let scheduled = json!({"name": "News", "scheduledFor": "2099-01-31T00:00:00.000Z"});
        assert_eq!((&audit[9]["target"], &audit[9]["details"]), (&json!(id), &scheduled));
    }

    async fn what_is_refused_is_not_recorded(engine: Engine) {
        let app = App::start(engine).await;
        let owner = Browser::log_in(&app, OWNER.0, OWNER.1).await;
        let before = owner.audit(&app, app.project_id()).await.len();
        app.post("/domains").json(&json!({"domain": app.domain()})).send().await.assert_error(409, "CONFLICT");
        app.delete(&format!("/contacts/{}", mailwright_tests::UNKNOWN_ID)).send().await.assert_status(404);
        app.delete(&format!("/templates/{}", mailwright_tests::UNKNOWN_ID)).send().await.assert_status(404);
        assert_eq!(owner.audit(&app, app.project_id()).await.len(), before);
    }

    async fn the_log_is_read_page_by_page(engine: Engine) {
        let app = App::start(engine).await;
        let owner = Browser::log_in(&app, OWNER.0, OWNER.1).await;
        for n in 0..7 {
            owner.create_key(&app, app.project_id(), &format!("key {n}"), &["read"]).await;
        }
        let all = owner.audit(&app, app.project_id()).await;
        let path = format!("/projects/{}/audit?limit=3", app.project_id());
        let mut pages = Vec::new();
        let mut url = path.clone();
        loop {
            let page = owner.request(&app, "GET", &url).send().await.assert_status(200).json();
            assert_only_keys(&page, &["data", "cursor", "hasMore", "total"]);
            assert_eq!(page["total"], if pages.is_empty() { all.len() } else { 0 });
            pages.extend(items(&page["data"]).to_vec());
            let Some(cursor) = page["cursor"].as_str() else { break };
            url = format!("{path}&cursor={cursor}");
        }
        assert_eq!(pages, all);
        let bad = format!("{path}&cursor=nonsense");
        owner.request(&app, "GET", &bad).send().await.assert_error(400, "BAD_REQUEST");
    }
}
