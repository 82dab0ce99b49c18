//! Double opt-in: who has not confirmed gets no mail, and only the person confirms.

use std::time::Duration;

use mailwright_testkit::{App, Engine, Value, both_engines, json};
use mailwright_tests::{
    contact, contact_by_email, create_contact, create_template, events_of, items, mail_to, read,
};
use mailwright_tests::{subscription_events, text, with};

use super::{change_project, evidence, set, standing, topic};

/// The path of the link in a confirmation mail.
fn link(app: &App, mail: &Value) -> String {
    let html = text(&mail["html"]).replace("&amp;", "&");
    let start = format!("{}/confirm/", app.base_url());
    let from = html.find(&start).unwrap_or_else(|| panic!("no link in {html}"));
    let rest = &html[from + app.base_url().len()..];
    rest[..rest.find(['"', '<', ' ']).expect("an end")].to_owned()
}

async fn pending(app: &App, contact: &Value) -> Vec<Value> {
    let list = read(app, &format!("/contacts/{}/consent", text(&contact["id"]))).await;
    items(&list["pending"]).to_vec()
}

async fn confirm(app: &App, path: &str) -> mailwright_testkit::Response {
    app.request("POST", path).header("accept", "text/html").send().await
}

both_engines! {
    /// Keys are remembered; what the project wants is looked at anew.
    async fn the_setting_holds_at_once_for_keys_that_were_used_before(engine: Engine) {
        let app = App::start(engine).await;
        let subscribed = async |email: &str| {
            let track = json!({"email": email, "event": "signup", "subscribed": true});
            app.track(track).await.assert_status(200);
            contact_by_email(&app, email).await.expect("a contact")["subscribed"] == true
        };
        assert!(subscribed("ann@example.com").await);
        change_project(&app, &json!({"doubleOptIn": true})).await;
        assert!(!subscribed("bob@example.com").await);
        change_project(&app, &json!({"doubleOptIn": false})).await;
        assert!(subscribed("cid@example.com").await);
    }

    async fn a_link_confirms_the_address_that_it_was_sent_to(engine: Engine) {
        let app = App::start(engine).await;
        change_project(&app, &json!({"doubleOptIn": true})).await;
        let ann = create_contact(&app, "ann@example.com", true, json!({})).await;
        let path = link(&app, &mail_to(&app, "ann@example.com").await);
        let change = json!({"email": "mark@example.com"});
        let request = app.request("PATCH", &format!("/contacts/{}", text(&ann["id"]))).bearer(app.secret_key());
        request.json(&change).send().await.assert_status(200);
        confirm(&app, &path).await;
        let mark = contact_by_email(&app, "mark@example.com").await.expect("a contact");
        assert_eq!(mark["subscribed"], false);
    }

    async fn who_is_subscribed_by_others_confirms_first(engine: Engine) {
        let app = App::start(engine).await;
        change_project(&app, &json!({"doubleOptIn": true})).await;
        let ann = create_contact(&app, "ann@example.com", true, json!({"locale": "fr"})).await;
        assert_eq!(ann["subscribed"], false);
        let open = pending(&app, &ann).await;
        assert_eq!((open.len(), &open[0]["topicId"]), (1, &json!(null)), "{open:?}");
        let mail = mail_to(&app, "ann@example.com").await;
        assert!(text(&mail["subject"]).contains("veuillez confirmer"), "{}", mail["subject"]);
        let template = create_template(&app, &json!({"type": "MARKETING"})).await;
        let marketing = json!({"to": "ann@example.com", "template": template["id"], "subscribed": true});
        app.send(marketing.clone()).await.assert_error(400, "BAD_REQUEST");

        let path = link(&app, &mail);
        for method in ["GET", "HEAD", "GET"] {
            app.request(method, &path).header("accept", "text/html").send().await.assert_status(200);
        }
        assert_eq!(contact(&app, &ann["id"]).await["subscribed"], false, "a GET confirms nothing");
        let page = app.request("GET", &path).send().await.text();
        assert!(page.contains("<html lang=\"fr\">") && page.contains("Confirmer"), "{page}");
        for _ in 0..2 {
            confirm(&app, &path).await.assert_status(200);
        }
        assert_eq!(contact(&app, &ann["id"]).await["subscribed"], true);
        assert_eq!(subscription_events(&app, &ann["id"]).await, ["contact.subscribed"]);
        assert!(pending(&app, &ann).await.is_empty());
        let entries = evidence(&app, &ann).await;
        let ways: Vec<(&str, &str)> = entries.iter().map(|(a, b, _)| (a.as_str(), b.as_str())).collect();
        assert_eq!(ways, [("confirmed", "page"), ("requested", "api")]);
        app.send(marketing).await.assert_status(200);
    }

    async fn a_second_request_within_a_day_sends_no_second_mail(engine: Engine) {
        let app = App::start(engine).await;
        change_project(&app, &json!({"doubleOptIn": true})).await;
        let ann = create_contact(&app, "ann@example.com", true, json!({})).await;
        mail_to(&app, "ann@example.com").await;
        let again = json!({"email": "ann@example.com", "event": "signup", "subscribed": true});
        app.post("/v1/track").json(&again).send().await.assert_status(200);
        app.advance(Duration::from_secs(5)).await;
        mail_to(&app, "ann@example.com").await;
        assert_eq!(evidence(&app, &ann).await.len(), 1);
        app.advance(Duration::from_hours(25)).await;
        app.post("/v1/track").json(&again).send().await.assert_status(200);
        app.advance(Duration::from_secs(5)).await;
        app.eventually("a second mail", async || {
            (app.mailbox_for("ann@example.com").await.len() == 2).then_some(())
        })
        .await;
    }

    async fn a_link_is_for_its_contact_and_for_thirty_days(engine: Engine) {
        let app = App::start(engine).await;
        change_project(&app, &json!({"doubleOptIn": true})).await;
        let ann = create_contact(&app, "ann@example.com", true, json!({})).await;
        let bob = create_contact(&app, "bob@example.com", true, json!({})).await;
        let path = link(&app, &mail_to(&app, "ann@example.com").await);
        let (_, tag) = path.split_once("?t=").expect("a tag");
        let forged = format!("{}0{}", &tag[..40], &tag[41..]);
        let mut wrong = vec![
            format!("/confirm/{}?t={tag}", text(&bob["id"])),
            format!("/confirm/{}", text(&ann["id"])),
            format!("/confirm/{}?t={}", text(&ann["id"]), &tag[..48]),
            "/confirm/nobody?t=00".to_owned(),
        ];
        if forged != tag {
            wrong.push(format!("/confirm/{}?t={forged}", text(&ann["id"])));
        }
        for path in wrong {
            confirm(&app, &path).await.assert_status(404);
            app.request("GET", &path).send().await.assert_status(404);
        }
        app.advance(Duration::from_hours(30 * 24 + 1)).await;
        confirm(&app, &path).await.assert_status(404);
        for known in [&ann, &bob] {
            assert_eq!(contact(&app, &known["id"]).await["subscribed"], false);
        }
        // who refuses is not pending any more, and the link of the mail is dead
        app.post("/contacts").json(&json!({"email": "bob@example.com", "subscribed": true})).send().await;
        app.request("POST", &format!("/unsubscribe/{}", text(&bob["id"]))).send().await.assert_status(200);
        assert!(pending(&app, &bob).await.is_empty());
    }

    async fn the_mail_comes_from_the_template_of_the_project(engine: Engine) {
        let app = App::start(engine).await;
        let changes = json!({"type": "TRANSACTIONAL", "subject": "Well, {{name}}?", "body": "<p><a href=\"{{confirmUrl}}\">Yes</a></p>"});
        let template = create_template(&app, &changes).await;
        let settings = json!({"doubleOptIn": true, "confirmationTemplateId": template["id"]});
        let shown = change_project(&app, &settings).await;
        assert_eq!((&shown["doubleOptIn"], &shown["confirmationTemplateId"]), (&json!(true), &template["id"]));
        let ann = create_contact(&app, "ann@example.com", true, json!({"name": "Ann"})).await;
        let mail = mail_to(&app, "ann@example.com").await;
        assert_eq!(mail["subject"], "Well, Ann?");
        confirm(&app, &link(&app, &mail)).await.assert_status(200);
        assert_eq!(contact(&app, &ann["id"]).await["subscribed"], true);
        // without the link it asks for nothing
        let path = format!("/templates/{}", text(&template["id"]));
        app.patch(&path).json(&json!({"body": "<p>Hello</p>"})).send().await.assert_status(200);
        create_contact(&app, "bob@example.com", true, json!({})).await;
        link(&app, &mail_to(&app, "bob@example.com").await);
    }

    async fn an_import_asks_everybody(engine: Engine) {
        let app = App::start(engine).await;
        change_project(&app, &json!({"doubleOptIn": true})).await;
        let rows: Vec<_> = (0..250).map(|n| format!("p{n}@example.com")).collect();
        let rows = rows.join("\n");
        let file = format!(
            "--limit\r\nContent-Disposition: form-data; name=\"file\"; filename=\"c.csv\"\r\n\
             Content-Type: text/csv\r\n\r\nemail\n{rows}\n\r\n--limit--\r\n"
        );
        let request = app.post("/contacts/import").body(file, "multipart/form-data; boundary=limit");
        request.send().await.assert_status(202);
        app.eventually_within(Duration::from_mins(1), "everybody is asked", async || {
            let emails = read(&app, "/emails?limit=1").await;
            (emails["total"] == 250).then_some(())
        })
        .await;
        let last = contact_by_email(&app, "p249@example.com").await.expect("a contact");
        assert_eq!(last["subscribed"], false);
        let ways = evidence(&app, &last).await;
        assert_eq!(ways, [("requested".to_owned(), "import".to_owned(), json!(null))]);
        link(&app, &mail_to(&app, "p249@example.com").await);
    }

    async fn a_topic_asks_who_is_put_into_it(engine: Engine) {
        let app = App::start(engine).await;
        let ann = create_contact(&app, "ann@example.com", true, json!({})).await;
        let club = topic(&app, "Club", &json!({"defaultSubscribed": false, "doubleOptIn": true})).await;
        set(&app, &ann, &club, true).await;
        let asked = standing(&app, &ann, &club).await;
        assert_eq!((&asked["subscribed"], &asked["pending"]), (&json!(false), &json!(true)), "{asked}");
        let mail = mail_to(&app, "ann@example.com").await;
        assert!(text(&mail["html"]).contains("Club"), "{mail}");
        let template = create_template(&app, &json!({"type": "MARKETING", "topicId": club["id"]})).await;
        let send = with(json!({"to": "ann@example.com"}), &json!({"template": template["id"]}));
        app.send(send.clone()).await.assert_error(400, "BAD_REQUEST");
        confirm(&app, &link(&app, &mail)).await.assert_status(200);
        let now = standing(&app, &ann, &club).await;
        assert_eq!((&now["subscribed"], &now["pending"]), (&json!(true), &json!(false)), "{now}");
        app.send(send).await.assert_status(200);
        assert!(events_of(&app, &ann["id"]).await.iter().all(|event| event["name"] != "contact.subscribed"));

        // on its own page somebody joins without being asked
        let bob = create_contact(&app, "bob@example.com", true, json!({})).await;
        let id = text(&club["id"]);
        let form = app.request("POST", &format!("/manage/{}", text(&bob["id"])));
        let form = form.body(format!("shown={id}&topic={id}"), "application/x-www-form-urlencoded");
        form.send().await.assert_status(200);
        assert_eq!(standing(&app, &bob, &club).await["subscribed"], true);
        assert!(app.mailbox_for("bob@example.com").await.is_empty());
    }
}
