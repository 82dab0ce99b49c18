//! What recipients do about topics, on their page and with one click.

use mailwright_testkit::{App, Engine, Response, Value, both_engines, json};
use mailwright_tests::workflow::Flow;
use mailwright_tests::{contact, create_contact, create_template, events_of, items, mail_to, read, text};

use super::{evidence, set, standing, topic};

const BROWSER: &str = "text/html,application/xhtml+xml";

/// A form of a page, as a browser sends it.
async fn submit(app: &App, path: &str, fields: &str) -> Response {
    let request = app.request("POST", path).header("accept", BROWSER);
    request.body(fields.to_owned(), "application/x-www-form-urlencoded").send().await
}

async fn one_click(app: &App, path: &str) -> Response {
    let request = app.request("POST", path);
    request.body("List-Unsubscribe=One-Click", "application/x-www-form-urlencoded").send().await
}

/// Sends somebody a mail of a template of a topic, and returns its id.
async fn mail_of(app: &App, to: &str, template: &Value) -> String {
    let sent = app.send(json!({"to": to, "template": template["id"]})).await.assert_status(200).json();
    text(&sent["data"]["emails"][0]["email"]).to_owned()
}

fn checked(page: &str, topic: &Value) -> bool {
    page.contains(&format!("name=\"topic\" value=\"{}\" checked>", text(&topic["id"])))
}

both_engines! {
    async fn one_click_leaves_the_topic_of_the_mail(engine: Engine) {
        let app = App::start(engine).await;
        let ann = create_contact(&app, "ann@example.com", true, json!({})).await;
        let news = topic(&app, "News & Co", &json!({})).await;
        let template = create_template(&app, &json!({"type": "MARKETING", "topicId": news["id"]})).await;
        let plain = create_template(&app, &json!({"type": "MARKETING", "name": "Plain"})).await;
        let (of_topic, of_none) =
            (mail_of(&app, "ann@example.com", &template).await, mail_of(&app, "ann@example.com", &plain).await);
        let bob = create_contact(&app, "bob@example.com", true, json!({})).await;
        let of_bob = mail_of(&app, "bob@example.com", &template).await;
        let page = format!("/unsubscribe/{}?e=", text(&ann["id"]));

        // a GET changes nothing, and the page says what the button will do
        for method in ["GET", "HEAD"] {
            app.request(method, &format!("{page}{of_topic}")).header("accept", BROWSER).send().await.assert_status(200);
        }
        let shown = app.request("GET", &format!("{page}{of_topic}")).send().await.assert_status(200).text();
        assert!(shown.contains("“News &amp; Co”") && shown.contains("Unsubscribe from everything"), "{shown}");
        assert_eq!(standing(&app, &ann, &news).await["subscribed"], true);

        for _ in 0..2 {
            let done = one_click(&app, &format!("{page}{of_topic}")).await.assert_status(200);
            assert!(done.text().contains("News & Co"), "{}", done.text());
        }
        assert_eq!(contact(&app, &ann["id"]).await["subscribed"], true, "of the rest nobody said anything");
        assert_eq!(standing(&app, &ann, &news).await["subscribed"], false);
        app.send(json!({"to": "ann@example.com", "template": template["id"]})).await.assert_status(400);
        mail_of(&app, "ann@example.com", &plain).await;

        let events = events_of(&app, &ann["id"]).await;
        let told: Vec<&Value> = events.iter().filter(|event| event["name"] == "email.unsubscribe").collect();
        assert_eq!(told.len(), 1, "{events:#?}");
        assert_eq!((&told[0]["emailId"], &told[0]["data"]["topicId"]), (&json!(of_topic), &news["id"]));
        assert_eq!(told[0]["data"]["way"], "one-click");
        assert!(events.iter().all(|event| event["name"] != "contact.unsubscribed"), "{events:#?}");

        // somebody else's mail, and a mail of no topic, end the whole subscription
        let done = one_click(&app, &format!("{page}{of_bob}")).await.assert_status(200);
        assert_eq!(done.text(), "You are unsubscribed.\n");
        assert_eq!(contact(&app, &ann["id"]).await["subscribed"], false);
        app.post("/contacts").json(&json!({"email": "ann@example.com", "subscribed": true})).send().await;
        one_click(&app, &format!("{page}{of_none}")).await.assert_status(200);
        assert_eq!(contact(&app, &ann["id"]).await["subscribed"], false);
        let events = events_of(&app, &ann["id"]).await;
        let ended: Vec<&Value> = events.iter().filter(|event| event["name"] == "contact.unsubscribed").collect();
        assert_eq!(ended.len(), 2, "{events:#?}");
        let reasons = ended.iter().all(|event| event["data"]["reason"] == "one-click");
        assert!(reasons, "{ended:#?}");
        assert_eq!(contact(&app, &bob["id"]).await["subscribed"], true);
    }

    async fn the_page_lists_public_topics_and_stores_what_is_chosen(engine: Engine) {
        let app = App::start(engine).await;
        let ann = create_contact(&app, "ann@example.com", true, json!({"locale": "de"})).await;
        let news = topic(&app, "News", &json!({"description": "Once <a month>"})).await;
        let offers = topic(&app, "Offers", &json!({"defaultSubscribed": false})).await;
        let inside = topic(&app, "Inside", &json!({"visibility": "PRIVATE"})).await;
        let path = format!("/manage/{}", text(&ann["id"]));
        let page = app.request("GET", &path).send().await.assert_status(200).text();
        assert!(page.contains("News") && page.contains("Once &lt;a month&gt;") && page.contains("Offers"), "{page}");
        assert!(!page.contains("Inside") && !page.contains("<script"), "{page}");
        assert!(checked(&page, &news) && !checked(&page, &offers), "{page}");
        assert!(page.contains("Was möchten Sie erhalten?") && page.contains("Alles abbestellen"), "{page}");

        let (one, other) = (text(&news["id"]), text(&offers["id"]));
        let all = format!("shown={one}&shown={other}");
        let saved = submit(&app, &path, &format!("{all}&topic={other}")).await.assert_status(200).text();
        assert!(saved.contains("Ihre Auswahl ist gespeichert"), "{saved}");
        assert!(!checked(&saved, &news) && checked(&saved, &offers), "{saved}");
        assert_eq!(standing(&app, &ann, &news).await["subscribed"], false);
        assert_eq!(standing(&app, &ann, &offers).await["subscribed"], true);
        let page = ["topic-left", "topic-joined"].map(|change| {
            let name = if change == "topic-left" { "News" } else { "Offers" };
            (change.to_owned(), "page".to_owned(), json!(name))
        });
        let stored = evidence(&app, &ann).await;
        assert!(page.iter().all(|entry| stored.contains(entry)), "{stored:?}");
        let entries = read(&app, &format!("/contacts/{}/consent", text(&ann["id"]))).await;
        assert_eq!(entries["data"][0]["language"], "de", "{entries}");

        // a topic that the form did not show, and one that is private, stay as they are
        let hidden = format!("shown={one}&shown={}&topic={one}", text(&inside["id"]));
        submit(&app, &path, &hidden).await.assert_status(200);
        for (topic, expected) in [(&news, true), (&offers, true), (&inside, true)] {
            assert_eq!(standing(&app, &ann, topic).await["subscribed"], expected, "{topic}");
        }
        // the same again is no change
        let before = evidence(&app, &ann).await.len();
        submit(&app, &path, &hidden).await.assert_status(200);
        assert_eq!(evidence(&app, &ann).await.len(), before);

        // the other button ends all of it, and then nothing can be chosen
        submit(&app, &format!("/unsubscribe/{}", text(&ann["id"])), "all=1").await.assert_status(200);
        assert_eq!(contact(&app, &ann["id"]).await["subscribed"], false);
        submit(&app, &path, &all).await.assert_status(200);
        assert_eq!(standing(&app, &ann, &news).await["subscribed"], true);
    }

    async fn opting_out_of_everything_by_a_mail_of_a_topic(engine: Engine) {
        let app = App::start(engine).await;
        let ann = create_contact(&app, "ann@example.com", true, json!({})).await;
        let news = topic(&app, "News", &json!({})).await;
        let template = create_template(&app, &json!({"type": "MARKETING", "topicId": news["id"]})).await;
        let mail = mail_of(&app, "ann@example.com", &template).await;
        let path = format!("/unsubscribe/{}?e={mail}", text(&ann["id"]));
        let left = submit(&app, &path, "").await.assert_status(200).text();
        assert!(left.contains("“News”"), "{left}");
        assert_eq!(contact(&app, &ann["id"]).await["subscribed"], true);
        submit(&app, &path, "all=1").await.assert_status(200);
        assert_eq!(contact(&app, &ann["id"]).await["subscribed"], false);
        let events = events_of(&app, &ann["id"]).await;
        let opt_outs = events.iter().filter(|event| event["name"] == "email.unsubscribe");
        assert_eq!(opt_outs.count(), 2, "{events:#?}");
        let ended = events.iter().find(|event| event["name"] == "contact.unsubscribed").expect("an event");
        assert_eq!((&ended["emailId"], &ended["data"]["reason"]), (&json!(mail), &json!("page")));
    }

    async fn a_campaign_and_a_workflow_count_who_opts_out(engine: Engine) {
        let app = App::start(engine).await;
        let ann = create_contact(&app, "ann@example.com", true, json!({})).await;
        let bob = create_contact(&app, "bob@example.com", true, json!({})).await;
        let news = topic(&app, "News", &json!({})).await;
        set(&app, &bob, &news, false).await;
        let body = json!({
            "name": "News", "subject": "News", "body": "<p>{{manageUrl}}</p>", "from": app.from(),
            "audienceType": "ALL", "topicId": news["id"],
        });
        let made = app.post("/campaigns").json(&body).send().await.assert_status(201).json()["data"].clone();
        let campaign = format!("/campaigns/{}", text(&made["id"]));
        app.post(&format!("{campaign}/send")).json(&json!({})).send().await.assert_status(200);
        mail_to(&app, "ann@example.com").await;
        let listed = read(&app, "/emails").await;
        let mail = items(&listed["data"]).iter().find(|mail| mail["status"] != "SKIPPED").expect("a mail");
        let page = format!("/unsubscribe/{}?e={}", text(&ann["id"]), text(&mail["id"]));
        for _ in 0..2 {
            one_click(&app, &page).await.assert_status(200);
        }
        let stats = read(&app, &format!("{campaign}/stats")).await;
        assert_eq!(stats["unsubscribedCount"], 1, "{stats}");

        let template = create_template(&app, &json!({"type": "MARKETING"})).await;
        let flow = Flow::new(&app, "signup").await;
        flow.then("SEND_EMAIL", json!({"templateId": template["id"]})).await;
        flow.enable().await;
        flow.start(&bob["id"], json!({})).await;
        mail_to(&app, "bob@example.com").await;
        let listed = read(&app, "/emails").await;
        let mail = items(&listed["data"]).iter().find(|mail| mail["sourceType"] == "WORKFLOW").expect("a mail");
        one_click(&app, &format!("/unsubscribe/{}?e={}", text(&bob["id"]), text(&mail["id"]))).await;
        let stats = read(&app, &flow.path("/stats")).await;
        assert_eq!(stats["emails"]["unsubscribed"], 1, "{stats}");
    }
}
