//! The DKIM keys that mails are signed with.

use std::sync::Arc;
use std::time::Duration;

use mailwright_core::ids::ProjectNumber;
use mailwright_core::time::Timestamp;
use mailwright_mail::dkim::{DkimError, KeyType, SigningKey};
use mailwright_mail::domain::Purpose;
use mailwright_store::body;
use mailwright_store::sending::domain::{self, StoredKey};
use mailwright_store::sending::domain_key::{self, Second};

use super::remembered::Remembered;
use crate::App;
use crate::error::{Error, Result};
use crate::secret::{DKIM, InstanceSecret};
use crate::sending::domain::{Obstacle, has_key, has_record};
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
    /// What it is signed with: the key that proves the domain, and one of the other kind where its record was found.
    signers: Vec<(String, SigningKey)>,
    /// The name under the domain to which bounces return, where the domain has one.
    pub(super) return_path: Option<String>,
    /// The name under the domain that tracked links have, where the domain has one.
    pub(super) tracking: Option<String>,
    /// Whether mail for the domain comes here.
    pub(super) receives: bool,
}

impl DomainKey {
    /// The selectors of the keys that sign.
    pub(super) fn selectors(&self) -> impl Iterator<Item = &str> {
        self.signers.iter().map(|(selector, _)| selector.as_str())
    }

    /// The signatures of a message, each a complete header. That of the key that proves the domain comes first, because
    /// some receivers look at the first alone.
    pub(super) fn sign(&self, domain: &str, raw: &[u8], at: Timestamp) -> Result<String, DkimError> {
        self.signers.iter().map(|(selector, key)| key.sign(domain, selector, raw, at)).collect()
    }
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
        // that there is none is not remembered: the mails of a domain that was just added again must not fail for it
        let Some((stored, second)) = stored_keys(app, project, name).await? else {
            return Ok(Signing::Removed);
        };
        let signing = open(&app.settings().domains, &app.0.secret, name, stored, second)?;
        if let Signing::Key(key) = &signing {
            self.0.put(domain, KnownKey { changes, key: Arc::clone(key) }, now);
        }
        Ok(signing)
    }
}

/// The keys of a sender's domain, encrypted; nothing where the project does not have it.
pub(super) async fn stored_keys(
    app: &App,
    project: ProjectNumber,
    name: &str,
) -> Result<Option<(StoredKey, Option<Second>)>> {
    let (wanted, leaves) = ((project, name.to_owned()), app.mail_leaves());
    app.read(body!(async |rx| {
        let key = domain::signing_key(rx, wanted.0, &wanted.1, leaves).await?;
        let second = match &key {
            Some(_) => domain_key::second(rx, wanted.0, &wanted.1).await?,
            None => None,
        };
        Ok(key.map(|key| (key, second)))
    }))
    .await
}

/// Decrypts a key that mail may be signed with.
pub(super) fn open(
    settings: &DomainSettings,
    secret: &InstanceSecret,
    domain: &str,
    stored: StoredKey,
    second: Option<Second>,
) -> Result<Signing> {
    if !stored.may_send {
        return Ok(Signing::Withheld(Obstacle::Unverified));
    }
    let Some(kind) = KeyType::parse(&stored.kind) else { return Ok(Signing::Withheld(Obstacle::UnknownKey)) };
    let Ok(der) = secret.open(DKIM, &stored.private_key) else {
        return Ok(Signing::Withheld(Obstacle::Unopened));
    };
    let key = SigningKey::from_der(kind, &der).map_err(|e| Error::Internal(e.to_string()))?;
    let second = second.filter(|(selector, ..)| has_key(&stored.last_check, selector));
    let found =
        |purpose, label: &str| has_record(&stored.last_check, purpose).then(|| format!("{label}.{domain}"));
    let return_path = found(Purpose::ReturnPath, &settings.return_path_label);
    let tracking = found(Purpose::Tracking, &settings.tracking_label);
    Ok(Signing::Key(Arc::new(DomainKey {
        signers: std::iter::once((stored.selector, key))
            .chain(second.and_then(|second| open_second(secret, second)))
            .collect(),
        return_path,
        tracking,
        receives: stored.receives,
    })))
}

/// Decrypts a second key. One that cannot be used leaves the mail with one signature.
fn open_second(
    secret: &InstanceSecret,
    (selector, kind, private_key): Second,
) -> Option<(String, SigningKey)> {
    let der = secret.open(DKIM, &private_key).ok()?;
    Some((selector, SigningKey::from_der(KeyType::parse(&kind)?, &der).ok()?))
}

#[cfg(test)]
mod tests {
    use mailwright_mail::mta_sts::Mode;
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
                last_check: json!([
                    { "purpose": "return_path", "status": "found" },
                    { "purpose": "dkim", "name": "mw2._domainkey.acme.test", "status": "found" },
                    { "purpose": "dkim", "name": "mw3._domainkey.acme.test", "status": "missing" },
                ]),
            };
            let settings = DomainSettings {
                check_interval: Duration::from_secs(1),
                spf: None,
                key_type: kind,
                second_key: true,
                key_lifetime: None,
                return_path_label: "bounce".into(),
                tracking_label: "track".into(),
                mta_sts: Mode::None,
                tls_reports_to: None,
            };
            let open = |stored, second| open(&settings, &secret, "acme.test", stored, second);
            let (other, _) = SigningKey::generate(kind.other()).unwrap();
            let other = secret.seal(DKIM, &other).unwrap();
            for (selector, is_used) in [("mw2", true), ("mw3", false), ("mw", false)] {
                let second = (selector.to_owned(), kind.other().as_str().to_owned(), other.clone());
                let Signing::Key(known) = open(stored(kind.as_str()), Some(second)).unwrap() else {
                    panic!("no key")
                };
                let signed = known.sign("acme.test", b"From: a@acme.test\r\n\r\n", Timestamp(0)).unwrap();
                let named = |kind: KeyType| signed.find(&format!("a={}-sha256", kind.as_str()));
                assert!(named(kind).is_some(), "{signed}");
                assert_eq!(named(kind.other()) > named(kind), is_used, "{selector}: {signed}");
            }
            let Signing::Key(known) = open(stored(kind.as_str()), None).unwrap() else { panic!("no key") };
            assert_eq!(known.signers[0].1.kind(), kind);
            assert_eq!(known.return_path.as_deref(), Some("bounce.acme.test"));
            assert_eq!(known.tracking, None);
            let unknown = open(stored("ed448"), None).unwrap();
            assert!(matches!(unknown, Signing::Withheld(Obstacle::UnknownKey)));
        }
    }
}
