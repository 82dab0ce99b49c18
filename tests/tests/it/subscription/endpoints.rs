//! What a recipient can do without a key: the one-click address, the page, and the public contact endpoints.

use mailwright_testkit::{App, Engine, both_engines};
use mailwright_tests::{
    UNKNOWN_ID, assert_only_keys, contact, create_contact, create_template, events_of, mail_header,
};
use mailwright_tests::{inline, mail_to, required_header, send_ok, shown, subscription_events, text, with};
use serde_json::json;

both_engines! {
    async fn one_click_unsubscribes_once_and_knows_nobody_else(engine: Engine) {
        let app = App::start(engine).await;
        let known = create_contact(&app, "ann@example.com", true, json!({})).await;
        let path = format!("/unsubscribe/{}", text(&known["id"]));
        for _ in 0..3 {
            let form = "List-Unsubscribe=One-Click";
            let request = app.request("POST", &path).body(form, "application/x-www-form-urlencoded");
            let response = request.send().await.assert_status(200);
            assert!(
                required_header(&response, "content-type").starts_with("text/plain"),
                "{}",
                shown(&response)
            );
        }
        assert_eq!(contact(&app, &known["id"]).await["subscribed"], false);
        assert_eq!(subscription_events(&app, &known["id"]).await, ["contact.unsubscribed"]);

        for id in [UNKNOWN_ID, "nonsense", "%00"] {
            let response = app.request("POST", &format!("/unsubscribe/{id}")).send().await.assert_status(404);
            assert!(!response.text().contains("unsubscribed"), "{}", shown(&response));
            assert!(
                required_header(&response, "content-type").starts_with("text/plain"),
                "{}",
                shown(&response)
            );
        }
        let multipart =
            "--b\r\nContent-Disposition: form-data; name=\"List-Unsubscribe\"\r\n\r\nOne-Click\r\n--b--\r\n";
        let request = app.request("POST", &path).body(multipart, "multipart/form-data; boundary=b");
        request.send().await.assert_status(200);
    }

    async fn an_unsubscription_is_attributed_to_an_email_of_the_contact(engine: Engine) {
        let app = App::start(engine).await;
        let ann = create_contact(&app, "ann@example.com", true, json!({})).await;
        let sent = send_ok(&app, inline(&app, &json!(["ann@example.com", "bob@example.com"]))).await;
        let (own, foreign) = (text(&sent["emails"][0]["email"]), text(&sent["emails"][1]["email"]));
        let path = format!("/unsubscribe/{}", text(&ann["id"]));
        for (email, expected) in [(own, json!(own)), (foreign, json!(null)), ("nonsense", json!(null))] {
            let again = json!({"email": "ann@example.com", "subscribed": true});
            app.post("/contacts").json(&again).send().await.assert_status(200);
            app.request("POST", &format!("{path}?e={email}")).send().await.assert_status(200);
            assert_eq!(contact(&app, &ann["id"]).await["subscribed"], false, "{email}");
            let events = events_of(&app, &ann["id"]).await;
            let event =
                events.iter().find(|event| event["name"] == "contact.unsubscribed").expect("an event");
            assert_eq!(event["emailId"], expected, "{email}");
        }
    }

    async fn every_link_leads_to_a_page_and_looking_changes_nothing(engine: Engine) {
        let app = App::start(engine).await;
        let known = create_contact(&app, "ann@example.com", true, json!({})).await;
        for query in ["", "?e=nonsense", "?e=%3Cmark-me%3E"] {
            let path = format!("/unsubscribe/{}{query}", text(&known["id"]));
            let page = app.request("GET", &path).send().await.assert_status(200);
            assert!(required_header(&page, "content-type").starts_with("text/html"), "{}", shown(&page));
            assert!(!page.text().contains("<mark-me>"), "{}", page.text());
        }
        assert_eq!(contact(&app, &known["id"]).await["subscribed"], true);
        assert!(subscription_events(&app, &known["id"]).await.is_empty());
        let unknown = app.request("GET", &format!("/unsubscribe/{UNKNOWN_ID}")).send().await;
        assert!(unknown.status < 500, "{}", shown(&unknown));

        let known = create_contact(&app, "bob@example.com", true, json!({})).await;
        let body = json!({"body": "<p>{{unsubscribeUrl}} {{subscribeUrl}} {{manageUrl}} end</p>"});
        send_ok(&app, with(inline(&app, &json!("bob@example.com")), &body)).await;
        let mail = mail_to(&app, "bob@example.com").await;
        let html = text(&mail["html"]).replace("&amp;", "&");
        let links: Vec<&str> =
            html.split([' ', '<', '>']).filter(|word| word.starts_with(app.base_url())).collect();
        assert_eq!(links.len(), 3, "{html}");
        for link in links {
            let path = link.strip_prefix(app.base_url()).expect("a link to this server");
            let page = app.request("GET", path).send().await;
            assert_eq!(page.status, 200, "{path}: {}", shown(&page));
            assert!(required_header(&page, "content-type").starts_with("text/html"), "{path}");
        }
        assert_eq!(contact(&app, &known["id"]).await["subscribed"], true);
    }

    async fn the_header_of_a_marketing_mail_unsubscribes(engine: Engine) {
        let app = App::start(engine).await;
        let known = create_contact(&app, "ann@example.com", true, json!({})).await;
        let template = create_template(&app, &json!({"type": "MARKETING"})).await;
        let send = json!({"to": "ann@example.com", "template": template["id"]});
        let sent = send_ok(&app, send.clone()).await;
        let mail = mail_to(&app, "ann@example.com").await;
        let header = mail_header(&mail, "List-Unsubscribe");
        let start = format!("<{}/", app.base_url());
        let from = header.find(&start).unwrap_or_else(|| panic!("no address of this server in {header}"));
        let path = &header[from + start.len() - 1..];
        let path = &path[..path.find('>').expect("the end of the address")];
        app.request("POST", path)
            .body("List-Unsubscribe=One-Click", "application/x-www-form-urlencoded")
            .send()
            .await
            .assert_status(200);
        assert_eq!(contact(&app, &known["id"]).await["subscribed"], false);
        let events = events_of(&app, &known["id"]).await;
        let event = events.iter().find(|event| event["name"] == "contact.unsubscribed").expect("an event");
        assert_eq!(event["emailId"], sent["emails"][0]["email"], "the link names its email");
        app.send(send).await.assert_error(400, "BAD_REQUEST");
    }

    async fn the_public_contact_endpoints_show_little_and_flip(engine: Engine) {
        let app = App::start(engine).await;
        let data = json!({"secretNote": "x", "locale": "fr"});
        let known = create_contact(&app, "ann@example.com", true, data).await;
        let plain = create_contact(&app, "bob@example.com", true, json!({})).await;
        let path = format!("/contacts/public/{}", text(&known["id"]));
        let shown = app.request("GET", &path).send().await.assert_status(200).json();
        let expected =
            json!({"id": known["id"], "email": "ann@example.com", "subscribed": true, "language": "fr"});
        assert_eq!(shown, expected, "and no custom data");
        let other = format!("/contacts/public/{}", text(&plain["id"]));
        assert_eq!(app.request("GET", &other).send().await.assert_status(200).json()["language"], "en");

        for (action, subscribed) in
            [("subscribe", true), ("unsubscribe", false), ("unsubscribe", false), ("subscribe", true)]
        {
            let answer =
                app.request("POST", &format!("{path}/{action}")).send().await.assert_status(200).json();
            assert_only_keys(&answer, &["id", "email", "subscribed"]);
            assert_eq!((&answer["id"], &answer["subscribed"]), (&known["id"], &json!(subscribed)));
            assert_eq!(contact(&app, &known["id"]).await["subscribed"], subscribed);
        }
        let events = subscription_events(&app, &known["id"]).await;
        assert_eq!(events, ["contact.unsubscribed", "contact.subscribed"], "only flips are events");

        for id in [UNKNOWN_ID, "nonsense"] {
            for (method, action) in [("GET", ""), ("POST", "/subscribe"), ("POST", "/unsubscribe")] {
                let path = format!("/contacts/public/{id}{action}");
                app.request(method, &path).send().await.assert_error(404, "CONTACT_NOT_FOUND");
            }
        }
    }

    async fn recipients_do_not_use_up_the_limit_of_the_project(engine: Engine) {
        let app = App::builder(engine).env("MAILWRIGHT_RATE_LIMIT_PER_MINUTE", "3").start().await;
        let known = create_contact(&app, "ann@example.com", true, json!({})).await;
        let id = text(&known["id"]);
        for _ in 0..10 {
            app.request("POST", &format!("/unsubscribe/{id}")).send().await.assert_status(200);
            app.request("GET", &format!("/contacts/public/{id}")).send().await.assert_status(200);
        }
        assert_eq!(contact(&app, &known["id"]).await["subscribed"], false, "nor do they use up the limit");
    }
}
