//! Bytes to and from a server, every wait bounded.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::client::TlsStream;

use super::reply::{self, RawReply};

/// Why the connection cannot be used any more.
#[derive(Debug, thiserror::Error)]
pub(super) enum WireError {
    #[error("the server closed the connection")]
    Closed,
    #[error("the server did not answer in time")]
    Timeout,
    #[error("the server does not speak SMTP: {0}")]
    Malformed(&'static str),
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// How far a piece of data got that was not written completely.
#[derive(Debug)]
pub(super) struct Interrupted {
    /// `None` when the server said something first, which is now in the buffer.
    pub(super) error: Option<WireError>,
    /// Whether any of the piece may have reached the kernel.
    pub(super) handed_over: bool,
}

pub(super) enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

/// A connection with what was read from it and not yet used.
pub(super) struct Wire {
    stream: Stream,
    input: Vec<u8>,
}

impl Wire {
    pub(super) fn new(stream: Stream) -> Self {
        Self { stream, input: Vec::new() }
    }

    pub(super) fn is_tls(&self) -> bool {
        matches!(self.stream, Stream::Tls(_))
    }

    /// The TCP stream for a TLS handshake. Anything that was sent ahead of the handshake is an error: it would count
    /// as said under TLS (the injection of RFC 3207 section 6).
    pub(super) fn into_plain(self) -> Result<TcpStream, WireError> {
        match self.stream {
            Stream::Plain(stream) if self.input.is_empty() => Ok(stream),
            _ => Err(WireError::Malformed("the server sent data after it agreed to TLS")),
        }
    }

    /// Writes all of `data`.
    pub(super) async fn write(&mut self, data: &[u8], limit: Duration) -> Result<(), WireError> {
        let written = timeout(limit, async {
            self.stream.write_all(data).await?;
            self.stream.flush().await
        });
        Ok(written.await.map_err(|_| WireError::Timeout)??)
    }

    /// Reads one reply, complete within `limit`.
    pub(super) async fn reply(&mut self, limit: Duration) -> Result<RawReply, WireError> {
        timeout(limit, async {
            loop {
                if let Some((reply, length)) = reply::parse(&self.input).map_err(WireError::Malformed)? {
                    self.input.drain(..length);
                    return Ok(reply);
                }
                let mut chunk = [0; 1024];
                let length = self.stream.read(&mut chunk).await?;
                if length == 0 {
                    return Err(WireError::Closed);
                }
                self.input.extend_from_slice(&chunk[..length]);
            }
        })
        .await
        .map_err(|_| WireError::Timeout)?
    }

    /// Whether the server said something or closed the connection although it was not asked, as far as is known
    /// without waiting.
    pub(super) async fn was_interrupted(&mut self) -> bool {
        poll_fn(|cx| Poll::Ready(self.poll_input(cx).is_ready())).await
    }

    /// Resolves when the server says something or closes the connection although it was not asked.
    pub(super) async fn interrupted(&mut self) {
        poll_fn(|cx| self.poll_input(cx).map(drop)).await;
    }

    /// Writes all of `data` unless the server says something first, before or meanwhile.
    pub(super) async fn write_unless_answered(
        &mut self,
        data: &[u8],
        limit: Duration,
    ) -> Result<(), Interrupted> {
        let mut handed_over = false;
        let written = timeout(limit, poll_write_unless_answered(self, data, &mut handed_over));
        let error = match written.await {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(error)) => error,
            Err(_) => Some(WireError::Timeout),
        };
        Err(Interrupted { error, handed_over })
    }

    /// Ends TLS and the connection politely, as far as that is possible without waiting for the other end.
    pub(super) async fn close(&mut self, limit: Duration) {
        // Nothing is left to be lost; a server that does not take the farewell is closed on all the same.
        let _ = timeout(limit, self.stream.shutdown()).await;
    }

    /// Ready when there is unread input, more of which is then in the buffer, or an end of it.
    fn poll_input(&mut self, cx: &mut Context<'_>) -> Poll<Option<WireError>> {
        if !self.input.is_empty() {
            return Poll::Ready(None);
        }
        let mut chunk = [0; 1024];
        let mut chunk = ReadBuf::new(&mut chunk);
        // While the socket is not ready this costs no system call.
        Poll::Ready(match ready!(Pin::new(&mut self.stream).poll_read(cx, &mut chunk)) {
            Err(error) => Some(error.into()),
            Ok(()) if chunk.filled().is_empty() => Some(WireError::Closed),
            Ok(()) => {
                self.input.extend_from_slice(chunk.filled());
                None
            }
        })
    }
}

async fn poll_write_unless_answered(
    wire: &mut Wire,
    mut data: &[u8],
    handed_over: &mut bool,
) -> Result<(), Option<WireError>> {
    poll_fn(|cx| {
        loop {
            if data.is_empty() {
                return match Pin::new(&mut wire.stream).poll_flush(cx) {
                    Poll::Ready(flushed) => Poll::Ready(flushed.map_err(|error| Some(error.into()))),
                    Poll::Pending => wire.poll_input(cx).map(Err),
                };
            }
            if let Poll::Ready(interruption) = wire.poll_input(cx) {
                return Poll::Ready(Err(interruption));
            }
            // TLS keeps what it took and may have written a part of it even when it reports an error.
            *handed_over |= wire.is_tls();
            match ready!(Pin::new(&mut wire.stream).poll_write(cx, data)) {
                Ok(0) => return Poll::Ready(Err(Some(WireError::Closed))),
                Ok(length) => {
                    *handed_over = true;
                    data = &data[length..];
                }
                Err(error) => return Poll::Ready(Err(Some(error.into()))),
            }
        }
    })
    .await
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(cx, buffer),
            Self::Tls(stream) => Pin::new(stream).poll_read(cx, buffer),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(cx, data),
            Self::Tls(stream) => Pin::new(stream).poll_write(cx, data),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Self::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
