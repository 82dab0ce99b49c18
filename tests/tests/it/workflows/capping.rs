//! The cap on the marketing mails of a contact: what counts, what it holds up, and what becomes of that.

use std::time::Duration;

use futures_util::future::join_all;
use mailwright_testkit::smtp::{Answer, ScriptedServer};
use mailwright_testkit::{App, Engine, OWNER, Response, both_engines};
use mailwright_tests::browser::Browser;
use mailwright_tests::workflow::{Flow, taken};
use mailwright_tests::{assert_timestamp, create_contact, create_template, issue, issues, items, read};
use mailwright_tests::{text, track_ok, with};
use serde_json::{Value, json};

/// A little more than the period of the caps here.
const OVER_AN_HOUR: Duration = Duration::from_secs(3_601);
/// A good part of it.
const MOST_OF_AN_HOUR: Duration = Duration::from_mins(50);
/// What is missing to a little more than the hour.
const REST_OF_AN_HOUR: Duration = Duration::from_secs(601);

async fn owner(app: &App) -> Browser {
    Browser::log_in(app, OWNER.0, OWNER.1).await
}

async fn try_cap(app: &App, owner: &Browser, cap: &Value) -> Response {
    let path = format!("/users/@me/projects/{}", app.project_id());
    owner.request(app, "PATCH", &path).json(&json!({"marketingCap": cap})).send().await
}

/// From now on a contact gets so many marketing mails in so many hours.
async fn cap(app: &App, emails: u32, hours: u32) {
    let cap = json!({"emails": emails, "hours": hours});
    let changed = try_cap(app, &owner(app).await, &cap).await.assert_status(200).json();
    assert_eq!(changed["marketingCap"], cap);
}

/// An enabled workflow that sends mails of these types, which are their subjects. A contact may go through it again.
async fn sending<'a>(app: &'a App, event: &str, kinds: &[&str], config: Value) -> Flow<'a> {
    let flow = Flow::new(app, event).await;
    for kind in kinds {
        let template = create_template(app, &json!({"type": kind, "subject": kind})).await;
        flow.then("SEND_EMAIL", with(json!({"templateId": template["id"]}), &config)).await;
    }
    flow.change(json!({"allowReentry": true})).await;
    flow.enable().await;
    flow
}

fn waits() -> Value {
    json!({"overCap": "WAIT"})
}

/// Sends a contact through a workflow. How the steps behind the trigger ended: `COMPLETED`, or `SKIPPED` with a reason.
async fn go(flow: &Flow<'_>, contact: &Value) -> Vec<String> {
    let id = flow.start(&contact["id"], json!({})).await;
    let ended = flow.once(&id, "COMPLETED").await;
    let steps = items(&ended["stepExecutions"])[1..].iter();
    let outcome = |step: &Value| match step["output"]["skipped"].as_str() {
        Some(reason) => format!("{} {reason}", text(&step["status"])),
        None => text(&step["status"]).to_owned(),
    };
    steps.map(outcome).collect()
}

/// Begins an execution whose mail has to wait. Returns its id.
async fn hold_up(flow: &Flow<'_>, contact: &Value) -> String {
    let id = flow.start(&contact["id"], json!({})).await;
    flow.once(&id, "WAITING").await;
    id
}

/// Waits until so many executions of some workflows are over.
async fn once_over(app: &App, flows: &[Flow<'_>], count: usize) {
    app.eventually(&format!("{count} executions are over"), async || {
        let mut over = 0;
        for flow in flows {
            let found = flow.executions().await;
            over += found.iter().filter(|execution| execution["status"] == "COMPLETED").count();
        }
        (over == count).then_some(())
    })
    .await;
}

/// The subjects of the mails captured for an address, in the order of the alphabet, once there are so many.
async fn subjects(app: &App, to: &str, count: usize) -> Vec<String> {
    app.eventually(&format!("{count} mails for {to}"), async || {
        let mails = app.mailbox_for(to).await;
        let mut subjects: Vec<String> = mails.iter().map(|mail| text(&mail["subject"]).to_owned()).collect();
        subjects.sort();
        (subjects.len() >= count).then_some(subjects)
    })
    .await
}

/// Makes a campaign of a type to everybody. Returns its path.
async fn campaign(app: &App, kind: &str) -> String {
    let body = json!({
        "name": "News", "subject": "News", "body": "<p>News</p>", "from": app.from(), "audienceType": "ALL",
        "type": kind,
    });
    let made = app.post("/campaigns").json(&body).send().await.assert_status(201).json();
    format!("/campaigns/{}", text(&made["data"]["id"]))
}

async fn begin(app: &App, campaign: &str) {
    app.post(&format!("{campaign}/send")).json(&json!({})).send().await.assert_status(200);
}

/// The equation of a campaign's ledger, once it is over.
async fn ended(app: &App, campaign: &str) -> Value {
    app.eventually("the campaign is over", async || {
        let found = read(app, campaign).await;
        (!found["finishedAt"].is_null()).then_some(())
    })
    .await;
    read(app, &format!("{campaign}/ledger")).await["equation"].clone()
}

/// How many contacts a campaign reached, and whom it skipped for which reasons.
async fn campaigned(app: &App, kind: &str) -> (Value, Value) {
    let campaign = campaign(app, kind).await;
    begin(app, &campaign).await;
    let equation = ended(app, &campaign).await;
    (equation["accepted"].clone(), equation["skipped"].clone())
}

both_engines! {
    async fn a_cap_is_a_setting_of_the_project(engine: Engine) {
        let app = App::start(engine).await;
        let owner = owner(&app).await;
        for right in [json!({"emails": 1, "hours": 1}), json!({"emails": 1000, "hours": 8760}), Value::Null] {
            let changed = try_cap(&app, &owner, &right).await.assert_status(200).json();
            assert_eq!(changed["marketingCap"], right);
        }
        for (wrong, field, code) in [
            (json!({"emails": 0, "hours": 24}), "marketingCap.emails", "too_small"),
            (json!({"emails": 1001, "hours": 24}), "marketingCap.emails", "too_big"),
            (json!({"emails": 1, "hours": 0}), "marketingCap.hours", "too_small"),
            (json!({"emails": 1, "hours": 8761}), "marketingCap.hours", "too_big"),
        ] {
            assert_eq!(issues(&try_cap(&app, &owner, &wrong).await), [(field.to_owned(), code.to_owned())]);
        }
        for (wrong, field) in [
            (json!({"emails": 1}), "marketingCap.hours"),
            (json!({"hours": 1}), "marketingCap.emails"),
            (json!({"emails": 1.5, "hours": 1}), "marketingCap.emails"),
        ] {
            issue(&try_cap(&app, &owner, &wrong).await, field);
        }
        let flow = Flow::new(&app, "begun").await;
        for wrong in ["LATER", "wait", ""] {
            let answer = flow.try_add("SEND_EMAIL", &json!({"overCap": wrong}), &json!({})).await;
            issue(&answer, "config.overCap");
        }
    }

    async fn a_mail_over_the_cap_is_skipped(engine: Engine) {
        let app = App::start(engine).await;
        let ann = create_contact(&app, "ann@example.com", true, json!({})).await;
        let bob = create_contact(&app, "bob@example.com", true, json!({})).await;
        cap(&app, 2, 1).await;
        let three = sending(&app, "three", &["MARKETING"; 3], json!({})).await;
        let one = sending(&app, "one", &["MARKETING"], json!({"overCap": "SKIP"})).await;
        assert_eq!(go(&three, &ann).await, ["COMPLETED", "COMPLETED", "SKIPPED capped"]);
        assert_eq!(go(&one, &ann).await, ["SKIPPED capped"], "the mails of all workflows count");
        assert_eq!(go(&one, &bob).await, ["COMPLETED"], "those of each contact");
        let why = read(&app, &one.path("/why?contact=ann%40example.com")).await;
        assert_eq!(why["decisions"][0]["steps"][1]["output"]["skipped"], "capped", "{why}");
        app.advance(OVER_AN_HOUR).await;
        assert_eq!(go(&one, &ann).await, ["COMPLETED"]);
        assert_eq!(subjects(&app, "ann@example.com", 3).await.len(), 3);
        assert_eq!(subjects(&app, "bob@example.com", 1).await.len(), 1);
    }

    async fn a_mail_over_the_cap_waits(engine: Engine) {
        let app = App::start(engine).await;
        let ann = create_contact(&app, "ann@example.com", true, json!({})).await;
        cap(&app, 1, 1).await;
        let flow = sending(&app, "three", &["MARKETING"; 3], waits()).await;
        let id = hold_up(&flow, &ann).await;
        for sent in 1..3 {
            let done = vec!["SEND_EMAIL COMPLETED"; sent];
            let steps = [&["TRIGGER COMPLETED"][..], &done, &["SEND_EMAIL WAITING"]].concat();
            let waiting = app.eventually(&format!("{sent} mails are sent, and another one waits"), async || {
                let found = flow.once(&id, "WAITING").await;
                (taken(&found) == steps).then_some(found)
            }).await;
            let step = &waiting["stepExecutions"][sent + 1];
            assert_eq!(step["output"]["waitsFor"], "cap", "{step}");
            assert_timestamp(&step["executeAfter"]);
            assert_eq!(waiting["currentStep"]["type"], "SEND_EMAIL");
            app.advance(MOST_OF_AN_HOUR).await;
            assert_eq!(taken(&flow.once(&id, "WAITING").await), steps, "not yet");
            assert_eq!(subjects(&app, "ann@example.com", sent).await.len(), sent);
            app.advance(REST_OF_AN_HOUR).await;
        }
        let ended = flow.once(&id, "COMPLETED").await;
        for step in &items(&ended["stepExecutions"])[2..] {
            assert_eq!((&step["status"], &step["output"]["waitsFor"]), (&json!("COMPLETED"), &json!("cap")), "{step}");
            app.email_in(text(&step["output"]["emailId"]), &["SENT"]).await;
        }
        assert_eq!(subjects(&app, "ann@example.com", 3).await.len(), 3);
    }

    async fn the_period_begins_with_each_mail(engine: Engine) {
        let app = App::start(engine).await;
        let ann = create_contact(&app, "ann@example.com", true, json!({})).await;
        cap(&app, 2, 2).await;
        let flow = sending(&app, "one", &["MARKETING"], waits()).await;
        assert_eq!(go(&flow, &ann).await, ["COMPLETED"]);
        app.advance(OVER_AN_HOUR).await;
        assert_eq!(go(&flow, &ann).await, ["COMPLETED"]);
        for _ in 0..2 {
            let id = hold_up(&flow, &ann).await;
            app.advance(MOST_OF_AN_HOUR).await;
            flow.once(&id, "WAITING").await;
            app.advance(REST_OF_AN_HOUR).await;
            flow.once(&id, "COMPLETED").await;
        }
    }

    async fn transactional_mail_neither_counts_nor_waits(engine: Engine) {
        let app = App::start(engine).await;
        let ann = create_contact(&app, "ann@example.com", true, json!({})).await;
        cap(&app, 1, 1).await;
        app.send_to("ann@example.com").await;
        let kinds = ["TRANSACTIONAL", "TRANSACTIONAL", "MARKETING", "TRANSACTIONAL", "HEADLESS"];
        let flow = sending(&app, "mixed", &kinds, json!({})).await;
        let expected = ["COMPLETED", "COMPLETED", "COMPLETED", "COMPLETED", "SKIPPED capped"];
        assert_eq!(go(&flow, &ann).await, expected);
        app.send_to("ann@example.com").await;
        let waiting = sending(&app, "waiting", &["TRANSACTIONAL"; 3], waits()).await;
        assert_eq!(go(&waiting, &ann).await, ["COMPLETED"; 3]);
        let all = [&["Hello"; 2][..], &["MARKETING"], &["TRANSACTIONAL"; 6]].concat();
        assert_eq!(subjects(&app, "ann@example.com", 9).await, all);
    }

    async fn campaigns_and_workflows_count_together(engine: Engine) {
        let app = App::start(engine).await;
        let ann = create_contact(&app, "ann@example.com", true, json!({})).await;
        let bob = create_contact(&app, "bob@example.com", true, json!({})).await;
        let flow = sending(&app, "one", &["MARKETING"], json!({})).await;
        cap(&app, 1, 1).await;
        assert_eq!(go(&flow, &ann).await, ["COMPLETED"]);
        let news = campaign(&app, "MARKETING").await;
        begin(&app, &news).await;
        let equation = ended(&app, &news).await;
        let expected = json!({
            "audience": 2, "waiting": 0, "accepted": 1, "inDoubt": 0, "balanced": true,
            "skipped": {"capped": 1}, "failed": {},
        });
        assert_eq!(equation, expected);
        let skipped = app.list_all(&format!("{news}/ledger?state=SKIPPED&reason=capped")).await;
        assert_eq!((skipped.len(), &skipped[0]["contactId"]), (1, &ann["id"]), "{skipped:?}");
        assert_eq!(skipped[0]["status"], "SKIPPED");
        assert_eq!(app.email(text(&skipped[0]["emailId"])).await["reason"], "capped");
        assert_eq!(read(&app, &format!("{news}/stats")).await["sentCount"], 1);

        assert_eq!(go(&flow, &bob).await, ["SKIPPED capped"], "the campaign's mail counts");
        assert_eq!(campaigned(&app, "HEADLESS").await, (json!(0), json!({"capped": 2})));
        assert_eq!(campaigned(&app, "TRANSACTIONAL").await, (json!(2), json!({})));
        app.advance(OVER_AN_HOUR).await;
        assert_eq!(campaigned(&app, "MARKETING").await, (json!(2), json!({})), "nothing of the last hour counts");
        assert_eq!(subjects(&app, "ann@example.com", 3).await, ["MARKETING", "News", "News"]);
        assert_eq!(subjects(&app, "bob@example.com", 3).await, ["News", "News", "News"]);
    }

    async fn only_what_a_contact_gets_counts(engine: Engine) {
        let server = ScriptedServer::start(|to, attempt| match (to, attempt) {
            ("ann@example.com", 1) => Answer::RefuseData(554, "5.7.1 looks like spam"),
            _ => Answer::Accept,
        })
        .await;
        let app = App::builder(engine).smtp(server.port).start().await;
        let ann = create_contact(&app, "ann@example.com", true, json!({})).await;
        cap(&app, 1, 1).await;
        let id = {
            let flow = sending(&app, "refused", &["MARKETING"], json!({})).await;
            let id = flow.start(&ann["id"], json!({})).await;
            text(&flow.once(&id, "COMPLETED").await["stepExecutions"][1]["output"]["emailId"]).to_owned()
        };
        app.email_in(&id, &["FAILED"]).await;
        let boss = json!({"recipient": {"type": "CUSTOM", "customEmail": "boss@example.com"}});
        let boss = sending(&app, "boss", &["MARKETING"; 3], boss).await;
        assert_eq!(go(&boss, &ann).await, ["COMPLETED"; 3], "for somebody else");
        let flow = sending(&app, "one", &["MARKETING"; 2], json!({})).await;
        assert_eq!(go(&flow, &ann).await, ["COMPLETED", "SKIPPED capped"]);
        assert_eq!(go(&boss, &ann).await, ["COMPLETED"; 3]);
    }

    async fn workflows_that_begin_together_share_the_cap(engine: Engine) {
        let app = App::start(engine).await;
        cap(&app, 2, 1).await;
        let skipping = join_all((0..4).map(|_| sending(&app, "skip", &["MARKETING"], json!({})))).await;
        let waiting = join_all((0..4).map(|_| sending(&app, "wait", &["MARKETING"], waits()))).await;
        for event in ["skip", "wait"] {
            let email = format!("{event}@example.com");
            track_ok(&app, json!({"email": email, "event": event, "subscribed": true})).await;
        }
        once_over(&app, &skipping, 4).await;
        assert_eq!(subjects(&app, "skip@example.com", 2).await.len(), 2);
        once_over(&app, &waiting, 2).await;
        assert_eq!(subjects(&app, "wait@example.com", 2).await.len(), 2);
        app.advance(OVER_AN_HOUR).await;
        once_over(&app, &waiting, 4).await;
        assert_eq!(subjects(&app, "wait@example.com", 4).await.len(), 4);
        assert_eq!(subjects(&app, "skip@example.com", 2).await.len(), 2);
    }

    async fn a_campaign_and_a_workflow_at_the_same_time_share_the_cap(engine: Engine) {
        let app = App::start(engine).await;
        create_contact(&app, "ann@example.com", true, json!({})).await;
        cap(&app, 1, 1).await;
        let flow = sending(&app, "one", &["MARKETING"], json!({})).await;
        let news = campaign(&app, "MARKETING").await;
        // where there are several writers, neither sees what the other one is about to write
        let slowly = engine == Engine::Postgres;
        if slowly {
            app.tamper(
                "alter table emails add constraint slowly \
                 check (case when claim = 0 then pg_sleep(2) is not null else true end) not valid",
            )
            .await;
        }
        track_ok(&app, json!({"email": "ann@example.com", "event": "one"})).await;
        if slowly {
            app.tamper(
                "do $$ begin while not exists (select from pg_stat_activity \
                 where datname = current_database() and pid <> pg_backend_pid() and state = 'active' \
                 and query ilike '%into emails%') \
                 loop perform pg_sleep(0.01); perform pg_stat_clear_snapshot(); end loop; end $$",
            )
            .await;
        }
        begin(&app, &news).await;
        ended(&app, &news).await;
        flow.only("COMPLETED").await;
        let mut mails = app.list_all("/emails").await;
        mails.retain(|mail| mail["status"] != "SKIPPED");
        assert_eq!(mails.len(), 1, "{mails:?}");
    }

    async fn who_unsubscribes_while_a_mail_waits_does_not_get_it(engine: Engine) {
        let mut app = App::start(engine).await;
        let (workflow, begun) = {
            let ann = create_contact(&app, "ann@example.com", true, json!({})).await;
            let bob = create_contact(&app, "bob@example.com", true, json!({})).await;
            cap(&app, 1, 1).await;
            let flow = sending(&app, "two", &["MARKETING"; 2], waits()).await;
            let begun = [hold_up(&flow, &ann).await, hold_up(&flow, &bob).await];
            for email in ["ann@example.com", "bob@example.com"] {
                subjects(&app, email, 1).await;
            }
            let path = format!("/contacts/{}", text(&ann["id"]));
            app.patch(&path).json(&json!({"subscribed": false})).send().await.assert_status(200);
            (json!({"id": flow.id}), begun)
        };
        app.kill();
        app.advance(2 * OVER_AN_HOUR).await;
        app.restart().await;
        let flow = Flow::of(&app, &workflow).await;
        for (id, status, count) in [(&begun[0], "SKIPPED", 1), (&begun[1], "COMPLETED", 2)] {
            let ended = flow.once(id, "COMPLETED").await;
            assert_eq!(ended["stepExecutions"][2]["status"], status, "{ended}");
            let email = text(&ended["contact"]["email"]);
            assert_eq!(subjects(&app, email, count).await.len(), count);
        }
        assert_eq!(flow.execution(&begun[0]).await["stepExecutions"][2]["output"]["skipped"], "unsubscribed");
    }

    async fn a_cap_that_is_gone_holds_nothing_up(engine: Engine) {
        let app = App::start(engine).await;
        let ann = create_contact(&app, "ann@example.com", true, json!({})).await;
        cap(&app, 1, 24).await;
        let flow = sending(&app, "two", &["MARKETING"; 2], json!({})).await;
        assert_eq!(go(&flow, &ann).await, ["COMPLETED", "SKIPPED capped"]);
        let waiting = sending(&app, "late", &["MARKETING"], waits()).await;
        let id = hold_up(&waiting, &ann).await;
        try_cap(&app, &owner(&app).await, &Value::Null).await.assert_status(200);
        assert_eq!(go(&flow, &ann).await, ["COMPLETED", "COMPLETED"]);
        assert_eq!(campaigned(&app, "MARKETING").await, (json!(1), json!({})));
        // what has waited need not wait for the rest of the day
        app.advance(OVER_AN_HOUR).await;
        waiting.once(&id, "COMPLETED").await;
        assert_eq!(subjects(&app, "ann@example.com", 5).await.len(), 5);
    }
}
