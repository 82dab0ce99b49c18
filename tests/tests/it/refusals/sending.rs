//! Refusals about sending and sender domains.

use mailwright_testkit::{Value, json};
use mailwright_tests::{UNKNOWN_ID, with};

use super::contacts::too_much;
use super::refusal::Refusal;
use super::world::World;

pub(crate) fn refusals(world: &World) -> Vec<Refusal> {
    let parts = [refused_mails(world), invalid_mails(world), domains(world), held_mails(world)];
    parts.into_iter().flatten().collect()
}

/// Mails that are refused for what they meet. Each would make a contact and a field, and take an idempotency key.
fn refused_mails(world: &World) -> Vec<Refusal> {
    let to = |last: &str| json!(["one@example.com", {"email": "bob@example.com", "name": "Robert"}, last]);
    let send = |changes: Value| {
        let whole = with(world.mail(), &json!({"subscribed": true, "data": {"new": 1}}));
        let asked = world.key("post /v1/send", &[]).header("idempotency-key", "a new key");
        asked.json(&with(whole, &changes))
    };
    let marketing =
        json!({"to": to("una@example.com"), "template": world.id("marketing"), "subscribed": null});
    let again =
        |key: &str| world.key("post /v1/send", &[]).header("idempotency-key", key).json(&world.mail());
    vec![
        send(marketing).refused("the last recipient is not subscribed", 400, "BAD_REQUEST"),
        send(json!({"to": to("new@example.com"), "data": {"locale": 1}})).refused(
            "locale is no text",
            400,
            "BAD_REQUEST",
        ),
        send(json!({"from": "hi@stranger.example"})).refused("another domain", 403, "INTERNAL_SERVER_ERROR"),
        send(json!({"to": to("new@example.com"), "from": "hi@pending.example"})).refused(
            "no verified domain",
            403,
            "INTERNAL_SERVER_ERROR",
        ),
        send(json!({"template": UNKNOWN_ID})).refused("no template", 404, "TEMPLATE_NOT_FOUND"),
        again("used-by-send").refused("the key was used for the same", 409, "IDEMPOTENCY_KEY_REUSED"),
        again("used-by-send")
            .json(&with(world.mail(), &json!({"to": to("new@example.com"), "subject": "Another"})))
            .refused("the key was used for something else", 409, "IDEMPOTENCY_KEY_REUSED"),
        again("used-by-track").refused("another request used the key", 409, "IDEMPOTENCY_KEY_REUSED"),
        send(json!({"to": to("full@example.com"), "data": too_much()})).refused(
            "the last recipient has no room",
            422,
            "VALIDATION_ERROR",
        ),
    ]
}

/// Mails that are refused for what they are.
fn invalid_mails(world: &World) -> Vec<Refusal> {
    let send = |changes: Value| {
        let asked = world.key("post /v1/send", &[]).header("idempotency-key", "a new key");
        asked.json(&with(world.mail(), &changes))
    };
    let many: Vec<String> = (0..1000).map(|number| format!("new{number}@example.com")).collect();
    let files = json!([
        {"filename": "a.txt", "content": "YQ==", "contentType": "text/plain"},
        {"filename": "b.txt", "content": "?", "contentType": "text/plain"},
    ]);
    vec![
        send(json!({"to": ["one@example.com", "two"]})).refused(
            "the last is no address",
            422,
            "VALIDATION_ERROR",
        ),
        send(json!({"to": many, "data": {"long": "x".repeat(10_000)}})).refused(
            "too much together",
            422,
            "VALIDATION_ERROR",
        ),
        send(json!({"attachments": files})).refused("the last attachment is wrong", 422, "VALIDATION_ERROR"),
        send(json!({"headers": {"X-Own": "1", "X-SES-Configuration-Set": "other"}})).refused(
            "the last header is reserved",
            422,
            "VALIDATION_ERROR",
        ),
        send(json!({"from": null})).refused("without a sender", 422, "VALIDATION_ERROR"),
    ]
}

fn domains(world: &World) -> Vec<Refusal> {
    let add = |body: Value| world.key("post /domains", &[]).json(&body);
    vec![
        add(json!({"domain": "new.example", "projectId": world.neighbour.id})).refused(
            "another project",
            403,
            "PROJECT_ACCESS_DENIED",
        ),
        add(json!({"domain": "Pending.example"})).refused("the project has it", 409, "CONFLICT"),
        add(json!({"domain": "no domain"})).refused("no name", 422, "VALIDATION_ERROR"),
        world.key("post /delivery/interventions", &[]).json(&json!({"kind": "REROUTE"})).refused(
            "what operators alone can have",
            422,
            "VALIDATION_ERROR",
        ),
        world.key("delete /delivery/interventions/{id}", &[world.id("pause of the operator")]).refused(
            "the operator began it",
            403,
            "FORBIDDEN",
        ),
        world.key("delete /domains/{id}", &[world.id("own domain")]).refused(
            "templates and campaigns send from it",
            409,
            "CONFLICT",
        ),
        world.key("delete /domains/{id}", &[world.id("lapsed domain")]).refused(
            "a campaign sends from it",
            409,
            "CONFLICT",
        ),
    ]
}

fn held_mails(world: &World) -> Vec<Refusal> {
    let decide = |body: Value| world.by(&world.owner, "post /held/decide", &[]).json(&body);
    vec![
        world.key("post /held/decide", &[]).json(&json!({"decision": "drop"})).refused(
            "a key",
            403,
            "FORBIDDEN",
        ),
        decide(json!({"decision": "send"})).refused("no such decision", 422, "VALIDATION_ERROR"),
        decide(json!({"decision": "drop", "ids": []})).refused("no mails", 422, "VALIDATION_ERROR"),
        decide(json!({"decision": "drop", "ids": [UNKNOWN_ID], "campaignId": UNKNOWN_ID})).refused(
            "mails and a campaign",
            422,
            "VALIDATION_ERROR",
        ),
    ]
}
