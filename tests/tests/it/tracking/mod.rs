//! Opens and clicks: which links of a mail are tracked, where they lead, who followed them, and where that is counted.

mod browser;
mod campaigns;
mod counting;
mod early;
mod erasure;
mod late;
mod limits;
mod machines;
mod overrides;
mod reclassified;
mod redirects;
mod rewriting;
mod utm;
mod variables;
mod workflows;

use std::time::Duration;

use mailwright_testkit::{App, AppBuilder, Engine, Response, Value, json};
use mailwright_tests::browser::change_project;
use mailwright_tests::{events_of, read, send_ok, text, with};

/// Somebody who asks for what stands in a mail.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Visitor {
    agent: &'static str,
    address: &'static str,
}

/// A person.
pub(crate) const PERSON: Visitor = Visitor {
    agent: "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36",
    address: "203.0.113.7",
};
/// Another one, elsewhere.
const OTHER_PERSON: Visitor = Visitor {
    agent: "Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:133.0) Gecko/20100101 Firefox/133.0",
    address: "198.51.100.20",
};
/// A program.
const PROGRAM: Visitor = Visitor { agent: "curl/8.11.0", address: "192.0.2.9" };

/// Three links.
const THREE_LINKS: &str = "<p><a href=\"https://shop.test/one\">One</a> <a href=\"https://shop.test/two\">Two</a> \
    <a href=\"https://shop.test/three\">Three</a></p>";

/// A server behind a proxy, which says who the clients are.
pub(crate) fn builder(engine: Engine) -> AppBuilder {
    App::builder(engine).env("MAILWRIGHT_TRUSTED_PROXIES", "1")
}

/// One that judges opens and clicks as they come.
async fn start(engine: Engine) -> App {
    builder(engine).env("MAILWRIGHT_TRACKING_SETTLE_MS", "0").start().await
}

/// Lets so much time pass that nothing that was before has to do with what comes.
async fn later(app: &App) {
    app.advance(Duration::from_mins(3)).await;
}

/// Changes settings of the project, and waits until everything that remembers them reads them again.
async fn set(app: &App, changes: &Value) -> Value {
    let answer = change_project(app, changes).await;
    later(app).await;
    answer
}

/// Asks for something in a mail.
pub(crate) async fn visit(app: &App, path: &str, who: Visitor) -> Response {
    let request = app.request("GET", path).header("user-agent", who.agent);
    request.header("x-forwarded-for", who.address).send().await
}

/// Where a link of a mail leads.
async fn target(app: &App, path: &str, who: Visitor) -> String {
    let answer = visit(app, path, who).await.assert_status(302);
    answer.headers.get("location").expect("a target").to_owned()
}

/// A mail that left, as its recipient has it.
#[derive(Clone, Debug)]
pub(crate) struct Mail {
    id: String,
    contact: Value,
    html: String,
    text: String,
    /// What the addresses on the server begin with.
    base: String,
}

impl Mail {
    /// A mail once it was handed over.
    pub(crate) async fn of(app: &App, id: &str) -> Self {
        let email = app.email_in(id, &["SENT"]).await;
        let captured = read(app, &format!("/mailbox/{id}")).await;
        Self {
            id: id.to_owned(),
            contact: email["contactId"].clone(),
            html: text(&captured["html"]).to_owned(),
            text: text(&captured["text"]).to_owned(),
            base: app.base_url().to_owned(),
        }
    }

    /// The targets of its links, in their order.
    fn hrefs(&self) -> Vec<String> {
        attributes(&self.html, "href")
    }

    /// The paths of its tracked links, in their order, without the one that nobody sees.
    pub(crate) fn links(&self) -> Vec<String> {
        let hrefs = self.hrefs();
        let tracked = hrefs.iter().filter_map(|href| self.tracked(href));
        tracked.filter(|path| !path.ends_with("/999")).collect()
    }

    /// The path of a link, if it is tracked.
    fn tracked(&self, href: &str) -> Option<String> {
        href.strip_prefix(&self.base).filter(|path| path.starts_with("/t/")).map(str::to_owned)
    }

    /// The path of the link that nobody sees.
    fn trap(&self) -> String {
        let hrefs = self.hrefs();
        let traps: Vec<String> = hrefs
            .iter()
            .filter_map(|href| self.tracked(href))
            .filter(|path| path.ends_with("/999"))
            .collect();
        let [trap] = &traps[..] else { panic!("not one link that nobody sees: {}", self.html) };
        trap.clone()
    }

    /// The path of its picture.
    pub(crate) fn picture(&self) -> String {
        let sources = attributes(&self.html, "src");
        let pictures: Vec<String> = sources.iter().filter_map(|source| self.tracked(source)).collect();
        let [picture] = &pictures[..] else { panic!("not one picture: {}", self.html) };
        picture.clone()
    }

    fn is_tracked(&self) -> bool {
        self.html.contains(&format!("{}/t/", self.base))
    }

    /// The token in its addresses.
    fn token(&self) -> String {
        self.picture().split('/').nth(2).expect("a token").to_owned()
    }
}

/// The values of an attribute in a document that has them in double quotes, as a browser reads them.
fn attributes(html: &str, name: &str) -> Vec<String> {
    let beginning = format!(" {name}=\"");
    let parts = html.split(&beginning).skip(1);
    parts.map(|part| part.split('"').next().unwrap_or_default().replace("&amp;", "&")).collect()
}

/// Sends a mail of this content and returns it once it left.
async fn sent(app: &App, changes: &Value) -> Mail {
    let mail = json!({"to": "ann@example.com", "subject": "Hello", "body": THREE_LINKS, "from": app.from()});
    let data = send_ok(app, with(mail, changes)).await;
    Mail::of(app, text(&data["emails"][0]["email"])).await
}

/// The opens and clicks of a mail, oldest first, once so many are stored.
async fn stored(app: &App, mail: &Mail, count: usize) -> Vec<Value> {
    let path = format!("/emails/{}/hits", mail.id);
    app.eventually(&format!("{count} opens and clicks"), async || {
        let hits = app.list_all(&path).await;
        assert!(hits.len() <= count, "more than {count}: {hits:?}");
        (hits.len() == count).then_some(hits)
    })
    .await
}

/// The same, once it is judged who they were.
pub(crate) async fn judged(app: &App, mail: &Mail, count: usize) -> Vec<Value> {
    let hits = stored(app, mail, count).await;
    if hits.iter().any(|hit| hit["class"].is_null()) {
        app.advance(Duration::from_secs(4)).await;
    }
    let path = format!("/emails/{}/hits", mail.id);
    app.eventually("all are judged", async || {
        let hits = app.list_all(&path).await;
        hits.iter().all(|hit| !hit["class"].is_null()).then_some(hits)
    })
    .await
}

/// One member of each hit, as text.
fn column<'a>(hits: &'a [Value], key: &str) -> Vec<&'a str> {
    hits.iter().map(|hit| text(&hit[key])).collect()
}

/// How often a mail was opened and clicked by people, then by machines.
async fn counts(app: &App, mail: &Mail) -> [i64; 4] {
    let email = app.email(&mail.id).await;
    ["opens", "clicks", "machineOpens", "machineClicks"].map(|key| email[key].as_i64().expect("a number"))
}

/// The events of a mail with this name, oldest first.
async fn events(app: &App, mail: &Mail, name: &str) -> Vec<Value> {
    let mut events = events_of(app, &mail.contact).await;
    events.retain(|event| event["name"] == name && event["emailId"] == mail.id.as_str());
    events.reverse();
    events
}

/// A campaign with this content to all contacts, carried out; its id and its mails, in the order of their addresses.
async fn campaign(app: &App, changes: &Value) -> (String, Vec<Mail>) {
    let body = json!({"name": "News", "subject": "News", "body": THREE_LINKS, "from": app.from(), "audienceType": "ALL"});
    let made = app.post("/campaigns").json(&with(body, changes)).send().await.assert_status(201).json();
    let id = text(&made["data"]["id"]).to_owned();
    let path = format!("/campaigns/{id}");
    app.post(&format!("{path}/send")).json(&json!({})).send().await.assert_status(200);
    app.eventually_within(Duration::from_secs(30), "the campaign is over", async || {
        (!read(app, &path).await["finishedAt"].is_null()).then_some(())
    })
    .await;
    let mut emails = app.list_all("/emails").await;
    emails.retain(|email| email["campaignId"] == id.as_str());
    emails.sort_by_key(|email| text(&email["to"]).to_owned());
    let mut mails = Vec::new();
    for email in emails {
        mails.push(Mail::of(app, text(&email["id"])).await);
    }
    (id, mails)
}
