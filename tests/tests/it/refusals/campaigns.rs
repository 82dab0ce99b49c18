//! Refusals about campaigns, wherever they stand.

use mailwright_testkit::{Value, json};
use mailwright_tests::{UNKNOWN_ID, with};

use super::refusal::{Asked, Refusal};
use super::world::World;

pub(crate) fn refusals(world: &World) -> Vec<Refusal> {
    let parts = [created(world), changed(world), sent(world), under_way(world)];
    parts.into_iter().flatten().collect()
}

fn asked(world: &World, operation: &'static str, campaign: &str) -> Asked {
    world.key(operation, &[world.id(campaign)])
}

fn created(world: &World) -> Vec<Refusal> {
    let post = |changes: Value| world.key("post /campaigns", &[]).json(&with(world.campaign(), &changes));
    let right = json!({"field": "data.plan", "operator": "equals", "value": "pro"});
    let wrong = json!({"field": "data.plan", "operator": "is"});
    let wrong = json!({"logic": "AND", "groups": [{"filters": [right, wrong]}]});
    vec![
        post(json!({"subject": "{{name | upcas}}"})).refused(
            "an error in the language",
            400,
            "VALIDATION_ERROR",
        ),
        post(json!({"from": "hi@pending.example"})).refused(
            "no verified domain",
            403,
            "INTERNAL_SERVER_ERROR",
        ),
        post(json!({"audienceType": "SEGMENT", "segmentId": UNKNOWN_ID})).refused(
            "no segment",
            404,
            "RESOURCE_NOT_FOUND",
        ),
        post(json!({"audienceType": "SEGMENT"})).refused("a segment is missing", 422, "VALIDATION_ERROR"),
        post(json!({"audienceType": "FILTERED", "audienceCondition": wrong})).refused(
            "the last filter is wrong",
            422,
            "VALIDATION_ERROR",
        ),
    ]
}

fn changed(world: &World) -> Vec<Refusal> {
    let put = |id: &str, changes: Value| {
        let changes = with(json!({"name": "Changed"}), &changes);
        asked(world, "put /campaigns/{id}", id).json(&changes)
    };
    let restore = |id: &str, number: &str| {
        world.key("post /campaigns/{id}/versions/{number}/restore", &[world.id(id), number])
    };
    vec![
        restore("sent", "1").refused("it was sent", 400, "BAD_REQUEST"),
        restore("draft", "7").refused("no version", 404, "RESOURCE_NOT_FOUND"),
        restore("lapsed", "1").refused("the domain is not verified any more", 403, "INTERNAL_SERVER_ERROR"),
        put("draft", json!({"mjml": "<mjml><p/></mjml>"})).refused("no MJML", 422, "VALIDATION_ERROR"),
        put("sent", json!({})).refused("it was sent", 400, "BAD_REQUEST"),
        put("paused", json!({})).refused("it is being sent", 400, "BAD_REQUEST"),
        put("draft", json!({"body": "{% if name %}Hi"})).refused(
            "an error in the language",
            400,
            "VALIDATION_ERROR",
        ),
        put("scheduled", json!({"audienceType": "SEGMENT", "segmentId": world.id("static")})).refused(
            "the audience of a scheduled one",
            400,
            "BAD_REQUEST",
        ),
        put("draft", json!({"from": "hi@pending.example"})).refused(
            "no verified domain",
            403,
            "INTERNAL_SERVER_ERROR",
        ),
        put("draft", json!({"audienceType": "SEGMENT", "segmentId": UNKNOWN_ID})).refused(
            "no segment",
            404,
            "RESOURCE_NOT_FOUND",
        ),
        put("draft", json!({"audienceType": "FILTERED"})).refused(
            "a condition is missing",
            422,
            "VALIDATION_ERROR",
        ),
        asked(world, "delete /campaigns/{id}", "scheduled").refused("it is scheduled", 409, "CONFLICT"),
        asked(world, "delete /campaigns/{id}", "paused").refused("it is being sent", 409, "CONFLICT"),
    ]
}

fn sent(world: &World) -> Vec<Refusal> {
    let send = |id: &str, body: Value| asked(world, "post /campaigns/{id}/send", id).json(&body);
    let test = |id: &str, body: Value| asked(world, "post /campaigns/{id}/test", id).json(&body);
    let check = |id: &str, body: Value| asked(world, "post /campaigns/{id}/check", id).json(&body);
    vec![
        check("draft", json!({"contactId": "ann"})).refused("no id of a contact", 422, "VALIDATION_ERROR"),
        send("draft", json!({"scheduledFor": "soon"})).refused("no date", 400, "BAD_REQUEST"),
        send("draft", json!({"scheduledFor": "2020-01-01"})).refused(
            "a time that is over",
            400,
            "BAD_REQUEST",
        ),
        send("to nobody", json!({})).refused("no recipients", 400, "BAD_REQUEST"),
        send("sent", json!({})).refused("it was sent", 400, "BAD_REQUEST"),
        send("sent", json!({"scheduledFor": "2099-01-31"})).refused("it was sent", 400, "BAD_REQUEST"),
        send("lapsed", json!({})).refused(
            "the domain is not verified any more",
            403,
            "INTERNAL_SERVER_ERROR",
        ),
        send("lapsed", json!({"scheduledFor": "2099-01-31"})).refused(
            "the domain is not verified any more, later",
            403,
            "INTERNAL_SERVER_ERROR",
        ),
        send("draft", json!([])).refused("no object", 422, "VALIDATION_ERROR"),
        test("lapsed", json!({"email": "test@example.com"})).refused(
            "the domain is not verified any more",
            403,
            "INTERNAL_SERVER_ERROR",
        ),
        test("draft", json!({"email": "nobody"})).refused("no address", 422, "VALIDATION_ERROR"),
    ]
}

fn under_way(world: &World) -> Vec<Refusal> {
    let retry = |id: &str| asked(world, "post /campaigns/{id}/retry", id);
    vec![
        asked(world, "post /campaigns/{id}/cancel", "draft").refused("a draft", 400, "BAD_REQUEST"),
        asked(world, "post /campaigns/{id}/cancel", "sent").refused("it was sent", 400, "BAD_REQUEST"),
        asked(world, "post /campaigns/{id}/pause", "paused").refused("it is paused", 400, "BAD_REQUEST"),
        asked(world, "post /campaigns/{id}/pause", "scheduled").refused(
            "it is scheduled",
            400,
            "BAD_REQUEST",
        ),
        asked(world, "post /campaigns/{id}/resume", "scheduled").refused(
            "it is scheduled",
            400,
            "BAD_REQUEST",
        ),
        asked(world, "post /campaigns/{id}/resume", "lapsed paused").refused(
            "the domain is not verified any more",
            403,
            "INTERNAL_SERVER_ERROR",
        ),
        retry("draft").refused("a draft", 400, "BAD_REQUEST"),
        retry("sent").refused("nothing failed", 400, "BAD_REQUEST"),
        retry("lapsed paused").refused("the domain is not verified any more", 403, "INTERNAL_SERVER_ERROR"),
        retry("retrying").refused("it is being retried", 409, "CONFLICT"),
        retry("sent").json(&json!({"reason": "weather"})).refused("no reason", 422, "VALIDATION_ERROR"),
    ]
}
