//! Signed requests to Amazon SES, and what an answer that is an error says.

use std::fmt;

use mailwright_core::time::Timestamp;
use serde_json::Value;

use super::config::SesConfig;
use super::signature::{Request, Scope, signed_headers};

/// The service's name in signatures.
const SERVICE: &str = "ses";
/// The type of bodies of version 2 of the API.
pub(super) const JSON: &str = "application/json";
/// Most characters of what an answer says that are kept.
const TEXT: usize = 500;

/// The method of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// It changes nothing.
    Get,
    /// It makes something.
    Post,
    /// It replaces something.
    Put,
    /// It removes something.
    Delete,
}

impl Method {
    /// The name, as HTTP has it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Delete => "DELETE",
        }
    }
}

/// A request that is ready to be sent.
#[derive(Clone)]
pub struct SignedRequest {
    /// The method.
    pub method: Method,
    /// The whole address.
    pub url: String,
    /// Names and values, the signature among them.
    pub headers: Vec<(&'static str, String)>,
    /// The body.
    pub body: Vec<u8>,
}

/// Without headers and body, which can hold secrets.
impl fmt::Debug for SignedRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SignedRequest")
            .field("method", &self.method)
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

/// What an answer said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// The status of HTTP.
    pub status: u16,
    /// The name of the error and its text, for people.
    pub text: String,
}

impl SesConfig {
    /// Signs a request. `content` is the type of its body, if it has one.
    pub(super) fn signed(
        &self,
        method: Method,
        path: &str,
        content: Option<&'static str>,
        body: Vec<u8>,
        now: Timestamp,
    ) -> SignedRequest {
        let content: Vec<_> = content.map(|content| ("content-type", content)).into_iter().collect();
        let request = Request {
            method: method.as_str(),
            path,
            query: &[],
            host: self.host(),
            headers: &content,
            body: &body,
        };
        let scope = Scope { region: &self.region, service: SERVICE };
        let mut headers: Vec<_> = content.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        headers.extend(signed_headers(&request, &self.key, scope, now));
        SignedRequest { method, url: format!("{}{path}", self.endpoint), headers, body }
    }
}

/// An answer that is an error.
pub(super) struct ErrorAnswer {
    /// The name of the error.
    pub(super) name: String,
    /// Its text.
    pub(super) message: String,
    /// Both, for people.
    pub(super) said: Said,
}

/// Reads an error: from the header and JSON of version 2, or the XML of version 1. `error_type` is the header
/// `x-amzn-errortype`.
pub(super) fn error(status: u16, error_type: Option<&str>, body: &str) -> ErrorAnswer {
    let parsed: Option<Value> = serde_json::from_str(body).ok();
    let member = |names: &[&str]| {
        let found = names.iter().find_map(|name| parsed.as_ref()?.get(name)?.as_str());
        found.map(str::to_owned)
    };
    let element = |name: &str| {
        let (_, rest) = body.split_once(&format!("<{name}>"))?;
        Some(rest.split_once("</")?.0.trim().to_owned())
    };
    let name = error_type
        .map(str::to_owned)
        .or_else(|| member(&["__type", "code", "Code"]))
        .or_else(|| element("Code"));
    let name = name.unwrap_or_default();
    // a namespace before it, an address behind it
    let name = name.rsplit('#').next().unwrap_or_default().split(':').next().unwrap_or_default().to_owned();
    let message = member(&["message", "Message"]).or_else(|| element("Message")).unwrap_or_default();
    let text: String = if message.is_empty() { name.clone() } else { format!("{name}: {message}") };
    let said = Said { status, text: text.trim_matches([':', ' ']).chars().take(TEXT).collect() };
    ErrorAnswer { name, message, said }
}

/// Whether an error says that the key may not do something, as every service of Amazon says it, with 400 or 403.
pub(super) fn is_denied(name: &str) -> bool {
    [
        "AccessDenied",
        "AccessDeniedException",
        "NotAuthorized",
        "IncompleteSignature",
        "RequestExpired",
        "ExpiredToken",
        "ExpiredTokenException",
        "OptInRequired",
    ]
    .contains(&name)
}
