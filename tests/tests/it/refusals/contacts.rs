//! Refusals about contacts, their fields, events and subscriptions.

use std::iter::once;

use mailwright_testkit::{OWNER, Value, json};
use mailwright_tests::browser::Browser;
use mailwright_tests::{UNKNOWN_ID, read};

use super::refusal::Refusal;
use super::world::World;

/// A form with a file.
pub(crate) fn form(name: &str, kind: &str, content: &str) -> String {
    format!(
        "--limit\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\nContent-Type: {kind}\r\n\r\n\
         {content}\r\n--limit--\r\n"
    )
}

/// Data that no contact has room for beside what `full@example.com` has, with a field that nobody has.
pub(crate) fn too_much() -> Value {
    json!({"first": "new", "more": "x".repeat(100 * 1024)})
}

pub(crate) fn refusals(world: &World) -> Vec<Refusal> {
    let parts = [single(world), events(world), jobs(world), by_recipients(world), erasures(world)];
    parts.into_iter().flatten().collect()
}

fn single(world: &World) -> Vec<Refusal> {
    let post = |body: Value| world.key("post /contacts", &[]).json(&body);
    let patch = |id: &str, body: Value| world.key("patch /contacts/{id}", &[world.id(id)]).json(&body);
    let many: Value =
        (0..501).map(|number| (format!("f{number}"), json!(1))).collect::<serde_json::Map<_, _>>().into();
    vec![
        post(json!({"data": {"plan": "x"}})).refused_otherwise("without an address", 400),
        post(json!({"email": "new@example.com", "data": {"locale": 5}})).refused(
            "locale is no text",
            400,
            "BAD_REQUEST",
        ),
        post(json!({"email": "new@example.com", "data": many})).refused(
            "one field too many",
            422,
            "VALIDATION_ERROR",
        ),
        post(json!({"email": "full@example.com", "subscribed": false, "data": too_much()})).refused(
            "the contact has no room",
            422,
            "VALIDATION_ERROR",
        ),
        patch("ann", json!({"subscribed": false, "data": {"plan": "new"}, "email": "bob@example.com"}))
            .refused("another contact has the address", 409, "CONFLICT"),
        patch("full", json!({"subscribed": false, "email": "fuller@example.com", "data": too_much()}))
            .refused("the contact has no room", 422, "VALIDATION_ERROR"),
        patch("ann", json!({"subscribed": false, "data": {"locale": []}})).refused(
            "locale is no text",
            400,
            "BAD_REQUEST",
        ),
        patch("ann", json!({"email": "ada@example.com", "subscribed": "no"})).refused(
            "the last field is wrong",
            422,
            "VALIDATION_ERROR",
        ),
        world.key("delete /contacts/fields/{field}", &["email"]).refused(
            "a standard field",
            400,
            "BAD_REQUEST",
        ),
        world.key("delete /contacts/fields/{field}", &["data.%00"]).refused(
            "no field has the name",
            400,
            "BAD_REQUEST",
        ),
        world
            .key("post /contacts/lookup", &[])
            .json(&json!({"emails": vec!["new@example.com"; 501]}))
            .refused("too many", 422, "VALIDATION_ERROR"),
        world.key("post /v1/verify", &[]).json(&json!({"email": "ada"})).refused(
            "no address",
            422,
            "VALIDATION_ERROR",
        ),
        world
            .key("post /v1/verify/batch", &[])
            .json(&json!({"emails": vec!["new@example.com"; 1_001]}))
            .refused("too many", 422, "VALIDATION_ERROR"),
    ]
}

fn events(world: &World) -> Vec<Refusal> {
    let record = |body: Value| world.key("post /events/track", &[]).json(&body);
    let track = |body: Value| {
        let asked = world.with_key("post /v1/track", &[], world.app.public_key());
        asked.header("idempotency-key", "a new key").json(&body)
    };
    let again = |key: &str| {
        let asked = world.key("post /v1/track", &[]).header("idempotency-key", key);
        asked.json(&json!({"email": "other@example.com", "event": "other", "data": {"other": 1}}))
    };
    let reserved = json!({"email": "new@example.com", "name": "email.sent"});
    let reserved_too = json!({"email": "new@example.com", "event": "email.sent"});
    vec![
        record(json!({"contactId": UNKNOWN_ID, "name": "seen", "data": {"new": 1}}))
            .refused("no contact has the id", 404, "CONTACT_NOT_FOUND"),
        record(reserved).refused("a reserved name", 422, "VALIDATION_ERROR"),
        record(json!({"contactId": world.id("full"), "name": "new event", "data": too_much()}))
            .refused("the contact has no room", 422, "VALIDATION_ERROR"),
        record(json!({"email": "new@example.com", "name": "new event", "data": {"locale": {}}}))
            .refused("locale is no text", 400, "BAD_REQUEST"),
        track(reserved_too).refused("a reserved name", 422, "VALIDATION_ERROR"),
        track(json!({"email": "new@example.com", "event": "x".repeat(256), "data": {"new": 1}}))
            .refused("a long name", 422, "VALIDATION_ERROR"),
        track(json!({"email": "full@example.com", "event": "new event", "subscribed": false, "data": too_much()}))
            .refused("the contact has no room", 422, "VALIDATION_ERROR"),
        again("used-by-track").refused("the key was used", 409, "IDEMPOTENCY_KEY_REUSED"),
        again("used-by-send").refused("another request used the key", 409, "IDEMPOTENCY_KEY_REUSED"),
        again(&"x".repeat(256)).refused("a long key", 400, "BAD_REQUEST"),
        world.key("delete /events/{eventName}", &["email.sent"]).refused("an event of the service", 400, "BAD_REQUEST"),
    ]
}

fn jobs(world: &World) -> Vec<Refusal> {
    let mut refusals = Vec::new();
    for operation in
        ["post /contacts/bulk-subscribe", "post /contacts/bulk-unsubscribe", "post /contacts/bulk-delete"]
    {
        let ask = |ids: Value| world.key(operation, &[]).json(&json!({"contactIds": ids}));
        let many: Vec<Value> =
            (0..1000).map(|_| world.id("una")).chain(once(UNKNOWN_ID)).map(|id| json!(id)).collect();
        refusals.extend([
            ask(json!([world.id("una"), world.id("bob"), "nobody"])).refused(
                "the last is no id",
                422,
                "VALIDATION_ERROR",
            ),
            ask(json!([])).refused("nobody", 422, "VALIDATION_ERROR"),
            ask(json!(many)).refused("one too many", 422, "VALIDATION_ERROR"),
        ]);
    }
    let import = |body: String| {
        world.key("post /contacts/import", &[]).body(body, "multipart/form-data; boundary=limit")
    };
    let rows = "email\nnew@example.com\n";
    refusals.extend([
        import(String::from("--limit--\r\n")).refused("without a file", 400, "BAD_REQUEST"),
        import(form("c.txt", "text/plain", rows)).refused("no CSV", 400, "BAD_REQUEST"),
        import(form("c.csv", "text/csv", rows).replace("\r\n--limit--", "")).refused(
            "a form that breaks off",
            400,
            "BAD_REQUEST",
        ),
        import(form("c.csv", "text/csv", &"x".repeat(5 * 1024 * 1024 + 1))).refused(
            "too large",
            413,
            "PAYLOAD_TOO_LARGE",
        ),
    ]);
    refusals.extend(guided(world));
    refusals.push(world.key("post /contacts/bulk/{jobId}/undo", &[world.id("bulk")]).refused(
        "it changed no subscription",
        409,
        "CONFLICT",
    ));
    refusals
}

/// Looks at files, and mappings of their columns.
fn guided(world: &World) -> Vec<Refusal> {
    let ask =
        |operation, body: String| world.key(operation, &[]).body(body, "multipart/form-data; boundary=limit");
    let look = |body: String| ask("post /contacts/import/preview", body);
    let rows = "email\nnew@example.com\n";
    let mapped = |mapping: &str| {
        let part = "--limit\r\nContent-Disposition: form-data; name=\"mapping\"\r\n\r\n";
        format!("{part}{mapping}\r\n{}", form("c.csv", "text/csv", rows))
    };
    let mut refusals = vec![
        look(String::from("--limit--\r\n")).refused("without a file", 400, "BAD_REQUEST"),
        look(form("c.csv", "text/csv", "email\n")).refused("no rows", 400, "BAD_REQUEST"),
        look(form("c.csv", "text/csv", &"x".repeat(5 * 1024 * 1024 + 1))).refused(
            "too large",
            413,
            "PAYLOAD_TOO_LARGE",
        ),
    ];
    for operation in ["post /contacts/import", "post /contacts/import/preview"] {
        refusals.extend([
            ask(operation, mapped("{\"email\": 5}")).refused("no mapping", 422, "VALIDATION_ERROR"),
            ask(operation, mapped("{\"email\": null}")).refused("no addresses", 422, "VALIDATION_ERROR"),
        ]);
    }
    refusals
}

/// A message of a topic that is not listed.
fn foreign_message() -> Value {
    json!({
        "Type": "Notification", "MessageId": "m1", "TopicArn": "arn:aws:sns:eu-west-1:2:mail", "Message": "{}",
        "Timestamp": "2026-01-01T00:00:00.000Z", "SignatureVersion": "1", "Signature": "AA==",
        "SigningCertURL": "https://sns.eu-west-1.amazonaws.com/a.pem",
    })
}

/// By recipients, who have no key. That a subscription changed too often is in `limits.rs`.
fn by_recipients(world: &World) -> Vec<Refusal> {
    let told = world.id("told");
    vec![
        world.open("post /contacts/public/{id}/subscribe", &[told]).refused(
            "the id alone opens nothing to who was told it",
            404,
            "CONTACT_NOT_FOUND",
        ),
        world.open("post /contacts/public/{id}/unsubscribe", &[told]).refused(
            "the id alone opens nothing to who was told it",
            404,
            "CONTACT_NOT_FOUND",
        ),
        world.open("post /subscribe/{id}", &[told]).refused_otherwise("the id alone opens nothing", 404),
        world.open("post /unsubscribe/{id}", &[told]).refused_otherwise("the id alone opens nothing", 404),
        world.open("post /manage/{id}", &[told]).refused_otherwise("the id alone opens nothing", 404),
        world.open("post /confirm/{id}", &[told]).refused_otherwise("the id alone confirms nothing", 404),
        world.open("post /manage/{id}", &["nobody"]).refused_otherwise("no id", 404),
        world.open("post /confirm/{id}", &["nobody"]).refused_otherwise("no id", 404),
        world.open("post /subscribe/{id}", &["nobody"]).refused_otherwise("no id", 404),
        world.open("post /unsubscribe/{id}", &["nobody"]).refused_otherwise("no id", 404),
        world.open("post /webhooks/sns", &[]).body("x", "text/plain").refused_otherwise("no message", 400),
        world
            .open("post /webhooks/sns", &[])
            .json(&foreign_message())
            .refused_otherwise("a topic of others", 403),
    ]
}

/// That a thousand are under way is in `seen.rs`.
fn erasures(world: &World) -> Vec<Refusal> {
    let mut refusals = Vec::new();
    for (operation, id, email) in
        [("post /contacts/{id}/erase", Some("ann"), None), ("post /erasures", None, Some("ann@example.com"))]
    {
        let ids: Vec<&str> = id.map(|id| world.id(id)).into_iter().collect();
        let ask = |browser: &Browser, password: Value| {
            let mut body = json!({"password": password, "keepOut": true});
            if let Some(email) = email {
                body["email"] = email.into();
            }
            world.by(browser, operation, &ids).json(&body)
        };
        refusals.extend([
            ask(&world.owner, json!(null)).refused("no password", 403, "PASSWORD_REQUIRED"),
            ask(&world.owner, json!("the password of somebody else"))
                .refused("a wrong password", 401, "INVALID_CREDENTIALS")
                .counted(),
            ask(&world.owner, json!(5)).refused("no text", 422, "VALIDATION_ERROR"),
            ask(&world.member, json!(OWNER.1)).refused("a member", 403, "FORBIDDEN"),
        ]);
    }
    let right = json!({"password": OWNER.1});
    refusals.extend([
        world
            .by(&world.owner, "post /contacts/{id}/erase", &[UNKNOWN_ID])
            .json(&right)
            .refused("no such contact", 404, "CONTACT_NOT_FOUND")
            .counted(),
        world
            .by(&world.member, "post /erasures/check", &[])
            .json(&json!({"email": "ann@example.com"}))
            .refused("a member", 403, "FORBIDDEN"),
        world.by(&world.owner, "post /erasures/check", &[]).json(&json!({"email": "nobody"})).refused(
            "no address",
            422,
            "VALIDATION_ERROR",
        ),
    ]);
    refusals
}

/// Bulk operations: one that changed nothing, and one that changed a subscription, which another has set back.
pub(crate) async fn change_many(world: &mut World) {
    for (name, operation, contacts) in [
        ("untouched", "subscribe", json!([world.id("bob"), UNKNOWN_ID])),
        ("bulk", "subscribe", json!([UNKNOWN_ID])),
        ("flipped", "subscribe", json!([world.id("una")])),
        ("set back", "unsubscribe", json!([world.id("una")])),
    ] {
        let asked =
            world.app.post(&format!("/contacts/bulk-{operation}")).json(&json!({"contactIds": contacts}));
        let queued = asked.send().await.assert_status(202).json();
        world.keep(name, &queued["jobId"]);
        let status = format!("/contacts/bulk/{}", world.id(name));
        let done = async || (read(&world.app, &status).await["state"] == "completed").then_some(());
        world.app.eventually("the operation is over", done).await;
    }
}
