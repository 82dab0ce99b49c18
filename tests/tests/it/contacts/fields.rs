//! The fields of contacts: descriptors, values, usage and removal.

use mailwright_testkit::{App, Engine, both_engines};
use mailwright_tests::{
    as_project, assert_keys, assert_only_keys, column, contact, create_contact, encoded, items,
};
use mailwright_tests::{read, text};
use serde_json::{Value, json};
use std::collections::BTreeSet;

async fn fields(app: &App) -> Value {
    read(app, "/contacts/fields").await["fields"].clone()
}

/// The descriptor of one field.
async fn field(app: &App, name: &str) -> Value {
    let fields = fields(app).await;
    let found = items(&fields).iter().find(|field| field["field"] == name);
    found.unwrap_or_else(|| panic!("no field {name} in {fields}")).clone()
}

async fn values(app: &App, path: &str) -> Value {
    read(app, &format!("/contacts/fields/{path}")).await
}

/// A list of values without its order.
fn set(value: &Value) -> BTreeSet<String> {
    items(value).iter().map(Value::to_string).collect()
}

both_engines! {
    async fn the_standard_fields_are_always_listed(engine: Engine) {
        let app = App::start(engine).await;
        let standard = json!([
            {"field": "createdAt", "type": "date", "isCustom": false, "coverage": 1},
            {"field": "email", "type": "string", "isCustom": false, "coverage": 1},
            {"field": "subscribed", "type": "boolean", "isCustom": false, "coverage": 1},
            {"field": "updatedAt", "type": "date", "isCustom": false, "coverage": 1},
        ]);
        for expected in items(&standard) {
            let found = field(&app, text(&expected["field"])).await;
            assert_keys(&found, &["field", "type", "isCustom", "coverage"]);
            assert_eq!((&found["type"], &found["isCustom"]), (&expected["type"], &expected["isCustom"]));
            assert_eq!(found["coverage"].as_f64(), Some(1.0), "{found}");
        }
        assert_eq!(items(&fields(&app).await).len(), 4, "and nothing else");
    }

    async fn custom_fields_are_listed_with_type_and_coverage(engine: Engine) {
        let app = App::start(engine).await;
        let other = app.bootstrap("Neighbour", "neighbour.example").await;
        let foreign = json!({"email": "x@example.com", "data": {"theirs": 1}});
        as_project(&app, &other, "POST", "/contacts").json(&foreign).send().await.assert_status(201);

        let data = json!({
            "age": 42, "ratio": 3.5, "vip": false, "plan": "pro", "born": "2001-02-28",
            "seen": "2026-01-31T09:30:00Z", "exact": "2026-01-31T09:30:00.125Z", "american": "01/31/2026",
            "profile": {"tier": "gold"}, "tags": ["a"], "first name": "Ann", "almost": "2026-01-31 and more",
            "once": {"value": 1, "persistent": false}, "svc_id": "x", "nothing": null, "empty": "",
        });
        create_contact(&app, "a@example.com", true, data).await;
        create_contact(&app, "b@example.com", true, json!({"plan": "free", "age": 1})).await;
        create_contact(&app, "c@example.com", true, json!({"plan": "free"})).await;
        create_contact(&app, "d@example.com", false, json!({})).await;

        let listed = fields(&app).await;
        let names = column(&listed, "field");
        assert_eq!(
            names.iter().copied().filter(|name| name.starts_with("data.")).collect::<Vec<_>>(),
            [
                "data.age",
                "data.almost",
                "data.american",
                "data.born",
                "data.exact",
                "data.first name",
                "data.plan",
                "data.profile",
                "data.ratio",
                "data.seen",
                "data.tags",
                "data.vip"
            ]
        );
        assert_eq!(names.len(), 16);
        for (name, kind, coverage) in [
            ("data.age", "number", 0.5),
            ("data.ratio", "number", 0.25),
            ("data.vip", "boolean", 0.25),
            ("data.plan", "string", 0.75),
            ("data.born", "date", 0.25),
            ("data.seen", "date", 0.25),
            ("data.exact", "date", 0.25),
            ("data.american", "string", 0.25),
            ("data.almost", "string", 0.25),
            ("data.profile", "string", 0.25),
            ("data.tags", "string", 0.25),
            ("data.first name", "string", 0.25),
        ] {
            let found = field(&app, name).await;
            assert_eq!(found["type"], kind, "{name}");
            assert_eq!(found["coverage"].as_f64(), Some(coverage), "{name}");
            assert_eq!(found["isCustom"], true, "{name}");
        }
    }

    async fn the_first_inferred_type_stays(engine: Engine) {
        let app = App::start(engine).await;
        let other = app.bootstrap("Neighbour", "neighbour.example").await;
        create_contact(&app, "a@example.com", true, json!({"score": null, "day": ""})).await;
        create_contact(&app, "b@example.com", true, json!({"score": 7, "day": "2026-01-31"})).await;
        let mixed = json!({"score": "seven", "day": true});
        let c = create_contact(&app, "c@example.com", true, mixed.clone()).await;
        for _ in 0..3 {
            app.track(json!({"email": "d@example.com", "event": "e", "data": mixed}))
                .await
                .assert_status(200);
        }
        assert_eq!(field(&app, "data.score").await["type"], "number");
        assert_eq!(field(&app, "data.day").await["type"], "date");
        assert_eq!(contact(&app, &c["id"]).await["data"], mixed, "values are stored as sent");

        // Each project infers for itself.
        let theirs = json!({"email": "a@example.com", "data": {"score": "text"}});
        as_project(&app, &other, "POST", "/contacts").json(&theirs).send().await.assert_status(201);
        let listed =
            as_project(&app, &other, "GET", "/contacts/fields").send().await.assert_status(200).json();
        let score = items(&listed["fields"]).iter().find(|field| field["field"] == "data.score");
        assert_eq!(score.map(|field| &field["type"]), Some(&json!("string")));
    }

    async fn values_of_a_field_are_distinct_and_typed(engine: Engine) {
        let app = App::start(engine).await;
        for (position, data) in [
            json!({"plan": "pro", "score": 10, "vip": true, "first name": "Ann"}),
            json!({"plan": "free", "score": 9, "vip": false, "first name": "Bob"}),
            json!({"plan": "pro", "score": 10, "vip": true}),
            json!({"plan": "basic"}),
            json!({}),
        ]
        .into_iter()
        .enumerate()
        {
            create_contact(&app, &format!("c{position}@example.com"), true, data).await;
        }
        let plan = values(&app, "data.plan/values").await;
        assert_keys(&plan, &["field", "values", "count", "limit"]);
        assert_eq!(plan["values"], json!(["basic", "free", "pro"]));
        assert_eq!((&plan["count"], &plan["limit"]), (&json!(3), &json!(100)));
        assert_eq!(values(&app, "plan/values").await["values"], plan["values"], "the prefix may be left out");
        assert_eq!(set(&values(&app, "data.score/values").await["values"]), set(&json!([9, 10])));
        assert_eq!(set(&values(&app, "data.vip/values").await["values"]), set(&json!([false, true])));
        let spaced = values(&app, &format!("{}/values", encoded("data.first name"))).await;
        assert_eq!(spaced["values"], json!(["Ann", "Bob"]));
        assert_eq!(values(&app, "subscribed/values").await["values"], json!([true, false]));
        assert_eq!(values(&app, "email/values").await["values"], json!([]));

        let limited = values(&app, "data.plan/values?limit=2").await;
        assert_eq!((items(&limited["values"]).len(), &limited["limit"]), (2, &json!(2)));
        assert_eq!(values(&app, "data.plan/values?limit=5000").await["limit"], 200);
    }

    async fn usage_names_what_refers_to_a_field(engine: Engine) {
        let app = App::start(engine).await;
        create_contact(&app, "a@example.com", true, json!({"plan": "pro"})).await;
        create_contact(&app, "b@example.com", true, json!({"plan": "free"})).await;
        create_contact(&app, "c@example.com", true, json!({})).await;
        let usage = values(&app, "data.plan/usage").await;
        let keys = ["usedInSegments", "usedInCampaigns", "usedInWorkflows", "contactCount", "canDelete"];
        assert_only_keys(&usage, &keys);
        for key in &keys[..3] {
            assert_eq!(usage[key], json!([]), "{key}");
        }
        assert_eq!((&usage["contactCount"], &usage["canDelete"]), (&json!(2), &json!(true)));
        assert_eq!(values(&app, "email/usage").await["contactCount"], 3);
    }

    async fn deleting_a_field_takes_it_from_every_contact(engine: Engine) {
        let app = App::start(engine).await;
        let other = app.bootstrap("Neighbour", "neighbour.example").await;
        let theirs = json!({"email": "a@example.com", "data": {"plan": "theirs"}});
        let theirs = as_project(&app, &other, "POST", "/contacts")
            .json(&theirs)
            .send()
            .await
            .assert_status(201)
            .json();
        let a = create_contact(&app, "a@example.com", true, json!({"plan": "pro", "a.b": 1, "city": "Oslo"}))
            .await;
        let b = create_contact(&app, "b@example.com", true, json!({"plan": "free"})).await;
        create_contact(&app, "c@example.com", true, json!({"city": "Rome"})).await;

        let deleted = app.delete("/contacts/fields/data.plan").send().await.assert_status(200).json();
        assert_eq!(deleted, json!({"deletedFrom": 2}));
        assert_eq!(contact(&app, &a["id"]).await["data"], json!({"a.b": 1, "city": "Oslo"}));
        assert_eq!(contact(&app, &b["id"]).await["data"], json!({}));
        let listed = fields(&app).await;
        assert!(!column(&listed, "field").contains(&"data.plan"), "{listed}");
        let dotted = app.delete("/contacts/fields/data.a.b").send().await.assert_status(200).json();
        assert_eq!(dotted, json!({"deletedFrom": 1}), "a key may hold dots");

        let path = format!("/contacts/{}", text(&theirs["id"]));
        let untouched = as_project(&app, &other, "GET", &path).send().await.assert_status(200).json();
        assert_eq!(untouched["data"], json!({"plan": "theirs"}));

        for standard in ["email", "subscribed", "createdAt"] {
            app.delete(&format!("/contacts/fields/{standard}")).send().await.assert_status(400);
        }
    }
}
