//! The limits on guessing, and on what costs others: attempts are counted by address and by client. They are counted in
//! transactions of their own, so a refusal does not undo them.

use mailwright_store::account::attempts::{self, Counted, UsedUp};
use mailwright_store::body;

use crate::App;
use crate::account::client_key::{ClientKey, digest, subject};
use crate::error::{Error, Result};

/// The counts that an attempt was added to.
#[derive(Debug)]
pub(crate) struct Attempt {
    subject: [u8; 32],
    counted: Vec<Counted>,
}

impl App {
    /// Counts an attempt against the address and the client. An account's own clients have a count of their own, so
    /// that nobody can lock its owner out by guessing.
    pub(crate) async fn attempt(&self, address: &str, client: ClientKey, known: bool) -> Result<Attempt> {
        let settings = &self.settings().accounts;
        let own: &[u8] = if known { client.as_bytes() } else { b"" };
        let subject = Counted { key: subject(address, own), limit: settings.attempts_per_address };
        let mut counted = client.counted("from", settings.attempts_per_client);
        counted.push(subject);
        let attempt = Attempt { subject: subject.key, counted };
        self.count(attempt.counted.clone()).await?;
        Ok(attempt)
    }

    /// Counts something that a client does and that costs others, such as mails to strangers.
    pub(crate) async fn count_client(&self, what: &str, client: ClientKey) -> Result<()> {
        let limit = self.settings().accounts.attempts_per_client;
        self.count(client.counted(what, limit)).await
    }

    /// The same for what may be taken back when it turns out to be fine.
    pub(crate) async fn count_attempt(&self, what: &str, client: ClientKey) -> Result<Attempt> {
        let limit = self.settings().accounts.attempts_per_client;
        let attempt =
            Attempt { subject: digest(what, &[client.as_bytes()]), counted: client.counted(what, limit) };
        self.count(attempt.counted.clone()).await?;
        Ok(attempt)
    }

    /// Notes that something is used which can be used once. Whether this is the first time; it is remembered for as
    /// long as a sign-in with a provider takes.
    pub(crate) async fn is_first_use(&self, what: &str, of: &[u8]) -> Result<bool> {
        let once = [Counted { key: digest(what, &[of]), limit: 1 }];
        let now = self.0.clock.now();
        let since = now.minus(self.remembered_for());
        let used_before =
            self.0.db.write(body!(async |tx| attempts::attempt(tx, &once, since, now).await)).await?;
        Ok(used_before.is_none())
    }

    /// How long counts are kept.
    pub(in crate::account) fn remembered_for(&self) -> std::time::Duration {
        // a sign-in that expired at this very moment is refused by its own clock
        self.settings().accounts.attempts_window.max(self.settings().oauth.state_ttl * 2)
    }

    async fn count(&self, rows: Vec<Counted>) -> Result<()> {
        let (queue, window) = (&self.0.account.attempts, self.settings().accounts.attempts_window);
        let refused =
            |used_up: UsedUp, now| Err(Error::TooManyAttempts { retry_after: used_up.wait(window, now) });
        let asked_at = self.0.clock.now();
        if let Some(used_up) = queue.used_up(&rows, asked_at) {
            return refused(used_up, asked_at);
        }
        let _turn = queue.turn().await;
        let now = self.0.clock.now();
        // it may have been used up by those who had their turn before
        if let Some(used_up) = queue.used_up(&rows, now) {
            return refused(used_up, now);
        }
        let since = now.minus(window);
        let used_up =
            self.0.db.write(body!(async |tx| attempts::attempt(tx, &rows, since, now).await)).await?;
        let Some(used_up) = used_up else { return Ok(()) };
        queue.note(used_up, now);
        refused(used_up, now)
    }

    pub(crate) async fn forgive(&self, attempt: Attempt) -> Result<()> {
        self.0
            .db
            .write(body!(async |tx| attempts::succeeded(tx, &attempt.subject, &attempt.counted).await))
            .await?;
        Ok(())
    }

    /// Takes an attempt back that was neither right nor wrong.
    pub(crate) async fn take_back(&self, attempt: Attempt) -> Result<()> {
        self.0.db.write(body!(async |tx| attempts::succeeded(tx, &[], &attempt.counted).await)).await?;
        Ok(())
    }
}
