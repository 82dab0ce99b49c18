//! POST /contacts/search.

use futures_util::future::join_all;
use mailwright_testkit::{App, Engine, Response, both_engines};
use mailwright_tests::{
    UNKNOWN_ID, as_project, column, create_contact, items, make_events_endless, read, text,
};
use serde_json::{Value, json};

async fn search(app: &App, body: &Value) -> Response {
    app.post("/contacts/search").json(body).send().await
}

/// A condition of one filter.
fn only(filter: &Value) -> Value {
    json!({"logic": "AND", "groups": [{"filters": [filter]}]})
}

fn plan(value: &str) -> Value {
    only(&json!({"field": "data.plan", "operator": "equals", "value": value}))
}

/// The addresses of all pages, first to last, checking what every page promises.
async fn all_of(app: &App, query: &Value) -> Vec<String> {
    let (mut query, mut found, mut total) = (query.clone(), Vec::new(), None);
    loop {
        let page = search(app, &query).await.assert_status(200).json();
        let counted = *total.get_or_insert(page["total"].as_u64().expect("a number"));
        assert_eq!(page["total"], if found.is_empty() { counted } else { 0 }, "only the first page counts");
        found.extend(column(&page["data"], "email").into_iter().map(str::to_owned));
        if page["hasMore"] == false {
            assert_eq!(page["cursor"], Value::Null);
            assert_eq!(found.len() as u64, counted, "{query}");
            return found;
        }
        query["cursor"] = page["cursor"].clone();
        assert!(found.len() < 500, "the list does not end");
    }
}

both_engines! {
    async fn pages_of_any_order_have_each_contact_once(engine: Engine) {
        let app = App::start(engine).await;
        let other = app.bootstrap("Other", "other.example").await;
        let stranger = json!({"email": "c00@example.com", "data": {"plan": "pro"}});
        as_project(&app, &other, "POST", "/contacts").json(&stranger).send().await.assert_status(201);
        let numbers: Vec<usize> = (0..90).map(|n| n * 7 % 90).collect();
        for group in numbers.chunks(30) {
            let made = group.iter().map(async |n| {
                let plan = if n % 3 == 0 { "free" } else { "pro" };
                create_contact(&app, &format!("c{n:02}@example.com"), n % 2 == 0, json!({"plan": plan})).await
            });
            join_all(made).await;
        }
        // the list has all of them in the same order
        for (sort, dir) in [("email", "asc"), ("email", "desc"), ("createdAt", "asc"), ("createdAt", "desc")] {
            let listed = read(&app, &format!("/contacts?limit=100&sort={sort}&dir={dir}")).await;
            let contacts = items(&listed["data"]);
            let emails = |wanted: &dyn Fn(&Value) -> bool| {
                let found = contacts.iter().filter(|contact| wanted(contact));
                found.map(|contact| text(&contact["email"]).to_owned()).collect::<Vec<_>>()
            };
            let pro = |contact: &Value| contact["data"]["plan"] == "pro";
            let query = json!({"condition": plan("pro"), "sort": sort, "dir": dir, "limit": 7});
            assert_eq!(all_of(&app, &query).await, emails(&pro), "{sort} {dir}");
            let mut with = query.clone();
            with["subscribed"] = json!(true);
            let subscribed = |contact: &Value| pro(contact) && contact["subscribed"] == true;
            assert_eq!(all_of(&app, &with).await, emails(&subscribed), "{with}");
            with["search"] = json!("C4");
            let searched = |contact: &Value| subscribed(contact) && text(&contact["email"]).contains("c4");
            assert_eq!(all_of(&app, &with).await, emails(&searched), "{with}");
            assert!(!emails(&searched).is_empty());
            let without = json!({"sort": sort, "dir": dir, "limit": 100});
            assert_eq!(search(&app, &without).await.assert_status(200).json(), listed);
        }
        let listed = read(&app, "/contacts").await;
        assert_eq!(search(&app, &json!({})).await.assert_status(200).json(), listed, "the defaults are the list's");
    }

    async fn it_looks_at_events_and_other_segments(engine: Engine) {
        let app = App::start(engine).await;
        for n in 0..6 {
            let email = format!("c{n}@example.com");
            create_contact(&app, &email, true, json!({"n": n})).await;
            if n % 2 == 0 {
                app.track(json!({"email": email, "event": "seen"})).await.assert_status(200);
            }
        }
        let seen = only(&json!({"field": "event.seen", "operator": "triggered"}));
        let query = json!({"condition": seen, "sort": "email", "dir": "asc", "limit": 2});
        assert_eq!(all_of(&app, &query).await, ["c0@example.com", "c2@example.com", "c4@example.com"]);
        let query = json!({"condition": seen, "sort": "email", "dir": "asc", "search": "c2@"});
        assert_eq!(all_of(&app, &query).await, ["c2@example.com"]);
        let segment = json!({"name": "Seen", "condition": seen});
        let segment = app.post("/segments").json(&segment).send().await.assert_status(201).json();
        let field = format!("segment.{}", text(&segment["id"]));
        let not = only(&json!({"field": field, "operator": "notMemberOfSegment"}));
        let query = json!({"condition": not, "limit": 1});
        assert_eq!(all_of(&app, &query).await, ["c5@example.com", "c3@example.com", "c1@example.com"]);
    }

    async fn every_wrong_member_is_named(engine: Engine) {
        let app = App::start(engine).await;
        create_contact(&app, "ann@example.com", true, json!({})).await;
        let unknown = json!({"field": format!("segment.{UNKNOWN_ID}"), "operator": "memberOfSegment"});
        let wrong = json!({"field": "data.plan", "operator": "resembles"});
        for condition in [json!({}), only(&unknown), only(&wrong)] {
            let refused = search(&app, &json!({"condition": condition})).await;
            let refused = refused.assert_error(400, "VALIDATION_ERROR");
            let segment = json!({"name": "New", "condition": condition});
            let as_segment = app.post("/segments").json(&segment).send().await;
            assert_eq!(refused["errors"], as_segment.assert_error(400, "VALIDATION_ERROR")["errors"]);
        }
        for (member, value) in [
            ("condition", json!([])),
            ("limit", json!(0)),
            ("limit", json!(101)),
            ("limit", json!("many")),
            ("sort", json!("updatedAt")),
            ("dir", json!("up")),
            ("subscribed", json!("yes")),
            ("search", json!(5)),
        ] {
            let refused = search(&app, &json!({member: value})).await.assert_error(422, "VALIDATION_ERROR");
            assert_eq!(column(&refused["errors"], "field"), [member], "{value}");
        }
        for cursor in [UNKNOWN_ID, "nonsense"] {
            for condition in [Value::Null, plan("pro")] {
                let body = json!({"condition": condition, "cursor": cursor});
                search(&app, &body).await.assert_error(400, "BAD_REQUEST");
            }
        }
    }

    async fn a_search_that_takes_too_long_is_given_up(engine: Engine) {
        let app = App::builder(engine).env("MAILWRIGHT_DATABASE_SLOW_READ_MS", "700").start().await;
        app.track(json!({"email": "ann@example.com", "event": "seen"})).await.assert_status(200);
        make_events_endless(&app).await;
        let seen = only(&json!({"field": "event.seen", "operator": "triggered"}));
        search(&app, &json!({"condition": seen})).await.assert_error(503, "DATABASE_ERROR");
        assert_eq!(items(&read(&app, "/contacts").await["data"]).len(), 1);
    }
}
