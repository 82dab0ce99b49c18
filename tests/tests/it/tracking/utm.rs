//! UTM parameters, which are added to targets by setting.

use mailwright_testkit::{Engine, OWNER, Value, both_engines, json};
use mailwright_tests::browser::Browser;
use mailwright_tests::{create_contact, create_template, issues, send_ok, text};

use super::{Mail, PERSON, campaign, events, judged, later, sent, set, start, target};

/// The targets of the links of a mail.
async fn targets(app: &mailwright_testkit::App, mail: &Mail) -> Vec<String> {
    let mut found = Vec::new();
    for link in mail.links() {
        found.push(target(app, &link, PERSON).await);
    }
    found
}

both_engines! {
    async fn they_are_added_and_override_nothing(engine: Engine) {
        let app = start(engine).await;
        let utm = json!({"source": "news letter", "medium": "mail", "campaign": "50% & more"});
        assert_eq!(set(&app, &json!({"utm": utm})).await["utm"], utm);
        let body = "<a href=\"https://a.test\">1</a><a href=\"https://a.test/p?q=1#part\">2</a>\
            <a href=\"https://a.test/?utm_source=own&amp;x\">3</a>\
            <a href=\"https://a.test/?utm_medium=&amp;utm_campaign=c&amp;utm_source=s\">4</a>\
            <a href=\"{{url}}\">5</a><a href=\"https://a.test/?UTM_source=x\">6</a><a href=\"https://a.test/#?utm_source=f\">7</a>";
        let mail = sent(&app, &json!({"body": body, "data": {"url": "https://v.test/?a=%26"}})).await;
        let all = "utm_source=news+letter&utm_medium=mail&utm_campaign=50%25+%26+more";
        assert_eq!(targets(&app, &mail).await, [
            format!("https://a.test/?{all}"),
            format!("https://a.test/p?q=1&{all}#part"),
            "https://a.test/?utm_source=own&x&utm_medium=mail&utm_campaign=50%25+%26+more".to_owned(),
            "https://a.test/?utm_medium=&utm_campaign=c&utm_source=s".to_owned(),
            format!("https://v.test/?a=%26&{all}"),
            format!("https://a.test/?UTM_source=x&{all}"),
            format!("https://a.test/?{all}#?utm_source=f"),
        ]);
        assert!(!mail.html.contains("utm_") && mail.text.contains("https://a.test/p?q=1#part"), "{}", mail.text);
    }

    async fn the_campaign_is_named_by_itself(engine: Engine) {
        let app = start(engine).await;
        create_contact(&app, "ann@example.com", true, json!({})).await;
        let set_to = set(&app, &json!({"utm": {"source": "acme"}})).await;
        assert_eq!(set_to["utm"], json!({"source": "acme", "medium": "email", "campaign": null}));
        let body = "<a href=\"https://a.test/\">1</a>";
        let (_, mails) = campaign(&app, &json!({"body": body, "name": "Spring & sale"})).await;
        assert_eq!(targets(&app, &mails[0]).await, ["https://a.test/?utm_source=acme&utm_medium=email&utm_campaign=Spring+%26+sale"]);
        let template = create_template(&app, &json!({"name": "Welcome", "body": body})).await;
        let data = send_ok(&app, json!({"to": "ann@example.com", "template": template["id"]})).await;
        let mail = Mail::of(&app, text(&data["emails"][0]["email"])).await;
        assert_eq!(targets(&app, &mail).await, ["https://a.test/?utm_source=acme&utm_medium=email&utm_campaign=Welcome"]);
        let inline = sent(&app, &json!({"body": body})).await;
        assert_eq!(targets(&app, &inline).await, ["https://a.test/?utm_source=acme&utm_medium=email"]);
        // an own name stands before that of the campaign, an empty value adds nothing
        set(&app, &json!({"utm": {"source": "", "campaign": "own"}})).await;
        assert_eq!(targets(&app, &mails[0]).await, ["https://a.test/?utm_medium=email&utm_campaign=own"]);
        set(&app, &json!({"utm": {"source": "", "medium": ""}})).await;
        assert_eq!(targets(&app, &inline).await, ["https://a.test/"]);
        set(&app, &json!({"utm": null})).await;
        assert_eq!(targets(&app, &mails[0]).await, ["https://a.test/"]);
    }

    async fn events_and_lists_tell_the_link_that_stood_in_the_mail(engine: Engine) {
        let app = start(engine).await;
        set(&app, &json!({"utm": {"source": "acme"}})).await;
        let mail = sent(&app, &json!({})).await;
        later(&app).await;
        target(&app, &mail.links()[0], PERSON).await;
        let hits = judged(&app, &mail, 1).await;
        assert_eq!(hits[0]["url"], "https://shop.test/one");
        assert_eq!(events(&app, &mail, "email.click").await[0]["data"]["link"], "https://shop.test/one");
    }

    async fn the_setting_is_checked_and_shown(engine: Engine) {
        let app = start(engine).await;
        let owner = Browser::log_in(&app, OWNER.0, OWNER.1).await;
        let path = format!("/users/@me/projects/{}", app.project_id());
        let patch = |utm: Value| owner.request(&app, "PATCH", &path).json(&json!({"utm": utm})).send();
        let long = "x".repeat(101);
        for (wrong, field) in [
            (json!({"source": long}), "utm.source"),
            (json!({"source": "a", "medium": long}), "utm.medium"),
            (json!({"source": "a", "campaign": long}), "utm.campaign"),
            (json!({"source": 1}), "utm.source"),
        ] {
            assert_eq!(issues(&patch(wrong.clone()).await)[0].0, field, "{wrong}");
        }
        for wrong in [json!({}), json!("acme"), json!([])] {
            assert!(!issues(&patch(wrong.clone()).await).is_empty(), "{wrong}");
        }
        let made = patch(json!({"source": "é".repeat(100)})).await.assert_status(200).json();
        assert_eq!(made["utm"]["source"], "é".repeat(100));
        // another setting leaves it as it is
        let renamed = owner.request(&app, "PATCH", &path).json(&json!({"name": "Apollo"})).send().await.json();
        assert_eq!(renamed["utm"], made["utm"]);
    }
}
