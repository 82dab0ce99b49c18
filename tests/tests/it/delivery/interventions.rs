//! Mail that waits is paused, given up or sent another way, as an operator or the project wants it.

use std::net::Ipv4Addr;
use std::time::Duration;

use mailwright_testkit::dns::FakeDns;
use mailwright_testkit::net::free_port;
use mailwright_testkit::smtp::{Answer, ScriptedServer};
use mailwright_testkit::{App, Engine, Value, both_engines, json};
use mailwright_tests::browser::Browser;
use mailwright_tests::{as_project, items, read, text};

use crate::delivery::{sent_by, settled};

/// Mails that are made due in several portions when their pause ends.
const LARGE: i64 = 600;

async fn waits(app: &App, id: &str, why: &str) {
    app.eventually(&format!("{id} waits: {why}"), async || {
        let email = app.email(id).await;
        (email["status"] == "PENDING" && email["error"].as_str()?.contains(why)).then_some(())
    })
    .await;
}

async fn intervene(app: &App, body: &Value) -> String {
    let made = app.post("/delivery/interventions").json(body).send().await.assert_status(201).json();
    text(&made["id"]).to_owned()
}

/// The id that the program prints first.
async fn by_command(app: &App, arguments: &[&str]) -> String {
    let printed = app.run(arguments).await;
    printed.split_whitespace().next().expect("an id").to_owned()
}

async fn knows(app: &App) {
    // every process looks each second
    app.advance(Duration::from_secs(3)).await;
}

both_engines! {
    async fn mail_for_a_domain_waits_until_its_pause_ends(engine: Engine) {
        let server = ScriptedServer::start(|_, _| Answer::Accept).await;
        let app = App::builder(engine).smtp(server.port).start().await;
        let id = intervene(&app, &json!({"kind": "PAUSE", "domain": "One.example", "reason": "They asked us to."})).await;
        app.eventually("it is in force", async || {
            let probe = app.send_to("probe@one.example").await;
            let email = app.eventually("an end", async || {
                let email = app.email(&probe).await;
                (email["status"] == "SENT" || email["error"].is_string()).then_some(email)
            }).await;
            (email["status"] == "PENDING").then_some(())
        }).await;
        let before = server.received_for("probe@one.example").len();
        let held = app.send_to("ada@one.example").await;
        waits(&app, &held, "was paused. Reason: They asked us to.").await;
        app.email_in(&app.send_to("ada@two.example").await, &["SENT"]).await;
        let listed = read(&app, "/delivery/interventions").await;
        assert_eq!((items(&listed).len(), &listed[0]["domain"], &listed[0]["byOperator"]), (1, &json!("one.example"), &json!(false)));
        assert!(listed[0]["waiting"].as_i64() >= Some(2), "{listed}");
        // that it waits costs the mail nothing, however long
        app.advance(Duration::from_hours(10 * 24)).await;
        waits(&app, &held, "was paused").await;
        assert_eq!(server.received_for("ada@one.example").len(), 0);

        app.delete(&format!("/delivery/interventions/{id}")).send().await.assert_status(200);
        app.delete(&format!("/delivery/interventions/{id}")).send().await.assert_error(404, "RESOURCE_NOT_FOUND");
        app.email_in(&held, &["SENT"]).await;
        app.eventually("those before leave too", async || {
            (server.received_for("probe@one.example").len() > before).then_some(())
        }).await;
        app.advance(Duration::from_secs(15)).await;
        app.eventually("it is forgotten", async || items(&read(&app, "/delivery/interventions").await).is_empty().then_some(())).await;
    }

    async fn all_mail_of_a_large_pause_leaves_when_it_ends(engine: Engine) {
        let server = ScriptedServer::builder().without_contents().start(|_, _| Answer::Accept).await;
        let mut app = App::builder(engine).smtp(server.port).start().await;
        let mut pauses = Vec::new();
        for domain in ["large.example", "small.example"] {
            pauses.push(by_command(&app, &["delivery", "pause", "--project", app.project_id(), "--domain", domain]).await);
        }
        knows(&app).await;
        let to: Vec<String> = (0..LARGE).map(|n| format!("p{n}@large.example")).collect();
        app.send(json!({"to": to, "subject": "Hi", "body": "<p>Hi</p>", "from": app.from()})).await.assert_status(200);
        let small = app.send_to("ada@small.example").await;
        app.eventually_within(Duration::from_mins(1), "all of it waits", async || {
            let listed = read(&app, "/delivery/interventions").await;
            let waiting: i64 = items(&listed).iter().filter_map(|one| one["waiting"].as_i64()).sum();
            (waiting == LARGE + 1).then_some(())
        }).await;
        assert!(server.received().is_empty());
        // nobody is told of the end but by its row, as after a process died half-way
        assert!(app.stop().await.success());
        for pause in &pauses {
            app.run(&["delivery", "end", pause]).await;
        }
        app.restart().await;
        app.email_in(&small, &["SENT"]).await;
        app.eventually_within(Duration::from_mins(1), "all of it leaves", async || {
            (server.received().len() as i64 == LARGE + 1).then_some(())
        }).await;
    }

    async fn a_paused_project_costs_nobody_else_and_its_mail_can_be_given_up(engine: Engine) {
        let server = ScriptedServer::start(|_, _| Answer::Accept).await;
        let app = App::builder(engine).smtp(server.port).start().await;
        let other = app.bootstrap("Rockets", "rockets.test").await;
        let pause = by_command(&app, &["delivery", "pause", "--project", app.project_id(), "--reason", "Look at it"]).await;
        knows(&app).await;
        let held = app.send_to("ada@one.example").await;
        let send = json!({"to": "bob@one.example", "subject": "Hi", "body": "<p>Hi</p>", "from": other.from});
        as_project(&app, &other, "POST", "/v1/send").json(&send).send().await.assert_status(200);
        app.eventually("the other project's mail", async || server.received_for("bob@one.example").pop()).await;
        assert_eq!(app.email(&held).await["status"], "PENDING");
        // a project cannot end what the operator wants
        app.delete(&format!("/delivery/interventions/{pause}")).send().await.assert_error(403, "FORBIDDEN");
        let listed = app.run(&["delivery", "list"]).await;
        assert!(listed.contains(&format!("project={} (", app.project_id())), "{listed}");
        let listed = app.run(&["delivery", "list", "--json"]).await;
        assert!(listed.contains(&format!("\"project\":\"{}\"", app.project_id())), "{listed}");
        assert!(items(&read(&app, "/delivery/interventions").await)[0]["byOperator"].as_bool().expect("a bool"));

        intervene(&app, &json!({"kind": "EXPIRE", "reason": "Too late by now."})).await;
        app.run(&["delivery", "end", &pause]).await;
        let email = settled(&app, &held).await;
        assert_eq!(email["status"], "FAILED");
        assert!(text(&email["error"]).contains("given up on request. Reason: Too late by now."), "{email}");
        // what comes later leaves
        app.email_in(&app.send_to("ada@one.example").await, &["SENT"]).await;
        assert_eq!(server.received_for("ada@one.example").len(), 1);
    }

    async fn a_site_is_paused_with_all_its_domains(engine: Engine) {
        let (dns, port) = (FakeDns::start().await, free_port());
        let address = Ipv4Addr::new(127, 0, 19, 1);
        dns.set_a("mx.host.example", [address]);
        for domain in ["one.example", "two.example"] {
            dns.set_mx(domain, [(10, "mx.host.example")]);
        }
        dns.set_mx("three.example", [(10, "mx.other.example")]);
        dns.set_a("mx.other.example", [Ipv4Addr::new(127, 0, 19, 2)]);
        let server = ScriptedServer::builder().address(address).port(port).start(|_, _| Answer::Accept).await;
        let other =
            ScriptedServer::builder().address(Ipv4Addr::new(127, 0, 19, 2)).port(port).start(|_, _| Answer::Accept).await;
        let app = App::builder(engine).direct(&dns, port).start().await;
        app.email_in(&app.send_to("first@one.example").await, &["SENT"]).await;
        let id = by_command(&app, &["delivery", "pause", "--site", "host.example"]).await;
        knows(&app).await;
        let held = [app.send_to("ada@one.example").await, app.send_to("ada@two.example").await];
        for id in &held {
            waits(&app, id, "was paused").await;
        }
        app.email_in(&app.send_to("ada@three.example").await, &["SENT"]).await;
        assert_eq!((server.received().len(), other.received().len()), (1, 1));
        app.run(&["delivery", "end", &id]).await;
        for id in &held {
            app.email_in(id, &["SENT"]).await;
        }
        assert_eq!(server.received().len(), 3);
    }

    async fn mail_leaves_by_another_transport(engine: Engine) {
        let first = ScriptedServer::start(|_, _| Answer::Accept).await;
        let second = ScriptedServer::start(|_, _| Answer::Accept).await;
        let transport = |name: &str, server: &ScriptedServer| {
            format!("[[transports]]\nname = '{name}'\nurl = 'smtp://127.0.0.1:{}?tls=none'\n", server.port)
        };
        let file = format!("{}{}", transport("first", &first), transport("second", &second));
        let app = App::builder(engine).file(&file).start().await;
        let id = by_command(&app, &["delivery", "reroute", "--domain", "one.example", "--to", "second"]).await;
        knows(&app).await;
        let by = async |to: &str| sent_by(&app.email_in(&app.send_to(to).await, &["SENT"]).await);
        assert_eq!((by("a@one.example").await, by("a@two.example").await), ("second".into(), "first".into()));
        let said = app.run(&["delivery", "end", &id]).await;
        assert!(said.contains("leaves by the transports of its routes again"), "{said}");
        // without the file the command knows the one transport alone that has no name there
        let output = app.try_run(&["delivery", "reroute", "--domain", "one.example", "--to", "second"]).await;
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains("There are: default.") && said.contains("--config"), "{said}");
        knows(&app).await;
        assert_eq!(by("b@one.example").await, "first");
        assert!(!app.run(&["delivery", "list"]).await.contains("REROUTE"));
    }

    async fn what_was_wanted_of_a_project_that_is_gone_is_forgotten(engine: Engine) {
        let app = App::start(engine).await;
        app.run(&["delivery", "pause", "--domain", "gone.example"]).await;
        app.run(&["delivery", "pause", "--domain", "one.example"]).await;
        app.tamper("update interventions set project = 1000000 where domain = 'gone.example'").await;
        app.advance(Duration::from_mins(1)).await;
        app.eventually("it is forgotten", async || {
            (!app.run(&["delivery", "list"]).await.contains("gone.example")).then_some(())
        }).await;
        assert!(app.run(&["delivery", "list"]).await.contains("one.example"));
    }

    async fn who_began_it_is_told_to_those_who_may_know(engine: Engine) {
        let app = App::start(engine).await;
        let (ada, eve) = (Browser::sign_up(&app, "ada@example.com").await, Browser::sign_up(&app, "eve@example.com").await);
        let project = ada.create_project(&app, "Rockets").await;
        let project = text(&project["id"]).to_owned();
        ada.add_member(&app, &project, &eve, "MEMBER").await;
        let path = "/delivery/interventions";
        let body = json!({"kind": "PAUSE", "domain": "one.example"});
        let made = ada.in_project(&app, &project, "POST", path).json(&body).send().await.assert_status(201).json();
        let begun_by = json!({"type": "user", "id": ada.id, "name": ada.email});
        assert_eq!(made["begunBy"], begun_by);
        app.run(&["delivery", "pause", "--project", &project, "--domain", "two.example"]).await;
        let seen = async |by: &Browser| by.in_project(&app, &project, "GET", path).send().await.assert_status(200).json();
        let nobody = |kind: &str| json!({"type": kind, "id": null, "name": null});
        let listed = seen(&ada).await;
        assert_eq!((&listed[0]["begunBy"], &listed[1]["begunBy"]), (&begun_by, &nobody("operator")));
        let listed = seen(&eve).await;
        assert_eq!((&listed[0]["begunBy"], &listed[1]["begunBy"]), (&nobody("user"), &nobody("operator")));
        let listed = app.run(&["delivery", "list"]).await;
        assert!(listed.contains(&format!("by=user {} (ada@example.com)", ada.id)), "{listed}");
    }

    async fn what_is_in_force_already_is_not_made_again(engine: Engine) {
        let app = App::start(engine).await;
        let path = "/delivery/interventions";
        let own = intervene(&app, &json!({"kind": "PAUSE", "site": "a.example+b.example", "reason": "First."})).await;
        let again = json!({"kind": "PAUSE", "site": "b.example+a.example", "reason": "Second."});
        let again = app.post(path).json(&again).send().await.assert_status(201).json();
        assert_eq!((&again["id"], &again["reason"]), (&json!(own), &json!("First.")));
        let everybodys = by_command(&app, &["delivery", "pause", "--site", "a.example+b.example"]).await;
        assert_ne!(everybodys, own);
        assert_eq!(by_command(&app, &["delivery", "pause", "--site", "b.example+a.example"]).await, everybodys);
        assert_ne!(by_command(&app, &["delivery", "pause", "--domain", "a.example"]).await, everybodys);
        // what was accepted since the first is given up by the second
        let expire = json!({"kind": "EXPIRE", "domain": "one.example"});
        assert_ne!(intervene(&app, &expire).await, intervene(&app, &expire).await);
        app.delete(&format!("{path}/{own}")).send().await.assert_status(200);
        assert_ne!(intervene(&app, &json!({"kind": "PAUSE", "site": "a.example+b.example"})).await, own);
    }

    async fn what_has_ended_makes_room_at_once(engine: Engine) {
        let app = App::start(engine).await;
        let path = "/delivery/interventions";
        let mut made = Vec::new();
        for number in 0..20 {
            made.push(intervene(&app, &json!({"kind": "PAUSE", "domain": format!("d{number}.example")})).await);
        }
        let more = json!({"kind": "PAUSE", "domain": "more.example"});
        app.post(path).json(&more).send().await.assert_error(400, "BAD_REQUEST");
        app.delete(&format!("{path}/{}", made[0])).send().await.assert_status(200);
        intervene(&app, &more).await;
        assert_eq!(items(&read(&app, path).await).len(), 20);
    }

    async fn what_is_not_clear_is_refused(engine: Engine) {
        let app = App::start(engine).await;
        let answer = app.post("/delivery/interventions").json(&json!({
            "kind": "PAUSE", "domain": "-", "site": "", "reason": "a".repeat(501),
        })).send().await.assert_error(422, "VALIDATION_ERROR");
        for field in ["domain", "site", "reason"] {
            assert!(answer.to_string().contains(&format!("\"{field}\"")), "{answer}");
        }
        // people read it on terminals
        let acts = json!({"kind": "PAUSE", "site": "a\u{9b}2J.example", "reason": "a\u{1b}[2Jb"});
        let answer = app.post("/delivery/interventions").json(&acts).send().await.assert_error(422, "VALIDATION_ERROR");
        for field in ["site", "reason"] {
            assert!(answer.to_string().contains(&format!("\"{field}\"")), "{answer}");
        }
        for site in ["host.example  by=operator", "[192.0.2.1]", "192.0.2.1", "a.example-", "a.example..", "a+b+c+d",
            &"a.".repeat(128)] {
            let body = json!({"kind": "PAUSE", "site": site});
            let answer = app.post("/delivery/interventions").json(&body).send().await.assert_error(422, "VALIDATION_ERROR");
            assert!(items(&answer["errors"]).iter().any(|issue| issue["field"] == "site"), "{answer}");
            let output = app.try_run(&["delivery", "pause", "--site", site]).await;
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(!output.status.success() && said.contains("--site must be the name of a site"), "{said}");
        }
        let output = app.try_run(&["delivery", "pause", "--domain", "one.example", "--reason", "a\u{1b}[2Jb"]).await;
        assert!(!output.status.success() && output.stdout.is_empty(), "{output:?}");
        let both = json!({"kind": "PAUSE", "domain": "one.example", "site": "host.example"});
        app.post("/delivery/interventions").json(&both).send().await.assert_error(422, "VALIDATION_ERROR");
        app.post("/delivery/interventions").json(&json!({"kind": "REROUTE"})).send().await.assert_error(422, "VALIDATION_ERROR");
        let output = app.try_run(&["delivery", "pause", "--site", "host.example"]).await;
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.contains("No transport knows sites"), "{said}");
    }

    async fn sites_are_named_in_one_way_and_no_name_looks_like_more(engine: Engine) {
        let app = App::start(engine).await;
        let body = json!({"kind": "PAUSE", "site": "B.Example+A.example.+b.example", "reason": "x  by=operator"});
        let made = app.post("/delivery/interventions").json(&body).send().await.assert_status(201).json();
        assert_eq!(made["site"], "a.example+b.example");
        let id = by_command(&app, &["delivery", "pause", "--site", "Host.EXAMPLE."]).await;
        let listed = app.run(&["delivery", "list"]).await;
        assert!(listed.contains("  site=a.example+b.example  reason=\"x  by=operator\"  by=key "), "{listed}");
        assert!(listed.contains("  site=host.example  by=operator"), "{listed}");
        // what an earlier version took
        app.tamper("update interventions set site = 'x  by=operator' where site = 'host.example'").await;
        let listed = app.run(&["delivery", "list"]).await;
        let line = listed.lines().find(|line| line.starts_with(&id)).expect("a line");
        assert!(line.ends_with("  site=\"x  by=operator\"  by=operator"), "{line}");
    }
}
