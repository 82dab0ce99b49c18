//! Addresses and rules that keep mail from being sent, as a project and the operator manage them. Where mail is looked
//! at: when a send is accepted (`sending/send/acceptance.rs`), when a campaign is frozen, when a step of a workflow is
//! taken, and whenever a mail is claimed for delivery.

mod addresses;
mod import;
mod instance;
mod rules;

use mailwright_core::ids::ProjectNumber;
use mailwright_core::time::Timestamp;
use mailwright_store::audience::suppression::{address, soft_bounce};
use mailwright_store::body;

use crate::App;
use crate::error::Result;

pub use addresses::{Added, AddressPage, Wanted};
pub(crate) use import::Import;
pub use import::{ImportCounts, Imported};
pub use mailwright_store::audience::suppression::address::{Entry, List};
pub use rules::{RuleChange, RuleFields};

/// Rows that one transaction of the maintenance removes.
const FORGET: i64 = 500;

impl App {
    /// Removes what has expired, and counts of full mailboxes that are of no use any more.
    pub(crate) async fn forget_suppressions(&self, project: ProjectNumber, now: Timestamp) -> Result<()> {
        loop {
            let forgotten = self.write_in_background(body!(async |tx| {
                let expired = address::forget(tx, project, now, FORGET).await?;
                Ok(expired + soft_bounce::forget_old(tx, project, now, FORGET).await?)
            }));
            if forgotten.await? == 0 {
                return Ok(());
            }
        }
    }
}
