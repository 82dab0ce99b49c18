//! Why there is no answer.

use std::fmt;
use std::time::Duration;

/// Why there is no answer. What it says holds no query, no header and no body; it may hold the name of the host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Requests do not go to this address. Nothing was sent, and another try changes nothing as long as the address
    /// and what its name stands for stay the same.
    #[error("the address is refused: {0}")]
    Refused(Refusal),
    /// Certainly nothing was sent.
    #[error("nothing was sent: {0}")]
    NotSent(Failure),
    /// The request was sent, or may have been.
    #[error("it is not known what became of the request: {0}")]
    InDoubt(Failure),
    /// A server took the request and answered with a redirect that is not followed.
    #[error("the answer is a redirect that is not followed: {0}")]
    Redirect(BadRedirect),
}

/// Why requests do not go to an address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It is no absolute address on the web.
    #[error("it is not a complete http:// or https:// address")]
    Unreadable,
    /// It is of another kind.
    #[error("it begins with neither http:// nor https://")]
    Scheme,
    /// It has a user, or a password: these end up in logs. A header is the place for them.
    #[error("it holds a user or a password")]
    UserInfo,
    /// Something else than HTTP is spoken at this port.
    #[error("port {0} is for another protocol than HTTP")]
    Port(u16),
    /// None of the host's addresses may be connected to; of the last one, why.
    #[error("its host has no address that may be connected to ({0})")]
    Host(&'static str),
}

/// What went wrong on the way to an answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// Something took too long.
    #[error("{phase} took more than {limit:?}")]
    Timeout {
        /// What took too long.
        phase: Phase,
        /// How long it may take.
        limit: Duration,
    },
    /// Something is too large.
    #[error("{part} is too large (limit: {limit} bytes)")]
    TooLarge {
        /// What is too large.
        part: Part,
        /// The most bytes there may be.
        limit: usize,
    },
    /// There is no such host.
    #[error("there is no host of this name")]
    NoSuchHost,
    /// The host could not be looked up.
    #[error("the name of the host could not be looked up: {0}")]
    Lookup(String),
    /// No connection could be made.
    #[error("no connection: {0}")]
    Connection(String),
    /// There is no TLS with the server.
    #[error("no TLS: {0}")]
    Tls(String),
    /// The certificate of the server is not good.
    #[error("no TLS: {0}")]
    Certificate(String),
    /// The connection broke, or what came over it is not HTTP.
    #[error("the exchange failed: {0}")]
    Exchange(String),
}

/// The steps of an exchange that have a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Waiting while other requests are under way.
    Turn,
    /// Looking up the name of the host.
    Resolving,
    /// Connecting.
    Connecting,
    /// The handshake of TLS.
    Tls,
    /// Sending the request, and waiting for the head of the answer.
    Answer,
    /// Everything from the beginning to the last byte of the answer.
    Whole,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Turn => "waiting for other requests",
            Self::Resolving => "looking up the host",
            Self::Connecting => "connecting",
            Self::Tls => "the TLS handshake",
            Self::Answer => "waiting for an answer",
            Self::Whole => "the whole exchange",
        })
    }
}

/// What has a limit on its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Address and headers of the request.
    RequestHead,
    /// Body of the request.
    RequestBody,
    /// Head of the answer: the bytes of the status and the headers, or the number of headers.
    AnswerHead,
    /// Body of the answer.
    AnswerBody,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::RequestHead => "the head of the request",
            Self::RequestBody => "the body of the request",
            Self::AnswerHead => "the head of the answer, or the number of its headers,",
            Self::AnswerBody => "the body of the answer",
        })
    }
}

/// Why a redirect is not followed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadRedirect {
    /// It leads to where requests do not go.
    #[error("it leads to an address that is refused: {0}")]
    Refused(Refusal),
    /// It leads from https to http.
    #[error("it leads from https to http")]
    Downgrade,
    /// It does not say where to.
    #[error("it does not say where to")]
    Nowhere,
    /// There were too many before it.
    #[error("there were {0} before it")]
    TooMany(u8),
}

impl Error {
    /// Whether certainly no server was given the request.
    pub fn was_not_sent(&self) -> bool {
        match self {
            Self::Refused(_) | Self::NotSent(_) => true,
            Self::InDoubt(_) | Self::Redirect(_) => false,
        }
    }

    /// The same, of a request that a redirect led to: another server was given the request before.
    pub(super) fn after_a_redirect(self) -> Self {
        match self {
            Self::Refused(refusal) => Self::Redirect(BadRedirect::Refused(refusal)),
            Self::NotSent(failure) => Self::InDoubt(failure),
            other => other,
        }
    }
}

impl Failure {
    pub(super) fn timeout(phase: Phase, limit: Duration) -> Self {
        Self::Timeout { phase, limit }
    }
}
