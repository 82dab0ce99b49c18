//! A small HTTP client whose answers know how to check themselves against the contract.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;

/// How long an answer is awaited when the request does not say otherwise.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Every answer of a server with the request it answers, such as `GET http://127.0.0.1:8080/health`.
pub(crate) type Heard = Arc<Mutex<Vec<(String, Response)>>>;

/// Kept connections to one server.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    connections: legacy::Client<HttpConnector, Full<Bytes>>,
    /// Where answers are kept, if they are.
    heard: Option<Heard>,
}

impl Client {
    pub(crate) fn new(heard: Option<Heard>) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        Self { connections: legacy::Client::builder(TokioExecutor::new()).build(connector), heard }
    }

    /// The same with connections of its own.
    pub(crate) fn anew(&self) -> Self {
        Self::new(self.heard.clone())
    }

    /// What was answered so far.
    pub(crate) fn heard(&self) -> Vec<(String, Response)> {
        let heard = self.heard.as_ref().expect("the server was not started with `listening()`");
        heard.lock().unwrap().clone()
    }

    pub(crate) fn request(&self, method: &str, url: String) -> Request {
        let mut headers = HeaderMap::new();
        headers.insert(hyper::header::USER_AGENT, HeaderValue::from_static("mailwright-tests"));
        Request {
            client: self.clone(),
            method: method.to_ascii_uppercase(),
            url,
            headers,
            body: Bytes::new(),
            timeout: TIMEOUT,
        }
    }
}

/// A request being put together.
#[derive(Clone, Debug)]
#[must_use = "a request does nothing until it is sent"]
pub struct Request {
    client: Client,
    method: String,
    url: String,
    headers: HeaderMap,
    body: Bytes,
    timeout: Duration,
}

impl Request {
    /// Asks the same server for another path.
    pub fn path(mut self, path: &str) -> Self {
        let host = self.url.find("://").map_or(0, |at| at + 3);
        let end = self.url[host..].find('/').map_or(self.url.len(), |at| host + at);
        self.url.replace_range(end.., path);
        self
    }

    /// Asks by another method.
    pub fn method(mut self, method: &str) -> Self {
        self.method = method.to_ascii_uppercase();
        self
    }

    /// Sets a header, replacing an earlier value.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        let name = HeaderName::from_bytes(name.as_bytes()).unwrap_or_else(|_| panic!("header name {name:?}"));
        let value =
            HeaderValue::from_bytes(value.as_bytes()).unwrap_or_else(|_| panic!("header value {value:?}"));
        self.headers.insert(name, value);
        self
    }

    /// Sets `Authorization: Bearer <key>`.
    pub fn bearer(self, key: &str) -> Self {
        self.header("authorization", &format!("Bearer {key}"))
    }

    /// Sets a JSON body and its content type.
    pub fn json(self, body: &Value) -> Self {
        self.body(body.to_string(), "application/json")
    }

    /// Sets any body with its content type.
    pub fn body(mut self, body: impl Into<Bytes>, content_type: &str) -> Self {
        self.body = body.into();
        self.header("content-type", content_type)
    }

    /// Sets how long the answer is awaited (30 seconds unless told).
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sends the request; panics when no answer comes.
    pub async fn send(self) -> Response {
        let what = format!("{} {}", self.method, self.url);
        self.try_send().await.unwrap_or_else(|error| panic!("{what} got no answer: {error}"))
    }

    /// Sends the request; an error when no complete answer comes (nothing is known about its effect then).
    pub async fn try_send(self) -> Result<Response, TransportError> {
        let what = format!("{} {}", self.method, self.url);
        let mut request = hyper::Request::builder().method(self.method.as_str()).uri(&self.url);
        *request.headers_mut().unwrap_or_else(|| panic!("request line {} {}", self.method, self.url)) =
            self.headers;
        let request = request
            .body(Full::new(self.body))
            .unwrap_or_else(|error| panic!("request {}: {error}", self.url));
        let exchange = async {
            let response =
                self.client.connections.request(request).await.map_err(|error| describe(&error))?;
            let (parts, body) = response.into_parts();
            let body = body.collect().await.map_err(|error| describe(&error))?.to_bytes();
            let response = Response { status: parts.status.as_u16(), headers: Headers(parts.headers), body };
            if let Some(heard) = &self.client.heard {
                heard.lock().unwrap().push((what, response.clone()));
            }
            Ok(response)
        };
        let answer = tokio::time::timeout(self.timeout, exchange).await;
        answer.unwrap_or_else(|_| Err(TransportError(format!("nothing within {:?}", self.timeout))))
    }
}

/// An error with everything that caused it.
fn describe(error: &dyn std::error::Error) -> TransportError {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    TransportError(text)
}

/// No complete answer came.
#[derive(Clone, Debug)]
pub struct TransportError(String);

impl fmt::Display for TransportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TransportError {}

/// The headers of an answer.
#[derive(Clone, Debug)]
pub struct Headers(HeaderMap);

impl Headers {
    /// The first value of a header, whatever its case.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.to_str().ok()
    }

    /// Every value of a header.
    pub fn get_all(&self, name: &str) -> Vec<&str> {
        self.0.get_all(name).iter().filter_map(|value| value.to_str().ok()).collect()
    }
}

/// A complete answer.
#[derive(Clone, Debug)]
pub struct Response {
    /// The status code.
    pub status: u16,
    /// The headers.
    pub headers: Headers,
    /// The whole body.
    pub body: Bytes,
}

impl Response {
    /// The body as JSON; panics when it is not.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("body is not JSON ({error}): {} {}", self.status, self.text()))
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Checks the status code and prints the body when it is another.
    #[expect(clippy::return_self_not_must_use, reason = "often the check is all that is wanted")]
    pub fn assert_status(self, status: u16) -> Self {
        assert!(self.status == status, "expected status {status}, got {}: {}", self.status, self.text());
        self
    }

    /// Checks the whole error envelope and returns its `error` object.
    pub fn assert_error(&self, status: u16, code: &str) -> Value {
        let text = self.text();
        assert!(self.status == status, "expected {status} {code}, got {}: {text}", self.status);
        let content_type = self.headers.get("content-type").unwrap_or_default();
        assert!(
            content_type.starts_with("application/json"),
            "an error is JSON, got {content_type:?}: {text}"
        );
        let body = self.json();
        assert_eq!(body["success"], Value::Bool(false), "`success` of an error is false: {text}");
        let timestamp = body["timestamp"].as_str().unwrap_or_default();
        assert!(is_timestamp(timestamp), "`timestamp` is ISO 8601 with milliseconds and Z: {text}");
        let error = &body["error"];
        assert_eq!(error["code"], code, "{text}");
        assert_eq!(error["statusCode"], status, "{text}");
        assert!(
            error["message"].as_str().is_some_and(|message| !message.is_empty()),
            "an error has a message: {text}"
        );
        let request_id = error["requestId"].as_str().unwrap_or_default();
        assert!(!request_id.is_empty(), "an error has a requestId: {text}");
        assert_eq!(
            self.headers.get("x-request-id"),
            Some(request_id),
            "X-Request-ID is the error's requestId"
        );
        for absent in ["errors", "details", "suggestion"] {
            assert!(error.get(absent) != Some(&Value::Null), "absent members are left out, not null: {text}");
        }
        error.clone()
    }

    /// Checks for 422 `VALIDATION_ERROR` with an element for this field and code.
    pub fn assert_issue(&self, field: &str, code: &str) {
        let error = self.assert_error(422, "VALIDATION_ERROR");
        let issues = error["errors"].as_array().cloned().unwrap_or_default();
        for issue in &issues {
            assert!(
                issue["message"].as_str().is_some_and(|message| !message.is_empty()),
                "an issue has a message: {issue}"
            );
        }
        assert!(
            issues.iter().any(|issue| issue["field"] == field && issue["code"] == code),
            "no issue with field {field:?} and code {code:?} in {issues:?}"
        );
    }
}

/// Whether a text is `YYYY-MM-DDTHH:MM:SS.mmmZ`.
fn is_timestamp(text: &str) -> bool {
    let form = b"0000-00-00T00:00:00.000Z";
    text.len() == form.len()
        && text
            .bytes()
            .zip(form)
            .all(|(byte, &form)| if form == b'0' { byte.is_ascii_digit() } else { byte == form })
}

#[cfg(test)]
mod tests {
    use super::is_timestamp;

    #[test]
    fn a_request_can_ask_for_another_path() {
        let client = super::Client::new(None);
        for url in ["http://127.0.0.1:1/a/b?c", "http://127.0.0.1:1"] {
            let request = client.request("GET", url.to_owned()).path("/other");
            assert_eq!(request.url, "http://127.0.0.1:1/other");
        }
    }

    #[test]
    fn timestamps_have_one_form() {
        assert!(is_timestamp("2026-11-21T02:53:59.007Z"));
        for other in ["", "2026-11-21T02:53:59Z", "2026-11-21 02:53:59.007Z", "2026-11-21T02:53:59.007+00:00"]
        {
            assert!(!is_timestamp(other), "{other}");
        }
    }
}
