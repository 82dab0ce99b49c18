//! New projects: their keys and names, how many a user has, and the list of them.

use mailwright_testkit::{App, Engine, both_engines};
use mailwright_tests::browser::Browser;
use mailwright_tests::{assert_only_keys, column, issues, items, text};
use serde_json::json;

use super::{SHAPE, mine, mine_path, owner};

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

    async fn a_project_that_is_taken_over_counts_as_one(engine: Engine) {
        let app = App::builder(engine).env("MAILWRIGHT_PROJECTS_PER_USER", "2").start().await;
        let (ada, grace) = (owner(&app).await, Browser::sign_up(&app, "grace@example.com").await);
        let offered = async |project: &str| {
            ada.add_member(&app, project, &grace, "ADMIN").await;
            let path = format!("/projects/{project}/members/{}", grace.id);
            ada.request(&app, "PATCH", &path).json(&json!({"role": "OWNER"})).send().await.assert_status(202);
            path
        };
        let take = |path: &str| grace.request(&app, "PATCH", path).json(&json!({"role": "OWNER"})).send();
        let (first, second) =
            (offered(app.project_id()).await, offered(text(&ada.create_project(&app, "P").await["id"])).await);
        grace.create_project(&app, "Q").await;
        take(&first).await.assert_status(200);
        let refused = take(&second).await;
        let error = refused.assert_error(409, "CONFLICT");
        assert!(text(&error["message"]).contains("projects_per_user"), "{error}");
        // who owns a project that is disabled gets no other one
        app.tamper("delete from memberships where role = 'OWNER' and project_id in (select number from projects where name = 'Q')")
            .await;
        app.tamper("update projects set disabled_at = 1 where name <> 'P'").await;
        take(&second).await.assert_error(403, "PROJECT_DISABLED");
        app.tamper("update projects set disabled_at = null").await;
        take(&second).await.assert_status(200);
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
}
