//! What waits to be sent, by the domains that it goes to and by lanes.

use mailwright_testkit::smtp::{Answer, ScriptedServer};
use mailwright_testkit::{App, Engine, both_engines};
use mailwright_tests::{as_project, assert_only_keys, assert_timestamp, items, read, text};
use serde_json::{Value, json};

async fn sites(app: &App) -> Value {
    let found = read(app, "/delivery/sites").await;
    assert_only_keys(&found, &["sites", "isEstimate", "lanes", "trouble", "perSecond"]);
    found
}

both_engines! {
    async fn mails_that_wait_are_told_by_domain(engine: Engine) {
        let server = ScriptedServer::start(|to, _| {
            if to.ends_with("@slow.example") { Answer::RefuseRcpt(450, "4.2.0 try later") } else { Answer::Accept }
        })
        .await;
        let app = App::builder(engine).smtp(server.port).env("MAILWRIGHT_DELIVERY_RETRY_BASE_MS", "3600000")
            .env("MAILWRIGHT_DELIVERY_RETRY_MAX_MS", "3600000").start().await;
        let nothing = sites(&app).await;
        assert_eq!((&nothing["sites"], &nothing["isEstimate"], &nothing["trouble"]), (&json!([]), &json!(false), &Value::Null));
        let lanes: Vec<_> = items(&nothing["lanes"]).iter().map(|lane| (text(&lane["lane"]), &lane["waiting"], &lane["oldestWaitingAt"])).collect();
        assert_eq!(lanes, [("transactional", &json!(0), &Value::Null), ("workflow", &json!(0), &Value::Null), ("campaign", &json!(0), &Value::Null)]);

        for to in ["a@slow.example", "b@slow.example", "c@fast.example"] {
            app.send_to(to).await;
        }
        let found = app
            .eventually("two mails were put off", async || {
                let found = sites(&app).await;
                (found["sites"][0]["deferred"] == 2 && items(&found["sites"]).len() == 1).then_some(found)
            })
            .await;
        let site = &found["sites"][0];
        assert_only_keys(site, &["domain", "waiting", "oldestWaitingAt", "deferred", "lastReply", "lastAttemptAt", "nextAttemptAt",
            "backedOffUntil", "why", "site", "perMinute", "connections", "siteState", "sitePausedUntil", "siteReply"]);
        assert_eq!((&site["domain"], &site["waiting"]), (&json!("slow.example"), &json!(2)));
        assert_eq!((&site["lastReply"]["code"], &site["lastReply"]["enhanced"]), (&json!(450), &json!("4.2.0")));
        assert!(text(&site["why"]).contains("try later"), "{site}");
        assert_eq!(site["backedOffUntil"], site["nextAttemptAt"]);
        for at in ["oldestWaitingAt", "lastAttemptAt", "nextAttemptAt"] {
            assert_timestamp(&site[at]);
        }
        let other = app.bootstrap("Neighbour", "neighbour.example").await;
        let theirs = as_project(&app, &other, "GET", "/delivery/sites").send().await.assert_status(200).json();
        assert_eq!(theirs["sites"], json!([]));
    }
}
