//! Ports, and a TCP proxy that can be cut.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

/// So many bytes of what a client sends are remembered.
const BEGINNING: usize = 64;

/// A port of 127.0.0.1 that is free now.
///
/// Ports are taken below the range the kernel uses for outgoing connections (Linux: from 32768): a server that is
/// killed and started again finds its port free even while thousands of connections are made.
pub fn free_port() -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    const FIRST: u32 = 10_000;
    const COUNT: u32 = 22_000;
    let start = std::process::id().wrapping_mul(7_919);
    for _ in 0..COUNT {
        let port = FIRST + start.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)) % COUNT;
        let port = u16::try_from(port).unwrap();
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return port;
        }
    }
    panic!("no free port on 127.0.0.1 between {FIRST} and {}", FIRST + COUNT);
}

/// Lets this process, and the servers that it starts from now on, have so many files and connections open.
pub fn allow_connections(count: usize) {
    let count = count as u64;
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_some_and(|current| current < count) {
        let raised = Rlimit { current: Some(count), maximum: limit.maximum };
        setrlimit(Resource::Nofile, raised)
            .unwrap_or_else(|error| panic!("{count} open files are needed (ulimit -Hn): {error}"));
    }
}

/// Listens on a port of 127.0.0.1.
pub(crate) async fn listen(port: u16) -> tokio::net::TcpListener {
    listen_at(SocketAddr::from((Ipv4Addr::LOCALHOST, port)), None).await
}

/// Binds a listener to a port of 127.0.0.1, waiting a little for one that is just being given up.
pub(crate) async fn listen_at(at: SocketAddr, receive_buffer: Option<u32>) -> tokio::net::TcpListener {
    let mut tries = 0;
    loop {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_reuseaddr(true).unwrap();
        if let Some(bytes) = receive_buffer {
            socket.set_recv_buffer_size(bytes).unwrap();
        }
        let bound = socket.bind(at).and_then(|()| socket.listen(1024));
        match bound {
            Ok(listener) => return listener,
            Err(error) if tries == 250 => panic!("cannot listen on {at}: {error}"),
            Err(_) => {
                tries += 1;
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
        }
    }
}

/// When clients sent something, and its first bytes.
type Sent = Arc<Mutex<Vec<(Instant, Vec<u8>)>>>;
/// A text that breaks the connection of whoever sends it.
type Breaking = Arc<Mutex<Option<String>>>;

/// A TCP proxy on 127.0.0.1 whose connections can be cut and restored, as when a database or a network goes away.
#[derive(Debug)]
pub struct TcpProxy {
    target: String,
    port: u16,
    accepting: Arc<Mutex<Option<JoinHandle<()>>>>,
    sent: Sent,
    breaking: Breaking,
}

impl TcpProxy {
    /// Starts a proxy to `host:port`.
    pub async fn start(target: impl Into<String>) -> Self {
        let (target, port) = (target.into(), free_port());
        let proxy =
            Self { target, port, accepting: Arc::default(), sent: Arc::default(), breaking: Arc::default() };
        proxy.restore().await;
        proxy
    }

    /// The port of 127.0.0.1 to connect to.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// When clients began to send a request with this beginning, in order.
    pub fn requests(&self, beginning: &str) -> Vec<Instant> {
        let sent = self.sent.lock().unwrap();
        sent.iter().filter(|(_, bytes)| bytes.starts_with(beginning.as_bytes())).map(|(at, _)| *at).collect()
    }

    /// From now on, passes what contains this text on to the server and then breaks the connection, so that the client
    /// never learns the answer; `None` ends that.
    pub fn break_after(&self, text: Option<&str>) {
        *self.breaking.lock().unwrap() = text.map(str::to_owned);
    }

    /// Breaks every connection and refuses new ones.
    pub async fn cut(&self) {
        let accepting = self.accepting.lock().unwrap().take();
        if let Some(accepting) = accepting {
            accepting.abort();
            // The listener and the connections are closed when the task is gone.
            let _ = accepting.await;
        }
    }

    /// Lets connections through again.
    pub async fn restore(&self) {
        self.cut().await;
        let listener = listen(self.port).await;
        let (target, sent, breaking) =
            (self.target.clone(), Arc::clone(&self.sent), Arc::clone(&self.breaking));
        let accepting = tokio::spawn(async move {
            // Aborted with this task, because a set of tasks aborts what it holds when it is dropped.
            let mut connections = JoinSet::new();
            loop {
                let Ok((client, _)) = listener.accept().await else { continue };
                let (target, sent, breaking) = (target.clone(), Arc::clone(&sent), Arc::clone(&breaking));
                connections.spawn(async move {
                    let Ok(server) = TcpStream::connect(&target).await else { return };
                    let _ = client.set_nodelay(true);
                    let _ = server.set_nodelay(true);
                    let note = |bytes: &[u8]| {
                        let beginning = bytes[..bytes.len().min(BEGINNING)].to_vec();
                        sent.lock().unwrap().push((Instant::now(), beginning));
                        breaking.lock().unwrap().as_ref().is_none_or(|text| !contains(bytes, text.as_bytes()))
                    };
                    let ((from_client, to_client), (from_server, to_server)) =
                        (client.into_split(), server.into_split());
                    let there = pass(from_client, to_server, note);
                    let _ = tokio::try_join!(there, pass(from_server, to_client, |_| true));
                });
                while connections.try_join_next().is_some() {}
            }
        });
        *self.accepting.lock().unwrap() = Some(accepting);
    }
}

fn contains(bytes: &[u8], text: &[u8]) -> bool {
    bytes.windows(text.len()).any(|window| window == text)
}

/// Passes what is read on, and shows it, until there is no more, or until something is the last that is passed on.
async fn pass(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    goes_on_after: impl Fn(&[u8]) -> bool,
) -> io::Result<()> {
    let mut buffer = vec![0; 16 * 1024];
    loop {
        match from.read(&mut buffer).await? {
            0 => return to.shutdown().await,
            count => {
                let goes_on = goes_on_after(&buffer[..count]);
                to.write_all(&buffer[..count]).await?;
                if !goes_on {
                    return Err(io::ErrorKind::ConnectionAborted.into());
                }
            }
        }
    }
}

impl Drop for TcpProxy {
    fn drop(&mut self) {
        if let Some(accepting) = self.accepting.lock().unwrap().take() {
            accepting.abort();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn echo() -> (u16, JoinHandle<()>) {
        let port = free_port();
        let listener = listen(port).await;
        let task = tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                tokio::spawn(async move {
                    let (mut read, mut write) = stream.split();
                    let _ = tokio::io::copy(&mut read, &mut write).await;
                });
            }
        });
        (port, task)
    }

    #[tokio::test]
    async fn a_proxy_passes_bytes_until_it_is_cut() {
        let (target, _echo) = echo().await;
        let proxy = TcpProxy::start(format!("127.0.0.1:{target}")).await;
        let mut buffer = [0; 4];
        let mut stream = TcpStream::connect(("127.0.0.1", proxy.port())).await.unwrap();
        stream.write_all(b"ping").await.unwrap();
        stream.read_exact(&mut buffer).await.unwrap();
        assert_eq!(&buffer, b"ping");
        assert_eq!((proxy.requests("pi").len(), proxy.requests("po").len()), (1, 0));

        proxy.break_after(Some("on"));
        stream.write_all(b"pong").await.unwrap();
        assert!(matches!(stream.read(&mut buffer).await, Ok(0) | Err(_)), "the connection is broken");
        proxy.break_after(None);

        let mut stream = TcpStream::connect(("127.0.0.1", proxy.port())).await.unwrap();
        proxy.cut().await;
        assert!(matches!(stream.read(&mut buffer).await, Ok(0) | Err(_)), "the connection is broken");
        assert!(TcpStream::connect(("127.0.0.1", proxy.port())).await.is_err(), "new ones are refused");

        proxy.restore().await;
        let mut stream = TcpStream::connect(("127.0.0.1", proxy.port())).await.unwrap();
        stream.write_all(b"pong").await.unwrap();
        stream.read_exact(&mut buffer).await.unwrap();
        assert_eq!(&buffer, b"pong");
    }
}
