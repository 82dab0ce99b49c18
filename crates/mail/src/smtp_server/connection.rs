//! A session on a stream, every wait bounded.

use std::future::{Future, poll_fn};
use std::io::{self, Write as _};
use std::net::IpAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_rustls::TlsAcceptor;

use super::address::Path;
use super::config::{Config, Timeouts};
use super::envelope::Envelope;
use super::reply::{Refusal, Verdict};
use super::session::{End, Session, Step};
use super::stage::Stage;
use super::stream::Stream;

/// Who the messages are for. Both futures are dropped after [`Timeouts::verdict`], and the client is told to try again:
/// a message that was stored all the same comes twice.
pub trait Receiver {
    /// Whether mail for this recipient is wanted. `envelope` is what is known of the message so far.
    fn recipient(&self, envelope: &Envelope, recipient: &Path) -> impl Future<Output = Verdict> + Send;

    /// Takes a message: `content` is header and body with CRLF, without a line `Received` of ours
    /// ([`Envelope::received`]).
    fn message(&self, envelope: Envelope, content: Vec<u8>) -> impl Future<Output = Verdict> + Send;

    /// Told how far the session is, each time that this has changed.
    fn reached(&self, _: Stage) {}
}

/// What became of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Summary {
    /// How many messages were received and given to the [`Receiver`].
    pub messages: u32,
    /// Whether the connection was encrypted.
    pub tls: bool,
    /// Why the session ended.
    pub end: End,
}

/// Speaks SMTP as a server with the client at `client`, until the session ends. STARTTLS is offered with `tls`.
///
/// When `ends` resolves, the session ends after the command that is being obeyed (421). With [`End::ShutDown`] a
/// message that is being received has [`Timeouts::grace`]. With [`End::NoRoom`] it has no time more, and the connection
/// is closed without waiting for the client. Every wait is bounded by [`Timeouts`]. Dropping the future breaks the
/// connection.
///
/// A session that waits holds about a kilobyte, and what the stream itself holds.
pub async fn serve<S, R>(
    stream: S,
    client: IpAddr,
    config: Arc<Config>,
    tls: Option<TlsAcceptor>,
    receiver: &R,
    ends: impl Future<Output = End>,
) -> Summary
where
    S: AsyncRead + AsyncWrite + Unpin,
    R: Receiver,
{
    let now = Instant::now();
    let mut connection = Connection {
        stream: Stream::Plain(stream),
        timeouts: config.timeouts,
        session: Session::new(config, client, tls.is_some()),
        stage: Stage::Connected,
        began: now,
        replied: now,
        content: None,
        grace: None,
    };
    let end = connection.run(tls, receiver, pin!(ends)).await;
    let session = &connection.session;
    Summary { messages: session.messages(), tls: session.envelope().tls.is_some(), end }
}

/// Refuses a connection that there is no place for, and closes it. It never waits: what the socket does not take at
/// once is lost.
pub fn refuse(stream: TcpStream, refusal: &Refusal) {
    let mut line = Vec::new();
    refusal.write(&mut line);
    if let Ok(mut stream) = stream.into_std() {
        // the client learns by the end of the connection, at least
        let _ = stream.write_all(&line);
    }
}

struct Connection<S> {
    stream: Stream<S>,
    timeouts: Timeouts,
    session: Session,
    /// What the receiver was told last.
    stage: Stage,
    began: Instant,
    /// The last reply, from which on the client's time for a command counts.
    replied: Instant,
    /// The content that is being received.
    content: Option<Pace>,
    /// When a message must be complete because the server shuts down.
    grace: Option<Instant>,
}

/// How content comes in.
#[derive(Clone, Copy)]
struct Pace {
    began: Instant,
    /// The last time that any came.
    last: Instant,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    async fn run<R: Receiver>(
        &mut self,
        tls: Option<TlsAcceptor>,
        receiver: &R,
        mut ends: Pin<&mut impl Future<Output = End>>,
    ) -> End {
        // who says nothing now, as it should be, is greeted
        if let Ok(Err(end)) = timeout(self.timeouts.greeting, self.read()).await {
            return end;
        }
        self.replied = Instant::now();
        loop {
            match self.next_step(receiver) {
                Step::Reply(bytes) => {
                    if let Err(error) = self.stream.write(&bytes, self.timeouts.write).await {
                        return end_of(&error);
                    }
                    self.replied = Instant::now();
                    // every content begins after a reply
                    self.content = None;
                }
                Step::NeedsInput => {
                    if let Err(end) = self.wait(ends.as_mut()).await {
                        return end;
                    }
                }
                Step::Recipient(path) => {
                    let verdict = Box::pin(receiver.recipient(self.session.envelope(), &path));
                    let verdict = timeout(self.timeouts.verdict, verdict).await;
                    self.session.recipient(verdict.unwrap_or(Verdict::Later));
                }
                Step::Message(envelope, content) => {
                    let verdict = Box::pin(receiver.message(envelope, content));
                    let verdict = timeout(self.timeouts.verdict, verdict).await;
                    self.session.taken(verdict.unwrap_or(Verdict::Later));
                }
                Step::StartTls => {
                    let Some(acceptor) = &tls else { return End::Handshake };
                    match self.stream.secure(acceptor, self.timeouts.handshake).await {
                        Some(version) => self.session.secured(version),
                        None => return End::Handshake,
                    }
                    self.replied = Instant::now();
                }
                Step::Close => {
                    let end = self.session.end().unwrap_or(End::Gone);
                    if end == End::NoRoom {
                        self.stream.close_at_once().await;
                    } else {
                        self.stream.close().await;
                    }
                    return end;
                }
            }
        }
    }

    /// The next step of the session. The receiver is told how far it is.
    fn next_step<R: Receiver>(&mut self, receiver: &R) -> Step {
        let step = self.session.step();
        let stage = self.session.stage();
        if stage != self.stage {
            self.stage = stage;
            receiver.reached(stage);
        }
        step
    }

    /// Waits for the client, for the end of its time, or for the order to end: whatever comes, the session knows of it.
    async fn wait(&mut self, ends: Pin<&mut impl Future<Output = End>>) -> Result<(), End> {
        let now = Instant::now();
        let deadline = self.deadline(now);
        // a client that always has something to say does not get more time for it
        if deadline <= now {
            self.out_of_time(now);
            return Ok(());
        }
        let is_running = self.grace.is_none();
        tokio::select! {
            biased;
            end = ends, if is_running => self.told_to_end(end),
            read = timeout_at(deadline, self.read()) => match read {
                Ok(result) => {
                    result?;
                    if let Some(pace) = &mut self.content {
                        pace.last = Instant::now();
                    }
                }
                Err(_) => self.out_of_time(Instant::now()),
            },
        }
        Ok(())
    }

    /// Whoever has the connection wants it to end.
    fn told_to_end(&mut self, end: End) {
        if end == End::ShutDown {
            self.session.stop(end);
            self.grace = Some(Instant::now() + self.timeouts.grace);
        } else {
            self.session.break_off(end);
        }
    }

    /// When the wait for input ends.
    fn deadline(&mut self, now: Instant) -> Instant {
        let timeouts = &self.timeouts;
        if !self.session.is_receiving() {
            return (self.replied + timeouts.command).min(self.began + timeouts.session);
        }
        let pace = *self.content.get_or_insert(Pace { began: now, last: now });
        let received = self.session.received() / u64::from(timeouts.slowest.max(1));
        let by_rate = pace.began + timeouts.block + Duration::from_secs(received);
        let deadline = (pace.last + timeouts.block).min(pace.began + timeouts.message).min(by_rate);
        self.grace.map_or(deadline, |grace| deadline.min(grace))
    }

    /// The client had its time, or the server has no more.
    fn out_of_time(&mut self, now: Instant) {
        let is_stopped = self.grace.is_some_and(|grace| grace <= now);
        self.session.break_off(if is_stopped { End::ShutDown } else { End::TimedOut });
    }

    async fn read(&mut self) -> Result<(), End> {
        let (stream, session) = (&mut self.stream, &mut self.session);
        match poll_fn(|cx| stream.poll_read(cx, |bytes| session.receive(bytes))).await {
            Ok(0) => Err(End::Gone),
            Ok(_) => Ok(()),
            Err(error) => Err(end_of(&error)),
        }
    }
}

fn end_of(error: &io::Error) -> End {
    if error.kind() == io::ErrorKind::TimedOut { End::TimedOut } else { End::Gone }
}
