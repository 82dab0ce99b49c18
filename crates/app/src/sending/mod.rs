//! What a project sends: mails, templates, campaigns, and the domains that they come from.

pub mod campaign;
pub mod check;
pub mod content;
pub mod domain;
pub mod email;
pub(crate) mod footer;
mod headers;
pub mod held;
pub mod idempotency;
pub(crate) mod key_pool;
pub(crate) mod page;
pub mod preview;
pub(crate) mod render;
pub mod send;
pub mod source;
pub mod suppressed;
pub mod system_mail;
pub mod template;
pub(crate) mod test_mail;
pub mod upload;
pub mod version;

use std::sync::atomic::{AtomicU64, Ordering};

use mailwright_core::project::Project;
use mailwright_mail::dns::Dns;
use mailwright_store::{Coalescer, Db};
use tokio::sync::OnceCell;

use crate::App;
use crate::http_client::HttpClient;
use crate::sending::campaign::runner::Hints;
use crate::sending::content::Contents;
use crate::sending::domain::{AgedKeys, AskedLookUps, MailPolicy, Registrar};
use crate::sending::email::Told;
use crate::sending::key_pool::KeyPool;
use crate::sending::upload::places::Places;
use crate::settings::Settings;

/// What this process keeps for this area.
pub(crate) struct State {
    sends: Coalescer<send::Operation, send::Outcome>,
    contents: Contents,
    illegible: Told,
    key_pool: KeyPool,
    asked_look_ups: AskedLookUps,
    aged_keys: AgedKeys,
    registrar: Registrar,
    /// The policy about mail for sender domains, if there is one.
    mail_policy: Option<MailPolicy>,
    campaigns: Hints,
    upload: upload::State,
    /// Who may render a mail now that somebody edits.
    editing: Places,
    /// The project of system mail, once it is known.
    system_project: OnceCell<Project>,
    /// How often this process saw that a domain may, or may not, be sent from any more.
    domain_changes: AtomicU64,
}

impl State {
    /// `http` asks accounts about domains.
    pub(crate) fn new(db: &Db, dns: &Dns, settings: &Settings, http: HttpClient) -> Self {
        Self {
            sends: Coalescer::writes(db, |tx, operations| Box::pin(send::run(tx, operations))),
            contents: Contents::new(db.clone()),
            illegible: Told::default(),
            key_pool: KeyPool::default(),
            asked_look_ups: AskedLookUps::default(),
            aged_keys: AgedKeys::default(),
            registrar: Registrar::new(http),
            mail_policy: MailPolicy::of(settings),
            campaigns: Hints::default(),
            upload: upload::State::new(dns, &settings.uploads),
            editing: Places::default(),
            system_project: OnceCell::new(),
            domain_changes: AtomicU64::new(0),
        }
    }
}

impl App {
    /// The contents of mails, prepared.
    pub(crate) fn contents(&self) -> &Contents {
        &self.0.sending.contents
    }

    /// Where the runner of campaigns is told what to look at.
    pub(crate) fn campaign_hints(&self) -> &Hints {
        &self.0.sending.campaigns
    }

    /// The domains whose keys are too old.
    pub(crate) fn aged_keys(&self) -> &AgedKeys {
        &self.0.sending.aged_keys
    }

    /// How often this process saw that a domain may, or may not, be sent from any more.
    pub(crate) fn domain_changes(&self) -> u64 {
        self.0.sending.domain_changes.load(Ordering::SeqCst)
    }
}
