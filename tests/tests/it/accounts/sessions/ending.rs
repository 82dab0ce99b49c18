//! How sessions end, and when the password is asked for again.

use std::time::Duration;

use futures_util::future::join_all;
use mailwright_testkit::{App, Engine, OWNER, both_engines};
use mailwright_tests::browser::{Browser, PASSWORD, cookie, try_log_in};
use mailwright_tests::{assert_only_keys, assert_timestamp, required_header, text};
use serde_json::{Value, json};

use super::{NEW_PASSWORD, change_password, me};

both_engines! {
    async fn logging_out_ends_the_session_itself(engine: Engine) {
        let app = App::start(engine).await;
        let ada = Browser::sign_up(&app, "ada@example.com").await;
        let other = Browser::log_in(&app, "ada@example.com", PASSWORD).await;
        // a picture that somebody put into a mail or a template is no wish to leave
        let picture = ada.request(&app, "GET", "/auth/logout").header("sec-fetch-dest", "image");
        picture.send().await.assert_error(403, "FORBIDDEN");
        assert_eq!(me(&app, &ada).await, 200);
        let answer = ada.request(&app, "GET", "/auth/logout").send().await.assert_status(200);
        assert_eq!(answer.json(), json!(true));
        let set = required_header(&answer, "set-cookie");
        assert!(set.starts_with("mailwright_session=;") && set.contains("Max-Age=0"), "{set}");
        // the cookie that somebody copied is worth nothing
        ada.request(&app, "GET", "/users/@me").send().await.assert_error(401, "UNAUTHORIZED");
        ada.in_project(&app, app.project_id(), "GET", "/contacts").send().await.assert_error(401, "UNAUTHORIZED");
        assert_eq!(me(&app, &other).await, 200, "another session goes on");
        assert_eq!(app.request("GET", "/auth/logout").send().await.assert_status(200).json(), json!(true));
    }

    async fn a_stolen_cookie_dies_with_the_password(engine: Engine) {
        let app = App::start(engine).await;
        let ada = Browser::sign_up(&app, "ada@example.com").await;
        let stolen = Browser::log_in(&app, "ada@example.com", PASSWORD).await;
        let project = text(&ada.create_project(&app, "Rockets").await["id"]).to_owned();
        stolen.in_project(&app, &project, "GET", "/contacts").send().await.assert_status(200);

        assert_eq!(change_password(&app, &ada, "not it", NEW_PASSWORD).await, 401);
        assert_eq!(me(&app, &stolen).await, 200, "a wrong current password changes nothing");
        assert_eq!(change_password(&app, &ada, PASSWORD, NEW_PASSWORD).await, 200);
        stolen.request(&app, "GET", "/users/@me").send().await.assert_error(401, "UNAUTHORIZED");
        stolen.in_project(&app, &project, "GET", "/contacts").send().await.assert_error(401, "UNAUTHORIZED");
        assert_eq!(me(&app, &ada).await, 200, "the session that changed it goes on");
        try_log_in(&app, "ada@example.com", PASSWORD).await.assert_error(401, "INVALID_CREDENTIALS");
        Browser::log_in(&app, "ada@example.com", NEW_PASSWORD).await;
    }

    async fn sessions_are_listed_and_ended_one_by_one(engine: Engine) {
        let app = App::start(engine).await;
        let ada = Browser::sign_up(&app, "ada@example.com").await;
        let phone = Browser::log_in(&app, "ada@example.com", PASSWORD).await;
        let eve = Browser::sign_up(&app, "eve@example.com").await;
        let agent = "Mozilla/5.0 (Phone) <b>";
        phone.request(&app, "GET", "/users/@me").header("user-agent", agent).send().await.assert_status(200);
        let list = async |user: &Browser| {
            user.request(&app, "GET", "/users/@me/sessions").send().await.assert_status(200).json()
        };
        let listed = app
            .eventually("the use is noted", async || {
                let listed = list(&ada).await;
                (listed[0]["client"] == agent && !listed[1]["lastUsedAt"].is_null()).then_some(listed)
            })
            .await;
        assert_eq!(mailwright_tests::items(&listed).len(), 2, "{listed}");
        assert_only_keys(&listed[0], &["id", "client", "current", "createdAt", "lastUsedAt", "expiresAt"]);
        assert_eq!((&listed[0]["current"], &listed[1]["current"]), (&json!(false), &json!(true)));
        for key in ["createdAt", "lastUsedAt", "expiresAt"] {
            assert_timestamp(&listed[0][key]);
        }
        let path = format!("/users/@me/sessions/{}", text(&listed[0]["id"]));
        // another's session is not found, nor is what is no session
        eve.request(&app, "DELETE", &path).send().await.assert_error(404, "RESOURCE_NOT_FOUND");
        ada.request(&app, "DELETE", "/users/@me/sessions/x").send().await.assert_error(404, "RESOURCE_NOT_FOUND");
        assert_eq!(me(&app, &phone).await, 200);
        ada.request(&app, "DELETE", &path).send().await.assert_status(200);
        assert_eq!((me(&app, &phone).await, me(&app, &ada).await), (401, 200));
        ada.request(&app, "DELETE", &path).send().await.assert_error(404, "RESOURCE_NOT_FOUND");
        assert_eq!(mailwright_tests::items(&list(&ada).await).len(), 1);
    }

    async fn what_cannot_be_undone_takes_the_password_after_a_while(engine: Engine) {
        let app = App::start(engine).await;
        let owner = Browser::log_in(&app, OWNER.0, OWNER.1).await;
        let mine = format!("/users/@me/projects/{}", app.project_id());
        let later = Duration::from_mins(10);
        app.advance(later).await;
        for (method, path) in [
            ("POST", format!("{mine}/regenerate-keys")),
            ("POST", format!("{mine}/reset")),
            ("DELETE", mine.clone()),
            ("DELETE", "/users/@me".to_owned()),
        ] {
            let ask = |body: Value| owner.request(&app, method, &path).json(&body).send();
            owner.request(&app, method, &path).send().await.assert_error(403, "PASSWORD_REQUIRED");
            ask(json!({})).await.assert_error(403, "PASSWORD_REQUIRED");
            ask(json!({"password": "a wrong password"})).await.assert_error(401, "INVALID_CREDENTIALS");
            ask(json!({"password": OWNER.1})).await.assert_status(200);
        }
        // who has just signed in needs nothing, and nobody learns of a project by being asked
        let ada = Browser::sign_up(&app, "ada@example.com").await;
        ada.request(&app, "DELETE", &mine).send().await.assert_error(404, "RESOURCE_NOT_FOUND");
        app.advance(later).await;
        ada.request(&app, "DELETE", &mine).send().await.assert_error(404, "RESOURCE_NOT_FOUND");
        let ada = Browser::log_in(&app, "ada@example.com", PASSWORD).await;
        let delete = || ada.request(&app, "DELETE", "/users/@me");
        // but what is given is checked
        for (body, status) in
            [("garbage{", 400), ("[]", 422), (r#"{"password":["x"]}"#, 422), (r#"{"password":"a wrong one"}"#, 401)]
        {
            delete().body(body, "application/json").send().await.assert_status(status);
        }
        delete().send().await.assert_status(200);
    }

    async fn no_session_outlives_the_password_that_it_began_with(engine: Engine) {
        let app = App::start(engine).await;
        let mut owner = Browser::sign_up(&app, "ada@example.com").await;
        let mut password = PASSWORD.to_owned();
        for round in 0..4 {
            let new = format!("another horse battery {round}");
            // somebody who knows the password signs in again and again until it is another
            let sign_in = async || {
                let mut sessions = Vec::new();
                loop {
                    let answer = try_log_in(&app, "ada@example.com", &password).await;
                    if answer.status != 200 {
                        return sessions;
                    }
                    sessions.push(Browser::of(&answer));
                }
            };
            let change = json!({"currentPassword": password, "newPassword": new});
            let change = owner.request(&app, "POST", "/users/@me/password").json(&change).send();
            let (found, changed) = tokio::join!(join_all((0..6).map(|_| sign_in())), change);
            changed.assert_status(200);
            for session in found.into_iter().flatten() {
                assert_eq!(me(&app, &session).await, 401, "round {round}");
            }
            password = new;
            owner = Browser::log_in(&app, "ada@example.com", &password).await;
        }
    }

    async fn the_operator_resets_a_password(engine: Engine) {
        let app = App::start(engine).await;
        let ada = Browser::sign_up(&app, "ada@example.com").await;
        let printed = app.run(&["user", "reset-password", "Ada@example.com"]).await;
        let made = printed.split_whitespace().find(|word| word.len() == 24).expect("a password");
        assert_eq!(me(&app, &ada).await, 401, "its sessions ended");
        Browser::log_in(&app, "ada@example.com", made).await;
        let given = "a password from a file\n";
        let printed = app.run_with_input(&["user", "reset-password", "ada@example.com", "--stdin"], given).await;
        assert!(!printed.contains(given.trim()), "{printed}");
        Browser::log_in(&app, "ada@example.com", given.trim()).await;
    }

    async fn a_session_ends_by_itself(engine: Engine) {
        let app = App::start(engine).await;
        let ada = Browser::sign_up(&app, "ada@example.com").await;
        app.advance(Duration::from_hours(7 * 24) - Duration::from_mins(1)).await;
        assert_eq!(me(&app, &ada).await, 200);
        app.advance(Duration::from_mins(1)).await;
        ada.request(&app, "GET", "/users/@me").send().await.assert_error(401, "UNAUTHORIZED");
    }

    async fn a_session_outlives_a_restart(engine: Engine) {
        let mut app = App::start(engine).await;
        let answer = try_log_in(&app, OWNER.0, OWNER.1).await.assert_status(200);
        assert!(cookie(&answer).starts_with("mailwright_session="));
        let owner = Browser::of(&answer);
        app.stop().await;
        app.restart().await;
        assert_eq!(me(&app, &owner).await, 200);
        app.stop().await;
        let another = [("MAILWRIGHT_SECRET", "another secret of this instance")];
        app.restart_as(&["--lost-secret"], &another).await;
        assert_eq!(me(&app, &owner).await, 401, "with another secret it was signed by a stranger");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_ends_on_every_node_at_once() {
    let one = App::start(Engine::Postgres).await;
    let two = one.second_node().await;
    let ada = Browser::sign_up(&one, "ada@example.com").await;
    let other = Browser::log_in(&two, "ada@example.com", PASSWORD).await;
    for node in [&one, &two] {
        assert_eq!((me(node, &ada).await, me(node, &other).await), (200, 200));
    }
    assert_eq!(change_password(&one, &ada, PASSWORD, NEW_PASSWORD).await, 200);
    assert_eq!((me(&two, &ada).await, me(&two, &other).await), (200, 401));
    ada.request(&two, "GET", "/auth/logout").send().await.assert_status(200);
    assert_eq!(me(&one, &ada).await, 401);
}
