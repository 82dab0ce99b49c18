//! Refusals about workflows, their steps and transitions, and the ways of contacts through them.

use mailwright_testkit::{Value, json};
use mailwright_tests::workflow::Flow;
use mailwright_tests::{UNKNOWN_ID, with, without};

use super::refusal::{Asked, Refusal};
use super::seen::Seen;
use super::world::World;

pub(crate) fn refusals(world: &World) -> Vec<Refusal> {
    let parts = [
        created(world),
        changed(world),
        deleted(world),
        steps(world),
        steps_changed(world),
        transitions(world),
        inserted(world),
        executions(world),
        in_force(world),
        rehearsed(world),
    ];
    parts.into_iter().flatten().collect()
}

/// A request about things with names.
fn asked(world: &World, operation: &'static str, names: &[&str]) -> Asked {
    let ids: Vec<&str> = names.iter().map(|name| world.id(name)).collect();
    world.key(operation, &ids)
}

/// Bodies that lack one member each.
fn incomplete(whole: &Value, keys: &[&str]) -> Vec<Value> {
    keys.iter().map(|key| without(whole.clone(), key)).collect()
}

/// That there are too many workflows is in `limits.rs`.
fn created(world: &World) -> Vec<Refusal> {
    let post = |body: Value| world.key("post /workflows", &[]).json(&body);
    vec![
        post(json!({"eventName": "new event"})).refused_otherwise("without a name", 400),
        post(json!({"name": "New"})).refused_otherwise("without an event", 400),
        post(json!({"name": "New", "eventName": " \t"})).refused("a blank event", 400, "BAD_REQUEST"),
        post(json!({"name": "x".repeat(101), "eventName": "new event"})).refused(
            "a long name",
            422,
            "VALIDATION_ERROR",
        ),
        post(json!({"name": "New", "eventName": "new event", "allowReentry": "yes"})).refused(
            "the last field is wrong",
            422,
            "VALIDATION_ERROR",
        ),
    ]
}

fn changed(world: &World) -> Vec<Refusal> {
    let patch = |flow: &str, changes: Value| {
        let changes = with(json!({"name": "Changed", "allowReentry": true}), &changes);
        asked(world, "patch /workflows/{id}", &[flow]).json(&changes)
    };
    let schedule = json!({"segmentId": UNKNOWN_ID, "start": "2030-01-31T09:00"});
    vec![
        patch("idle flow", json!({"enabled": true, "goal": {}})).refused("no goal", 422, "VALIDATION_ERROR"),
        patch("flow", json!({"enabled": false, "triggerConfig": {}})).refused(
            "no event",
            422,
            "VALIDATION_ERROR",
        ),
        patch("flow", json!({"description": "x".repeat(501)})).refused(
            "a long description",
            422,
            "VALIDATION_ERROR",
        ),
        patch("idle flow", json!({"enabled": true, "triggerType": "SCHEDULE", "triggerConfig": schedule}))
            .refused("no segment", 404, "RESOURCE_NOT_FOUND"),
        world
            .with_key("patch /workflows/{id}", &[world.id("flow")], &world.neighbour.secret_key)
            .json(&json!({"name": "Changed"}))
            .refused("of another project", 404, "WORKFLOW_NOT_FOUND"),
    ]
}

fn deleted(world: &World) -> Vec<Refusal> {
    let bulk =
        |ids: Value| world.key("post /workflows/bulk-update", &[]).json(&json!({"ids": ids, "delete": true}));
    let idle = world.id("idle flow");
    let many: Vec<String> = (0..1001).map(|number| format!("01890000-0000-7000-8000-{number:012}")).collect();
    vec![
        asked(world, "delete /workflows/{id}", &["flow"]).refused(
            "a contact goes through it",
            409,
            "CONFLICT",
        ),
        world.key("delete /workflows/{id}", &["nobody"]).refused("no id", 404, "WORKFLOW_NOT_FOUND"),
        world.with_key("delete /workflows/{id}", &[idle], &world.neighbour.secret_key).refused(
            "of another project",
            404,
            "WORKFLOW_NOT_FOUND",
        ),
        bulk(json!([idle, world.id("flow")])).refused("a contact goes through the last", 409, "CONFLICT"),
        bulk(json!([idle, UNKNOWN_ID])).refused("nothing has the last id", 404, "WORKFLOW_NOT_FOUND"),
        bulk(json!([])).refused("none", 422, "VALIDATION_ERROR"),
        bulk(json!(many)).refused("one too many", 422, "VALIDATION_ERROR"),
    ]
}

/// A step as it is added.
fn step() -> Value {
    let config = json!({"amount": 1, "unit": "days"});
    json!({"type": "DELAY", "name": "New", "position": {"x": 1, "y": 2}, "config": config})
}

/// Changes of it that are refused wherever it is put.
fn wrong_steps() -> Vec<(&'static str, Value, u16, &'static str)> {
    let (short, none) = (json!({"amount": 0, "unit": "days"}), json!({"segmentId": UNKNOWN_ID}));
    let mailing = json!({"type": "SEND_EMAIL", "config": {}, "templateId": UNKNOWN_ID});
    vec![
        ("a second TRIGGER", json!({"type": "TRIGGER", "config": {"eventName": "new"}}), 400, "BAD_REQUEST"),
        ("no template", mailing, 404, "TEMPLATE_NOT_FOUND"),
        ("no segment", json!({"type": "ADD_TO_SEGMENT", "config": none}), 404, "RESOURCE_NOT_FOUND"),
        ("no type", json!({"type": "SLEEP"}), 422, "VALIDATION_ERROR"),
        ("a delay that is none", json!({"config": short}), 422, "VALIDATION_ERROR"),
        ("a long name", json!({"name": "x".repeat(101)}), 422, "VALIDATION_ERROR"),
    ]
}

/// That there is no room for another one is in `check_large`.
fn steps(world: &World) -> Vec<Refusal> {
    let post = |body: &Value| asked(world, "post /workflows/{id}/steps", &["idle flow"]).json(body);
    let wrong = wrong_steps().into_iter();
    let wrong =
        wrong.map(|(why, changes, status, code)| post(&with(step(), &changes)).refused(why, status, code));
    incomplete(&step(), &["type", "name", "position", "config"])
        .into_iter()
        .map(|body| post(&body).refused_otherwise("a member is missing", 400))
        .chain(wrong)
        .collect()
}

fn steps_changed(world: &World) -> Vec<Refusal> {
    let patch = |id: &str, changes: Value| {
        let changes = with(json!({"name": "Changed", "position": {"x": 3, "y": 4}}), &changes);
        world.key("patch /workflows/{id}/steps/{stepId}", &[world.id("idle flow"), id]).json(&changes)
    };
    let delete =
        |flow: &str, id: &str| world.key("delete /workflows/{id}/steps/{stepId}", &[world.id(flow), id]);
    let spliced = |name: &str| delete("idle flow", &format!("{}?splice=true", world.id(name)));
    vec![
        patch(UNKNOWN_ID, json!({})).refused("nothing has the id", 404, "RESOURCE_NOT_FOUND"),
        patch(world.id("mailing"), json!({"templateId": UNKNOWN_ID})).refused(
            "no template",
            404,
            "TEMPLATE_NOT_FOUND",
        ),
        patch(world.id("joining"), json!({"config": {"segmentId": UNKNOWN_ID}})).refused(
            "no segment",
            404,
            "RESOURCE_NOT_FOUND",
        ),
        patch(world.id("delaying"), json!({"config": {"amount": 0, "unit": "days"}})).refused(
            "a delay that is none",
            422,
            "VALIDATION_ERROR",
        ),
        patch(world.id("delaying"), json!({"name": 5})).refused("no text", 422, "VALIDATION_ERROR"),
        delete("idle flow", world.id("trigger")).refused("the TRIGGER", 400, "BAD_REQUEST"),
        spliced("trigger").refused("the TRIGGER, to splice out", 400, "BAD_REQUEST"),
        spliced("condition").refused("it has branches", 400, "BAD_REQUEST"),
        delete("idle flow", UNKNOWN_ID).refused("nothing has the id", 404, "RESOURCE_NOT_FOUND"),
        delete("flow", world.id("delaying")).refused("of another workflow", 404, "RESOURCE_NOT_FOUND"),
    ]
}

fn transitions(world: &World) -> Vec<Refusal> {
    let post = |body: &Value| asked(world, "post /workflows/{id}/transitions", &["idle flow"]).json(body);
    let link = |from: &str, to: &str, changes: Value| {
        let ends = json!({"fromStepId": world.id(from), "toStepId": world.id(to)});
        post(&with(ends, &changes))
    };
    let whole = json!({"fromStepId": world.id("joining"), "toStepId": world.id("leaving")});
    let mut refusals: Vec<Refusal> = incomplete(&whole, &["fromStepId", "toStepId"])
        .into_iter()
        .map(|body| post(&body).refused_otherwise("a step is missing", 400))
        .collect();
    let none = || json!({});
    for (why, from, to, changes) in [
        ("to itself", "joining", "joining", none()),
        ("a loop", "mailing", "condition", none()),
        ("out of an EXIT", "leaving", "joining", none()),
        ("a second one", "delaying", "joining", none()),
        ("a second one of a branch", "condition", "joining", json!({"branch": "yes"})),
        ("into the TRIGGER", "joining", "trigger", none()),
    ] {
        refusals.push(link(from, to, changes).refused(why, 400, "BAD_REQUEST"));
    }
    let delete = |flow: &str, id: &str| {
        world.key("delete /workflows/{id}/transitions/{transitionId}", &[world.id(flow), id])
    };
    refusals.extend([
        link("joining", "leaving", json!({"toStepId": UNKNOWN_ID})).refused(
            "nothing has the id of the end",
            404,
            "RESOURCE_NOT_FOUND",
        ),
        link("joining", "leaving", json!({"fromStepId": UNKNOWN_ID})).refused(
            "nothing has the id of the beginning",
            404,
            "RESOURCE_NOT_FOUND",
        ),
        link("condition", "joining", json!({"branch": "maybe"})).refused(
            "no branch of the step",
            422,
            "VALIDATION_ERROR",
        ),
        delete("idle flow", UNKNOWN_ID).refused("nothing has the id", 404, "RESOURCE_NOT_FOUND"),
        delete("flow", world.id("yes")).refused("of another workflow", 404, "RESOURCE_NOT_FOUND"),
    ]);
    refusals
}

fn inserted(world: &World) -> Vec<Refusal> {
    let operation = "post /workflows/{id}/transitions/{transitionId}/insert-step";
    let post = |body: &Value| asked(world, operation, &["idle flow", "yes"]).json(body);
    let wrong = wrong_steps().into_iter();
    let wrong =
        wrong.map(|(why, changes, status, code)| post(&with(step(), &changes)).refused(why, status, code));
    let mut refusals: Vec<Refusal> = incomplete(&step(), &["type", "name", "config"])
        .into_iter()
        .map(|body| post(&body).refused_otherwise("a member is missing", 400))
        .chain(wrong)
        .collect();
    refusals.extend([
        post(&with(step(), &json!({"type": "EXIT", "config": {}}))).refused(
            "an EXIT that leads on",
            400,
            "BAD_REQUEST",
        ),
        asked(world, operation, &["idle flow"]).json(&step()).refused(
            "nothing has the id",
            404,
            "RESOURCE_NOT_FOUND",
        ),
        asked(world, operation, &["flow", "yes"]).json(&step()).refused(
            "of another workflow",
            404,
            "RESOURCE_NOT_FOUND",
        ),
    ]);
    refusals
}

fn executions(world: &World) -> Vec<Refusal> {
    let post = |flow: &str, body: Value| asked(world, "post /workflows/{id}/executions", &[flow]).json(&body);
    let start = |flow: &str, contact: &str, context: Value| {
        post(flow, json!({"contactId": world.id(contact), "context": context}))
    };
    let operation = "delete /workflows/{id}/executions/{executionId}";
    let cancel = |names: &[&str]| asked(world, operation, names);
    vec![
        post("flow", json!({"context": {"new": 1}})).refused_otherwise("without a contact", 400),
        start("idle flow", "bob", json!({"new": 1})).refused("it is not enabled", 400, "BAD_REQUEST"),
        post("flow", json!({"contactId": UNKNOWN_ID})).refused("no contact", 404, "CONTACT_NOT_FOUND"),
        start("flow", "waiting contact", json!({})).refused("the contact goes through it", 409, "CONFLICT"),
        start("flow", "past contact", json!({})).refused("the contact did already", 409, "CONFLICT"),
        start("flow", "bob", json!("new")).refused("no object", 422, "VALIDATION_ERROR"),
        start("flow", "bob", json!({"x": "x".repeat(65 * 1024)})).refused(
            "a long context",
            422,
            "VALIDATION_ERROR",
        ),
        cancel(&["flow", "cancelled execution"]).refused("it is over", 409, "CONFLICT"),
        cancel(&["flow"]).refused("nothing has the id", 404, "RESOURCE_NOT_FOUND"),
        cancel(&["idle flow", "waiting execution"]).refused("of another workflow", 404, "RESOURCE_NOT_FOUND"),
        world
            .with_key(
                operation,
                &[world.id("flow"), world.id("waiting execution")],
                &world.neighbour.secret_key,
            )
            .refused("of another project", 404, "WORKFLOW_NOT_FOUND"),
    ]
}

/// That there are too many jobs is in `limits.rs`.
fn in_force(world: &World) -> Vec<Refusal> {
    let migrate = |flow: &str, body: Value| asked(world, "post /workflows/{id}/migrate", &[flow]).json(&body);
    let enrol = |flow: &str, body: Value| asked(world, "post /workflows/{id}/enrol", &[flow]).json(&body);
    let segment = world.id("static");
    vec![
        asked(world, "post /workflows/{id}/publish", &["idle flow"]).refused(
            "it is not enabled",
            400,
            "BAD_REQUEST",
        ),
        migrate("idle flow", json!({"dryRun": false})).refused("it was never enabled", 400, "BAD_REQUEST"),
        migrate("flow", json!({"dryRun": "no"})).refused("neither yes nor no", 422, "VALIDATION_ERROR"),
        enrol("idle flow", json!({"segmentId": segment})).refused("it is not enabled", 400, "BAD_REQUEST"),
        enrol("flow", json!({"segmentId": UNKNOWN_ID})).refused("no segment", 404, "RESOURCE_NOT_FOUND"),
        enrol("flow", json!({"segmentId": segment, "context": "new"})).refused(
            "no object",
            422,
            "VALIDATION_ERROR",
        ),
    ]
}

fn rehearsed(world: &World) -> Vec<Refusal> {
    let simulate = |body: Value| asked(world, "post /workflows/{id}/simulate", &["flow"]).json(&body);
    let event = json!({"email": "new@example.com", "event": "new event", "at": "2030-01-31T09:30:00Z"});
    let wrong = |changes: &Value| simulate(json!({"events": [with(event.clone(), changes)]}));
    vec![
        simulate(json!({"version": 99})).refused("no such version", 400, "BAD_REQUEST"),
        simulate(json!({"contact": "nobody@example.com"})).refused(
            "no such contact",
            404,
            "CONTACT_NOT_FOUND",
        ),
        simulate(json!({"days": 366})).refused("too many days", 422, "VALIDATION_ERROR"),
        simulate(json!({"events": []})).refused("no events", 422, "VALIDATION_ERROR"),
        wrong(&json!({"at": "soon"})).refused("no date", 422, "VALIDATION_ERROR"),
        simulate(json!({"events": [event], "days": 7})).refused(
            "events of two kinds",
            422,
            "VALIDATION_ERROR",
        ),
        simulate(json!({"until": "2030-01-31"})).refused("an end without events", 422, "VALIDATION_ERROR"),
    ]
}

/// Refusals of a workflow with steps that are as large as there is room for.
pub(crate) async fn check_large(world: &World, seen: &mut Seen) {
    let flow = Flow::new(&world.app, "large").await;
    let small = flow.then("WEBHOOK", json!({"url": "https://example.com/"})).await;
    let config = json!({"url": "https://example.com/", "body": "x".repeat(30_000)});
    for _ in 0..500 {
        if flow.try_add("WEBHOOK", &config, &json!({})).await.status != 201 {
            break;
        }
    }
    seen.begin_anew(world).await;
    let another = with(step(), &json!({"type": "WEBHOOK", "config": config}));
    let larger = json!({"name": "Changed", "config": config});
    let refusals = vec![
        world.key("post /workflows/{id}/steps", &[&flow.id]).json(&another).refused(
            "no room for the step",
            400,
            "BAD_REQUEST",
        ),
        world.key("patch /workflows/{id}/steps/{stepId}", &[&flow.id, &small]).json(&larger).refused(
            "no room for more in the step",
            400,
            "BAD_REQUEST",
        ),
    ];
    seen.check(world, refusals).await;
    world.app.delete(&flow.path("")).send().await.assert_status(204);
    seen.begin_anew(world).await;
}
