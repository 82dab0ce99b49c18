//! The header of a message.

use mail_parser::{HeaderForm, MessageParser};
use mailwright_mail::message::{Attachment, Message};

use super::{assert_sendable, attachment, head, header_lines, headers, mailbox, message};

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
