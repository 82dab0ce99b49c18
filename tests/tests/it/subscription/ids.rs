//! What the id of a contact opens once somebody with the public key knows it: nothing.

use mailwright_testkit::{App, Engine, both_engines};
use mailwright_tests::{
    contact, create_contact, inline, mail_to, send_ok, subscription_events, text, track_ok, with,
};
use serde_json::json;

use super::browse;

/// The paths of a contact's own links in its mail, in the order unsubscribe, subscribe, manage.
async fn links(app: &App, email: &str) -> Vec<String> {
    let body = json!({"body": "<p>{{unsubscribeUrl}} {{subscribeUrl}} {{manageUrl}} end</p>"});
    send_ok(app, with(inline(app, &json!(email)), &body)).await;
    let html = text(&mail_to(app, email).await["html"]).replace("&amp;", "&");
    let words = html.split([' ', '<', '>']).filter_map(|word| word.strip_prefix(app.base_url()));
    let links: Vec<String> = words.map(str::to_owned).collect();
    assert_eq!(links.len(), 3, "{html}");
    links
}

both_engines! {
    async fn an_id_that_the_public_key_was_told_opens_nothing(engine: Engine) {
        let app = App::start(engine).await;
        let victim = create_contact(&app, "victim@example.com", true, json!({"plan": "pro"})).await;
        let before = contact(&app, &victim["id"]).await;
        let public = format!("/contacts/public/{}", text(&victim["id"]));
        app.request("GET", &public).send().await.assert_status(200);

        // whoever reads the public key in a page asks for an address
        let told = track_ok(&app, json!({"email": "victim@example.com", "event": "x"})).await;
        assert_eq!(told["contact"], victim["id"]);
        assert_eq!(contact(&app, &victim["id"]).await, before, "being told is no change of the contact");
        let look = async |path: &str| app.request("GET", path).send().await;
        look(&public).await.assert_error(404, "CONTACT_NOT_FOUND");
        for action in ["subscribe", "unsubscribe"] {
            app.request("POST", &format!("{public}/{action}")).send().await.assert_error(404, "CONTACT_NOT_FOUND");
            let page = format!("/{action}/{}", text(&victim["id"]));
            app.request("POST", &page).send().await.assert_status(404);
            let page = browse(&app, "GET", &page).send().await.assert_status(404);
            assert!(!page.text().contains("@example.com"), "{}", page.text());
        }
        look(&format!("/manage/{}", text(&victim["id"]))).await.assert_status(404);
        for guess in ["?t=", "?t=00112233445566778899aabbccddeeff", "?e=nonsense", "?t=%22%3E"] {
            look(&format!("{public}{guess}")).await.assert_error(404, "CONTACT_NOT_FOUND");
        }
        assert_eq!(contact(&app, &victim["id"]).await["subscribed"], true);
        assert!(subscription_events(&app, &victim["id"]).await.is_empty());

        // nor does the id of somebody who came by the public key in the first place
        let new = track_ok(&app, json!({"email": "new@example.com", "event": "x"})).await;
        look(&format!("/contacts/public/{}", text(&new["contact"]))).await.assert_error(404, "CONTACT_NOT_FOUND");
    }

    async fn the_links_in_mails_lead_there_all_the_same(engine: Engine) {
        let app = App::start(engine).await;
        for (n, told_first) in [true, false].into_iter().enumerate() {
            let email = format!("ann{n}@example.com");
            let known = create_contact(&app, &email, true, json!({})).await;
            if told_first {
                track_ok(&app, json!({"email": email, "event": "x"})).await;
            }
            let links = links(&app, &email).await;
            track_ok(&app, json!({"email": email, "event": "x"})).await;
            for link in &links {
                let page = browse(&app, "GET", link).send().await.assert_status(200).text();
                assert!(page.contains("a***@example.com"), "{page}");
            }
            let (path, query) = links[0].split_once('?').expect("a query");
            let (mail, tag) = query.split_once('&').expect("a mail and a tag");
            // a mail that was sent before links had tags names itself alone
            for pass in [mail, tag] {
                browse(&app, "GET", &format!("{path}?{pass}")).send().await.assert_status(200);
            }
            // one click, and back by the button of the page that says so
            let form = "List-Unsubscribe=One-Click";
            let request = app.request("POST", &links[0]).body(form, "application/x-www-form-urlencoded");
            request.send().await.assert_status(200);
            assert_eq!(contact(&app, &known["id"]).await["subscribed"], false);
            let page = browse(&app, "GET", &links[2]).send().await.assert_status(200).text();
            let (_, rest) = page.split_once("action=\"..").expect("a form");
            let back = rest.split('"').next().expect("an address").replace("&amp;", "&");
            browse(&app, "POST", &back).send().await.assert_status(200);
            assert_eq!(contact(&app, &known["id"]).await["subscribed"], true);
        }
    }

    async fn what_a_link_carries_is_for_its_contact_alone(engine: Engine) {
        let app = App::start(engine).await;
        let mal = links(&app, "mal@example.com").await;
        let (_, query) = mal[0].split_once('?').expect("a query");
        let victim = track_ok(&app, json!({"email": "victim@example.com", "event": "x"})).await;
        let path = format!("/contacts/public/{}?{query}", text(&victim["contact"]));
        app.request("GET", &path).send().await.assert_error(404, "CONTACT_NOT_FOUND");
    }
}
