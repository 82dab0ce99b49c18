//! Redirects (RFC 9110 section 15.4), for requests that ask to follow them.

use bytes::Bytes;
use hyper::header::{
    ACCEPT, ACCEPT_LANGUAGE, CONTENT_ENCODING, CONTENT_LANGUAGE, CONTENT_TYPE, HeaderName, LOCATION,
    USER_AGENT,
};
use hyper::{HeaderMap, Method, StatusCode};
use url::Url;

use super::error::BadRedirect;
use super::exchange::{Answer, Message};

/// Headers that go along to another origin. All others can be credentials, whatever their name is.
const HARMLESS: [HeaderName; 6] =
    [ACCEPT, ACCEPT_LANGUAGE, CONTENT_TYPE, CONTENT_ENCODING, CONTENT_LANGUAGE, USER_AGENT];

/// Where an answer leads to; `None` if it leads nowhere.
pub(super) fn target(from: &Url, answer: &Answer) -> Result<Option<Url>, BadRedirect> {
    if !matches!(answer.status.as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let location = answer.headers.get(LOCATION).and_then(|location| location.to_str().ok());
    let Some(mut to) = location.and_then(|location| from.join(location).ok()) else { return Ok(None) };
    to.set_fragment(None);
    if from.scheme() == "https" && to.scheme() == "http" {
        return Err(BadRedirect::Downgrade);
    }
    Ok(Some(to))
}

/// The message that follows a redirect.
pub(super) fn follow(message: Message, status: StatusCode, to: Url) -> Message {
    let Message { url, mut method, mut headers, mut body, may_repeat, keeps } = message;
    let becomes_get = match status {
        StatusCode::SEE_OTHER => method != Method::HEAD,
        // every client does so, and the standard allows it for POST
        StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND => method == Method::POST,
        _ => false,
    };
    if becomes_get && method != Method::GET {
        method = Method::GET;
        body = Bytes::new();
        headers = without(headers, |name| !name.as_str().starts_with("content-"));
    }
    if url.origin() != to.origin() {
        headers = without(headers, |name| HARMLESS.contains(name));
    }
    Message { url: to, method, headers, body, may_repeat, keeps }
}

fn without(headers: HeaderMap, is_kept: impl Fn(&HeaderName) -> bool) -> HeaderMap {
    let mut kept = HeaderMap::new();
    for (name, value) in &headers {
        if is_kept(name) {
            kept.append(name, value.clone());
        }
    }
    kept
}
