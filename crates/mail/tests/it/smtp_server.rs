//! An SMTP server that follows a script, and fails the test when the client does not.

use std::sync::Arc;
use std::time::Duration;

use mailwright_mail::smtp::{Connection, EnvelopeError, RelayConfig, Security, Timeouts};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

/// A running server. One script per connection, in turn; lines of a script:
///
/// - `C: <line>` reads a line and compares it; nothing may have been sent beyond a group of such lines.
/// - `C: [content]` reads up to the final dot and keeps what came before it; `C: [7 bytes]` reads and keeps so many;
///   `C: [some]` reads 100 kB. `C: [end]` reads the end of the connection; nothing may come before it.
/// - `S: <line>` sends a line. `S: [raw]text` sends the text as it is, with `\r` and `\n` written out.
/// - `S: [tls]` begins TLS. `S: [reset]` breaks the connection. `S: [close]` closes it and lets the next one come.
/// - `S: [hold]` takes everything until the client closes. `S: [stall]` never reads again.
pub(crate) struct Server {
    port: u16,
    task: JoinHandle<Vec<Vec<u8>>>,
    certificate: CertificateDer<'static>,
}

impl Server {
    pub(crate) async fn run(scripts: &[&str]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let scripts: Vec<String> = scripts.iter().map(|script| (*script).to_owned()).collect();
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let certificate = made.cert.der().clone();
        let acceptor = acceptor(certificate.clone(), made.signing_key.serialize_der());
        let task = tokio::spawn(async move {
            let mut contents = Vec::new();
            for script in scripts {
                let (stream, _) = listener.accept().await.unwrap();
                stream.set_nodelay(true).unwrap();
                Session { stream: Some(Stream::Plain(stream)), input: Vec::new(), contents: &mut contents }
                    .follow(&script, &acceptor)
                    .await;
            }
            contents
        });
        Self { port, task, certificate }
    }

    /// To the server by address, with short limits.
    pub(crate) fn config(&self, security: Security) -> RelayConfig {
        let mut config = RelayConfig::new("127.0.0.1", self.port, security);
        config.helo_name = "client.test".to_owned();
        config.timeouts = Timeouts {
            connect: Duration::from_secs(10),
            opening: Duration::from_secs(10),
            command: Duration::from_secs(10),
            block: Duration::from_secs(10),
            data_end: Duration::from_secs(10),
        };
        config
    }

    /// To the server by the name in its certificate, which is trusted.
    pub(crate) fn trusted(&self, security: Security) -> RelayConfig {
        let mut config = self.config(security).with_extra_roots(vec![self.certificate.clone()]);
        config.host = "localhost".to_owned();
        config
    }

    /// Waits for the end of all scripts: the contents that were read.
    pub(crate) async fn contents(self) -> Vec<String> {
        let contents =
            tokio::time::timeout(Duration::from_secs(20), self.task).await.expect("the script ends").unwrap();
        contents.into_iter().map(|content| String::from_utf8(content).unwrap()).collect()
    }
}

fn acceptor(certificate: CertificateDer<'static>, key: Vec<u8>) -> TlsAcceptor {
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], PrivatePkcs8KeyDer::from(key).into())
        .unwrap();
    TlsAcceptor::from(Arc::new(config))
}

enum Stream {
    Plain(TcpStream),
    Tls(Box<tokio_rustls::server::TlsStream<TcpStream>>),
}

trait Both: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Both for T {}

struct Session<'a> {
    stream: Option<Stream>,
    input: Vec<u8>,
    contents: &'a mut Vec<Vec<u8>>,
}

impl Session<'_> {
    async fn follow(mut self, script: &str, acceptor: &TlsAcceptor) {
        for step in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
            if let Some(length) = step.strip_prefix("C: [").and_then(|rest| rest.strip_suffix(" bytes]")) {
                let content = self.read_bytes(length.parse().unwrap()).await;
                self.contents.push(content);
                continue;
            }
            match step.split_at(3) {
                ("C: ", "[content]") => {
                    let content = self.read_content().await;
                    self.contents.push(content);
                }
                ("C: ", "[some]") => self.read_at_least(100_000).await,
                ("C: ", "[end]") => self.read_end().await,
                ("C: ", line) => assert_eq!(self.read_line().await, line, "in {script}"),
                ("S: ", line) => {
                    assert!(self.input.is_empty(), "the client went on: {}", self.input.escape_ascii());
                    if !self.say(line, acceptor).await {
                        return;
                    }
                }
                _ => panic!("not a step: {step}"),
            }
        }
    }

    /// Whether the script goes on.
    async fn say(&mut self, line: &str, acceptor: &TlsAcceptor) -> bool {
        match (line, line.strip_prefix("[raw]")) {
            ("[tls]", _) => {
                let Some(Stream::Plain(stream)) = self.stream.take() else { panic!("TLS twice") };
                // A client that does not trust the certificate ends the handshake; then there is nothing to follow.
                let Ok(stream) = acceptor.accept(stream).await else {
                    return false;
                };
                self.stream = Some(Stream::Tls(Box::new(stream)));
            }
            ("[reset]", _) => {
                let Some(Stream::Plain(stream)) = self.stream.take() else { panic!("reset under TLS") };
                stream.set_zero_linger().unwrap();
                return false;
            }
            ("[close]", _) => {
                // Politely, so that what was said before is not lost to a reset.
                let _ = self.stream().shutdown().await;
                return false;
            }
            ("[hold]", _) => {
                let mut sink = [0; 4096];
                while matches!(self.stream().read(&mut sink).await, Ok(length) if length > 0) {}
            }
            ("[stall]", _) => std::future::pending().await,
            (_, Some(raw)) => {
                let raw = raw.replace("\\r", "\r").replace("\\n", "\n");
                // The client may have had enough of it before the end.
                let _ = self.stream().write_all(raw.as_bytes()).await;
                let _ = self.stream().flush().await;
            }
            (line, None) => {
                self.stream().write_all(format!("{line}\r\n").as_bytes()).await.unwrap();
                self.stream().flush().await.unwrap();
            }
        }
        true
    }

    fn stream(&mut self) -> &mut dyn Both {
        match self.stream.as_mut().unwrap() {
            Stream::Plain(stream) => stream,
            Stream::Tls(stream) => &mut **stream,
        }
    }

    async fn fill(&mut self) {
        let mut chunk = vec![0; 65536];
        let length = self.stream().read(&mut chunk).await.unwrap();
        assert!(length > 0, "the client closed; left: {}", self.input.escape_ascii());
        self.input.extend_from_slice(&chunk[..length]);
    }

    async fn read_line(&mut self) -> String {
        loop {
            if let Some(end) = self.input.windows(2).position(|pair| pair == b"\r\n") {
                let line = self.input.drain(..end + 2).collect::<Vec<_>>();
                return String::from_utf8(line[..end].to_vec()).unwrap();
            }
            self.fill().await;
        }
    }

    async fn read_content(&mut self) -> Vec<u8> {
        loop {
            if self.input.starts_with(b".\r\n") {
                self.input.drain(..3);
                return Vec::new();
            }
            if let Some(end) = self.input.windows(5).position(|bytes| bytes == b"\r\n.\r\n") {
                let content = self.input[..end + 2].to_vec();
                self.input.drain(..end + 5);
                return content;
            }
            self.fill().await;
        }
    }

    async fn read_bytes(&mut self, length: usize) -> Vec<u8> {
        while self.input.len() < length {
            self.fill().await;
        }
        self.input.drain(..length).collect()
    }

    async fn read_end(&mut self) {
        let mut rest = std::mem::take(&mut self.input);
        // a client that has not read everything ends it with a reset
        let _ = self.stream().read_to_end(&mut rest).await;
        assert!(rest.is_empty(), "the client went on: {}", rest.escape_ascii());
    }

    async fn read_at_least(&mut self, length: usize) {
        while self.input.len() < length {
            self.fill().await;
        }
        self.input.clear();
    }
}

/// Lets the runtime look at the network often enough to have seen what arrived already.
pub(crate) async fn let_the_network_settle() {
    for _ in 0..1000 {
        tokio::task::yield_now().await;
    }
}

/// A connection to the server, in plain text.
pub(crate) async fn open(server: &Server) -> Connection {
    Connection::open(&server.config(Security::None)).await.unwrap()
}

/// The envelope of a message of 7 bytes.
pub(crate) async fn envelope(connection: &mut Connection) -> Result<(), EnvelopeError> {
    connection.envelope("a@example.com", "b@example.org", 7).await
}
