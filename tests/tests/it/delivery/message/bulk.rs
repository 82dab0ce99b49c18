//! What marks bulk mail, and the way out of it.

use mailwright_testkit::smtp::{Answer, Received, ScriptedServer};
use mailwright_testkit::{App, Engine, Value, json};
use mailwright_tests::{contact, create_template, items, text, with};

use crate::delivery::{events, header, headers};

use super::post::{Post, parsed, part};

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
            let id = text(&campaign["data"]["id"]);
            let path = format!("/campaigns/{id}/send");
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
                for name in [
                    "list-id",
                    "list-unsubscribe",
                    "list-unsubscribe-post",
                    "precedence",
                    "auto-submitted",
                    "feedback-id",
                ] {
                    assert!(signed.contains(&name), "{name} in {signed:?}");
                }
            }
            let source = if is_list { "campaign" } else { "transactional" };
            let sender = &post.app.project_id()[24..];
            expected.extend([
                "Precedence: bulk".to_owned(),
                "X-Auto-Response-Suppress: OOF, AutoReply".to_owned(),
                "Auto-Submitted: auto-generated".to_owned(),
                format!("Feedback-ID: {id}:{}:{source}:{sender}", kind.to_lowercase()),
                "MIME-Version: 1.0".to_owned(),
            ]);
            assert_eq!(frame(&post, &email, &received), expected, "{kind} over {base}");
            let parsed = parsed(&received);
            let html = text(&part(&parsed["part"], "text/html").expect("HTML")["text"]);
            assert_eq!(html.contains("/unsubscribe/"), kind == "MARKETING", "{kind}: {html}");
        }
    }
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
