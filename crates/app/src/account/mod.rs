//! People: signing up and in, sessions, passwords, one-time links, second factors, providers.

mod attempt_queue;
mod attempts;
pub mod client_key;
pub mod oauth;
pub mod one_time_link;
pub mod password;
mod password_change;
pub mod session;
pub mod totp;
mod user;

use crate::App;
use crate::account::attempt_queue::AttemptQueue;
use crate::account::password::Passwords;
use crate::http_client::HttpClient;

/// What this process keeps for this area.
pub(crate) struct State {
    passwords: Passwords,
    attempts: AttemptQueue,
    http: HttpClient,
}

impl State {
    pub(crate) fn new(http: HttpClient) -> Self {
        Self { passwords: Passwords::default(), attempts: AttemptQueue::default(), http }
    }
}

impl App {
    /// Hashes and compares passwords.
    pub(crate) fn passwords(&self) -> &Passwords {
        &self.0.account.passwords
    }
}
