//! Refusals about topics.

use mailwright_testkit::{Value, json};
use mailwright_tests::UNKNOWN_ID;

use super::refusal::Refusal;
use super::world::World;

/// That there are too many topics is in `limits.rs`.
pub(crate) fn refusals(world: &World) -> Vec<Refusal> {
    let topic = world.id("topic");
    let post = |body: Value| world.key("post /topics", &[]).json(&body);
    let patch = |body: Value| world.key("patch /topics/{id}", &[topic]).json(&body);
    let put = |topics: Value| {
        world.key("put /contacts/{id}/topics", &[world.id("bob")]).json(&json!({"topics": topics}))
    };
    vec![
        post(json!({"description": "no name"})).refused("no name", 422, "VALIDATION_ERROR"),
        post(json!({"name": "New", "position": 10_000})).refused("a far position", 422, "VALIDATION_ERROR"),
        post(json!({"name": "New", "visibility": "HIDDEN"})).refused(
            "no visibility",
            422,
            "VALIDATION_ERROR",
        ),
        patch(json!({"name": "Changed", "position": -1})).refused(
            "a position below 0",
            422,
            "VALIDATION_ERROR",
        ),
        world.key("delete /topics/{id}", &[topic]).refused("a template belongs to it", 409, "CONFLICT"),
        put(json!([])).refused("no topic", 422, "VALIDATION_ERROR"),
        put(json!([{"id": topic, "subscribed": false}, {"id": "nonsense", "subscribed": true}])).refused(
            "the last is no id",
            422,
            "VALIDATION_ERROR",
        ),
        put(json!([{"id": topic, "subscribed": false}, {"id": UNKNOWN_ID, "subscribed": true}])).refused(
            "the last is no topic",
            404,
            "RESOURCE_NOT_FOUND",
        ),
    ]
}
