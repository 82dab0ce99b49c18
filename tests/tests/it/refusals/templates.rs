//! Refusals about templates.

use mailwright_testkit::{Value, json};
use mailwright_tests::{UNKNOWN_ID, with, without};

use super::refusal::Refusal;
use super::world::World;

pub(crate) fn refusals(world: &World) -> Vec<Refusal> {
    let whole = json!({"name": "New", "subject": "Hi", "body": "<p>Hi</p>", "from": world.app.from()});
    let post = |changes: Value| world.key("post /templates", &[]).json(&with(whole.clone(), &changes));
    let patch = |changes: Value| {
        let changes = with(json!({"name": "Changed", "subject": "Changed"}), &changes);
        world.key("patch /templates/{id}", &[world.id("template")]).json(&changes)
    };
    vec![
        world
            .key("post /templates", &[])
            .json(&without(whole.clone(), "from"))
            .refused_otherwise("no sender", 400),
        post(json!({"body": "{% if name %}Hi"})).refused("an error in the language", 400, "VALIDATION_ERROR"),
        post(json!({"from": "hi@stranger.example"})).refused("another domain", 403, "INTERNAL_SERVER_ERROR"),
        post(json!({"from": "hi@pending.example"})).refused(
            "no verified domain",
            403,
            "INTERNAL_SERVER_ERROR",
        ),
        post(json!({"topicId": UNKNOWN_ID})).refused("no topic", 404, "RESOURCE_NOT_FOUND"),
        patch(json!({"topicId": UNKNOWN_ID})).refused("no topic", 404, "RESOURCE_NOT_FOUND"),
        post(json!({"type": "LETTER"})).refused("no type", 422, "VALIDATION_ERROR"),
        patch(json!({"body": "{% if name %}Hi"})).refused(
            "an error in the language",
            400,
            "VALIDATION_ERROR",
        ),
        patch(json!({"from": "hi@pending.example"})).refused(
            "no verified domain",
            403,
            "INTERNAL_SERVER_ERROR",
        ),
        patch(json!({"from": "hi@stranger.example"})).refused("another domain", 403, "INTERNAL_SERVER_ERROR"),
        patch(json!({"replyTo": "nobody"})).refused("no address", 422, "VALIDATION_ERROR"),
        world.key("delete /templates/{id}", &[world.id("welcome")]).refused(
            "a workflow sends it",
            409,
            "CONFLICT",
        ),
    ]
}
