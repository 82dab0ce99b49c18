use proptest::prelude::*;
use serde_json::{Value, json};

use super::{FIXTURES, at, fixture};
use crate::sns::{Envelope, Hosts, Notification, certificate_url, subscribe_url, verify};

/// Whatever is posted, everything can be asked of it.
fn take(body: &[u8]) {
    if let Ok(envelope) = Envelope::parse(body) {
        let _ = certificate_url(&envelope, &Hosts::Amazon);
        let _ = subscribe_url(&envelope, &Hosts::Amazon);
        let _ = verify(&envelope, include_bytes!("../fixtures/openssl.pem"), at("2030-01-01"));
        let _ = Notification::parse(&envelope.message);
        assert!(!envelope.message_id.is_empty() && !envelope.message_id.contains('\n'));
    }
    if let Ok(Notification::Mail(news)) =
        std::str::from_utf8(body).map_or(Ok(Notification::Validation), Notification::parse)
    {
        assert!(!news.mail.provider_id.is_empty() && news.mail.provider_id.len() <= 256);
        assert!(news.mail.headers.len() <= 200 && news.mail.destination.len() <= 100);
    }
}

/// The places of all values in a document, as JSON pointers (RFC 6901).
fn places(value: &Value, here: &str, out: &mut Vec<String>) {
    out.push(here.to_owned());
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                places(value, &format!("{here}/{}", name.replace('~', "~0").replace('/', "~1")), out);
            }
        }
        Value::Array(values) => {
            for (nth, value) in values.iter().enumerate() {
                places(value, &format!("{here}/{nth}"), out);
            }
        }
        _ => {}
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        "[<>@;:, a-z0-9\r\n\u{0}-]{0,40}".prop_map(Value::from),
        "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:. Z+-]{0,20}".prop_map(Value::from),
        "https://sns[.]us-east-1[.]amazonaws[.]com[ -~]{0,20}".prop_map(Value::from),
        Just(json!("x".repeat(10_000))),
    ];
    leaf.prop_recursive(3, 20, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((".{0,5}", inner), 0..5).prop_map(|fields| fields.into_iter().collect()),
        ]
    })
}

proptest! {
    #[test]
    fn any_bytes_are_taken(bytes in any::<Vec<u8>>()) {
        take(&bytes);
    }

    #[test]
    fn any_text_is_taken(text in any::<String>()) {
        let _ = Notification::parse(&text);
        take(text.as_bytes());
    }

    #[test]
    fn any_json_is_taken(value in any_json(), name in "Send|Bounce|Open|Received|Click") {
        take(value.to_string().as_bytes());
        let news = json!({"eventType": name, "mail": value, "bounce": value, "open": value, "click": value, "receipt": value});
        take(news.to_string().as_bytes());
    }

    #[test]
    fn a_changed_value_is_taken(
        of in prop::sample::select(FIXTURES),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any_json()), 1..4),
    ) {
        let mut document: Value = serde_json::from_str(of.1).unwrap();
        for (index, value) in changes {
            let mut all = Vec::new();
            places(&document, "", &mut all);
            *document.pointer_mut(&all[index.index(all.len())]).unwrap() = value;
        }
        take(document.to_string().as_bytes());
    }

    #[test]
    fn changed_bytes_are_taken(
        of in prop::sample::select(FIXTURES),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        end in any::<prop::sample::Index>(),
    ) {
        let mut body = of.1.as_bytes().to_vec();
        for (index, byte) in changes {
            let at = index.index(body.len());
            body[at] = byte;
        }
        take(&body);
        take(&body[..end.index(body.len())]);
    }

    #[test]
    fn no_other_message_has_the_same_signature(
        change in any_json(),
        field in prop::sample::select(vec!["Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"]),
    ) {
        let mut document: Value = serde_json::from_str(fixture("openssl_notification_2")).unwrap();
        prop_assume!(document[field] != change);
        document[field] = change;
        if let Ok(envelope) = Envelope::parse(document.to_string().as_bytes()) {
            let verified = verify(&envelope, include_bytes!("../fixtures/openssl.pem"), at("2030-01-01"));
            prop_assert!(verified.is_err());
        }
    }

    #[test]
    fn any_certificate_is_taken(bytes in any::<Vec<u8>>(), at_byte in any::<prop::sample::Index>(), byte: u8) {
        let envelope = Envelope::parse(fixture("openssl_notification_2").as_bytes()).unwrap();
        let now = at("2030-01-01");
        let _ = verify(&envelope, &bytes, now);
        let mut pem = include_bytes!("../fixtures/openssl.pem").to_vec();
        let index = at_byte.index(pem.len());
        pem[index] = byte;
        let _ = verify(&envelope, &pem, now);
    }

    #[test]
    fn only_addresses_of_sns_are_given_out(text in "(https?:)?[/\\\\]{0,2}[ -~]{0,12}(sns|x)[.@:/][ -~]{0,12}[.]amazonaws[.](com|com[.]cn|eu)[ -~]{0,6}([.]pem)?") {
        let mut envelope = Envelope::parse(fixture("envelope_notification").as_bytes()).unwrap();
        envelope.signing_cert_url = text;
        if let Ok(url) = certificate_url(&envelope, &Hosts::Amazon) {
            let host = url.host_str().unwrap();
            prop_assert!(url.as_str().starts_with("https://sns."));
            prop_assert!(host.ends_with(".amazonaws.com") || host.ends_with(".amazonaws.com.cn") || host.ends_with(".amazonaws.eu"));
            prop_assert_eq!(url.as_str(), envelope.signing_cert_url);
        }
    }
}
