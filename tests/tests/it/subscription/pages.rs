//! The pages behind the links in mails.

use std::time::Duration;

use mailwright_testkit::{App, Engine, Response, both_engines};
use mailwright_tests::{UNKNOWN_ID, contact, create_contact, events_of, inline, required_header};
use mailwright_tests::{send_ok, shown, subscription_events, text};
use serde_json::{Value, json};

use super::{browse, contact_of};

const PAGES: [&str; 3] = ["unsubscribe", "subscribe", "manage"];

/// The page, which must be one: HTML in the language with this tag, locked down, and kept by nobody.
fn assert_page(response: &Response, status: u16, tag: &str) -> String {
    assert_eq!(response.status, status, "{}", shown(response));
    assert!(required_header(response, "content-type").starts_with("text/html"), "{}", shown(response));
    assert_eq!(required_header(response, "content-language"), tag, "{}", shown(response));
    assert_eq!(required_header(response, "cache-control"), "no-store");
    let policy = required_header(response, "content-security-policy");
    for part in ["default-src 'none'", "form-action 'self'", "frame-ancestors 'none'", "base-uri 'none'"] {
        assert!(policy.contains(part), "{part} in {policy}");
    }
    assert!(!policy.contains("script-src"), "{policy}");
    let page = response.text();
    assert!(page.contains(&format!("<html lang=\"{tag}\">")), "{page}");
    assert!(!page.contains("<script"), "{page}");
    page
}

/// Where the form of a page posts to, as a path of this server.
fn form_target(page: &str) -> String {
    let (_, rest) =
        page.split_once("method=\"post\" action=\"..").unwrap_or_else(|| panic!("no form: {page}"));
    rest.split('"').next().unwrap_or_default().to_owned()
}

/// Looks at every page of a contact, as a browser and as a link scanner do.
async fn look_at_everything(app: &App, id: &Value) {
    for page in PAGES {
        let path = format!("/{page}/{}", text(id));
        for method in ["GET", "HEAD"] {
            browse(app, method, &path).send().await.assert_status(200);
            app.request(method, &path).send().await.assert_status(200);
        }
    }
}

both_engines! {
    async fn pages_speak_the_language_of_the_contact_or_else_of_the_project(engine: Engine) {
        let app = App::start(engine).await;
        let german = app.bootstrap_in("Beispiel", "beispiel.test", "de-AT").await;
        let danish = app.bootstrap_in("Eksempel", "eksempel.test", "da").await;
        for (n, (project, data, tag, question)) in [
            (&german, json!({"locale": "sv"}), "sv", "Vill du avsluta prenumerationen"),
            (&german, json!({"locale": "FR_ca"}), "fr", "Se désabonner de ces e-mails"),
            (&german, json!({"locale": "zh-Hant-HK"}), "zh-HK", "要取消訂閱這些電郵嗎"),
            (&german, json!({"locale": "zh"}), "zh-CN", "要退订这些邮件吗"),
            (&german, json!({"locale": "tlh"}), "de", "Diese E-Mails abbestellen"),
            (&german, json!({"locale": null}), "de", "Diese E-Mails abbestellen"),
            (&german, json!({}), "de", "Diese E-Mails abbestellen"),
            (&danish, json!({"locale": "pt-BR"}), "pt", "Cancelar a inscrição nestes"),
            (&danish, json!({}), "en", "Unsubscribe from these emails"),
        ]
        .into_iter()
        .enumerate()
        {
            let email = format!("person{n}@example.com");
            let known = contact_of(&app, project, &email, data).await;
            for page in PAGES {
                let request = browse(&app, "GET", &format!("/{page}/{}", text(&known["id"])));
                // the link belongs to a contact, whose language counts, not to the browser that opens it
                let response = request.header("accept-language", "it").send().await;
                let html = assert_page(&response, 200, tag);
                assert!(!html.contains(&email) && html.contains("p***@example.com"), "{html}");
                assert_eq!(html.contains(question), page == "unsubscribe", "{page}: {html}");
            }
            let form = browse(&app, "POST", &format!("/unsubscribe/{}", text(&known["id"])));
            assert_page(&form.send().await, 200, tag);
        }
    }

    async fn looking_changes_nothing_and_the_buttons_do_what_they_say(engine: Engine) {
        let app = App::start(engine).await;
        let known = create_contact(&app, "ann@example.com", true, json!({})).await;
        let sent = send_ok(&app, inline(&app, &json!("ann@example.com"))).await;
        let (id, mail) = (text(&known["id"]), text(&sent["emails"][0]["email"]));
        look_at_everything(&app, &known["id"]).await;
        assert_eq!(contact(&app, &known["id"]).await["subscribed"], true);
        assert!(subscription_events(&app, &known["id"]).await.is_empty());

        let path = format!("/unsubscribe/{id}?e={mail}");
        let page = assert_page(&browse(&app, "GET", &path).send().await, 200, "en");
        assert_eq!(form_target(&page), path, "the form passes the mail on");
        let mut back = String::new();
        for _ in 0..2 {
            let form = browse(&app, "POST", &path).body("", "application/x-www-form-urlencoded");
            let page = assert_page(&form.send().await, 200, "en");
            assert!(page.contains("You have been unsubscribed") && page.contains("Subscribe again"), "{page}");
            back = form_target(&page);
        }
        assert_eq!(contact(&app, &known["id"]).await["subscribed"], false);
        assert_eq!(subscription_events(&app, &known["id"]).await, ["contact.unsubscribed"]);

        look_at_everything(&app, &known["id"]).await;
        assert_eq!(contact(&app, &known["id"]).await["subscribed"], false);
        let page = assert_page(&browse(&app, "GET", &path).send().await, 200, "en");
        assert!(page.contains("a***@example.com is not subscribed"), "{page}");
        assert_eq!(form_target(&page), format!("/subscribe/{id}?e={mail}"), "who has left can come back");

        assert_eq!(back, format!("/subscribe/{id}?e={mail}"));
        let page = assert_page(&browse(&app, "POST", &back).send().await, 200, "en");
        assert!(page.contains("You are now subscribed"), "{page}");
        assert_eq!(form_target(&page), path);
        assert_eq!(contact(&app, &known["id"]).await["subscribed"], true);
        let events = events_of(&app, &known["id"]).await;
        for name in ["contact.unsubscribed", "contact.subscribed"] {
            let [event] = events.iter().filter(|event| event["name"] == name).collect::<Vec<_>>()[..] else {
                panic!("not one {name}: {events:?}")
            };
            assert_eq!(event["emailId"], mail, "{name} is because of the mail");
        }

        let manage = format!("/manage/{id}");
        for (subscribed, action) in [(true, "unsubscribe"), (false, "subscribe"), (true, "unsubscribe")] {
            let page = assert_page(&browse(&app, "GET", &manage).send().await, 200, "en");
            let state = if subscribed { "is subscribed" } else { "is not subscribed" };
            assert!(page.contains(&format!("a***@example.com {state}")), "{page}");
            let target = form_target(&page);
            assert_eq!(target, format!("/{action}/{id}"));
            assert_page(&browse(&app, "POST", &target).send().await, 200, "en");
            assert_eq!(contact(&app, &known["id"]).await["subscribed"], !subscribed);
        }
    }

    async fn a_mail_program_is_answered_in_plain_text_whatever_it_accepts(engine: Engine) {
        let app = App::start(engine).await;
        let known = create_contact(&app, "ann@example.com", true, json!({"locale": "fr"})).await;
        let multipart =
            "--b\r\nContent-Disposition: form-data; name=\"List-Unsubscribe\"\r\n\r\nOne-Click\r\n--b--\r\n";
        let long = format!("List-Unsubscribe=One-Click&pad={}", "x".repeat(60_000));
        for id in [text(&known["id"]), UNKNOWN_ID, "nonsense"] {
            let path = format!("/unsubscribe/{id}");
            for request in [
                browse(&app, "POST", &path).body("List-Unsubscribe=One-Click", "application/x-www-form-urlencoded"),
                browse(&app, "POST", &path).body(multipart, "multipart/form-data; boundary=b"),
                app.request("POST", &path).header("accept", "*/*"),
                app.request("POST", &path).body(long.clone(), "application/x-www-form-urlencoded"),
                app.request("POST", &path.replace("unsubscribe", "subscribe")),
                browse(&app, "POST", &path).body("List-Unsubscribe=One-Click", "application/x-www-form-urlencoded"),
            ] {
                let response = request.send().await.assert_status(if known["id"] == id { 200 } else { 404 });
                assert!(required_header(&response, "content-type").starts_with("text/plain"), "{}", shown(&response));
            }
        }
        assert_eq!(contact(&app, &known["id"]).await["subscribed"], false);
        let events = subscription_events(&app, &known["id"]).await;
        assert_eq!(events, ["contact.unsubscribed", "contact.subscribed", "contact.unsubscribed"]);
    }

    async fn a_link_to_nobody_says_so_in_the_language_of_the_browser(engine: Engine) {
        let app = App::start(engine).await;
        let known = create_contact(&app, "ann@example.com", true, json!({"locale": "fr"})).await;
        app.delete(&format!("/contacts/{}", text(&known["id"]))).send().await.assert_status(204);
        for (accepted, tag, heading) in [
            (None, "en", "This link is not valid"),
            (Some("tlh, *"), "en", "This link is not valid"),
            (Some("da, cs-CZ;q=0.8, en;q=0.7"), "cs", "Tento odkaz není platný"),
            (Some("ja"), "ja", "このリンクは無効です"),
        ] {
            for id in [text(&known["id"]), UNKNOWN_ID, "nonsense", "%3Cb%3E"] {
                let looks = PAGES.map(|page| ("GET", page));
                for (method, page) in looks.into_iter().chain([("POST", "unsubscribe"), ("POST", "subscribe")]) {
                    let mut request = browse(&app, method, &format!("/{page}/{id}"));
                    if let Some(accepted) = accepted {
                        request = request.header("accept-language", accepted);
                    }
                    let html = assert_page(&request.send().await, 404, tag);
                    assert!(html.contains(heading) && !html.contains("<form"), "{html}");
                    assert!(!html.contains("<b>"), "{html}");
                }
            }
        }
    }

    async fn names_and_addresses_are_text_and_not_markup(engine: Engine) {
        let app = App::start(engine).await;
        let name = "<b>Tom</b> & \"Jerry\" {email} '$1'";
        let project = app.bootstrap_in(name, "tom.test", "en").await;
        let email = "o'brien@example.com";
        let known = contact_of(&app, &project, email, json!({"locale": "<b>\"fr"})).await;
        for (method, page) in PAGES.map(|page| ("GET", page)).into_iter().chain([("POST", "unsubscribe")]) {
            let path = format!("/{page}/{}?e=%22%3E%3Cb%3E", text(&known["id"]));
            let html = assert_page(&browse(&app, method, &path).send().await, 200, "en");
            let shown = "&lt;b&gt;Tom&lt;/b&gt; &amp; &quot;Jerry&quot; {email} &#39;$1&#39;";
            assert_eq!(html.matches(shown).count(), 2, "in the title and the sentence: {html}");
            assert!(html.contains("o***@example.com") && !html.contains("brien"), "{html}");
            assert!(!html.contains("<b>") && !html.contains("?e="), "{html}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_says_so_when_the_database_is_out_of_reach() {
    let app = App::builder(Engine::Postgres).database_proxy().start().await;
    let known = create_contact(&app, "ann@example.com", true, json!({})).await;
    let path = format!("/unsubscribe/{}", text(&known["id"]));
    app.database_proxy().cut().await;
    app.eventually("/ready says so", async || {
        let ready = app.request("GET", "/ready").timeout(Duration::from_secs(20)).try_send().await;
        ready.is_ok_and(|response| response.status == 503).then_some(())
    })
    .await;
    for method in ["GET", "POST"] {
        let response = browse(&app, method, &path).header("accept-language", "nl").send().await;
        let page = assert_page(&response, 503, "nl");
        assert!(page.contains("Er is iets misgegaan"), "{page}");
        assert!(required_header(&response, "retry-after").parse::<u32>().is_ok(), "{}", shown(&response));
    }
    app.request("POST", &path).send().await.assert_error(503, "DATABASE_ERROR");
}
