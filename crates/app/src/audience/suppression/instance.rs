//! The addresses that get no mail of any project, which the operator manages on the command line.

use mailwright_core::address::EmailAddress;
use mailwright_core::suppression::SuppressionReason;
use mailwright_core::time::Timestamp;
use mailwright_store::audience::suppression::instance::{self as store, Entry};
use mailwright_store::body;

use crate::App;
use crate::error::Result;

impl App {
    /// Puts an address on the list of the instance, or gives one that is there another reason and end.
    pub async fn suppress_everywhere(
        &self,
        email: EmailAddress,
        reason: SuppressionReason,
        expires_at: Option<Timestamp>,
    ) -> Result<()> {
        let entry = Entry { email, reason, created_at: self.0.clock.now(), expires_at };
        self.write(body!(async |tx| Ok(store::add(tx, &entry).await?))).await
    }

    /// Takes an address off the list of the instance; whether it was there.
    pub async fn unsuppress_everywhere(&self, email: EmailAddress) -> Result<bool> {
        self.write(body!(async |tx| Ok(store::remove(tx, &email).await?))).await
    }

    /// The list of the instance from behind an address on, in the order of the addresses.
    pub async fn suppressed_everywhere(
        &self,
        after: Option<EmailAddress>,
        limit: usize,
    ) -> Result<Vec<Entry>> {
        self.read(body!(async |rx| store::list(rx, after.as_ref(), limit).await)).await
    }
}
