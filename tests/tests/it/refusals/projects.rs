//! Refusals about projects and their keys.

use mailwright_testkit::{OWNER, Value, json};
use mailwright_tests::UNKNOWN_ID;
use mailwright_tests::browser::Browser;

use super::refusal::Refusal;
use super::world::World;

pub(crate) fn refusals(world: &World) -> Vec<Refusal> {
    let parts = [settings(world), what_cannot_be_undone(world), keys(world), billing(world)];
    parts.into_iter().flatten().collect()
}

fn settings(world: &World) -> Vec<Refusal> {
    let project = world.project.as_str();
    let patch = |browser: &Browser, project: &str, body: Value| {
        world.by(browser, "patch /users/@me/projects/{id}", &[project]).json(&body)
    };
    let cap = |cap: Value| {
        let changes = json!({"name": "Changed", "timezone": "Europe/Berlin", "marketingCap": cap});
        patch(&world.owner, project, changes)
    };
    vec![
        patch(&world.member, project, json!({"name": "Mine"})).refused("a member", 403, "FORBIDDEN"),
        patch(&world.banned, world.id("banned"), json!({"name": "Mine"})).refused(
            "the project is disabled",
            403,
            "PROJECT_DISABLED",
        ),
        patch(&world.free, project, json!({"name": "Mine"})).refused("a stranger", 404, "RESOURCE_NOT_FOUND"),
        patch(&world.owner, project, json!({"name": "Changed", "sendingPerSecond": 0})).refused(
            "the last field is wrong",
            422,
            "VALIDATION_ERROR",
        ),
        patch(&world.owner, project, json!({"name": "Changed", "timezone": "Europe/Atlantis"})).refused(
            "no time zone",
            422,
            "VALIDATION_ERROR",
        ),
        patch(&world.owner, project, json!({"doubleOptIn": true, "confirmationTemplateId": UNKNOWN_ID}))
            .refused("no template", 404, "TEMPLATE_NOT_FOUND"),
        patch(
            &world.owner,
            project,
            json!({"name": "Changed", "confirmationTemplateId": world.id("marketing")}),
        )
        .refused("a marketing template", 422, "VALIDATION_ERROR"),
        cap(json!({"emails": 0, "hours": 24})).refused("a cap of no mails", 422, "VALIDATION_ERROR"),
        cap(json!({"emails": 1, "hours": 8761})).refused("a cap for too long", 422, "VALIDATION_ERROR"),
        cap(json!({"emails": 1})).refused("a cap without a period", 422, "VALIDATION_ERROR"),
    ]
}

fn what_cannot_be_undone(world: &World) -> Vec<Refusal> {
    let project = world.project.as_str();
    let mut refusals = Vec::new();
    for operation in [
        "delete /users/@me/projects/{id}",
        "post /users/@me/projects/{id}/regenerate-keys",
        "post /users/@me/projects/{id}/reset",
        "post /projects/{id}/webhook-secret",
    ] {
        let ask = |browser: &Browser, project: &str, password: Value| {
            world.by(browser, operation, &[project]).json(&json!({"password": password}))
        };
        refusals.extend([
            ask(&world.owner, project, json!(null)).refused("no password", 403, "PASSWORD_REQUIRED"),
            ask(&world.owner, project, json!("the password of somebody else"))
                .refused("a wrong password", 401, "INVALID_CREDENTIALS")
                .counted(),
            ask(&world.owner, project, json!(5)).refused("no text", 422, "VALIDATION_ERROR"),
            ask(&world.member, project, json!(OWNER.1)).refused("a member", 403, "FORBIDDEN"),
            ask(&world.free, project, json!(OWNER.1)).refused("a stranger", 404, "RESOURCE_NOT_FOUND"),
        ]);
    }
    refusals
}

/// Nothing is billed here; what is refused where it is, is in `billing/`.
fn billing(world: &World) -> Vec<Refusal> {
    let project = world.project.as_str();
    let mut refusals = Vec::new();
    for operation in
        ["post /users/@me/projects/{id}/checkout", "post /users/@me/projects/{id}/billing-portal"]
    {
        let ask = |browser: &Browser| world.by(browser, operation, &[project]);
        refusals.extend([
            ask(&world.owner).refused("nothing is billed", 404, "RESOURCE_NOT_FOUND"),
            ask(&world.member).refused("a member", 403, "FORBIDDEN"),
        ]);
    }
    let limits = |browser: &Browser, inbound: Value| {
        let body = json!({"workflows": 5, "campaigns": null, "transactional": null, "inbound": inbound});
        world.by(browser, "put /users/@me/projects/{id}/billing-limits", &[project]).json(&body)
    };
    refusals.extend([
        limits(&world.owner, json!(5)).refused("there is no subscription", 400, "BAD_REQUEST"),
        limits(&world.owner, json!(0)).refused("the last limit is wrong", 422, "VALIDATION_ERROR"),
        limits(&world.member, json!(5)).refused("a member", 403, "FORBIDDEN"),
        limits(&world.free, json!(5)).refused("a stranger", 404, "RESOURCE_NOT_FOUND"),
    ]);
    for operation in ["post /webhooks/incoming/payments", "post /webhooks/incoming/stripe"] {
        let asked = world.open(operation, &[]).body("{}", "text/plain");
        refusals.push(asked.refused("nothing is billed", 404, "RESOURCE_NOT_FOUND"));
    }
    refusals
}

/// That there are too many keys is in `limits.rs`.
fn keys(world: &World) -> Vec<Refusal> {
    let project = world.project.as_str();
    let create = |browser: &Browser, scopes: Value| {
        let body = json!({"name": "New", "scopes": scopes});
        world.by(browser, "post /projects/{id}/keys", &[project]).json(&body)
    };
    vec![
        create(&world.member, json!(["read"])).refused("a member", 403, "FORBIDDEN"),
        create(&world.owner, json!(["send", "fly"])).refused(
            "the last scope is wrong",
            422,
            "VALIDATION_ERROR",
        ),
        create(&world.owner, json!([])).refused("no scope", 422, "VALIDATION_ERROR"),
        world
            .by(&world.member, "delete /projects/{id}/keys/{keyId}", &[project, world.id("id of a key")])
            .refused("a member", 403, "FORBIDDEN"),
        world
            .by(
                &world.admin,
                "delete /projects/{id}/keys/{keyId}",
                &[world.id("side"), world.id("id of a key")],
            )
            .refused("a key of another project", 404, "RESOURCE_NOT_FOUND"),
    ]
}
