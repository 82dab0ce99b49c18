//! Every endpoint, with every kind of caller.
//!
//! The table is complete by construction: an endpoint of the API document that is not in it fails the test, and so does
//! an entry without an endpoint.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU32, Ordering};

use mailwright_testkit::{App, Engine, OWNER, Project, Request, both_engines};
use mailwright_tests::browser::Browser;
use mailwright_tests::{UNKNOWN_ID, members, shown, text};
use serde_json::{Value, json};

/// Who may call an endpoint.
#[derive(Clone, Copy, Debug)]
pub(super) enum Access {
    /// Anybody.
    Open,
    /// A signed-in user; keys do not open it.
    User,
    /// Keys and members; a session names its project in a header.
    Project(Rule),
    /// Keys and members; the path names the project.
    Path(Rule),
    /// Members alone; the path names the project.
    Mine(Rule),
    /// A secret key alone, with one of these scopes.
    Send(&'static [&'static str]),
    /// A public key, or a secret one with one of these scopes.
    Track(&'static [&'static str]),
}

/// The least role, and the scopes any of which is enough for a key besides `everything`; `None` when no key is.
pub(super) type Rule = (usize, Option<&'static [&'static str]>);

const MEMBER: usize = 0;
const ADMIN: usize = 1;

const READ_CONTACTS: Rule = (MEMBER, Some(&["read", "contacts"]));
const WRITE_CONTACTS: Rule = (MEMBER, Some(&["contacts"]));
const READ_CAMPAIGNS: Rule = (MEMBER, Some(&["read", "campaigns"]));
const WRITE_CAMPAIGNS: Rule = (MEMBER, Some(&["campaigns"]));
const RECORD: Rule = (MEMBER, Some(&["send", "contacts"]));
const READ_MAIL: Rule = (MEMBER, Some(&["read"]));
const WRITE_MAIL: Rule = (MEMBER, Some(&[]));
const READ_PROJECT: Rule = (MEMBER, Some(&["read"]));
const MANAGE: Rule = (ADMIN, Some(&[]));
const PEOPLE_MANAGE: Rule = (ADMIN, None);

pub(super) const TABLE: &[(&str, &str, Access)] = &[
    ("post", "/v1/send", Access::Send(&["send"])),
    ("post", "/v1/track", Access::Track(&["send", "contacts"])),
    ("get", "/contacts", Access::Project(READ_CONTACTS)),
    ("post", "/contacts", Access::Project(WRITE_CONTACTS)),
    ("post", "/contacts/lookup", Access::Project(READ_CONTACTS)),
    ("get", "/contacts/fields", Access::Project(READ_CONTACTS)),
    ("get", "/contacts/fields/{field}/values", Access::Project(READ_CONTACTS)),
    ("get", "/contacts/fields/{field}/usage", Access::Project(READ_CONTACTS)),
    ("delete", "/contacts/fields/{field}", Access::Project(WRITE_CONTACTS)),
    ("get", "/contacts/{id}", Access::Project(READ_CONTACTS)),
    ("patch", "/contacts/{id}", Access::Project(WRITE_CONTACTS)),
    ("delete", "/contacts/{id}", Access::Project(WRITE_CONTACTS)),
    ("post", "/contacts/import", Access::Project(WRITE_CONTACTS)),
    ("get", "/contacts/import/{jobId}", Access::Project(READ_CONTACTS)),
    ("post", "/contacts/bulk-subscribe", Access::Project(WRITE_CONTACTS)),
    ("post", "/contacts/bulk-unsubscribe", Access::Project(WRITE_CONTACTS)),
    ("post", "/contacts/bulk-delete", Access::Project(WRITE_CONTACTS)),
    ("get", "/contacts/bulk/{jobId}", Access::Project(READ_CONTACTS)),
    ("get", "/segments", Access::Project(READ_CONTACTS)),
    ("post", "/segments", Access::Project(WRITE_CONTACTS)),
    ("get", "/segments/{id}", Access::Project(READ_CONTACTS)),
    ("patch", "/segments/{id}", Access::Project(WRITE_CONTACTS)),
    ("delete", "/segments/{id}", Access::Project(WRITE_CONTACTS)),
    ("get", "/segments/{id}/contacts", Access::Project(READ_CONTACTS)),
    ("post", "/segments/{id}/members", Access::Project(WRITE_CONTACTS)),
    ("delete", "/segments/{id}/members", Access::Project(WRITE_CONTACTS)),
    ("post", "/segments/{id}/compute", Access::Project(WRITE_CONTACTS)),
    ("post", "/segments/{id}/refresh", Access::Project(WRITE_CONTACTS)),
    ("get", "/campaigns", Access::Project(READ_CAMPAIGNS)),
    ("post", "/campaigns", Access::Project(WRITE_CAMPAIGNS)),
    ("get", "/campaigns/{id}", Access::Project(READ_CAMPAIGNS)),
    ("put", "/campaigns/{id}", Access::Project(WRITE_CAMPAIGNS)),
    ("delete", "/campaigns/{id}", Access::Project(WRITE_CAMPAIGNS)),
    ("post", "/campaigns/{id}/duplicate", Access::Project(WRITE_CAMPAIGNS)),
    ("post", "/campaigns/{id}/send", Access::Project(WRITE_CAMPAIGNS)),
    ("post", "/campaigns/{id}/cancel", Access::Project(WRITE_CAMPAIGNS)),
    ("post", "/campaigns/{id}/pause", Access::Project(WRITE_CAMPAIGNS)),
    ("post", "/campaigns/{id}/resume", Access::Project(WRITE_CAMPAIGNS)),
    ("post", "/campaigns/{id}/retry", Access::Project(WRITE_CAMPAIGNS)),
    ("post", "/campaigns/{id}/test", Access::Project(WRITE_CAMPAIGNS)),
    ("get", "/campaigns/{id}/stats", Access::Project(READ_CAMPAIGNS)),
    ("get", "/campaigns/{id}/audience", Access::Project(READ_CAMPAIGNS)),
    ("get", "/campaigns/{id}/ledger", Access::Project(READ_CAMPAIGNS)),
    ("get", "/events/stats", Access::Project(READ_CONTACTS)),
    ("get", "/events/{eventName}/usage", Access::Project(READ_CONTACTS)),
    ("delete", "/events/{eventName}", Access::Project(WRITE_CONTACTS)),
    ("get", "/contacts/public/{id}", Access::Open),
    ("post", "/contacts/public/{id}/subscribe", Access::Open),
    ("post", "/contacts/public/{id}/unsubscribe", Access::Open),
    ("get", "/templates", Access::Project(READ_CAMPAIGNS)),
    ("post", "/templates", Access::Project(WRITE_CAMPAIGNS)),
    ("get", "/templates/{id}", Access::Project(READ_CAMPAIGNS)),
    ("patch", "/templates/{id}", Access::Project(WRITE_CAMPAIGNS)),
    ("delete", "/templates/{id}", Access::Project(WRITE_CAMPAIGNS)),
    ("post", "/templates/{id}/duplicate", Access::Project(WRITE_CAMPAIGNS)),
    ("get", "/templates/{id}/usage", Access::Project(READ_CAMPAIGNS)),
    ("post", "/events/track", Access::Project(RECORD)),
    ("get", "/events", Access::Project(READ_CONTACTS)),
    ("get", "/events/names", Access::Project(READ_CONTACTS)),
    ("get", "/events/contact/{contactId}", Access::Project(READ_CONTACTS)),
    ("post", "/domains", Access::Project(MANAGE)),
    ("get", "/domains/project/{projectId}", Access::Path(READ_PROJECT)),
    ("get", "/domains/{id}/verify", Access::Project(READ_PROJECT)),
    ("delete", "/domains/{id}", Access::Project(MANAGE)),
    ("get", "/emails", Access::Project(READ_MAIL)),
    ("get", "/emails/{id}", Access::Project(READ_MAIL)),
    ("get", "/mailbox", Access::Project(READ_MAIL)),
    ("delete", "/mailbox", Access::Project(WRITE_MAIL)),
    ("get", "/mailbox/{id}", Access::Project(READ_MAIL)),
    ("delete", "/mailbox/{id}", Access::Project(WRITE_MAIL)),
    ("get", "/mailbox/{id}/raw", Access::Project(READ_MAIL)),
    ("post", "/auth/signup", Access::Open),
    ("get", "/auth/login", Access::Open),
    ("post", "/auth/login", Access::Open),
    ("get", "/auth/logout", Access::Open),
    ("get", "/auth/verify-email", Access::Open),
    ("post", "/auth/verify-email", Access::Open),
    ("post", "/auth/request-verification", Access::User),
    ("post", "/auth/request-password-reset", Access::Open),
    ("get", "/auth/reset-password", Access::Open),
    ("post", "/auth/reset-password", Access::Open),
    ("get", "/auth/invitation", Access::Open),
    ("post", "/auth/invitation", Access::Open),
    ("get", "/auth/oauth-config", Access::Open),
    ("get", "/oauth/github/outbound", Access::Open),
    ("get", "/oauth/github/callback", Access::Open),
    ("get", "/oauth/google/outbound", Access::Open),
    ("get", "/oauth/google/callback", Access::Open),
    ("get", "/users/@me", Access::User),
    ("patch", "/users/@me", Access::User),
    ("delete", "/users/@me", Access::User),
    ("post", "/users/@me/password", Access::User),
    ("post", "/users/@me/invitations", Access::User),
    ("get", "/users/@me/totp", Access::User),
    ("post", "/users/@me/totp", Access::User),
    ("delete", "/users/@me/totp", Access::User),
    ("post", "/users/@me/totp/confirm", Access::User),
    ("post", "/users/@me/totp/recovery-codes", Access::User),
    ("get", "/users/@me/sessions", Access::User),
    ("delete", "/users/@me/sessions/{id}", Access::User),
    ("get", "/users/@me/projects", Access::User),
    ("post", "/users/@me/projects", Access::User),
    ("patch", "/users/@me/projects/{id}", Access::Mine(PEOPLE_MANAGE)),
    ("delete", "/users/@me/projects/{id}", Access::Mine(PEOPLE_MANAGE)),
    ("post", "/users/@me/projects/{id}/regenerate-keys", Access::Mine(PEOPLE_MANAGE)),
    ("post", "/users/@me/projects/{id}/reset", Access::Mine(PEOPLE_MANAGE)),
    ("get", "/users/@me/projects/{id}/security", Access::Mine(READ_PROJECT)),
    ("get", "/projects/{id}/security", Access::Path(READ_PROJECT)),
    ("get", "/projects/{id}/setup-state", Access::Path(READ_PROJECT)),
    ("get", "/projects/{id}/members", Access::Path(READ_PROJECT)),
    ("post", "/projects/{id}/members", Access::Path(MANAGE)),
    // members take what they are offered and leave by themselves; that they cannot do more is in `members.rs`
    ("patch", "/projects/{id}/members/{userId}", Access::Path(READ_PROJECT)),
    ("delete", "/projects/{id}/members/{userId}", Access::Path(READ_PROJECT)),
    ("get", "/projects/{id}/invitations", Access::Path(READ_PROJECT)),
    ("delete", "/projects/{id}/invitations/{invitationId}", Access::Path(MANAGE)),
    ("post", "/projects/{id}/invitations/{invitationId}/confirm", Access::Mine(PEOPLE_MANAGE)),
    ("get", "/projects/{id}/keys", Access::Path(READ_PROJECT)),
    ("post", "/projects/{id}/keys", Access::Mine(PEOPLE_MANAGE)),
    ("delete", "/projects/{id}/keys/{keyId}", Access::Mine(PEOPLE_MANAGE)),
    ("get", "/projects/{id}/audit", Access::Path(MANAGE)),
    ("get", "/unsubscribe/{id}", Access::Open),
    ("post", "/unsubscribe/{id}", Access::Open),
    ("get", "/subscribe/{id}", Access::Open),
    ("post", "/subscribe/{id}", Access::Open),
    ("get", "/manage/{id}", Access::Open),
    ("get", "/config", Access::Open),
    ("get", "/health", Access::Open),
    ("get", "/ready", Access::Open),
    ("get", "/metrics", Access::Open),
];

/// What these do cannot be done twice to one project.
const DESTRUCTIVE: &[&str] = &[
    "/users/@me/projects/{id}",
    "/users/@me/projects/{id}/regenerate-keys",
    "/users/@me/projects/{id}/reset",
];

/// Endpoints that refuse what the comparison of cookie and key sends, because it takes a job, a file, a member or a
/// campaign on its way.
const REFUSED: &[&str] = &[
    "delete /projects/{id}/members/{userId}",
    "get /contacts/bulk/{jobId}",
    "get /contacts/import/{jobId}",
    "patch /projects/{id}/members/{userId}",
    "post /campaigns/{id}/cancel",
    "post /campaigns/{id}/pause",
    "post /campaigns/{id}/resume",
    "post /campaigns/{id}/retry",
    "post /contacts/import",
];

/// Makes names that nothing has yet.
static NEXT: AtomicU32 = AtomicU32::new(0);

const SCOPES: [&str; 5] = ["read", "send", "contacts", "campaigns", "everything"];

/// What a caller is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    /// The request was let in; what it then met does not matter here.
    In,
    /// Refused with this status and code.
    No(u16, &'static str),
}

const MISSING: Told = Told::No(401, "MISSING_AUTH");
const WRONG_KEY: Told = Told::No(401, "INVALID_API_KEY");
const NOT_SIGNED_IN: Told = Told::No(401, "UNAUTHORIZED");
const NO_PROJECT: Told = Told::No(400, "BAD_REQUEST");
const STRANGER: Told = Told::No(403, "PROJECT_ACCESS_DENIED");
const HIDDEN: Told = Told::No(404, "RESOURCE_NOT_FOUND");
const NOT_ALLOWED: Told = Told::No(403, "FORBIDDEN");

fn let_in(yes: bool) -> Told {
    if yes { Told::In } else { NOT_ALLOWED }
}

/// A project, its people and its keys.
pub(super) struct World {
    pub(super) app: App,
    pub(super) project: String,
    /// Member, administrator and owner.
    pub(super) people: [Browser; 3],
    outsider: Browser,
    pub(super) secret: String,
    public: String,
    scoped: Vec<(&'static str, String)>,
    foreign: Project,
}

impl World {
    pub(super) async fn new(engine: Engine) -> Self {
        // in tests that hold something up, who waits keeps its place
        let app = App::builder(engine).env("MAILWRIGHT_DATABASE_LOCK_WAIT_MS", "60000").start().await;
        let owner = Browser::log_in(&app, OWNER.0, OWNER.1).await;
        let admin = Browser::sign_up(&app, "admin@example.com").await;
        let member = Browser::sign_up(&app, "member@example.com").await;
        let outsider = Browser::sign_up(&app, "outsider@example.com").await;
        // with a project of its own, which also keeps the account from being deleted
        outsider.create_project(&app, "Elsewhere").await;
        let foreign = app.bootstrap("Neighbour", "neighbour.test").await;
        let people = [member, admin, owner];
        let (project, secret, public) =
            (app.project_id().to_owned(), app.secret_key().to_owned(), app.public_key().to_owned());
        let mut world = Self { app, project, people, outsider, secret, public, scoped: Vec::new(), foreign };
        world.populate(&world.project).await;
        for scope in SCOPES {
            let key = world.people[2].create_key(&world.app, &world.project, scope, &[scope]).await;
            world.scoped.push((scope, text(&key["key"]).to_owned()));
        }
        world
    }

    async fn populate(&self, project: &str) {
        let owner = &self.people[2];
        owner.add_member(&self.app, project, &self.people[1], "ADMIN").await;
        owner.add_member(&self.app, project, &self.people[0], "MEMBER").await;
    }

    /// Another project with the same people.
    async fn another_project(&self) -> String {
        let made = self.people[2].create_project(&self.app, "Throw-away").await;
        let id = text(&made["id"]).to_owned();
        self.populate(&id).await;
        id
    }

    fn request(&self, method: &str, path: &str, project: &str) -> Request {
        self.request_about(method, path, project, UNKNOWN_ID)
    }

    /// A request about something of the project.
    fn request_about(&self, method: &str, path: &str, project: &str, id: &str) -> Request {
        let request = self.app.request(&method.to_uppercase(), &filled(path, project, id));
        if method == "get" { request } else { request.json(&self.body(method, path)) }
    }

    /// What an endpoint of a project takes.
    pub(super) fn body(&self, method: &str, path: &str) -> Value {
        let name = format!("n{}", NEXT.fetch_add(1, Ordering::Relaxed));
        let address = format!("{name}@example.com");
        match (method, path) {
            ("post", "/contacts" | "/projects/{id}/members") => json!({"email": address}),
            ("post", "/contacts/lookup") => json!({"emails": [address]}),
            ("post", path) if path.starts_with("/contacts/bulk-") => json!({"contactIds": [UNKNOWN_ID]}),
            ("patch", "/contacts/{id}") => json!({"data": {"plan": name}}),
            ("post", "/segments") => json!({"name": name, "type": "STATIC"}),
            ("patch", "/segments/{id}" | "/templates/{id}") | ("put", "/campaigns/{id}") => {
                json!({"name": name})
            }
            (_, "/segments/{id}/members") => json!({"emails": [address]}),
            ("post", "/campaigns") => {
                json!({"name": name, "subject": "s", "body": "b", "from": self.app.from(), "audienceType": "ALL"})
            }
            ("post", "/campaigns/{id}/test") => json!({"email": OWNER.0}),
            ("post", "/templates") => {
                json!({"name": name, "subject": "s", "body": "b", "from": self.app.from()})
            }
            ("post", "/events/track") => json!({"name": "signup", "email": address}),
            ("post", "/domains") => json!({"domain": format!("{name}.example")}),
            _ => json!({}),
        }
    }

    /// The id of something new that a path is about; of nothing where it names nothing, or what only work makes.
    pub(super) async fn thing(&self, path: &str) -> String {
        let made_at = match path.split('/').nth(1).unwrap_or_default() {
            "contacts" if path.starts_with("/contacts/{id}") => "/contacts",
            "segments" => "/segments",
            "campaigns" => "/campaigns",
            "templates" => "/templates",
            "domains" if path.starts_with("/domains/{id}") => "/domains",
            "projects" if path.contains("{invitationId}") => "/projects/{id}/members",
            "emails" | "mailbox" => return self.captured().await,
            _ => return UNKNOWN_ID.to_owned(),
        };
        let made = self.request("post", made_at, &self.project).bearer(&self.secret).send().await;
        assert!((200..300).contains(&made.status), "{made_at}: {}", shown(&made));
        let made = made.json();
        let made = if made["data"]["id"].is_string() { &made["data"] } else { &made };
        text(if made["invitationId"].is_string() { &made["invitationId"] } else { &made["id"] }).to_owned()
    }

    /// Waits until campaigns and mails are where they stay.
    pub(super) async fn settle(&self) {
        let app = &self.app;
        app.eventually("nothing is under way", async || {
            let running = app.get("/campaigns?status=SENDING").send().await.assert_status(200).json();
            let mails = app.list_all("/emails").await;
            let waits = |mail: &Value| ["PENDING", "SENDING"].contains(&text(&mail["status"]));
            (running["total"] == 0 && !mails.iter().any(waits)).then_some(())
        })
        .await;
    }

    /// The id of a mail in the mailbox.
    async fn captured(&self) -> String {
        let id = self.app.send_to("ada@example.com").await;
        self.app.email_in(&id, &["SENT"]).await;
        id
    }
}

/// A path about a project and something of it.
pub(super) fn filled(path: &str, project: &str, id: &str) -> String {
    let names_project = path.starts_with("/projects/")
        || path.starts_with("/users/@me/projects/")
        || path.contains("{projectId}");
    let mut first = names_project;
    let filled: Vec<&str> = path
        .split('/')
        .map(|segment| match segment {
            "{field}" => "data.plan",
            "{eventName}" => "signup",
            _ if segment.starts_with('{') && std::mem::take(&mut first) => project,
            _ if segment.starts_with('{') => id,
            plain => plain,
        })
        .collect();
    filled.join("/")
}

async fn check(told: Told, request: Request, what: &str) {
    let answer = request.send().await;
    // pages for recipients are no JSON
    let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let error = &body["error"];
    let code = error["code"].as_str().unwrap_or_default();
    let hidden = answer.status == 404 && error["details"]["resource"] == "Project";
    match told {
        Told::In => {
            let refused =
                matches!(answer.status, 401 | 403) || hidden || error.to_string().contains("X-Project-Id");
            assert!(!refused && answer.status < 500, "{what} is let in: {}", shown(&answer));
        }
        Told::No(status, expected) => {
            assert_eq!((answer.status, code), (status, expected), "{what}: {}", shown(&answer));
            assert!(status != 404 || hidden, "{what}: {}", shown(&answer));
        }
    }
}

/// What each caller is told by an endpoint.
fn expected(access: Access) -> BTreeMap<String, Told> {
    let mut all = BTreeMap::new();
    let mut add = |who: &str, told| {
        all.insert(who.to_owned(), told);
    };
    let (rule, keys, stranger, anonymous) = match access {
        Access::Open => {
            // whoever they are, also with credentials that open nothing
            for who in
                ["nobody", "outsider", "no project", "forged cookie", "public key", "secret key", "read"]
            {
                add(who, Told::In);
            }
            return all;
        }
        Access::User => {
            for who in ["member", "admin", "owner", "outsider", "no project"] {
                add(who, Told::In);
            }
            for key in ["public key", "secret key", "foreign key"] {
                add(key, WRONG_KEY);
            }
            add("nobody", NOT_SIGNED_IN);
            add("forged cookie", NOT_SIGNED_IN);
            return all;
        }
        Access::Send(scopes) | Access::Track(scopes) => {
            let tracks = matches!(access, Access::Track(_));
            add("public key", if tracks { Told::In } else { WRONG_KEY });
            for key in ["secret key", "foreign key"] {
                add(key, Told::In);
            }
            for scope in SCOPES {
                add(scope, let_in(scope == "everything" || scopes.contains(&scope)));
            }
            for who in ["nobody", "member", "owner", "no project", "forged cookie"] {
                add(who, MISSING);
            }
            return all;
        }
        Access::Project(rule) => (rule, true, STRANGER, MISSING),
        Access::Path(rule) => (rule, true, HIDDEN, MISSING),
        Access::Mine(rule) => (rule, false, HIDDEN, NOT_SIGNED_IN),
    };
    for (role, who) in ["member", "admin", "owner"].into_iter().enumerate() {
        add(who, let_in(role >= rule.0));
    }
    add("outsider", stranger);
    add("nobody", anonymous);
    add("forged cookie", NOT_SIGNED_IN);
    add("public key", WRONG_KEY);
    let in_header = matches!(access, Access::Project(_));
    add("no project", if in_header { NO_PROJECT } else { let_in(MEMBER == rule.0) });
    if !keys {
        for key in ["secret key", "foreign key", "everything"] {
            add(key, WRONG_KEY);
        }
        return all;
    }
    add("secret key", let_in(rule.1.is_some()));
    // a key opens its own project, whatever a header says; in a path it must be the one
    add("foreign key", if in_header { let_in(rule.1.is_some()) } else { HIDDEN });
    for scope in SCOPES {
        let enough = |scopes: &[&str]| scope == "everything" || scopes.contains(&scope);
        add(scope, let_in(rule.1.is_some_and(enough)));
    }
    all
}

/// A request of a caller.
fn as_caller(world: &World, who: &str, request: Request) -> Request {
    let cookie = |browser: &Browser| request.clone().header("cookie", &browser.cookie);
    let with_project = |request: Request| request.header("x-project-id", &world.project);
    match who {
        "nobody" => request,
        "member" => with_project(cookie(&world.people[0])),
        "admin" => with_project(cookie(&world.people[1])),
        "owner" => with_project(cookie(&world.people[2])),
        "outsider" => with_project(cookie(&world.outsider)),
        "no project" => cookie(&world.people[0]),
        "forged cookie" => {
            let (signed, _) = world.people[2].cookie.rsplit_once('.').expect("a signature");
            with_project(request.header("cookie", &format!("{signed}.{}", "A".repeat(43))))
        }
        "public key" => request.bearer(&world.public),
        "secret key" => request.bearer(&world.secret),
        "foreign key" => request.bearer(&world.foreign.secret_key),
        scope => {
            let key = world.scoped.iter().find(|(name, _)| *name == scope).expect("a key of that scope");
            request.bearer(&key.1)
        }
    }
}

/// The source files below a folder that add routes past the document.
fn routed(folder: &std::path::Path, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).expect("the sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            routed(&path, found);
            continue;
        }
        let source = std::fs::read_to_string(&path).expect("a source file");
        let shipped = source.split("#[cfg(test)]").next().unwrap_or_default();
        if [".route(", ".route_service(", ".nest(", ".nest_service("]
            .iter()
            .any(|call| shipped.contains(call))
        {
            found.insert(path.file_name().unwrap_or_default().to_string_lossy().into_owned());
        }
    }
}

both_engines! {
    async fn every_endpoint_lets_in_whom_it_should_and_nobody_else(engine: Engine) {
        let world = World::new(engine).await;
        for (method, path, access) in TABLE {
            for (who, told) in expected(*access) {
                // it would end the session that the rest is asked with; `sessions.rs` has it
                if *path == "/auth/logout" && ["outsider", "no project"].contains(&who.as_str()) {
                    continue;
                }
                let once = told == Told::In && DESTRUCTIVE.contains(path) && *method != "patch";
                let project = if once { world.another_project().await } else { world.project.clone() };
                let request = as_caller(&world, &who, world.request(method, path, &project));
                // to its own project the other's key brings nothing of this one, such as a sender
                let foreign = who == "foreign key" && *method != "get";
                let request = if foreign { request.json(&json!({})) } else { request };
                check(told, request, &format!("{method} {path} as {who}")).await;
            }
        }
    }

    async fn the_table_has_every_endpoint_once(engine: Engine) {
        let app = App::start(engine).await;
        let document = app.request("GET", "/openapi.json").send().await.assert_status(200).json();
        let mut documented = BTreeSet::new();
        for (path, item) in members(&document["paths"]) {
            for method in members(item).keys().filter(|key| ["get", "post", "put", "patch", "delete"].contains(&key.as_str())) {
                documented.insert((method.clone(), path.clone()));
            }
        }
        let table: BTreeSet<_> = TABLE.iter().map(|(m, p, _)| ((*m).to_owned(), (*p).to_owned())).collect();
        assert_eq!(table.len(), TABLE.len(), "an entry twice");
        let missing: Vec<_> = documented.difference(&table).collect();
        assert!(missing.is_empty(), "say in the table who may call {missing:?}");
        let gone: Vec<_> = table.difference(&documented).collect();
        assert!(gone.is_empty(), "no such endpoints: {gone:?}");
    }

    async fn the_document_has_every_route(engine: Engine) {
        // what is added past the document serves pages and the document itself, and holds nothing of a project
        let mut found = BTreeSet::new();
        routed(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/api/src"), &mut found);
        assert_eq!(found, BTreeSet::from(["docs.rs".to_owned()]));
        // and these are open to whoever asks
        let app = App::start(engine).await;
        for path in ["/", "/docs", "/inbox", "/openapi.json"] {
            let answer = app.request("GET", path).send().await;
            assert!(answer.status < 400, "{path}: {}", shown(&answer));
        }
    }

    async fn a_disabled_project_can_be_read_and_not_written(engine: Engine) {
        let world = World::new(engine).await;
        world.app.run(&["project", "disable", &world.project, "--reason", "Unpaid"]).await;
        for (method, path, access) in TABLE {
            let callers: &[&str] = match access {
                Access::Project(_) | Access::Path(_) => &["owner", "secret key"],
                Access::Mine(_) => &["owner"],
                Access::Send(_) => &["secret key"],
                Access::Track(_) => &["public key"],
                Access::Open | Access::User => &[],
            };
            for who in callers {
                let request = as_caller(&world, who, world.request(method, path, &world.project));
                let told = if *method == "get" { Told::In } else { Told::No(403, "PROJECT_DISABLED") };
                check(told, request, &format!("{method} {path} as {who}")).await;
            }
        }
        let owner = &world.people[2];
        let refused = owner.request(&world.app, "POST", "/users/@me/projects").json(&json!({"name": "Another"}));
        refused.send().await.assert_error(403, "PROJECT_DISABLED");
        let path = format!("/projects/{}/security", world.project);
        let security = owner.request(&world.app, "GET", &path).send().await.assert_status(200).json();
        assert_eq!((&security["isDisabled"], &security["suspensions"][0]["reason"]), (&json!(true), &json!("Unpaid")));
        assert_eq!(security["suspensions"][0]["endedAt"], json!(null));

        world.app.run(&["project", "enable", &world.project]).await;
        world.app.post("/contacts").json(&json!({"email": "a@example.com"})).send().await.assert_status(201);
        let security = owner.request(&world.app, "GET", &path).send().await.assert_status(200).json();
        assert_eq!(security["isDisabled"], false);
        assert!(security["suspensions"][0]["endedAt"].is_string(), "{security}");
    }

    async fn a_cookie_is_answered_by_every_project_endpoint_as_the_key_is(engine: Engine) {
        let world = World::new(engine).await;
        let app = &world.app;
        for n in 0..3 {
            let contact = json!({"email": format!("c{n}@example.com"), "data": {"plan": "pro"}});
            app.post("/contacts").json(&contact).send().await.assert_status(201);
        }
        app.send_to("ada@example.com").await;
        app.eventually("it is captured", async || {
            (!app.mailbox_for("ada@example.com").await.is_empty()).then_some(())
        })
        .await;
        let endpoints = TABLE.iter().filter_map(|(method, path, access)| match access {
            Access::Project(rule) | Access::Path(rule) => Some((*method, *path, *rule)),
            _ => None,
        });
        let mut refused = BTreeSet::new();
        for (method, path, rule) in endpoints {
            let callers = if rule.0 == MEMBER { &["owner", "member", "secret key"][..] } else { &["owner", "secret key"] };
            let mut answers: Vec<(u16, Value)> = Vec::new();
            let shared = world.thing(path).await;
            for who in callers {
                // what is read is the same thing, and what is changed is another one for each
                let id = if method == "get" { shared.clone() } else { world.thing(path).await };
                let request = world.request_about(method, path, &world.project, &id);
                let answer = as_caller(&world, who, request).send().await;
                let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
                if answer.status >= 400 {
                    refused.insert(format!("{method} {path}"));
                }
                // when a key was used and a domain looked at goes on; and of what is done, the second finds it done
                let moves = path.ends_with("/keys") || path == "/domains/{id}/verify" || path.starts_with("/emails");
                let told = match &body["error"] {
                    Value::Object(error) => json!([error["code"], error.get("errors")]),
                    _ if method == "get" && !moves => body,
                    _ => body.as_object().map_or(Value::Null, |body| json!(body.keys().collect::<Vec<_>>())),
                };
                answers.push((answer.status, told));
            }
            if method != "get" && path.starts_with("/campaigns/") {
                world.settle().await;
            }
            for answer in &answers {
                assert_eq!(*answer, answers[0], "{method} {path} by cookies and by key");
            }
        }
        // the others were compared on success
        let refused: Vec<&str> = refused.iter().map(String::as_str).collect();
        assert_eq!(refused, REFUSED);
    }

    async fn a_cookie_does_on_project_endpoints_what_the_key_does(engine: Engine) {
        let world = World::new(engine).await;
        let (app, member) = (&world.app, &world.people[0]);
        let contact = json!({"email": "ada@example.com", "data": {"plan": "pro"}});
        let by_cookie = member.in_project(app, &world.project, "POST", "/contacts").json(&contact);
        let made = by_cookie.send().await.assert_status(201).json();
        for path in ["/contacts", "/contacts/fields", "/events", "/templates", "/emails", "/mailbox"] {
            let cookie = member.in_project(app, &world.project, "GET", path).send().await.assert_status(200).json();
            assert_eq!(cookie, app.get(path).send().await.assert_status(200).json(), "{path}");
        }
        let event = json!({"name": "signup", "contactId": made["id"]});
        let recorded = member.in_project(app, &world.project, "POST", "/events/track").json(&event);
        recorded.send().await.assert_status(201);

        // a key wins over a cookie, and a bad header too
        let both = member.in_project(app, &world.project, "GET", "/contacts");
        let foreign = both.clone().bearer(&world.foreign.secret_key).send().await.assert_status(200).json();
        assert_eq!(foreign["total"], 0, "{foreign}");
        both.header("authorization", "Basic x").send().await.assert_error(401, "MISSING_AUTH");
    }
}
