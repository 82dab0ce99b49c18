//! A running server, and what it received.

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::task::{JoinHandle, JoinSet};

use super::script::{Attempt, Received};
use super::shared::Shared;
use crate::net::listen_at;

/// The receive buffer asked of the kernel: small, so that a client cannot hand over a large content in one piece
/// and believe it sent.
const RECEIVE_BUFFER: u32 = 16 * 1024;

/// A running server on this machine.
#[derive(Debug)]
pub struct ScriptedServer {
    /// The address it listens at.
    pub address: Ipv4Addr,
    /// The port it listens on, also while it is stopped.
    pub port: u16,
    pub(super) shared: Arc<Shared>,
    pub(super) accepting: Option<JoinHandle<()>>,
}

impl ScriptedServer {
    /// Every message received so far, in order.
    pub fn received(&self) -> Vec<Received> {
        self.shared.log.lock().unwrap().received.clone()
    }

    /// The messages received after the first so many, in order.
    pub fn received_since(&self, count: usize) -> Vec<Received> {
        self.shared.log.lock().unwrap().received.get(count..).unwrap_or_default().to_vec()
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

    /// The lines that came as commands and are none, in order.
    pub fn unknown_commands(&self) -> Vec<String> {
        self.shared.log.lock().unwrap().unknown_commands.clone()
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

    /// Answers what is held, see [`Answer::HoldAfterDot`](super::Answer::HoldAfterDot), and holds nothing any more.
    pub fn release(&self) {
        self.shared.released.send_replace(true);
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
        let listener = listen_at(SocketAddr::from((self.address, self.port)), Some(RECEIVE_BUFFER)).await;
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
