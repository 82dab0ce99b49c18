//! The parts of a message, and the texts in them.

use mailwright_testkit::json;
use mailwright_tests::{create_template, text};

use super::post::{Post, nesting, parsed, part, values};

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
    survives(Post::start().await, false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_text_survives_in_a_chunk() {
    survives(Post::chunking().await, true).await;
}

/// Sends a text with all that may be harmed on the way.
async fn survives(post: Post, by_bdat: bool) {
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
    assert_eq!(received.chunks > 0, by_bdat);
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
