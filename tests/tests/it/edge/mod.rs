//! The edge of the service: connections, bodies, limits and names, as somebody meets them who means harm.

mod bodies;
mod connections;
mod files;
mod hosts;
mod limits;

use std::net::SocketAddr;
use std::time::Duration;

use mailwright_testkit::App;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

/// How long anything is awaited.
const PATIENCE: Duration = Duration::from_secs(30);

fn address(app: &App) -> SocketAddr {
    app.base_url().trim_start_matches("http://").parse().expect("an address")
}

async fn connect(app: &App) -> TcpStream {
    TcpStream::connect(address(app)).await.expect("the server accepts connections")
}

/// A connection from another client: any address of 127.0.0.0/8 is this machine.
async fn connect_from(app: &App, client: [u8; 4]) -> TcpStream {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.bind(SocketAddr::from((client, 0))).expect("an address of this machine");
    socket.connect(address(app)).await.expect("the server accepts connections")
}

/// The head of a request, which names a host and gives a key if there is one.
fn head(method: &str, path: &str, key: Option<&str>, more: &str) -> String {
    let key = key.map(|key| format!("Authorization: Bearer {key}\r\n")).unwrap_or_default();
    format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\n{key}{more}\r\n")
}

/// An answer as it came.
struct Answer {
    status: u16,
    closes: bool,
    body: Value,
}

/// Reads one answer; `None` when the connection ends before there is a whole one.
async fn answer(stream: &mut TcpStream) -> Option<Answer> {
    let mut read = Vec::new();
    let whole = async {
        loop {
            if let Some(answer) = parse(&read) {
                return Some(answer);
            }
            if stream.read_buf(&mut read).await.ok()? == 0 {
                return None;
            }
        }
    };
    tokio::time::timeout(PATIENCE, whole).await.expect("an answer, or an end")
}

fn parse(read: &[u8]) -> Option<Answer> {
    let end = read.windows(4).position(|part| part == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&read[..end]).to_lowercase();
    let header = |name: &str| {
        let line = head.lines().find_map(|line| line.strip_prefix(&format!("{name}:")));
        line.map(str::trim).map(str::to_owned)
    };
    let length: usize = header("content-length").map_or(0, |length| length.parse().expect("a length"));
    let body = read.get(end + 4..end + 4 + length)?;
    Some(Answer {
        status: head.split(' ').nth(1)?.parse().ok()?,
        closes: header("connection").as_deref() == Some("close"),
        body: serde_json::from_slice(body).unwrap_or_default(),
    })
}

/// Waits until the other end closes the connection, and throws away what comes until then.
async fn assert_is_closed(stream: &mut TcpStream) {
    let closed = async {
        let mut rest = vec![0; 65_536];
        while matches!(stream.read(&mut rest).await, Ok(bytes) if bytes > 0) {}
    };
    tokio::time::timeout(PATIENCE, closed).await.expect("the server closes the connection");
}

async fn write(stream: &mut TcpStream, bytes: impl AsRef<[u8]>) {
    stream.write_all(bytes.as_ref()).await.expect("the server reads");
}
