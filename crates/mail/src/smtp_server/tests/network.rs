//! A server on streams in memory, with a client that says what a test has it say.

use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, duplex};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

use super::player::{Message, verdict_on_message, verdict_on_recipient};
use crate::smtp_server::{Config, End, Envelope, Path, Receiver, Summary, Verdict, serve};

/// Takes what comes, and keeps it.
#[derive(Clone, Default)]
pub(super) struct Mailbox(pub(super) Arc<Mutex<Vec<Message>>>);

impl Receiver for Mailbox {
    async fn recipient(&self, _: &Envelope, recipient: &Path) -> Verdict {
        if recipient.local() == "never" {
            std::future::pending::<()>().await;
        }
        verdict_on_recipient(recipient)
    }

    async fn message(&self, envelope: Envelope, content: Vec<u8>) -> Verdict {
        let verdict = verdict_on_message(&content);
        self.0.lock().unwrap().push((envelope, content));
        verdict
    }
}

/// The client's end of a connection, and the server's.
pub(super) struct Client<S> {
    pub(super) stream: S,
    pub(super) server: JoinHandle<Summary>,
    pub(super) mailbox: Mailbox,
}

pub(super) fn connect(config: Config, tls: Option<TlsAcceptor>) -> Client<DuplexStream> {
    connect_until(config, tls, std::future::pending())
}

pub(super) fn connect_until(
    config: Config,
    tls: Option<TlsAcceptor>,
    ends: impl Future<Output = End> + Send + 'static,
) -> Client<DuplexStream> {
    let (stream, theirs) = duplex(1024);
    let mailbox = Mailbox::default();
    let receiver = mailbox.clone();
    let address = "192.0.2.1".parse().unwrap();
    let server =
        tokio::spawn(async move { serve(theirs, address, Arc::new(config), tls, &receiver, ends).await });
    Client { stream, server, mailbox }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Client<S> {
    pub(super) async fn say(&mut self, text: &str) {
        within(self.stream.write_all(text.as_bytes())).await.unwrap();
    }

    /// Reads until the last line of a reply of this code.
    pub(super) async fn hear(&mut self, code: u16) -> String {
        let end = format!("{code} ");
        let mut heard = String::new();
        loop {
            let mut byte = [0];
            let length = within(self.stream.read(&mut byte)).await.unwrap();
            assert!(length > 0, "the server closed after {heard:?}, not {code}");
            heard.push(byte[0] as char);
            if heard.lines().any(|line| line.starts_with(&end)) && heard.ends_with("\r\n") {
                return heard;
            }
        }
    }

    /// Says something and hears a reply of this code.
    pub(super) async fn ask(&mut self, text: &str, code: u16) -> String {
        self.say(text).await;
        self.hear(code).await
    }

    /// Opens a message, up to 354.
    pub(super) async fn begin(&mut self) {
        self.ask("EHLO client.test\r\n", 250).await;
        self.ask("MAIL FROM:<a@example.com>\r\n", 250).await;
        self.ask("RCPT TO:<b@example.net>\r\n", 250).await;
        self.ask("DATA\r\n", 354).await;
    }

    /// What the server said last, and why it ended.
    pub(super) async fn end(mut self) -> (String, Summary) {
        let mut rest = Vec::new();
        // TLS that ends without a farewell is an error, and an end
        let _ = within(self.stream.read_to_end(&mut rest)).await;
        drop(self.stream);
        (String::from_utf8(rest).unwrap(), within(self.server).await.unwrap())
    }
}

/// Nothing here takes long.
pub(super) async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), future).await.expect("it ends in time")
}
