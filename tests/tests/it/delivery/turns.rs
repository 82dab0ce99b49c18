//! Who is served next: no project's backlog, and nothing that is wrong with one, keeps the others waiting.

use mailwright_testkit::smtp::{Answer, ScriptedServer};
use mailwright_testkit::{App, Engine, both_engines, json};
use mailwright_tests::{number_of, text};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::delivery::{OPEN, settled};

/// The mails of a turn while several projects wait.
const TURN: usize = 8;
/// Projects with a backlog, and the mails that each begins with.
const PROJECTS: i64 = 50;
const MAILS: usize = 1_000;
/// The number of the first of them.
const FIRST: i64 = 1_001;

/// Statements that give `PROJECTS` new projects a copy of everything that waits in the project Acme, which has nothing
/// left. Their recipients are `p<number>x...` instead of `p0x...`.
fn backlogs(engine: Engine) -> String {
    let (unique, given) = match engine {
        Engine::Sqlite => ("randomblob(16)", ""),
        Engine::Postgres => ("gen_random_uuid()", "overriding system value"),
    };
    let mut sql = String::new();
    if engine == Engine::Postgres {
        // Citus: projects are changed after all parts of a table
        sql += "set citus.multi_shard_modify_mode = 'sequential';";
    }
    for table in ["contents", "domains", "emails"] {
        let acme = "(select number from projects where name = 'Acme')";
        sql += &format!("create table copied_{table} as select * from {table} where project_id = {acme};");
        if table == "emails" {
            sql += &format!("delete from emails where project_id = {acme};");
        }
    }
    for number in FIRST..FIRST + PROJECTS {
        let before = if number == FIRST { 0 } else { number - 1 };
        sql += &format!(
            "insert into projects (number, id, name, language, tracking, created_at, updated_at) {given} \
             select {number}, {unique}, 'Copy {number}', language, tracking, created_at, updated_at from projects \
             where name = 'Acme'; \
             update copied_contents set project_id = {number}; insert into contents select * from copied_contents; \
             update copied_domains set project_id = {number}; insert into domains select * from copied_domains; \
             update copied_emails set project_id = {number}, id = {unique}, \
             recipient = replace(recipient, 'p{before}x', 'p{number}x'); \
             insert into emails select * from copied_emails;"
        );
    }
    if engine == Engine::Postgres {
        sql += &format!(
            "select setval(pg_get_serial_sequence('projects', 'number'), {});",
            FIRST + PROJECTS - 1
        );
    }
    sql
}

/// Makes a project's claims fail from now on; see [`mend_claims`].
async fn break_claims(app: &App, project: &str) {
    app.tamper(&match app.engine() {
        Engine::Sqlite => format!(
            "create trigger broken before update on emails \
             when old.project_id = (select number from projects where name = '{project}') \
             begin select raise(abort, 'broken'); end"
        ),
        Engine::Postgres => {
            // Citus has no triggers for tables that are divided
            let number = number_of(app, project).await;
            format!("alter table emails add constraint broken check (project_id <> {number} or claim = 0) not valid")
        }
    })
    .await;
}

async fn mend_claims(app: &App) {
    app.tamper(match app.engine() {
        Engine::Sqlite => "drop trigger broken",
        Engine::Postgres => "alter table emails drop constraint broken",
    })
    .await;
}

/// Sends a mail with a project's key; returns its id.
async fn send_as(app: &App, key: &str, from: &str, to: &str) -> String {
    let body = json!({"to": to, "subject": "Hi", "body": "<p>Hi</p>", "from": from});
    let answer =
        app.request("POST", "/v1/send").bearer(key).json(&body).send().await.assert_status(200).json();
    text(&answer["data"]["emails"][0]["email"]).to_owned()
}

/// How many mails each project with a backlog has handed over, by the beginning of their recipients.
fn by_project(server: &ScriptedServer) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for mail in server.received() {
        if let Some((project, _)) = mail.rcpt_to[0].split_once('x').filter(|(p, _)| p.starts_with("p1")) {
            *counts.entry(project.to_owned()).or_default() += 1;
        }
    }
    counts
}

both_engines! {
    async fn a_mail_waits_for_one_turn_of_each_backlog_at_most(engine: Engine) {
        let builder = ScriptedServer::builder().without_contents();
        let mut server = builder.start(|_, _| Answer::Delay(Duration::from_millis(10))).await;
        server.stop().await;
        let mut app = App::builder(engine)
            .smtp(server.port)
            .env("MAILWRIGHT_DELIVERY_CONNECTIONS", "8")
            .start()
            .await;
        let to: Vec<String> = (0..MAILS).map(|n| format!("p0x{n}@example.com")).collect();
        app.send(json!({"to": to, "subject": "Hi", "body": "<p>Hi</p>", "from": app.from()})).await.assert_status(200);
        assert!(app.stop().await.success());
        app.tamper(&backlogs(engine)).await;
        server.start_again().await;
        app.restart().await;

        // the one has a lower number than all that have a backlog, the other a higher one
        let newest = app.bootstrap("Newest", "newest.test").await;
        let oldest = (app.secret_key().to_owned(), app.from());
        let probes = [oldest.clone(), (newest.secret_key.clone(), newest.from.clone()), oldest, (newest.secret_key, newest.from)];
        let all = TURN * PROJECTS as usize;
        app.eventually_within(Duration::from_mins(1), "a round is over", async || {
            (server.received().len() >= all).then_some(())
        })
        .await;
        for (number, (key, from)) in probes.iter().enumerate() {
            let to = format!("probe{number}@example.com");
            let sent_at = Instant::now();
            send_as(&app, key, from, &to).await;
            let (before, took) = (server.received().len(), sent_at.elapsed());
            app.eventually_within(Duration::from_mins(1), "it is handed over", async || {
                (!server.received_for(&to).is_empty()).then_some(())
            })
            .await;
            let place = server.received().iter().position(|mail| mail.rcpt_to[0] == to).expect("it was received");
            let waited_for = place.saturating_sub(before);
            // a quarter more for what is on the wire
            let (allowed, after) = (all * 5 / 4, sent_at.elapsed());
            assert!(
                waited_for <= allowed,
                "probe {number} waited for {waited_for} mails of others; accepted after {took:?}, seen after {after:?}"
            );
        }
        app.eventually_within(Duration::from_mins(1), "three rounds are over", async || {
            (server.received().len() >= 3 * all).then_some(())
        })
        .await;
        let counts = by_project(&server);
        assert_eq!(counts.len(), PROJECTS as usize, "every project has its turns: {counts:?}");
        let (fewest, most) = (counts.values().min().expect("projects"), counts.values().max().expect("projects"));
        assert!(most - fewest <= 3 * TURN, "between {fewest} and {most} mails: {counts:?}");
    }

    async fn a_row_that_cannot_be_read_costs_only_itself(engine: Engine) {
        let mut server = ScriptedServer::start(|_, _| Answer::Accept).await;
        server.stop().await;
        let mut app = App::builder(engine).smtp(server.port).start().await;
        let other = app.bootstrap("Other", "other.test").await;
        let mut good = Vec::new();
        for n in 0..5 {
            good.push(app.send_to(&format!("good{n}@example.com")).await);
        }
        let bad = app.send_to("bad@example.com").await;
        let damaged = app.send_to("damaged@example.com").await;
        send_as(&app, &other.secret_key, &other.from, "other@example.com").await;
        assert!(app.stop().await.success());
        app.tamper("update emails set source = 'TELEPATHY' where recipient = 'bad@example.com'").await;
        let damage = match engine {
            Engine::Sqlite => "x'ff00'",
            Engine::Postgres => "'[]'",
        };
        app.tamper(&format!("update emails set variables = {damage} where recipient = 'damaged@example.com'")).await;
        server.start_again().await;
        app.restart().await;

        let damaged = settled(&app, &damaged).await;
        assert_eq!((&damaged["status"], &damaged["reason"]), (&json!("FAILED"), &json!("unrenderable")), "{damaged}");
        for id in &good {
            app.email_in(id, &["SENT"]).await;
        }
        app.eventually("the other project's mail leaves", async || {
            (server.received_for("other@example.com").len() == 1).then_some(())
        })
        .await;
        let log = app.eventually("the log names the row", async || {
            let log = app.log();
            log.lines().find(|line| line.contains(&bad) && line.contains("TELEPATHY")).map(str::to_owned)
        })
        .await;
        assert!(log.contains("emails") && log.contains("source"), "{log}");
        app.eventually("it is settled", async || {
            app.tamper("update emails set source = 'TRANSACTIONAL' where recipient = 'bad@example.com' \
                        and due_at is null").await;
            let shown = app.get(&format!("/emails/{bad}")).send().await;
            (shown.status == 200).then_some(())
        })
        .await;
        let bad = app.email(&bad).await;
        assert_eq!((&bad["status"], &bad["reason"]), (&json!("FAILED"), &json!("unrenderable")), "{bad}");
        assert!(server.received_for("bad@example.com").is_empty());
    }

    async fn a_project_whose_mail_cannot_be_claimed_keeps_nobody_waiting(engine: Engine) {
        let server = ScriptedServer::start(|_, _| Answer::Accept).await;
        let app = App::builder(engine).smtp(server.port).start().await;
        let other = app.bootstrap("Other", "other.test").await;
        break_claims(&app, "Acme").await;
        let stuck = app.send_to("stuck@example.com").await;
        app.eventually("it cannot be claimed", async || {
            app.log().contains("could not be claimed").then_some(())
        })
        .await;
        for n in 0..3 {
            let to = format!("other{n}@example.com");
            send_as(&app, &other.secret_key, &other.from, &to).await;
            app.eventually("the other project's mail leaves", async || {
                (server.received_for(&to).len() == 1).then_some(())
            })
            .await;
        }
        assert!(OPEN.contains(&text(&app.email(&stuck).await["status"])));
        mend_claims(&app).await;
        assert_eq!(settled(&app, &stuck).await["status"], "SENT");
    }

    async fn a_program_that_is_too_old_for_the_database_hands_nothing_over(engine: Engine) {
        let server = ScriptedServer::start(|_, _| Answer::Accept).await;
        let app = App::builder(engine).smtp(server.port).start().await;
        app.tamper("insert into schema_migrations (number, name, applied_at) values (9999, 'of the future', 0)").await;
        app.eventually("it says so", async || {
            let ready = app.request("GET", "/ready").send().await;
            (ready.status == 503 && ready.json()["worker"] == false && ready.json()["migrated"] == false).then_some(())
        })
        .await;
        assert!(app.log().contains("a newer version has migrated the database"));
        let id = app.send_to("ada@example.com").await;
        let campaigns = app.get("/campaigns").send().await;
        campaigns.assert_status(200);
        // each feeder looks at the queue, and a lease is long over
        app.advance(Duration::from_mins(1)).await;
        let email = app.email(&id).await;
        assert_eq!((&email["status"], &email["attemptCount"]), (&json!("PENDING"), &json!(0)), "{email}");
        assert!(server.attempts().is_empty());

        app.tamper("delete from schema_migrations where number = 9999").await;
        app.email_in(&id, &["SENT"]).await;
        app.eventually("it is ready again", async || {
            (app.request("GET", "/ready").send().await.status == 200).then_some(())
        })
        .await;
    }
}

/// PostgreSQL alone: on SQLite nobody holds anything but the one writer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_project_of_which_somebody_holds_a_row_keeps_nobody_waiting() {
    let server = ScriptedServer::start(|_, _| Answer::Accept).await;
    let app = App::builder(Engine::Postgres).smtp(server.port).start().await;
    let other = app.bootstrap("Other", "other.test").await;
    let first = app.send_to("first@example.com").await;
    assert_eq!(settled(&app, &first).await["status"], "SENT");
    let acme = number_of(&app, "Acme").await;
    let held = app.hold(&format!("select 1 from throttles where project_id = {acme} for update")).await;
    let stuck = app.send_to("stuck@example.com").await;
    app.eventually("it cannot be claimed", async || {
        app.log().contains("another transaction holds a lock").then_some(())
    })
    .await;
    for n in 0..3 {
        let to = format!("other{n}@example.com");
        send_as(&app, &other.secret_key, &other.from, &to).await;
        // long before the database would give the claim up, which it does after 50 s
        app.eventually("the other project's mail leaves", async || {
            (server.received_for(&to).len() == 1).then_some(())
        })
        .await;
    }
    assert!(OPEN.contains(&text(&app.email(&stuck).await["status"])));
    drop(held);
    assert_eq!(settled(&app, &stuck).await["status"], "SENT");
}
