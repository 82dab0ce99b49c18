//! What members are told of their project's domains, by the instance's own mails.

use futures_util::future::BoxFuture;
use mailwright_core::address::DomainName;
use mailwright_core::ids::ProjectNumber;
use mailwright_store::{Tx, body, project};

use crate::App;
use crate::error::{Error, Result};
use crate::sending::system_mail::{Letter, SystemSender};

/// What members are to be told, and from where.
#[derive(Debug, Clone)]
pub(super) struct Letters {
    letter: Option<Letter>,
    sender: Option<SystemSender>,
}

impl Letters {
    /// Nothing.
    pub(super) fn none() -> Self {
        Self { letter: None, sender: None }
    }

    /// A domain cannot be sent from any more.
    pub(super) fn lost(domain: &DomainName) -> Self {
        Self::with(Letter {
            subject: "{{project}} cannot send from one of its domains any more",
            text: format!(
                "The DKIM record of the domain {domain} of the project {{{{project}}}} at {{{{instance}}}} was not found \
                 when it was looked for. Mail from the domain waits, or is refused, until the record is back."
            ),
            after: "The domain's page shows which record is missing. It is looked for again every few minutes.",
        })
    }

    /// The keys of a domain are old, and there are new ones.
    pub(super) fn old_key(domain: &DomainName) -> Self {
        Self::with(Letter {
            subject: "A domain of {{project}} has new DKIM keys",
            text: format!(
                "The DKIM keys of the domain {domain} of the project {{{{project}}}} at {{{{instance}}}} are old. New ones \
                 were made. Please create their DNS records. The new keys are used as soon as the records are found; until \
                 then the old ones are."
            ),
            after: "The domain's page shows the records. Keep those of the old keys for a week after that.",
        })
    }

    fn with(letter: Letter) -> Self {
        Self { letter: Some(letter), sender: None }
    }

    /// Whether there is something to tell.
    pub(super) fn is_any(&self) -> bool {
        self.letter.is_some()
    }

    /// Writes to all members of a project, where the instance can.
    pub(super) async fn write(&self, tx: &mut Tx<'_>, app: &App, number: ProjectNumber) -> Result<()> {
        let (Some(letter), Some(sender)) = (&self.letter, &self.sender) else { return Ok(()) };
        match project::get(tx, number).await? {
            Some(project) => app.write_to_members(tx, sender, &project, letter).await,
            None => Ok(()),
        }
    }
}

impl App {
    /// Runs a transaction that may write to members. Where they cannot be written to, it is done all the same.
    pub(super) async fn with_letters<T, F>(&self, mut letters: Letters, run: F) -> Result<T>
    where
        T: Send + 'static,
        F: for<'t> Fn(&'t mut Tx<'_>, &'t App, &'t Letters) -> BoxFuture<'t, Result<T>>
            + Clone
            + Send
            + Sync
            + 'static,
    {
        if letters.is_any() {
            letters.sender = self.system_sender().await.unwrap_or_else(|error| {
                tracing::error!(%error, "members cannot be told about their domain");
                None
            });
        }
        let sender = letters.sender.clone();
        let done = match self.run_with(letters.clone(), run.clone()).await {
            Err(error @ Error::NoOwnSender) => {
                tracing::error!(%error, "members are not told about their domain");
                letters.sender = None;
                self.run_with(letters, run).await
            }
            done => done,
        };
        if let (Ok(_), Some(sender)) = (&done, &sender) {
            self.wake_system_mail(sender);
        }
        done
    }

    async fn run_with<T, F>(&self, letters: Letters, run: F) -> Result<T>
    where
        T: Send + 'static,
        F: for<'t> Fn(&'t mut Tx<'_>, &'t App, &'t Letters) -> BoxFuture<'t, Result<T>>
            + Clone
            + Send
            + Sync
            + 'static,
    {
        let app = self.clone();
        self.write(body!(async |tx| run(tx, &app, &letters).await)).await
    }
}
