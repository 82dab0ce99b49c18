//! The fixtures have the shapes of Amazon's documentation, and of the messages that SES is known to send beyond it.
//! `openssl_*` were signed by OpenSSL with a key that nobody has any more; the other signatures are made here.

mod envelope;
mod events;
mod identities;
mod properties;
mod signature;
mod urls;

use mailwright_core::time::Timestamp;
use serde_json::Value;

use super::{Envelope, MailNews, Notification};

macro_rules! fixtures {
    ($($name:literal),+ $(,)?) => {
        const FIXTURES: &[(&str, &str)] = &[$(($name, include_str!(concat!("../fixtures/", $name, ".json")))),+];
    };
}

fixtures! {
    "bounce",
    "click",
    "complaint",
    "delivery",
    "delivery_delay",
    "envelope_notification",
    "envelope_subscription",
    "envelope_unsubscription",
    "identity_bounce",
    "identity_bounce_without_dsn",
    "identity_complaint",
    "identity_complaint_without_report",
    "identity_delivery",
    "identity_subscribed",
    "open",
    "openssl_notification_1",
    "openssl_notification_2",
    "openssl_subscription_1",
    "openssl_subscription_2",
    "received_base64",
    "received_s3",
    "received_text",
    "reject",
    "rendering_failure",
    "send",
    "subscription",
}

fn fixture(name: &str) -> &'static str {
    FIXTURES.iter().find(|(of, _)| *of == name).unwrap_or_else(|| panic!("no fixture {name}")).1
}

fn json(name: &str) -> Value {
    serde_json::from_str(fixture(name)).unwrap()
}

fn envelope(document: &Value) -> Envelope {
    Envelope::parse(document.to_string().as_bytes()).unwrap()
}

fn news_of(document: &Value) -> MailNews {
    match Notification::parse(&document.to_string()).unwrap() {
        Notification::Mail(news) => *news,
        other => panic!("{other:?}"),
    }
}

fn news(name: &str) -> MailNews {
    news_of(&json(name))
}

fn at(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}
