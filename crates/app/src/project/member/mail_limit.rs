//! The limits on invitations that are sent by mail, so that the instance cannot be used as a relay.

use std::time::Duration;

use mailwright_core::address::EmailAddress;
use mailwright_core::ids::{ProjectId, UserId};
use mailwright_core::time::Timestamp;
use mailwright_store::Tx;
use mailwright_store::account::attempts::{self, Counted};

use crate::account::client_key::digest;
use crate::error::{Error, Result};

/// Most invitations of an address in a window of [`Allowance`], from all who invite.
const MAILS_TO_ADDRESS: i64 = 9;
/// Most of them by one person, so that nobody keeps others from inviting.
const MAILS_TO_ADDRESS_BY_ONE: i64 = 3;
/// Most that are mailed for a project, and for a person, in a window.
const MAILS_OF_ONE: i64 = 50;

/// The window in which invitations by mail are counted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Allowance {
    /// Its id: the number changes with a reset.
    pub(super) project: ProjectId,
    pub(super) window: Duration,
    pub(super) now: Timestamp,
}

impl Allowance {
    /// Counts a mail to an invited address, and returns the error if it is beyond a limit, so that the instance cannot
    /// be used as a relay. The counts are, in this order: the person who invites, the project, that person's mails to
    /// the address, and all mails to the address. A refused request must not use up the limits of others. The order is
    /// always the same, so that two invitations cannot wait for each other.
    pub(super) async fn take(
        self,
        tx: &mut Tx<'_>,
        person: Option<UserId>,
        email: &EmailAddress,
    ) -> Result<Option<Error>> {
        let by_person = person.map(|id| digest("invitations by", &[id.to_string().as_bytes()]));
        let of_project = digest("invitations of", &[self.project.to_string().as_bytes()]);
        let mut counted: Vec<_> = by_person
            .into_iter()
            .chain([of_project])
            .map(|key| Counted { key, limit: MAILS_OF_ONE })
            .collect();
        let to = email.as_str().as_bytes();
        let by = person.map_or_else(|| self.project.to_string(), |id| id.to_string());
        let by_one = digest("invitation to, by", &[to, by.as_bytes()]);
        counted.push(Counted { key: by_one, limit: MAILS_TO_ADDRESS_BY_ONE });
        counted.push(Counted { key: digest("invitation to", &[to]), limit: MAILS_TO_ADDRESS });
        let refused = attempts::attempt(tx, &counted, self.now.minus(self.window), self.now).await?;
        let refused = refused.map(|used_up| used_up.wait(self.window, self.now));
        Ok(refused.map(|retry_after| Error::TooManyMails { retry_after }))
    }
}
