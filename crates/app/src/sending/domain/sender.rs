//! Whether a project may send from a domain now, and why not.

use mailwright_core::address::EmailAddress;
use mailwright_core::ids::ProjectNumber;
use mailwright_core::issue::Issue;
use mailwright_store::Rx;
use mailwright_store::sending::domain as store;

use crate::error::{Error, Result};

/// Why nothing is signed for a domain for now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Obstacle {
    /// The domain is not verified.
    Unverified,
    /// Its private key was encrypted with another secret.
    Unopened,
    /// Its private key is of a kind that this version does not know.
    UnknownKey,
}

impl Obstacle {
    /// The `error` of a mail that waits for the domain.
    pub(crate) fn of_mail(self, domain: &str) -> String {
        match self {
            Self::Unverified => format!("The sender's domain {domain} is not verified."),
            Self::Unopened => format!(
                "The key of the sender's domain {domain} cannot be decrypted with the secret of this \
                 instance."
            ),
            Self::UnknownKey => {
                format!(
                    "The key of the sender's domain {domain} is of a kind that this version does not know."
                )
            }
        }
    }

    /// The `note` of a campaign that is paused because of the domain.
    pub(crate) fn of_campaign(self, domain: &str) -> String {
        match self {
            Self::Unverified => {
                format!(
                    "Paused, because the domain {domain} is not verified. Verify it, and resume the campaign."
                )
            }
            Self::Unopened => format!(
                "Paused, because the key of the domain {domain} cannot be decrypted with the secret of this \
                 instance. The operator can restore the right secret, or give the domain a new key. Then \
                 resume the campaign."
            ),
            Self::UnknownKey => format!(
                "Paused, because the key of the domain {domain} is of a kind that this version does not know. The \
                 operator has to update the service. Then resume the campaign."
            ),
        }
    }
}

/// The sender of a template or campaign that is created.
pub(crate) fn required_sender(from: Option<&EmailAddress>) -> Result<EmailAddress> {
    let missing = || Error::Invalid(vec![Issue::new("from", "required", "A sender is required.")]);
    from.cloned().ok_or_else(missing)
}

/// Refuses an address that the project may not send from. `leaves`: whether mail leaves the machine.
pub(crate) async fn check_may_send(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    from: &EmailAddress,
    leaves: bool,
) -> Result<()> {
    sender_refused(rx, project, from.domain(), leaves).await?.map_or(Ok(()), Err)
}

/// Why the project may not send from the domain of this name; `None` when it may. `leaves`: whether mail leaves the machine.
pub(crate) async fn sender_refused(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    name: &str,
    leaves: bool,
) -> mailwright_store::Result<Option<Error>> {
    let domains = store::may_send(rx, &[(project, name)], leaves).await?;
    Ok(match domains.get(&(project, name.to_owned())) {
        Some(true) => None,
        Some(false) => Some(Error::SenderRefused(format!(
            "The domain {name} is not verified. Create its DNS records and verify it before sending from it."
        ))),
        None => Some(Error::SenderRefused(format!(
            "The domain {name} is not registered for this project. Add it and verify it before sending from it."
        ))),
    })
}
