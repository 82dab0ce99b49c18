//! MIME, read back with a parser that is not the writer's.

mod header;
mod parts;

use std::sync::Arc;

use mail_parser::{Message as Parsed, MessageParser, MimeHeaders, PartType};
use mailwright_core::time::Timestamp;
use mailwright_mail::message::{Attachment, Mailbox, Message};
use proptest::prelude::*;

fn mailbox(name: &str, address: &str) -> Mailbox {
    Mailbox { name: Some(name.into()), address: address.into() }
}

fn message<'a>(
    subject: &'a str,
    headers: &'a [(String, String)],
    attachments: &'a [Attachment],
) -> Message<'a> {
    Message {
        from: mailbox("Shop", "shop@example.com"),
        to: mailbox("Ann", "ann@example.org"),
        reply_to: None,
        subject,
        html: "<p>Hello, <a href=\"https://example.com/x?a=1&amp;b=2\">look</a></p>\n",
        text: None,
        headers,
        attachments,
        report: None,
        message_id: "0192.abc@example.com",
        date: Timestamp(1_767_322_801_999),
    }
}

fn attachment(filename: &str, content_type: &str, inline: Option<&str>) -> Attachment {
    Attachment {
        filename: filename.into(),
        content_type: content_type.into(),
        content: Arc::from(&b"\0\r\n.\nbytes\xff"[..]),
        content_id: inline.map(Into::into),
        inline: inline.is_some(),
    }
}

fn headers(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// The tree of parts, such as `mixed(alternative(text/plain,text/html),image/png)`.
fn shape(message: &Parsed<'_>, part: u32) -> String {
    let part = message.part(part).unwrap();
    let content_type = part.content_type().unwrap();
    match &part.body {
        PartType::Multipart(parts) => {
            let inner: Vec<_> = parts.iter().map(|part| shape(message, *part)).collect();
            format!("{}({})", content_type.subtype().unwrap(), inner.join(","))
        }
        _ => format!("{}/{}", content_type.ctype(), content_type.subtype().unwrap()),
    }
}

/// What holds for every message that is sent.
fn assert_sendable(raw: &[u8]) {
    assert!(raw.is_ascii(), "8-bit");
    assert!(!raw.contains(&0));
    for line in raw.split_inclusive(|byte| *byte == b'\n') {
        let text = line.strip_suffix(b"\n").unwrap_or(line);
        let text = text.strip_suffix(b"\r").unwrap_or_else(|| panic!("bare LF: {}", line.escape_ascii()));
        assert!(!text.contains(&b'\r'), "bare CR");
        assert!(text.len() <= 998, "{} bytes", text.len());
    }
}

/// The lines of the header section, unfolded.
fn header_lines(raw: &[u8]) -> Vec<String> {
    let text = std::str::from_utf8(raw).unwrap();
    let (head, _) = text.split_once("\r\n\r\n").unwrap();
    head.replace("\r\n ", " ").replace("\r\n\t", " ").split("\r\n").map(str::to_owned).collect()
}

#[test]
fn a_plain_message_reads_as_written() {
    let raw = message("Hi", &[], &[]).to_mime();
    assert_sendable(&raw);
    let text = String::from_utf8(raw.clone()).unwrap();
    assert!(
        text.starts_with(
            "Date: Fri, 2 Jan 2026 03:00:01 +0000\r\nFrom: \"Shop\" <shop@example.com>\r\nTo: \"Ann\" <ann@example.org>\r\n\
             Subject: Hi\r\nMessage-ID: <0192.abc@example.com>\r\nMIME-Version: 1.0\r\n\
             Content-Type: multipart/alternative; boundary="
        ),
        "{text}"
    );
    let parsed = MessageParser::default().parse(&raw).unwrap();
    assert_eq!(shape(&parsed, 0), "alternative(text/plain,text/html)");
    assert_eq!(
        parsed.text_part(0).unwrap().text_contents(),
        Some("Hello, look (https://example.com/x?a=1&b=2)")
    );
    assert_eq!(
        parsed.html_part(0).unwrap().text_contents().unwrap().trim_end(),
        "<p>Hello, <a href=\"https://example.com/x?a=1&amp;b=2\">look</a></p>"
    );
    assert_eq!(raw, message("Hi", &[], &[]).to_mime(), "the same message is the same bytes");
}

/// The header section up to the content type, as it is on the wire.
fn head(message: &Message<'_>) -> String {
    let raw = message.to_mime();
    assert_sendable(&raw);
    let text = String::from_utf8(raw).unwrap();
    text[..text.find("Content-Type: ").unwrap()].to_owned()
}

proptest! {
    #[test]
    fn any_message_is_sendable_and_keeps_its_texts(
        subject in any::<String>(),
        html in any::<String>(),
        name in any::<String>(),
        custom in prop::collection::vec((any::<String>(), any::<String>()), 0..4),
        filename in any::<String>(),
        content in prop::collection::vec(any::<u8>(), 0..300),
        content_type in any::<String>(),
        content_id in prop::option::of(any::<String>()),
        inline in any::<bool>(),
    ) {
        let files = [Attachment { filename, content_type, content: content.clone().into(), content_id, inline }];
        let raw = Message {
            html: &html,
            to: mailbox(&name, "ann@example.org"),
            ..message(&subject, &custom, &files)
        }
        .to_mime();
        assert_sendable(&raw);
        let parsed = MessageParser::default().parse(&raw).unwrap();
        prop_assert_eq!(parsed.attachment(0).unwrap().contents(), content);
        let lines = |text: &str| text.replace("\r\n", "\n").replace('\r', "\n").replace('\0', "");
        prop_assert_eq!(lines(parsed.html_part(0).unwrap().text_contents().unwrap()), lines(&html));
        prop_assert_eq!(parsed.to().unwrap().first().unwrap().address(), Some("ann@example.org"));
    }
}
