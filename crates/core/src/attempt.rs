//! The delivery log of a mail: one entry for each attempt to hand it over.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value as Json;

use crate::bounce::BounceClass;
use crate::names::names_in_json;

names_in_json! {
    /// What an attempt came to.
    pub enum AttemptOutcome {
        /// The next hop took the mail.
        Sent = "sent",
        /// It is tried again later.
        Deferred = "deferred",
        /// It was refused for good, because the address does not exist.
        Bounced = "bounced",
        /// It cannot be sent.
        Failed = "failed",
        /// The connection broke between the content and the reply.
        InDoubt = "in_doubt",
    }
}

/// An attempt, as it stands in the log. Entries that an older or a newer program wrote may lack members, or have others.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Attempt {
    /// Its number, from 1. The database gives it when the attempt is stored.
    #[serde(rename = "attempt", skip_serializing_if = "Option::is_none")]
    pub number: Option<i64>,
    /// When it was made: ISO 8601.
    pub at: String,
    /// What it came to; `None` for what this program does not know.
    #[serde(deserialize_with = "known")]
    pub outcome: Option<AttemptOutcome>,
    /// The transport that it was made by; `None` for a mail that was not handed over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transport: Option<String>,
    /// The next hop; empty for a mail that was not handed over.
    pub host: String,
    /// Whether the connection was encrypted.
    pub tls: bool,
    /// SMTP reply code; `None` when there was no reply.
    pub code: Option<u16>,
    /// Enhanced status code (RFC 3463).
    pub enhanced: Option<String>,
    /// Text of the reply.
    pub reply: Option<String>,
    /// The class of a refusal; `None` for what this program does not know.
    #[serde(
        rename = "bounceClass",
        deserialize_with = "known_class",
        skip_serializing_if = "Option::is_none"
    )]
    pub class: Option<BounceClass>,
    /// What happened, when there was no reply.
    pub error: Option<String>,
}

fn known<'de, D: Deserializer<'de>>(from: D) -> Result<Option<AttemptOutcome>, D::Error> {
    let name = Option::<String>::deserialize(from)?;
    Ok(name.and_then(|name| AttemptOutcome::from_name(&name)))
}

fn known_class<'de, D: Deserializer<'de>>(from: D) -> Result<Option<BounceClass>, D::Error> {
    let name = Option::<String>::deserialize(from)?;
    Ok(name.and_then(|name| BounceClass::from_name(&name)))
}

impl Attempt {
    /// Reads a stored log.
    pub fn read_log(log: &Json) -> Vec<Self> {
        let entries = log.as_array().map_or(&[][..], Vec::as_slice);
        entries.iter().map(Self::read).collect()
    }

    /// Reads an entry of a stored log. One that is none counts as one that says nothing.
    pub fn read(entry: &Json) -> Self {
        Self::deserialize(entry).unwrap_or_default()
    }

    /// The attempt as it is stored: the text of a JSON object.
    pub fn to_text(&self) -> String {
        serde_json::to_value(self).unwrap_or_default().to_string()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_attempt_is_stored_under_the_names_of_the_api() {
        let attempt = Attempt {
            number: None,
            at: "2025-03-10T12:00:00.000Z".into(),
            outcome: Some(AttemptOutcome::Deferred),
            transport: Some("relay".into()),
            host: "mx.example.org".into(),
            tls: true,
            code: Some(451),
            enhanced: Some("4.7.1".into()),
            reply: Some("later".into()),
            class: Some(BounceClass::Greylisted),
            error: None,
        };
        let stored = attempt.to_text();
        assert_eq!(
            stored,
            r#"{"at":"2025-03-10T12:00:00.000Z","bounceClass":"greylisted","code":451,"enhanced":"4.7.1","error":null,"host":"mx.example.org","outcome":"deferred","reply":"later","tls":true,"transport":"relay"}"#
        );
        let mut logged: Json = serde_json::from_str(&stored).unwrap();
        logged["attempt"] = 2.into();
        assert_eq!(Attempt::read_log(&json!([logged])), [Attempt { number: Some(2), ..attempt }]);
    }

    #[test]
    fn a_log_of_another_version_can_be_read() {
        let log =
            json!([{}, {"outcome": "sent"}, {"outcome": "lent", "code": 550, "by": 7}, 5, {"tls": "yes"}]);
        let sent = Attempt { outcome: Some(AttemptOutcome::Sent), ..Attempt::default() };
        let unknown = Attempt { code: Some(550), ..Attempt::default() };
        let nothing = Attempt::default();
        assert_eq!(Attempt::read_log(&log), [nothing.clone(), sent, unknown, nothing.clone(), nothing]);
        assert_eq!(Attempt::read_log(&json!({})), []);
    }
}
