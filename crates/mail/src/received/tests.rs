use proptest::prelude::*;

use super::{MAX_BODY, Received, attachment};

const MAIL: &str = "From: =?utf-8?Q?Ada_M=C3=BCller?= <Ada@Example.com>\r\nTo: help@shop.test\r\n\
    Subject: =?utf-8?Q?Gr=C3=BC=C3=9Fe?=\r\nMessage-ID: <1@example.com>\r\nMIME-Version: 1.0\r\n\
    Content-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\nContent-Type: multipart/alternative; boundary=y\r\n\r\n\
    --y\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nHello\r\n--y\r\nContent-Type: text/html\r\n\r\n\
    <p>Hello<script>x()</script></p>\r\n--y--\r\n--x\r\nContent-Type: image/png; name=\"a.png\"\r\n\
    Content-Disposition: inline; filename=\"../b.png\"\r\nContent-ID: <logo>\r\nContent-Transfer-Encoding: base64\r\n\r\n\
    iVBORw==\r\n--x\r\nContent-Type: message/rfc822\r\n\r\nSubject: inner\r\n\r\ninner\r\n--x--\r\n";

#[test]
fn a_mail_is_taken_apart() {
    let mail = Received::parse(MAIL.as_bytes());
    assert_eq!(mail.from.as_deref(), Some("Ada@Example.com"));
    assert_eq!(mail.from_name.as_deref(), Some("Ada Müller"));
    assert_eq!(mail.from_header, "Ada Müller <Ada@Example.com>");
    assert_eq!((mail.subject.as_str(), mail.message_id.as_deref()), ("Grüße", Some("1@example.com")));
    assert_eq!(mail.text.as_deref(), Some("Hello"));
    assert_eq!(mail.html.as_deref(), Some("<p>Hello</p>"));
    let [image, inner] = &mail.attachments[..] else { panic!("{:?}", mail.attachments) };
    assert_eq!((image.filename.as_deref(), image.content_type.as_str()), (Some("b.png"), "image/png"));
    assert_eq!((image.size, image.content_id.as_deref(), image.is_inline), (4, Some("logo"), true));
    assert_eq!((inner.content_type.as_str(), inner.is_inline), ("message/rfc822", false));
    let (found, bytes) = attachment(MAIL.as_bytes(), 0).unwrap();
    assert_eq!((&found, bytes.as_slice()), (image, &b"\x89PNG"[..]));
    assert_eq!(attachment(MAIL.as_bytes(), 2), None);
}

/// What DMARC is asked about is what is shown, wherever else an address stands in the field.
#[test]
fn the_sender_is_the_one_that_dmarc_judges() {
    for field in [
        "\"<ceo@victim.test>\" <m@attacker.test>",
        "\"Ceo <ceo@victim.test>\" <m@attacker.test>",
        "(<ceo@victim.test>) m@attacker.test",
        "m@attacker.test (<ceo@victim.test>)",
        "(ceo@victim.test) m@attacker.test",
        "\"x\\\" <ceo@victim.test>\" <m@attacker.test>",
    ] {
        let mail = Received::parse(format!("From: {field}\r\n\r\nHi\r\n").as_bytes());
        assert_eq!((mail.from.as_deref(), mail.has_one_author), (Some("m@attacker.test"), true), "{field}");
    }
    for field in ["a@victim.test, m@attacker.test", "nobody", ""] {
        let mail = Received::parse(format!("From: {field}\r\n\r\nHi\r\n").as_bytes());
        assert!(!mail.has_one_author, "{field}");
    }
}

#[test]
fn html_alone_is_readable() {
    let mail = Received::parse(b"From: a@example.com\nContent-Type: text/html\n\n<p>Hi</p>\0");
    assert_eq!((mail.text.as_deref().map(str::trim), mail.html.as_deref()), (Some("Hi"), Some("<p>Hi</p>")));
    assert_eq!(Received::parse(b"").text, None);
}

#[test]
fn what_is_kept_is_bounded() {
    let long = "ü".repeat(1_000_000);
    let raw = format!("From: {long}\nSubject: {long}\n\n{long}");
    let mail = Received::parse(raw.as_bytes());
    assert!(mail.from_header.len() <= 998 && mail.subject.len() <= 998);
    assert_eq!(mail.text.unwrap().len(), MAX_BODY);
    let parts = "--x\n\na\n".repeat(10_000);
    let raw = format!("Content-Type: multipart/mixed; boundary=x\n\n{parts}");
    assert!(Received::parse(raw.as_bytes()).attachments.len() <= 100);
    // messages in messages are not looked into
    let nested = "Content-Type: message/rfc822\n\n".repeat(100_000);
    assert_eq!(Received::parse(nested.as_bytes()).attachments.len(), 1);
}

proptest! {
    #[test]
    fn any_bytes_are_taken(raw in prop::collection::vec(any::<u8>(), 0..2000), number in 0_usize..3) {
        Received::parse(&raw);
        attachment(&raw, number);
    }

    #[test]
    fn any_pieces_are_taken(
        pieces in prop::collection::vec(prop::sample::select(vec![
            "From: ", "<", ">", "a@b.example", "\r\n", "\n\n", "Content-Type: ", "multipart/mixed; boundary=x", "--x",
            "text/html", "<p>", "\0", "\u{fc}", "Content-Disposition: attachment; filename*=utf-8''%ff", "--", "=?",
        ]), 0..60)
    ) {
        let raw = pieces.concat();
        let mail = Received::parse(raw.as_bytes());
        for (number, listed) in mail.attachments.iter().enumerate() {
            let (found, content) = attachment(raw.as_bytes(), number).unwrap();
            prop_assert_eq!(&found, listed);
            prop_assert_eq!(content.len(), listed.size);
        }
    }
}
