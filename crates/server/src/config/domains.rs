//! How sender domains are configured.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use mailwright_app::settings::DomainSettings;
use mailwright_core::address::EmailAddress;
use mailwright_mail::dkim::KeyType;
use mailwright_mail::mta_sts::Mode;
use serde::Deserialize;

use super::checks::check_spf;
use super::sections::Inbound;

/// The kind of keys that means both kinds.
const BOTH: &str = "both";

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Domains {
    pub(super) check_interval_seconds: u64,
    pub(super) spf: String,
    pub(super) key_type: String,
    pub(super) key_lifetime_days: u64,
    pub(super) return_path_label: String,
    pub(super) tracking_label: String,
    pub(super) mta_sts: String,
    pub(super) tls_reports_to: String,
}

impl Domains {
    /// What is asked for, where mail comes in this way.
    pub(super) fn settings(&self, inbound: &Inbound) -> Result<DomainSettings> {
        let (key_type, second_key) = self.keys()?;
        let spf = self.spf.trim();
        check_spf(spf)?;
        Ok(DomainSettings {
            check_interval: Duration::from_secs(self.check_interval_seconds),
            spf: Some(spf.to_owned()).filter(|terms| !terms.is_empty()),
            key_type,
            second_key,
            key_lifetime: (self.key_lifetime_days > 0)
                .then(|| Duration::from_hours(24 * self.key_lifetime_days)),
            return_path_label: Self::label("RETURN_PATH_LABEL", &self.return_path_label)?,
            tracking_label: Self::label("TRACKING_LABEL", &self.tracking_label)?,
            mta_sts: self.mta_sts(inbound)?,
            tls_reports_to: self.tls_reports_to()?,
        })
    }

    /// What the policy about mail that comes in asks for. Senders that keep it bring no mail to a server with a certificate
    /// that nobody vouches for.
    fn mta_sts(&self, inbound: &Inbound) -> Result<Mode> {
        let mode = Mode::from_name(&self.mta_sts).with_context(|| {
            format!("MAILWRIGHT_DOMAINS_MTA_STS must be none, testing or enforce, not {:?}", self.mta_sts)
        })?;
        if mode == Mode::Enforce && inbound.listens() && !inbound.has_certificate() {
            bail!(
                "MAILWRIGHT_DOMAINS_MTA_STS is enforce, and the SMTP server has no certificate that others trust, so no mail \
                 would come in: set MAILWRIGHT_INBOUND_TLS_CERTIFICATE and MAILWRIGHT_INBOUND_TLS_KEY, or testing"
            );
        }
        Ok(mode)
    }

    /// Where reports about TLS go.
    fn tls_reports_to(&self) -> Result<Option<EmailAddress>> {
        if self.tls_reports_to.is_empty() {
            return Ok(None);
        }
        let address = EmailAddress::parse(&self.tls_reports_to);
        address.context("MAILWRIGHT_DOMAINS_TLS_REPORTS_TO must be an email address").map(Some)
    }

    /// The kind of the keys that prove domains, and whether there are second ones.
    fn keys(&self) -> Result<(KeyType, bool)> {
        if self.key_type == BOTH {
            return Ok((KeyType::Rsa2048, true));
        }
        let kind = KeyType::parse(&self.key_type);
        Ok((kind.context("MAILWRIGHT_DOMAINS_KEY_TYPE must be both, rsa or ed25519")?, false))
    }

    /// The first label of names under sender domains.
    fn label(setting: &str, label: &str) -> Result<String> {
        let is_label = (1..=63).contains(&label.len())
            && label.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-');
        if !is_label {
            bail!("MAILWRIGHT_DOMAINS_{setting} must be one label of a name, such as bounce, not {label:?}");
        }
        Ok(label.to_owned())
    }
}
