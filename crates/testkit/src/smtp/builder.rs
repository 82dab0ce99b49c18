//! Servers with options.

use std::fmt;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::watch;

use super::script::{Answer, AtChunk};
use super::server::ScriptedServer;
use super::shared::{Options, Shared};
use crate::net::free_port;
use crate::tls::Certificate;

/// What the server offers and demands.
#[derive(Clone)]
#[must_use = "nothing listens until `start`"]
pub struct ServerBuilder {
    address: Ipv4Addr,
    port: Option<u16>,
    options: Options,
}

impl fmt::Debug for ServerBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerBuilder").finish_non_exhaustive()
    }
}

impl ScriptedServer {
    /// Starts a server without TLS and AUTH.
    ///
    /// The script is asked once per RCPT TO with the recipient (in lower case) and how often that address has been
    /// seen, this time included. It is also asked at MAIL FROM with the envelope sender and its count; only
    /// [`Answer::RefuseMail`] means something there, and only there.
    pub async fn start(script: impl Fn(&str, u32) -> Answer + Send + Sync + 'static) -> Self {
        Self::builder().start(script).await
    }

    /// A server with options.
    pub fn builder() -> ServerBuilder {
        ServerBuilder {
            address: Ipv4Addr::LOCALHOST,
            port: None,
            options: Options {
                pipelining: true,
                chunking: false,
                at_chunk: AtChunk::Take,
                starttls: None,
                implicit_tls: None,
                auth: None,
                greeting: None,
                keeps_contents: true,
                most_connections: usize::MAX,
                mails_per_connection: usize::MAX,
                mails_per_window: None,
                size: 52_428_800,
            },
        }
    }
}

impl ServerBuilder {
    /// Listens at this address of the machine instead of 127.0.0.1.
    pub fn address(mut self, address: Ipv4Addr) -> Self {
        self.address = address;
        self
    }

    /// Listens on this port instead of a free one.
    pub fn port(mut self, port: u16) -> Self {
        self.port = Some(port);
        self
    }

    /// Advertises PIPELINING (the default) or not; what comes pipelined unasked is then an error of the client.
    pub fn pipelining(mut self, advertised: bool) -> Self {
        self.options.pipelining = advertised;
        self
    }

    /// Advertises CHUNKING, and takes content by BDAT.
    pub fn chunking(mut self) -> Self {
        self.options.chunking = true;
        self
    }

    /// Advertises CHUNKING, answers BDAT with this reply, and takes the content that follows for commands, as a server
    /// does that does not know BDAT. With 421 it closes the connection.
    pub fn refusing_chunks(mut self, code: u16, text: &'static str) -> Self {
        self.options.chunking = true;
        self.options.at_chunk = AtChunk::Refuse(code, text);
        self
    }

    /// Advertises CHUNKING, and closes the connection at BDAT.
    pub fn closing_at_chunks(mut self) -> Self {
        self.options.chunking = true;
        self.options.at_chunk = AtChunk::Close;
        self
    }

    /// Advertises STARTTLS.
    pub fn starttls(mut self, certificate: &Certificate) -> Self {
        self.options.starttls = Some(certificate.clone());
        self
    }

    /// Speaks TLS from the first byte.
    pub fn implicit_tls(mut self, certificate: &Certificate) -> Self {
        self.options.implicit_tls = Some(certificate.clone());
        self
    }

    /// Takes mail only after AUTH PLAIN or LOGIN with these credentials.
    pub fn auth(mut self, user: &str, password: &str) -> Self {
        self.options.auth = Some((user.to_owned(), password.to_owned()));
        self
    }

    /// Keeps of each message only who got it, for tests with more mail than should be in memory.
    pub fn without_contents(mut self) -> Self {
        self.options.keeps_contents = false;
        self
    }

    /// Greets with this reply instead of 220 and closes, see also [`ScriptedServer::set_greeting`].
    pub fn greeting(mut self, code: u16, text: &'static str) -> Self {
        self.options.greeting = Some((code, text));
        self
    }

    /// Takes this many connections at a time; further ones are greeted with 421 and closed.
    pub fn most_connections(mut self, connections: usize) -> Self {
        self.options.most_connections = connections;
        self
    }

    /// Takes this many mails on a connection; further ones are refused with 452 at MAIL FROM.
    pub fn mails_per_connection(mut self, mails: usize) -> Self {
        self.options.mails_per_connection = mails;
        self
    }

    /// Takes this many mails in each stretch of time of this length; further ones are refused with 450 at MAIL FROM.
    pub fn mails_per_window(mut self, mails: usize, window: Duration) -> Self {
        self.options.mails_per_window = Some((mails, window));
        self
    }

    /// Announces this as the largest message, and refuses with 552 at MAIL FROM what is announced as larger; 0
    /// announces no limit.
    pub fn size(mut self, bytes: usize) -> Self {
        self.options.size = bytes;
        self
    }

    /// Starts the server, see [`ScriptedServer::start`].
    pub async fn start(self, script: impl Fn(&str, u32) -> Answer + Send + Sync + 'static) -> ScriptedServer {
        let port = self.port.unwrap_or_else(free_port);
        let shared = Arc::new(Shared {
            script: Box::new(script),
            greeting: Mutex::new(self.options.greeting),
            auth: Mutex::new(self.options.auth.clone()),
            open: AtomicUsize::new(0),
            busiest: AtomicUsize::new(0),
            options: self.options,
            connections: AtomicU64::new(0),
            log: Mutex::default(),
            released: watch::Sender::new(false),
        });
        let mut server = ScriptedServer { address: self.address, port, shared, accepting: None };
        server.start_again().await;
        server
    }
}
