//! One connection: its requests one after the other, and its end.

use std::convert::Infallible;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, Request};
use axum::response::Response;
use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use mailwright_api::NoRoom;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::time::Instant;
use tower::Service;

use super::places::Place;
pub(crate) use super::stream::Bounds;
use super::stream::{Pulse, Watched};

/// How long a client that is beyond the cap has for its header.
const SHORT: Duration = Duration::from_secs(3);
/// How long a connection that we closed is listened to, so that what its client still sends does not make the system
/// throw away the answer that is on its way.
const LINGER: Duration = Duration::from_secs(5);
/// Most bytes that are listened to then.
const MOST_LINGERED: usize = 64 * 1024 * 1024;
const PIECE: usize = 16 * 1024;

/// What all connections have in common.
pub(super) struct Conditions {
    pub(super) router: Router,
    pub(super) stopping: watch::Sender<bool>,
}

/// By what right a connection is open.
#[derive(Debug)]
pub(super) enum Seat {
    /// It has a place.
    Place(Place),
    /// There is no place: only probes are answered.
    BeyondCap(#[expect(dead_code, reason = "held until the connection ends")] OwnedSemaphorePermit),
}

impl Seat {
    fn is_busy(&self) {
        if let Self::Place(place) = self {
            place.is_busy();
        }
    }

    fn waits(&self) {
        if let Self::Place(place) = self {
            place.waits();
        }
    }

    async fn is_needed(&self) {
        match self {
            Self::Place(place) => place.is_needed().await,
            Self::BeyondCap(_) => std::future::pending().await,
        }
    }
}

/// A request under way, from its header to the end of its answer.
struct Exchange {
    seat: Arc<Seat>,
    pulse: Arc<Pulse>,
}

impl Exchange {
    fn begin(seat: &Arc<Seat>, pulse: &Arc<Pulse>) -> Self {
        seat.is_busy();
        pulse.begin();
        Self { seat: Arc::clone(seat), pulse: Arc::clone(pulse) }
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.pulse.end();
        self.seat.waits();
    }
}

/// The body of an answer; with its end the exchange ends.
struct Answer {
    body: Body,
    _exchange: Exchange,
}

impl HttpBody for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Serves a connection until it ends.
pub(super) async fn serve(
    stream: TcpStream,
    peer: SocketAddr,
    seat: Seat,
    mut bounds: Bounds,
    conditions: Arc<Conditions>,
) {
    let no_room = matches!(seat, Seat::BeyondCap(_));
    if no_room {
        bounds = Bounds { header: SHORT, write: SHORT, ..bounds };
    }
    let (seat, pulse) = (Arc::new(seat), Pulse::new());
    let mut stopping = conditions.stopping.subscribe();
    let service = {
        let (seat, pulse, router) = (Arc::clone(&seat), Arc::clone(&pulse), conditions.router.clone());
        service_fn(move |request: Request<Incoming>| {
            let exchange = Exchange::begin(&seat, &pulse);
            let mut request = request.map(Body::new);
            request.extensions_mut().insert(ConnectInfo(peer));
            if no_room {
                request.extensions_mut().insert(NoRoom);
            }
            let answer = router.clone().call(request);
            Box::pin(async move {
                let Ok(answer): Result<Response, Infallible> = answer.await;
                Ok::<_, Infallible>(answer.map(|body| Answer { body, _exchange: exchange }))
            })
        })
    };
    let mut builder = http1::Builder::new();
    // the clock of headers is ours, since it is another one for the time between two requests
    builder.header_read_timeout(None).max_buf_size(bounds.header_bytes).keep_alive(!no_room);
    let io = TokioIo::new(Watched { stream, pulse: Arc::clone(&pulse) });
    let mut connection = builder.serve_connection(io, service);
    let mut look = std::pin::pin!(tokio::time::sleep(bounds.header));
    let mut leaving = false;
    loop {
        tokio::select! {
            // an error was about the connection, or answered already; either way this is its end
            _ = poll_fn(|cx| connection.poll_without_shutdown(cx)) => break,
            () = needed(&seat, &mut stopping), if !leaving => {
                if pulse.only_waits() {
                    return;
                }
                leaving = true;
                Pin::new(&mut connection).graceful_shutdown();
            }
            () = &mut look => match pulse.next_look(&bounds, Instant::now()) {
                Some(at) => look.as_mut().reset(at),
                None => return,
            },
        }
    }
    if !pulse.is_ended() {
        let stream = connection.into_parts().io.into_inner().stream;
        seat.waits();
        tokio::select! {
            () = linger(stream) => {}
            () = seat.is_needed() => {}
        }
    }
}

/// Whether the connection is to end: its place is needed, or the service stops.
async fn needed(seat: &Seat, stopping: &mut watch::Receiver<bool>) {
    tokio::select! {
        () = seat.is_needed() => {}
        _ = stopping.wait_for(|stopping| *stopping) => {}
    }
}

/// Ends a connection so that its client gets to read the answer: says that nothing more comes, and reads what the client
/// still sends until it has noticed.
async fn linger(mut stream: TcpStream) {
    let ending = async {
        stream.shutdown().await?;
        let (mut piece, mut read) = (vec![0; PIECE], 0);
        while read < MOST_LINGERED {
            match stream.read(&mut piece).await? {
                0 => break,
                bytes => read += bytes,
            }
        }
        Ok::<_, std::io::Error>(())
    };
    let _ = tokio::time::timeout(LINGER, ending).await;
}
