//! Refusals about suppressed addresses and rules.

use mailwright_testkit::{Value, json};
use mailwright_tests::UNKNOWN_ID;

use super::contacts::form;
use super::refusal::Refusal;
use super::world::World;

pub(crate) fn refusals(world: &World) -> Vec<Refusal> {
    let parts = [rules(world), addresses(world), files(world)];
    parts.into_iter().flatten().collect()
}

fn rules(world: &World) -> Vec<Refusal> {
    let post = |body: Value| world.key("post /suppressions", &[]).json(&body);
    let put = |id: &str, body: Value| world.key("put /suppressions/{id}", &[id]).json(&body);
    vec![
        post(json!({"name": "New", "kind": "DOMAIN", "pattern": "@new.example"})).refused(
            "no address fits",
            422,
            "VALIDATION_ERROR",
        ),
        put(world.id("rule"), json!({"name": "Changed", "enabled": false, "kind": "ADDRESS"})).refused(
            "the pattern is not of that kind",
            422,
            "VALIDATION_ERROR",
        ),
        put(UNKNOWN_ID, json!({"name": "Changed"})).refused("no such rule", 404, "RESOURCE_NOT_FOUND"),
        world.key("delete /suppressions/{id}", &[UNKNOWN_ID]).refused(
            "no such rule",
            404,
            "RESOURCE_NOT_FOUND",
        ),
        world.key("post /suppressions/preview", &[]).json(&json!({"address": "new"})).refused(
            "no address",
            422,
            "VALIDATION_ERROR",
        ),
    ]
}

fn addresses(world: &World) -> Vec<Refusal> {
    let post = |body: Value| world.key("post /suppressions/addresses", &[]).json(&body);
    let bulk = |body: Value| world.key("post /suppressions/addresses/bulk", &[]).json(&body);
    let many: Vec<String> = (0..1_001).map(|number| format!("new{number}@example.com")).collect();
    vec![
        post(json!({"email": "new@example.com", "reason": "spam"})).refused(
            "no reason",
            422,
            "VALIDATION_ERROR",
        ),
        post(json!({"email": "new@example.com", "expiresAt": "2020-01-01"})).refused(
            "it has ended",
            422,
            "VALIDATION_ERROR",
        ),
        bulk(json!({"emails": many})).refused("one too many", 422, "VALIDATION_ERROR"),
        bulk(json!({"emails": ["new@example.com", "new"]})).refused(
            "the last is none",
            422,
            "VALIDATION_ERROR",
        ),
        bulk(json!({"emails": ["new@example.com"], "expiresAt": "2020-01-01"})).refused(
            "it has ended",
            422,
            "VALIDATION_ERROR",
        ),
        world.key("delete /suppressions/addresses/{email}", &["new@example.com"]).refused(
            "it is not on the list",
            404,
            "RESOURCE_NOT_FOUND",
        ),
    ]
}

fn files(world: &World) -> Vec<Refusal> {
    let upload = |form: String| {
        world
            .key("post /suppressions/addresses/import", &[])
            .body(form, "multipart/form-data; boundary=limit")
    };
    let large = format!("email\n{}", "x".repeat(5 * 1024 * 1024));
    vec![
        upload(form("people.txt", "text/plain", "email\nnew@example.com")).refused(
            "no CSV",
            400,
            "BAD_REQUEST",
        ),
        upload(form("people.csv", "text/csv", &large)).refused("too large", 413, "PAYLOAD_TOO_LARGE"),
    ]
}
