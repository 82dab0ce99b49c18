//! The mails that reports come in.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::{Member, gzip, report, zip};
use crate::dmarc_report::{DmarcReportError, read};

const NAME: &str = "google.com!acme.example!1700000000!1700086399.xml.gz";

/// A mail with a text and this file.
fn mail(subject: &str, media: &str, name: &str, file: &[u8]) -> Vec<u8> {
    let file = STANDARD.encode(file);
    format!(
        "From: noreply-dmarc-support@google.com\r\nTo: d@acme.example\r\nSubject: {subject}\r\nMIME-Version: 1.0\r\n\
         Content-Type: multipart/mixed; boundary=\"b\"\r\n\r\n--b\r\nContent-Type: text/plain\r\n\r\nThis is a \
         report.\r\n--b\r\nContent-Type: {media}; name=\"{name}\"\r\nContent-Disposition: attachment;\r\n \
         filename=\"{name}\"\r\nContent-Transfer-Encoding: base64\r\n\r\n{file}\r\n--b--\r\n"
    )
    .into_bytes()
}

#[test]
fn reports_come_as_attachments_of_many_types() {
    let xml = report("");
    let packed = gzip(xml.as_bytes());
    let zipped = zip(&[Member::new("a.xml", xml.as_bytes())]);
    for (media, name, file) in [
        ("application/gzip", NAME, &packed[..]),
        ("application/x-gzip", NAME, &packed),
        ("application/zip", "google.com!acme.example!1!2.zip", &zipped),
        ("application/x-zip-compressed", "report.zip", &zipped),
        ("application/octet-stream", "report.xml.gz", &packed),
        ("application/octet-stream", "report", &packed),
        // types and names mixed up
        ("application/zip", "report.zip", &packed),
        ("application/gzip", "report.gz", &zipped),
        ("image/x-unknown", "report.xml.gz", &packed),
        ("text/xml", "report.xml", xml.as_bytes()),
        ("application/xml", "report", xml.as_bytes()),
    ] {
        let raw = mail("Report domain: acme.example", media, name, file);
        assert_eq!(read(&raw).unwrap().unwrap().report_id, "1", "{media} {name}");
    }
}

#[test]
fn reports_come_as_the_whole_body() {
    let xml = report("");
    let packed = STANDARD.encode(gzip(xml.as_bytes()));
    for (media, encoding, body) in [
        ("application/gzip", "base64", &packed),
        ("text/xml; charset=utf-8", "8bit", &xml),
        ("text/plain", "7bit", &xml),
    ] {
        let raw = format!(
            "Subject: x\r\nContent-Type: {media}\r\nContent-Transfer-Encoding: {encoding}\r\n\r\n{body}\r\n"
        );
        assert_eq!(read(raw.as_bytes()).unwrap().unwrap().report_id, "1", "{media}");
    }
}

#[test]
fn other_mail_is_no_report() {
    let other = gzip(b"<html><body/></html>");
    let json = gzip(b"{\"organization-name\":\"Org\"}");
    let broken = &other[..10];
    let tls = "Report Domain: acme.example Submitter: google.com Report-ID: <1>";
    for raw in [
        b"".to_vec(),
        b"Subject: Report Domain: acme.example\r\n\r\nWhat is this?\r\n".to_vec(),
        mail("Photos", "application/zip", "photos.zip", b"PK\x03\x04broken"),
        mail("Photos", "application/gzip", "photos.tar.gz", broken),
        mail("A page", "application/gzip", "page.html.gz", &other),
        mail("Report Domain: acme.example", "text/xml", "feed.xml", b"<rss><channel/></rss>"),
        mail(tls, "application/tlsrpt+gzip", "google.com!acme.example!1!2!001.json.gz", &json),
        mail(tls, "application/gzip", "google.com!acme.example!1!2!001.json.gz", &json),
        mail(tls, "application/gzip", "report.gz", &json),
    ] {
        assert_eq!(read(&raw), None, "{}", String::from_utf8_lossy(&raw));
    }
}

#[test]
fn a_report_that_cannot_be_read_is_told_from_other_mail() {
    let xml = report("");
    let packed = gzip(xml.as_bytes());
    let cut = &packed[..packed.len() - 20];
    let half = gzip(&xml.as_bytes()[..xml.len() / 2]);
    let nested = gzip(&packed);
    for (subject, name, file, wanted) in [
        ("Report domain: acme.example", "report.gz", cut, DmarcReportError::Archive),
        ("x", NAME, cut, DmarcReportError::Archive),
        ("x", NAME, &nested, DmarcReportError::Nested),
        ("x", "report.gz", &gzip(b"<feedback></feedback>"), DmarcReportError::Missing("begin")),
    ] {
        assert_eq!(read(&mail(subject, "application/gzip", name, file)), Some(Err(wanted)), "{name}");
    }
    let found = read(&mail("x", "application/gzip", "report.gz", &half));
    assert!(matches!(found, Some(Err(DmarcReportError::Malformed { .. }))), "{found:?}");
}

#[test]
fn the_part_that_can_be_read_counts() {
    let xml = report("");
    let part = |file: &[u8]| {
        format!(
            "--b\r\nContent-Type: application/gzip; name=\"{NAME}\"\r\nContent-Transfer-Encoding: \
             base64\r\n\r\n{}\r\n",
            STANDARD.encode(file)
        )
    };
    let mail = |parts: &str| format!("Content-Type: multipart/mixed; boundary=b\r\n\r\n{parts}--b--\r\n");
    let good = part(&gzip(xml.as_bytes()));
    let bad = part(b"\x1f\x8b");
    assert!(matches!(read(mail(&format!("{bad}{good}")).as_bytes()), Some(Ok(_))));
    // no more than four are tried
    let late = format!("{}{good}", bad.repeat(4));
    assert_eq!(read(mail(&late).as_bytes()), Some(Err(DmarcReportError::Archive)));
}
