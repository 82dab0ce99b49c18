//! The DKIM keys that mails are signed with.

use std::time::Duration;

use mailwright_core::ids::ProjectNumber;
use mailwright_mail::dkim::{KeyType, SigningKey};
use mailwright_store::body;
use mailwright_store::sending::domain::{self, StoredKey};

use super::remembered::Remembered;
use crate::App;
use crate::error::{Error, Result};
use crate::secret::{DKIM, InstanceSecret};
use crate::sending::domain::Obstacle;

/// Whether mail of a domain may be signed.
pub(super) enum Signing {
    /// With this key, whose selector comes first.
    Key((String, SigningKey)),
    /// Not now.
    Withheld(Obstacle),
    /// The project has no such domain.
    Removed,
}

#[derive(Clone)]
struct KnownKey {
    /// The count of changes to domains when the key was read.
    changes: u64,
    key: (String, SigningKey),
}

/// The keys of senders' domains, as this process remembers them.
pub(super) struct SigningKeys(Remembered<(ProjectNumber, String), KnownKey>);

impl SigningKeys {
    /// Uses a key for so long without looking whether it is still the same.
    pub(super) fn lasting(lasts: Duration) -> Self {
        Self(Remembered::lasting(lasts))
    }

    /// The DKIM key of a sender's domain, if mail may be signed with it.
    pub(super) async fn get(&self, app: &App, project: ProjectNumber, name: &str) -> Result<Signing> {
        let domain = (project, name.to_owned());
        let (now, changes) = (app.clock().now(), app.domain_changes());
        if let Some(known) = self.0.get(&domain, now).filter(|known| known.changes == changes) {
            return Ok(Signing::Key(known.key));
        }
        let (wanted, leaves) = (domain.clone(), app.mail_leaves());
        let stored =
            app.read(body!(async |rx| domain::signing_key(rx, wanted.0, &wanted.1, leaves).await)).await?;
        // that there is none is not remembered: the mails of a domain that was just added again must not fail for it
        let Some(stored) = stored else { return Ok(Signing::Removed) };
        let signing = open(&app.0.secret, stored)?;
        if let Signing::Key(key) = &signing {
            self.0.put(domain, KnownKey { changes, key: key.clone() }, now);
        }
        Ok(signing)
    }
}

/// Decrypts a key that mail may be signed with.
fn open(secret: &InstanceSecret, stored: StoredKey) -> Result<Signing> {
    if !stored.may_send {
        return Ok(Signing::Withheld(Obstacle::Unverified));
    }
    let Some(kind) = KeyType::parse(&stored.kind) else { return Ok(Signing::Withheld(Obstacle::UnknownKey)) };
    let Ok(der) = secret.open(DKIM, &stored.private_key) else {
        return Ok(Signing::Withheld(Obstacle::Unopened));
    };
    let key = SigningKey::from_der(kind, &der).map_err(|e| Error::Internal(e.to_string()))?;
    Ok(Signing::Key((stored.selector, key)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_of_an_unknown_kind_signs_nothing() {
        let secret = InstanceSecret::new(*b"0123456789abcdef");
        for kind in [KeyType::Rsa2048, KeyType::Ed25519] {
            let (private, _) = SigningKey::generate(kind).unwrap();
            let private_key = secret.seal(DKIM, &private).unwrap();
            let stored = |kind: &str| StoredKey {
                selector: "mw1".into(),
                kind: kind.into(),
                private_key: private_key.clone(),
                may_send: true,
            };
            let known = open(&secret, stored(kind.as_str())).unwrap();
            assert!(matches!(known, Signing::Key((_, key)) if key.kind() == kind));
            let unknown = open(&secret, stored("ed448")).unwrap();
            assert!(matches!(unknown, Signing::Withheld(Obstacle::UnknownKey)));
        }
    }
}
