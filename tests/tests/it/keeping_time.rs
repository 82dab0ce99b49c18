//! Time that passes, that stands still, and that a clock got wrong: what waits, what is given up, what starts late.

use mailwright_testkit::smtp::{Answer, ScriptedServer};
use mailwright_testkit::{App, Engine, Response, Value, both_engines, json};
use mailwright_tests::{as_project, contact, create_contact, early_in_a_minute, read, send_ok, text, with};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const HOUR: i64 = 3_600_000;

/// A campaign from the project's domain to all contacts, as a draft.
async fn draft(app: &App) -> Value {
    let body = json!({"name": "News", "subject": "News", "body": "<p>News</p>", "from": app.from(), "audienceType": "ALL"});
    app.post("/campaigns").json(&body).send().await.assert_status(201).json()["data"].clone()
}

async fn act(app: &App, campaign: &Value, what: &str, body: &Value) -> Response {
    app.post(&format!("/campaigns/{}/{what}", text(&campaign["id"]))).json(body).send().await
}

async fn campaign(app: &App, campaign: &Value) -> Value {
    read(app, &format!("/campaigns/{}", text(&campaign["id"]))).await
}

async fn contacts(app: &App, count: usize) {
    for number in 0..count {
        create_contact(app, &format!("a{number}@example.com"), true, json!({})).await;
    }
}

/// Makes everything that waits in the outbox as old as if `hours` more had passed.
async fn age(app: &App, hours: i64) {
    let by = hours * HOUR;
    app.tamper(&format!(
        "update emails set created_at = created_at - {by}, updated_at = updated_at - {by}, due_at = due_at - {by}, \
         deadline_at = case when deadline_at > 9000000000000000 then deadline_at else deadline_at - {by} end"
    ))
    .await;
}

/// Every mail of the project, once none waits.
async fn settled(app: &App) -> Vec<Value> {
    app.eventually_within(Duration::from_secs(30), "nothing waits", async || {
        let emails = app.list_all("/emails").await;
        emails.iter().all(|e| e["status"] != "PENDING" && e["status"] != "SENDING").then_some(emails)
    })
    .await
}

both_engines! {
    async fn a_campaign_that_is_paused_for_a_week_loses_nobody(engine: Engine) {
        let mut app = App::builder(engine).env("MAILWRIGHT_SENDING_PER_SECOND", "1").start().await;
        contacts(&app, 8).await;
        let news = draft(&app).await;
        act(&app, &news, "send", &json!({})).await.assert_status(200);
        app.eventually("it is under way", async || {
            let ledger = read(&app, &format!("/campaigns/{}/ledger", text(&news["id"]))).await;
            (ledger["frozen"] == true && ledger["equation"]["accepted"].as_i64() > Some(0)).then_some(())
        })
        .await;
        act(&app, &news, "pause", &json!({})).await.assert_status(200);
        app.stop().await;
        age(&app, 7 * 24).await;
        app.restart_with(&[("MAILWRIGHT_SENDING_PER_SECOND", "0")]).await;
        act(&app, &news, "resume", &json!({})).await.assert_status(200);

        let emails = settled(&app).await;
        assert_eq!(emails.len(), 8);
        assert!(emails.iter().all(|email| email["status"] == "SENT"), "{emails:?}");
    }

    async fn a_mail_is_given_up_for_its_pauses_alone(engine: Engine) {
        let script = |to: &str, _: u32| {
            if to.starts_with("busy") { Answer::RefuseRcpt(451, "4.2.1 busy") } else { Answer::Accept }
        };
        let server = ScriptedServer::start(script).await;
        // none is ever tried twice, and each is tried once, however long it waited for that
        let app = App::builder(engine)
            .smtp(server.port)
            .env("MAILWRIGHT_DELIVERY_DEADLINE_HOURS", "0")
            .start()
            .await;
        let to = json!(["ann@example.com", "bob@example.com", "busy@example.com"]);
        send_ok(&app, json!({"to": to, "subject": "Hi", "body": "<p>Hi</p>", "from": app.from()})).await;
        for email in settled(&app).await {
            let expected = if email["to"] == "busy@example.com" { "FAILED" } else { "SENT" };
            assert_eq!((&email["status"], &email["attemptCount"]), (&json!(expected), &json!(1)), "{email}");
            if expected == "FAILED" {
                assert_eq!(email["reason"], "expired", "{email}");
            }
        }
    }

    async fn the_pauses_of_a_mail_add_up(engine: Engine) {
        let server = ScriptedServer::start(|_, _| Answer::RefuseRcpt(451, "4.2.1 busy")).await;
        let app = App::builder(engine).smtp(server.port).start().await;
        let id = app.send_to("busy@example.com").await;
        app.eventually("it waits for its third attempt", async || {
            (read(&app, &format!("/emails/{id}")).await["attemptCount"].as_i64() >= Some(2)).then_some(())
        })
        .await;
        // nothing but what it waited by itself counts
        age(&app, 1000).await;
        let tries = read(&app, &format!("/emails/{id}")).await["attemptCount"].as_i64();
        app.eventually("it is tried again", async || {
            (read(&app, &format!("/emails/{id}")).await["attemptCount"].as_i64() > tries).then_some(())
        })
        .await;
        app.tamper(&format!("update emails set waited_ms = {}", 72 * HOUR - 1)).await;
        let given_up = app.email_in(&id, &["FAILED"]).await;
        assert_eq!(given_up["reason"], "expired", "{given_up}");
    }

    async fn the_time_of_a_disabled_project_stands_still(engine: Engine) {
        let is_open = Arc::new(AtomicBool::new(false));
        let opened = Arc::clone(&is_open);
        let server = ScriptedServer::start(move |_, _| {
            if opened.load(Ordering::SeqCst) { Answer::Accept } else { Answer::RefuseRcpt(451, "4.2.1 busy") }
        })
        .await;
        let app = App::builder(engine).smtp(server.port).start().await;
        let waiting = app.send_to("busy@example.com").await;
        let attempts = async |id: &str| read(&app, &format!("/emails/{id}")).await["attemptCount"].as_i64();
        app.eventually("it was refused", async || (attempts(&waiting).await >= Some(1)).then_some(())).await;
        app.run(&["project", "disable", app.project_id(), "--reason", "Unpaid"]).await;
        // what is on its way ends as it ends, and before what is sent later
        let other = app.bootstrap("Other", "other.test").await;
        let other_mail = async |to: &str| {
            let send = json!({"to": to, "subject": "Hi", "body": "Hi", "from": other.from});
            as_project(&app, &other, "POST", "/v1/send").json(&send).send().await.assert_status(200);
            app.eventually("mail of another project is tried", async || {
                (!server.attempts_for(to).is_empty()).then_some(())
            })
            .await;
        };
        app.advance(Duration::from_mins(1)).await;
        other_mail("bob@example.com").await;
        let before = attempts(&waiting).await;
        // a minute of pauses is left to it, and six weeks pass
        app.tamper(&format!("update emails set waited_ms = {}", 72 * HOUR - 60_000)).await;
        age(&app, 1000).await;
        // longer than a project that is disabled is left alone
        app.advance(Duration::from_mins(1)).await;
        other_mail("eve@example.com").await;
        let still = read(&app, &format!("/emails/{waiting}")).await;
        assert_eq!((&still["status"], still["attemptCount"].as_i64()), (&json!("PENDING"), before), "{still}");

        // it goes on where it stood: refused once more it waits as before, and then it leaves
        app.run(&["project", "enable", app.project_id()]).await;
        app.eventually("it is tried again", async || (attempts(&waiting).await > before).then_some(())).await;
        assert_eq!(read(&app, &format!("/emails/{waiting}")).await["status"], "PENDING");
        is_open.store(true, Ordering::SeqCst);
        app.email_in(&waiting, &["SENT"]).await;
        // what is left is not given back either
        is_open.store(false, Ordering::SeqCst);
        let spent = app.send_to("spent@example.com").await;
        app.eventually("it was refused", async || (attempts(&spent).await >= Some(1)).then_some(())).await;
        app.run(&["project", "disable", app.project_id(), "--reason", "Unpaid"]).await;
        app.tamper(&format!("update emails set waited_ms = {}", 72 * HOUR - 1)).await;
        app.run(&["project", "enable", app.project_id()]).await;
        assert_eq!(app.email_in(&spent, &["FAILED"]).await["reason"], "expired");
    }

    async fn mail_of_a_clock_that_was_set_back_leaves_at_once(engine: Engine) {
        let mut app = App::builder(engine).env("MAILWRIGHT_SENDING_PER_SECOND", "1").start().await;
        let to: Vec<String> = (0..6).map(|n| format!("a{n}@example.com")).collect();
        send_ok(&app, json!({"to": to, "subject": "Hi", "body": "<p>Hi</p>", "from": app.from()})).await;
        app.kill();
        // as if it had been accepted while the clock was an hour ahead
        app.tamper(&format!("update emails set due_at = due_at + {HOUR} where due_at is not null and claim = 0")).await;
        app.restart_with(&[("MAILWRIGHT_SENDING_PER_SECOND", "0")]).await;
        let emails = settled(&app).await;
        assert!(emails.len() == 6 && emails.iter().all(|email| email["status"] == "SENT"), "{emails:?}");
    }

    async fn jobs_of_a_clock_that_was_set_back_are_done_at_once(engine: Engine) {
        let mut app = App::start(engine).await;
        let ann = create_contact(&app, "ann@example.com", true, json!({})).await;
        app.stop().await;
        app.restart_as(&["--roles", "api"], &[]).await;
        let ids = json!({"contactIds": [ann["id"]]});
        app.post("/contacts/bulk-unsubscribe").json(&ids).send().await.assert_status(202);
        app.kill();
        app.tamper(&format!("update jobs set due_at = due_at + {HOUR}")).await;
        app.restart_as(&[], &[]).await;
        app.eventually("the job is done", async || {
            (contact(&app, &ann["id"]).await["subscribed"] == false).then_some(())
        })
        .await;
    }

    async fn requests_of_a_clock_that_was_set_back_are_forgotten(engine: Engine) {
        let mut app = App::builder(engine).env("MAILWRIGHT_RATE_LIMIT_PER_MINUTE", "10").start().await;
        early_in_a_minute(&app).await;
        while app.get("/contacts").send().await.status == 200 {}
        app.kill();
        app.tamper(&format!("update rate_windows set started_at = started_at + {HOUR}")).await;
        app.restart().await;
        app.get("/contacts").send().await.assert_status(200);
    }

    async fn a_campaign_does_not_start_days_late(engine: Engine) {
        let mut app = App::start(engine).await;
        contacts(&app, 2).await;
        let (late, too_late) = (draft(&app).await, draft(&app).await);
        for news in [&late, &too_late] {
            let then = app.now() + HOUR;
            act(&app, news, "send", &json!({"scheduledFor": then})).await.assert_status(200);
        }
        app.stop().await;
        for (news, hours) in [(&late, 23), (&too_late, 26)] {
            let id = text(&news["id"]).replace('-', "");
            let id = match engine {
                Engine::Sqlite => format!("x'{id}'"),
                Engine::Postgres => format!("'{id}'"),
            };
            let by = hours * HOUR;
            app.tamper(&format!(
                "update campaigns set scheduled_for = scheduled_for - {by}, next_at = next_at - {by} where id = {id}"
            ))
            .await;
        }
        app.restart().await;
        app.eventually("one started, the other did not", async || {
            let (late, too_late) = (campaign(&app, &late).await, campaign(&app, &too_late).await);
            (late["status"] == "SENT" && too_late["status"] == "DRAFT").then_some(())
        })
        .await;
        let missed = campaign(&app, &too_late).await;
        assert_eq!((&missed["scheduledFor"], &missed["sentAt"]), (&Value::Null, &Value::Null), "{missed}");
        assert!(text(&missed["note"]).contains("24 hours"), "{missed}");
        assert_eq!(app.list_all("/emails").await.len(), 2, "only the one campaign wrote to them");
        // sent by hand it goes, and the note with it
        act(&app, &too_late, "send", &json!({})).await.assert_status(200);
        assert_eq!(campaign(&app, &too_late).await["note"], Value::Null);
    }

    async fn a_process_that_is_asked_to_stop_says_so_and_goes_on_for_a_while(engine: Engine) {
        let mut app = App::builder(engine).env("MAILWRIGHT_DRAIN_MS", "600000").start().await;
        app.terminate();
        let answer = app.eventually("it is not ready any more", async || {
            let answer = app.request("GET", "/ready").send().await;
            (answer.status == 503).then_some(answer.json())
        });
        let answer = answer.await;
        assert_eq!((&answer["ready"], &answer["staying"], &answer["database"]), (&json!(false), &json!(false), &json!(true)));
        // who does not know yet is served as ever, but nothing new is begun in the background
        app.request("GET", "/health").send().await.assert_status(200);
        let id = app.send_to("ada@example.com").await;
        assert_eq!(read(&app, &format!("/emails/{id}")).await["status"], "PENDING");
        // a second signal does not wait
        assert!(app.stop().await.success());
        app.restart().await;
        app.email_in(&id, &["SENT"]).await;
    }

    async fn an_event_is_listed_before_what_it_caused(engine: Engine) {
        let app = App::start(engine).await;
        for number in 0..20 {
            let track = async |event: &str, subscribed: bool| {
                let body = json!({"email": format!("a{number}@example.com"), "event": event, "subscribed": subscribed});
                app.track(body).await.assert_status(200).json()["data"]["contact"].clone()
            };
            track("left", false).await;
            let contact = track("back", true).await;
            let events = read(&app, &format!("/events/contact/{}", text(&contact))).await;
            let events = events["events"].as_array().expect("events");
            let names: Vec<&str> = events.iter().map(|event| text(&event["name"])).collect();
            assert_eq!(names, ["contact.subscribed", "back", "left"], "newest first");
        }
    }

    async fn a_mail_waits_while_its_domain_is_not_verified(engine: Engine) {
        let dns = mailwright_testkit::dns::FakeDns::start().await;
        let is_open = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&is_open);
        let server = ScriptedServer::start(move |to, _| {
            if to.starts_with("wait") && !seen.load(Ordering::SeqCst) {
                return Answer::RefuseRcpt(451, "4.2.1 come back");
            }
            Answer::Accept
        })
        .await;
        let app = App::builder(engine)
            .smtp(server.port)
            .env("MAILWRIGHT_DNS_SERVER", dns.addr.to_string())
            .env("MAILWRIGHT_SENDING_PER_SECOND", "5")
            .start()
            .await;
        let domain = app.post("/domains").json(&json!({"domain": "shop.example"})).send().await.assert_status(201).json();
        let key = domain["records"].as_array().expect("records").iter().find(|r| r["required"] == true).expect("a key");
        let (name, value) = (text(&key["name"]), text(&key["value"]));
        let verify = format!("/domains/{}/verify", text(&domain["id"]));
        dns.set_txt(name, [value]);
        assert_eq!(read(&app, &verify).await["verified"], true);

        let from = json!({"from": "hi@shop.example"});
        let mail = json!({"to": "wait@example.com", "subject": "Hi", "body": "<p>Hi</p>"});
        let sent = send_ok(&app, with(mail, &from)).await;
        let waiting = text(&sent["emails"][0]["email"]).to_owned();
        contacts(&app, 120).await;
        let news = draft(&app).await;
        app.put(&format!("/campaigns/{}", text(&news["id"]))).json(&from).send().await.assert_status(200);
        act(&app, &news, "send", &json!({})).await.assert_status(200);
        app.eventually("the campaign is under way", async || {
            (campaign(&app, &news).await["sentCount"].as_i64() > Some(0)).then_some(())
        })
        .await;

        dns.remove(name);
        assert_eq!(read(&app, &verify).await["verified"], false);
        let paused = campaign(&app, &news).await;
        assert_eq!(paused["status"], "SENDING", "{paused}");
        assert!(!paused["pausedAt"].is_null() && text(&paused["note"]).contains("shop.example"), "{paused}");
        assert_eq!(act(&app, &news, "resume", &json!({})).await.status, 403);
        is_open.store(true, Ordering::SeqCst);
        app.eventually("the mail is held back", async || {
            let email = read(&app, &format!("/emails/{waiting}")).await;
            email["error"].as_str().is_some_and(|error| error.contains("not verified")).then_some(())
        })
        .await;
        let email = read(&app, &format!("/emails/{waiting}")).await;
        assert_eq!(email["status"], "PENDING");
        let attempts = email["attempts"].as_array().expect("attempts");
        assert!(!attempts.is_empty() && attempts.iter().all(|attempt| attempt["code"] == 451), "{email}");
        assert!(server.received_for("wait@example.com").is_empty());

        dns.set_txt(name, [value]);
        assert_eq!(read(&app, &verify).await["verified"], true);
        app.email_in(&waiting, &["SENT"]).await;
        act(&app, &news, "resume", &json!({})).await.assert_status(200);
        let resumed = campaign(&app, &news).await;
        assert_eq!((&resumed["pausedAt"], &resumed["note"]), (&Value::Null, &Value::Null), "{resumed}");
        act(&app, &news, "cancel", &json!({})).await.assert_status(200);
    }

    async fn what_was_verified_under_capture_sends_nothing_once_mail_leaves(engine: Engine) {
        let dns = mailwright_testkit::dns::FakeDns::start().await;
        let server = ScriptedServer::start(|_, _| Answer::Accept).await;
        let mut app = App::builder(engine).env("MAILWRIGHT_DNS_SERVER", dns.addr.to_string()).start().await;
        let domain = app.post("/domains").json(&json!({"domain": "bank.example"})).send().await.assert_status(201).json();
        assert_eq!(domain["verified"], true);
        app.stop().await;
        let transport = format!("smtp://127.0.0.1:{}?tls=none", server.port);
        app.restart_with(&[("MAILWRIGHT_TRANSPORT", &transport)]).await;
        let send = json!({"to": "ann@example.com", "subject": "Hi", "body": "<p>Hi</p>", "from": "ceo@bank.example"});
        app.send(send.clone()).await.assert_error(403, "INTERNAL_SERVER_ERROR");
        let listed = read(&app, &format!("/domains/project/{}", app.project_id())).await;
        assert!(listed.to_string().contains(r#""domain":"bank.example","#), "{listed}");
        let shown = listed.as_array().expect("domains").iter().find(|d| d["domain"] == "bank.example");
        assert_eq!(shown.expect("the domain")["verified"], false, "{listed}");
        // what the operator vouches for goes on, and so does what is proved now
        app.send_to("bob@example.com").await;
        let key = domain["records"].as_array().expect("records").iter().find(|r| r["required"] == true).expect("a key");
        dns.set_txt(text(&key["name"]), [text(&key["value"])]);
        let verified = read(&app, &format!("/domains/{}/verify", text(&domain["id"]))).await;
        assert_eq!(verified["verified"], true, "{verified}");
        send_ok(&app, send).await;
    }
}
