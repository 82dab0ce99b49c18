//! The bytes of a connection, in plain text or under TLS.

use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// How much one read takes, at most, in bytes.
const CHUNK: usize = 8 * 1024;
/// How much is read after the last reply, at most, in bytes, and for how long.
const MOST_LEFT: usize = 1024 * 1024;
const FAREWELL: Duration = Duration::from_secs(2);

pub(super) enum Stream<S> {
    Plain(S),
    Tls(Box<TlsStream<S>>),
    /// A handshake failed.
    Gone,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Stream<S> {
    /// Reads what is there and gives it to `take`: how many bytes, zero at the end. The buffer is on the stack, and
    /// exists only while there is something to read, so that a connection that waits costs none.
    pub(super) fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        take: impl FnOnce(&[u8]),
    ) -> Poll<io::Result<usize>> {
        let mut chunk = [MaybeUninit::uninit(); CHUNK];
        let mut chunk = ReadBuf::uninit(&mut chunk);
        let read = match self {
            Self::Plain(stream) => Pin::new(stream).poll_read(cx, &mut chunk),
            Self::Tls(stream) => Pin::new(stream).poll_read(cx, &mut chunk),
            Self::Gone => Poll::Ready(Ok(())),
        };
        ready!(read)?;
        take(chunk.filled());
        Poll::Ready(Ok(chunk.filled().len()))
    }

    /// Writes all of `data`, within `limit`.
    pub(super) async fn write(&mut self, data: &[u8], limit: Duration) -> io::Result<()> {
        let written = timeout(limit, async {
            match self {
                Self::Plain(stream) => {
                    stream.write_all(data).await?;
                    stream.flush().await
                }
                Self::Tls(stream) => {
                    stream.write_all(data).await?;
                    stream.flush().await
                }
                Self::Gone => Err(io::ErrorKind::NotConnected.into()),
            }
        });
        written.await.map_err(|_| io::ErrorKind::TimedOut)?
    }

    /// Begins TLS, within `limit`: its version, or `None` when the handshake failed, and the stream with it.
    pub(super) async fn secure(&mut self, acceptor: &TlsAcceptor, limit: Duration) -> Option<&'static str> {
        let Self::Plain(stream) = std::mem::replace(self, Self::Gone) else { return None };
        // the handshake holds a whole connection of TLS, which would otherwise be a part of every waiting future
        let stream = timeout(limit, Box::pin(acceptor.accept(stream))).await.ok()?.ok()?;
        let version = stream.get_ref().1.protocol_version().and_then(|version| version.as_str());
        *self = Self::Tls(Box::new(stream));
        Some(version.unwrap_or("TLS"))
    }

    /// Closes after the last reply. What the client is still sending is read for a moment: a connection that is closed
    /// with unread data is reset, and the reset may overtake the reply.
    pub(super) async fn close(&mut self) {
        // who does not take part in the farewell is closed on all the same
        let _ = timeout(FAREWELL, async {
            self.shut_down().await?;
            let mut left = MOST_LEFT;
            while left > 0 {
                match std::future::poll_fn(|cx| self.poll_read(cx, |_| {})).await? {
                    0 => break,
                    length => left = left.saturating_sub(length),
                }
            }
            Ok::<_, io::Error>(())
        })
        .await;
    }

    /// Closes after the last reply, without waiting for the client to do so.
    pub(super) async fn close_at_once(&mut self) {
        let _ = timeout(FAREWELL, self.shut_down()).await;
    }

    async fn shut_down(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(stream) => stream.shutdown().await,
            Self::Tls(stream) => stream.shutdown().await,
            Self::Gone => Ok(()),
        }
    }
}
