//! An SMTP server that follows a script: it accepts, refuses, drops or stalls, and remembers what it received.

mod session;

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::task::{JoinHandle, JoinSet};

use crate::net::{free_port, listen};
use crate::tls::Certificate;

/// The receive buffer asked of the kernel: small, so that a client cannot hand over a large content in one piece
/// and believe it sent.
const RECEIVE_BUFFER: u32 = 16 * 1024;

/// What the server does with a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Takes the message.
    Accept,
    /// Answers MAIL FROM with this reply.
    RefuseMail(u16, &'static str),
    /// Answers RCPT TO with this reply.
    RefuseRcpt(u16, &'static str),
    /// Takes the whole content and answers the final dot with this reply.
    RefuseData(u16, &'static str),
    /// Breaks the connection instead of answering RCPT TO.
    DropAtRcpt,
    /// Breaks the connection when a part of the content has come. A client can tell this from
    /// [`Answer::DropAfterDot`] only when the content is larger than what the kernel buffers (a few MB).
    DropMidData,
    /// Takes the whole content, counts it as received and breaks the connection without a reply.
    DropAfterDot,
    /// Takes the message, but answers the final dot only after this time.
    Delay(Duration),
    /// Never answers RCPT TO and keeps the connection open.
    StallForever,
    /// Takes the whole content, counts it as received, never answers and keeps the connection open.
    StallAfterDot,
}

/// A message whose content came in whole and was taken (or would have been, for [`Answer::DropAfterDot`] and
/// [`Answer::StallAfterDot`]).
#[derive(Clone, Debug)]
pub struct Received {
    /// The envelope sender, empty for the null sender.
    pub mail_from: String,
    /// The envelope recipients.
    pub rcpt_to: Vec<String>,
    /// The content, without the dots added for transport; empty where the server was told to keep none.
    pub data: Vec<u8>,
    /// The connection it came on, counted from 1 over the life of the server.
    pub connection: u64,
    /// When the final dot came.
    pub at: Instant,
    /// Whether the connection was encrypted.
    pub tls: bool,
    /// Who had logged in.
    pub user: Option<String>,
}

/// One answer that was given for a recipient.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// The recipient.
    pub to: String,
    /// What the script answered.
    pub answer: Answer,
    /// When RCPT TO came.
    pub at: Instant,
    /// The connection it came on.
    pub connection: u64,
}

type Script = dyn Fn(&str, u32) -> Answer + Send + Sync;

/// What the server offers and demands.
#[derive(Clone)]
#[must_use = "nothing listens until `start`"]
pub struct ServerBuilder {
    port: Option<u16>,
    pipelining: bool,
    starttls: Option<Certificate>,
    implicit_tls: Option<Certificate>,
    auth: Option<(String, String)>,
    greeting: Option<(u16, &'static str)>,
    keeps_contents: bool,
    most_connections: usize,
    mails_per_connection: usize,
    mails_per_window: Option<(usize, Duration)>,
    size: usize,
}

impl fmt::Debug for ServerBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerBuilder").finish_non_exhaustive()
    }
}

impl ServerBuilder {
    /// Listens on this port of 127.0.0.1 instead of a free one.
    pub fn port(mut self, port: u16) -> Self {
        self.port = Some(port);
        self
    }

    /// Advertises PIPELINING (the default) or not; what comes pipelined unasked is then an error of the client.
    pub fn pipelining(mut self, advertised: bool) -> Self {
        self.pipelining = advertised;
        self
    }

    /// Advertises STARTTLS.
    pub fn starttls(mut self, certificate: &Certificate) -> Self {
        self.starttls = Some(certificate.clone());
        self
    }

    /// Speaks TLS from the first byte.
    pub fn implicit_tls(mut self, certificate: &Certificate) -> Self {
        self.implicit_tls = Some(certificate.clone());
        self
    }

    /// Takes mail only after AUTH PLAIN or LOGIN with these credentials.
    pub fn auth(mut self, user: &str, password: &str) -> Self {
        self.auth = Some((user.to_owned(), password.to_owned()));
        self
    }

    /// Keeps of each message only who got it, for tests with more mail than should be in memory.
    pub fn without_contents(mut self) -> Self {
        self.keeps_contents = false;
        self
    }

    /// Greets with this reply instead of 220 and closes, see also [`ScriptedServer::set_greeting`].
    pub fn greeting(mut self, code: u16, text: &'static str) -> Self {
        self.greeting = Some((code, text));
        self
    }

    /// Takes this many connections at a time; further ones are greeted with 421 and closed.
    pub fn most_connections(mut self, connections: usize) -> Self {
        self.most_connections = connections;
        self
    }

    /// Takes this many mails on a connection; further ones are refused with 452 at MAIL FROM.
    pub fn mails_per_connection(mut self, mails: usize) -> Self {
        self.mails_per_connection = mails;
        self
    }

    /// Takes this many mails in each stretch of time of this length; further ones are refused with 450 at MAIL FROM.
    pub fn mails_per_window(mut self, mails: usize, window: Duration) -> Self {
        self.mails_per_window = Some((mails, window));
        self
    }

    /// Announces this as the largest message, and refuses with 552 at MAIL FROM what is announced as larger; 0
    /// announces no limit.
    pub fn size(mut self, bytes: usize) -> Self {
        self.size = bytes;
        self
    }

    /// Starts the server, see [`ScriptedServer::start`].
    pub async fn start(self, script: impl Fn(&str, u32) -> Answer + Send + Sync + 'static) -> ScriptedServer {
        let port = self.port.unwrap_or_else(free_port);
        let shared = Arc::new(Shared {
            script: Box::new(script),
            greeting: Mutex::new(self.greeting),
            auth: Mutex::new(self.auth.clone()),
            open: AtomicUsize::new(0),
            busiest: AtomicUsize::new(0),
            options: self,
            connections: AtomicU64::new(0),
            log: Mutex::default(),
        });
        let mut server = ScriptedServer { port, shared, accepting: None };
        server.start_again().await;
        server
    }
}

/// A running server on 127.0.0.1.
#[derive(Debug)]
pub struct ScriptedServer {
    /// The port it listens on, also while it is stopped.
    pub port: u16,
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
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
            port: None,
            pipelining: true,
            starttls: None,
            implicit_tls: None,
            auth: None,
            greeting: None,
            keeps_contents: true,
            most_connections: usize::MAX,
            mails_per_connection: usize::MAX,
            mails_per_window: None,
            size: 52_428_800,
        }
    }

    /// Every message received so far, in order.
    pub fn received(&self) -> Vec<Received> {
        self.shared.log.lock().unwrap().received.clone()
    }

    /// How often each recipient was in the envelope of a message received so far.
    pub fn copies(&self) -> HashMap<String, usize> {
        let mut copies = HashMap::new();
        for recipient in self.shared.log.lock().unwrap().received.iter().flat_map(|message| &message.rcpt_to)
        {
            *copies.entry(recipient.clone()).or_default() += 1;
        }
        copies
    }

    /// The messages received for one address.
    pub fn received_for(&self, to: &str) -> Vec<Received> {
        let to = to.to_lowercase();
        let log = self.shared.log.lock().unwrap();
        log.received
            .iter()
            .filter(|message| message.rcpt_to.iter().any(|rcpt| rcpt.to_lowercase() == to))
            .cloned()
            .collect()
    }

    /// Every answer given at RCPT TO so far, in order.
    pub fn attempts(&self) -> Vec<Attempt> {
        self.shared.log.lock().unwrap().attempts.clone()
    }

    /// The answers given for one address.
    pub fn attempts_for(&self, to: &str) -> Vec<Attempt> {
        let to = to.to_lowercase();
        let log = self.shared.log.lock().unwrap();
        log.attempts.iter().filter(|attempt| attempt.to == to).cloned().collect()
    }

    /// How often MAIL FROM was refused.
    pub fn refused_senders(&self) -> usize {
        self.shared.log.lock().unwrap().refused_senders
    }

    /// How often a login was refused.
    pub fn refused_logins(&self) -> usize {
        self.shared.log.lock().unwrap().refused_logins
    }

    /// How many connections were refused because there were too many.
    pub fn refused_connections(&self) -> usize {
        self.shared.log.lock().unwrap().refused_connections
    }

    /// How often MAIL FROM was refused because of too many mails, on a connection or in a stretch of time.
    pub fn refused_mails(&self) -> usize {
        self.shared.log.lock().unwrap().refused_mails
    }

    /// Most connections that were in use at a time.
    pub fn busiest(&self) -> usize {
        self.shared.busiest.load(Ordering::Relaxed)
    }

    /// The names given in EHLO and HELO, in order.
    pub fn helo_names(&self) -> Vec<String> {
        self.shared.log.lock().unwrap().helo_names.clone()
    }

    /// Changes the credentials that are asked for from now on.
    pub fn set_login(&self, user: &str, password: &str) {
        *self.shared.auth.lock().unwrap() = Some((user.to_owned(), password.to_owned()));
    }

    /// How many connections were made so far.
    pub fn connections(&self) -> u64 {
        self.shared.connections.load(Ordering::Relaxed)
    }

    /// What a client did that the protocol forbids (pipelining that was not offered, bare line feeds, lines too
    /// long, AUTH in the clear when TLS was on offer). A test ends well with an empty list.
    pub fn violations(&self) -> Vec<String> {
        self.shared.log.lock().unwrap().violations.clone()
    }

    /// Changes the greeting of later connections; `None` is the usual 220.
    pub fn set_greeting(&self, greeting: Option<(u16, &'static str)>) {
        *self.shared.greeting.lock().unwrap() = greeting;
    }

    /// Breaks every connection and stops listening: the host is down.
    pub async fn stop(&mut self) {
        if let Some(accepting) = self.accepting.take() {
            accepting.abort();
            // The listener and the connections are closed when the task is gone.
            let _ = accepting.await;
        }
    }

    /// Listens again on the same port after [`ScriptedServer::stop`].
    pub async fn start_again(&mut self) {
        self.stop().await;
        let listener = listen(self.port, Some(RECEIVE_BUFFER)).await;
        let shared = Arc::clone(&self.shared);
        self.accepting = Some(tokio::spawn(async move {
            // Aborted with this task, because a set of tasks aborts what it holds when it is dropped.
            let mut sessions = JoinSet::new();
            loop {
                let Ok((stream, _)) = listener.accept().await else { continue };
                let shared = Arc::clone(&shared);
                sessions.spawn(async move {
                    // How a connection ends is the client's affair; what it brought is in the log.
                    let _ = shared.serve(stream).await;
                });
                while sessions.try_join_next().is_some() {}
            }
        }));
    }
}

impl Drop for ScriptedServer {
    fn drop(&mut self) {
        if let Some(accepting) = self.accepting.take() {
            accepting.abort();
        }
    }
}

struct Shared {
    script: Box<Script>,
    options: ServerBuilder,
    greeting: Mutex<Option<(u16, &'static str)>>,
    auth: Mutex<Option<(String, String)>>,
    connections: AtomicU64,
    open: AtomicUsize,
    busiest: AtomicUsize,
    log: Mutex<Log>,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

#[derive(Default)]
struct Log {
    received: Vec<Received>,
    attempts: Vec<Attempt>,
    senders: HashMap<String, u32>,
    recipients: HashMap<String, u32>,
    refused_senders: usize,
    refused_logins: usize,
    refused_connections: usize,
    refused_mails: usize,
    helo_names: Vec<String>,
    window: Option<(Instant, usize)>,
    violations: Vec<String>,
}

/// A connection that counts as long as this lives.
struct Counted<'a>(&'a AtomicUsize);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Shared {
    fn violation(&self, text: impl Into<String>) {
        self.log.lock().unwrap().violations.push(text.into());
    }

    /// Counts a connection; whether there are too many with it.
    fn count(&self) -> (Counted<'_>, bool) {
        let open = self.open.fetch_add(1, Ordering::SeqCst) + 1;
        let counted = Counted(&self.open);
        let is_too_many = open > self.options.most_connections;
        if is_too_many {
            self.log.lock().unwrap().refused_connections += 1;
        } else {
            self.busiest.fetch_max(open, Ordering::Relaxed);
        }
        (counted, is_too_many)
    }

    /// Counts a mail of this stretch of time; whether it is one too many.
    fn is_too_fast(&self) -> bool {
        let Some((most, length)) = self.options.mails_per_window else { return false };
        let mut log = self.log.lock().unwrap();
        let window = log.window.get_or_insert_with(|| (Instant::now(), 0));
        if window.0.elapsed() >= length {
            *window = (Instant::now(), 0);
        }
        window.1 += 1;
        window.1 > most
    }

    /// Asks the script about an envelope sender.
    fn ask_sender(&self, sender: &str) -> Answer {
        let mut log = self.log.lock().unwrap();
        let count = log.senders.entry(sender.to_lowercase()).or_default();
        *count += 1;
        let answer = (self.script)(&sender.to_lowercase(), *count);
        if let Answer::RefuseMail(..) = answer {
            log.refused_senders += 1;
        }
        answer
    }

    /// Asks the script about a recipient.
    fn ask_recipient(&self, recipient: &str, connection: u64) -> Answer {
        let to = recipient.to_lowercase();
        let mut log = self.log.lock().unwrap();
        let count = log.recipients.entry(to.clone()).or_default();
        *count += 1;
        let answer = (self.script)(&to, *count);
        log.attempts.push(Attempt { to, answer, at: Instant::now(), connection });
        answer
    }
}

#[cfg(test)]
mod tests;
