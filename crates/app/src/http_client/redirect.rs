//! Redirects (RFC 9110 section 15.4), for requests that ask to follow them.

use hyper::HeaderMap;
use hyper::header::{
    ACCEPT, ACCEPT_LANGUAGE, CONTENT_ENCODING, CONTENT_LANGUAGE, CONTENT_TYPE, HeaderName, LOCATION,
    USER_AGENT,
};
use url::Url;

use super::error::BadRedirect;
use super::exchange::{Answer, Message};

/// Headers that go along to another origin. All others can be credentials, whatever their name is.
const HARMLESS: [HeaderName; 6] =
    [ACCEPT, ACCEPT_LANGUAGE, CONTENT_TYPE, CONTENT_ENCODING, CONTENT_LANGUAGE, USER_AGENT];

/// Where an answer leads to; `None` if it is no redirect.
pub(super) fn target(from: &Url, answer: &Answer) -> Result<Option<Url>, BadRedirect> {
    if !matches!(answer.status.as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let location = answer.headers.get(LOCATION).and_then(|location| location.to_str().ok());
    let mut to = location.and_then(|location| from.join(location).ok()).ok_or(BadRedirect::Nowhere)?;
    to.set_fragment(None);
    if from.scheme() == "https" && to.scheme() == "http" {
        return Err(BadRedirect::Downgrade);
    }
    Ok(Some(to))
}

/// The message that follows a redirect: the same again (reference 1.4), where a browser would make a GET of some.
pub(super) fn follow(message: Message, to: Url) -> Message {
    let Message { url, method, mut headers, body, may_repeat, keeps } = message;
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
