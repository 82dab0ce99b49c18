//! Bodies of requests on their way in: how long they may take, how many bytes of them are in memory at once, and what
//! becomes of one that nobody reads.
//!
//! Whoever showed a secret key or a session before the body is read is known. Strangers have a part of the room together,
//! and little time, and so has whoever shows a public key, which everybody can read in a web page: neither can keep out
//! those who are known. Nor can one client, or one project from many clients.

use std::collections::HashMap;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, BodyDataStream, HttpBody};
use axum::extract::Request;
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_LENGTH, EXPECT};
use axum::http::request::Parts;
use bytes::Bytes;
use futures_util::Stream;
use futures_util::stream::poll_fn;
use mailwright_app::session::ClientKey;
use mailwright_app::settings::BodySettings;
use mailwright_core::ids::ProjectNumber;
use tokio::sync::{Notify, Semaphore};
use tokio::time::{Instant, Sleep, sleep_until, timeout};

use crate::error::ApiError;
use crate::frame::NoRoom;

/// The first bytes of a body, which find room even where large bodies find none.
const SMALL: usize = 64 * 1024;
/// How long a body waits for room.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long the whole body of somebody may take who is not known.
const WHOLE_OF_OTHERS: Duration = Duration::from_secs(10);
/// In 64ths of all room: what strangers have together, and each of them.
const STRANGERS: (usize, usize) = (8, 2);
/// The same for public keys: all of them, those of a project, and a client.
const PUBLIC: (usize, usize, usize) = (16, 4, 1);
/// The same for a client, and for a project, that is known: large bodies, and all.
const KNOWN: (usize, usize) = (32, 48);
/// How much of the room all bodies together may fill, in 64ths: large ones, those of who is not known, and small ones.
const FILLED: (usize, usize, usize) = (48, 56, 64);
/// Most bytes of a body that are read although the request is answered already, and for how long.
const MOST_DRAINED: usize = 256 * 1024;
const DRAINED_FOR: Duration = Duration::from_secs(1);

/// Why a body could not be read to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trouble {
    TooSlow,
    NoRoom,
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooSlow => "the body took too long",
            Self::NoRoom => "there is no room for the body",
        })
    }
}

impl std::error::Error for Trouble {}

/// What a client is told whose body could not be read.
pub(crate) fn failure(error: &axum::Error) -> ApiError {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if error.is::<NoRoom>() {
            return ApiError::no_room();
        }
        match error.downcast_ref::<Trouble>() {
            Some(Trouble::TooSlow) => return ApiError::body_too_slow(),
            Some(Trouble::NoRoom) => return ApiError::no_room_for_body(),
            None => cause = error.source(),
        }
    }
    ApiError::bad_request("The body could not be read.")
}

/// The bodies of all requests under way.
#[derive(Debug)]
pub(crate) struct Bodies {
    settings: BodySettings,
    held: Mutex<Held>,
    freed: Notify,
    /// Turns for reading what is long: it takes a processor for a while, and several times the memory.
    parsers: Arc<Semaphore>,
}

#[derive(Debug, Default)]
struct Held {
    all: usize,
    shares: HashMap<Share, usize>,
}

/// Who has shown what before the body is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Standing {
    /// A secret key, or a session.
    Known,
    /// A public key.
    Public,
    /// Nothing.
    Stranger,
}

/// Whose body it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Owner {
    standing: Standing,
    client: ClientKey,
    /// For which project, where a key says so.
    project: Option<ProjectNumber>,
}

/// What part of the room is counted by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Share {
    All(Standing),
    Client(Standing, ClientKey),
    Project(Standing, ProjectNumber),
}

impl Owner {
    /// The shares that a body of theirs counts in, with what each may hold, in 64ths of all room.
    fn shares(self, is_small: bool) -> impl Iterator<Item = (Share, usize)> {
        let standing = self.standing;
        let known = if is_small { KNOWN.1 } else { KNOWN.0 };
        let (all, project, client) = match standing {
            Standing::Stranger => (STRANGERS.0, STRANGERS.0, STRANGERS.1),
            Standing::Public => PUBLIC,
            Standing::Known => (FILLED.2, known, known),
        };
        let project = self.project.map(|number| (Share::Project(standing, number), project));
        [(Share::All(standing), all), (Share::Client(standing, self.client), client)]
            .into_iter()
            .chain(project)
    }
}

/// Who vouches for a request, with its body.
#[derive(Debug, Clone, Default)]
struct Vouched(Arc<OnceLock<(Standing, Option<ProjectNumber>)>>);

/// Says that the key or session of a request is valid, before its body is read.
pub(crate) fn vouch(parts: &Parts, standing: Standing, project: Option<ProjectNumber>) {
    if let Some(Vouched(vouched)) = parts.extensions.get() {
        let _ = vouched.set((standing, project));
    }
}

impl Bodies {
    pub(crate) fn new(settings: BodySettings) -> Arc<Self> {
        let parsers = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Arc::new(Self {
            settings,
            held: Mutex::default(),
            freed: Notify::new(),
            parsers: Arc::new(Semaphore::new(parsers)),
        })
    }

    /// Does something that takes long away from the threads that requests are answered on.
    pub(crate) async fn apart<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ApiError> {
        let turn = Arc::clone(&self.parsers).acquire_owned().await;
        // the work goes on when the client goes away, and so does its turn
        let working = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            work()
        });
        working.await.map_err(|error| {
            ApiError::from(mailwright_app::Error::Internal(format!("reading a body failed: {error}")))
        })
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes room for more of a body of which `before` bytes are there.
    fn take(&self, owner: Owner, before: usize, bytes: usize) -> bool {
        let part = |of_64: usize| self.settings.budget / 64 * of_64;
        let is_small = before + bytes <= SMALL;
        let mut held = self.held();
        let filled = match owner.standing {
            Standing::Known if is_small => FILLED.2,
            Standing::Known => FILLED.0,
            Standing::Public | Standing::Stranger => FILLED.1,
        };
        let has_room = |(share, most): (Share, usize)| {
            held.shares.get(&share).copied().unwrap_or_default() + bytes <= part(most)
        };
        let fits = held.all + bytes <= part(filled) && owner.shares(is_small).all(has_room);
        if fits {
            held.all += bytes;
            for (share, _) in owner.shares(is_small) {
                *held.shares.entry(share).or_default() += bytes;
            }
        }
        fits
    }

    async fn wait_for_room(self: Arc<Self>, owner: Owner, before: usize, bytes: usize) -> bool {
        let room = async {
            loop {
                let freed = self.freed.notified();
                if self.take(owner, before, bytes) {
                    return;
                }
                freed.await;
            }
        };
        timeout(PATIENCE, room).await.is_ok()
    }

    fn give_back(&self, owner: Owner, bytes: usize) {
        if bytes == 0 {
            return;
        }
        let mut held = self.held();
        held.all -= bytes;
        for (share, _) in owner.shares(true) {
            if let Some(of_share) = held.shares.get_mut(&share) {
                *of_share -= bytes;
                if *of_share == 0 {
                    held.shares.remove(&share);
                }
            }
        }
        drop(held);
        self.freed.notify_waiters();
    }
}

/// Whether there is room after a while.
type Room = Pin<Box<dyn Future<Output = bool> + Send>>;

/// A body that is being read by whoever answers the request, or by nobody.
struct Source {
    stream: BodyDataStream,
    bodies: Arc<Bodies>,
    vouched: Vouched,
    /// As known when reading began.
    owner: Owner,
    read: usize,
    taken: usize,
    /// A piece that waits for room.
    waiting: Option<(Bytes, Room)>,
    silence: Option<Pin<Box<Sleep>>>,
    until: Option<Instant>,
    state: State,
    /// Nobody keeps what is read.
    dropping: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Unread,
    Reading,
    Ended,
    Failed,
}

impl Source {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, axum::Error>>> {
        if matches!(self.state, State::Ended | State::Failed) {
            return Poll::Ready(None);
        }
        if self.state == State::Unread {
            let stranger = (Standing::Stranger, None);
            (self.owner.standing, self.owner.project) = self.vouched.0.get().copied().unwrap_or(stranger);
        }
        self.state = State::Reading;
        if let Some((_, room)) = &mut self.waiting {
            let found = ready!(room.as_mut().poll(cx));
            let Some((piece, _)) = self.waiting.take() else { return self.fail(Trouble::NoRoom) };
            return if found { self.pass(piece) } else { self.fail(Trouble::NoRoom) };
        }
        let now = Instant::now();
        let whole = match self.owner.standing {
            Standing::Known => self.bodies.settings.whole,
            Standing::Public | Standing::Stranger => self.bodies.settings.whole.min(WHOLE_OF_OTHERS),
        };
        let until = *self.until.get_or_insert(now + whole);
        match Pin::new(&mut self.stream).poll_next(cx) {
            Poll::Ready(Some(Ok(piece))) => {
                self.silence = None;
                if now > until {
                    return self.fail(Trouble::TooSlow);
                }
                self.admit(piece, cx)
            }
            Poll::Ready(Some(Err(error))) => {
                self.state = State::Failed;
                Poll::Ready(Some(Err(error)))
            }
            Poll::Ready(None) => {
                self.state = State::Ended;
                Poll::Ready(None)
            }
            Poll::Pending => {
                let end = until.min(now + self.bodies.settings.pause);
                let silence = self.silence.get_or_insert_with(|| Box::pin(sleep_until(end)));
                ready!(silence.as_mut().poll(cx));
                self.fail(Trouble::TooSlow)
            }
        }
    }

    fn admit(&mut self, piece: Bytes, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, axum::Error>>> {
        let (owner, before, bytes) = (self.owner, self.taken, piece.len());
        if self.dropping {
            self.read += bytes;
            return Poll::Ready(Some(Ok(piece)));
        }
        if self.bodies.take(owner, before, bytes) {
            return self.pass(piece);
        }
        let room = Arc::clone(&self.bodies).wait_for_room(owner, before, bytes);
        self.waiting = Some((piece, Box::pin(room)));
        self.poll(cx)
    }

    fn pass(&mut self, piece: Bytes) -> Poll<Option<Result<Bytes, axum::Error>>> {
        self.read += piece.len();
        self.taken += piece.len();
        Poll::Ready(Some(Ok(piece)))
    }

    fn fail(&mut self, trouble: Trouble) -> Poll<Option<Result<Bytes, axum::Error>>> {
        self.state = State::Failed;
        Poll::Ready(Some(Err(axum::Error::new(trouble))))
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        self.bodies.give_back(self.owner, self.taken);
    }
}

/// The part of a body that nobody has read when its request is answered.
pub(crate) struct Rest {
    source: Arc<Mutex<Source>>,
    length: Option<usize>,
    /// The client sends the body only when it is told to go on.
    waits: bool,
}

/// Watches over the body of a request. `None` when there is none.
pub(crate) fn watch(request: &mut Request, bodies: &Arc<Bodies>, client: ClientKey) -> Option<Rest> {
    if request.body().is_end_stream() {
        return None;
    }
    let body = std::mem::take(request.body_mut());
    let vouched = Vouched::default();
    request.extensions_mut().insert(vouched.clone());
    let source = Source {
        stream: body.into_data_stream(),
        bodies: Arc::clone(bodies),
        vouched,
        owner: Owner { standing: Standing::Stranger, client, project: None },
        read: 0,
        taken: 0,
        waiting: None,
        silence: None,
        until: None,
        state: State::Unread,
        dropping: false,
    };
    let source = Arc::new(Mutex::new(source));
    let reader = Arc::clone(&source);
    *request.body_mut() = Body::from_stream(poll_fn(move |cx| lock(&reader).poll(cx)));
    let headers = request.headers();
    Some(Rest { source, length: length(headers), waits: headers.contains_key(EXPECT) })
}

fn lock(source: &Mutex<Source>) -> MutexGuard<'_, Source> {
    source.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How long the body is, as far as the client says so.
pub(crate) fn length(headers: &HeaderMap) -> Option<usize> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

impl Rest {
    /// Reads a little of what is left. Whether the connection can take another request afterwards: it cannot while
    /// there is more, and must say so, or the client's next request would meet its end.
    pub(crate) async fn read(self) -> bool {
        {
            let mut source = lock(&self.source);
            match source.state {
                State::Ended => return true,
                State::Failed => return false,
                State::Unread if self.waits => return false,
                State::Unread | State::Reading => {}
            }
            if self.length.is_some_and(|length| length.saturating_sub(source.read) > MOST_DRAINED) {
                return false;
            }
            source.dropping = true;
            if let Some((piece, _)) = source.waiting.take() {
                source.read += piece.len();
            }
        }
        let most = lock(&self.source).read + MOST_DRAINED;
        let mut pieces = poll_fn(|cx| lock(&self.source).poll(cx));
        let reading = async {
            while let Some(Ok(_)) = futures_util::StreamExt::next(&mut pieces).await {
                if lock(&self.source).read > most {
                    break;
                }
            }
        };
        let _ = timeout(DRAINED_FOR, reading).await;
        lock(&self.source).state == State::Ended
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;

    const MB: usize = 1024 * 1024;

    fn client(last: u8) -> ClientKey {
        ClientKey::of(IpAddr::from([10, 0, 0, last]))
    }

    fn owner(standing: Standing, last: u8, project: Option<i64>) -> Owner {
        Owner { standing, client: client(last), project: project.map(ProjectNumber) }
    }

    fn bodies() -> Arc<Bodies> {
        let (pause, whole) = (Duration::from_millis(20), Duration::from_mins(5));
        Bodies::new(BodySettings { pause, whole, budget: 100 * MB })
    }

    /// A request whose body comes in these pieces and then, if it is not `complete`, no further.
    fn request(pieces: &[&'static str], complete: bool) -> Request {
        let pieces: Vec<_> =
            pieces.iter().map(|piece| Ok::<_, std::io::Error>(Bytes::from(*piece))).collect();
        let pieces = futures_util::stream::iter(pieces);
        let rest = poll_fn(move |_| if complete { Poll::Ready(None) } else { Poll::Pending });
        Request::new(Body::from_stream(futures_util::StreamExt::chain(pieces, rest)))
    }

    #[tokio::test]
    async fn what_nobody_reads_is_read_a_little() {
        let bodies = bodies();
        let mut short = request(&["some", "more"], true);
        assert!(watch(&mut short, &bodies, client(1)).unwrap().read().await);
        let mut long = request(&["x"; 2], true);
        long.headers_mut().insert(CONTENT_LENGTH, (MOST_DRAINED + 1).into());
        assert!(!watch(&mut long, &bodies, client(1)).unwrap().read().await);
        let mut waits = request(&["x"], true);
        waits.headers_mut().insert(EXPECT, axum::http::HeaderValue::from_static("100-continue"));
        assert!(!watch(&mut waits, &bodies, client(1)).unwrap().read().await);
        assert!(watch(&mut Request::new(Body::empty()), &bodies, client(1)).is_none());
    }

    #[tokio::test]
    async fn who_pauses_too_long_is_told() {
        let bodies = bodies();
        let mut request = request(&["some"], false);
        let rest = watch(&mut request, &bodies, client(1)).unwrap();
        let error = axum::body::to_bytes(request.into_body(), MB).await.unwrap_err();
        let answer = axum::response::IntoResponse::into_response(failure(&error));
        assert_eq!(answer.status(), 408);
        assert!(!rest.read().await, "the connection is of no use any more");
        assert_eq!(bodies.held().all, 0, "what was taken is given back");
    }

    #[tokio::test]
    async fn bodies_share_what_there_is() {
        let bodies = bodies();
        let known = |last| owner(Standing::Known, last, None);
        assert!(bodies.take(known(1), SMALL, 50 * MB), "the largest body fits");
        assert!(!bodies.take(known(1), SMALL, 1), "a client has half");
        assert!(bodies.take(known(1), 0, 1), "and small ones beside that");
        bodies.give_back(known(1), 1);
        assert!(bodies.take(known(2), SMALL, 25 * MB));
        assert!(!bodies.take(known(2), SMALL, 1), "a quarter is for small ones");
        assert!(bodies.take(known(2), 0, SMALL));
        assert!(!Arc::clone(&bodies).wait_for_room(known(3), SMALL, MB).await);
        bodies.give_back(known(1), 50 * MB);
        assert!(Arc::clone(&bodies).wait_for_room(known(3), SMALL, MB).await);
        bodies.give_back(known(2), 25 * MB + SMALL);
        bodies.give_back(known(3), MB);
        assert!(bodies.held().shares.is_empty(), "{:?}", bodies.held().shares);
    }

    #[tokio::test]
    async fn a_project_leaves_room_for_others_however_many_its_clients_are() {
        let bodies = bodies();
        let known = |last, project| owner(Standing::Known, last, Some(project));
        let taken = (1..100).filter(|last| bodies.take(known(*last, 1), SMALL, MB)).count();
        assert_eq!(taken, 50);
        assert!(bodies.take(known(1, 2), SMALL, 25 * MB));
    }

    #[test]
    fn strangers_leave_room_for_those_who_are_known() {
        let bodies = bodies();
        let small = |owner: Owner| {
            std::iter::repeat_with(|| bodies.take(owner, 0, SMALL)).take_while(|taken| *taken).count()
        };
        let stranger = |last| owner(Standing::Stranger, last, None);
        let room = 100 * MB / 8 / SMALL;
        assert_eq!(small(stranger(1)), room / 4, "one of them has a part of it");
        let others: usize = (2..200).map(|last| small(stranger(last))).sum();
        assert_eq!(others, room - room / 4);
        assert!(!bodies.take(stranger(250), 0, SMALL), "all of them together have an eighth");
        // those who show public keys have a part of their own
        let public = |last, project| owner(Standing::Public, last, Some(project));
        let room = 100 * MB / 4 / SMALL;
        assert_eq!(small(public(1, 1)), room / 16, "a client");
        let project: usize = (2..200).map(|last| small(public(last, 1))).sum();
        assert_eq!(project, room / 4 - room / 16, "a project from all clients");
        assert_eq!((2..10).map(|number| small(public(200, number))).sum::<usize>(), room / 16);
        let others: usize = (2..10).map(|number| small(public(200 + number, i64::from(number)))).sum();
        assert!(others <= room - room / 4);
        assert!(
            small(owner(Standing::Known, 1, Some(1))) > 900,
            "who is known has the rest, also from there"
        );
    }

    #[tokio::test]
    async fn who_shows_a_key_before_the_body_is_known() {
        let bodies = bodies();
        let body =
            || Body::from_stream(futures_util::stream::iter([Ok::<_, std::io::Error>(Bytes::from("x"))]));
        for standing in [Standing::Stranger, Standing::Public, Standing::Known] {
            let mut request = Request::new(body());
            let rest = watch(&mut request, &bodies, client(1)).unwrap();
            let (parts, body) = request.into_parts();
            let project = Some(ProjectNumber(1)).filter(|_| standing != Standing::Stranger);
            if standing != Standing::Stranger {
                vouch(&parts, standing, project);
            }
            axum::body::to_bytes(body, MB).await.unwrap();
            assert_eq!(lock(&rest.source).owner, Owner { standing, client: client(1), project });
        }
    }
}
