//! The DKIM keys that mails are signed with.

use std::sync::Arc;
use std::time::Duration;

use mailwright_core::ids::ProjectNumber;
use mailwright_mail::dkim::{KeyType, SigningKey};
use mailwright_mail::domain::Purpose;
use mailwright_store::body;
use mailwright_store::sending::domain::{self, StoredKey};

use super::remembered::Remembered;
use crate::App;
use crate::error::{Error, Result};
use crate::secret::{DKIM, InstanceSecret};
use crate::sending::domain::{Obstacle, has_record};
use crate::settings::DomainSettings;

/// Whether mail of a domain may be signed.
pub(super) enum Signing {
    /// With this key.
    Key(Arc<DomainKey>),
    /// Not now.
    Withheld(Obstacle),
    /// The project has no such domain.
    Removed,
}

/// What mail of a domain needs.
pub(super) struct DomainKey {
    pub(super) selector: String,
    pub(super) key: SigningKey,
    /// The name under the domain to which bounces return, where the domain has one.
    pub(super) return_path: Option<String>,
    /// The name under the domain that tracked links have, where the domain has one.
    pub(super) tracking: Option<String>,
    /// Whether mail for the domain comes here.
    pub(super) receives: bool,
}

#[derive(Clone)]
struct KnownKey {
    /// The count of changes to domains when the key was read.
    changes: u64,
    key: Arc<DomainKey>,
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
        let signing = open(&app.settings().domains, &app.0.secret, name, stored)?;
        if let Signing::Key(key) = &signing {
            self.0.put(domain, KnownKey { changes, key: Arc::clone(key) }, now);
        }
        Ok(signing)
    }
}

/// Decrypts a key that mail may be signed with.
fn open(
    settings: &DomainSettings,
    secret: &InstanceSecret,
    domain: &str,
    stored: StoredKey,
) -> Result<Signing> {
    if !stored.may_send {
        return Ok(Signing::Withheld(Obstacle::Unverified));
    }
    let Some(kind) = KeyType::parse(&stored.kind) else { return Ok(Signing::Withheld(Obstacle::UnknownKey)) };
    let Ok(der) = secret.open(DKIM, &stored.private_key) else {
        return Ok(Signing::Withheld(Obstacle::Unopened));
    };
    let key = SigningKey::from_der(kind, &der).map_err(|e| Error::Internal(e.to_string()))?;
    let found =
        |purpose, label: &str| has_record(&stored.last_check, purpose).then(|| format!("{label}.{domain}"));
    let return_path = found(Purpose::ReturnPath, &settings.return_path_label);
    let tracking = found(Purpose::Tracking, &settings.tracking_label);
    Ok(Signing::Key(Arc::new(DomainKey {
        selector: stored.selector,
        key,
        return_path,
        tracking,
        receives: stored.receives,
    })))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

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
                receives: true,
                last_check: json!([{ "purpose": "return_path", "status": "found" }]),
            };
            let settings = DomainSettings {
                check_interval: Duration::from_secs(1),
                spf: None,
                key_type: kind,
                return_path_label: "bounce".into(),
                tracking_label: "track".into(),
            };
            let open = |stored| open(&settings, &secret, "acme.test", stored);
            let Signing::Key(known) = open(stored(kind.as_str())).unwrap() else { panic!("no key") };
            assert_eq!(known.key.kind(), kind);
            assert_eq!(known.return_path.as_deref(), Some("bounce.acme.test"));
            assert_eq!(known.tracking, None);
            let unknown = open(stored("ed448")).unwrap();
            assert!(matches!(unknown, Signing::Withheld(Obstacle::UnknownKey)));
        }
    }
}
