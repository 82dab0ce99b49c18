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
use super::stream::Stream;

/// Who the messages are for. Both futures are dropped after [`Timeouts::verdict`], and the client is told to try again:
/// a message that was stored all the same comes twice.
pub trait Receiver {
    /// Whether mail for this recipient is wanted. `envelope` is what is known of the message so far.
    fn recipient(&self, envelope: &Envelope, recipient: &Path) -> impl Future<Output = Verdict> + Send;

    /// Takes a message: `content` is header and body with CRLF, without a line `Received` of ours
    /// ([`Envelope::received`]).
    fn message(&self, envelope: Envelope, content: Vec<u8>) -> impl Future<Output = Verdict> + Send;
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
/// When `shutdown` resolves, the session ends after the command that is being obeyed (421); a message that is being
/// received has [`Timeouts::grace`]. Every wait is bounded by [`Timeouts`]. Dropping the future breaks the connection.
///
/// A session that waits holds about a kilobyte, and what the stream itself holds.
pub async fn serve<S, R>(
    stream: S,
    client: IpAddr,
    config: Arc<Config>,
    tls: Option<TlsAcceptor>,
    receiver: &R,
    shutdown: impl Future<Output = ()>,
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
        began: now,
        replied: now,
        content: None,
        grace: None,
    };
    let end = connection.run(tls, receiver, pin!(shutdown)).await;
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
        mut shutdown: Pin<&mut impl Future<Output = ()>>,
    ) -> End {
        // who says nothing now, as it should be, is greeted
        if let Ok(Err(end)) = timeout(self.timeouts.greeting, self.read()).await {
            return end;
        }
        self.replied = Instant::now();
        loop {
            match self.session.step() {
                Step::Reply(bytes) => {
                    if let Err(error) = self.stream.write(&bytes, self.timeouts.write).await {
                        return end_of(&error);
                    }
                    self.replied = Instant::now();
                    // every content begins after a reply
                    self.content = None;
                }
                Step::NeedsInput => {
                    if let Err(end) = self.wait(shutdown.as_mut()).await {
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
                    self.stream.close().await;
                    return self.session.end().unwrap_or(End::Gone);
                }
            }
        }
    }

    /// Waits for the client, for the end of its time, or for the shutdown: whatever comes, the session knows of it.
    async fn wait(&mut self, shutdown: Pin<&mut impl Future<Output = ()>>) -> Result<(), End> {
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
            () = shutdown, if is_running => {
                self.session.stop(End::ShutDown);
                self.grace = Some(Instant::now() + self.timeouts.grace);
            }
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
