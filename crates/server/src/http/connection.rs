//! One connection: its requests one after the other, its time limits, and its end.

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
use axum::http::header::{CONNECTION, HeaderValue, TRANSFER_ENCODING};
use axum::http::{Response, StatusCode};
use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use mailwright_api::NoRoom;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::Instant;
use tower::Service;

use super::beyond::BeyondCap;
use super::places::Place;
pub(crate) use super::stream::Bounds;
use super::stream::{Pulse, Watched};

/// How long a client that is beyond the cap has for its header.
const SHORT: Duration = Duration::from_secs(3);
/// How long a connection that we closed is listened to, so that what its client still sends does not make the system
/// throw away the answer that is on its way.
const LINGER: Duration = Duration::from_secs(5);
/// How long a client that is told to leave, or that is beyond the cap, may take nothing of its answer, and is listened
/// to after it.
const FAREWELL: Duration = Duration::from_secs(1);
/// Most bytes that are listened to after we closed a connection.
const MOST_LINGERED: usize = 64 * 1024 * 1024;
const PIECE: usize = 16 * 1024;
/// Most pieces that are taken of what a client has sent before it was told to leave.
const MOST_PIECES: usize = 16;

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
    BeyondCap(#[expect(dead_code, reason = "held until the connection ends")] BeyondCap),
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

    fn waits_for_body(&self) {
        if let Self::Place(place) = self {
            place.waits_for_body();
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

/// The body of a request. While nothing of it comes the connection makes room for others, and if it has to, the request
/// is told that there is none.
struct Question {
    body: Incoming,
    seat: Arc<Seat>,
    pulse: Arc<Pulse>,
    waits: bool,
}

impl HttpBody for Question {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        match Pin::new(&mut self.body).poll_frame(cx) {
            Poll::Ready(frame) => {
                if std::mem::take(&mut self.waits) {
                    self.seat.is_busy();
                }
                Poll::Ready(frame.map(|frame| frame.map_err(axum::Error::new)))
            }
            Poll::Pending if self.pulse.is_dismissed(cx.waker()) => {
                Poll::Ready(Some(Err(axum::Error::new(NoRoom))))
            }
            Poll::Pending => {
                if !std::mem::replace(&mut self.waits, true) {
                    self.seat.waits_for_body();
                }
                Poll::Pending
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Question {
    /// The handler has given up on the rest of the body, and works on the answer.
    fn drop(&mut self) {
        if self.waits && self.pulse.is_busy() {
            self.seat.is_busy();
        }
    }
}

/// How a request is answered whose header nobody should act on.
fn refusal(request: &Request<Incoming>, pulse: &Pulse, bounds: &Bounds) -> Option<StatusCode> {
    let mut codings = request.headers().get_all(TRANSFER_ENCODING).iter();
    let coding = codings.next();
    match () {
        () if length_of_header(request) > bounds.header_bytes => {
            Some(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE)
        }
        // whoever stands between may believe the other one (RFC 9112 section 6.1)
        () if coding.is_some() && pulse.has_length() => Some(StatusCode::BAD_REQUEST),
        () if coding.is_some_and(|coding| !coding.as_bytes().eq_ignore_ascii_case(b"chunked"))
            || codings.next().is_some() =>
        {
            Some(StatusCode::NOT_IMPLEMENTED)
        }
        () => None,
    }
}

/// How long a header is, written without needless spaces.
fn length_of_header(request: &Request<Incoming>) -> usize {
    let path = request.uri().path_and_query().map_or(1, |path| path.as_str().len());
    let first = request.method().as_str().len() + path + " ".len() + " HTTP/1.1\r\n".len();
    let fields = request.headers().iter();
    let fields = fields.map(|(name, value)| name.as_str().len() + ": ".len() + value.len() + "\r\n".len());
    first + fields.sum::<usize>() + "\r\n".len()
}

/// The answer to a request that nobody looked at.
fn refuse(status: StatusCode, exchange: Exchange) -> Response<Answer> {
    let mut answer = Response::new(Answer { body: Body::empty(), _exchange: exchange });
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    answer
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
            let refusal = refusal(&request, &pulse, &bounds);
            let question =
                |body| Question { body, seat: Arc::clone(&seat), pulse: Arc::clone(&pulse), waits: false };
            let mut request = request.map(|body| Body::new(question(body)));
            request.extensions_mut().insert(ConnectInfo(peer));
            if no_room {
                request.extensions_mut().insert(NoRoom);
            }
            let answer = router.clone().call(request);
            Box::pin(async move {
                if let Some(status) = refusal {
                    return Ok::<_, Infallible>(refuse(status, exchange));
                }
                let Ok(answer): Result<Response<Body>, Infallible> = answer.await;
                Ok::<_, Infallible>(answer.map(|body| Answer { body, _exchange: exchange }))
            })
        })
    };
    let mut builder = http1::Builder::new();
    // the clock of headers is ours, since it is another one for the time between two requests
    builder.header_read_timeout(None).max_buf_size(bounds.header_bytes).keep_alive(!no_room);
    let io = TokioIo::new(Watched { stream, pulse: Arc::clone(&pulse) });
    let mut connection = builder.serve_connection(io, service);
    let mut look = std::pin::pin!(tokio::time::sleep(bounds.shortest()));
    let (mut leaving, mut dismissed) = (false, false);
    loop {
        tokio::select! {
            // an error was about the connection, or answered already; either way this is its end
            _ = poll_fn(|cx| connection.poll_without_shutdown(cx)) => break,
            reason = reason_to_end(&seat, &mut stopping), if !leaving => {
                // who takes nothing of an answer will not take this one either
                if pulse.only_waits() || (reason == Reason::Needed && pulse.is_blocked()) {
                    return;
                }
                leaving = true;
                if reason == Reason::Needed {
                    dismissed = true;
                    bounds.write = bounds.write.min(FAREWELL);
                    look.as_mut().reset(Instant::now() + FAREWELL);
                    pulse.dismiss();
                }
                Pin::new(&mut connection).graceful_shutdown();
            }
            () = &mut look => match pulse.next_look(&bounds, Instant::now()) {
                Some(at) => look.as_mut().reset(at),
                None => return,
            },
        }
    }
    if pulse.is_ended() {
        return;
    }
    let stream = connection.into_parts().io.into_inner().stream;
    if dismissed {
        read_what_is_there(&stream);
        return;
    }
    seat.waits();
    let patience = if no_room { FAREWELL } else { LINGER };
    tokio::select! {
        () = linger(stream, patience) => {}
        () = seat.is_needed() => {}
    }
}

/// Why a connection is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reason {
    /// Its place is needed.
    Needed,
    /// The service stops.
    Stopping,
}

async fn reason_to_end(seat: &Seat, stopping: &mut watch::Receiver<bool>) -> Reason {
    tokio::select! {
        () = seat.is_needed() => Reason::Needed,
        _ = stopping.wait_for(|stopping| *stopping) => Reason::Stopping,
    }
}

/// Takes what the client has sent already, since the system throws the answer away where something is left unread.
fn read_what_is_there(stream: &TcpStream) {
    let mut piece = vec![0; PIECE];
    for _ in 0..MOST_PIECES {
        if !matches!(stream.try_read(&mut piece), Ok(bytes) if bytes > 0) {
            return;
        }
    }
}

/// Ends a connection so that its client gets to read the answer: says that nothing more comes, and reads what the
/// client still sends until it has noticed.
async fn linger(mut stream: TcpStream, patience: Duration) {
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
    let _ = tokio::time::timeout(patience, ending).await;
}
