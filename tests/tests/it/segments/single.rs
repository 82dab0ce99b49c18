//! Making, reading, changing and removing segments.

use mailwright_testkit::{App, Engine, both_engines, one_engine};
use mailwright_tests::{
    UNKNOWN_ID, as_project, assert_keys, assert_legacy, assert_timestamp, assert_uuid, column,
    create_contact, issues, items, read, shown, text,
};
use serde_json::{Value, json};

use super::{at, count, create, dynamic, list_of, member_of, members, only, patch, plan, post, tracked};

const KEYS: [&str; 10] = [
    "id",
    "name",
    "description",
    "type",
    "condition",
    "trackMembership",
    "memberCount",
    "projectId",
    "createdAt",
    "updatedAt",
];

/// The pairs of field and code of a refused condition.
async fn refused(app: &App, condition: Value) -> Vec<(String, String)> {
    let response = post(app, &json!({"name": "Wrong", "condition": condition})).await;
    let error = response.assert_error(400, "VALIDATION_ERROR");
    let pair = |issue: &Value| (text(&issue["field"]).to_owned(), text(&issue["code"]).to_owned());
    items(&error["errors"]).iter().map(pair).collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(field, code)| ((*field).to_owned(), (*code).to_owned())).collect()
}

both_engines! {
    async fn a_dynamic_segment_has_whom_its_condition_finds(engine: Engine) {
        let app = App::start(engine).await;
        assert_eq!(read(&app, "/segments").await, json!([]));
        for (email, plan) in [("ann@example.com", "pro"), ("bob@example.com", "pro"), ("cid@example.com", "free")] {
            create_contact(&app, email, true, json!({"plan": plan})).await;
        }
        let condition = plan("pro");
        let created = create(&app, json!({"name": "Pro", "description": "Who pays", "condition": condition})).await;
        assert_keys(&created, &KEYS);
        assert_uuid(&created["id"]);
        assert_timestamp(&created["createdAt"]);
        assert_eq!(created["type"], "DYNAMIC");
        assert_eq!((&created["name"], &created["description"]), (&json!("Pro"), &json!("Who pays")));
        assert_eq!((&created["condition"], &created["trackMembership"]), (&condition, &json!(false)));
        assert_eq!(created["memberCount"], 2);
        assert_eq!(created["projectId"], app.project_id());
        assert_eq!(read(&app, &at(&created, "")).await, created);
        assert_eq!(members(&app, &created).await, ["bob@example.com", "ann@example.com"], "newest first");

        // the list is live, the count is cached
        create_contact(&app, "dee@example.com", true, json!({"plan": "pro"})).await;
        assert_eq!(members(&app, &created).await, ["dee@example.com", "bob@example.com", "ann@example.com"]);
        assert_eq!(count(&app, &created).await, 2);
        let refreshed = app.post(&at(&created, "/refresh")).send().await.assert_status(200).json();
        assert_eq!(refreshed, json!({"memberCount": 3}));
        assert_eq!(count(&app, &created).await, 3);

        let second = dynamic(&app, "Everybody", &only(&json!({"field": "email", "operator": "contains", "value": "@"}))).await;
        assert_eq!(second["memberCount"], 4);
        let list = read(&app, "/segments").await;
        assert_eq!(column(&list, "id"), [text(&second["id"]), text(&created["id"])], "newest first");
    }

    async fn members_come_in_pages(engine: Engine) {
        let app = App::start(engine).await;
        let emails: Vec<String> = (0..7).map(|n| format!("c{n}@example.com")).collect();
        for email in &emails {
            create_contact(&app, email, true, json!({"plan": "pro"})).await;
        }
        let segment = dynamic(&app, "Pro", &plan("pro")).await;
        let newest_first: Vec<&str> = emails.iter().rev().map(String::as_str).collect();
        for (page, expected) in [(1, &newest_first[..3]), (2, &newest_first[3..6]), (3, &newest_first[6..]), (4, &[])] {
            let body = read(&app, &at(&segment, &format!("/contacts?page={page}&pageSize=3"))).await;
            assert_eq!(column(&body["data"], "email"), expected);
            assert_eq!(body["total"], 7);
            assert_eq!((&body["page"], &body["pageSize"], &body["totalPages"]), (&json!(page), &json!(3), &json!(3)));
        }
        for (query, page, size) in [("", 1, 20), ("?pageSize=1000", 1, 100), ("?page=0&pageSize=0", 1, 20), ("?page=-3", 1, 20)] {
            let body = read(&app, &at(&segment, &format!("/contacts{query}"))).await;
            assert_eq!((&body["page"], &body["pageSize"]), (&json!(page), &json!(size)), "{query}");
            assert_eq!(items(&body["data"]).len(), 7);
        }
    }

    /// PostgreSQL would plan for most of a minute if it were asked to join them all.
    async fn a_filter_can_have_200_conditions_on_events(engine: Engine) {
        let app = App::start(engine).await;
        for email in ["ann@example.com", "bob@example.com"] {
            app.track(json!({"email": email, "event": "seen"})).await.assert_status(200);
        }
        app.track(json!({"email": "ann@example.com", "event": "paid"})).await.assert_status(200);
        let filter = |name| json!({"field": name, "operator": "triggered"});
        let mut filters = vec![filter("paid")];
        filters.resize(200, filter("seen"));
        let condition = json!({"logic": "AND", "groups": [{"filters": filters}]});
        let segment = dynamic(&app, "Both", &condition).await;
        assert_eq!(members(&app, &segment).await, ["ann@example.com"]);
    }

    /// PostgreSQL stores none.
    async fn a_condition_holds_no_nul(engine: Engine) {
        let app = App::start(engine).await;
        let with_note = |note: &str| {
            let mut condition = plan("pro");
            condition["note"] = json!({ note: [] });
            condition
        };
        assert_eq!(refused(&app, with_note("a\0b")).await, pairs(&[("condition", "invalid_string")]));
        let made = dynamic(&app, "Noted", &with_note("a b")).await;
        let changed = patch(&app, &made, json!({"condition": with_note("\0")})).await;
        changed.assert_error(400, "VALIDATION_ERROR");
        let campaign = json!({
            "name": "n", "subject": "s", "body": "b", "from": app.from(),
            "audienceType": "FILTERED", "audienceCondition": with_note("\0"),
        });
        app.post("/campaigns").json(&campaign).send().await.assert_error(422, "VALIDATION_ERROR");
    }

    async fn segments_refer_to_segments_of_their_project(engine: Engine) {
        let app = App::start(engine).await;
        let other = app.bootstrap("Neighbour", "neighbour.example").await;
        let foreign = as_project(&app, &other, "POST", "/segments").json(&json!({"name": "Theirs", "type": "STATIC"}));
        let foreign = foreign.send().await.assert_status(201).json();
        for id in [UNKNOWN_ID, text(&foreign["id"])] {
            let condition = member_of(&json!({"id": id}));
            assert_eq!(refused(&app, condition).await, pairs(&[("condition.groups.0.filters.0.field", "custom")]));
        }
        for contact in ["ann@example.com", "bob@example.com"] {
            create_contact(&app, contact, true, json!({"plan": "pro"})).await;
        }
        let listed = list_of(&app, "Listed", &["ann@example.com"]).await;
        let pro = dynamic(&app, "Pro", &plan("pro")).await;
        let both = json!({"logic": "AND", "groups": [{"filters": [
            {"field": format!("segment.{}", text(&listed["id"])), "operator": "notMemberOfSegment"},
            {"field": format!("segment.{}", text(&pro["id"])), "operator": "memberOfSegment"}]}]});
        let both = dynamic(&app, "Both", &both).await;
        assert_eq!(members(&app, &both).await, ["bob@example.com"]);
        assert_eq!(both["memberCount"], 1);
    }

    async fn circles_are_refused(engine: Engine) {
        let app = App::start(engine).await;
        let first = dynamic(&app, "First", &plan("pro")).await;
        let second = tracked(&app, "Second", &member_of(&first)).await;
        let third = dynamic(&app, "Third", &member_of(&second)).await;
        for target in [&first, &second, &third] {
            let error = patch(&app, &first, json!({"condition": member_of(target)})).await;
            let error = error.assert_error(400, "VALIDATION_ERROR");
            assert_eq!(error["errors"][0]["field"], "condition");
        }
        assert_eq!(read(&app, &at(&first, "")).await["condition"], plan("pro"), "nothing of it was done");
        patch(&app, &third, json!({"condition": member_of(&first)})).await.assert_status(200);
    }

    async fn patching_changes_what_is_sent(engine: Engine) {
        let app = App::start(engine).await;
        create_contact(&app, "ann@example.com", true, json!({"plan": "pro"})).await;
        let segment = create(&app, json!({"name": "Free", "description": "x", "condition": plan("free")})).await;
        assert_eq!(segment["memberCount"], 0);
        let named = patch(&app, &segment, json!({"name": "Pro"})).await.assert_status(200).json();
        assert_eq!((&named["name"], &named["description"]), (&json!("Pro"), &json!("x")));
        assert_eq!(named["condition"], plan("free"));
        let cleared = patch(&app, &segment, json!({"description": null})).await.assert_status(200).json();
        assert_eq!(cleared["description"], Value::Null);
        let changed = patch(&app, &segment, json!({"condition": plan("pro")})).await.assert_status(200).json();
        assert_eq!(changed["condition"], plan("pro"));
        assert_eq!(changed["memberCount"], 1, "counted anew");
        assert_eq!(read(&app, &at(&segment, "")).await, changed);
        let same = patch(&app, &segment, json!({"type": "STATIC"})).await.assert_status(200).json();
        assert_eq!(same["type"], "DYNAMIC");
        let wrong = patch(&app, &segment, json!({"condition": {"logic": "AND", "groups": []}})).await;
        wrong.assert_error(400, "VALIDATION_ERROR");
        assert_eq!(issues(&patch(&app, &segment, json!({"name": ""})).await), pairs(&[("name", "too_small")]));
    }

    async fn a_static_segment_has_no_condition(engine: Engine) {
        let app = App::start(engine).await;
        let created = create(&app, json!({"name": "List", "type": "STATIC", "condition": plan("pro")})).await;
        assert_eq!((&created["type"], &created["condition"], &created["memberCount"]), (&json!("STATIC"), &Value::Null, &json!(0)));
        let patched = patch(&app, &created, json!({"condition": plan("pro"), "name": "Other"})).await.assert_status(200).json();
        assert_eq!((&patched["condition"], &patched["name"]), (&Value::Null, &json!("Other")));
        // not even one that is wrong
        create(&app, json!({"name": "List", "type": "STATIC", "condition": {"logic": 1}})).await;
        let computed = app.post(&at(&created, "/compute")).send().await.assert_status(200).json();
        assert_eq!(computed, json!({"added": 0, "removed": 0, "total": 0}));
        let refreshed = app.post(&at(&created, "/refresh")).send().await.assert_status(200).json();
        assert_eq!(refreshed, json!({"memberCount": 0}));
    }

    async fn a_segment_that_others_refer_to_stays(engine: Engine) {
        let app = App::start(engine).await;
        let inner = list_of(&app, "Inner", &["ann@example.com"]).await;
        let outer = dynamic(&app, "Outer", &member_of(&inner)).await;
        let error = app.delete(&at(&inner, "")).send().await.assert_error(409, "CONFLICT");
        assert!(text(&error["message"]).contains("Outer"), "{error}");
        let deleted = app.delete(&at(&outer, "")).send().await.assert_status(204);
        assert!(deleted.body.is_empty(), "{}", shown(&deleted));
        app.delete(&at(&inner, "")).send().await.assert_status(204);
        app.get(&at(&inner, "")).send().await.assert_error(404, "RESOURCE_NOT_FOUND");
        app.delete(&at(&inner, "")).send().await.assert_error(404, "RESOURCE_NOT_FOUND");
        assert_eq!(read(&app, "/segments").await, json!([]));
    }

    async fn segments_that_are_not_there_are_not_found(engine: Engine) {
        let app = App::start(engine).await;
        let other = app.bootstrap("Neighbour", "neighbour.example").await;
        let mut foreign = Vec::new();
        for body in [json!({"name": "Theirs", "type": "STATIC"}), json!({"name": "Pro", "condition": plan("pro"), "trackMembership": true})] {
            let made = as_project(&app, &other, "POST", "/segments").json(&body).send().await;
            foreign.push(text(&made.assert_status(201).json()["id"]).to_owned());
        }
        assert_eq!(read(&app, "/segments").await, json!([]));
        for id in [UNKNOWN_ID, &foreign[0], &foreign[1], "nonsense", "%00"] {
            let path = format!("/segments/{id}");
            let emails = json!({"emails": ["ann@example.com"], "createMissing": true});
            for request in [
                app.get(&path),
                app.patch(&path).json(&json!({"name": "Mine"})),
                app.delete(&path),
                app.get(&format!("{path}/contacts")),
                app.post(&format!("{path}/members")).json(&emails),
                app.delete(&format!("{path}/members")).json(&emails),
                app.post(&format!("{path}/compute")),
                app.post(&format!("{path}/refresh")),
            ] {
                request.send().await.assert_error(404, "RESOURCE_NOT_FOUND");
            }
        }
        assert_eq!(read(&app, "/contacts").await["total"], 0, "nobody was created");
        let theirs = as_project(&app, &other, "GET", "/segments").send().await.assert_status(200).json();
        assert_eq!(column(&theirs, "name"), ["Pro", "Theirs"]);
    }
}

one_engine! {
    async fn a_missing_condition_has_the_legacy_answer(engine: Engine) {
        let app = App::start(engine).await;
        for body in [
            json!({}),
            json!({"name": "Pro"}),
            json!({"name": "Pro", "type": "DYNAMIC", "condition": null}),
            json!({"name": "Pro", "condition": "data.plan = pro"}),
            json!({"name": "Pro", "condition": []}),
        ] {
            assert_legacy(&post(&app, &body).await, 400);
        }
        for body in [
            json!({"condition": plan("pro")}),
            json!({"name": "", "condition": plan("pro")}),
            json!({"name": null, "type": "STATIC"}),
        ] {
            assert_eq!(issues(&post(&app, &body).await)[0].0, "name");
        }
        assert_eq!(read(&app, "/segments").await, json!([]));
        let segment = dynamic(&app, "Pro", &plan("pro")).await;
        for condition in [json!(null), json!("x"), json!([])] {
            assert_eq!(issues(&patch(&app, &segment, json!({"condition": condition})).await)[0].0, "condition");
        }
        assert_eq!(read(&app, &at(&segment, "")).await, segment);
    }

    async fn fields_are_validated(engine: Engine) {
        let app = App::start(engine).await;
        let long = |length| "x".repeat(length);
        for (body, field, code) in [
            (json!({"name": long(101), "condition": plan("a")}), "name", "too_big"),
            (json!({"name": 5, "condition": plan("a")}), "name", "invalid_type"),
            (json!({"name": "A", "description": long(501), "condition": plan("a")}), "description", "too_big"),
            (json!({"name": "A", "type": "OTHER", "condition": plan("a")}), "type", "invalid_enum_value"),
            (json!({"name": "A", "trackMembership": "yes", "condition": plan("a")}), "trackMembership", "invalid_type"),
        ] {
            assert_eq!(issues(&post(&app, &body).await), pairs(&[(field, code)]));
        }
        create(&app, json!({"name": long(100), "description": long(500), "condition": plan("a")})).await;
    }

    async fn every_issue_of_a_condition_is_told(engine: Engine) {
        let app = App::start(engine).await;
        assert_eq!(refused(&app, json!({"logic": "AND", "groups": []})).await, pairs(&[("condition.groups", "too_small")]));
        assert_eq!(refused(&app, json!({})).await.len(), 2);
        let condition = json!({"logic": "XOR", "groups": [
            {"filters": [
                {"field": "data.plan", "operator": "resembles", "value": "a"},
                {"field": "createdAt", "operator": "within", "value": 5},
                {"field": "subscribed", "operator": "contains", "value": "a"},
            ]},
            {"filters": [], "conditions": {"logic": "AND", "groups": [{"filters": [{"field": "shoe size", "operator": "equals", "value": 1}]}]}},
        ]});
        let mut found = refused(&app, condition).await;
        found.sort();
        assert_eq!(found, pairs(&[
            ("condition.groups.0.filters.0.operator", "invalid_enum_value"),
            ("condition.groups.0.filters.1.unit", "invalid_type"),
            ("condition.groups.0.filters.2.operator", "custom"),
            ("condition.groups.1.conditions.groups.0.filters.0.field", "invalid_enum_value"),
            ("condition.logic", "invalid_enum_value"),
        ]));
        let filters: Vec<Value> = (0..100).map(|_| json!({"field": "data.a", "operator": "equals", "value": "x".repeat(900)})).collect();
        let large = json!({"logic": "AND", "groups": [{"filters": filters}]});
        assert_eq!(refused(&app, large).await, pairs(&[("condition", "too_big")]));
        assert_eq!(read(&app, "/segments").await, json!([]));
    }
}
