//! The evidence of consent: every way by which a subscription changes leaves an entry, and nothing else does.

use std::time::Duration;

use mailwright_testkit::smtp::{Answer, ScriptedServer};
use mailwright_testkit::{App, Engine, OWNER, both_engines, json};
use mailwright_tests::browser::Browser;
use mailwright_tests::workflow::Flow;
use mailwright_tests::{UNKNOWN_ID, contact_by_email, create_contact, items, read, text};

use super::{change_project, evidence, set, topic};

fn entry(change: &str, way: &str) -> (String, String, mailwright_testkit::Value) {
    (change.to_owned(), way.to_owned(), json!(null))
}

both_engines! {
    async fn every_way_leaves_its_entry(engine: Engine) {
        let server = ScriptedServer::start(|to, _| match to {
            "gone@example.com" => Answer::RefuseRcpt(550, "5.1.1 unknown"),
            _ => Answer::Accept,
        })
        .await;
        let app = App::builder(engine).smtp(server.port).start().await;
        let owner = Browser::log_in(&app, OWNER.0, OWNER.1).await;
        let ann = create_contact(&app, "ann@example.com", true, json!({})).await;
        let path = format!("/contacts/{}", text(&ann["id"]));
        app.patch(&path).json(&json!({"subscribed": false})).send().await.assert_status(200);
        let by_member = owner.in_project(&app, app.project_id(), "PATCH", &path);
        by_member.json(&json!({"subscribed": true})).send().await.assert_status(200);
        let track = async |body: mailwright_testkit::Value| app.post("/v1/track").json(&body).send().await.assert_status(200);
        track(json!({"email": "ann@example.com", "event": "left", "subscribed": false})).await;
        let page = app.request("POST", &format!("/subscribe/{}", text(&ann["id"])));
        page.header("accept", "text/html").send().await.assert_status(200);
        app.request("POST", &format!("/unsubscribe/{}", text(&ann["id"]))).send().await.assert_status(200);
        let flow = Flow::new(&app, "back").await;
        flow.then("UPDATE_CONTACT", json!({"subscriptionAction": "subscribe"})).await;
        flow.enable().await;
        flow.start(&ann["id"], json!({})).await;
        let entries = app
            .eventually("the workflow subscribed", async || {
                let entries = evidence(&app, &ann).await;
                (entries.len() == 7).then_some(entries)
            })
            .await;
        let expected = [
            ("subscribed", "workflow"),
            ("unsubscribed", "one-click"),
            ("subscribed", "page"),
            ("unsubscribed", "track"),
            ("subscribed", "dashboard"),
            ("unsubscribed", "api"),
            ("subscribed", "api"),
        ]
        .map(|(change, way)| entry(change, way));
        assert_eq!(entries, expected);
        // what changes nothing leaves nothing
        app.patch(&path).json(&json!({"subscribed": true, "data": {"plan": "pro"}})).send().await;
        track(json!({"email": "ann@example.com", "event": "seen"})).await;
        assert_eq!(evidence(&app, &ann).await.len(), 7);

        let tracked = json!({"email": "public@example.com", "event": "seen"});
        app.request("POST", "/v1/track").bearer(app.public_key()).json(&tracked).send().await.assert_status(200);
        let public = contact_by_email(&app, "public@example.com").await.expect("a contact");
        assert_eq!(evidence(&app, &public).await, [entry("subscribed", "public-key")]);

        app.send_to("stranger@example.com").await;
        let stranger = contact_by_email(&app, "stranger@example.com").await.expect("a contact");
        assert!(evidence(&app, &stranger).await.is_empty(), "who is made unsubscribed agreed to nothing");
        let gone = create_contact(&app, "gone@example.com", true, json!({})).await;
        let id = app.send_to("gone@example.com").await;
        app.email_in(&id, &["BOUNCED"]).await;
        let entries = app
            .eventually("the bounce is known", async || {
                let entries = evidence(&app, &gone).await;
                entries.iter().any(|(_, way, _)| way == "bounce").then_some(entries)
            })
            .await;
        assert!(entries.contains(&entry("unsubscribed", "bounce")), "{entries:?}");
    }

    async fn an_import_and_a_bulk_operation_leave_entries(engine: Engine) {
        let app = App::start(engine).await;
        let ann = create_contact(&app, "ann@example.com", true, json!({})).await;
        let bulk = json!({"contactIds": [ann["id"]]});
        app.post("/contacts/bulk-unsubscribe").json(&bulk).send().await.assert_status(202);
        app.eventually("the job is done", async || {
            evidence(&app, &ann).await.contains(&entry("unsubscribed", "api")).then_some(())
        })
        .await;
        let owner = Browser::log_in(&app, OWNER.0, OWNER.1).await;
        let request = owner.in_project(&app, app.project_id(), "POST", "/contacts/bulk-subscribe");
        request.json(&bulk).send().await.assert_status(202);
        app.eventually("the job of the member is done", async || {
            evidence(&app, &ann).await.contains(&entry("subscribed", "dashboard")).then_some(())
        })
        .await;
        let file = "--limit\r\nContent-Disposition: form-data; name=\"file\"; filename=\"c.csv\"\r\n\
                    Content-Type: text/csv\r\n\r\nemail,subscribed\nann@example.com,false\nnew@example.com,true\n\r\n--limit--\r\n";
        let request = app.post("/contacts/import").body(file, "multipart/form-data; boundary=limit");
        request.send().await.assert_status(202);
        app.eventually("the import is done", async || {
            evidence(&app, &ann).await.contains(&entry("unsubscribed", "import")).then_some(())
        })
        .await;
        let new = contact_by_email(&app, "new@example.com").await.expect("a contact");
        assert_eq!(evidence(&app, &new).await, [entry("subscribed", "import")]);
    }

    async fn the_address_of_the_client_is_kept_by_setting_alone(engine: Engine) {
        let app = App::start(engine).await;
        let ann = create_contact(&app, "ann@example.com", true, json!({})).await;
        let path = format!("/contacts/{}/consent", text(&ann["id"]));
        let settings = change_project(&app, &json!({"name": "Acme"})).await;
        assert_eq!(settings["consentKeepsAddress"], false);
        let page = |what: &str| app.request("POST", &format!("/{what}/{}", text(&ann["id"])));
        page("unsubscribe").send().await.assert_status(200);
        assert_eq!(read(&app, &path).await["data"][0]["ip"], json!(null));
        let settings = change_project(&app, &json!({"consentKeepsAddress": true})).await;
        assert_eq!(settings["consentKeepsAddress"], true);
        page("subscribe").header("accept", "text/html").send().await.assert_status(200);
        let newest = read(&app, &path).await["data"][0].clone();
        assert_eq!((&newest["ip"], &newest["language"]), (&json!("127.0.0.1"), &json!("en")), "{newest}");
    }

    async fn entries_are_paged_bounded_and_deleted_with_the_contact(engine: Engine) {
        let app = App::start(engine).await;
        let ann = create_contact(&app, "ann@example.com", true, json!({})).await;
        let news = topic(&app, "News", &json!({})).await;
        for subscribed in [false, true, false] {
            set(&app, &ann, &news, subscribed).await;
        }
        let path = format!("/contacts/{}/consent", text(&ann["id"]));
        let first = read(&app, &format!("{path}?limit=3")).await;
        assert_eq!((items(&first["data"]).len(), &first["total"], &first["hasMore"]), (3, &json!(4), &json!(true)));
        let second = read(&app, &format!("{path}?limit=3&cursor={}", text(&first["cursor"]))).await;
        assert_eq!((items(&second["data"]).len(), &second["hasMore"]), (1, &json!(false)));
        assert_eq!(second["data"][0]["change"], "subscribed");
        app.get(&format!("{path}?cursor=nonsense")).send().await.assert_error(400, "BAD_REQUEST");
        app.get(&format!("/contacts/{UNKNOWN_ID}/consent")).send().await.assert_error(404, "CONTACT_NOT_FOUND");

        let id = if engine == Engine::Sqlite { "randomblob(16)" } else { "gen_random_uuid()" };
        let numbers = app.numbers(1..=1200);
        app.tamper(&format!(
            "insert into consents (project_id, contact_id, id, what, way, created_at) \
             select c.project_id, c.contact_id, {id}, 'subscribed', 'api', 0 from {numbers}, \
             (select project_id, contact_id from consents limit 1) c"
        ))
        .await;
        app.advance(Duration::from_secs(1)).await;
        set(&app, &ann, &news, true).await;
        assert_eq!(read(&app, &path).await["total"], 1_000);

        app.delete(&format!("/contacts/{}", text(&ann["id"]))).send().await.assert_status(204);
        let rows = app.rows().await;
        for table in ["consents", "topic_choices"] {
            assert!(rows.get(table).is_none_or(Vec::is_empty), "{table}");
        }
    }
}
