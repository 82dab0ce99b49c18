//! Every number that bounds outgoing requests. They are in `docs/limits.md` as well.

use std::time::Duration;

/// What requests to one kind of destination are held to.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Requests at once.
    pub at_once: usize,
    /// Of these, to one host.
    pub at_once_per_host: usize,
    /// How long a request waits until it may begin.
    pub turn: Duration,
    /// Resolving the name of the host.
    pub resolving: Duration,
    /// Addresses of a host that are tried.
    pub addresses: usize,
    /// Connecting, to all of them.
    pub connecting: Duration,
    /// Connecting to one of several.
    pub connecting_to_each: Duration,
    /// The handshake of TLS.
    pub tls: Duration,
    /// From the connection to the head of the answer: the request is sent, and the server thinks.
    pub answer: Duration,
    /// From the beginning to the last byte of the answer, redirects included.
    pub whole: Duration,
    /// Redirects that are followed where that is asked for.
    pub redirects: u8,
    /// Bytes of a request's address and headers.
    pub request_head: usize,
    /// Bytes of a request's body.
    pub request_body: usize,
    /// Bytes of an answer's head; 8 KB is the least that `hyper` takes.
    pub answer_head: usize,
    /// Headers of an answer.
    pub answer_headers: usize,
    /// Bytes of an answer's body.
    pub answer_body: usize,
    /// How long a connection is kept for the next request.
    pub idle: Duration,
    /// Connections kept for a host.
    pub idle_per_host: usize,
    /// Hosts that connections are kept for.
    pub hosts: usize,
}

impl Limits {
    /// Requests to addresses that a user gave.
    pub const GIVEN: Self = Self {
        at_once: 64,
        at_once_per_host: 8,
        turn: Duration::from_secs(5),
        resolving: Duration::from_secs(5),
        addresses: 4,
        connecting: Duration::from_secs(5),
        connecting_to_each: Duration::from_secs(2),
        tls: Duration::from_secs(5),
        answer: Duration::from_secs(10),
        whole: Duration::from_secs(15),
        redirects: 5,
        request_head: 16 * 1024,
        request_body: 1024 * 1024,
        answer_head: 32 * 1024,
        answer_headers: 100,
        answer_body: 256 * 1024,
        idle: Duration::from_secs(30),
        idle_per_host: 2,
        hosts: 32,
    };

    /// Requests to addresses that the operator configured: a few hosts, and people wait for them. A list of 100 invoices has a
    /// megabyte.
    pub const CONFIGURED: Self = Self { at_once: 16, hosts: 4, answer_body: 4 * 1024 * 1024, ..Self::GIVEN };

    /// Lists that a command of the operator fetches. One of them has 15 MB.
    pub const LISTS: Self = Self {
        answer: Duration::from_secs(30),
        whole: Duration::from_mins(2),
        answer_body: 64 * 1024 * 1024,
        ..Self::CONFIGURED
    };

    /// Objects in a store that the operator configured: one host, and objects as large as an uploaded picture.
    pub const OBJECTS: Self = Self {
        at_once: 32,
        at_once_per_host: 32,
        answer: Duration::from_secs(30),
        whole: Duration::from_secs(40),
        request_body: 11 * 1024 * 1024,
        answer_body: 11 * 1024 * 1024,
        idle_per_host: 8,
        hosts: 1,
        ..Self::GIVEN
    };

    /// Copies of the database in a store that the operator configured: one host, few requests at once, and objects of some
    /// megabytes.
    pub const COPIES: Self = Self {
        at_once: 12,
        at_once_per_host: 12,
        idle_per_host: 4,
        turn: Duration::from_mins(1),
        ..Self::OBJECTS
    };

    /// Mails to a service that the operator configured: one host, as many at once as workers wait, messages of 40 MB in
    /// base64. The answer comes when the service has looked at the message.
    pub const MAIL: Self = Self {
        at_once: 256,
        at_once_per_host: 256,
        answer: Duration::from_mins(1),
        whole: Duration::from_mins(3),
        request_body: 56 * 1024 * 1024,
        idle_per_host: 32,
        hosts: 1,
        ..Self::GIVEN
    };

    /// Most connections: one for each request, and those that are kept.
    const fn connections(&self) -> usize {
        self.at_once + self.hosts * self.idle_per_host
    }
}

/// Most connections of the client.
pub const CONNECTIONS: usize = Limits::GIVEN.connections()
    + Limits::CONFIGURED.connections()
    + Limits::OBJECTS.connections()
    + Limits::COPIES.connections();
