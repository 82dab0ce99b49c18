//! Projects that the service disables because too much of their mail comes back.

use std::time::Duration;

use mailwright_testkit::smtp::{Answer, ScriptedServer};
use mailwright_testkit::{App, AppBuilder, Engine, OWNER, Project, both_engines};
use mailwright_tests::browser::Browser;
use mailwright_tests::{assert_only_keys, assert_timestamp, items, read, text};
use serde_json::{Value, json};

/// A mail server that knows nobody whose address begins with `gone`, and lets `later` wait once.
async fn server() -> ScriptedServer {
    ScriptedServer::start(|to, attempt| match () {
        () if to.starts_with("gone") => Answer::RefuseRcpt(550, "5.1.1 no such user"),
        () if to.starts_with("later") && attempt == 1 => Answer::RefuseRcpt(450, "4.2.0 later"),
        () => Answer::Accept,
    })
    .await
}

fn builder(engine: Engine, server: &ScriptedServer) -> AppBuilder {
    App::builder(engine)
        .smtp(server.port)
        .env("MAILWRIGHT_PLATFORM_FROM", "noreply@platform.test")
        .env("MAILWRIGHT_DELIVERY_RETRY_BASE_MS", "3000")
        .env("MAILWRIGHT_DELIVERY_RETRY_MAX_MS", "3000")
}

/// Sends to `count` addresses that do not exist.
async fn send_to_nobody(app: &App, project: &Project, prefix: &str, count: usize) -> Value {
    let to: Vec<String> = (0..count).map(|n| format!("gone-{prefix}{n}@example.com")).collect();
    let body = json!({"to": to, "subject": "s", "body": "b", "from": project.from});
    let send = app.request("POST", "/v1/send").bearer(&project.secret_key).json(&body);
    send.send().await.assert_status(200).json()
}

/// The same, and waits until all of it came back, which it does unless the project is disabled meanwhile.
async fn bounce(app: &App, project: &Project, prefix: &str, count: usize) {
    let sent = send_to_nobody(app, project, prefix, count).await;
    for email in items(&sent["data"]["emails"]) {
        app.eventually("it came back", async || {
            let path = format!("/emails/{}", text(&email["email"]));
            let found =
                app.request("GET", &path).bearer(&project.secret_key).send().await.assert_status(200).json();
            (found["status"] == "BOUNCED").then_some(())
        })
        .await;
    }
}

async fn security(app: &App, project: &Project) -> Value {
    let path = format!("/projects/{}/security", project.id);
    app.request("GET", &path).bearer(&project.secret_key).send().await.assert_status(200).json()
}

async fn disabled(app: &App, project: &Project) -> Value {
    app.eventually("the project is disabled", async || {
        let found = security(app, project).await;
        (found["isDisabled"] == true).then_some(found)
    })
    .await
}

/// The project that every test has.
fn acme(app: &App) -> Project {
    Project {
        id: app.project_id().to_owned(),
        secret_key: app.secret_key().to_owned(),
        public_key: app.public_key().to_owned(),
        domain: app.domain().to_owned(),
        from: app.from(),
    }
}

both_engines! {
    async fn a_new_project_is_judged_by_the_last_24_hours(engine: Engine) {
        let server = server().await;
        let app = builder(engine, &server).start().await;
        let acme = acme(&app);
        bounce(&app, &acme, "a", 13).await;
        app.advance(Duration::from_hours(25)).await;
        bounce(&app, &acme, "b", 24).await;
        let fine = security(&app, &acme).await;
        assert_eq!((&fine["isDisabled"], &fine["status"]["sevenDay"]["bounces"]), (&json!(false), &json!(37)), "{fine}");
        send_to_nobody(&app, &acme, "c", 1).await;
        disabled(&app, &acme).await;
    }

    async fn a_project_whose_mail_comes_back_is_disabled(engine: Engine) {
        let server = server().await;
        let app = builder(engine, &server).start().await;
        let (owner, acme) = (Browser::log_in(&app, OWNER.0, OWNER.1).await, acme(&app));
        bounce(&app, &acme, "a", 24).await;
        let fine = security(&app, &acme).await;
        assert_eq!((&fine["isDisabled"], &fine["suspensions"]), (&json!(false), &json!([])));
        let waiting = app.send_to("later@example.com").await;
        send_to_nobody(&app, &acme, "b", 2).await;

        let found = disabled(&app, &acme).await;
        let suspensions = items(&found["suspensions"]);
        assert_eq!(suspensions.len(), 1, "{found}");
        assert_only_keys(&suspensions[0], &["reason", "startedAt", "endedAt"]);
        assert_timestamp(&suspensions[0]["startedAt"]);
        assert_eq!(suspensions[0]["reason"], "Too many of the project's first mails come back.");
        assert_eq!((&suspensions[0]["endedAt"], &found["status"]["shouldDisable"]), (&json!(null), &json!(true)));
        // reading works, writing does not
        assert_eq!(read(&app, "/contacts").await["total"], 27);
        app.post("/contacts").json(&json!({"email": "a@example.com"})).send().await.assert_error(403, "PROJECT_DISABLED");
        let send = json!({"to": "a@example.com", "subject": "s", "body": "b", "from": app.from()});
        app.send(send).await.assert_error(403, "PROJECT_DISABLED");
        let event = json!({"email": "a@example.com", "event": "x"});
        app.track(event).await.assert_error(403, "PROJECT_DISABLED");
        // it is on record, and the owner is told
        let audit = owner.audit(&app, app.project_id()).await;
        assert_eq!((&audit[0]["action"], &audit[0]["actor"]["type"]), (&json!("project.disabled"), &json!("service")));
        assert_eq!(audit[0]["details"]["reason"], suspensions[0]["reason"]);
        let mail = app
            .eventually("the owner is told", async || server.received_for(OWNER.0).pop().map(|mail| mail.data))
            .await;
        let mail = String::from_utf8_lossy(&mail).replace("=\r\n", "");
        assert!(mail.contains("Subject: Acme was disabled"), "{mail}");
        assert!(mail.contains("first mails come back"), "{mail}");
        assert!(app.log().contains("too much of its mail bounced or was complained about"), "and so is the operator");

        // another project goes on, and while its deferred mail is delivered, that of this one waits
        let other = app.bootstrap("Neighbour", "neighbour.test").await;
        let body = json!({"to": "later-too@example.com", "subject": "s", "body": "b", "from": other.from});
        app.request("POST", "/v1/send").bearer(&other.secret_key).json(&body).send().await.assert_status(200);
        app.eventually("the other project's mail", async || server.received_for("later-too@example.com").pop()).await;
        assert!(server.received_for("later@example.com").is_empty(), "mail of a disabled project waits");

        app.run(&["project", "enable", app.project_id()]).await;
        app.email_in(&waiting, &["SENT"]).await;
        app.post("/contacts").json(&json!({"email": "a@example.com"})).send().await.assert_status(201);
        let enabled = security(&app, &acme).await;
        assert_eq!(enabled["isDisabled"], false);
        assert_timestamp(&enabled["suspensions"][0]["endedAt"]);
        assert!(enabled["status"]["allTime"]["bounces"].as_i64() >= Some(25), "the stats stay as they are: {enabled}");
        assert_eq!(server.received_for(OWNER.0).len(), 1, "one mail for one suspension");
    }

    async fn what_the_operator_looked_at_is_not_held_against_a_project(engine: Engine) {
        let server = server().await;
        let app = builder(engine, &server).start().await;
        let (acme, other) = (acme(&app), app.bootstrap("Neighbour", "neighbour.test").await);
        send_to_nobody(&app, &acme, "a", 26).await;
        disabled(&app, &acme).await;
        app.run(&["project", "enable", app.project_id()]).await;
        bounce(&app, &acme, "b", 20).await;
        // judged after that, and disabled: so the first one was judged as well
        send_to_nobody(&app, &other, "c", 26).await;
        disabled(&app, &other).await;
        assert_eq!(security(&app, &acme).await["isDisabled"], false);
        // new ones are a reason again
        send_to_nobody(&app, &acme, "d", 6).await;
        assert_eq!(items(&disabled(&app, &acme).await["suspensions"]).len(), 2);
    }

    async fn a_reset_is_no_way_to_be_judged_anew(engine: Engine) {
        let server = server().await;
        let app = builder(engine, &server).start().await;
        let (owner, acme) = (Browser::log_in(&app, OWNER.0, OWNER.1).await, acme(&app));
        bounce(&app, &acme, "a", 20).await;
        let path = format!("/users/@me/projects/{}/reset", app.project_id());
        owner.request(&app, "POST", &path).send().await.assert_status(200);
        send_to_nobody(&app, &acme, "b", 6).await;
        disabled(&app, &acme).await;
    }

    async fn the_operator_may_want_to_be_told_only(engine: Engine) {
        let server = server().await;
        let app = builder(engine, &server).env("MAILWRIGHT_AUTO_PROJECT_DISABLE", "false").start().await;
        let acme = acme(&app);
        bounce(&app, &acme, "a", 26).await;
        app.eventually("the operator is told", async || {
            app.log().contains("a project should be disabled").then_some(())
        })
        .await;
        bounce(&app, &acme, "b", 3).await;
        let found = security(&app, &acme).await;
        assert_eq!((&found["isDisabled"], &found["status"]["shouldDisable"]), (&json!(false), &json!(true)));
        assert_eq!(app.log().matches("a project should be disabled").count(), 1, "once an hour is enough");
    }
}
