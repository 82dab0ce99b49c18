//! The signature of requests, as Standard Webhooks (1.0) have it: HMAC-SHA256 over id, time and body, with a secret for
//! each project. The secret is derived from that of the instance, so that none is stored.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mailwright_core::audit::{Action, Actor};
use mailwright_core::ids::{ProjectNumber, WebhookId};
use mailwright_core::project::Project;
use mailwright_core::time::Timestamp;
use mailwright_store::body;
use mailwright_store::project as store;
use mailwright_store::project::audit::{self, Entry};
use mailwright_store::project::automation;
use ring::hmac;

use crate::App;
use crate::error::{Error, Result};
use crate::secret::InstanceSecret;

/// Purpose under which secrets are derived.
const PURPOSE: &str = "webhooks";

/// The secret that a project's requests are signed with.
#[derive(Clone)]
pub struct Secret(Vec<u8>);

/// Never the secret itself.
impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl Secret {
    fn derive(instance: &InstanceSecret, project: &Project, salt: &[u8]) -> Result<Self> {
        let data = [project.id.as_uuid().as_bytes().as_slice(), salt].concat();
        instance.sign(PURPOSE, &data).map(Self)
    }

    /// The form that receivers are told: `whsec_` and Base64.
    pub fn to_text(&self) -> String {
        format!("whsec_{}", STANDARD.encode(&self.0))
    }

    /// The `webhook-signature` of a request.
    pub(super) fn sign(&self, id: WebhookId, at: Timestamp, body: &str) -> String {
        let signed = format!("{id}.{}.{body}", at.0.div_euclid(1000));
        let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &self.0), signed.as_bytes());
        format!("v1,{}", STANDARD.encode(tag))
    }
}

impl App {
    /// The secret that a project's requests are signed with.
    pub async fn webhook_secret(&self, project: &Project) -> Result<Secret> {
        let found = self.webhook_secret_of(project.number).await?;
        found.ok_or(Error::ProjectReset)
    }

    /// Gives a project another secret. Requests that are made again are signed with it as well.
    pub async fn regenerate_webhook_secret(&self, project: &Project, actor: &Actor) -> Result<Secret> {
        let (number, now, actor) = (project.number, self.0.clock.now(), actor.clone());
        let salt: [u8; 16] = rand::random();
        self.write(body!(async |tx| {
            automation::set_webhook_salt(tx, number, &salt).await?;
            let entry = Entry::new(Action::WebhookSecretRotated, number.0.to_string());
            Ok(audit::record(tx, number, &actor, &entry, now).await?)
        }))
        .await?;
        Secret::derive(&self.0.secret, project, &salt)
    }

    /// The same for a project by its number; `None` when there is none any more.
    pub(super) async fn webhook_secret_of(&self, number: ProjectNumber) -> Result<Option<Secret>> {
        let found = self
            .read(body!(async |rx| {
                let Some(project) = store::get(rx, number).await? else { return Ok(None) };
                Ok(Some((project, automation::webhook_salt(rx, number).await?)))
            }))
            .await?;
        found.map(|(project, salt)| Secret::derive(&self.0.secret, &project, &salt)).transpose()
    }
}

#[cfg(test)]
mod tests {
    use mailwright_core::project::Tracking;

    use super::*;

    #[test]
    fn a_signature_is_that_of_the_standard() {
        // the example of the specification
        let secret = Secret(STANDARD.decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap());
        assert_eq!(secret.to_text(), "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
        let id = WebhookId::from_bytes([1; 16]);
        let signed = secret.sign(id, Timestamp(1_614_265_330_123), "{}");
        let expected = hmac::sign(
            &hmac::Key::new(hmac::HMAC_SHA256, &secret.0),
            b"01010101-0101-0101-0101-010101010101.1614265330.{}",
        );
        assert_eq!(signed, format!("v1,{}", STANDARD.encode(expected)));
    }

    #[test]
    fn projects_have_different_secrets_which_are_not_shown() {
        let instance = InstanceSecret::new("0123456789abcdef");
        let project = |number: i64| Project {
            number: ProjectNumber(number),
            id: mailwright_core::ids::ProjectId::first_of(Timestamp(number)),
            name: String::new(),
            language: "en".into(),
            disabled: false,
            tracking: Tracking::Enabled,
            double_opt_in: false,
            consent_keeps_address: false,
        };
        let secret = |number, salt: &[u8]| Secret::derive(&instance, &project(number), salt).unwrap();
        assert_eq!(secret(1, b"").0, secret(1, b"").0);
        assert_ne!(secret(1, b"").0, secret(2, b"").0);
        assert_ne!(secret(1, b"").0, secret(1, b"x").0);
        assert_eq!(format!("{:?}", secret(1, b"")), "***");
    }
}
