//! The HTTP server: accepts connections within bounds, serves them, and lets them end.
//!
//! A connection costs a descriptor and some memory for as long as it is open, whoever holds it. So everything about it
//! is bounded: how many there are ([`places`], with numbers from the limit on open files in [`limits`]), and how long a
//! header, a pause and an answer may take ([`connection`]). If all places are taken, the connection that has waited
//! longest for a request makes room; if none waits for a request, one whose body does not come. Probes are answered
//! also then ([`beyond`]).
//!
//! [`Server::accept_until`] leaves open connections alone when it ends. [`Server::drain`] closes the connections that
//! only wait, and ends with the last answer.

mod beyond;
mod connection;
mod limits;
mod places;
mod stream;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;

use self::beyond::Seats;
pub(crate) use self::connection::Bounds;
use self::connection::{Conditions, Seat};
pub(crate) use self::limits::{Limits, connections, inbound_connections, raise_open_files};
use self::places::Places;
pub(crate) use self::places::network;

/// The answer to a client that gets not even a seat beyond the cap.
const TURNED_AWAY: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
/// How long accepting rests when it fails, or while others leave, at most.
const REST: Duration = Duration::from_millis(50);
/// How many connections that wait are closed when there are no descriptors left.
const CLOSED_AT_ONCE: usize = 32;
/// How often the same trouble is logged.
const TOLD_EVERY: Duration = Duration::from_secs(10);

/// The server, listening.
pub(crate) struct Server {
    listener: TcpListener,
    places: Arc<Places>,
    beyond_cap: Arc<Seats>,
    conditions: Arc<Conditions>,
    bounds: Bounds,
    connections: JoinSet<()>,
    full: Told,
    broken: Told,
}

impl Server {
    /// A server on a listener. Nothing is accepted yet.
    pub(crate) fn new(listener: TcpListener, router: Router, limits: &Limits) -> Self {
        tracing::info!(
            connections = limits.connections,
            per_client = limits.connections_per_client,
            "connections are bounded"
        );
        Self {
            listener,
            places: Arc::new(Places::new(limits.connections, limits.connections_per_client)),
            beyond_cap: Seats::new(limits.connections_per_client.is_some()),
            conditions: Arc::new(Conditions { router, stopping: watch::Sender::new(false) }),
            bounds: limits.bounds,
            connections: JoinSet::new(),
            full: Told::default(),
            broken: Told::default(),
        }
    }

    /// Accepts connections until `stop` is there. Open connections go on.
    pub(crate) async fn accept_until(&mut self, stop: impl Future<Output = ()>) {
        let mut stop = std::pin::pin!(stop);
        loop {
            // newcomers wait where they are: the system has a queue for them
            let _ = tokio::time::timeout(REST, self.places.wait_for_leaving()).await;
            tokio::select! {
                () = &mut stop => return,
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, peer)) => self.admit(stream, peer),
                    Err(error) => self.rest_after(&error).await,
                },
                Some(_) = self.connections.join_next() => {}
            }
        }
    }

    /// Stops listening, closes connections that only wait, and waits for the answers to requests that are there.
    pub(crate) async fn drain(self) {
        let Self { listener, conditions, mut connections, .. } = self;
        drop(listener);
        conditions.stopping.send_replace(true);
        while connections.join_next().await.is_some() {}
    }

    /// Gives a connection a place, or turns it away.
    fn admit(&mut self, stream: TcpStream, peer: SocketAddr) {
        let _ = stream.set_nodelay(true);
        let Some(seat) = self.seat(peer) else {
            let _ = stream.try_write(TURNED_AWAY);
            return;
        };
        let conditions = Arc::clone(&self.conditions);
        self.connections.spawn(connection::serve(stream, peer, seat, self.bounds, conditions));
    }

    /// By what right a client gets a connection; `None` when there is no room whatever it wants.
    fn seat(&mut self, peer: SocketAddr) -> Option<Seat> {
        if let Some(place) = self.places.take(peer.ip()) {
            return Some(Seat::Place(place));
        }
        if let Some(silent) = self.full.again() {
            tracing::warn!(
                silent,
                "all connections, or all of one client, are busy with requests, and further connections are \
                 refused; MAILWRIGHT_HTTP_CONNECTIONS and the limit on open files set how many there are"
            );
        }
        self.beyond_cap.take(peer.ip()).map(Seat::BeyondCap)
    }

    /// What to do about a connection that could not be accepted.
    async fn rest_after(&mut self, error: &std::io::Error) {
        use std::io::ErrorKind;
        // the client's own doing, about that one connection
        if matches!(
            error.kind(),
            ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset | ErrorKind::ConnectionRefused
        ) {
            return;
        }
        // most likely there are no descriptors left, in the process or on the machine
        let closed = self.places.make_room(CLOSED_AT_ONCE);
        if let Some(silent) = self.broken.again() {
            tracing::error!(
                %error, closed, silent,
                "connections cannot be accepted; if too many files are open, raise the limit (ulimit -n, LimitNOFILE) or lower MAILWRIGHT_HTTP_CONNECTIONS"
            );
        }
        tokio::time::sleep(REST).await;
    }
}

/// What is logged every now and then only.
#[derive(Debug, Default)]
struct Told {
    last: Option<Instant>,
    silent: u64,
}

impl Told {
    /// Whether it is time to say it again, and how often it was not said meanwhile.
    fn again(&mut self) -> Option<u64> {
        if self.last.is_some_and(|last| last.elapsed() < TOLD_EVERY) {
            self.silent += 1;
            return None;
        }
        self.last = Some(Instant::now());
        Some(std::mem::take(&mut self.silent))
    }
}
