//! MIME, read back with a parser that is not the writer's.

use std::sync::Arc;

use mail_parser::{HeaderForm, Message as Parsed, MessageParser, MimeHeaders, PartType};
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

#[test]
fn parts_nest_as_the_reference_says() {
    let file = attachment("a.pdf", "application/pdf", None);
    let image = attachment("b.png", "image/png", Some("logo@x"));
    for (attachments, expected) in [
        (vec![], "alternative(text/plain,text/html)"),
        (vec![file.clone()], "mixed(alternative(text/plain,text/html),application/pdf)"),
        (vec![image.clone()], "related(alternative(text/plain,text/html),image/png)"),
        (
            vec![file.clone(), image.clone(), file.clone()],
            "mixed(related(alternative(text/plain,text/html),image/png),application/pdf,application/pdf)",
        ),
        // Inline, but nothing can refer to it: listed.
        (
            vec![Attachment { content_id: None, ..image.clone() }],
            "mixed(alternative(text/plain,text/html),image/png)",
        ),
    ] {
        let raw = message("Hi", &[], &attachments).to_mime();
        assert_sendable(&raw);
        let parsed = MessageParser::default().parse(&raw).unwrap();
        assert_eq!(shape(&parsed, 0), expected);
        let bytes = b"\0\r\n.\nbytes\xff";
        assert_eq!(parsed.attachments().filter(|part| part.contents() == bytes).count(), attachments.len());
    }
}

#[test]
fn files_keep_their_names_types_and_bytes() {
    let long = format!("{}.txt", "Jahresabschlu\u{df} ".repeat(15));
    let mut files = vec![
        attachment("plain.txt", "text/plain; charset=iso-8859-1", None),
        attachment("na\"me\\.bin", "not a type", None),
        attachment(&long, "message/rfc822", None),
        attachment("a\r\nX-Evil: 1.txt", "text/plain\r\nX-Evil: 1", None),
        attachment("", "multipart/mixed", None),
        attachment("logo.png", "image/png", Some("l\u{f6}go>\r\n@x")),
    ];
    files[0].content = Arc::from(&b"bare\nlf \r and cr"[..]);
    let raw = message("Hi", &[], &files).to_mime();
    assert_sendable(&raw);
    assert!(!header_lines(&raw).iter().any(|line| line.starts_with("X-Evil")));
    assert!(!String::from_utf8(raw.clone()).unwrap().contains("\r\nX-Evil"));
    let parsed = MessageParser::default().parse(&raw).unwrap();
    let parts: Vec<_> = parsed.parts.iter().filter(|part| part.content_disposition().is_some()).collect();
    let names: Vec<_> = parts.iter().map(|part| part.attachment_name().unwrap_or_default()).collect();
    // Inline parts come first, in `related`.
    assert_eq!(names, ["logo.png", "plain.txt", "na\"me\\.bin", &long, "a X-Evil: 1.txt", ""]);
    let types: Vec<_> = parts.iter().map(|part| part.content_type().unwrap()).collect();
    let types: Vec<_> = types.iter().map(|t| format!("{}/{}", t.ctype(), t.subtype().unwrap())).collect();
    let any = "application/octet-stream";
    assert_eq!(types, ["image/png", "text/plain", any, any, any, any]);
    assert_eq!(parts[0].content_id(), Some("lgo@x"));
    assert!(parts[0].content_disposition().unwrap().is_inline());
    assert!(parts[1].content_disposition().unwrap().is_attachment());
    assert!(parts.iter().all(|part| part.content_transfer_encoding() == Some("base64")));
}

#[test]
fn a_media_type_is_one_or_it_fits_everything() {
    for (given, written) in [
        ("text/plain; name=\"x y;\\\" z\"", "text/plain"),
        ("text/plain; charset=utf-8 ; format=flowed", "text/plain"),
        ("text/plain; name=\"x", "application/octet-stream"),
        ("text/plain;;x", "application/octet-stream"),
        ("text/plain;", "application/octet-stream"),
        ("text/plain; x", "application/octet-stream"),
        ("text/plain; name=x y", "application/octet-stream"),
        ("text/plain; name=\"x\" y", "application/octet-stream"),
    ] {
        let raw = message("Hi", &[], &[attachment("a", given, None)]).to_mime();
        assert_sendable(&raw);
        let parsed = MessageParser::default().parse(&raw).unwrap();
        let kind = parsed.attachment(0).unwrap().content_type().unwrap();
        assert_eq!(format!("{}/{}", kind.ctype(), kind.subtype().unwrap()), written, "{given}");
    }
}

#[test]
fn a_file_name_that_looks_encoded_is_not_decoded() {
    let long = "=?utf-8?Q?=41?= ".repeat(10);
    for name in ["=?utf-8?B?ZXZpbC5leGU=?=", "a =?x?= \"b\" % ' *.txt", &long] {
        let raw = message("Hi", &[], &[attachment(name, "text/plain", None)]).to_mime();
        assert_sendable(&raw);
        let raw = String::from_utf8(raw).unwrap();
        let written = raw.split("Content-Disposition:").nth(1).unwrap().split("\r\n\r\n").next().unwrap();
        assert!(!written.contains("=?"), "{written}");
        let parsed = MessageParser::default().parse(raw.as_bytes()).unwrap();
        assert_eq!(parsed.attachment(0).unwrap().attachment_name(), Some(name.trim()), "{written}");
    }
}

#[test]
fn text_files_in_ascii_are_not_hidden_in_base64() {
    let long = format!("{}\n", "word ".repeat(400));
    for (content_type, content, encoding) in [
        ("text/plain", "one\r\ntwo\r\n", "7bit"),
        ("text/csv; charset=us-ascii", "a,b\r\n1,2", "7bit"),
        ("text/plain", "one\ntwo\n", "quoted-printable"),
        ("text/plain", &long, "quoted-printable"),
        ("text/plain", "From here\r\n.\r\n..\r\ntrailing \t\r\n\r\n", "7bit"),
        ("text/plain", "a\rb", "base64"),
        ("text/plain", "a\0b", "base64"),
        ("text/plain", "\u{fc}", "base64"),
        ("application/json", "{}", "base64"),
    ] {
        let file = Attachment { content: content.as_bytes().into(), ..attachment("a", content_type, None) };
        let files = [file.clone(), file];
        let raw = message("Hi", &[], &files).to_mime();
        assert_sendable(&raw);
        let parsed = MessageParser::default().parse(&raw).unwrap();
        for part in parsed.attachments() {
            assert_eq!(part.content_transfer_encoding(), Some(encoding), "{content:?}");
            assert_eq!(part.contents(), content.as_bytes(), "{content:?}");
            let kind = part.content_type().unwrap();
            assert_eq!(
                format!("{}/{}", kind.ctype(), kind.subtype().unwrap()),
                content_type.split(';').next().unwrap()
            );
        }
        assert_eq!(parsed.attachments().count(), 2);
    }
}

#[test]
fn bodies_keep_their_text_in_any_encoding() {
    for html in [
        "short",
        "\u{fc}ber \u{20ac} \u{1f600}",
        "\u{65e5}\u{672c}\u{8a9e}",
        &"x".repeat(5000),
        &"\u{65e5}".repeat(5000),
        ".\r\n..\r\nFrom here\n\n",
        "cr\rlf\ncrlf\r\nend  \nnext\t\n",
        "--=_not a boundary--",
        "",
    ] {
        let raw = Message { html, text: Some(html), ..message("Hi", &[], &[]) }.to_mime();
        assert_sendable(&raw);
        let parsed = MessageParser::default().parse(&raw).unwrap();
        let wanted = html.replace("\r\n", "\n").replace('\r', "\n");
        for part in [parsed.html_part(0).unwrap(), parsed.text_part(0).unwrap()] {
            assert_eq!(part.text_contents().unwrap().replace("\r\n", "\n"), wanted);
        }
    }
}

#[test]
fn subjects_and_names_are_encoded() {
    for text in [
        "plain",
        "Gr\u{fc}\u{df}e",
        "\u{1f600} sale \u{2014} 50 %",
        "word ".repeat(150).trim_end(),
        &"\u{65e5}\u{672c}".repeat(300),
        &"x".repeat(998),
        &"x".repeat(3000),
        &format!("a{}b", " ".repeat(2000)),
        "quote \" backslash \\ comma, semi; <angle>",
        "ends with umlaut \u{fc}",
    ] {
        let raw = Message { from: mailbox(text, "shop@example.com"), ..message(text, &[], &[]) }.to_mime();
        assert_sendable(&raw);
        let parsed = MessageParser::default().parse(&raw).unwrap();
        assert_eq!(parsed.subject(), Some(text));
        let from = parsed.from().unwrap().first().unwrap();
        let squeezed = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let name = from.name().unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!((name, from.address()), (squeezed, Some("shop@example.com")), "{text}");
    }
}

#[test]
fn an_empty_name_is_none() {
    let raw = Message { from: mailbox(" \r\n", "shop@example.com"), ..message("", &[], &[]) }.to_mime();
    let lines = header_lines(&raw);
    assert!(lines.contains(&"From: <shop@example.com>".to_owned()), "{lines:?}");
    assert!(lines.contains(&"Subject: ".to_owned()), "{lines:?}");
}

#[test]
fn custom_headers_override_in_any_casing_and_keep_theirs() {
    let custom = headers(&[
        ("REPLY-to", "help@example.com"),
        ("subject", "not this"),
        ("X-One", "1"),
        ("x-one", "2"),
        ("List-Unsubscribe", "<https://example.com/u/1>, <mailto:u@example.com>"),
        ("Message-id", "<own@example.com>"),
        ("date", "Thu, 1 Jan 2026 00:00:00 +0000"),
        ("TO", "List <list@example.com>"),
    ]);
    let raw =
        Message { reply_to: Some(mailbox("R", "r@example.com")), ..message("Hi", &custom, &[]) }.to_mime();
    assert_sendable(&raw);
    assert_eq!(
        header_lines(&raw)[..9],
        [
            "Date: Fri, 2 Jan 2026 03:00:01 +0000",
            "From: \"Shop\" <shop@example.com>",
            "To: \"Ann\" <ann@example.org>",
            "Subject: Hi",
            "Message-ID: <0192.abc@example.com>",
            "REPLY-to: <help@example.com>",
            "x-one: 2",
            "List-Unsubscribe: <https://example.com/u/1>, <mailto:u@example.com>",
            "MIME-Version: 1.0",
        ],
        "what the service decides cannot be overridden"
    );
}

#[test]
fn custom_headers_cannot_touch_the_author_or_the_structure() {
    let custom = headers(&[
        ("from", "boss@bank.example"),
        ("Bcc", "x@example.com"),
        ("return-path", "<>"),
        ("Content-type", "text/plain"),
        ("content-transfer-encoding", "8bit"),
        ("MIME-version", "2.0"),
        ("", "x"),
        ("Bad Name", "x"),
        ("Bad:Name", "x"),
        ("Bad\r\nName", "x"),
        ("N\u{e4}me", "x"),
    ]);
    assert_eq!(message("Hi", &custom, &[]).to_mime(), message("Hi", &[], &[]).to_mime());
}

/// The header section up to the content type, as it is on the wire.
fn head(message: &Message<'_>) -> String {
    let raw = message.to_mime();
    assert_sendable(&raw);
    let text = String::from_utf8(raw).unwrap();
    text[..text.find("Content-Type: ").unwrap()].to_owned()
}

#[test]
fn headers_are_these_bytes() {
    let custom = headers(&[
        (
            "Reply-To",
            "M\u{fc}ller <Mueller@example.com>, \"Doe, \\\"J\\\"\" <doe@example.com>, plain@example.com (Plain)",
        ),
        ("Disposition-Notification-To", "J\u{fc}rgen <j@example.com>"),
        ("Errors-To", "e@b\u{fc}cher.example"),
        ("X-Note", "Gr\u{f6}\u{df}e: 40"),
        ("X-Literal", "=?utf-8?B?SGk=?="),
        ("In-Reply-To", "<=?utf-8?Q?x?=@example.com>"),
        ("Mail-Followup-To", "no address"),
    ]);
    let sent = Message {
        from: mailbox("=?utf-8?Q?fake?=", "shop@example.com"),
        to: mailbox("Ann \"A\" Smith", "ann@example.org"),
        ..message("=?utf-8?B?SGk=?= literally", &custom, &[])
    };
    assert_eq!(
        head(&sent),
        "Date: Fri, 2 Jan 2026 03:00:01 +0000\r\n\
         From: =?utf-8?Q?=3D=3Futf-8=3FQ=3Ffake=3F=3D?= <shop@example.com>\r\n\
         To: \"Ann \\\"A\\\" Smith\" <ann@example.org>\r\n\
         Subject: =?utf-8?Q?=3D=3Futf-8=3FB=3FSGk=3D=3F=3D_literally?=\r\n\
         Message-ID: <0192.abc@example.com>\r\n\
         Reply-To: =?utf-8?Q?M=C3=BCller?= <Mueller@example.com>, \"Doe, \\\"J\\\"\"\r\n <doe@example.com>, \"Plain\" <plain@example.com>\r\n\
         Disposition-Notification-To: =?utf-8?Q?J=C3=BCrgen?= <j@example.com>\r\n\
         Errors-To: <e@xn--bcher-kva.example>\r\n\
         X-Note: =?utf-8?Q?Gr=C3=B6=C3=9Fe:_40?=\r\n\
         X-Literal: =?utf-8?Q?=3D=3Futf-8=3FB=3FSGk=3D=3F=3D?=\r\n\
         In-Reply-To: <=?utf-8?Q?x?=@example.com>\r\n\
         Mail-Followup-To: no address\r\n\
         MIME-Version: 1.0\r\n"
    );
    let parsed = sent.to_mime();
    let parsed = MessageParser::default().parse(&parsed).unwrap();
    assert_eq!(parsed.subject(), Some("=?utf-8?B?SGk=?= literally"));
    assert_eq!(parsed.from().unwrap().first().unwrap().name(), Some("=?utf-8?Q?fake?="));
    let replies: Vec<_> =
        parsed.reply_to().unwrap().iter().map(|a| (a.name(), a.address().unwrap())).collect();
    let expected = [
        (Some("M\u{fc}ller"), "Mueller@example.com"),
        (Some("Doe, \"J\""), "doe@example.com"),
        (Some("Plain"), "plain@example.com"),
    ];
    assert_eq!(replies, expected);
}

#[test]
fn long_names_and_subjects_in_ascii_are_folded_and_not_encoded() {
    let long = "Quite a long name of a shop ".repeat(6);
    let sent = Message { from: mailbox(&long, "shop@example.com"), ..message(&long, &[], &[]) };
    let head = head(&sent);
    assert!(!head.contains("=?"), "{head}");
    assert!(head.split("\r\n").all(|line| line.len() <= 78), "{head}");
    let raw = sent.to_mime();
    let parsed = MessageParser::default().parse(&raw).unwrap();
    assert_eq!(parsed.subject(), Some(long.trim()));
    assert_eq!(parsed.from().unwrap().first().unwrap().name(), Some(long.trim()));
}

#[test]
fn nothing_injects_a_line() {
    let evil = "x\r\nX-Evil: 1\r\n\r\nbody\n\nX-Evil: 2\rX-Evil: 3\0";
    let custom = headers(&[("X-Custom", evil), ("X-Evil2\r\nX-Evil", evil)]);
    let files = [Attachment { content_id: Some(evil.into()), ..attachment(evil, evil, Some("x")) }];
    let raw = Message {
        from: mailbox(evil, evil),
        to: mailbox(evil, evil),
        reply_to: Some(mailbox(evil, evil)),
        message_id: evil,
        ..message(evil, &custom, &files)
    }
    .to_mime();
    assert_sendable(&raw);
    assert!(!String::from_utf8(raw.clone()).unwrap().contains("\nX-Evil"));
    let names: Vec<_> =
        header_lines(&raw).iter().map(|line| line.split(':').next().unwrap().to_owned()).collect();
    assert_eq!(
        names,
        [
            "Date",
            "From",
            "To",
            "Reply-To",
            "Subject",
            "Message-ID",
            "X-Custom",
            "MIME-Version",
            "Content-Type"
        ]
    );
    assert!(header_lines(&raw).contains(&"Subject: x X-Evil: 1 body X-Evil: 2 X-Evil: 3".to_owned()));
}

#[test]
fn long_values_stay_in_their_line_or_are_folded() {
    let link = format!("<https://example.com/{}>", "u".repeat(950));
    let custom = headers(&[
        ("List-Unsubscribe", &link),
        ("X-Long", &"y".repeat(2000)),
        ("X-Json", &format!("{{{}}}", "\"key\": [1, 2], ".repeat(60))),
        (&"N".repeat(255), &"z".repeat(900)),
    ]);
    let raw = message("Hi", &custom, &[]).to_mime();
    assert_sendable(&raw);
    let lines = header_lines(&raw);
    assert!(
        lines.iter().any(|line| line.starts_with("List-Unsubscribe: ") && line.ends_with(&link)),
        "{lines:?}"
    );
    let parsed = MessageParser::default().parse(&raw).unwrap();
    let value = parsed.header_as("X-Long", HeaderForm::Text).pop().unwrap();
    assert_eq!(value.as_text().unwrap(), "y".repeat(2000));
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
