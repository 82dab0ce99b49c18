//! What the operator's commands take for granted, and what they do not: names and addresses are free to take.

use mailwright_testkit::{App, Engine, OWNER, both_engines};
use mailwright_tests::browser::{Browser, PASSWORD, try_log_in};
use mailwright_tests::{column, items, text};
use serde_json::{Value, json};

const OPERATOR: (&str, &str) = ("ops@acme.example", "a long password of the operator");

fn command<'a>(
    (email, password): (&'a str, &'a str),
    project: &'a str,
    domain: &'a str,
    more: &[&'a str],
) -> Vec<&'a str> {
    let command = [
        "bootstrap",
        "--email",
        email,
        "--password",
        password,
        "--project",
        project,
        "--domain",
        domain,
        "--json",
    ];
    [&command[..], more].concat()
}

async fn bootstrap(app: &App, who: (&str, &str), project: &str, domain: &str, more: &[&str]) -> Value {
    let printed = app.run(&command(who, project, domain, more)).await;
    serde_json::from_str(printed.trim()).unwrap_or_else(|error| panic!("no JSON ({error}): {printed}"))
}

/// A command that fails; what it says.
async fn refused(app: &App, arguments: &[&str]) -> String {
    let output = app.try_run(arguments).await;
    let said =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(!output.status.success(), "{arguments:?} succeeds: {said}");
    said
}

async fn projects(app: &App, user: &Browser) -> Value {
    user.request(app, "GET", "/users/@me/projects").send().await.assert_status(200).json()
}

both_engines! {
    async fn a_project_that_a_stranger_named_first_is_not_taken_for_the_operators(engine: Engine) {
        let app = App::start(engine).await;
        let mal = Browser::sign_up(&app, "mal@evil.example").await;
        let bait = mal.create_project(&app, "Acme Shop").await;
        let bait_id = text(&bait["id"]);
        let domain = json!({"domain": "acme.example"});
        let in_bait = |method: &str, path: &str| mal.in_project(&app, bait_id, method, path);
        in_bait("POST", "/domains").json(&domain).send().await.assert_status(201);

        let made = bootstrap(&app, OPERATOR, "Acme Shop", "acme.example", &[]).await;
        let id = text(&made["projectId"]);
        assert_ne!(id, bait_id);
        assert!(made["secretKey"].is_string() && made["publicKey"] != bait["public"], "{made}");
        // the stranger's has neither the operator in it nor the operator's word for a domain
        let members = mal.request(&app, "GET", &format!("/projects/{bait_id}/members")).send().await;
        assert_eq!(column(&members.assert_status(200).json(), "email"), ["mal@evil.example"]);
        assert_eq!(items(&projects(&app, &mal).await).len(), 1);
        in_bait("GET", "/contacts").header("x-project-id", id).send().await.assert_status(403);
        // done twice it is the same project, whatever strangers do and whatever it is called by now
        mal.create_project(&app, "Acme Shop").await;
        let ops = Browser::log_in(&app, OPERATOR.0, OPERATOR.1).await;
        let rename = ops.request(&app, "PATCH", &format!("/users/@me/projects/{id}"));
        rename.json(&json!({"name": "Acme"})).send().await.assert_status(200);
        let again = bootstrap(&app, OPERATOR, "Acme Shop", "acme.example", &[]).await;
        assert_eq!((&again["projectId"], &again["secretKey"]), (&made["projectId"], &Value::Null));
        assert_eq!(items(&projects(&app, &ops).await).len(), 1);

        // contacts go nowhere while a name leaves a doubt
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("customers.csv");
        std::fs::write(&file, "email\ncustomer@example.com\n").expect("a file");
        let file = file.to_str().expect("UTF-8");
        for command in [&["import", "--project", "Acme Shop", file][..], &["export", "--project", "Acme Shop"]] {
            let said = refused(&app, command).await;
            assert!(said.contains(id) && said.contains(bait_id), "both are named: {said}");
            assert!(said.contains("mal@evil.example") && said.contains(OPERATOR.0), "with their owners: {said}");
        }
        assert_eq!(in_bait("GET", "/contacts").send().await.assert_status(200).json()["total"], 0);
        app.run(&["import", "--project", id, file]).await;
        let contacts = ops.in_project(&app, id, "GET", "/contacts").send().await.assert_status(200).json();
        assert_eq!(column(&contacts["data"], "email"), ["customer@example.com"]);
        // a name that only a stranger's project has is none of the operator's
        mal.create_project(&app, "Lonely").await;
        let said = refused(&app, &["import", "--project", "Lonely", file]).await;
        assert!(said.contains("bootstrap") && said.contains("mal@evil.example"), "{said}");
    }

    async fn an_account_that_a_stranger_made_first_is_not_taken_for_the_operators(engine: Engine) {
        let app = App::start(engine).await;
        let stranger = Browser::sign_up(&app, OPERATOR.0).await;
        let said = refused(&app, &command(OPERATOR, "Fresh name", "acme.example", &[])).await;
        assert!(said.contains("--reset-password"), "{said}");
        // nothing was changed
        assert_eq!(projects(&app, &stranger).await, json!([]));
        try_log_in(&app, OPERATOR.0, PASSWORD).await.assert_status(200);
        try_log_in(&app, OPERATOR.0, OPERATOR.1).await.assert_error(401, "INVALID_CREDENTIALS");

        let made = bootstrap(&app, OPERATOR, "Fresh name", "acme.example", &["--reset-password"]).await;
        stranger.request(&app, "GET", "/users/@me").send().await.assert_error(401, "UNAUTHORIZED");
        try_log_in(&app, OPERATOR.0, PASSWORD).await.assert_error(401, "INVALID_CREDENTIALS");
        let ops = Browser::log_in(&app, OPERATOR.0, OPERATOR.1).await;
        let mine = projects(&app, &ops).await;
        assert_eq!((&mine[0]["id"], &mine[0]["role"]), (&made["projectId"], &json!("OWNER")));
        let me = ops.request(&app, "GET", "/users/@me").send().await.assert_status(200).json();
        assert_eq!(me["emailVerified"], true);
    }

    async fn who_knows_the_password_is_who_made_the_account(engine: Engine) {
        let app = App::start(engine).await;
        let ada = Browser::sign_up(&app, "ada@example.com").await;
        bootstrap(&app, ("ada@example.com", PASSWORD), "Rockets", "rockets.example", &[]).await;
        assert_eq!(column(&projects(&app, &ada).await, "name"), ["Rockets"], "the session goes on");
        // with its own account everybody has a project of their own under one name
        let other = bootstrap(&app, OWNER, "Rockets", "rockets.example", &[]).await;
        assert_ne!(other["projectId"], projects(&app, &ada).await[0]["id"]);
        // an id is as good as a name, for who owns the project
        let id = text(&other["projectId"]);
        let same = bootstrap(&app, OWNER, id, "rockets.example", &["--new-secret-key"]).await;
        assert_eq!(same["projectId"], other["projectId"]);
        assert!(same["secretKey"].is_string(), "{same}");
        let said = refused(&app, &command(("ada@example.com", PASSWORD), id, "rockets.example", &[])).await;
        assert!(said.contains("the account does not own it"), "{said}");
    }

    async fn the_password_comes_from_standard_input(engine: Engine) {
        let app = App::start(engine).await;
        let command = [
            "bootstrap", "--email", OPERATOR.0, "--password-stdin", "--project", "Quiet", "--domain", "quiet.example",
        ];
        let printed = app.run_with_input(&command, &format!("{}\n", OPERATOR.1)).await;
        assert!(printed.contains("sk_") && !printed.contains(OPERATOR.1), "{printed}");
        Browser::log_in(&app, OPERATOR.0, OPERATOR.1).await;
        let both = [&command[..], &["--password", "another password"]].concat();
        assert!(refused(&app, &both).await.contains("cannot be used with"));
        let neither: Vec<&str> = command.into_iter().filter(|word| *word != "--password-stdin").collect();
        assert!(refused(&app, &neither).await.contains("use --password-stdin"));
    }
}
