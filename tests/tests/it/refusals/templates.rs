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
    let restore = |ids: &[&str]| world.key("post /templates/{id}/versions/{number}/restore", ids);
    let test = |name: &str| world.key("post /templates/{id}/test", &[world.id(name)]);
    let preview = |body: Value| world.key("post /preview", &[]).json(&body);
    let examine = |body: Value| world.key("post /emails/check", &[]).json(&body);
    let examine_saved = |contact: &str| {
        let asked = world.key("post /templates/{id}/check", &[world.id("template")]);
        asked.json(&json!({"contactId": contact}))
    };
    vec![
        post(json!({"mjml": "<mjml />"})).refused("two sources", 422, "VALIDATION_ERROR"),
        patch(json!({"mjml": "<mjml><p/></mjml>"})).refused("no MJML", 422, "VALIDATION_ERROR"),
        patch(json!({"document": {}})).refused("a document alone", 422, "VALIDATION_ERROR"),
        restore(&[world.id("lapsed template"), "1"]).refused(
            "the domain is not verified any more",
            403,
            "INTERNAL_SERVER_ERROR",
        ),
        restore(&[world.id("template"), "1"]).refused("no version", 404, "RESOURCE_NOT_FOUND"),
        restore(&[UNKNOWN_ID, "1"]).refused("no template", 404, "TEMPLATE_NOT_FOUND"),
        test("lapsed template").json(&json!({"email": "test@example.com"})).refused(
            "the domain is not verified any more",
            403,
            "INTERNAL_SERVER_ERROR",
        ),
        test("template").json(&json!({"email": "nobody"})).refused("no address", 422, "VALIDATION_ERROR"),
        world.key("post /templates/check", &[]).json(&json!({"type": "LETTER"})).refused(
            "no type",
            422,
            "VALIDATION_ERROR",
        ),
        examine(json!({})).refused("no mail", 422, "VALIDATION_ERROR"),
        examine(json!({"templateId": UNKNOWN_ID})).refused("no template", 404, "TEMPLATE_NOT_FOUND"),
        examine_saved("ann").refused("no id of a contact", 422, "VALIDATION_ERROR"),
        examine_saved(UNKNOWN_ID).refused("no contact", 404, "CONTACT_NOT_FOUND"),
        preview(json!({"mjml": "<mjml><p/></mjml>"})).refused("no MJML", 422, "VALIDATION_ERROR"),
        preview(json!({"contactId": UNKNOWN_ID})).refused("no contact", 404, "CONTACT_NOT_FOUND"),
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
