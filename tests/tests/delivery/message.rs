//! The message a receiver gets, judged by programs that are not ours.

use mailwright_testkit::python::{assert_forged, parse_mail, verify_dkim};
use mailwright_testkit::smtp::{Answer, Received, ScriptedServer};
use mailwright_testkit::{App, Engine, Value, json};
use mailwright_tests::{contact, create_template, items, read, text, with};

use crate::{events, header, headers};

/// A running server, and the host its mail goes to.
struct Post {
    app: App,
    server: ScriptedServer,
}

impl Post {
    async fn start() -> Self {
        let server = ScriptedServer::start(|_, _| Answer::Accept).await;
        let app = App::builder(Engine::Sqlite).smtp(server.port).start().await;
        Self { app, server }
    }

    /// Sends a mail with these fields over a plain one, and returns the email and what the host received.
    async fn deliver(&self, changes: Value) -> (Value, Received) {
        let plain = json!({
            "to": "ada@example.com", "subject": "Hello", "body": "<p>Hello there</p>", "from": self.app.from(),
        });
        self.send(with(plain, &changes)).await
    }

    async fn send(&self, body: Value) -> (Value, Received) {
        let answer = self.app.send(body).await.assert_status(200).json();
        let email = self.app.email_in(text(&answer["data"]["emails"][0]["email"]), &["SENT"]).await;
        let received = self.server.received_for(text(&email["to"])).pop().expect("the message");
        assert_eq!(self.server.violations(), Vec::<String>::new(), "the message keeps to the protocol");
        (email, received)
    }

    /// The TXT records the sender domain asks its owner to publish.
    async fn txt_records(&self) -> Vec<(String, String)> {
        let domains = read(&self.app, &format!("/domains/project/{}", self.app.project_id())).await;
        let domain = items(&domains).iter().find(|domain| domain["domain"] == self.app.domain());
        let records = items(&domain.expect("the domain of the project")["records"]).iter();
        let txt = records.filter(|record| record["type"] == "TXT");
        txt.map(|record| (text(&record["name"]).to_owned(), text(&record["value"]).to_owned())).collect()
    }

    /// Verifies the signatures of a message against the published records; returns the one of the sender domain.
    async fn assert_signed(&self, message: &[u8]) -> Value {
        let records = self.txt_records().await;
        let records: Vec<(&str, &str)> = records.iter().map(|(name, value)| (&**name, &**value)).collect();
        let signatures = verify_dkim(message, &records);
        let ours = items(&signatures).iter().find(|signature| signature["domain"] == self.app.domain());
        let ours = ours.unwrap_or_else(|| panic!("no signature of the sender domain: {signatures}")).clone();
        assert_eq!(ours["bodyLength"], json!(null), "the whole body is signed");
        let mut expected =
            vec!["from", "to", "subject", "date", "message-id", "mime-version", "content-type"];
        let signed: Vec<&str> = items(&ours["headers"]).iter().map(text).collect();
        expected.retain(|name| !signed.contains(name));
        assert!(expected.is_empty(), "not signed: {expected:?} in {ours}");
        ours
    }
}

/// A parsed message, checked for faults.
fn parsed(received: &Received) -> Value {
    let parsed = parse_mail(&received.data);
    assert_eq!(parsed["defects"], json!([]), "a message without faults");
    let head = received.data.windows(4).position(|end| end == b"\r\n\r\n").expect("the end of the headers");
    assert!(received.data[..head].is_ascii(), "headers are ASCII unless SMTPUTF8 is offered");
    parsed
}

/// The decoded values of a header.
fn values(parsed: &Value, name: &str) -> Vec<String> {
    let headers = items(&parsed["headers"]).iter();
    let named = headers.filter(|header| text(&header[0]).eq_ignore_ascii_case(name));
    named.map(|header| text(&header[1]).to_owned()).collect()
}

/// The types of a message's parts, nested as they are: `type(part, part)`.
fn nesting(part: &Value) -> String {
    match part["parts"].as_array() {
        Some(parts) => {
            let inner: Vec<String> = parts.iter().map(nesting).collect();
            format!("{}({})", text(&part["type"]), inner.join(", "))
        }
        None => text(&part["type"]).to_owned(),
    }
}

/// The first part with this type, searched depth first.
fn part<'a>(root: &'a Value, kind: &str) -> Option<&'a Value> {
    if root["type"] == kind {
        return Some(root);
    }
    root["parts"].as_array()?.iter().find_map(|inner| part(inner, kind))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plain_mail_is_complete_and_signed() {
    let post = Post::start().await;
    let to = json!({"name": "Ada Lovelace", "email": "ada@example.com"});
    let (email, received) = post.deliver(json!({"to": to})).await;
    post.assert_signed(&received.data).await;

    let mail = parsed(&received);
    assert_eq!(nesting(&mail["part"]), "multipart/alternative(text/plain, text/html)");
    assert_eq!(values(&mail, "subject"), ["Hello"]);
    assert_eq!(values(&mail, "to"), ["Ada Lovelace <ada@example.com>"]);
    assert_eq!(values(&mail, "from"), ["Acme <hello@acme.test>"], "the name falls back to the project's");
    assert_eq!(values(&mail, "mime-version"), ["1.0"]);
    assert_eq!(values(&mail, "date").len(), 1);
    assert_eq!(values(&mail, "message-id").len(), 1);
    assert!(values(&mail, "message-id")[0].contains(text(&email["messageId"]).trim_matches(['<', '>'])));
    assert!(values(&mail, "reply-to").iter().all(|value| value.contains("hello@acme.test")));
    assert_eq!(received.rcpt_to, ["ada@example.com"]);
    assert!(received.mail_from.contains('@'), "bounces come back: {:?}", received.mail_from);
    for kind in ["text/plain", "text/html"] {
        let content = text(&part(&mail["part"], kind).expect("both forms")["text"]);
        assert!(content.contains("Hello there"), "{kind}: {content}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_text_survives_the_transport() {
    let post = Post::start().await;
    let long = "word ".repeat(1_500);
    let unbroken = "x".repeat(3_000);
    let subject = format!("Grüße 👋 an alle — {}", "sehr lang ".repeat(12).trim());
    let body = format!(
        "<p>Grüße 👋</p>\n.\n..\n.leading dot\n<p>{long}</p>\n<p>{unbroken}</p>\nFrom here = there\n"
    );
    let (_, received) = post
        .deliver(json!({
            "to": {"name": "Jörg \"J\" Müller, Dr.", "email": "joerg@example.com"},
            "from": {"name": "Bücher & Söhne", "email": "hello@acme.test"},
            "subject": subject,
            "body": body,
        }))
        .await;
    post.assert_signed(&received.data).await;

    let mail = parsed(&received);
    assert_eq!(values(&mail, "subject"), [subject]);
    assert!(values(&mail, "from")[0].contains("Bücher & Söhne"), "{mail}");
    assert!(values(&mail, "to")[0].contains("Jörg"), "{mail}");
    let html = text(&part(&mail["part"], "text/html").expect("HTML")["text"]).replace("\r\n", "\n");
    for piece in ["Grüße 👋", "\n.\n..\n.leading dot\n", long.trim(), &unbroken, "From here = there"] {
        assert!(html.contains(piece), "the body lost {:?}", piece.chars().take(40).collect::<String>());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attachments_nest_as_they_should() {
    let post = Post::start().await;
    let report = json!({"filename": "Übersicht 1.pdf", "content": "JVBERi0xLjQKJeLjz9MK", "contentType": "application/pdf"});
    let logo = json!({
        "filename": "logo.png", "content": "iVBORw0KGgoAAAANSUhEUg==", "contentType": "image/png",
        "contentId": "logo", "disposition": "inline",
    });
    let alternative = "multipart/alternative(text/plain, text/html)";
    let related = format!("multipart/related({alternative}, image/png)");
    for (attachments, expected) in [
        (json!([]), alternative.to_owned()),
        (json!([report]), format!("multipart/mixed({alternative}, application/pdf)")),
        (json!([logo]), related.clone()),
        (json!([report, logo]), format!("multipart/mixed({related}, application/pdf)")),
    ] {
        let html = "<p>See <img src=\"cid:logo\"></p>";
        let (_, received) = post.deliver(json!({"body": html, "attachments": attachments})).await;
        post.assert_signed(&received.data).await;
        let mail = parsed(&received);
        assert_eq!(nesting(&mail["part"]), expected);
        if let Some(pdf) = part(&mail["part"], "application/pdf") {
            assert_eq!(pdf["disposition"], "attachment");
            assert_eq!(pdf["filename"], report["filename"]);
            assert_eq!(pdf["base64"], report["content"]);
        }
        if let Some(png) = part(&mail["part"], "image/png") {
            assert_eq!(png["disposition"], "inline");
            assert_eq!(png["contentId"], "<logo>");
            assert_eq!(png["filename"], "logo.png");
            assert_eq!(png["base64"], logo["content"]);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replies_go_where_they_were_asked_to() {
    let post = Post::start().await;
    let (email, received) = post.deliver(json!({"reply": "support@elsewhere.test"})).await;
    assert_eq!(headers(&received.data, "reply-to").len(), 1);
    assert!(header(&received.data, "reply-to").expect("one").contains("support@elsewhere.test"));
    assert_eq!(email["replyTo"], "support@elsewhere.test");

    for (reply, expected) in [
        (json!("Jörg <joerg@elsewhere.test>"), "Reply-To: =?utf-8?Q?J=C3=B6rg?= <joerg@elsewhere.test>"),
        (
            json!({"name": "Doe, \"J\"", "email": "joerg@elsewhere.test"}),
            "Reply-To: \"Doe, \\\"J\\\"\" <joerg@elsewhere.test>",
        ),
        (json!({"name": "", "email": "joerg@elsewhere.test"}), "Reply-To: <joerg@elsewhere.test>"),
    ] {
        let (email, received) = post.deliver(json!({"reply": reply})).await;
        post.assert_signed(&received.data).await;
        parsed(&received);
        assert!(String::from_utf8_lossy(&received.data).contains(&format!("\r\n{expected}\r\n")), "{reply}");
        assert_eq!(email["replyTo"], "joerg@elsewhere.test");
        assert_eq!(headers(&received.data, "reply-to").len(), 1);
    }

    let template = create_template(&post.app, &json!({"replyTo": "template@elsewhere.test"})).await;
    let send = json!({"to": "bob@example.com", "template": template["id"]});
    let (_, received) = post.send(send).await;
    assert!(header(&received.data, "reply-to").expect("one").contains("template@elsewhere.test"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_see_what_was_written() {
    let post = Post::start().await;
    let custom = json!({
        "Reply-To": "Müller <Mueller@elsewhere.test>, \"Doe, J\" <doe@elsewhere.test>",
        "Disposition-Notification-To": "Jürgen <j@elsewhere.test>",
        "X-Literal": "=?utf-8?Q?x?=",
    });
    let (_, received) = post
        .deliver(json!({
            "from": {"name": "=?utf-8?Q?fake?=", "email": post.app.from()},
            "subject": "{{word}} literally",
            "data": {"word": "=?utf-8?B?SGk=?="},
            "headers": custom,
        }))
        .await;
    post.assert_signed(&received.data).await;
    let mail = parsed(&received);
    assert_eq!(values(&mail, "subject"), ["=?utf-8?B?SGk=?= literally"]);
    assert!(values(&mail, "from")[0].starts_with("=?utf-8?Q?fake?="), "{mail}");
    assert_eq!(values(&mail, "x-literal"), ["=?utf-8?Q?x?="]);
    let raw = String::from_utf8_lossy(&received.data).into_owned();
    for line in [
        "Reply-To: =?utf-8?Q?M=C3=BCller?= <Mueller@elsewhere.test>, \"Doe, J\"\r\n <doe@elsewhere.test>",
        "Disposition-Notification-To: =?utf-8?Q?J=C3=BCrgen?= <j@elsewhere.test>",
    ] {
        assert!(raw.contains(&format!("\r\n{line}\r\n")), "{raw}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_own_text_part_is_sent_as_it_is_written() {
    let post = Post::start().await;
    let text_given = "Hello {{name}} & all,\n  your code: {{code ?? \"none\"}}\n<b>kept</b>\n";
    let (_, received) = post
        .deliver(json!({"text": text_given, "to": {"email": "ada@example.com", "name": "Ada <&> Co"}}))
        .await;
    post.assert_signed(&received.data).await;
    let mail = parsed(&received);
    let plain = text(&part(&mail["part"], "text/plain").expect("text")["text"]).replace("\r\n", "\n");
    assert_eq!(plain.trim_end(), "Hello Ada <&> Co & all,\n  your code: none\n<b>kept</b>");
    assert!(text(&part(&mail["part"], "text/html").expect("HTML")["text"]).contains("Hello there"));

    // marketing mail keeps its way out in both forms
    let template = create_template(&post.app, &json!({"type": "MARKETING"})).await;
    let send =
        json!({"to": "bob@example.com", "template": template["id"], "subscribed": true, "text": "Short."});
    let (email, received) = post.send(send).await;
    let mail = parsed(&received);
    let plain = text(&part(&mail["part"], "text/plain").expect("text")["text"]).replace("\r\n", "\n");
    let link = format!("{}/unsubscribe/", post.app.base_url());
    assert!(plain.starts_with("Short.\n\n") && plain.contains(&link), "{plain}");
    assert!(!plain.contains(text(&template["body"])), "{plain} {email}");
}

/// The header section, unfolded, with ids and addresses of this run replaced.
fn frame(post: &Post, email: &Value, received: &Received) -> Vec<String> {
    let raw = String::from_utf8_lossy(&received.data).into_owned();
    let (head, _) = raw.split_once("\r\n\r\n").expect("the end of the headers");
    let head = head.replace("\r\n ", " ").replace("\r\n\t", " ");
    let lines = head.split("\r\n").filter(|line| {
        ["DKIM-Signature:", "Date:", "Message-ID:", "Content-Type:"]
            .iter()
            .all(|name| !line.starts_with(name))
    });
    let known = [
        (post.app.base_url(), "BASE"),
        (text(&email["id"]), "MAIL"),
        (text(&email["contactId"]), "CONTACT"),
        (post.app.project_id(), "PROJECT"),
    ];
    let named = |line: &str| known.iter().fold(line.to_owned(), |line, (id, name)| line.replace(id, name));
    lines.map(|line| without_tag(&named(line))).collect()
}

/// A line in which the tag of a link, which is made with the instance's secret, is called TAG.
fn without_tag(line: &str) -> String {
    let Some((before, after)) = line.split_once("&t=") else { return line.to_owned() };
    let end = after.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(after.len());
    assert_eq!(end, 48, "{line}");
    format!("{before}&t=TAG{}", &after[end..])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn campaigns_of_every_type_have_their_headers_in_order() {
    for base in ["http", "https"] {
        let server = ScriptedServer::start(|_, _| Answer::Accept).await;
        let app = App::builder(Engine::Sqlite)
            .smtp(server.port)
            .env("MAILWRIGHT_BASE_URL", format!("{base}://mail.example"))
            .start()
            .await;
        let post = Post { app, server };
        for (kind, is_list) in [("MARKETING", true), ("HEADLESS", true), ("TRANSACTIONAL", false)] {
            let to = format!("{}-{base}@example.com", kind.to_lowercase());
            let known = json!({"email": to, "subscribed": true});
            post.app.post("/contacts").json(&known).send().await.assert_status(201);
            let tree = json!({"logic": "AND", "groups": [{"filters": [{"field": "email", "operator": "equals", "value": to}]}]});
            let draft = json!({
                "name": kind, "subject": "News", "body": "<p>Hello</p>", "from": post.app.from(), "fromName": "Shop", "type": kind,
                "audienceType": "FILTERED", "audienceCondition": tree,
            });
            let campaign = post.app.post("/campaigns").json(&draft).send().await.assert_status(201).json();
            let path = format!("/campaigns/{}/send", text(&campaign["data"]["id"]));
            post.app.post(&path).json(&json!({})).send().await.assert_status(200);
            let received =
                post.app.eventually("the mail", async || post.server.received_for(&to).pop()).await;
            let emails = post.app.list_all("/emails").await;
            let email = emails.iter().find(|email| email["to"] == to).expect("its row").clone();
            let signature = post.assert_signed(&received.data).await;
            let mut expected = vec![
                "From: \"Shop\" <hello@acme.test>".to_owned(),
                format!("To: <{to}>"),
                "Reply-To: <hello@acme.test>".to_owned(),
                "Subject: News".to_owned(),
            ];
            if is_list {
                expected.push(format!(
                    "List-Unsubscribe: <{base}://mail.example/unsubscribe/CONTACT?e=MAIL&t=TAG>"
                ));
                if base == "https" {
                    expected.push("List-Unsubscribe-Post: List-Unsubscribe=One-Click".to_owned());
                }
                expected.push("List-Id: <PROJECT.acme.test>".to_owned());
                let signed: Vec<&str> = items(&signature["headers"]).iter().map(text).collect();
                for name in
                    ["list-id", "list-unsubscribe", "list-unsubscribe-post", "precedence", "auto-submitted"]
                {
                    assert!(signed.contains(&name), "{name} in {signed:?}");
                }
            }
            for line in [
                "Precedence: bulk",
                "Auto-Submitted: auto-generated",
                "X-Auto-Response-Suppress: OOF, AutoReply",
                "MIME-Version: 1.0",
            ] {
                expected.push(line.to_owned());
            }
            assert_eq!(frame(&post, &email, &received), expected, "{kind} over {base}");
            let parsed = parsed(&received);
            let html = text(&part(&parsed["part"], "text/html").expect("HTML")["text"]);
            assert_eq!(html.contains("/unsubscribe/"), kind == "MARKETING", "{kind}: {html}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_can_be_added_to_a_signed_message() {
    let post = Post::start().await;
    let (_, received) = post.deliver(json!({})).await;
    post.assert_signed(&received.data).await;
    let records = post.txt_records().await;
    let records: Vec<(&str, &str)> = records.iter().map(|(name, value)| (&**name, &**value)).collect();
    for added in [
        "From: evil@x.example",
        "To: victim@x.example",
        "Cc: victim@x.example",
        "Subject: spoofed",
        "Reply-To: evil@x.example",
        "Date: Mon, 02 Mar 2020 10:00:00 +0000",
        "Content-Type: text/html",
        "List-Unsubscribe: <https://evil.example/>",
        "List-Unsubscribe-Post: List-Unsubscribe=One-Click",
    ] {
        let forged = [added.as_bytes(), b"\r\n", &received.data].concat();
        assert_forged(&forged, &records);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn custom_headers_are_carried() {
    let post = Post::start().await;
    let custom = json!({"X-Order-Id": "42", "X-Note": "größer", "reply-TO": "mine@elsewhere.test"});
    let (_, received) = post.deliver(json!({"headers": custom, "reply": "other@elsewhere.test"})).await;
    post.assert_signed(&received.data).await;
    let mail = parsed(&received);
    assert_eq!(values(&mail, "x-order-id"), ["42"]);
    assert_eq!(values(&mail, "x-note"), ["größer"]);
    assert_eq!(values(&mail, "reply-to"), ["mine@elsewhere.test"], "a caller's header replaces the default");
    let raw = String::from_utf8_lossy(&received.data).into_owned();
    assert!(raw.contains("\r\nX-Order-Id: 42\r\n"), "names keep their case: {raw}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bulk_mail_can_be_unsubscribed_with_one_click() {
    let post = Post::start().await;
    let template = create_template(&post.app, &json!({"type": "MARKETING"})).await;
    let send = json!({"to": "ada@example.com", "template": template["id"], "subscribed": true});
    let (email, received) = post.send(send).await;
    let signature = post.assert_signed(&received.data).await;
    let signed: Vec<&str> = items(&signature["headers"]).iter().map(text).collect();
    assert!(
        signed.contains(&"list-unsubscribe") && signed.contains(&"list-unsubscribe-post"),
        "RFC 8058, 4, and nobody can add one: {signed:?}"
    );

    let field = header(&received.data, "list-unsubscribe").expect("List-Unsubscribe");
    let field_post = header(&received.data, "list-unsubscribe-post");
    assert_eq!(field_post, None, "RFC 8058 needs https, and this server's links are http");
    assert_eq!(header(&received.data, "precedence").as_deref(), Some("bulk"));
    assert_eq!(header(&received.data, "auto-submitted").as_deref(), Some("auto-generated"));
    let url = field.split(['<', '>']).find(|part| part.starts_with("http")).expect("a link in it").to_owned();
    let path = url.strip_prefix(post.app.base_url()).unwrap_or_else(|| panic!("{url} is at the base URL"));
    assert!(path.contains(text(&email["contactId"])), "{path}");

    let subscribed = async || contact(&post.app, &email["contactId"]).await["subscribed"].clone();
    post.app.request("GET", path).send().await.assert_status(200);
    assert_eq!(subscribed().await, true, "looking at the page changes nothing");
    for _ in 0..2 {
        let click = post
            .app
            .request("POST", path)
            .body("List-Unsubscribe=One-Click", "application/x-www-form-urlencoded");
        let answer = click.send().await.assert_status(200);
        assert!(answer.headers.get("content-type").is_some_and(|kind| kind.starts_with("text/plain")));
        assert_eq!(subscribed().await, false);
    }
    assert_eq!(
        events(&post.app, &email, "contact.unsubscribed").await.len(),
        1,
        "only the first click changed anything"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_callers_unsubscribe_header_replaces_ours() {
    let post = Post::start().await;
    let template = create_template(&post.app, &json!({"type": "MARKETING"})).await;
    let headers_given = json!({"list-unsubscribe": "<mailto:leave@elsewhere.test>"});
    let send = json!({"to": "ada@example.com", "template": template["id"], "subscribed": true, "headers": headers_given});
    let (_, received) = post.send(send).await;
    assert_eq!(headers(&received.data, "list-unsubscribe"), ["<mailto:leave@elsewhere.test>"]);
    assert_eq!(
        headers(&received.data, "list-unsubscribe-post"),
        Vec::<String>::new(),
        "the pair is the caller's"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn transactional_mail_is_not_bulk() {
    let post = Post::start().await;
    let template = create_template(&post.app, &json!({"type": "TRANSACTIONAL"})).await;
    for body in [
        json!({"template": template["id"]}),
        json!({"subject": "Code", "body": "<p>123</p>", "from": post.app.from()}),
    ] {
        let (_, received) = post.send(with(json!({"to": "ada@example.com"}), &body)).await;
        for name in ["list-unsubscribe", "list-unsubscribe-post", "precedence"] {
            assert_eq!(header(&received.data, name), None, "{name} on {body}");
        }
    }
}
