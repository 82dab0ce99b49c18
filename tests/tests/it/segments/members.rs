//! The lists of static segments.

use mailwright_testkit::{App, Engine, Response, both_engines};
use mailwright_tests::{contact_by_email, create_contact, issues, read, text};
use serde_json::{Value, json};

use super::{at, count, dynamic, eventually_moves, list_of, member_of, members, plan, tracked};

async fn add(app: &App, segment: &Value, body: Value) -> Response {
    app.post(&at(segment, "/members")).json(&body).send().await
}

async fn remove(app: &App, segment: &Value, body: Value) -> Response {
    app.delete(&at(segment, "/members")).json(&body).send().await
}

both_engines! {
    async fn contacts_are_put_on_a_list_and_taken_off(engine: Engine) {
        let app = App::start(engine).await;
        for email in ["ann@example.com", "bob@example.com", "cid@example.com"] {
            create_contact(&app, email, true, json!({})).await;
        }
        let list = list_of(&app, "List", &[]).await;
        let body = json!({"emails": ["Bob@Example.com", "bob@example.com", "nobody@example.com", "not an address"]});
        let added = add(&app, &list, body).await.assert_status(200).json();
        assert_eq!(added, json!({"added": 1, "created": 0, "notFound": ["nobody@example.com", "not an address"]}));
        let added = add(&app, &list, json!({"emails": ["ann@example.com", "bob@example.com"]})).await.assert_status(200).json();
        assert_eq!(added, json!({"added": 2, "created": 0, "notFound": []}), "members count as added");
        assert_eq!(count(&app, &list).await, 2);
        assert_eq!(members(&app, &list).await, ["ann@example.com", "bob@example.com"], "newest membership first");

        let removed = remove(&app, &list, json!({"emails": ["ANN@example.com", "cid@example.com", "nobody@example.com"]})).await;
        assert_eq!(removed.assert_status(200).json(), json!({"removed": 2}), "contacts found, members or not");
        assert_eq!((members(&app, &list).await, count(&app, &list).await), (vec!["bob@example.com".to_owned()], json!(1)));
        // who left can come back, and is the newest then
        add(&app, &list, json!({"emails": ["ann@example.com"]})).await.assert_status(200);
        assert_eq!(members(&app, &list).await, ["ann@example.com", "bob@example.com"]);
        assert_eq!(read(&app, "/events").await, json!({"events": []}), "lists emit no events");
        let page = read(&app, &at(&list, "/contacts?page=2&pageSize=1")).await;
        assert_eq!((&page["data"][0]["email"], &page["total"], &page["totalPages"]), (&json!("bob@example.com"), &json!(2), &json!(2)));
    }

    async fn missing_contacts_are_created_when_asked(engine: Engine) {
        let app = App::start(engine).await;
        create_contact(&app, "old@example.com", false, json!({})).await;
        let list = list_of(&app, "List", &[]).await;
        let body = json!({"emails": ["new@example.com", "NEW@example.com", "old@example.com", "nonsense"], "createMissing": true});
        let added = add(&app, &list, body).await.assert_status(200).json();
        assert_eq!(added, json!({"added": 2, "created": 1, "notFound": ["nonsense"]}));
        let body = json!({"emails": ["quiet@example.com", "old@example.com"], "createMissing": true, "subscribed": false});
        let added = add(&app, &list, body).await.assert_status(200).json();
        assert_eq!(added, json!({"added": 2, "created": 1, "notFound": []}));
        for (email, subscribed) in [("new@example.com", true), ("quiet@example.com", false), ("old@example.com", false)] {
            let contact = contact_by_email(&app, email).await.unwrap_or_else(|| panic!("{email} exists"));
            assert_eq!(contact["subscribed"], subscribed, "{email}");
        }
        assert_eq!(count(&app, &list).await, 3);
    }

    async fn wrong_lists_of_addresses_are_refused(engine: Engine) {
        let app = App::start(engine).await;
        let list = list_of(&app, "List", &[]).await;
        for body in [json!({}), json!({"emails": []}), json!({"emails": "ann@example.com"}), json!({"emails": null})] {
            assert_eq!(issues(&add(&app, &list, body.clone()).await)[0].0, "emails");
            assert_eq!(issues(&remove(&app, &list, body).await)[0].0, "emails");
        }
        let many: Vec<String> = (0..501).map(|n| format!("c{n}@example.com")).collect();
        let pair = [("emails".to_owned(), "too_big".to_owned())];
        assert_eq!(issues(&add(&app, &list, json!({"emails": many})).await), pair);
        assert_eq!(issues(&remove(&app, &list, json!({"emails": many})).await), pair);
        assert_eq!(issues(&add(&app, &list, json!({"emails": [5]})).await)[0].0, "emails.0");
        let body = json!({"emails": many[..500], "createMissing": true});
        let added = add(&app, &list, body).await.assert_status(200).json();
        assert_eq!((&added["added"], &added["created"]), (&json!(500), &json!(500)));
        assert_eq!(count(&app, &list).await, 500);

        let pro = dynamic(&app, "Pro", &plan("pro")).await;
        for response in [
            add(&app, &pro, json!({"emails": ["ann@example.com"]})).await,
            remove(&app, &pro, json!({"emails": ["ann@example.com"]})).await,
        ] {
            response.assert_error(400, "BAD_REQUEST");
        }
    }

    async fn a_deleted_contact_leaves_its_segments(engine: Engine) {
        let app = App::start(engine).await;
        let list = list_of(&app, "List", &["ann@example.com", "bob@example.com"]).await;
        let ann = contact_by_email(&app, "ann@example.com").await.expect("ann exists");
        app.delete(&format!("/contacts/{}", text(&ann["id"]))).send().await.assert_status(204);
        assert_eq!((members(&app, &list).await, count(&app, &list).await), (vec!["bob@example.com".to_owned()], json!(1)));
    }

    async fn tracked_segments_follow_a_list(engine: Engine) {
        let app = App::start(engine).await;
        let list = list_of(&app, "List", &[]).await;
        tracked(&app, "Listed", &member_of(&list)).await;
        let ann = create_contact(&app, "ann@example.com", true, json!({})).await;
        add(&app, &list, json!({"emails": ["ann@example.com"]})).await.assert_status(200);
        eventually_moves(&app, &ann["id"], &["segment.listed.entry"]).await;
        remove(&app, &list, json!({"emails": ["ann@example.com"]})).await.assert_status(200);
        eventually_moves(&app, &ann["id"], &["segment.listed.entry", "segment.listed.exit"]).await;
    }
}
