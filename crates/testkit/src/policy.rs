//! A web server that publishes a policy about TLS (MTA-STS).

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

use crate::net::listen_at;
use crate::tls::Certificate;

/// A running server.
#[derive(Debug)]
pub struct PolicyServer {
    text: Arc<Mutex<String>>,
    task: JoinHandle<()>,
}

impl PolicyServer {
    /// Starts one that answers every request with this policy.
    pub async fn start(address: Ipv4Addr, port: u16, certificate: &Certificate, policy: &str) -> Self {
        let listener = listen_at(SocketAddr::from((address, port)), None).await;
        let text = Arc::new(Mutex::new(policy.to_owned()));
        let (acceptor, known) = (TlsAcceptor::from(Arc::clone(&certificate.server)), Arc::clone(&text));
        let task = tokio::spawn(async move {
            loop {
                let Ok((stream, _)) = listener.accept().await else { continue };
                let (acceptor, policy) = (acceptor.clone(), known.lock().unwrap().clone());
                // how a connection ends is the client's affair
                tokio::spawn(async move { answer(acceptor, stream, &policy).await });
            }
        });
        Self { text, task }
    }

    /// Publishes another policy.
    pub fn set(&self, policy: &str) {
        policy.clone_into(&mut self.text.lock().unwrap());
    }

    /// Answers nothing from now on.
    pub async fn stop(&mut self) {
        self.task.abort();
        let _ = (&mut self.task).await;
    }
}

async fn answer(acceptor: TlsAcceptor, stream: TcpStream, policy: &str) -> io::Result<()> {
    let mut stream = acceptor.accept(stream).await?;
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    let length = policy.len();
    let answer = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{policy}"
    );
    stream.write_all(answer.as_bytes()).await?;
    stream.shutdown().await
}

impl Drop for PolicyServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}
