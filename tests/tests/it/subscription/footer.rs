//! The footer of marketing mail.

use mailwright_testkit::{App, Engine, both_engines};
use mailwright_tests::{as_project, text};
use serde_json::{Value, json};

use super::contact_of;

both_engines! {
    async fn the_footer_speaks_the_recipients_language_and_leads_to_their_pages(engine: Engine) {
        let app = App::start(engine).await;
        let project = app.bootstrap_in("<i>Tom</i> & Jerry", "tom.test", "nl-BE").await;
        let post = async |path: &str, body: Value| as_project(&app, &project, "POST", path).json(&body).send().await;
        let template = json!({
            "name": "News", "subject": "News", "type": "MARKETING", "from": project.from,
            "body": "<html><body><p>News</p></BODY></html>",
        });
        let template = post("/templates", template).await.assert_status(201).json();
        let once = json!({"locale": {"value": "cy", "persistent": false}});
        for (n, (stored, given, tag, words)) in [
            (json!({"locale": "pl"}), json!({}), "pl", ["wyrażono zgodę", "Wypisz się", "Zmień preferencje"]),
            (json!({"locale": "de_CH"}), json!({}), "de", ["zugestimmt", "Abbestellen", "Einstellungen ändern"]),
            (json!({"locale": "da"}), json!({}), "nl", ["U ontvangt", "Afmelden", "Voorkeuren aanpassen"]),
            (json!({}), json!({}), "nl", ["U ontvangt", "Afmelden", "Voorkeuren aanpassen"]),
            (json!({"locale": "pl"}), once, "cy", ["Rydych yn derbyn", "Dad-danysgrifio", "Diweddaru"]),
        ]
        .into_iter()
        .enumerate()
        {
            let email = format!("person{n}@example.com");
            let known = contact_of(&app, &project, &email, stored).await;
            let send = json!({"to": email, "template": template["id"], "data": given});
            let sent = post("/v1/send", send).await.assert_status(200).json();
            let mail = text(&sent["data"]["emails"][0]["email"]).to_owned();
            let captured = app
                .eventually("the mail is captured", async || {
                    let path = format!("/mailbox/{mail}");
                    let answer = as_project(&app, &project, "GET", &path).send().await;
                    (answer.status == 200).then(|| answer.json())
                })
                .await;
            let html = text(&captured["html"]);
            let (_, footer) = html.split_once(&format!("<div lang=\"{tag}\"")).unwrap_or_else(|| panic!("{html}"));
            for word in words {
                assert!(footer.contains(word), "{word}: {html}");
            }
            assert!(footer.contains("&lt;i&gt;Tom&lt;/i&gt; &amp; Jerry") && !html.contains("<i>"), "{html}");
            for page in ["unsubscribe", "manage"] {
                let link = format!("<a href=\"{}/{page}/{}?e={mail}&amp;t=", app.base_url(), text(&known["id"]));
                assert!(footer.contains(&link), "{link}: {html}");
            }
            assert!(footer.contains("</div><div style=\"background-image:") && footer.ends_with("></BODY></html>"), "{html}");
            assert!(text(&captured["text"]).contains(words[0]), "the text part has it too: {captured}");
        }
    }

    async fn whatever_the_html_leaves_open_the_way_out_is_there(engine: Engine) {
        let app = App::start(engine).await;
        let project = app.bootstrap("Rockets", "rockets.test").await;
        let post = async |path: &str, body: Value| as_project(&app, &project, "POST", path).json(&body).send().await;
        for (n, (body, visible)) in [
            ("<p>News</p><!-- never closed", true),
            ("<html><body><p>News</p><div style='display:none'>more</body></html>", true),
            ("<p>News</p><style>p { color: red }", true),
            ("<html><body style='display:none'><p>News</p></body></html>", false),
        ]
        .into_iter()
        .enumerate()
        {
            let template =
                json!({"name": format!("News {n}"), "subject": "News", "type": "MARKETING", "from": project.from, "body": body});
            let template = post("/templates", template).await.assert_status(201).json();
            let email = format!("person{n}@example.com");
            contact_of(&app, &project, &email, json!({})).await;
            let sent = post("/v1/send", json!({"to": email, "template": template["id"]})).await;
            let mail = text(&sent.assert_status(200).json()["data"]["emails"][0]["email"]).to_owned();
            let captured = app
                .eventually("the mail is captured", async || {
                    let path = format!("/mailbox/{mail}");
                    let answer = as_project(&app, &project, "GET", &path).send().await;
                    (answer.status == 200).then(|| answer.json())
                })
                .await;
            let plain = text(&captured["text"]);
            assert_eq!(plain.matches("/unsubscribe/").count(), 1, "{body}: {plain}");
            let html = text(&captured["html"]);
            let footer = html.find("<div lang").unwrap_or_else(|| panic!("{html}"));
            let trap = ["<!--", "<div style", "<style"].iter().filter_map(|trap| html.find(trap)).min();
            assert!(!visible || trap.is_some_and(|trap| footer < trap), "{html}");
        }
    }
}
