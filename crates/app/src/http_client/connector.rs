//! Opens the connections of the pool. A name is resolved once, its addresses are filtered, and one of those that are
//! left is connected to: between check and connection nobody can put another address in.

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::BoxFuture;
use hyper::Uri;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use mailwright_tls::{ClientTls, Verify};
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_util::either::Either;

use super::address_filter::Filter;
use super::error::{Error, Failure, Phase, Refusal};
use super::limits::Limits;
use super::network::{Dial, Resolve};

/// Opens connections to one kind of destination. Cheap to clone.
#[derive(Clone)]
pub(super) struct Connector(Arc<Inner>);

struct Inner {
    limits: Limits,
    filter: Filter,
    resolver: Arc<dyn Resolve>,
    dialer: Arc<dyn Dial>,
    tls: ClientTls,
}

/// A connection, with TLS or without.
pub(super) struct Stream(Either<TcpStream, Box<TlsStream<TcpStream>>>);

impl Connector {
    pub(super) fn new(
        limits: Limits,
        filter: Filter,
        resolver: Arc<dyn Resolve>,
        dialer: Arc<dyn Dial>,
        tls: ClientTls,
    ) -> Self {
        Self(Arc::new(Inner { limits, filter, resolver, dialer, tls }))
    }
}

impl tower_service::Service<Uri> for Connector {
    type Response = TokioIo<Stream>;
    type Error = Error;
    type Future = BoxFuture<'static, Result<Self::Response, Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        let inner = Arc::clone(&self.0);
        Box::pin(async move { Ok(TokioIo::new(inner.open(&to).await?)) })
    }
}

impl Inner {
    async fn open(&self, to: &Uri) -> Result<Stream, Error> {
        let is_tls = to.scheme_str() == Some("https");
        let host = to.host().ok_or(Error::Refused(Refusal::Unreadable))?;
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let port = to.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
        let addresses = self.addresses(host).await?;
        let stream = self.connect(&addresses, port).await.map_err(Error::NotSent)?;
        if !is_tls {
            return Ok(Stream(Either::Left(stream)));
        }
        let stream = self.start_tls(host, stream).await.map_err(Error::NotSent)?;
        Ok(Stream(Either::Right(Box::new(stream))))
    }

    /// The addresses of a host that may be connected to, never none.
    async fn addresses(&self, host: &str) -> Result<Vec<IpAddr>, Error> {
        let found = match host.parse() {
            Ok(address) => vec![address],
            Err(_) => within(Phase::Resolving, self.limits.resolving, self.resolver.resolve(host))
                .await
                .map_err(Error::NotSent)?,
        };
        let mut error = Error::NotSent(Failure::NoSuchHost);
        let mut allowed = Vec::new();
        for address in found {
            match self.filter.check(address) {
                Ok(()) => allowed.push(address),
                Err(refusal) => error = Error::Refused(refusal),
            }
        }
        if allowed.is_empty() { Err(error) } else { Ok(allowed) }
    }

    /// Connects to the first of these addresses that answers.
    async fn connect(&self, addresses: &[IpAddr], port: u16) -> Result<TcpStream, Failure> {
        let limits = &self.limits;
        let deadline = Instant::now() + limits.connecting;
        let count = addresses.len().min(limits.addresses);
        let mut failure = Failure::timeout(Phase::Connecting, limits.connecting);
        for (nth, address) in addresses.iter().take(count).enumerate() {
            let left = deadline.saturating_duration_since(Instant::now());
            let limit = if nth + 1 == count { left } else { left.min(limits.connecting_to_each) };
            match timeout(limit, self.dialer.dial(SocketAddr::new(*address, port))).await {
                Ok(Ok(stream)) => {
                    // else a request waits for Nagle's algorithm and the other end's delayed acknowledgement
                    stream.set_nodelay(true).map_err(|error| Failure::Connection(error.to_string()))?;
                    return Ok(stream);
                }
                Ok(Err(error)) => failure = Failure::Connection(error.to_string()),
                Err(_) => failure = Failure::timeout(Phase::Connecting, limits.connecting),
            }
        }
        Err(failure)
    }

    async fn start_tls(&self, host: &str, stream: TcpStream) -> Result<TlsStream<TcpStream>, Failure> {
        let config = self.tls.get(Verify::Certificate).map_err(Failure::Tls)?;
        // certificates name hosts without the root's dot
        let name = ServerName::try_from(host.trim_end_matches('.').to_owned())
            .map_err(|error| Failure::Tls(error.to_string()))?;
        let handshake = TlsConnector::from(config).connect(name, stream);
        within(Phase::Tls, self.limits.tls, async { handshake.await.map_err(|error| tls_failure(&error)) })
            .await
    }
}

/// Why a handshake failed.
fn tls_failure(error: &io::Error) -> Failure {
    let cause = error.get_ref().and_then(|cause| cause.downcast_ref::<rustls::Error>());
    if matches!(cause, Some(rustls::Error::InvalidCertificate(_))) {
        Failure::Certificate(error.to_string())
    } else {
        Failure::Tls(error.to_string())
    }
}

async fn within<T>(
    phase: Phase,
    limit: Duration,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    timeout(limit, work).await.unwrap_or_else(|_| Err(Failure::timeout(phase, limit)))
}

impl Connection for Stream {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
