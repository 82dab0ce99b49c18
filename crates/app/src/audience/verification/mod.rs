//! Whether addresses can take mail: what their form, lists and DNS say (`mail::verification`), and what the project knows
//! of them. A few are verified at once; many by a job (`job.rs`), which keeps what it finds out (`results.rs`).

mod job;
mod lists;
mod results;

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError, RwLock};

use mailwright_core::address::EmailAddress;
use mailwright_core::ids::ProjectNumber;
use mailwright_core::project::Project;
use mailwright_core::suppression::{Match, SuppressionReason};
use mailwright_core::template::TemplateType;
use mailwright_core::time::Timestamp;
use mailwright_mail::dns::Dns;
use mailwright_mail::verification::{Lists, Verifier};
use mailwright_store::audience::suppression::Look;
use mailwright_store::{Result as StoreResult, body};

use super::places::Places;
use crate::App;
use crate::error::{Error, Result};

pub(crate) use self::job::Verifying;
pub use self::job::{Counts, Verified};
pub use self::lists::{ListInForce, ListRefreshed};
pub use self::results::{Found, KEPT_DAYS, KEPT_JOBS, Page};
pub use mailwright_mail::verification::Verification;

/// Most addresses that are verified at once.
pub const MAX_ADDRESSES: usize = 1_000;
/// Domains of one batch that are asked about at the same time.
const PARALLEL: usize = 32;
/// Batches of a project that are verified at the same time in one process.
const MAX_BATCHES: usize = 2;

/// What this process keeps.
pub(super) struct State {
    loaded: RwLock<Loaded>,
    batches: Places,
}

/// The verifier with the lists that this process has loaded.
struct Loaded {
    verifier: Verifier,
    /// When the newest of the lists was fetched; `None` for those that come with the program.
    fetched_at: Option<Timestamp>,
}

impl State {
    pub(super) fn new(dns: &Dns) -> Self {
        let loaded = Loaded { verifier: Verifier::new(dns, Arc::new(Lists::default())), fetched_at: None };
        Self { loaded: RwLock::new(loaded), batches: Places::new(MAX_BATCHES) }
    }

    fn verifier(&self) -> Verifier {
        self.loaded.read().unwrap_or_else(PoisonError::into_inner).verifier.clone()
    }

    /// When the newest of the lists was fetched.
    fn fetched_at(&self) -> Option<Timestamp> {
        self.loaded.read().unwrap_or_else(PoisonError::into_inner).fetched_at
    }

    /// Takes other lists, of which the newest was fetched at a time.
    fn renew(&self, lists: Arc<Lists>, fetched_at: Option<Timestamp>) {
        let mut loaded = self.loaded.write().unwrap_or_else(PoisonError::into_inner);
        *loaded = Loaded { verifier: loaded.verifier.with_lists(lists), fetched_at };
    }
}

impl App {
    /// Verifies an address.
    pub async fn verify(&self, project: &Project, address: &str) -> Result<Verification> {
        let mut found = [self.0.audience.verification.verifier().verify(address).await];
        self.add_what_is_known(project.number, &mut found).await?;
        let [found] = found;
        Ok(found)
    }

    /// Verifies many addresses; the results have their order. A project has at most two batches at a time.
    pub async fn verify_all(&self, project: &Project, addresses: &[String]) -> Result<Vec<Verification>> {
        let Some(_place) = self.0.audience.verification.batches.take(project.number) else {
            return Err(Error::TooManyBatches);
        };
        Ok(self.verify_many(project.number, addresses).await?)
    }

    /// The same without a bound on batches.
    pub(crate) async fn verify_many(
        &self,
        project: ProjectNumber,
        addresses: &[String],
    ) -> StoreResult<Vec<Verification>> {
        let verifier = self.0.audience.verification.verifier();
        let mut found = verifier.verify_all(addresses, PARALLEL).await;
        self.add_what_is_known(project, &mut found).await?;
        Ok(found)
    }

    /// The provider of mailboxes for private persons that a domain belongs to, as the lists in force say.
    pub(crate) fn mailbox_provider(&self, domain: &str) -> Option<String> {
        self.0.audience.verification.verifier().lists().provider_of(domain).map(str::to_owned)
    }

    /// Why an address gets no account; `None` if it may have one. A name server that is away refuses nobody.
    pub(crate) async fn refuses_account(&self, address: &EmailAddress) -> Option<String> {
        let found = self.0.audience.verification.verifier().verify(address.as_str()).await;
        if found.is_disposable {
            return Some("This is a disposable address. Use one that stays yours.".to_owned());
        }
        (!found.valid).then(|| format!("No mail arrives at this address. {}", found.reasons.join(" ")))
    }

    /// Adds what the project knows of addresses.
    async fn add_what_is_known(&self, project: ProjectNumber, found: &mut [Verification]) -> StoreResult<()> {
        let now = self.clock().now();
        let addresses: BTreeSet<EmailAddress> =
            found.iter().filter_map(|one| EmailAddress::parse(&one.email)).collect();
        if addresses.is_empty() {
            return Ok(());
        }
        let look = self.0.db.read(body!(async |rx| {
            let asked = addresses.iter().collect();
            let look = Look::at(rx, project, &asked, now).await?;
            Ok(look)
        }));
        let look = look.await?;
        for one in found {
            let address = EmailAddress::parse(&one.email);
            let held = address.and_then(|address| look.find(&address, TemplateType::Marketing, false));
            if let Some(held) = held {
                tell(one, &held);
            }
        }
        Ok(())
    }
}

/// Tells why mail to an address is held back. Only an address that mail came back from is not valid because of it.
fn tell(found: &mut Verification, held: &Match) {
    match held.reason {
        Some(SuppressionReason::HardBounce) => {
            found.refuse("A mail to the address bounced before: it does not exist, or takes no mail.");
        }
        Some(reason) => found.add_reason(format!("The address is suppressed: {}.", reason.as_str())),
        None => found.add_reason(format!("The rule {:?} holds back mail to the address.", held.name)),
    }
}
