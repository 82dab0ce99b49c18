//! Refusals because there is too much of something already.

use mailwright_testkit::{App, Engine, OWNER, Value, json};
use mailwright_tests::browser::PASSWORD;
use mailwright_tests::{early_in_a_minute, with};

use super::changes::Cause;
use super::contacts::form;
use super::refusal::{Asked, Refusal};
use super::rules::{Rule, as_caller, bare, keep};
use super::seen::Seen;
use super::world::World;

/// The project.
const PROJECT: &str = "(select number from projects where name = 'Acme')";

/// Rows that fill something up, and what takes them away again.
struct Filler {
    fill: String,
    empty: String,
}

impl Filler {
    /// Copies of a row of a table, with these columns changed.
    fn copies(app: &App, (table, columns): (&str, &str), changes: &[(&str, &str)], count: usize) -> Self {
        let (id, hash) = match app.engine() {
            Engine::Sqlite => ("randomblob(16)", "randomblob(32)"),
            Engine::Postgres => ("gen_random_uuid()", "sha256(i::text::bytea)"),
        };
        let value = |column: &str| {
            let change = changes.iter().find(|(name, _)| *name == column);
            let value = change.map_or(format!("r.{column}"), |(_, value)| (*value).to_owned());
            value.replace("{id}", id).replace("{hash}", hash)
        };
        let values: Vec<String> = columns.split(", ").map(value).collect();
        let fill = format!(
            "insert into {table} ({columns}) \
             select {} from {}, (select * from {table} limit 1) r",
            values.join(", "),
            app.numbers(1..=count)
        );
        Self { fill, empty: format!("delete from {table} where created_at = 7") }
    }
}

/// Everything that can be full.
pub(crate) async fn check_full(world: &World, seen: &mut Seen) {
    for (filler, refusals) in [
        jobs(world),
        keys(world),
        segments(world),
        rules(world),
        topics(world),
        workflows(world),
        domains(world),
        fields(world),
        names(world),
        invitations(world, false),
        invitations(world, true),
        members(world),
    ] {
        full(world, seen, &filler, refusals).await;
    }
    subscriptions(world, seen).await;
}

async fn full(world: &World, seen: &mut Seen, filler: &Filler, refusals: Vec<Refusal>) {
    world.app.tamper(&filler.fill).await;
    seen.look_again(world).await;
    seen.check(world, refusals).await;
    world.app.tamper(&filler.empty).await;
    seen.look_again(world).await;
}

fn jobs(world: &World) -> (Filler, Vec<Refusal>) {
    let columns =
        "project_id, id, kind, state, progress, percent, due_at, claim, attempts, created_at, updated_at";
    let changes = [("id", "{id}"), ("state", "'waiting'"), ("due_at", "9000000000000"), ("created_at", "7")];
    let bulk = |operation| {
        let body = json!({"contactIds": [world.id("bob"), world.id("una")]});
        world.key(operation, &[]).json(&body).refused("too many jobs", 429, "RATE_LIMIT_EXCEEDED")
    };
    let import = world.key("post /contacts/import", &[]);
    let file = form("c.csv", "text/csv", "email\nnew@example.com\n");
    let import = import.body(file, "multipart/form-data; boundary=limit");
    let suppress = world.key("post /suppressions/addresses/import", &[]);
    let file = form("s.csv", "text/csv", "email\nnew@example.com\n");
    let suppress = suppress.body(file, "multipart/form-data; boundary=limit");
    let enrol = world.key("post /workflows/{id}/enrol", &[world.id("flow")]);
    let enrol = enrol.json(&json!({"segmentId": world.id("static"), "context": {"new": 1}}));
    let migrate = world.key("post /workflows/{id}/migrate", &[world.id("flow")]);
    let migrate = migrate.json(&json!({"dryRun": false}));
    let simulate = world.key("post /workflows/{id}/simulate", &[world.id("flow")]).json(&json!({"days": 7}));
    let refusals = vec![
        bulk("post /contacts/bulk-subscribe"),
        bulk("post /contacts/bulk-unsubscribe"),
        bulk("post /contacts/bulk-delete"),
        world.key("post /contacts/bulk/{jobId}/undo", &[world.id("flipped")]).refused(
            "too many jobs",
            429,
            "RATE_LIMIT_EXCEEDED",
        ),
        import.refused("too many jobs", 429, "RATE_LIMIT_EXCEEDED"),
        suppress.refused("too many jobs", 429, "RATE_LIMIT_EXCEEDED"),
        world.key("post /v1/verify/segment", &[]).json(&json!({"segmentId": world.id("static")})).refused(
            "too many jobs",
            429,
            "RATE_LIMIT_EXCEEDED",
        ),
        world
            .key("post /v1/verify/file", &[])
            .body(
                form("v.csv", "text/csv", "email\nnew@example.com\n"),
                "multipart/form-data; boundary=limit",
            )
            .refused("too many jobs", 429, "RATE_LIMIT_EXCEEDED"),
        enrol.refused("too many jobs", 429, "RATE_LIMIT_EXCEEDED"),
        migrate.refused("too many jobs", 429, "RATE_LIMIT_EXCEEDED"),
        simulate.refused("too many jobs", 429, "RATE_LIMIT_EXCEEDED"),
    ];
    (Filler::copies(&world.app, ("jobs", columns), &changes, 100), refusals)
}

fn keys(world: &World) -> (Filler, Vec<Refusal>) {
    let columns = "hash, id, project_id, kind, created_at";
    let changes = [
        ("hash", "{hash}"),
        ("id", "{id}"),
        ("project_id", PROJECT),
        ("kind", "'secret'"),
        ("created_at", "7"),
    ];
    let create = world.by(&world.owner, "post /projects/{id}/keys", &[&world.project]);
    let create = create.json(&json!({"name": "New", "scopes": ["read"]}));
    let refusals = vec![create.refused("too many keys", 409, "CONFLICT")];
    (Filler::copies(&world.app, ("api_keys", columns), &changes, 100), refusals)
}

fn segments(world: &World) -> (Filler, Vec<Refusal>) {
    let columns = "project_id, id, name, type, track_membership, member_count, created_at, updated_at";
    let changes = [("id", "{id}"), ("type", "'STATIC'"), ("created_at", "7")];
    let create = world.key("post /segments", &[]).json(&json!({"name": "New", "type": "STATIC"}));
    let refusals = vec![create.refused("too many segments", 409, "CONFLICT")];
    (Filler::copies(&world.app, ("segments", columns), &changes, 1000), refusals)
}

fn rules(world: &World) -> (Filler, Vec<Refusal>) {
    let columns = "project_id, id, name, kind, pattern, enabled, created_at, updated_at";
    let create = world.key("post /suppressions", &[]);
    let create = create.json(&json!({"name": "New", "kind": "DOMAIN", "pattern": "new.example"}));
    let refusals = vec![create.refused("too many rules", 409, "CONFLICT")];
    let changes = [("id", "{id}"), ("created_at", "7")];
    (Filler::copies(&world.app, ("suppression_rules", columns), &changes, 99), refusals)
}

fn topics(world: &World) -> (Filler, Vec<Refusal>) {
    let columns = "project_id, id, name, visibility, default_subscribed, double_opt_in, position, created_at, updated_at";
    let create = world.key("post /topics", &[]).json(&json!({"name": "New"}));
    let refusals = vec![create.refused("too many topics", 409, "CONFLICT")];
    (Filler::copies(&world.app, ("topics", columns), &[("id", "{id}"), ("created_at", "7")], 48), refusals)
}

fn workflows(world: &World) -> (Filler, Vec<Refusal>) {
    let columns = "project_id, id, name, enabled, allow_reentry, trigger_type, trigger_config, graph, steps, versions, \
                   is_draft, search, created_at, updated_at";
    let changes =
        [("id", "{id}"), ("enabled", "false"), ("versions", "0"), ("is_draft", "false"), ("created_at", "7")];
    let create = world.key("post /workflows", &[]).json(&json!({"name": "New", "eventName": "new event"}));
    let copy = world.key("post /workflows/{id}/duplicate", &[world.id("idle flow")]);
    let refusals = vec![
        create.refused("too many workflows", 409, "CONFLICT"),
        copy.refused("too many workflows", 409, "CONFLICT"),
    ];
    (Filler::copies(&world.app, ("workflows", columns), &changes, 1000), refusals)
}

fn domains(world: &World) -> (Filler, Vec<Refusal>) {
    let columns = "project_id, id, name, verified, vouched, selector, key_type, public_key, private_key, last_check, \
                   check_at, created_at, updated_at";
    let changes =
        [("project_id", PROJECT), ("id", "{id}"), ("name", "'full' || i || '.example'"), ("created_at", "7")];
    let add = world.key("post /domains", &[]).json(&json!({"domain": "new.example"}));
    let refusals = vec![add.refused("too many domains", 400, "BAD_REQUEST")];
    (Filler::copies(&world.app, ("domains", columns), &changes, 100), refusals)
}

fn fields(world: &World) -> (Filler, Vec<Refusal>) {
    let columns = "project_id, name, type, created_at";
    let changes = [("project_id", PROJECT), ("name", "'full ' || i"), ("created_at", "7")];
    let data = json!({"full 1": 1, "first": "new"});
    let told = |asked: Asked| asked.refused("too many fields", 422, "VALIDATION_ERROR");
    let send = with(world.mail(), &json!({"to": ["new@example.com", "bob@example.com"], "data": data}));
    let tracked = json!({"email": "new@example.com", "event": "new event", "data": data});
    let refusals = vec![
        told(world.key("post /contacts", &[]).json(&json!({"email": "new@example.com", "data": data}))),
        told(
            world
                .key("patch /contacts/{id}", &[world.id("bob")])
                .json(&json!({"subscribed": false, "data": data})),
        ),
        told(world.key("post /events/track", &[]).json(&tracked)),
        told(world.key("post /v1/track", &[]).header("idempotency-key", "a new key").json(&tracked)),
        told(world.with_key("post /v1/track", &[], world.app.public_key()).json(&tracked)),
        told(world.key("post /v1/send", &[]).header("idempotency-key", "a new key").json(&send)),
    ];
    (Filler::copies(&world.app, ("contact_fields", columns), &changes, 999), refusals)
}

fn names(world: &World) -> (Filler, Vec<Refusal>) {
    let columns = "project_id, name, created_at";
    let changes = [("name", "'full ' || i"), ("created_at", "7")];
    let tracked = json!({"email": "new@example.com", "event": "new event", "data": {"first": "new"}});
    let track = |key: &str| world.with_key("post /v1/track", &[], key).header("idempotency-key", "a new key");
    let refusals = vec![
        track(world.app.public_key()).json(&tracked).refused("too many events", 422, "VALIDATION_ERROR"),
        track(world.app.secret_key()).json(&tracked).refused("far too many events", 422, "VALIDATION_ERROR"),
    ];
    (Filler::copies(&world.app, ("event_names", columns), &changes, 10_000), refusals)
}

/// Of persons, or of keys.
fn invitations(world: &World, of_keys: bool) -> (Filler, Vec<Refusal>) {
    let columns = "id, project_id, email, role, token_hash, invited_by, created_at, expires_at, key_id";
    let (key, count) = if of_keys { ("{id}", 100) } else { ("null", 500) };
    let changes = [
        ("id", "{id}"),
        ("project_id", PROJECT),
        ("email", "'full' || i || '@example.com'"),
        ("token_hash", "{hash}"),
        ("created_at", "7"),
        ("expires_at", "9000000000000"),
        ("key_id", key),
    ];
    let (operation, project) = ("post /projects/{id}/members", world.project.as_str());
    let asked = if of_keys {
        world.key(operation, &[project])
    } else {
        world.by(&world.owner, operation, &[project])
    };
    let refusals = vec![asked.json(&json!({"email": "new@example.com"})).refused(
        "too many invitations",
        409,
        "CONFLICT",
    )];
    (Filler::copies(&world.app, ("invitations", columns), &changes, count), refusals)
}

/// Also where somebody accepts an invitation, and where one is signed in for that.
fn members(world: &World) -> (Filler, Vec<Refusal>) {
    let columns = "id, email, created_at, updated_at";
    let changes = [("id", "{id}"), ("email", "'full' || i || '@example.com'"), ("created_at", "7")];
    let users = Filler::copies(&world.app, ("users", columns), &changes, 500);
    let member = "insert into memberships (project_id, user_id, role, created_at) \
                  select (select number from projects where name = 'Acme'), id, 'MEMBER', 7 \
                  from users where created_at = 7";
    let filler = Filler { fill: format!("{}; {member}", users.fill), empty: users.empty };
    let project = world.project.as_str();
    let invite = world.by(&world.owner, "post /projects/{id}/members", &[project]);
    let accept = world.by(&world.free, "post /users/@me/invitations", &[]);
    let (token, stranger) = (world.id("to somebody free"), world.id("to a stranger"));
    let page = |fields: &str| world.open("post /auth/invitation", &[]).form(fields);
    let sign_up = json!({"email": "stranger@example.com", "password": PASSWORD, "invitation": stranger});
    let refusals = vec![
        invite.json(&json!({"email": "new@example.com"})).refused("too many members", 409, "CONFLICT"),
        world
            .by(
                &world.owner,
                "post /projects/{id}/invitations/{invitationId}/confirm",
                &[project, world.id("invitation of a key")],
            )
            .refused("too many members", 409, "CONFLICT"),
        accept.json(&json!({"token": token})).refused("too many members", 409, "CONFLICT"),
        world
            .open("post /auth/signup", &[])
            .json(&sign_up)
            .refused("too many members", 409, "CONFLICT")
            .counted(),
        page(&format!("token={stranger}&password={PASSWORD}"))
            .refused_otherwise("too many members for a new account", 409)
            .counted(),
        page(&format!("token={token}&password={PASSWORD}"))
            .refused_otherwise("too many members, after signing in", 409)
            .leaving(&[Cause::Attempt, Cause::SignIn]),
    ];
    (filler, refusals)
}

/// A subscription that was changed as often as it may be.
async fn subscriptions(world: &World, seen: &mut Seen) {
    let subscribe = world.open("post /contacts/public/{id}/subscribe", &[world.id("bob")]);
    let unsubscribe = world.open("post /contacts/public/{id}/unsubscribe", &[world.id("bob")]);
    for _ in 0..10 {
        unsubscribe.request.clone().send().await.assert_status(200);
        subscribe.request.clone().send().await.assert_status(200);
    }
    let topic = world.id("free topic");
    let choose = |chosen: &str| world.open("post /manage/{id}", &[world.id("bob")]).form(chosen);
    let (leave, join) = (format!("shown={topic}"), format!("shown={topic}&topic={topic}"));
    choose(&leave).request.send().await.assert_status(200);
    let joins = choose(&join).refused("changed too often", 429, "RATE_LIMIT_EXCEEDED");
    seen.begin_anew(world).await;
    seen.check(world, vec![joins]).await;
    unsubscribe.request.send().await.assert_status(200);
    seen.begin_anew(world).await;
    seen.check(
        world,
        vec![
            subscribe.refused("changed too often", 429, "RATE_LIMIT_EXCEEDED"),
            world.open("post /subscribe/{id}", &[world.id("bob")]).refused(
                "changed too often",
                429,
                "RATE_LIMIT_EXCEEDED",
            ),
        ],
    )
    .await;
}

/// Requests and attempts beyond their limits.
pub(crate) async fn check_requests(world: &mut World, seen: &mut Seen) {
    world.restart(&[("MAILWRIGHT_LOGIN_ATTEMPTS_PER_CLIENT", "1")]).await;
    seen.begin_anew(world).await;
    seen.check(world, attempts(world)).await;

    world
        .restart(&[
            ("MAILWRIGHT_RATE_LIMIT_PER_MINUTE", "1"),
            ("MAILWRIGHT_MEMBER_SHARE_PER_MINUTE", "0"),
            ("MAILWRIGHT_PERSON_REQUESTS_PER_MINUTE", "1"),
            ("MAILWRIGHT_KEYLESS_REQUESTS_PER_MINUTE", "1"),
        ])
        .await;
    early_in_a_minute(&world.app).await;
    seen.begin_anew(world).await;
    let rule = Rule {
        why: "too many requests",
        status: 429,
        causes: &[Cause::Limit],
        applies: |_| true,
        request: |world, it| as_caller(world, it, bare(world, it)).header("x-project-id", &world.project),
    };
    for request in [
        world.app.get("/contacts"),
        world.app.request("GET", "/config"),
        world.owner.request(&world.app, "GET", "/users/@me"),
    ] {
        let request = || request.clone().send();
        world
            .app
            .eventually("the limit is reached", async || (request().await.status == 429).then_some(()))
            .await;
    }
    keep(world, seen, &rule).await;
}

fn attempts(world: &World) -> Vec<Refusal> {
    let ask = |asked: Asked, body: Value| {
        asked.json(&body).refused("too many attempts", 429, "RATE_LIMIT_EXCEEDED").counted()
    };
    let (password, code) = (OWNER.1, "aaaa-aaaa-aaaa-aaaa");
    let by_owner = |operation| world.by(&world.owner, operation, &[&world.project]);
    vec![
        ask(world.open("post /auth/login", &[]), json!({"email": OWNER.0, "password": password})),
        ask(world.open("post /auth/signup", &[]), json!({"email": "new@example.com", "password": PASSWORD})),
        ask(world.open("post /auth/request-password-reset", &[]), json!({"email": OWNER.0})),
        ask(
            by_owner("post /users/@me/password"),
            json!({"currentPassword": password, "newPassword": "another long one"}),
        ),
        ask(by_owner("post /users/@me/totp"), json!({"password": password})),
        ask(by_owner("delete /users/@me/totp"), json!({"password": password, "code": code})),
        ask(by_owner("post /users/@me/totp/recovery-codes"), json!({"password": password, "code": code})),
        ask(by_owner("post /users/@me/totp/confirm"), json!({"code": code})),
        ask(by_owner("post /users/@me/projects/{id}/reset"), json!({"password": password})),
    ]
}
