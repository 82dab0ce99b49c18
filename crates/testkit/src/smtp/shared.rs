//! What the connections of a server share.

use std::collections::HashMap;
use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::script::{Answer, AtChunk, Attempt, Received, Script};
use crate::tls::Certificate;

/// The options of a server.
#[derive(Clone)]
pub(super) struct Options {
    pub(super) pipelining: bool,
    pub(super) chunking: bool,
    pub(super) at_chunk: AtChunk,
    pub(super) starttls: Option<Certificate>,
    pub(super) implicit_tls: Option<Certificate>,
    pub(super) auth: Option<(String, String)>,
    pub(super) greeting: Option<(u16, &'static str)>,
    pub(super) keeps_contents: bool,
    pub(super) most_connections: usize,
    pub(super) mails_per_connection: usize,
    pub(super) mails_per_window: Option<(usize, Duration)>,
    pub(super) size: usize,
}

pub(super) struct Shared {
    pub(super) script: Box<Script>,
    pub(super) options: Options,
    pub(super) greeting: Mutex<Option<(u16, &'static str)>>,
    pub(super) auth: Mutex<Option<(String, String)>>,
    pub(super) connections: AtomicU64,
    pub(super) open: AtomicUsize,
    pub(super) busiest: AtomicUsize,
    pub(super) log: Mutex<Log>,
    /// Whether what is held is answered now.
    pub(super) released: watch::Sender<bool>,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

#[derive(Default)]
pub(super) struct Log {
    pub(super) received: Vec<Received>,
    pub(super) attempts: Vec<Attempt>,
    pub(super) senders: HashMap<String, u32>,
    pub(super) recipients: HashMap<String, u32>,
    pub(super) refused_senders: usize,
    pub(super) refused_logins: usize,
    pub(super) refused_connections: usize,
    pub(super) refused_mails: usize,
    pub(super) helo_names: Vec<String>,
    pub(super) unknown_commands: Vec<String>,
    pub(super) window: Option<(Instant, usize)>,
    pub(super) violations: Vec<String>,
}

/// A connection that counts as long as this lives.
pub(super) struct Counted<'a>(&'a AtomicUsize);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Shared {
    pub(super) fn violation(&self, text: impl Into<String>) {
        self.log.lock().unwrap().violations.push(text.into());
    }

    /// Waits until what is held is to be answered.
    pub(super) async fn until_released(&self) {
        let mut released = self.released.subscribe();
        // the sender lives as long as this
        let _ = released.wait_for(|released| *released).await;
    }

    /// Counts a connection; whether there are too many with it.
    pub(super) fn count(&self) -> (Counted<'_>, bool) {
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
    pub(super) fn is_too_fast(&self) -> bool {
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
    pub(super) fn ask_sender(&self, sender: &str) -> Answer {
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
    pub(super) fn ask_recipient(&self, recipient: &str, connection: u64) -> Answer {
        let to = recipient.to_lowercase();
        let mut log = self.log.lock().unwrap();
        let count = log.recipients.entry(to.clone()).or_default();
        *count += 1;
        let answer = (self.script)(&to, *count);
        log.attempts.push(Attempt { to, answer, at: Instant::now(), connection });
        answer
    }
}
