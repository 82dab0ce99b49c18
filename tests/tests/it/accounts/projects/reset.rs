//! The reset and the deletion of a project.

use mailwright_testkit::{App, Engine, both_engines};
use mailwright_tests::browser::Browser;
use mailwright_tests::{
    column, create_contact, create_template, early_in_a_minute, items, read, text, track_ok,
};
use serde_json::json;

use super::{mine, mine_path, owner};

both_engines! {
    async fn a_reset_removes_the_work_and_keeps_what_surrounds_it(engine: Engine) {
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

    async fn a_reset_is_no_new_allowance(engine: Engine) {
        let app = App::builder(engine).env("MAILWRIGHT_RATE_LIMIT_PER_MINUTE", "20").start().await;
        let owner = owner(&app).await;
        early_in_a_minute(&app).await;
        while app.get("/contacts").send().await.status == 200 {}
        owner.request(&app, "POST", &mine_path(&app, "/reset")).send().await.assert_status(200);
        app.get("/contacts").send().await.assert_error(429, "RATE_LIMIT_EXCEEDED");
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
}
