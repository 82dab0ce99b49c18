//! The mails that news come of: those of campaigns, of a template and of a workflow.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mailwright_testkit::net::free_port;
use mailwright_testkit::smtp::{Answer, Received, ScriptedServer};
use mailwright_testkit::sns::{NotificationService, TOPIC};
use mailwright_testkit::{App, Engine, json};
use mailwright_tests::random::hash;
use mailwright_tests::workflow::Flow;
use mailwright_tests::{create_template, read, send_ok, sized, text, track_ok};

/// The domain that bounces return to.
pub(super) const RETURN_PATH: &str = "bounces.mail.test";
/// Connections to the receiving server, for each process.
const CONNECTIONS: usize = 24;

/// Campaigns, the contacts of each, and the mails of the template and of the workflow, each.
fn sizes() -> (usize, usize, usize) {
    sized((1, 110, 25), (5, 500, 275))
}

/// Seconds over which the mails are spread, so that news come of mails that are still being handed over until the last
/// kills.
fn spread() -> usize {
    sized(8, 80)
}

/// The body of every mail: links that are the same in all, and one that its values make.
const BODY: &str = "<p>Hello {{number}}</p><p><a href=\"https://shop.test/a?x=1\">A</a> \
    <a href=\"https://shop.test/b\">B</a> <a href=\"https://shop.test/items/{{number}}\">Yours</a> \
    <a href=\"https://shop.test/c\">C</a></p>";
/// The targets of the first links.
pub(super) const TARGETS: [&str; 2] = ["https://shop.test/a?x=1", "https://shop.test/b"];

/// What the receiving server does with a mail: half of them are held back, of some nobody learns that they were taken.
fn answer(to: &str) -> Answer {
    let hash = hash(to);
    match hash % 100 {
        0..4 => Answer::DropAfterDot,
        4..54 => Answer::Delay(Duration::from_millis(100 + (hash >> 32) % 1_500)),
        _ => Answer::Accept,
    }
}

/// A mail as the receiving server has it.
#[derive(Debug)]
pub(super) struct Mail {
    pub(super) id: String,
    pub(super) to: String,
    /// The address that its bounces return to.
    pub(super) return_path: String,
    /// The lines of its head that reports return.
    pub(super) head: String,
    /// The path of its picture.
    pub(super) picture: String,
    /// The paths of its links.
    pub(super) links: Vec<String>,
    /// Until when it is certainly being handed over.
    pub(super) held_until: Instant,
}

impl Mail {
    pub(super) fn read(received: &Received) -> Self {
        let to = received.rcpt_to.first().expect("a recipient").clone();
        let raw = String::from_utf8(received.data.clone()).expect("7-bit");
        let (head, content) = raw.split_once("\r\n\r\n").expect("a head and a body");
        let unfolded = head.replace("\r\n\t", " ").replace("\r\n ", " ");
        let wanted =
            |line: &&str| ["from:", "message-id:"].iter().any(|name| line.to_lowercase().starts_with(name));
        let fields: Vec<&str> = unfolded.split("\r\n").filter(wanted).collect();
        let id_line =
            fields.iter().find(|line| line.to_lowercase().starts_with("message-id:")).expect("a Message-ID");
        let id = id_line.split(['<', '@']).nth(1).expect("an id").to_owned();
        let content = content.replace("=\r\n", "");
        let mut paths: Vec<String> = content.split("/t/").skip(1).map(path).collect();
        paths.sort();
        paths.dedup();
        let (pictures, links): (Vec<String>, Vec<String>) =
            paths.into_iter().partition(|path| path.ends_with("/o.gif"));
        let [picture] = pictures.try_into().expect("one picture");
        assert!(links.len() > TARGETS.len(), "{links:?}");
        let pause = match answer(&to) {
            Answer::Delay(pause) => pause,
            _ => Duration::ZERO,
        };
        Self {
            id,
            return_path: received.mail_from.clone(),
            head: fields.join("\n"),
            picture,
            links,
            held_until: received.at + pause,
            to,
        }
    }
}

/// The path of something tracked, from what follows `/t/`.
fn path(rest: &str) -> String {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || "-_/.".contains(letter);
    let end = rest.find(|letter| !is_part(letter)).unwrap_or(rest.len());
    format!("/t/{}", &rest[..end])
}

/// Everything that a test begins with.
pub(super) struct Course {
    pub(super) server: Arc<ScriptedServer>,
    pub(super) service: Arc<NotificationService>,
    pub(super) campaigns: Vec<String>,
    pub(super) template: String,
    pub(super) workflow: String,
    /// The port for mail of the first process.
    pub(super) inbound: u16,
}

/// Mails that are made.
pub(super) fn mails() -> usize {
    let (campaigns, contacts, others) = sizes();
    campaigns * contacts + 2 * others
}

/// A service that takes mail and notifications, and what it sends to.
pub(super) async fn start(engine: Engine) -> (App, Course) {
    let server = ScriptedServer::start(|to, _| answer(to)).await;
    let service = NotificationService::start().await;
    let inbound = free_port();
    let app = App::builder(engine)
        .smtp(server.port)
        .env("MAILWRIGHT_INBOUND_LISTEN", format!("127.0.0.1:{inbound}"))
        .env("MAILWRIGHT_INBOUND_HOST", "mx.mail.test")
        .env("MAILWRIGHT_INBOUND_RETURN_PATH", RETURN_PATH)
        .env("MAILWRIGHT_SNS_TOPICS", TOPIC)
        .env("MAILWRIGHT_SNS_ENDPOINT", service.endpoint())
        // visitors name their addresses
        .env("MAILWRIGHT_TRUSTED_PROXIES", "1")
        .env("MAILWRIGHT_TRACKING_SETTLE_MS", "300")
        .env("MAILWRIGHT_DELIVERY_CONNECTIONS", CONNECTIONS.to_string())
        .env("MAILWRIGHT_SENDING_PER_SECOND", (mails() / spread()).max(1).to_string())
        // much of the mail is meant to come back
        .env("MAILWRIGHT_AUTO_PROJECT_DISABLE", "false")
        .start()
        .await;
    let course = Course::new(&app, server, service, inbound).await;
    (app, course)
}

impl Course {
    async fn new(app: &App, server: ScriptedServer, service: NotificationService, inbound: u16) -> Self {
        let (campaigns, contacts, others) = sizes();
        import(app, campaigns * contacts, campaigns).await;
        let template = create_template(app, &json!({"name": "Receipt", "body": BODY})).await;
        let of_workflow = create_template(app, &json!({"name": "Welcome", "body": BODY})).await;
        let flow = Flow::new(app, "begin").await;
        flow.try_add("SEND_EMAIL", &json!({}), &json!({"templateId": of_workflow["id"]}))
            .await
            .assert_status(201);
        flow.enable().await;
        let mut paths = Vec::new();
        for group in 0..campaigns {
            paths.push(launch(app, group).await);
        }
        for number in 0..others {
            let data = json!({"number": number});
            let to = format!("t{number}@example.com");
            send_ok(app, json!({"to": to, "template": template["id"], "subscribed": true, "data": data}))
                .await;
            let email = format!("w{number}@example.com");
            track_ok(app, json!({"email": email, "event": "begin", "subscribed": true, "data": data})).await;
        }
        Self {
            server: Arc::new(server),
            service: Arc::new(service),
            campaigns: paths,
            template: text(&template["id"]).to_owned(),
            workflow: flow.id,
            inbound,
        }
    }

    /// Whether every campaign is over.
    pub(super) async fn is_sent(&self, app: &App) -> bool {
        for campaign in &self.campaigns {
            if read(app, campaign).await["status"] != "SENT" {
                return false;
            }
        }
        true
    }
}

/// Makes the contacts of the campaigns, in groups.
async fn import(app: &App, count: usize, groups: usize) {
    let mut csv = "email,number,group\n".to_owned();
    for number in 0..count {
        writeln!(csv, "c{number}@example.com,{number},g{}", number % groups).expect("writing to a string");
    }
    let file = tempfile::NamedTempFile::with_suffix(".csv").expect("a file");
    std::fs::write(file.path(), csv).expect("the file is written");
    let said = app.run(&["import", "--project", app.project_id(), &file.path().display().to_string()]).await;
    assert!(said.contains(&format!("{count} contacts created")), "{said}");
}

/// Makes a campaign to a group and sends it; returns its path.
async fn launch(app: &App, group: usize) -> String {
    let is_of_group = json!({"field": "data.group", "operator": "equals", "value": format!("g{group}")});
    let body = json!({
        "name": format!("Campaign {group}"), "subject": "Number {{number}}", "body": BODY, "from": app.from(),
        "audienceType": "FILTERED",
        "audienceCondition": {"logic": "AND", "groups": [{"filters": [is_of_group]}]},
    });
    let created = app.post("/campaigns").json(&body).send().await.assert_status(201).json();
    let path = format!("/campaigns/{}", text(&created["data"]["id"]));
    app.post(&format!("{path}/send")).json(&json!({})).send().await.assert_status(200);
    path
}
