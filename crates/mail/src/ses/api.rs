//! The requests to Amazon SES that mail needs, and what their answers mean.
//!
//! Mail is sent with `SendEmail` of version 2 of the API, the message as it is. What the account may send is asked with
//! `GetSendQuota` of version 1, which every endpoint has.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mailwright_core::time::Timestamp;
use serde::Deserialize;
use serde_json::json;

use super::config::SesConfig;
use super::request::{ErrorAnswer, JSON, Method, Said, SignedRequest, error, is_denied};

const SEND_PATH: &str = "/v2/email/outbound-emails";
const QUOTA: &str = "Action=GetSendQuota&Version=2010-12-01";
const FORM: &str = "application/x-www-form-urlencoded";

/// What the account may send.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quota {
    /// Mails in 24 hours; `None` for any number.
    pub per_day: Option<f64>,
    /// Those that were sent in the last 24 hours.
    pub sent: f64,
    /// Mails a second.
    pub per_second: f64,
}

impl Quota {
    /// Whether nothing more can be sent for now.
    pub fn is_used_up(&self) -> bool {
        self.per_day.is_some_and(|most| self.sent >= most)
    }
}

/// What became of a mail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SendAnswer {
    /// It was taken, under this id.
    Taken(String),
    /// Too much, or too fast: later.
    Throttled(Said),
    /// What may be sent in a day is used up.
    QuotaUsedUp(Said),
    /// The request is not ours to make: the key, its rights, the account.
    Denied(Said),
    /// The sender's identity is not verified.
    Sender(Said),
    /// This mail is not taken, whoever sends it.
    Rejected(Said),
    /// The service failed and has not taken it.
    Failed(Said),
    /// An answer that SES does not give.
    Unknown(Said),
}

impl SesConfig {
    /// A request that sends a message from an envelope's sender to one recipient. `is_tracked` chooses the configuration
    /// set.
    pub fn send(
        &self,
        from: &str,
        to: &str,
        message: &[&[u8]],
        is_tracked: bool,
        now: Timestamp,
    ) -> SignedRequest {
        let raw = STANDARD.encode(message.concat());
        let mut body = json!({
            "FromEmailAddress": from,
            "Destination": {"ToAddresses": [to]},
            "Content": {"Raw": {"Data": raw}},
        });
        let sets = &self.configuration_sets;
        let set = if is_tracked {
            sets.tracked.as_ref().or(sets.untracked.as_ref())
        } else {
            sets.untracked.as_ref()
        };
        if let Some(set) = set {
            body["ConfigurationSetName"] = set.as_str().into();
        }
        self.signed(Method::Post, SEND_PATH, Some(JSON), body.to_string().into_bytes(), now)
    }

    /// A request that asks what the account may send.
    pub fn ask_quota(&self, now: Timestamp) -> SignedRequest {
        self.signed(Method::Post, "/", Some(FORM), QUOTA.into(), now)
    }
}

/// The quota in an answer to [`SesConfig::ask_quota`].
pub fn quota(status: u16, error_type: Option<&str>, body: &[u8]) -> Result<Quota, SendAnswer> {
    let text = String::from_utf8_lossy(body);
    let number = |name: &str| -> Option<f64> {
        let (_, rest) = text.split_once(&format!("<{name}>"))?;
        rest.split_once('<')?.0.trim().parse().ok()
    };
    if status == 200
        && let (Some(per_day), Some(sent), Some(per_second)) =
            (number("Max24HourSend"), number("SentLast24Hours"), number("MaxSendRate"))
    {
        // -1 is an unlimited quota
        return Ok(Quota { per_day: (per_day >= 0.0).then_some(per_day), sent, per_second });
    }
    Err(refused(status, error_type, &text))
}

/// What an answer to [`SesConfig::send`] says. `error_type` is the header `x-amzn-errortype`.
pub fn sent(status: u16, error_type: Option<&str>, body: &[u8]) -> SendAnswer {
    #[derive(Deserialize)]
    struct Taken {
        #[serde(rename = "MessageId")]
        id: String,
    }
    if status == 200
        && let Ok(Taken { id }) = serde_json::from_slice(body)
    {
        return SendAnswer::Taken(id);
    }
    refused(status, error_type, &String::from_utf8_lossy(body))
}

fn refused(status: u16, error_type: Option<&str>, body: &str) -> SendAnswer {
    let ErrorAnswer { name, message, said } = error(status, error_type, body);
    let says = |phrase: &str| message.to_ascii_lowercase().contains(phrase);
    match name.as_str() {
        "LimitExceededException" => SendAnswer::QuotaUsedUp(said),
        _ if says("daily message quota") => SendAnswer::QuotaUsedUp(said),
        "TooManyRequestsException" | "Throttling" | "ThrottlingException" | "RequestLimitExceeded" => {
            SendAnswer::Throttled(said)
        }
        "MessageRejected" if says("not verified") || says("did not have authority") => {
            SendAnswer::Sender(said)
        }
        "MailFromDomainNotVerifiedException" => SendAnswer::Sender(said),
        "AccountSuspendedException" | "SendingPausedException" | "NotFoundException" => {
            SendAnswer::Denied(said)
        }
        name if is_denied(name) => SendAnswer::Denied(said),
        "MessageRejected" | "BadRequestException" | "InvalidParameterValue" | "ValidationError" => {
            SendAnswer::Rejected(said)
        }
        _ if matches!(status, 401 | 403) => SendAnswer::Denied(said),
        _ if status == 429 => SendAnswer::Throttled(said),
        _ if status == 413 => SendAnswer::Rejected(said),
        // not about the mail, as far as is known: a wrong endpoint, or an error that came up later
        _ if status == 400 || status == 404 => SendAnswer::Denied(said),
        // the service's own: what stands between may have passed the request on
        "InternalServiceErrorException"
        | "InternalFailure"
        | "ServiceUnavailable"
        | "InternalServerError" => SendAnswer::Failed(said),
        _ => SendAnswer::Unknown(said),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn config() -> SesConfig {
        SesConfig::from_url("ses://AKIA:secret@eu-central-1?set=plain&tracked_set=seen").unwrap()
    }

    #[test]
    fn a_message_is_sent_as_it_is_with_the_set_that_it_needs() {
        for (is_tracked, set) in [(true, "seen"), (false, "plain")] {
            let request = config().send(
                "a@x.test",
                "b@y.test",
                &[b"DKIM: 1\r\n", b"Subject: s\r\n\r\nb"],
                is_tracked,
                Timestamp(0),
            );
            assert_eq!(request.url, "https://email.eu-central-1.amazonaws.com/v2/email/outbound-emails");
            let body: Value = serde_json::from_slice(&request.body).unwrap();
            let raw = STANDARD.decode(body["Content"]["Raw"]["Data"].as_str().unwrap()).unwrap();
            assert_eq!(raw, b"DKIM: 1\r\nSubject: s\r\n\r\nb");
            assert_eq!(body["ConfigurationSetName"], set);
            assert_eq!(body["Destination"]["ToAddresses"][0], "b@y.test");
            let named = |name| {
                request.headers.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
            };
            assert!(named("authorization").unwrap().contains("/eu-central-1/ses/aws4_request"));
            assert!(!request.headers.iter().any(|(_, value)| value.contains("secret")));
        }
    }

    #[test]
    fn a_quota_is_read() {
        let body = b"<GetSendQuotaResponse><GetSendQuotaResult><Max24HourSend>200.0</Max24HourSend><MaxSendRate>1.0</MaxSendRate>\
                     <SentLast24Hours>127.0</SentLast24Hours></GetSendQuotaResult></GetSendQuotaResponse>";
        let found = quota(200, None, body).unwrap();
        assert_eq!(
            (found.per_day, found.sent, found.per_second, found.is_used_up()),
            (Some(200.0), 127.0, 1.0, false)
        );
        let endless = String::from_utf8_lossy(body).replace("200.0", "-1.0");
        assert_eq!(quota(200, None, endless.as_bytes()).unwrap().per_day, None);
        let denied = b"<ErrorResponse><Error><Type>Sender</Type><Code>InvalidClientTokenId</Code><Message>no such key</Message></Error></ErrorResponse>";
        assert!(
            matches!(quota(403, None, denied), Err(SendAnswer::Denied(said)) if said.text == "InvalidClientTokenId: no such key")
        );
    }

    #[test]
    fn answers_are_told_apart() {
        let answer = |status, error_type, message: &str| {
            sent(status, error_type, json!({"message": message}).to_string().as_bytes())
        };
        assert_eq!(sent(200, None, br#"{"MessageId":"0100"}"#), SendAnswer::Taken("0100".into()));
        for (answer, wanted) in [
            (answer(429, Some("TooManyRequestsException"), "Maximum sending rate exceeded."), "Throttled"),
            (answer(400, Some("LimitExceededException"), "x"), "QuotaUsedUp"),
            (answer(429, Some("TooManyRequestsException"), "Daily message quota exceeded."), "QuotaUsedUp"),
            (
                answer(
                    400,
                    Some("MessageRejected"),
                    "Email address is not verified. The following identities failed",
                ),
                "Sender",
            ),
            (answer(400, Some("MessageRejected"), "Email content is malicious"), "Rejected"),
            (answer(400, Some("MailFromDomainNotVerifiedException"), ""), "Sender"),
            (answer(400, Some("AccountSuspendedException"), ""), "Denied"),
            (answer(400, Some("SendingPausedException"), ""), "Denied"),
            (answer(403, Some("SignatureDoesNotMatch:http://internal.amazon.com/"), ""), "Denied"),
            (answer(403, None, "Forbidden"), "Denied"),
            (answer(500, Some("InternalServiceErrorException"), ""), "Failed"),
            (answer(503, Some("ServiceUnavailable"), ""), "Failed"),
            (answer(503, None, ""), "Unknown"),
            (answer(404, None, "no such page"), "Denied"),
            (answer(400, Some("IncompleteSignature"), ""), "Denied"),
            (answer(502, None, "bad gateway"), "Unknown"),
            (sent(200, None, b"<html>"), "Unknown"),
        ] {
            let name = format!("{answer:?}");
            assert!(name.starts_with(wanted), "{name}");
        }
        let SendAnswer::Denied(said) = answer(403, Some("com.amazon#AccessDeniedException"), "no") else {
            panic!()
        };
        assert_eq!((said.status, &*said.text), (403, "AccessDeniedException: no"));
    }
}
