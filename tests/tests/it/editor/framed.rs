//! Previews that a form of a page asks for, into a frame: a form sends no headers.

use mailwright_testkit::{App, Engine, OWNER, Request, Value, both_engines, json};
use mailwright_tests::browser::Browser;
use mailwright_tests::{create_contact, encoded, required_header, text};

const FORM: &str = "application/x-www-form-urlencoded";

/// A form that a page of the service sends.
fn sent(browser: &Browser, app: &App, path: &str, fields: &[(&str, &str)]) -> Request {
    let body: Vec<_> = fields.iter().map(|(name, text)| format!("{name}={}", encoded(text))).collect();
    let request = browser.request(app, "POST", path).header("sec-fetch-site", "same-origin");
    request.body(body.join("&"), FORM)
}

both_engines! {
    async fn the_form_names_its_project(engine: Engine) {
        let app = App::start(engine).await;
        let owner = Browser::log_in(&app, OWNER.0, OWNER.1).await;
        let fields = [("subject", ""), ("body", "<p>Hi {{name}}</p>"), ("data", "{\"name\": \"Ann & Bob\"}"), ("images", "1")];
        let named = [("projectId", app.project_id())];
        let answer = sent(&owner, &app, "/preview", &[&fields[..], &named].concat()).send().await.assert_status(200);
        assert!(answer.text().contains("<p>Hi Ann &amp; Bob</p>"), "{}", answer.text());
        assert!(required_header(&answer, "content-security-policy").contains("img-src 'self' data: https:"));
        // or a header does; an address names one for reads alone
        let path = format!("/preview?projectId={}", app.project_id());
        sent(&owner, &app, &path, &fields).send().await.assert_error(400, "BAD_REQUEST");
        let with_header = sent(&owner, &app, "/preview", &fields).header("x-project-id", app.project_id());
        with_header.send().await.assert_status(200);
        let list = format!("/templates?projectId={}", app.project_id());
        owner.request(&app, "GET", &list).send().await.assert_status(200);

        sent(&owner, &app, "/preview", &fields).send().await.assert_error(400, "BAD_REQUEST");
        for wrong in [("projectId", "mine"), ("data", "{"), ("format", "pdf")] {
            let fields = [&named[..], &[wrong]].concat();
            sent(&owner, &app, "/preview", &fields).send().await.assert_error(422, "VALIDATION_ERROR");
        }
    }

    async fn it_meets_the_checks_of_every_request(engine: Engine) {
        let app = App::start(engine).await;
        let other = app.bootstrap("Neighbour", "neighbour.example").await;
        let stranger = Browser::sign_up(&app, "eve@example.com").await;
        let owner = Browser::log_in(&app, OWNER.0, OWNER.1).await;
        let to = |project: &str| [("body", "x".to_owned()), ("projectId", project.to_owned())];
        for project in [app.project_id(), other.id.as_str()] {
            let fields = to(project);
            let fields: Vec<_> = fields.iter().map(|(name, text)| (*name, text.as_str())).collect();
            let refused = sent(&stranger, &app, "/preview", &fields).send().await;
            refused.assert_error(403, "PROJECT_ACCESS_DENIED");
            let list = format!("/templates?projectId={project}");
            stranger.request(&app, "GET", &list).send().await.assert_error(403, "PROJECT_ACCESS_DENIED");
        }
        // from a page of another site, and without a session
        let fields = [("body", "x"), ("projectId", app.project_id())];
        let cross = sent(&owner, &app, "/preview", &fields).header("sec-fetch-site", "cross-site").send().await;
        assert_eq!(cross.status, 403, "{}", cross.text());
        let nobody = app.request("POST", "/preview").body(format!("projectId={}", app.project_id()), FORM);
        nobody.send().await.assert_error(401, "MISSING_AUTH");
        let ended = Browser { cookie: format!("{}x", owner.cookie), ..owner.clone() };
        sent(&ended, &app, "/preview", &fields).send().await.assert_error(401, "UNAUTHORIZED");
        // whoever may not read contacts sees no mail as one of them
        let ann = create_contact(&app, "ann@example.com", true, json!({})).await;
        for (scopes, status) in [(&["campaigns"][..], 403), (&["campaigns", "contacts"], 200)] {
            let key = owner.create_key(&app, app.project_id(), "CI", scopes).await;
            let ask = |body: Value| app.request("POST", "/preview").bearer(text(&key["key"])).json(&body);
            ask(json!({"body": "{{email}}", "contactId": ann["id"]})).send().await.assert_status(status);
            ask(json!({"body": "{{email}}"})).send().await.assert_status(200);
        }
        // a key opens its own project, whatever the form says
        let request = app.post("/preview").body(format!("body=x&projectId={}", other.id), FORM);
        request.send().await.assert_status(200);
    }
}
