//! One attempt of a request: what is sent, and what its outcome means.

use std::time::{Duration, UNIX_EPOCH};

use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER};
use hyper::{HeaderMap, Method, StatusCode};
use mailwright_core::custom_data;
use mailwright_core::time::Timestamp;
use mailwright_core::workflow::action;
use mailwright_core::workflow::limits::MAX_RESPONSE_LEVELS;
use mailwright_core::workflow::world::Answered;
use mailwright_store::automation::request::Claimed;
use serde_json::{Value, json};

use super::signature::Secret;
use crate::http_client::{Answer, Error, Failure, GivenUrl, Part, Phase, Request};

/// The request, signed. Fails with the reason why it cannot be made.
pub(super) fn prepared(
    claimed: &Claimed,
    secret: Option<&Secret>,
    now: Timestamp,
) -> Result<Request<GivenUrl>, String> {
    let wanted = &claimed.request;
    let to = GivenUrl::parse(&wanted.url).map_err(|refusal| format!("The address is refused: {refusal}."))?;
    let body = wanted.body.clone().unwrap_or_default();
    let mut headers = HeaderMap::new();
    if wanted.body.is_some() {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    }
    for (name, value) in &wanted.headers {
        let (name, value) = (name.parse::<HeaderName>(), HeaderValue::from_str(value));
        let (Ok(name), Ok(value)) = (name, value) else {
            return Err("A header has a character that headers cannot have.".to_owned());
        };
        headers.insert(name, value);
    }
    let own = [
        ("webhook-id", claimed.id.to_string()),
        ("webhook-timestamp", now.0.div_euclid(1000).to_string()),
        ("webhook-signature", secret.map(|secret| secret.sign(claimed.id, now, &body)).unwrap_or_default()),
    ];
    for (name, value) in own {
        if let Ok(value) = HeaderValue::from_str(&value) {
            headers.insert(HeaderName::from_static(name), value);
        }
    }
    let method = match wanted.method {
        action::Method::Get => Method::GET,
        action::Method::Post => Method::POST,
        action::Method::Put => Method::PUT,
        action::Method::Patch => Method::PATCH,
        action::Method::Delete => Method::DELETE,
    };
    let request = Request::new(method, to).with_body(body);
    Ok(headers
        .into_iter()
        .filter_map(|(name, value)| Some((name?, value)))
        .fold(request, |request, (n, v)| request.header(n, v)))
}

/// What came of an attempt.
pub(super) enum Attempt {
    /// An answer, whatever it says.
    Answered { status: StatusCode, retry_after: Option<Duration>, response: Value },
    /// There is none; whether the receiver may have the request.
    Failed { error: String, is_doubt: bool },
    /// The request cannot be made, now or later.
    Refused(String),
}

/// What follows from an attempt.
pub(super) enum Verdict {
    /// The request is over.
    Ended(Answered),
    /// The request is made again.
    Again {
        /// When the receiver says so.
        pause: Option<Duration>,
        /// Whether the receiver may have it already.
        is_doubt: bool,
        /// What the attempt was answered with.
        status: Option<i64>,
        /// Why.
        error: String,
    },
}

impl Verdict {
    /// How the attempt is counted.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Ended(Answered { error: None, .. }) => "answered",
            Self::Ended(_) => "failed",
            Self::Again { .. } => "repeated",
        }
    }
}

impl Attempt {
    /// What an outcome means; `None` if this process had no room for the request, so that nothing was attempted.
    pub(super) fn of(outcome: Result<Answer, Error>, now: Timestamp) -> Option<Self> {
        Some(match outcome {
            Ok(answer) => Self::Answered {
                status: answer.status,
                retry_after: retry_after(&answer.headers, now),
                response: response(&answer.body),
            },
            Err(Error::Refused(refusal)) => Self::Refused(format!("The address is refused: {refusal}.")),
            Err(Error::NotSent(Failure::Timeout { phase: Phase::Turn, .. })) => return None,
            // what is too large now is so later
            Err(
                error @ (Error::Redirect(_)
                | Error::NotSent(Failure::TooLarge { .. })
                | Error::InDoubt(Failure::TooLarge { part: Part::RequestHead, .. })),
            ) => Self::Refused(format!("{error}.")),
            Err(error) => Self::Failed { is_doubt: !error.was_not_sent(), error: format!("{error}.") },
        })
    }

    /// Whether the host is to blame.
    pub(super) fn is_failure_of_host(&self) -> bool {
        match self {
            Self::Answered { status, .. } => status.is_server_error(),
            Self::Failed { .. } => true,
            Self::Refused(_) => false,
        }
    }

    /// What follows. After the last attempt, an answer is an answer, and none is a failure.
    pub(super) fn verdict(self, claimed: &Claimed, is_last: bool) -> Verdict {
        match self {
            Self::Answered { status, retry_after, .. } if is_repeated(status) && !is_last => Verdict::Again {
                pause: retry_after,
                is_doubt: false,
                status: Some(status.as_u16().into()),
                error: format!("The receiver answered {}.", status.as_u16()),
            },
            Self::Answered { status, response, .. } => {
                let mut output = told(claimed);
                output["statusCode"] = status.as_u16().into();
                output["success"] = status.is_success().into();
                output["response"] = response;
                Verdict::Ended(Answered { output, error: None })
            }
            Self::Failed { error, is_doubt } if !is_last => {
                Verdict::Again { pause: None, is_doubt, status: None, error }
            }
            Self::Failed { error, is_doubt } => {
                let mut output = told(claimed);
                output["success"] = false.into();
                if is_doubt || claimed.doubts > 0 {
                    output["inDoubt"] = true.into();
                }
                Verdict::Ended(Answered { output, error: Some(error) })
            }
            Self::Refused(error) => {
                let mut output = told(claimed);
                output["success"] = false.into();
                if claimed.doubts > 0 {
                    output["inDoubt"] = true.into();
                }
                Verdict::Ended(Answered { output, error: Some(error) })
            }
        }
    }
}

/// The end of a request whose time is over before it could be made once more: what its last attempt came to.
pub(super) fn given_up(claimed: &Claimed) -> Answered {
    let mut output = told(claimed);
    output["attempts"] = claimed.attempts.into();
    output["success"] = false.into();
    if let Some(status) = claimed.status {
        output["statusCode"] = status.into();
        return Answered { output, error: None };
    }
    if claimed.doubts > 0 {
        output["inDoubt"] = true.into();
    }
    let why = "The host failed again and again, until the time for the request was over.";
    Answered { output, error: Some(why.to_owned()) }
}

/// What is told of every request.
fn told(claimed: &Claimed) -> Value {
    let mut told = json!({
        "url": claimed.request.url,
        "method": claimed.request.method,
        "webhookId": claimed.id,
        "attempts": claimed.attempts + 1,
    });
    if claimed.doubts > 0 {
        told["doubts"] = claimed.doubts.into();
    }
    told
}

fn is_repeated(status: StatusCode) -> bool {
    status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error()
}

/// The pause that a receiver asks for, in seconds or until a date (RFC 9110 section 10.2.3).
fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let until = httpdate::parse_http_date(text).ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(until.saturating_sub(Duration::from_millis(now.0.unsigned_abs())))
}

/// The body of an answer: JSON if it is, otherwise text.
fn response(body: &[u8]) -> Value {
    let text = String::from_utf8_lossy(body).replace('\0', "\u{fffd}");
    let is_kept =
        |json: &Value| !custom_data::holds_nul(json) && !custom_data::is_deeper(json, MAX_RESPONSE_LEVELS);
    serde_json::from_str(&text).ok().filter(is_kept).unwrap_or_else(|| text.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_is_asked_for_in_seconds_or_until_a_date() {
        let now = Timestamp::parse("1994-11-06T08:49:00Z").unwrap();
        let pause = |text: &str| {
            let headers = HeaderMap::from_iter([(RETRY_AFTER, HeaderValue::from_str(text).unwrap())]);
            retry_after(&headers, now).map(|pause| pause.as_secs())
        };
        for (text, expected) in [
            ("120", Some(120)),
            (" 7200 ", Some(7200)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(37)),
            ("Sunday, 06-Nov-94 09:49:00 GMT", Some(3600)),
            ("Sun, 06 Nov 1994 08:00:00 GMT", Some(0)),
            ("-5", None),
            ("soon", None),
            ("99999999999999999999", None),
        ] {
            assert_eq!(pause(text), expected, "{text}");
        }
    }

    #[test]
    fn an_answer_is_json_within_bounds_and_else_text() {
        let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        for (body, is_text) in [
            (r#"{"ok":true}"#.to_owned(), false),
            (deep(MAX_RESPONSE_LEVELS), false),
            (deep(MAX_RESPONSE_LEVELS + 1), true),
            (deep(1000), true),
            (r#""\u0000""#.to_owned(), true),
            ("no JSON".to_owned(), true),
        ] {
            assert_eq!(response(body.as_bytes()).is_string(), is_text, "{body}");
        }
    }
}
