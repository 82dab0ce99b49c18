//! A web server that takes reports about TLS.

use std::collections::VecDeque;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

use crate::net::{free_port, listen_at};
use crate::tls::Certificate;

/// A report that came.
#[derive(Clone, Debug)]
pub struct Posted {
    /// The first line of the request, such as `POST /v1/tls HTTP/1.1`.
    pub request: String,
    /// The other lines of its head.
    pub headers: String,
    /// The body.
    pub body: Vec<u8>,
}

/// A running server.
#[derive(Debug)]
pub struct ReportServer {
    port: u16,
    posted: Arc<Mutex<Vec<Posted>>>,
    task: JoinHandle<()>,
}

impl ReportServer {
    /// Starts one on a free port. It answers with these statuses, one after the other, and with 201 after them.
    pub async fn start(address: Ipv4Addr, certificate: &Certificate, statuses: &[u16]) -> Self {
        let port = free_port();
        let listener = listen_at(SocketAddr::from((address, port)), None).await;
        let posted = Arc::<Mutex<Vec<Posted>>>::default();
        let left = Arc::new(Mutex::new(statuses.iter().copied().collect::<VecDeque<_>>()));
        let (acceptor, known) = (TlsAcceptor::from(Arc::clone(&certificate.server)), Arc::clone(&posted));
        let task = tokio::spawn(async move {
            loop {
                let Ok((stream, _)) = listener.accept().await else { continue };
                let (acceptor, posted, left) = (acceptor.clone(), Arc::clone(&known), Arc::clone(&left));
                // how a connection ends is the client's affair
                tokio::spawn(async move { answer(acceptor, stream, &posted, &left).await });
            }
        });
        Self { port, posted, task }
    }

    /// Where it listens.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The reports that came so far, in order.
    pub fn posted(&self) -> Vec<Posted> {
        self.posted.lock().unwrap().clone()
    }
}

async fn answer(
    acceptor: TlsAcceptor,
    stream: TcpStream,
    posted: &Mutex<Vec<Posted>>,
    left: &Mutex<VecDeque<u16>>,
) -> io::Result<()> {
    let mut stream = acceptor.accept(stream).await?;
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let (request, headers) = head.split_once("\r\n").unwrap_or((&head, ""));
    let lengths = headers.lines().filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().unwrap())
    });
    let mut body = vec![0; lengths.sum()];
    stream.read_exact(&mut body).await?;
    posted.lock().unwrap().push(Posted { request: request.to_owned(), headers: headers.to_owned(), body });
    let status = left.lock().unwrap().pop_front().unwrap_or(201);
    let answer = format!("HTTP/1.1 {status} As told\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    stream.write_all(answer.as_bytes()).await?;
    stream.shutdown().await
}

impl Drop for ReportServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}
