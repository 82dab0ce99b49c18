//! What is told of a project: its audit log, its first steps, and its rates.

use mailwright_testkit::smtp::{Answer, ScriptedServer};
use mailwright_testkit::{App, Engine, both_engines};
use mailwright_tests::browser::Browser;
use mailwright_tests::{assert_only_keys, create_contact, items, read, send_ok, text};
use serde_json::json;
use std::time::Duration;

use super::{mine_path, owner};

both_engines! {
    async fn the_operator_reads_the_log_of_a_project(engine: Engine) {
        let app = App::start(engine).await;
        let owner = owner(&app).await;
        let rename = json!({"name": "Apollo"});
        owner.request(&app, "PATCH", &mine_path(&app, "")).json(&rename).send().await.assert_status(200);
        let newest = app.run(&["project", "audit", app.project_id(), "--limit", "1"]).await;
        let told = format!("user {} ({}) project.updated", owner.id, owner.email);
        assert!(newest.lines().count() == 1 && newest.contains(&told) && newest.contains("Apollo"), "{newest}");
        let all = app.run(&["project", "audit", app.project_id()]).await;
        assert!(all.lines().any(|line| line.contains("operator key.created")), "{all}");
        let unknown = app.try_run(&["project", "audit", mailwright_tests::UNKNOWN_ID]).await;
        assert!(!unknown.status.success());
    }

    async fn the_setup_state_follows_the_first_steps(engine: Engine) {
        let app = App::start(engine).await;
        let ada = Browser::sign_up(&app, "ada@example.com").await;
        let project = ada.create_project(&app, "Rockets").await;
        let path = format!("/projects/{}/setup-state", text(&project["id"]));
        let state = ada.request(&app, "GET", &path).send().await.assert_status(200).json();
        let nothing = json!({
            "hasVerifiedDomain": false, "contactCount": 0, "hasSentEmail": false, "lastCampaignSentAt": null,
            "hasEnabledWorkflow": false, "hasSubscription": false,
        });
        assert_eq!(state, nothing);
        app.send_to("ada@example.com").await;
        let state = read(&app, &format!("/projects/{}/setup-state", app.project_id())).await;
        assert_eq!(
            (&state["hasVerifiedDomain"], &state["contactCount"], &state["hasSentEmail"]),
            (&json!(true), &json!(1), &json!(true))
        );
        assert_eq!(state["lastCampaignSentAt"], json!(null));
        create_contact(&app, "bob@example.com", true, json!({})).await;
        let draft = json!({"name": "News", "subject": "s", "body": "b", "from": app.from(), "audienceType": "ALL"});
        for _ in 0..2 {
            let made = app.post("/campaigns").json(&draft).send().await.assert_status(201).json();
            let path = format!("/campaigns/{}/send", text(&made["data"]["id"]));
            let sent = app.post(&path).json(&json!({})).send().await.assert_status(200).json();
            let state = read(&app, &format!("/projects/{}/setup-state", app.project_id())).await;
            assert_eq!(state["lastCampaignSentAt"], sent["data"]["sentAt"]);
            assert!(state["lastCampaignSentAt"].is_string(), "{state}");
        }
    }

    async fn security_shows_rates_and_levels(engine: Engine) {
        let server = ScriptedServer::start(|to, _| {
            if to.starts_with("gone") { Answer::RefuseRcpt(550, "5.1.1 no such user") } else { Answer::Accept }
        })
        .await;
        let app = App::builder(engine)
            .smtp(server.port)
            .env("MAILWRIGHT_AUTO_PROJECT_DISABLE", "false")
            .start()
            .await;
        let owner = owner(&app).await;
        let security = async |path: String| {
            owner.request(&app, "GET", &path).send().await.assert_status(200).json()
        };
        let (mine, path) = (mine_path(&app, "/security"), format!("/projects/{}/security", app.project_id()));
        let fresh = security(path.clone()).await;
        assert_only_keys(&fresh, &["status", "levels", "isDisabled", "suspensions"]);
        assert_eq!(fresh["levels"], json!({
            "bounce7Day": "healthy", "bounceAllTime": "healthy", "complaint7Day": "healthy", "complaintAllTime": "healthy",
        }));
        let to: Vec<String> = (0..120)
            .map(|n| if n < 12 { format!("gone{n}@example.com") } else { format!("here{n}@example.com") })
            .collect();
        send_ok(&app, json!({"to": to, "subject": "s", "body": "b", "from": app.from()})).await;
        let judged = app
            .eventually_within(Duration::from_secs(30), "all are counted", async || {
                let found = security(path.clone()).await;
                (found["status"]["allTime"]["total"] == 120).then_some(found)
            })
            .await;
        assert_eq!(judged, security(mine).await, "the same in both places");
        let status = &judged["status"];
        assert_eq!(status["sevenDay"], json!({"total": 120, "bounces": 12, "complaints": 0, "bounceRate": 10.0, "complaintRate": 0.0}));
        assert_eq!(status["twentyFourHour"]["total"], 0, "not for clients");
        assert_eq!((&status["isHealthy"], &status["shouldDisable"]), (&json!(false), &json!(true)));
        assert_eq!(items(&status["violations"]).len(), 1, "{judged}");
        assert_eq!((&judged["levels"]["bounce7Day"], &judged["levels"]["bounceAllTime"]), (&json!("critical"), &json!("critical")));
        let told = judged.to_string();
        assert!(!told.contains("threshold") && !told.contains('%'), "thresholds are not told: {told}");
    }
}
