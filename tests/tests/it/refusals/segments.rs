//! Refusals about segments.

use mailwright_testkit::{Value, json};
use mailwright_tests::UNKNOWN_ID;

use super::refusal::Refusal;
use super::world::World;

fn only(filters: Value) -> Value {
    json!({"logic": "AND", "groups": [{"filters": filters}]})
}

pub(crate) fn refusals(world: &World) -> Vec<Refusal> {
    let parts = [changed(world), tried(world), members(world)];
    parts.into_iter().flatten().collect()
}

fn changed(world: &World) -> Vec<Refusal> {
    let right = json!({"field": "data.plan", "operator": "equals", "value": "pro"});
    let wrong = json!({"field": "data.plan", "operator": "resembles", "value": "pro"});
    let unknown = json!({"field": format!("segment.{UNKNOWN_ID}"), "operator": "memberOfSegment"});
    let post = |condition: Value| {
        let body = json!({"name": "New", "trackMembership": true, "condition": condition});
        world.key("post /segments", &[]).json(&body)
    };
    let patch = |id: &str, body: Value| world.key("patch /segments/{id}", &[world.id(id)]).json(&body);
    let depends =
        json!({"field": format!("segment.{}", world.id("dependent")), "operator": "memberOfSegment"});
    vec![
        world
            .key("post /segments", &[])
            .json(&json!({"name": "New"}))
            .refused_otherwise("without a condition", 400),
        post(only(json!([right, wrong]))).refused("the last filter is wrong", 400, "VALIDATION_ERROR"),
        post(only(json!([right, unknown]))).refused(
            "the last filter names no segment",
            400,
            "VALIDATION_ERROR",
        ),
        world.key("post /segments", &[]).json(&json!({"name": "x".repeat(101), "type": "STATIC"})).refused(
            "a long name",
            422,
            "VALIDATION_ERROR",
        ),
        patch("dynamic", json!({"name": "Changed", "condition": only(json!([right, wrong]))})).refused(
            "the last filter is wrong",
            400,
            "VALIDATION_ERROR",
        ),
        patch(
            "tracked",
            json!({"name": "Changed", "condition": only(json!([right, unknown])), "trackMembership": false}),
        )
        .refused("the last filter names no segment", 400, "VALIDATION_ERROR"),
        patch("dynamic", json!({"name": "Changed", "condition": only(json!([right, depends]))})).refused(
            "a circle",
            400,
            "VALIDATION_ERROR",
        ),
        patch("dynamic", json!({"name": "Changed", "description": "x".repeat(501)})).refused(
            "a long description",
            422,
            "VALIDATION_ERROR",
        ),
        world.key("delete /segments/{id}", &[world.id("static")]).refused(
            "a campaign under way has it",
            409,
            "CONFLICT",
        ),
        world.key("delete /segments/{id}", &[world.id("dynamic")]).refused(
            "a draft and another segment have it",
            409,
            "CONFLICT",
        ),
        world.key("delete /segments/{id}", &[world.id("base")]).refused(
            "another segment has it",
            409,
            "CONFLICT",
        ),
        world.key("delete /segments/{id}", &[world.id("joined")]).refused(
            "a workflow adds to it",
            409,
            "CONFLICT",
        ),
        world.key("post /segments/{id}/compute", &[world.id("dynamic")]).refused(
            "the members are not tracked",
            400,
            "BAD_REQUEST",
        ),
    ]
}

/// Conditions that no segment has.
fn tried(world: &World) -> Vec<Refusal> {
    let wrong = only(json!([{"field": "data.plan", "operator": "resembles", "value": "pro"}]));
    let named = |name: &'static str| {
        let condition = wrong.clone();
        vec![
            world.key(name, &[]).json(&json!({"condition": condition})).refused(
                "a filter is wrong",
                400,
                "VALIDATION_ERROR",
            ),
            world.key(name, &[]).json(&json!({"condition": 5})).refused(
                "no condition",
                422,
                "VALIDATION_ERROR",
            ),
        ]
    };
    [named("post /segments/preview"), named("post /contacts/search")].concat()
}

fn members(world: &World) -> Vec<Refusal> {
    let add = |id: &str, emails: Value| {
        let body = json!({"emails": emails, "createMissing": true, "subscribed": false});
        world.key("post /segments/{id}/members", &[world.id(id)]).json(&body)
    };
    let remove = |id: &str, emails: Value| {
        let body = json!({"emails": emails});
        world.key("delete /segments/{id}/members", &[world.id(id)]).json(&body)
    };
    let many: Vec<String> = (0..501).map(|number| format!("new{number}@example.com")).collect();
    vec![
        add("dynamic", json!(["new@example.com"])).refused("a dynamic segment", 400, "BAD_REQUEST"),
        add("static", json!(["new@example.com", 5])).refused("the last is no text", 422, "VALIDATION_ERROR"),
        add("static", json!(many)).refused("one too many", 422, "VALIDATION_ERROR"),
        remove("dynamic", json!(["ann@wait.example"])).refused("a dynamic segment", 400, "BAD_REQUEST"),
        remove("static", json!(["ann@wait.example", null])).refused(
            "the last is no text",
            422,
            "VALIDATION_ERROR",
        ),
        remove("static", json!([])).refused("nobody", 422, "VALIDATION_ERROR"),
    ]
}
