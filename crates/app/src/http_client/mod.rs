//! Every HTTP request that the service makes.
//!
//! **Destinations.** A [`ConfiguredUrl`] was named by the operator and may lead to a private network. A [`GivenUrl`] was
//! named by a user and leads to public addresses alone, unless the setting `allow_private_networks` says otherwise
//! (`address_filter.rs`). Each kind has limits, places and connections of its own: a request to an address that a user gave
//! never uses a connection that was opened for the operator's. A name is resolved for each new connection, and the
//! address that was checked is the one that is connected to (`connector.rs`).
//!
//! **Outcome.** An [`Error`] says whether the request certainly was not sent, or whether that is in doubt. Nothing is
//! sent twice: a request that a connection began with is not repeated, unless it says that it
//! [`may_repeat`](Request::may_repeat).
//!
//! **Redirects** are an answer like any other, unless a request asks to follow them. A target is named by a server, so
//! that one with another host is treated like an address of a user.
//!
//! HTTP/1.1 is spoken, and every step has a limit (`limits.rs`).

mod address_filter;
mod connector;
mod destination;
mod error;
mod exchange;
mod hosts;
mod limits;
mod list;
mod network;
mod redirect;
#[cfg(test)]
mod tests;

use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use hyper::header::{HeaderName, HeaderValue};
use hyper::{HeaderMap, Method};
use mailwright_mail::dns::Dns;
use mailwright_tls::ClientTls;
use tokio::time::Instant;

pub use self::destination::{ConfiguredUrl, Destination, GivenUrl, NamedBy};
pub use self::error::{BadRedirect, Error, Failure, Part, Phase, Refusal};
pub use self::exchange::Answer;
pub use self::limits::{CONNECTIONS, Limits};

use self::address_filter::Filter;
use self::connector::Connector;
use self::exchange::{Message, exchange};
use self::hosts::Hosts;
use self::network::{OwnResolver, SystemResolver, Tcp};

/// Makes requests. Cheap to clone; clones share connections and limits.
#[derive(Clone)]
pub struct HttpClient(Arc<Inner>);

struct Inner {
    configured: Lane,
    given: Lane,
}

/// What requests to one kind of destination share.
struct Lane {
    limits: Limits,
    hosts: Hosts,
}

/// A request to a destination.
#[derive(Clone)]
pub struct Request<D> {
    to: D,
    method: Method,
    headers: HeaderMap,
    body: Bytes,
    follows_redirects: bool,
    may_repeat: bool,
    keeps: Option<usize>,
}

impl<D: Destination> Request<D> {
    /// A request without a body.
    pub fn new(method: Method, to: D) -> Self {
        let (headers, body) = (HeaderMap::new(), Bytes::new());
        Self { to, method, headers, body, follows_redirects: false, may_repeat: false, keeps: None }
    }

    /// GET.
    pub fn get(to: D) -> Self {
        Self::new(Method::GET, to)
    }

    /// POST.
    pub fn post(to: D, body: impl Into<Bytes>) -> Self {
        Self { body: body.into(), ..Self::new(Method::POST, to) }
    }

    /// The same with a body.
    #[must_use]
    pub fn with_body(self, body: impl Into<Bytes>) -> Self {
        Self { body: body.into(), ..self }
    }

    /// Adds a header. Those that say where the message ends, `Host` and others of the connection are the client's own;
    /// one of these that is given does not go out. `User-Agent` can be given.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.append(name, value);
        self
    }

    /// Follows redirects with the same method and body, instead of returning them as answers.
    #[must_use]
    pub fn following_redirects(self) -> Self {
        Self { follows_redirects: true, ..self }
    }

    /// Wants no more than the beginning of the answer's body. What is beyond is not read, and whatever happens to the rest
    /// of the body does not matter.
    #[must_use]
    pub fn keeping(self, bytes: usize) -> Self {
        Self { keeps: Some(bytes), ..self }
    }

    /// May be sent again when its connection ended before an answer began. Only for requests that change nothing at the
    /// server: a server often closes a kept connection in the moment in which it is used again.
    #[must_use]
    pub fn may_repeat(self) -> Self {
        Self { may_repeat: true, ..self }
    }
}

/// Whether an address that others named may be connected to: a public one or, where that is allowed, one of this machine
/// and of private networks.
pub(crate) fn may_connect(address: IpAddr, allows_private: bool) -> bool {
    let filter = if allows_private { Filter::PublicAndPrivate } else { Filter::Public };
    filter.check(address).is_ok()
}

impl HttpClient {
    /// A client that looks addresses of users up by `dns`.
    pub fn new(dns: Dns, allow_private_networks: bool) -> Self {
        Self::with(Limits::CONFIGURED, dns, allow_private_networks)
    }

    /// A client for lists that a command of the operator fetches.
    pub fn for_lists(dns: Dns) -> Self {
        Self::with(Limits::LISTS, dns, false)
    }

    /// A client for a store of objects that the operator configured.
    pub fn for_objects(dns: Dns) -> Self {
        Self::with(Limits::OBJECTS, dns, false)
    }

    /// A client for mails to a service that the operator configured.
    pub(crate) fn for_mail(dns: Dns) -> Self {
        Self::with(Limits::MAIL, dns, false)
    }

    /// A client for copies of the database in a store of objects that the operator configured.
    pub(crate) fn for_copies(dns: Dns) -> Self {
        Self::with(Limits::COPIES, dns, false)
    }

    fn with(configured: Limits, dns: Dns, allow_private_networks: bool) -> Self {
        let (tls, tcp) = (ClientTls::default(), Arc::new(Tcp));
        let filter = if allow_private_networks { Filter::PublicAndPrivate } else { Filter::Public };
        let lane = |limits, filter, resolver| {
            let dialer = Arc::<Tcp>::clone(&tcp);
            Lane::new(limits, Connector::new(limits, filter, resolver, dialer, tls.clone()))
        };
        Self(Arc::new(Inner {
            configured: lane(configured, Filter::Any, Arc::new(SystemResolver)),
            given: lane(Limits::GIVEN, filter, Arc::new(OwnResolver(dns))),
        }))
    }

    /// Makes a request.
    pub async fn send<D: Destination>(&self, request: Request<D>) -> Result<Answer, Error> {
        let Request { to, method, headers, body, follows_redirects, may_repeat, keeps } = request;
        let message = Message { url: to.url().clone(), method, headers, body, may_repeat, keeps };
        Box::pin(self.deliver(D::NAMED_BY, message, follows_redirects)).await
    }

    async fn deliver(
        &self,
        mut by: NamedBy,
        mut message: Message,
        follows_redirects: bool,
    ) -> Result<Answer, Error> {
        let mut deadline = None;
        let mut followed = 0;
        loop {
            let answer = self.lane(by).exchange(&message, &mut deadline).await;
            let answer = if followed == 0 { answer } else { answer.map_err(Error::after_a_redirect) }?;
            if !follows_redirects {
                return Ok(answer);
            }
            let Some(to) = redirect::target(&message.url, &answer).map_err(Error::Redirect)? else {
                return Ok(answer);
            };
            let most = self.lane(by).limits.redirects;
            if followed == most {
                return Err(Error::Redirect(BadRedirect::TooMany(most)));
            }
            if to.host() != message.url.host() {
                by = NamedBy::User;
            }
            destination::check(&to, by).map_err(|refusal| Error::Redirect(BadRedirect::Refused(refusal)))?;
            message = redirect::follow(message, to);
            followed += 1;
        }
    }

    fn lane(&self, by: NamedBy) -> &Lane {
        match by {
            NamedBy::Operator => &self.0.configured,
            NamedBy::User => &self.0.given,
        }
    }
}

/// Without headers and body, which can hold secrets.
impl<D: Destination> std::fmt::Debug for Request<D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Request").field("method", &self.method).field("to", &self.to).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("HttpClient")
    }
}

impl Lane {
    fn new(limits: Limits, connector: Connector) -> Self {
        Self { limits, hosts: Hosts::new(limits, connector) }
    }

    /// Makes one request, until the deadline, which the first one sets when it begins.
    async fn exchange(&self, message: &Message, deadline: &mut Option<Instant>) -> Result<Answer, Error> {
        message.check(&self.limits)?;
        let turn = self.hosts.turn(&destination::host(&message.url)).await?;
        let deadline = *deadline.get_or_insert_with(|| Instant::now() + self.limits.whole);
        // each of the connections that are kept may have ended
        let mut repeats = if message.may_repeat { self.limits.idle_per_host } else { 0 };
        loop {
            let answer = exchange(turn.pool(), message, &self.limits, deadline).await;
            if repeats == 0 || !matches!(answer, Err(Error::InDoubt(Failure::Exchange(_)))) {
                return answer;
            }
            repeats -= 1;
        }
    }
}
