//! Topics as their project manages them.

use mailwright_testkit::{App, Engine, OWNER, both_engines, json};
use mailwright_tests::browser::Browser;
use mailwright_tests::{
    UNKNOWN_ID, assert_keys, column, create_contact, create_template, issues, read, text,
};

use super::{set, standing, topic};

both_engines! {
    async fn topics_are_listed_in_their_order_and_changed(engine: Engine) {
        let app = App::start(engine).await;
        let news = topic(&app, "News", &json!({})).await;
        let fields = [
            "id", "name", "description", "visibility", "defaultSubscribed", "doubleOptIn", "position", "projectId",
            "createdAt", "updatedAt",
        ];
        assert_keys(&news, &fields);
        assert_eq!(news["visibility"], "PUBLIC");
        assert_eq!((&news["defaultSubscribed"], &news["doubleOptIn"]), (&json!(true), &json!(false)));
        let offers = topic(&app, "Offers", &json!({"visibility": "PRIVATE", "defaultSubscribed": false})).await;
        assert!(offers["position"].as_i64() > news["position"].as_i64(), "{offers}");
        let path = format!("/topics/{}", text(&offers["id"]));
        let changes = json!({"position": 0, "name": "Deals", "description": "Cheap", "doubleOptIn": true});
        let changed = app.patch(&path).json(&changes).send().await.assert_status(200).json();
        assert_eq!(read(&app, &path).await, changed);
        assert_eq!((&changed["name"], &changed["description"]), (&json!("Deals"), &json!("Cheap")));
        assert_eq!(column(&read(&app, "/topics").await["data"], "name"), ["Deals", "News"]);

        app.delete(&path).send().await.assert_status(204);
        for request in [app.get(&path), app.delete(&path), app.patch(&path).json(&json!({"name": "x"}))] {
            request.send().await.assert_error(404, "RESOURCE_NOT_FOUND");
        }
        assert_eq!(column(&read(&app, "/topics").await["data"], "name"), ["News"]);
        let owner = Browser::log_in(&app, OWNER.0, OWNER.1).await;
        let audit = owner.audit(&app, app.project_id()).await;
        for action in ["topic.created", "topic.updated", "topic.deleted"] {
            assert!(audit.iter().any(|entry| entry["action"] == action), "{action}");
        }
    }

    async fn every_failing_field_is_named(engine: Engine) {
        let app = App::start(engine).await;
        let body = json!({"name": "x".repeat(101), "description": "x".repeat(501), "position": 10_000});
        let refused = app.post("/topics").json(&body).send().await.assert_status(422);
        let named = issues(&refused);
        for field in ["name", "description"] {
            assert!(named.contains(&(field.to_owned(), "too_big".to_owned())), "{named:?}");
        }
        let refused = app.post("/topics").json(&json!({"name": "News", "position": -1})).send().await;
        assert_eq!(issues(&refused), [("position".to_owned(), "too_small".to_owned())]);
    }

    async fn a_topic_that_is_used_stays(engine: Engine) {
        let app = App::start(engine).await;
        let news = topic(&app, "News", &json!({})).await;
        let template = create_template(&app, &json!({"topicId": news["id"]})).await;
        assert_eq!(template["topicId"], news["id"]);
        let path = format!("/topics/{}", text(&news["id"]));
        app.delete(&path).send().await.assert_error(409, "CONFLICT");
        let of_template = format!("/templates/{}", text(&template["id"]));
        app.patch(&of_template).json(&json!({"topicId": UNKNOWN_ID})).send().await.assert_status(404);
        let freed = app.patch(&of_template).json(&json!({"topicId": null})).send().await.assert_status(200);
        assert_eq!(freed.json()["topicId"], json!(null));
        app.delete(&path).send().await.assert_status(204);
    }

    async fn a_contact_is_in_a_topic_by_choice_or_by_default(engine: Engine) {
        let app = App::start(engine).await;
        let ann = create_contact(&app, "ann@example.com", true, json!({})).await;
        let (news, offers) =
            (topic(&app, "News", &json!({})).await, topic(&app, "Offers", &json!({"defaultSubscribed": false})).await);
        for (topic, default) in [(&news, true), (&offers, false)] {
            let at_first = standing(&app, &ann, topic).await;
            assert_eq!((&at_first["subscribed"], &at_first["chosen"]), (&json!(default), &json!(false)));
            set(&app, &ann, topic, !default).await;
            let chosen = standing(&app, &ann, topic).await;
            assert_eq!((&chosen["subscribed"], &chosen["chosen"]), (&json!(!default), &json!(true)));
            let path = format!("/topics/{}", text(&topic["id"]));
            app.patch(&path).json(&json!({"defaultSubscribed": !default})).send().await.assert_status(200);
            assert_eq!(standing(&app, &ann, topic).await["subscribed"], json!(!default), "a choice stays");
        }
        let path = format!("/contacts/{UNKNOWN_ID}/topics");
        app.get(&path).send().await.assert_error(404, "CONTACT_NOT_FOUND");
    }

    async fn topics_of_others_are_not_seen(engine: Engine) {
        let app = App::start(engine).await;
        let news = topic(&app, "News", &json!({})).await;
        let other = app.bootstrap("Other", "other.test").await;
        let path = format!("/topics/{}", text(&news["id"]));
        app.request("GET", &path).bearer(&other.secret_key).send().await.assert_status(404);
        let list = app.request("GET", "/topics").bearer(&other.secret_key).send().await.assert_status(200).json();
        assert_eq!(list["data"], json!([]));
    }
}
