//! A person who is in every table that has people.

use mailwright_testkit::mail_in::MailIn;
use mailwright_testkit::net::free_port;
use mailwright_testkit::{App, AppBuilder, Engine, Value, json};
use mailwright_tests::workflow::Flow;
use mailwright_tests::{read, send_ok, text, track_ok};

use crate::tracking::{self, Mail, PERSON, visit};

/// A service that captures mail, takes mail, and judges hits as they come.
pub(super) async fn started(engine: Engine) -> (App, u16) {
    let inbound = free_port();
    let app: AppBuilder = tracking::builder(engine)
        .env("MAILWRIGHT_TRACKING_SETTLE_MS", "0")
        // no word of a person stands in the log of requests
        .env("MAILWRIGHT_REQUESTS_SAMPLE_PERCENT", "100")
        .env("MAILWRIGHT_INBOUND_LISTEN", format!("127.0.0.1:{inbound}"))
        .env("MAILWRIGHT_INBOUND_HOST", "mx.mail.test");
    (app.start().await, inbound)
}

/// What makes a person known again wherever it stands.
#[derive(Debug, Clone)]
pub(super) struct Person {
    pub(super) email: String,
    pub(super) word: String,
    pub(super) contact: Value,
}

impl Person {
    /// What no row has after the person was erased.
    pub(super) fn words(&self) -> [&str; 2] {
        [&self.email, &self.word]
    }
}

/// What several people of a project are in.
pub(super) struct Scene {
    pub(super) topic: Value,
    pub(super) segment: Value,
    pub(super) flow: String,
}

impl Scene {
    pub(super) async fn new(app: &App) -> Self {
        let topic = app.post("/topics").json(&json!({"name": "News", "visibility": "PUBLIC"})).send().await;
        let segment = app.post("/segments").json(&json!({"name": "List", "type": "STATIC"})).send().await;
        let flow = Flow::new(app, "ordered").await;
        flow.then("WAIT_FOR_EVENT", json!({"eventName": "paid"})).await;
        flow.enable().await;
        Self {
            topic: topic.assert_status(201).json()["id"].clone(),
            segment: segment.assert_status(201).json()["id"].clone(),
            flow: flow.id.clone(),
        }
    }
}

/// Has a person be everywhere.
pub(super) async fn fill(app: &App, inbound: u16, scene: &Scene, name: &str) -> Person {
    let (email, word) = (format!("{name}@people.example"), format!("canary-{name}"));
    let contact = json!({"email": email, "subscribed": true, "data": {"name": word}});
    let contact = app.post("/contacts").json(&contact).send().await.assert_status(201).json()["id"].clone();
    let id = text(&contact).to_owned();
    track_ok(app, json!({"email": email, "event": "viewed", "data": {"page": word}})).await;
    track_ok(app, json!({"email": email, "event": "ordered", "data": {"item": word}})).await;
    let flow = Flow::of(app, &json!({"id": scene.flow})).await;
    let execution = flow.of_contact(&contact, 1).await.remove(0);
    flow.once(text(&execution["id"]), "WAITING").await;
    let choice = json!({"topics": [{"id": scene.topic, "subscribed": true}]});
    app.put(&format!("/contacts/{id}/topics")).json(&choice).send().await.assert_status(200);
    let members = json!({"emails": [email]});
    app.post(&format!("/segments/{}/members", text(&scene.segment)))
        .json(&members)
        .send()
        .await
        .assert_status(200);
    mails(app, (&email, &word, name), &scene.segment).await;
    let mut session = MailIn::connect(inbound).await;
    let message = format!(
        "From: {word} <{email}>\r\nTo: help@{0}\r\nSubject: {word}\r\nMessage-ID: <{word}@people.example>\r\n\r\n{word}\r\n",
        app.domain()
    );
    for command in [format!("MAIL FROM:<{email}>"), format!("RCPT TO:<help@{}>", app.domain()), "DATA".into()]
    {
        let reply = session.command(&command).await;
        assert!(reply.starts_with("250") || reply.starts_with("354"), "{reply}");
    }
    session.raw(message.as_bytes()).await;
    let reply = session.command(".").await;
    assert!(reply.starts_with("250"), "{reply}");
    let entry = json!({"email": email});
    app.post("/suppressions/addresses").json(&entry).send().await.assert_status(201);
    import(app, &format!("email,name\r\n{email},{word}\r\n{email} {word},x\r\n")).await;
    behind_its_back(app, &email, &word, &id).await;
    Person { email, word, contact }
}

/// A mail to the person alone, one of a campaign, and what became of them.
async fn mails(app: &App, (email, word, name): (&str, &str, &str), segment: &Value) {
    let body = format!(
        "<p>{word}</p><a href=\"https://shop.test/{word}\">1</a><a href=\"https://shop.test/2\">2</a>"
    );
    let mail = json!({
        "to": email, "from": app.from(), "subject": word, "body": body,
        "data": {"secret": {"value": word, "persistent": false}},
        "attachments": [{"filename": format!("{word}.txt"), "contentType": "text/plain", "content": "Y2FuYXJ5LWZpbGU="}],
    });
    let request = app.post("/v1/send").header("idempotency-key", &format!("welcome {email}")).json(&mail);
    let sent = request.send().await.assert_status(200).json();
    let mut ids = vec![text(&sent["data"]["emails"][0]["email"]).to_owned()];
    let shared =
        json!({"to": email, "from": app.from(), "subject": "All", "body": "the same for {{email}} and all"});
    let shared = send_ok(app, shared).await;
    ids.push(text(&shared["emails"][0]["email"]).to_owned());
    for id in &ids {
        Mail::of(app, id).await;
    }
    let mail = Mail::of(app, &ids[0]).await;
    visit(app, &mail.links()[0], PERSON).await.assert_status(302);
    app.eventually("the hit is stored", async || {
        (read(app, &format!("/emails/{}/hits", ids[0])).await["total"] == 1).then_some(())
    })
    .await;
    let campaign = json!({
        "name": name, "subject": "To {{name}}", "body": "for {{name}}", "from": app.from(), "audienceType": "SEGMENT",
        "segmentId": segment,
    });
    let campaign = app.post("/campaigns").json(&campaign).send().await.assert_status(201).json();
    let id = text(&campaign["data"]["id"]).to_owned();
    app.post(&format!("/campaigns/{id}/send")).json(&json!({})).send().await.assert_status(200);
    app.eventually("the campaign is sent", async || {
        (read(app, &format!("/campaigns/{id}")).await["status"] == "SENT").then_some(())
    })
    .await;
}

/// Imports a file, whose last row is refused.
pub(super) async fn import(app: &App, csv: &str) -> Value {
    let body = format!(
        "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.csv\"\r\nContent-Type: text/csv\r\n\r\n{csv}\r\n--b--\r\n"
    );
    let request = app.post("/contacts/import").body(body, "multipart/form-data; boundary=b");
    let job = request.send().await.assert_status(202).json();
    let path = format!("/contacts/import/{}", text(&job["jobId"]));
    app.eventually("the import is done", async || {
        Some(read(app, &path).await).filter(|job| job["state"] == "completed" || job["state"] == "failed")
    })
    .await
}

/// Rows that take long to come about: the person is counted, asked, refused and told of.
async fn behind_its_back(app: &App, email: &str, word: &str, contact: &str) {
    let bytes = |text: &str| match app.engine() {
        Engine::Sqlite => format!("x'{}'", text.replace('-', "")),
        Engine::Postgres => format!("'{text}'"),
    };
    let json = |value: &Value| match app.engine() {
        Engine::Sqlite => format!("jsonb('{value}')"),
        Engine::Postgres => format!("'{value}'::jsonb"),
    };
    // ids that nothing else has: an other one for each person
    let own = |first: &str| bytes(&format!("{first}{}", &contact[8..]));
    let (id, id2, contact) = (own("0aaaaaaa"), own("0bbbbbbb"), bytes(contact));
    let person = format!("from contacts where id = {contact}");
    let told = json(&json!({"said": word}));
    let none = json(&json!([]));
    let yes = if app.engine() == Engine::Sqlite { "1" } else { "true" };
    app.tamper(&format!(
        "insert into soft_bounces (project_id, email, first_at, last_at, bounces, days) \
         select project_id, '{email}', 1, 2, 3, 4 {person}; \
         insert into confirmations (project_id, topic_id, contact_id, requested_at, mailed_at) \
         select project_id, {id}, id, 1, 2 {person}; \
         insert into workflow_outputs (project_id, execution_id, entry, output) \
         select project_id, id, 0, {told} from workflow_executions where contact_id = {contact}; \
         insert into workflow_requests (project_id, id, workflow_id, execution_id, contact_id, place, host, request, due_at, \
         claim, attempts, doubts, is_open, created_at) \
         select project_id, {id}, workflow_id, id, contact_id, 0, 'nowhere.example', {told}, 9000000000000000, 0, 0, 0, \
         {yes}, 1 from workflow_executions where contact_id = {contact}; \
         insert into workflow_refusals (project_id, event_id, contact_id, refused) \
         select project_id, {id2}, id, {told} {person}; \
         insert into verification_results (project_id, job_id, position, email, flags, reasons, meant) \
         select project_id, {id}, 0, '{email}', 0, {none}, null {person}; \
         insert into contact_months (project_id, contact_id, month) select project_id, id, 24000 {person};"
    ))
    .await;
}
