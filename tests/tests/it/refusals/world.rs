//! A filled project, its neighbours, and the people around them.

use std::collections::BTreeMap;

use mailwright_testkit::smtp::{Answer, ScriptedServer};
use mailwright_testkit::{App, Engine, OWNER, Project, Rows, Value, json};
use mailwright_tests::browser::{Browser, PASSWORD};
use mailwright_tests::{UNKNOWN_ID, create_contact, items, read, text, track_ok, with};

use super::changes::Changes;
use super::refusal::Asked;

/// Settings of the service: what works in the background waits for long, or does nothing unless it is asked.
const SETTINGS: &[(&str, &str)] = &[
    ("MAILWRIGHT_DELIVERY_RETRY_BASE_MS", "14400000"),
    ("MAILWRIGHT_DELIVERY_RETRY_MAX_MS", "14400000"),
    ("MAILWRIGHT_DOMAINS_CHECK_INTERVAL_SECONDS", "86400"),
    ("MAILWRIGHT_SEGMENTS_REFRESH_INTERVAL_SECONDS", "86400"),
    ("MAILWRIGHT_PROJECTS_PER_USER", "2"),
    ("MAILWRIGHT_UPLOADS_MB_PER_PROJECT", "0"),
    ("MAILWRIGHT_LOGIN_ATTEMPTS_PER_CLIENT", "10000"),
    ("MAILWRIGHT_LOGIN_ATTEMPTS_PER_ADDRESS", "1000"),
    // it keeps what is refused, a second later
    ("MAILWRIGHT_REQUESTS_RETENTION_DAYS", "0"),
    ("MAILWRIGHT_SNS_TOPICS", "arn:aws:sns:eu-west-1:1:mail"),
];

/// What is begun when everything is filled.
const CLOSED: (&str, &str) = ("MAILWRIGHT_DISABLE_SIGNUPS", "true");

/// Where all refusals are met.
pub(crate) struct World {
    pub(crate) app: App,
    pub(crate) project: String,
    /// The owner, and owner of a neighbour as well, whose session began long ago.
    pub(crate) owner: Browser,
    pub(crate) admin: Browser,
    pub(crate) member: Browser,
    /// The owner of a project that is disabled.
    pub(crate) banned: Browser,
    /// A user without a project, who has a second factor.
    pub(crate) guarded: Browser,
    pub(crate) recovery: Vec<String>,
    /// A user without a project, who began to set a second factor up.
    pub(crate) free: Browser,
    pub(crate) neighbour: Project,
    /// Ids, tokens and keys by names.
    things: BTreeMap<&'static str, String>,
    _server: ScriptedServer,
}

impl World {
    pub(crate) async fn new(engine: Engine) -> Self {
        let server = ScriptedServer::start(|to, _| match to {
            _ if to.ends_with("@wait.example") => Answer::RefuseRcpt(451, "4.2.1 later"),
            _ => Answer::Accept,
        })
        .await;
        let builder = App::builder(engine).smtp(server.port);
        let app =
            SETTINGS.iter().fold(builder, |builder, (name, value)| builder.env(name, *value)).start().await;
        let owner = Browser::log_in(&app, OWNER.0, OWNER.1).await;
        let sign_up = async |name: &str| Browser::sign_up(&app, &format!("{name}@example.com")).await;
        let (admin, member) = (sign_up("admin").await, sign_up("member").await);
        let (banned, guarded, free) =
            (sign_up("banned").await, sign_up("guarded").await, sign_up("free").await);
        let neighbour = app.bootstrap("Neighbour", "neighbour.test").await;
        let mut world = Self {
            project: app.project_id().to_owned(),
            app,
            owner,
            admin,
            member,
            banned,
            guarded,
            recovery: Vec::new(),
            free,
            neighbour,
            things: BTreeMap::new(),
            _server: server,
        };
        world.fill_project().await;
        world.fill_audience().await;
        world.fill_campaigns().await;
        world.fill_workflows().await;
        world.fill_accounts().await;
        world.restart(&[CLOSED]).await;
        world
    }

    /// Starts the service again with some settings changed.
    pub(crate) async fn restart(&mut self, settings: &[(&str, &str)]) {
        self.app.kill();
        self.app.restart_with(settings).await;
    }

    /// The id, token or key with a name.
    pub(crate) fn id(&self, name: &str) -> &str {
        self.things.get(name).unwrap_or_else(|| panic!("nothing is called {name}"))
    }

    pub(crate) fn keep(&mut self, name: &'static str, value: &Value) {
        self.things.insert(name, text(value).to_owned());
    }

    /// A request to an operation, with what stands in its path for names in braces: ids that nothing has where none are
    /// given.
    pub(crate) fn open(&self, operation: &'static str, ids: &[&str]) -> Asked {
        let (method, path) = filled(operation, ids);
        Asked { operation, request: self.app.request(&method, &path) }
    }

    /// The same with the project's secret key.
    pub(crate) fn key(&self, operation: &'static str, ids: &[&str]) -> Asked {
        self.with_key(operation, ids, self.app.secret_key())
    }

    pub(crate) fn with_key(&self, operation: &'static str, ids: &[&str], key: &str) -> Asked {
        let asked = self.open(operation, ids);
        Asked { request: asked.request.bearer(key), ..asked }
    }

    /// The same by somebody who is signed in.
    pub(crate) fn by(&self, browser: &Browser, operation: &'static str, ids: &[&str]) -> Asked {
        let asked = self.open(operation, ids);
        let request = asked.request.header("cookie", &browser.cookie);
        Asked { request: request.header("x-project-id", &self.project), ..asked }
    }

    /// What the database holds, once nothing in the background changes it any more.
    pub(crate) async fn settled(&self) -> Rows {
        // a campaign that waits for its mails is looked at again and again
        self.app.tamper("update campaigns set next_at = null where paused_at is not null").await;
        let mut last = self.app.rows().await;
        let mut same = 0;
        self.app
            .eventually("nothing changes any more", async || {
                let rows = self.app.rows().await;
                let changes = Changes::default().between(&last, &rows, &[]);
                // segments are brought up to date after a rest
                let judged = rows.get("contact_changes").is_none_or(Vec::is_empty);
                same = if changes.is_empty() && judged { same + 1 } else { 0 };
                last = rows.clone();
                (same == 5).then_some(rows)
            })
            .await
    }

    /// Makes something of the project, and keeps its id.
    pub(crate) async fn make(&mut self, name: &'static str, path: &str, body: Value) {
        let answer = self.app.post(path).json(&body).send().await;
        assert!((200..300).contains(&answer.status), "{name}: {}", answer.text());
        let made = answer.json();
        let made = if made["data"]["id"].is_string() { &made["data"] } else { &made };
        self.keep(name, &made["id"]);
    }

    async fn fill_project(&mut self) {
        let project = self.project.clone();
        self.owner.add_member(&self.app, &project, &self.admin, "ADMIN").await;
        let members = format!("/projects/{project}/members");
        let invite = async |world: &Self, key: bool, email: &str, role: &str| {
            let request = if key {
                world.app.post(&members)
            } else {
                world.owner.request(&world.app, "POST", &members)
            };
            request.json(&json!({"email": email, "role": role})).send().await.assert_status(202).json()
        };
        let used = invite(self, false, &self.member.email, "MEMBER").await;
        self.member.accept(&self.app, text(&used["token"])).await.assert_status(200);
        self.keep("used invitation", &used["token"]);
        for (name, email, role) in [
            ("to a stranger", "stranger@example.com", "ADMIN"),
            ("to somebody free", "free@example.com", "MEMBER"),
        ] {
            let invited = invite(self, false, email, role).await;
            self.keep(name, &invited["token"]);
            if name == "to a stranger" {
                self.keep("invitation of a person", &invited["invitationId"]);
            }
        }
        let invited = invite(self, true, "keyed@example.com", "MEMBER").await;
        self.keep("invitation of a key", &invited["invitationId"]);
        for (name, scope) in [("read", "read"), ("send", "send")] {
            let key = self.owner.create_key(&self.app, &project, name, &[scope]).await;
            self.keep(name, &key["key"]);
            if name == "read" {
                self.keep("id of a key", &key["id"]);
            }
        }
        self.make("pending domain", "/domains", json!({"domain": "pending.example"})).await;
        self.make("lapsed domain", "/domains", json!({"domain": "lapsed.example"})).await;
        let domains = read(&self.app, &format!("/domains/project/{project}")).await;
        let own = items(&domains).iter().find(|domain| domain["domain"] == self.app.domain());
        self.keep("own domain", &own.expect("the project's domain")["id"]);
    }

    async fn fill_audience(&mut self) {
        for (name, email, subscribed, data) in [
            ("ann", "ann@wait.example", true, json!({"plan": "pro", "name": "Ann"})),
            ("bob", "bob@example.com", true, json!({"plan": "free"})),
            ("una", "una@example.com", false, json!({"plan": "pro"})),
            ("full", "full@example.com", true, json!({"a": "x".repeat(200 * 1024)})),
        ] {
            let made = create_contact(&self.app, email, subscribed, data).await;
            self.keep(name, &made["id"]);
        }
        let seen = json!({"email": "told@example.com", "event": "seen", "data": {"page": "home"}});
        let told = track_ok(&self.app, seen.clone()).await;
        self.keep("told", &told["contact"]);
        let used = self.app.post("/v1/track").header("idempotency-key", "used-by-track").json(&seen);
        used.send().await.assert_status(200);
        let pro = only(&json!({"field": "data.plan", "operator": "equals", "value": "pro"}));
        self.make("dynamic", "/segments", json!({"name": "Pro", "condition": pro})).await;
        self.make("tracked", "/segments", json!({"name": "Kept", "condition": pro, "trackMembership": true}))
            .await;
        self.make("static", "/segments", json!({"name": "Listed", "type": "STATIC"})).await;
        self.make("empty", "/segments", json!({"name": "Nobody", "type": "STATIC"})).await;
        self.make("base", "/segments", json!({"name": "Base", "condition": pro})).await;
        for (name, of) in [("dependent", "dynamic"), ("on the base", "base")] {
            let field = format!("segment.{}", self.id(of));
            let condition = only(&json!({"field": field, "operator": "memberOfSegment"}));
            self.make(name, "/segments", json!({"name": name, "condition": condition})).await;
        }
        let listed = json!({"emails": ["ann@wait.example", "bob@example.com"]});
        let path = format!("/segments/{}/members", self.id("static"));
        self.app.post(&path).json(&listed).send().await.assert_status(200);
        let path = format!("/segments/{}/compute", self.id("tracked"));
        self.app.post(&path).send().await.assert_status(200);
        for (name, position) in [("topic", 1), ("free topic", 2)] {
            self.make(name, "/topics", json!({"name": name, "position": position})).await;
        }
        let of_topic = json!({"name": "T", "subject": "T", "body": "T", "from": self.app.from(), "topicId": self.id("topic")});
        self.make("of a topic", "/templates", of_topic).await;
        for (name, kind) in [("marketing", "MARKETING"), ("template", "TRANSACTIONAL")] {
            let content = json!({"subject": "Hi {{name}}", "body": "<p>Hi</p>", "from": self.app.from()});
            self.make(name, "/templates", with(content, &json!({"name": name, "type": kind}))).await;
        }
        let rule = json!({"name": "Held", "kind": "DOMAIN", "pattern": "held.example"});
        self.make("rule", "/suppressions", rule).await;
        let listed = json!({"email": "held@example.com"});
        self.app.post("/suppressions/addresses").json(&listed).send().await.assert_status(201);
        super::contacts::change_many(self).await;
    }

    /// A campaign as it is created.
    pub(crate) fn campaign(&self) -> Value {
        let content = json!({"subject": "News", "body": "<p>News</p>", "from": self.app.from()});
        with(content, &json!({"name": "News", "audienceType": "ALL"}))
    }

    /// A mail as it is sent.
    pub(crate) fn mail(&self) -> Value {
        json!({"to": "new@example.com", "subject": "Hi", "body": "<p>Hi</p>", "from": self.app.from()})
    }

    /// Has a domain be verified, or no longer.
    async fn verify_lapsed(&self, verified: &str) {
        let statement = "update domains set verified = {}, vouched = {} where name = 'lapsed.example'";
        self.app.tamper(&statement.replace("{}", verified)).await;
    }

    async fn fill_campaigns(&mut self) {
        let mail = self.app.post("/v1/send").header("idempotency-key", "used-by-send").json(&self.mail());
        mail.send().await.assert_status(200);
        self.app.send_to("later@wait.example").await;
        self.verify_lapsed("true").await;
        let bob = only(&json!({"field": "email", "operator": "equals", "value": "bob@example.com"}));
        let segment = |world: &Self, of: &str| json!({"audienceType": "SEGMENT", "segmentId": world.id(of)});
        for (name, changes) in [
            ("draft", json!({})),
            ("scheduled", json!({})),
            ("paused", segment(self, "static")),
            ("retrying", segment(self, "static")),
            ("sent", json!({"audienceType": "FILTERED", "audienceCondition": bob})),
            ("cancelled", segment(self, "static")),
            ("to nobody", segment(self, "empty")),
            ("to a segment", segment(self, "dynamic")),
            ("lapsed", json!({"from": "news@lapsed.example"})),
            ("lapsed paused", with(segment(self, "static"), &json!({"from": "news@lapsed.example"}))),
        ] {
            let named = with(self.campaign(), &json!({"name": name}));
            self.make(name, "/campaigns", with(named, &changes)).await;
        }
        let template = json!({"name": "L", "subject": "L", "body": "L", "from": "news@lapsed.example"});
        self.make("lapsed template", "/templates", template).await;
        // each has a version
        let again = json!({"body": "<p>Once more</p>"});
        let path = format!("/templates/{}", self.id("lapsed template"));
        self.app.patch(&path).json(&again).send().await.assert_status(200);
        for name in ["draft", "sent", "lapsed"] {
            let path = format!("/campaigns/{}", self.id(name));
            self.app.put(&path).json(&again).send().await.assert_status(200);
        }
        let act = async |name: &str, what: &str, body: Value| {
            let path = format!("/campaigns/{}/{what}", self.id(name));
            self.app.post(&path).json(&body).send().await.assert_status(200);
        };
        act("scheduled", "send", json!({"scheduledFor": "2099-01-31T00:00:00Z"})).await;
        for name in ["paused", "retrying", "lapsed paused", "sent", "cancelled"] {
            act(name, "send", json!({})).await;
        }
        for name in ["paused", "retrying", "lapsed paused"] {
            act(name, "pause", json!({})).await;
        }
        act("cancelled", "cancel", json!({})).await;
        self.verify_lapsed("false").await;
        // what failed of it is being sent again, which waits as long as it is paused
        let retry = if self.app.engine() == Engine::Sqlite { "jsonb('{}')" } else { "'{}'" };
        let retrying =
            format!("update campaigns set retry = {retry}, next_at = null where name = 'retrying'");
        self.app.tamper(&retrying).await;
        for name in ["sent", "cancelled"] {
            let path = format!("/campaigns/{}/ledger", self.id(name));
            self.app
                .eventually("the campaign is over", async || {
                    let ledger = read(&self.app, &path).await;
                    ledger["balance"].is_object().then_some(())
                })
                .await;
        }
    }

    async fn fill_workflows(&mut self) {
        self.make("joined", "/segments", json!({"name": "Joined", "type": "STATIC"})).await;
        let content = json!({"subject": "Hi", "body": "<p>Hi</p>", "from": self.app.from()});
        self.make("welcome", "/templates", with(content, &json!({"name": "Welcome"}))).await;
        let made = super::flows::fill(self).await;
        for (name, id) in made {
            self.keep(name, &id);
        }
    }

    async fn fill_accounts(&mut self) {
        let made = self.banned.create_project(&self.app, "Banned").await;
        self.keep("banned", &made["id"]);
        self.keep("banned key", &made["secret"]);
        let members = format!("/projects/{}/members", self.id("banned"));
        for (name, email) in
            [("into the banned", "outsider@example.com"), ("free into the banned", "free@example.com")]
        {
            let body = json!({"email": email});
            let request = self.banned.request(&self.app, "POST", &members).json(&body);
            let invited = request.send().await.assert_status(202).json();
            self.keep(name, &invited["token"]);
        }
        let side = self.admin.create_project(&self.app, "Side").await;
        self.keep("side", &side["id"]);
        let members = format!("/projects/{}/members", self.id("side"));
        let request = self.admin.request(&self.app, "POST", &members);
        let request = request.json(&json!({"email": self.guarded.email}));
        let invited = request.send().await.assert_status(202).json();
        self.keep("to somebody guarded", &invited["token"]);
        self.owner.add_member(&self.app, &self.project, &self.guarded, "MEMBER").await;
        self.app.run(&["project", "disable", self.id("banned"), "--reason", "Unpaid"]).await;
        let pause = ["delivery", "pause", "--project", self.project.as_str(), "--domain", "nobody.example"];
        let printed = self.app.run(&pause).await;
        self.keep("pause of the operator", &json!(printed.split_whitespace().next().expect("an id")));
        let begin = async |browser: &Browser| {
            let request = browser.request(&self.app, "POST", "/users/@me/totp");
            request.json(&json!({"password": PASSWORD})).send().await.assert_status(200).json()
        };
        begin(&self.free).await;
        let factor = begin(&self.guarded).await;
        self.recovery = super::accounts::confirm(&self.app, &self.guarded, text(&factor["secret"])).await;
        let sessions = self.owner.request(&self.app, "GET", "/users/@me/sessions").send().await;
        let sessions = sessions.assert_status(200).json();
        self.keep("session of the owner", &sessions[0]["id"]);
        // what cannot be undone takes the password by now
        self.app.tamper("update sessions set created_at = created_at - 3600000").await;
    }
}

/// A condition of one filter.
pub(crate) fn only(filter: &Value) -> Value {
    json!({"logic": "AND", "groups": [{"filters": [filter]}]})
}

/// Method and path of an operation.
pub(crate) fn filled(operation: &str, ids: &[&str]) -> (String, String) {
    let (method, path) = operation.split_once(' ').expect("a method and a path");
    let mut ids = ids.iter().copied();
    let part = |part| if str::starts_with(part, '{') { ids.next().unwrap_or(UNKNOWN_ID) } else { part };
    let path: Vec<&str> = path.split('/').map(part).collect();
    (method.to_uppercase(), path.join("/"))
}
