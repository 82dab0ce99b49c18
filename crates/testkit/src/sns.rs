//! A notification service that speaks like Amazon SNS: signs messages with a key of its own, under a certificate that it
//! serves.

use rcgen::{CertificateParams, KeyPair, PKCS_RSA_SHA256};
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use serde_json::{Value, json};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::receiver::{Call, Receiver, Reply};

/// The topic whose messages it signs.
pub const TOPIC: &str = "arn:aws:sns:eu-west-1:111122223333:mail";
/// Where it serves its certificate.
const CERTIFICATE: &str = "/SimpleNotificationService-test.pem";
/// A key for tests, which opens nothing (RSA, 2048 bits, PKCS #8): making one takes a second.
const KEY: &str = include_str!("sns_key.pem");

/// The service.
#[derive(Debug)]
pub struct NotificationService {
    receiver: Receiver,
    key: RsaKeyPair,
}

impl NotificationService {
    /// Starts it.
    pub async fn start() -> Self {
        let pair = KeyPair::from_pem_and_sign_algo(KEY, &PKCS_RSA_SHA256).unwrap();
        let key = RsaKeyPair::from_pkcs8(&pair.serialize_der()).unwrap();
        let params = CertificateParams::new(vec!["sns.test".to_owned()]).unwrap();
        let certificate = params.self_signed(&pair).unwrap().pem();
        let receiver = Receiver::start(move |call, _| {
            if call.target == CERTIFICATE {
                Reply::Status(200, certificate.clone())
            } else if call.target.contains("Action=ConfirmSubscription") {
                Reply::Status(200, "<ConfirmSubscriptionResponse/>".to_owned())
            } else {
                Reply::Status(404, String::new())
            }
        })
        .await;
        Self { receiver, key }
    }

    /// Its address, for `MAILWRIGHT_SNS_ENDPOINT`.
    pub fn endpoint(&self) -> String {
        self.receiver.url("")
    }

    /// What it was asked for so far.
    pub fn calls(&self) -> Vec<Call> {
        self.receiver.calls()
    }

    /// A notification with an event of SES, signed.
    pub fn notification(&self, id: &str, event: &Value) -> Value {
        self.signed(json!({
            "Type": "Notification", "MessageId": id, "TopicArn": TOPIC, "Message": event.to_string(),
            "Timestamp": now(),
        }))
    }

    /// The message that asks for the confirmation of a subscription, signed.
    pub fn confirmation(&self, id: &str) -> Value {
        let url = self.receiver.url(&format!("/?Action=ConfirmSubscription&TopicArn={TOPIC}&Token=t1"));
        self.signed(json!({
            "Type": "SubscriptionConfirmation", "MessageId": id, "TopicArn": TOPIC, "Message": "Confirm it.",
            "Timestamp": now(), "Token": "t1", "SubscribeURL": url,
        }))
    }

    /// Signs a message as it is (signature version 2).
    pub fn signed(&self, mut message: Value) -> Value {
        let names: &[&str] = if message["Type"] == "Notification" {
            &["Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"]
        } else {
            &["Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"]
        };
        let mut text = String::new();
        for name in names {
            if let Some(value) = message[*name].as_str() {
                text.push_str(&format!("{name}\n{value}\n"));
            }
        }
        let mut signature = vec![0; self.key.public().modulus_len()];
        self.key.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), text.as_bytes(), &mut signature).unwrap();
        message["SignatureVersion"] = "2".into();
        message["Signature"] = STANDARD.encode(signature).into();
        message["SigningCertURL"] = self.receiver.url(CERTIFICATE).into();
        message
    }
}

/// The time as SNS writes it.
pub fn now() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.000Z").to_string()
}
