use std::time::Duration;

use serde_json::{Value, json};

use super::{at, envelope, fixture, json as fixture_json};
use crate::sns::{Envelope, EnvelopeError, Kind, MAX_MESSAGE, SignatureVersion};

fn parse(document: &Value) -> Result<Envelope, EnvelopeError> {
    Envelope::parse(document.to_string().as_bytes())
}

#[test]
fn a_notification_is_read() {
    let envelope = Envelope::parse(fixture("envelope_notification").as_bytes()).unwrap();
    assert_eq!(envelope.kind, Some(Kind::Notification));
    assert_eq!(envelope.type_name, "Notification");
    assert_eq!(envelope.message_id, "22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324");
    assert_eq!(envelope.topic_arn, "arn:aws:sns:eu-west-1:123456789012:mail");
    assert_eq!(envelope.subject.as_deref(), Some("Amazon SES Email Event Notification"));
    assert_eq!(envelope.message, fixture("bounce"));
    assert_eq!(envelope.timestamp, "2026-03-02T08:15:35.655Z");
    assert_eq!(envelope.published_at, at("2026-03-02T08:15:35.655Z"));
    assert_eq!(envelope.signature_version, SignatureVersion::One);
    assert_eq!(envelope.signature, "EXAMPLE");
    assert_eq!((envelope.subscribe_url.as_ref(), envelope.token.as_ref()), (None, None));
    assert_eq!(envelope.age(at("2026-03-02T09:15:35.655Z")), Duration::from_hours(1));
    assert_eq!(envelope.age(at("2026-03-01")), Duration::ZERO);
}

#[test]
fn confirmations_are_read() {
    for (name, kind) in [
        ("envelope_subscription", Kind::SubscriptionConfirmation),
        ("envelope_unsubscription", Kind::UnsubscribeConfirmation),
    ] {
        let envelope = Envelope::parse(fixture(name).as_bytes()).unwrap();
        assert_eq!(envelope.kind, Some(kind));
        assert!(envelope.token.unwrap().starts_with("2336412f37"));
        assert!(envelope.subscribe_url.unwrap().contains("Action=ConfirmSubscription"));
        assert!(envelope.message.contains(".\nTo "), "a message may have lines");
    }
}

#[test]
fn what_the_signature_does_not_cover_is_left_out() {
    let mut document = fixture_json("envelope_notification");
    document["SubscribeURL"] = json!("https://example.com/");
    document["Token"] = json!("x");
    let notification = envelope(&document);
    assert_eq!((notification.subscribe_url, notification.token), (None, None));
    let mut document = fixture_json("envelope_subscription");
    document["Subject"] = json!("x");
    assert_eq!(envelope(&document).subject, None);
}

#[test]
fn other_types_are_kept_by_name() {
    let mut document = fixture_json("envelope_notification");
    document["Type"] = json!("notification");
    let envelope = envelope(&document);
    assert_eq!((envelope.kind, envelope.type_name.as_str()), (None, "notification"));
}

#[test]
fn every_field_has_to_be_there() {
    for name in ["envelope_notification", "envelope_subscription", "envelope_unsubscription"] {
        let whole = fixture_json(name);
        for field in whole.as_object().unwrap().keys() {
            let is_needed = !matches!(field.as_str(), "Subject" | "UnsubscribeURL");
            for without in [None, Some(Value::Null), Some(json!(""))] {
                let mut document = whole.clone();
                match &without {
                    None => drop(document.as_object_mut().unwrap().remove(field)),
                    Some(value) => document[field] = value.clone(),
                }
                if field == "Message" && without == Some(json!("")) {
                    assert_eq!(parse(&document).unwrap().message, "");
                    continue;
                }
                match parse(&document) {
                    Ok(_) => assert!(!is_needed, "{field} as {without:?}"),
                    Err(EnvelopeError::Missing(named)) => assert_eq!(named, field),
                    Err(other) => panic!("{field} as {without:?}: {other}"),
                }
            }
        }
    }
}

#[test]
fn names_have_the_case_that_sns_writes() {
    let mut document = fixture_json("envelope_notification");
    let url = document.as_object_mut().unwrap().remove("SigningCertURL").unwrap();
    document["SigningCertUrl"] = url;
    assert_eq!(parse(&document), Err(EnvelopeError::Missing("SigningCertURL")));
}

#[test]
fn fields_are_texts() {
    let whole = fixture_json("envelope_subscription");
    for field in whole.as_object().unwrap().keys() {
        for value in [json!(1), json!(true), json!(["x"]), json!({"x": "y"})] {
            let mut document = whole.clone();
            document[field] = value;
            assert!(matches!(parse(&document), Err(EnvelopeError::Json(_))), "{document}");
        }
    }
}

#[test]
fn fields_are_bounded_and_on_one_line() {
    let whole = fixture_json("envelope_notification");
    for field in ["Type", "MessageId", "TopicArn", "Subject", "Timestamp", "Signature", "SigningCertURL"] {
        let mut document = whole.clone();
        document[field] = json!("x".repeat(5000));
        assert_eq!(parse(&document), Err(EnvelopeError::TooLong(field)));
        for odd in ["a\nMessageId\nb", "a\rb", "a\0b", "a\u{85}b"] {
            document[field] = json!(odd);
            assert_eq!(parse(&document), Err(EnvelopeError::Control(field)), "{odd:?}");
        }
    }
    let mut document = whole.clone();
    document["Message"] = json!("x".repeat(MAX_MESSAGE));
    assert_eq!(parse(&document).unwrap().message.len(), MAX_MESSAGE);
    document["Message"] = json!("x".repeat(MAX_MESSAGE + 1));
    assert_eq!(parse(&document), Err(EnvelopeError::TooLong("Message")));
}

#[test]
fn what_cannot_be_read_is_refused() {
    let mut document = fixture_json("envelope_notification");
    document["Timestamp"] = json!("yesterday");
    assert_eq!(parse(&document), Err(EnvelopeError::Timestamp));
    document["Timestamp"] = json!("-009999-01-01T00:00:00Z");
    assert_eq!(parse(&document), Err(EnvelopeError::Timestamp));
    let mut document = fixture_json("envelope_notification");
    for version in ["0", "3", "01", " 1", "one"] {
        document["SignatureVersion"] = json!(version);
        assert_eq!(parse(&document), Err(EnvelopeError::SignatureVersion));
    }
    let twice = fixture("envelope_notification").replacen('{', "{\"MessageId\": \"x\",", 1);
    let deep = format!("{{\"x\": {}", "[".repeat(100_000));
    let list = json!(["Notification", "x", "x", "x", "x", "2026-03-02", "1", "x", "x", "x", "x"]).to_string();
    for body in [&b""[..], b"{", b"null", b"[]", b"\"x\"", b"{} {}", b"{\"Type\": \"\xff\"}"]
        .into_iter()
        .chain([twice.as_bytes(), deep.as_bytes(), list.as_bytes()])
    {
        let shown = body[..body.len().min(40)].escape_ascii();
        match Envelope::parse(body) {
            Err(EnvelopeError::Json(_)) => {}
            other => panic!("{shown}: {other:?}"),
        }
    }
    assert_eq!(Envelope::parse(b"{}"), Err(EnvelopeError::Missing("Type")));
}
