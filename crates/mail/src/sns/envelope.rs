//! The JSON document that SNS posts, whatever is inside.

use std::time::Duration;

use mailwright_core::time::Timestamp;
use serde::Deserialize;

/// The most bytes that a message may have: what SNS takes, 256 KiB. The body of a request that has it is longer, since
/// JSON escapes every quote in it.
pub const MAX_MESSAGE: usize = 256 * 1024;

/// The most bytes of the other fields. The longest signature is that of a key with 8192 bits, in base64.
const MAX_ID: usize = 256;
const MAX_ARN: usize = 1024;
const MAX_SUBJECT: usize = 1024;
const MAX_SIGNATURE: usize = 1400;
const MAX_URL: usize = 4096;
const MAX_TOKEN: usize = 1024;

mailwright_core::names! {
    /// The types of messages that SNS sends to an endpoint.
    pub enum Kind {
        /// Somebody published something to the topic.
        Notification = "Notification",
        /// Somebody wants the topic to be sent here: the endpoint has to confirm that.
        SubscriptionConfirmation = "SubscriptionConfirmation",
        /// The topic is no longer sent here.
        UnsubscribeConfirmation = "UnsubscribeConfirmation",
    }
}

mailwright_core::names! {
    /// How a message is signed.
    pub enum SignatureVersion {
        /// RSA with SHA-1.
        One = "1",
        /// RSA with SHA-256.
        Two = "2",
    }
}

/// Why a body is no message of SNS.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EnvelopeError {
    /// It is not a JSON object with texts in its fields, each at most once.
    #[error("the body is not a message of SNS: {0}")]
    Json(String),
    /// A field is not there, or empty.
    #[error("the message has no {0}")]
    Missing(&'static str),
    /// A field is longer than SNS makes it.
    #[error("{0} is too long")]
    TooLong(&'static str),
    /// A field other than the message has control characters, such as the end of a line.
    #[error("{0} has control characters")]
    Control(&'static str),
    /// The time cannot be read.
    #[error("Timestamp is not a time")]
    Timestamp,
    /// The signature is of a version that is not known.
    #[error("SignatureVersion is neither 1 nor 2")]
    SignatureVersion,
}

/// A message as SNS posts it. Who wrote it is known only after [`verify`](super::verify).
///
/// Fields that the signature does not cover are left out: the subject of a confirmation, the `SubscribeURL` and the
/// token of a notification. No field but the message has control characters, so the text that is signed cannot be
/// divided into fields in two ways.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    /// What it is; `None` for a type that is not known, whose signature nobody can check.
    pub kind: Option<Kind>,
    /// `Type` as it was sent.
    pub type_name: String,
    /// `MessageId`: the same each time that SNS sends the message again.
    pub message_id: String,
    /// `TopicArn`: the topic that it was published to.
    pub topic_arn: String,
    /// `Subject`, if the publisher gave one.
    pub subject: Option<String>,
    /// `Message`: what was published, or a text for people. At most [`MAX_MESSAGE`] bytes.
    pub message: String,
    /// `Timestamp` as it was sent.
    pub timestamp: String,
    /// When it was published, by `Timestamp`.
    pub published_at: Timestamp,
    /// `SignatureVersion`.
    pub signature_version: SignatureVersion,
    /// `Signature`, in base64.
    pub signature: String,
    /// `SigningCertURL`; to be used by way of [`certificate_url`](super::certificate_url) only.
    pub signing_cert_url: String,
    /// `SubscribeURL` of a confirmation; to be used by way of [`subscribe_url`](super::subscribe_url) only.
    pub subscribe_url: Option<String>,
    /// `Token` of a confirmation.
    pub token: Option<String>,
}

#[derive(Deserialize)]
struct Document {
    #[serde(rename = "Type")]
    type_name: Option<String>,
    #[serde(rename = "MessageId")]
    message_id: Option<String>,
    #[serde(rename = "TopicArn")]
    topic_arn: Option<String>,
    #[serde(rename = "Subject")]
    subject: Option<String>,
    #[serde(rename = "Message")]
    message: Option<String>,
    #[serde(rename = "Timestamp")]
    timestamp: Option<String>,
    #[serde(rename = "SignatureVersion")]
    signature_version: Option<String>,
    #[serde(rename = "Signature")]
    signature: Option<String>,
    #[serde(rename = "SigningCertURL")]
    signing_cert_url: Option<String>,
    #[serde(rename = "SubscribeURL")]
    subscribe_url: Option<String>,
    #[serde(rename = "Token")]
    token: Option<String>,
}

impl Envelope {
    /// Reads the body of a request. Fields that are not known are ignored, and `null` counts as absent.
    ///
    /// The caller bounds the body; 1 MiB leaves room for every message that SNS can send.
    pub fn parse(body: &[u8]) -> Result<Self, EnvelopeError> {
        // serde would also take the fields as a list, in their order
        if body.trim_ascii_start().first() != Some(&b'{') {
            return Err(EnvelopeError::Json("it is not an object".to_owned()));
        }
        let document: Document =
            serde_json::from_slice(body).map_err(|error| EnvelopeError::Json(error.to_string()))?;
        let type_name = field("Type", document.type_name, MAX_ID)?;
        let kind = Kind::from_name(&type_name);
        let confirms = match kind {
            Some(Kind::SubscriptionConfirmation | Kind::UnsubscribeConfirmation) => true,
            Some(Kind::Notification) | None => false,
        };
        let message = document.message.ok_or(EnvelopeError::Missing("Message"))?;
        if message.len() > MAX_MESSAGE {
            return Err(EnvelopeError::TooLong("Message"));
        }
        let timestamp = field("Timestamp", document.timestamp, MAX_ID)?;
        let published_at = Timestamp::parse(&timestamp)
            .and_then(|at| Timestamp::from_millis(at.0))
            .ok_or(EnvelopeError::Timestamp)?;
        let version = field("SignatureVersion", document.signature_version, MAX_ID)?;
        let subject = document.subject.filter(|_| !confirms);
        let (subscribe_url, token) = if confirms {
            let url = field("SubscribeURL", document.subscribe_url, MAX_URL)?;
            (Some(url), Some(field("Token", document.token, MAX_TOKEN)?))
        } else {
            (None, None)
        };
        Ok(Self {
            kind,
            message_id: field("MessageId", document.message_id, MAX_ID)?,
            topic_arn: field("TopicArn", document.topic_arn, MAX_ARN)?,
            subject: subject.map(|subject| line("Subject", subject, MAX_SUBJECT)).transpose()?,
            message,
            published_at,
            signature_version: SignatureVersion::from_name(&version)
                .ok_or(EnvelopeError::SignatureVersion)?,
            signature: field("Signature", document.signature, MAX_SIGNATURE)?,
            signing_cert_url: field("SigningCertURL", document.signing_cert_url, MAX_URL)?,
            subscribe_url,
            token,
            timestamp,
            type_name,
        })
    }

    /// How long ago it was published; zero when its time lies in the future. SNS tries to deliver a message for hours
    /// or days, as the policy of the subscription says.
    pub fn age(&self, now: Timestamp) -> Duration {
        now.since(self.published_at)
    }

    /// The text that is signed: name and value of each field that the signature covers, by name, each on a line.
    /// `None` for a type that is not known.
    pub(super) fn signed_text(&self) -> Option<String> {
        self.kind?;
        let fields = [
            ("Message", Some(&self.message)),
            ("MessageId", Some(&self.message_id)),
            ("Subject", self.subject.as_ref()),
            ("SubscribeURL", self.subscribe_url.as_ref()),
            ("Timestamp", Some(&self.timestamp)),
            ("Token", self.token.as_ref()),
            ("TopicArn", Some(&self.topic_arn)),
            ("Type", Some(&self.type_name)),
        ];
        let mut text = String::with_capacity(self.message.len() + 1024);
        for (name, value) in fields {
            if let Some(value) = value {
                text.extend([name, "\n", value, "\n"]);
            }
        }
        Some(text)
    }
}

/// The value of a field that has to be there.
fn field(name: &'static str, value: Option<String>, longest: usize) -> Result<String, EnvelopeError> {
    let value = value.filter(|value| !value.is_empty()).ok_or(EnvelopeError::Missing(name))?;
    line(name, value, longest)
}

fn line(name: &'static str, value: String, longest: usize) -> Result<String, EnvelopeError> {
    if value.len() > longest {
        return Err(EnvelopeError::TooLong(name));
    }
    if value.chars().any(char::is_control) {
        return Err(EnvelopeError::Control(name));
    }
    Ok(value)
}
