//! Bodies of requests on their way in: how long they may take, how many bytes of them are in memory at once, and what
//! happens to the rest of a body that nobody reads.
//!
//! A client that showed a secret key or a session before the body is read is known. Strangers share an eighth of the
//! room, and have little time. A client with a public key counts as a stranger, because everybody can read that key in
//! a web page. Strangers cannot keep out known clients.
//!
//! One client, or one project with many clients, has a share of the room for small bodies and a share of the room for
//! large ones; the two together leave room for others. Many clients together leave some too: a client or a project may
//! hold a quarter of the free room of its kind, and four times as much for large bodies. So the more clients there are,
//! the less each may hold, and something is left for one more.
//!
//! Room is taken for the bytes that came, not for the announced length; otherwise a few bytes would keep many away.
//! Large bodies of one project are an exception. They must find room in its share for their announced length, so that
//! as many are read as fit, instead of all of them by halves. A client that announces much and sends nothing takes that
//! room from its own project. If room is short between others, or for bodies without a length, a body that has waited
//! too long makes room for those that still wait.

mod room;

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
use mailwright_app::account::session::ClientKey;
use mailwright_app::settings::BodySettings;
use mailwright_core::ids::ProjectNumber;
use tokio::sync::{Notify, Semaphore};
use tokio::time::{Instant, Sleep, sleep_until, timeout};

use crate::error::ApiError;
use crate::middleware::NoRoom;

pub(crate) use self::room::Standing;
use self::room::{Held, Hold, Owner};

/// How long a body waits for room.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long the whole body of somebody may take who is not known.
const WHOLE_OF_OTHERS: Duration = Duration::from_secs(10);
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

    /// Takes room for more of a body, if there is some.
    fn take(&self, hold: Hold, bytes: usize) -> bool {
        let mut all = self.held();
        let fits = all.exchange(hold, hold.with(bytes), self.settings.budget);
        if !fits {
            all.add(hold);
        }
        fits
    }

    /// The same, but where there is none, the body gives back what it has. Both are one step: of several bodies whose
    /// patience ends at once the first makes room, and the others find it.
    fn take_or_leave(&self, hold: Hold, bytes: usize) -> bool {
        let fits = self.held().exchange(hold, hold.with(bytes), self.settings.budget);
        if !fits {
            self.freed.notify_waiters();
        }
        fits
    }

    /// Whether there is room after a while. When there is none, the body holds nothing any more.
    async fn wait_for_room(self: Arc<Self>, hold: Hold, bytes: usize) -> bool {
        let room = async {
            loop {
                let freed = self.freed.notified();
                if self.take(hold, bytes) {
                    return;
                }
                freed.await;
            }
        };
        timeout(PATIENCE, room).await.is_ok() || self.take_or_leave(hold, bytes)
    }

    fn give_back(&self, hold: Hold) {
        if hold.taken > 0 {
            self.held().remove(hold);
            self.freed.notify_waiters();
        }
    }
}

/// Whether there is room after a while.
type Room = Pin<Box<dyn Future<Output = bool> + Send>>;

/// A body that is being read by the handler of the request, or by nobody.
struct Source {
    stream: BodyDataStream,
    bodies: Arc<Bodies>,
    vouched: Vouched,
    /// The owner is as known when reading began.
    hold: Hold,
    read: usize,
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
            let owner = &mut self.hold.owner;
            (owner.standing, owner.project) = self.vouched.0.get().copied().unwrap_or(stranger);
        }
        self.state = State::Reading;
        if let Some((_, room)) = &mut self.waiting {
            let found = ready!(room.as_mut().poll(cx));
            if let Some((piece, _)) = self.waiting.take().filter(|_| found) {
                return self.pass(piece);
            }
            self.hold.taken = 0;
            return self.fail(Trouble::NoRoom);
        }
        let now = Instant::now();
        let whole = match self.hold.owner.standing {
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
        let (hold, bytes) = (self.hold, piece.len());
        if self.dropping {
            self.read += bytes;
            return Poll::Ready(Some(Ok(piece)));
        }
        if self.bodies.take(hold, bytes) {
            return self.pass(piece);
        }
        let room = Arc::clone(&self.bodies).wait_for_room(hold, bytes);
        self.waiting = Some((piece, Box::pin(room)));
        self.poll(cx)
    }

    fn pass(&mut self, piece: Bytes) -> Poll<Option<Result<Bytes, axum::Error>>> {
        self.read += piece.len();
        self.hold = self.hold.with(piece.len());
        Poll::Ready(Some(Ok(piece)))
    }

    fn fail(&mut self, trouble: Trouble) -> Poll<Option<Result<Bytes, axum::Error>>> {
        self.state = State::Failed;
        Poll::Ready(Some(Err(axum::Error::new(trouble))))
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        self.bodies.give_back(self.hold);
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
    let headers = request.headers();
    let (length, waits) = (length(headers), headers.contains_key(EXPECT));
    let owner = Owner { standing: Standing::Stranger, client, project: None };
    let source = Source {
        stream: body.into_data_stream(),
        bodies: Arc::clone(bodies),
        vouched,
        hold: Hold { owner, taken: 0, announced: length.unwrap_or_default() },
        read: 0,
        waiting: None,
        silence: None,
        until: None,
        state: State::Unread,
        dropping: false,
    };
    let source = Arc::new(Mutex::new(source));
    let reader = Arc::clone(&source);
    *request.body_mut() = Body::from_stream(poll_fn(move |cx| lock(&reader).poll(cx)));
    Some(Rest { source, length, waits })
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

    use super::room::{SMALL, STRANGERS};
    use super::*;

    const MB: usize = 1024 * 1024;

    fn client(last: u8) -> ClientKey {
        ClientKey::of(IpAddr::from([10, 0, 0, last]))
    }

    fn owner(standing: Standing, last: u8, project: Option<i64>) -> Owner {
        Owner { standing, client: client(last), project: project.map(ProjectNumber) }
    }

    fn body(owner: Owner) -> Hold {
        Hold { owner, taken: 0, announced: 0 }
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
        let known = |last| body(owner(Standing::Known, last, None));
        assert!(bodies.take(known(1), 50 * MB), "the largest body fits");
        assert!(!bodies.take(known(1), SMALL + 1), "a client has half");
        assert!(bodies.take(known(1), SMALL), "and small ones beside that");
        assert!(bodies.take(known(2), 25 * MB));
        assert!(!bodies.take(known(2).with(25 * MB), 1), "a quarter is for others");
        assert!(bodies.take(known(2), SMALL));
        assert!(bodies.take(known(3), 14 * MB));
        assert!(!bodies.take(known(4), 4 * MB), "the last of it is for small ones");
        assert!(bodies.take(known(4), SMALL));
        assert!(!Arc::clone(&bodies).wait_for_room(known(4).with(SMALL), 4 * MB).await);
        bodies.give_back(known(3).with(14 * MB));
        assert!(Arc::clone(&bodies).wait_for_room(known(4), MB).await);
        for hold in [known(1).with(50 * MB), known(2).with(25 * MB), known(1).with(SMALL)] {
            bodies.give_back(hold);
        }
        bodies.give_back(known(2).with(SMALL));
        bodies.give_back(known(4).with(MB));
        let held = bodies.held();
        assert!(held.all == 0 && held.shares.is_empty(), "{held:?}");
    }

    #[test]
    fn a_client_or_project_leaves_room_for_others_with_small_bodies_and_with_large_ones() {
        let of_client = |n: u8| owner(Standing::Known, 1, Some(i64::from(n)));
        let of_project = |n: u8| owner(Standing::Known, n, Some(1));
        let owners: [&dyn Fn(u8) -> Owner; 2] = [&of_client, &of_project];
        for (sizes, of_owner) in [vec![SMALL], vec![MB], vec![MB, SMALL], vec![SMALL, MB]]
            .into_iter()
            .flat_map(|sizes| owners.map(|of_owner| (sizes.clone(), of_owner)))
        {
            let bodies = bodies();
            for size in &sizes {
                let taken =
                    (0..2000_u32).filter(|n| bodies.take(body(of_owner((n % 100) as u8)), *size)).count();
                assert_eq!(taken * size / MB, if *size == SMALL { 7 } else { 50 });
            }
            let other = |last| body(owner(Standing::Known, last, Some(i64::from(last))));
            assert!(bodies.take(other(200), 20 * MB), "{sizes:?}");
            assert!(bodies.take(other(200), SMALL), "{sizes:?}");
            assert!(bodies.take(other(201), MB), "{sizes:?}");
        }
    }

    #[test]
    fn however_many_take_what_they_may_there_is_room_for_one_more() {
        for size in [1000, SMALL, MB] {
            let bodies = bodies();
            let known = |n: u8| body(owner(Standing::Known, n, Some(i64::from(n))));
            let stranger = |n: u8| body(owner(Standing::Stranger, n, None));
            for n in 0..20 {
                while bodies.take(known(n), size) {}
                while size == 1000 && bodies.take(stranger(n), size) {}
            }
            for fits in [100, SMALL].into_iter().filter(|fits| *fits <= size) {
                assert!(bodies.take(known(200), fits), "{fits} beside {size}");
            }
            assert!(bodies.take(stranger(200), 100));
        }
    }

    #[test]
    fn as_many_bodies_are_read_as_fit() {
        let bodies = bodies();
        let hold = |project| Hold { announced: 24 * MB, ..body(owner(Standing::Known, 1, Some(project))) };
        assert!(bodies.take(hold(1), SMALL + 1) && bodies.take(hold(1), SMALL + 1));
        assert!(!bodies.take(hold(1), SMALL + 1), "it would not fit");
        assert!(bodies.take(hold(1), SMALL), "its beginning does");
        let another = body(owner(Standing::Known, 1, Some(2)));
        assert!(bodies.take(another, 49 * MB), "what was announced only takes nothing from others");
        bodies.give_back(another.with(49 * MB));
        for _ in 0..2 {
            assert!(bodies.take(hold(1).with(SMALL + 1), 24 * MB - SMALL - 1));
        }
    }

    #[test]
    fn of_bodies_that_wait_one_makes_room_for_the_others() {
        let bodies = bodies();
        let mut holds = [1, 2, 3, 4].map(|project| body(owner(Standing::Known, 1, Some(project)))).to_vec();
        let grow = |holds: &mut Vec<Hold>| {
            for _ in 0..24 {
                for hold in holds.iter_mut().filter(|hold| hold.taken < 24 * MB) {
                    if bodies.take(*hold, MB) {
                        *hold = hold.with(MB);
                    }
                }
            }
        };
        grow(&mut holds);
        assert!(holds.iter().all(|hold| hold.taken < 14 * MB), "all are half read");
        while let Some(at) = holds.iter().position(|hold| hold.taken < 24 * MB) {
            let hold = holds.remove(at);
            assert!(!bodies.take_or_leave(hold, MB));
            if let Some(next) = holds.get_mut(at) {
                assert!(bodies.take_or_leave(*next, MB), "there is room now");
                *next = next.with(MB);
            }
            grow(&mut holds);
        }
        assert_eq!(holds.len(), 2);
        assert_eq!(bodies.held().all, 48 * MB, "what gave way holds nothing");
    }

    #[tokio::test]
    async fn who_finds_no_room_is_told_and_holds_nothing() {
        let bodies = bodies();
        let mut request = request(&["some", "more"], true);
        let rest = watch(&mut request, &bodies, client(1)).unwrap();
        let mut pieces = request.into_body().into_data_stream();
        assert!(futures_util::StreamExt::next(&mut pieces).await.unwrap().is_ok());
        let others = 100 * MB / 64 * STRANGERS.0 / 5 - 4;
        assert!(bodies.take(body(owner(Standing::Stranger, 1, None)), others));
        let error = futures_util::StreamExt::next(&mut pieces).await.unwrap().unwrap_err();
        let answer = axum::response::IntoResponse::into_response(failure(&error));
        assert_eq!(answer.status(), 503);
        assert_eq!(bodies.held().all, others, "at once");
        drop((pieces, rest));
        assert_eq!(bodies.held().all, others, "and not once more");
    }

    #[test]
    fn strangers_leave_room_for_those_who_are_known() {
        let bodies = bodies();
        let small = |owner: Owner| {
            std::iter::repeat_with(|| bodies.take(body(owner), SMALL)).take_while(|taken| *taken).count()
        };
        let stranger = |last| owner(Standing::Stranger, last, None);
        let room = 100 * MB / 8 / SMALL;
        assert_eq!(small(stranger(1)), room / 5, "one of them has a part of it");
        let others: usize = (2..200).map(|last| small(stranger(last))).sum();
        assert!((room - room / 5 - 6..room - room / 5).contains(&others), "{others} of {room}");
        assert!(!bodies.take(body(stranger(250)), SMALL), "all of them together have an eighth");
        assert!(bodies.take(body(stranger(250)), 1000), "there is some left for those who ask for little");
        // those who show public keys have a part of their own
        let public = |last, project| owner(Standing::Public, last, Some(project));
        let room = 100 * MB / 4 / SMALL;
        assert_eq!(small(public(1, 1)), room / 16, "a client");
        let project: usize = (2..200).map(|last| small(public(last, 1))).sum();
        assert_eq!(project, room / 5 - room / 16, "a project from all clients");
        assert_eq!((2..10).map(|number| small(public(200, number))).sum::<usize>(), room / 16);
        let others: usize = (2..10).map(|number| small(public(200 + number, i64::from(number)))).sum();
        assert!(others <= room - room / 4);
        // who is known has their part nevertheless, also from there
        let known = owner(Standing::Known, 1, Some(1));
        assert_eq!(small(known), 100 * MB / 8 * 3 / 5 / SMALL);
        assert!(bodies.take(body(known), 25 * MB));
    }

    #[tokio::test]
    async fn who_shows_a_key_before_the_body_is_known() {
        let bodies = bodies();
        let content =
            || Body::from_stream(futures_util::stream::iter([Ok::<_, std::io::Error>(Bytes::from("x"))]));
        for standing in [Standing::Stranger, Standing::Public, Standing::Known] {
            let mut request = Request::new(content());
            let rest = watch(&mut request, &bodies, client(1)).unwrap();
            let (parts, body) = request.into_parts();
            let project = Some(ProjectNumber(1)).filter(|_| standing != Standing::Stranger);
            if standing != Standing::Stranger {
                vouch(&parts, standing, project);
            }
            axum::body::to_bytes(body, MB).await.unwrap();
            assert_eq!(lock(&rest.source).hold.owner, Owner { standing, client: client(1), project });
        }
    }
}
