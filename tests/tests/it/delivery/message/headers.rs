//! The headers that a caller asks for, and what the signature holds of them.

use mailwright_testkit::json;
use mailwright_testkit::python::assert_forged;
use mailwright_tests::create_template;

use crate::delivery::{header, headers, txt_records};

use super::post::{Post, parsed, values};

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
async fn nothing_can_be_added_to_a_signed_message() {
    let post = Post::start().await;
    let (_, received) = post.deliver(json!({})).await;
    post.assert_signed(&received.data).await;
    let records = txt_records(&post.app).await;
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
