//! The parts of a message: bodies and files.

use std::sync::Arc;

use mail_parser::{MessageParser, MimeHeaders};
use mailwright_mail::message::{Attachment, Message};

use super::{assert_sendable, attachment, header_lines, message, shape};

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
fn a_report_has_its_text_and_its_file() {
    let files = [attachment("a!b!1!2.json.gz", "application/tlsrpt+gzip", None)];
    let raw = Message { report: Some("tlsrpt"), ..message("Report", &[], &files) }.to_mime();
    assert_sendable(&raw);
    let parsed = MessageParser::default().parse(&raw).unwrap();
    assert_eq!(shape(&parsed, 0), "report(text/plain,application/tlsrpt+gzip)");
    let content_type = parsed.content_type().unwrap();
    assert_eq!(content_type.attribute("report-type"), Some("tlsrpt"));
    let file = parsed.attachments().find(|part| part.attachment_name() == Some("a!b!1!2.json.gz")).unwrap();
    assert_eq!(file.contents(), b"\0\r\n.\nbytes\xff");
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
