//! One request and its answer, and what is known when there is none.

use std::error::Error as _;
use std::fmt;

use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Body, Incoming};
use hyper::header::{
    CONNECTION, CONTENT_LENGTH, EXPECT, HOST, HeaderName, HeaderValue, TE, TRAILER, TRANSFER_ENCODING,
    UPGRADE, USER_AGENT,
};
use hyper::{HeaderMap, Method, Response, StatusCode, Uri};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::capture_connection;
use tokio::time::{Instant, sleep_until, timeout_at};
use url::Url;

use super::error::{Error, Failure, Part, Phase, Refusal};
use super::hosts::Pool;
use super::limits::Limits;

/// Headers that say where a message ends, and what becomes of the connection. They are the client's own: with one of a
/// user's, the server could see another request than was checked here.
const OWN_HEADERS: [HeaderName; 10] = [
    HOST,
    CONTENT_LENGTH,
    TRANSFER_ENCODING,
    TE,
    TRAILER,
    CONNECTION,
    UPGRADE,
    EXPECT,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
];

/// What is sent to a server.
#[derive(Clone)]
pub(super) struct Message {
    pub(super) url: Url,
    pub(super) method: Method,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    pub(super) may_repeat: bool,
    /// How much of the answer's body is wanted; `None` for all of it.
    pub(super) keeps: Option<usize>,
}

/// An answer.
#[derive(Clone)]
pub struct Answer {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

/// Without headers and body, which can hold secrets.
impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answer").field("status", &self.status).finish_non_exhaustive()
    }
}

impl Message {
    /// Whether a message is small enough.
    pub(super) fn check(&self, limits: &Limits) -> Result<(), Error> {
        let headers = self.headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4);
        let head = self.url.as_str().len() + headers.sum::<usize>();
        let parts = [
            (Part::RequestHead, head, limits.request_head),
            (Part::RequestBody, self.body.len(), limits.request_body),
        ];
        match parts.into_iter().find(|(_, size, limit)| size > limit) {
            Some((part, _, limit)) => Err(Error::NotSent(Failure::TooLarge { part, limit })),
            None => Ok(()),
        }
    }

    fn request(&self) -> Result<hyper::Request<Full<Bytes>>, Error> {
        let uri = self.url.as_str().parse::<Uri>().map_err(|_| Error::Refused(Refusal::Unreadable))?;
        // one parser checked the host, and another one names it to the connector
        if uri.host() != self.url.host_str() {
            return Err(Error::Refused(Refusal::Unreadable));
        }
        let mut request = hyper::Request::new(Full::new(self.body.clone()));
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = uri;
        let headers = request.headers_mut();
        *headers = self.headers.clone();
        for own in OWN_HEADERS {
            headers.remove(own);
        }
        headers.entry(USER_AGENT).or_insert(HeaderValue::from_static("mailwright"));
        Ok(request)
    }
}

/// Sends a message, and reads the answer until `deadline`.
pub(super) async fn exchange(
    pool: &Pool,
    message: &Message,
    limits: &Limits,
    deadline: Instant,
) -> Result<Answer, Error> {
    let response = head(pool, message, limits, deadline).await?;
    if let Some(most) = message.keeps {
        let (head, body) = response.into_parts();
        let body = beginning(body, most, deadline).await;
        return Ok(Answer { status: head.status, headers: head.headers, body });
    }
    let too_large =
        || Error::InDoubt(Failure::TooLarge { part: Part::AnswerBody, limit: limits.answer_body });
    let (head, body) = response.into_parts();
    if usize::try_from(body.size_hint().lower()).map_or(true, |announced| announced > limits.answer_body) {
        return Err(too_large());
    }
    match timeout_at(deadline, Limited::new(body, limits.answer_body).collect()).await {
        Ok(Ok(body)) => Ok(Answer { status: head.status, headers: head.headers, body: body.to_bytes() }),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large()),
        Ok(Err(error)) => Err(Error::InDoubt(Failure::Exchange(error.to_string()))),
        Err(_) => Err(Error::InDoubt(Failure::timeout(Phase::Whole, limits.whole))),
    }
}

/// The beginning of a body, as far as it comes until `deadline`: what is beyond is not read.
async fn beginning(mut body: Incoming, most: usize, deadline: Instant) -> Bytes {
    let mut read = BytesMut::new();
    while read.len() < most
        && let Ok(Some(Ok(frame))) = timeout_at(deadline, body.frame()).await
    {
        if let Ok(data) = frame.into_data() {
            read.extend_from_slice(&data[..data.len().min(most - read.len())]);
        }
    }
    read.freeze()
}

/// Sends a message, and waits for the head of the answer.
async fn head(
    pool: &Pool,
    message: &Message,
    limits: &Limits,
    deadline: Instant,
) -> Result<Response<Incoming>, Error> {
    let mut request = message.request()?;
    let mut connection = capture_connection(&mut request);
    let mut response = std::pin::pin!(pool.request(request));
    let connected = async {
        connection.wait_for_connection_metadata().await;
    };
    // nothing is sent before there is a connection; the connector limits the steps until then
    let answered = tokio::select! {
        biased;
        answered = &mut response => answered,
        () = connected => {
            let until = deadline.min(Instant::now() + limits.answer);
            timeout_at(until, response).await.map_err(|_| {
                let (phase, limit) =
                    if until < deadline { (Phase::Answer, limits.answer) } else { (Phase::Whole, limits.whole) };
                Error::InDoubt(Failure::timeout(phase, limit))
            })?
        }
        () = sleep_until(deadline) => {
            return Err(Error::NotSent(Failure::timeout(Phase::Whole, limits.whole)));
        }
    };
    answered.map_err(|error| failure(&error, connection.connection_metadata().is_some(), limits))
}

/// What an error of the pool means.
fn failure(error: &legacy::Error, was_connected: bool, limits: &Limits) -> Error {
    let cause = error.source();
    if let Some(error) = cause.and_then(|cause| cause.downcast_ref::<Error>()) {
        return error.clone(); // the connector's
    }
    let cause = cause.and_then(|cause| cause.downcast_ref::<hyper::Error>());
    let text = cause.map_or_else(|| error.to_string(), described);
    // a request is cancelled before a connection begins with it; later there is another error
    let was_begun = was_connected && !cause.is_some_and(hyper::Error::is_canceled);
    if !was_begun {
        return Error::NotSent(Failure::Connection(text));
    }
    let is_too_large = cause.is_some_and(hyper::Error::is_parse_too_large);
    let too_large = Failure::TooLarge { part: Part::AnswerHead, limit: limits.answer_head };
    Error::InDoubt(if is_too_large { too_large } else { Failure::Exchange(text) })
}

/// An error with what caused it.
fn described(error: &hyper::Error) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}
