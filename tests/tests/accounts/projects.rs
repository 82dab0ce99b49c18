//! Projects of the signed-in user: settings, keys, reset, deletion, health.

use mailwright_testkit::smtp::{Answer, ScriptedServer};
use mailwright_testkit::{App, Engine, OWNER, both_engines};
use mailwright_tests::browser::Browser;
use mailwright_tests::{
    assert_only_keys, column, create_contact, create_template, issues, items, read, send_ok, text, track_ok,
};
use serde_json::{Value, json};
use std::time::Duration;

const SHAPE: &[&str] = &[
    "id",
    "name",
    "public",
    "secret",
    "disabled",
    "tracking",
    "language",
    "sendingPerSecond",
    "publicKeyMayResubscribe",
    "createdAt",
    "updatedAt",
];

async fn owner(app: &App) -> Browser {
    Browser::log_in(app, OWNER.0, OWNER.1).await
}

async fn mine(app: &App, user: &Browser) -> Value {
    user.request(app, "GET", "/users/@me/projects").send().await.assert_status(200).json()
}

fn mine_path(app: &App, rest: &str) -> String {
    format!("/users/@me/projects/{}{rest}", app.project_id())
}

both_engines! {
    async fn a_new_project_has_keys_that_work_and_are_shown_once(engine: Engine) {
        let app = App::start(engine).await;
        let ada = Browser::sign_up(&app, "ada@example.com").await;
        assert_eq!(mine(&app, &ada).await, json!([]));
        let made = ada.create_project(&app, "  Rockets & Söhne ").await;
        assert_only_keys(&made, &[SHAPE, &["role"]].concat());
        assert_eq!((&made["name"], &made["role"]), (&json!("Rockets & Söhne"), &json!("OWNER")));
        app.request("GET", "/contacts").bearer(text(&made["secret"])).send().await.assert_status(200);
        let event = json!({"email": "a@example.com", "event": "signup"});
        app.request("POST", "/v1/track").bearer(text(&made["public"])).json(&event).send().await.assert_status(200);

        let list = mine(&app, &ada).await;
        assert_eq!(items(&list).len(), 1);
        assert_eq!((&list[0]["secret"], &list[0]["public"]), (&json!(null), &made["public"]));
        for name in ["", "  ", "a\nb", "a\u{200b}b", &"x".repeat(101)] {
            let refused = ada.request(&app, "POST", "/users/@me/projects").json(&json!({"name": name}));
            assert_eq!(issues(&refused.send().await)[0].0, "name", "{name:?}");
        }
    }

    async fn settings_are_changed_one_by_one(engine: Engine) {
        let app = App::start(engine).await;
        let owner = owner(&app).await;
        let patch = |body: Value| owner.request(&app, "PATCH", &mine_path(&app, "")).json(&body).send();
        let changed = patch(json!({"name": "Apollo"})).await.assert_status(200).json();
        assert_only_keys(&changed, SHAPE);
        assert_eq!((&changed["name"], &changed["tracking"], &changed["language"]), (&json!("Apollo"), &json!("ENABLED"), &json!("en")));
        let changed = patch(json!({"tracking": "MARKETING_ONLY", "language": "pt-BR"})).await.assert_status(200).json();
        assert_eq!((&changed["name"], &changed["tracking"], &changed["language"]), (&json!("Apollo"), &json!("MARKETING_ONLY"), &json!("pt-BR")));
        let refused = patch(json!({"name": "", "tracking": "SOME", "language": "english"})).await;
        let mut found = issues(&refused);
        found.sort();
        assert_eq!(found.iter().map(|(field, _)| field.as_str()).collect::<Vec<_>>(), ["language", "name", "tracking"]);
        assert_eq!(mine(&app, &owner).await[0]["language"], "pt-BR");
    }

    async fn a_project_slows_itself_down(engine: Engine) {
        const MAILS: usize = 8;
        let server = ScriptedServer::start(|_, _| Answer::Accept).await;
        let app = App::builder(engine).smtp(server.port).start().await;
        let owner = owner(&app).await;
        let patch = |rate: Value| {
            owner.request(&app, "PATCH", &mine_path(&app, "")).json(&json!({"sendingPerSecond": rate})).send()
        };
        assert_eq!(mine(&app, &owner).await[0]["sendingPerSecond"], json!(null));
        for (wrong, code) in [(json!(0), "too_small"), (json!(-1), "too_small"), (json!(100_001), "too_big")] {
            assert_eq!(issues(&patch(wrong).await), [("sendingPerSecond".to_owned(), code.to_owned())]);
        }
        assert_eq!(issues(&patch(json!("2")).await)[0].0, "sendingPerSecond");
        assert_eq!(patch(json!(2)).await.assert_status(200).json()["sendingPerSecond"], 2);
        // the same number, as other programs write it
        assert_eq!(patch(json!(2.0)).await.assert_status(200).json()["sendingPerSecond"], 2);
        // another setting leaves it as it is
        let renamed = owner.request(&app, "PATCH", &mine_path(&app, "")).json(&json!({"name": "Apollo"})).send().await;
        assert_eq!(renamed.assert_status(200).json()["sendingPerSecond"], 2);

        let to: Vec<String> = (0..MAILS).map(|n| format!("a{n}@example.com")).collect();
        send_ok(&app, json!({"to": to, "subject": "s", "body": "b", "from": app.from()})).await;
        let received = app
            .eventually("all mails", async || (server.received().len() == MAILS).then(|| server.received()))
            .await;
        // two may leave at once, the others leave two a second
        let took = received[MAILS - 1].at - received[0].at;
        assert!(took >= Duration::from_millis(2400), "{MAILS} mails took {took:?}");

        assert_eq!(patch(json!(null)).await.assert_status(200).json()["sendingPerSecond"], json!(null));
        let audit = owner.audit(&app, app.project_id()).await;
        assert_eq!(audit[0]["details"], json!({"sendingPerSecond": null}));
        assert_eq!(audit[1]["details"], json!({"name": "Apollo"}));
    }

    async fn a_user_owns_as_many_projects_as_the_setting_says(engine: Engine) {
        let app = App::builder(engine).env("MAILWRIGHT_PROJECTS_PER_USER", "3").start().await;
        let ada = Browser::sign_up(&app, "ada@example.com").await;
        let post = |n: usize| {
            let body = json!({"name": format!("P{n}")});
            ada.request(&app, "POST", "/users/@me/projects").json(&body).send()
        };
        // also when they are asked for at once
        let answers = futures_util::future::join_all((0..6).map(post)).await;
        let mut statuses: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
        statuses.sort_unstable();
        assert_eq!(statuses, [201, 201, 201, 409, 409, 409]);
        let refused = post(7).await;
        let error = refused.assert_error(409, "CONFLICT");
        assert!(text(&error["message"]).contains("projects_per_user"), "{error}");
    }

    async fn without_a_limit_projects_are_listed_in_pages(engine: Engine) {
        let app = App::builder(engine).env("MAILWRIGHT_PROJECTS_PER_USER", "0").start().await;
        let ada = Browser::sign_up(&app, "ada@example.com").await;
        for n in 0..102 {
            ada.create_project(&app, &format!("P{n}")).await;
        }
        let list = async |query: &str| {
            let path = format!("/users/@me/projects{query}");
            ada.request(&app, "GET", &path).send().await.assert_status(200).json()
        };
        let all = list("").await;
        let names = column(&all, "name");
        assert_eq!((names.len(), names[101]), (102, "P101"));
        assert_eq!(column(&list("?page=2&pageSize=50").await, "name"), names[50..100]);
        assert_eq!(column(&list("?page=3&pageSize=50").await, "name"), names[100..]);
        assert_eq!(list("?page=9&pageSize=50").await, json!([]));
    }

    async fn a_public_key_subscribes_again_where_the_project_lets_it(engine: Engine) {
        let app = App::start(engine).await;
        let owner = owner(&app).await;
        let left = create_contact(&app, "left@example.com", false, json!({})).await;
        let path = format!("/contacts/{}", text(&left["id"]));
        let track = async |key: &str, email: &str, subscribed: bool| {
            let body = json!({"email": email, "event": "signup", "subscribed": subscribed});
            app.request("POST", "/v1/track").bearer(key).json(&body).send().await.assert_status(200);
        };
        let subscribed = async |path: &str| read(&app, path).await["subscribed"] == true;
        let (public, secret) = (app.public_key(), app.secret_key());
        let patch = |value: bool| {
            let body = json!({"publicKeyMayResubscribe": value});
            owner.request(&app, "PATCH", &mine_path(&app, "")).json(&body).send()
        };
        // as the contract says
        assert_eq!(mine(&app, &owner).await[0]["publicKeyMayResubscribe"], true);
        track(public, "left@example.com", true).await;
        assert!(subscribed(&path).await);

        assert_eq!(patch(false).await.assert_status(200).json()["publicKeyMayResubscribe"], false);
        track(public, "left@example.com", false).await;
        assert!(!subscribed(&path).await, "out is always possible");
        track(public, "left@example.com", true).await;
        assert!(!subscribed(&path).await, "the very next request is refused it");
        track(public, "new@example.com", true).await;
        let new = mailwright_tests::contact_by_email(&app, "new@example.com").await.expect("a contact");
        assert_eq!(new["subscribed"], true, "who is new is subscribed");
        track(secret, "left@example.com", true).await;
        assert!(subscribed(&path).await, "a secret key is the project itself");
        // the setting outlives a reset
        owner.request(&app, "POST", &mine_path(&app, "/reset")).send().await.assert_status(200);
        assert_eq!(mine(&app, &owner).await[0]["publicKeyMayResubscribe"], false);
    }

    async fn a_name_is_no_link(engine: Engine) {
        let app = App::start(engine).await;
        let owner = owner(&app).await;
        for name in ["Pay at http://evil.example/login", "www.evil.example", "evil.example/login"] {
            let body = json!({"name": name});
            let made = owner.request(&app, "POST", "/users/@me/projects").json(&body).send().await;
            made.assert_issue("name", "invalid_string");
            let renamed = owner.request(&app, "PATCH", &mine_path(&app, "")).json(&body).send().await;
            renamed.assert_issue("name", "invalid_string");
        }
        owner.create_project(&app, "acme.com").await;
    }

    async fn regenerated_keys_replace_the_old_ones_at_once(engine: Engine) {
        let app = App::start(engine).await;
        let owner = owner(&app).await;
        let named = owner.create_key(&app, app.project_id(), "CI", &["everything"]).await;
        // both are remembered now
        app.send_to("ada@example.com").await;
        track_ok(&app, json!({"email": "ada@example.com", "event": "signup"})).await;

        let answer = owner.request(&app, "POST", &mine_path(&app, "/regenerate-keys")).send().await;
        let made = answer.assert_status(200).json();
        assert_only_keys(&made, &[SHAPE, &["withdrawnInvitations"]].concat());
        app.get("/contacts").send().await.assert_error(401, "INVALID_API_KEY");
        let send = json!({"to": "a@example.com", "subject": "s", "body": "b", "from": app.from()});
        app.send(send.clone()).await.assert_error(401, "INVALID_API_KEY");
        app.track(json!({"email": "a@example.com", "event": "x"})).await.assert_error(401, "INVALID_API_KEY");
        let new = |key: &Value| app.request("POST", "/v1/send").bearer(text(key)).json(&send).send();
        new(&made["secret"]).await.assert_status(200);
        new(&named["key"]).await.assert_status(200);
        let event = json!({"email": "a@example.com", "event": "x"});
        app.request("POST", "/v1/track").bearer(text(&made["public"])).json(&event).send().await.assert_status(200);
    }

    async fn a_reset_wipes_the_work_and_keeps_what_surrounds_it(engine: Engine) {
        let app = App::start(engine).await;
        let owner = owner(&app).await;
        let member = Browser::sign_up(&app, "member@example.com").await;
        owner.add_member(&app, app.project_id(), &member, "MEMBER").await;
        let neighbour = app.bootstrap("Neighbour", "neighbour.test").await;
        let theirs = json!({"email": "kept@example.com"});
        app.request("POST", "/contacts").bearer(&neighbour.secret_key).json(&theirs).send().await.assert_status(201);
        create_contact(&app, "unforgettable@example.com", true, json!({"plan": "unforgettable-plan"})).await;
        create_template(&app, &json!({"body": "<p>unforgettable-body</p>"})).await;
        track_ok(&app, json!({"email": "unforgettable@example.com", "event": "unforgettable-event"})).await;
        app.send_to("unforgettable@example.com").await;
        app.eventually("it is sent", async || {
            (!app.mailbox_for("unforgettable@example.com").await.is_empty()).then_some(())
        })
        .await;

        owner.request(&app, "POST", &mine_path(&app, "/reset")).send().await.assert_status(200);
        // all of it is out of sight at once
        for path in ["/contacts", "/emails", "/mailbox", "/templates"] {
            let page = read(&app, path).await;
            assert_eq!((&page["data"], &page["total"]), (&json!([]), &json!(0)), "{path}");
        }
        assert_eq!(read(&app, "/events").await["events"], json!([]));
        assert_eq!(read(&app, "/events/names").await["eventNames"], json!([]));
        let fields = read(&app, "/contacts/fields").await;
        assert!(!fields.to_string().contains("plan"), "{fields}");

        // and what surrounds it is there: members, keys, domains, the audit log; work goes on at once
        let domains = read(&app, &format!("/domains/project/{}", app.project_id())).await;
        assert_eq!((&domains[0]["domain"], &domains[0]["verified"]), (&json!(app.domain()), &json!(true)));
        member.in_project(&app, app.project_id(), "GET", "/contacts").send().await.assert_status(200);
        track_ok(&app, json!({"email": "new@example.com", "event": "signup"})).await;
        app.send_to("new@example.com").await;
        assert_eq!(read(&app, "/contacts").await["total"], 1);
        app.eventually("mail is sent", async || {
            (!app.mailbox_for("new@example.com").await.is_empty()).then_some(())
        })
        .await;
        let kept = app.request("GET", "/contacts").bearer(&neighbour.secret_key).send().await.json();
        assert_eq!(column(&kept["data"], "email"), ["kept@example.com"]);

        // the rows go by themselves, whatever is looked for
        if engine == Engine::Postgres {
            app.eventually("the rows are gone", async || {
                let stored = String::from_utf8_lossy(&app.stored().await).into_owned();
                (!stored.contains("unforgettable")).then_some(())
            })
            .await;
        }
        let actions: Vec<String> = app
            .eventually("the audit log is moved", async || {
                let audit = owner.audit(&app, app.project_id()).await;
                let actions: Vec<_> = audit.iter().map(|entry| text(&entry["action"]).to_owned()).collect();
                actions.contains(&"member.added".to_owned()).then_some(actions)
            })
            .await;
        assert_eq!(actions[0], "project.reset");
    }

    async fn a_reset_is_finished_after_a_crash(engine: Engine) {
        let mut app = App::start(engine).await;
        let owner = owner(&app).await;
        for batch in 0..10 {
            futures_util::future::join_all((0..30).map(|n| {
                let event = json!({"email": format!("c{batch}x{n}@example.com"), "event": "signup"});
                app.track(event)
            }))
            .await;
        }
        owner.request(&app, "POST", &mine_path(&app, "/reset")).send().await.assert_status(200);
        app.kill();
        app.restart().await;
        assert_eq!(read(&app, "/contacts").await["total"], 0);
        track_ok(&app, json!({"email": "new@example.com", "event": "signup"})).await;
        if engine == Engine::Postgres {
            app.eventually("the rows are gone", async || {
                let stored = String::from_utf8_lossy(&app.stored().await).into_owned();
                (!stored.contains("c9x29@example.com") && stored.contains("new@example.com")).then_some(())
            })
            .await;
        }
        assert_eq!(column(&read(&app, "/contacts").await["data"], "email"), ["new@example.com"]);
    }

    async fn of_two_resets_at_once_one_is_done(engine: Engine) {
        let app = App::start(engine).await;
        let owner = owner(&app).await;
        let path = mine_path(&app, "/reset");
        let reset = || owner.request(&app, "POST", &path).send();
        let (one, two, three) = tokio::join!(reset(), reset(), reset());
        for answer in [&one, &two, &three] {
            assert!(matches!(answer.status, 200 | 404), "{}", answer.text());
        }
        assert!([one.status, two.status, three.status].contains(&200));
        app.send_to("ada@example.com").await;
        assert_eq!(items(&mine(&app, &owner).await).len(), 1);
        let domains = read(&app, &format!("/domains/project/{}", app.project_id())).await;
        assert_eq!(items(&domains).len(), 1);
    }

    async fn a_deleted_project_is_gone_with_its_keys(engine: Engine) {
        let app = App::start(engine).await;
        let owner = owner(&app).await;
        let member = Browser::sign_up(&app, "member@example.com").await;
        owner.add_member(&app, app.project_id(), &member, "ADMIN").await;
        let contact = create_contact(&app, "ada@example.com", true, json!({})).await;
        app.send_to("ada@example.com").await;
        member.request(&app, "DELETE", &mine_path(&app, "")).send().await.assert_status(200);
        app.get("/contacts").send().await.assert_error(401, "INVALID_API_KEY");
        app.track(json!({"email": "a@example.com", "event": "x"})).await.assert_error(401, "INVALID_API_KEY");
        assert_eq!(mine(&app, &owner).await, json!([]));
        owner.in_project(&app, app.project_id(), "GET", "/contacts").send().await.assert_error(403, "PROJECT_ACCESS_DENIED");
        owner.request(&app, "DELETE", &mine_path(&app, "")).send().await.assert_error(404, "RESOURCE_NOT_FOUND");
        // who did it stays, for the operator alone
        let trail = app.run(&["project", "audit", app.project_id()]).await;
        let words = [format!("user {} (member@example.com) project.deleted", member.id), "\"name\":\"Acme\"".to_owned()];
        assert!(words.iter().all(|word| trail.contains(word)) && trail.lines().count() == 1, "{trail}");
        let logged = app.log();
        let line = logged.lines().find(|line| line.contains("a project was deleted")).expect("it is logged");
        assert!(line.contains(&member.id) && line.contains(app.project_id()) && !line.contains("member@"), "{line}");
        let public = format!("/contacts/public/{}", text(&contact["id"]));
        app.request("GET", &public).send().await.assert_status(404);
        if engine == Engine::Postgres {
            app.eventually("the rows are gone", async || {
                let stored = String::from_utf8_lossy(&app.stored().await).into_owned();
                (!stored.contains("ada@example.com")).then_some(())
            })
            .await;
        }
    }

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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_resets_and_deletions_count_on_every_node_at_once() {
    let one = App::start(Engine::Postgres).await;
    let two = one.second_node().await;
    let owner = owner(&one).await;
    // the other node remembers both keys
    two.send_to("ada@example.com").await;
    track_ok(&two, json!({"email": "ada@example.com", "event": "signup"})).await;
    let made = owner.request(&one, "POST", &mine_path(&one, "/regenerate-keys")).send().await;
    let made = made.assert_status(200).json();
    let send = json!({"to": "a@example.com", "subject": "s", "body": "b", "from": one.from()});
    two.send(send.clone()).await.assert_error(401, "INVALID_API_KEY");
    two.track(json!({"email": "a@example.com", "event": "x"})).await.assert_error(401, "INVALID_API_KEY");
    two.get("/contacts").send().await.assert_error(401, "INVALID_API_KEY");

    let send = || two.request("POST", "/v1/send").bearer(text(&made["secret"])).json(&send).send();
    send().await.assert_status(200);
    owner.request(&one, "POST", &mine_path(&one, "/reset")).send().await.assert_status(200);
    // what the other node remembers is the project before the reset: it looks again, and nothing is written there
    send().await.assert_status(200);
    let contacts = async || {
        let page = two.request("GET", "/contacts").bearer(text(&made["secret"])).send().await.json();
        let mut found: Vec<String> = column(&page["data"], "email").into_iter().map(str::to_owned).collect();
        found.sort();
        found
    };
    assert_eq!(contacts().await, ["a@example.com"]);
    let track = |email: &str| {
        let event = json!({"email": email, "event": "signup"});
        two.request("POST", "/v1/track").bearer(text(&made["public"])).json(&event).send()
    };
    let record = |email: &str| {
        let event = json!({"email": email, "event": "signup"});
        two.request("POST", "/events/track").bearer(text(&made["secret"])).json(&event).send()
    };
    track("b@example.com").await.assert_status(200);
    record("c@example.com").await.assert_status(201);
    let keyed = |email: &str| {
        let event = json!({"email": email, "event": "signup"});
        let request = two.request("POST", "/v1/track").bearer(text(&made["public"])).json(&event);
        request.header("idempotency-key", "one").send()
    };
    keyed("d@example.com").await.assert_status(200);
    keyed("d@example.com").await.assert_error(409, "IDEMPOTENCY_KEY_REUSED");
    owner.request(&one, "POST", &mine_path(&one, "/reset")).send().await.assert_status(200);
    // the key was used for what is gone
    keyed("d@example.com").await.assert_status(200);
    track("e@example.com").await.assert_status(200);
    owner.request(&one, "POST", &mine_path(&one, "/reset")).send().await.assert_status(200);
    record("f@example.com").await.assert_status(201);
    assert_eq!(contacts().await, ["f@example.com"]);

    owner.request(&one, "DELETE", &mine_path(&one, "")).send().await.assert_status(200);
    send().await.assert_error(401, "INVALID_API_KEY");
}
