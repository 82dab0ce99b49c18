//! How mails are checked before they are sent.

use anyhow::{Result, bail};
use mailwright_app::settings::CheckSettings;
use serde::Deserialize;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Check {
    spamd: String,
}

impl Check {
    /// What is asked for.
    pub(super) fn settings(&self) -> Result<CheckSettings> {
        let address = self.spamd.trim();
        if address.is_empty() {
            return Ok(CheckSettings::default());
        }
        let (host, port) = address.rsplit_once(':').unwrap_or_default();
        if host.is_empty() || host.contains(['/', ' ']) || port.parse::<u16>().is_err() {
            bail!(
                "MAILWRIGHT_CHECK_SPAMD must be a host and a port, such as 127.0.0.1:783 or spamd.example.com:783, not \
                 {address:?}"
            );
        }
        Ok(CheckSettings { spamd: Some(address.to_owned()) })
    }
}
