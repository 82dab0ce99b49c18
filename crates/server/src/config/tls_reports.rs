//! Reports about TLS that are sent to other domains (RFC 8460).

use anyhow::{Context, Result, bail};
use mailwright_app::settings::{BaseUrl, TlsReportSettings};
use mailwright_core::address::EmailAddress;
use serde::Deserialize;

/// Most characters of the name of the organization.
const MOST_NAME: usize = 200;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TlsReports {
    send: bool,
    organization: String,
    contact: String,
}

impl TlsReports {
    /// What is asked for; `None` where no reports are sent. `sender` is that of the instance's own mails, as it is
    /// configured: reports have to be signed by a domain that others know.
    pub(super) fn settings(&self, base_url: &BaseUrl, sender: &str) -> Result<Option<TlsReportSettings>> {
        let organization = match self.organization.trim() {
            "" => base_url.host().to_owned(),
            name if name.chars().count() > MOST_NAME || name.contains(char::is_control) => {
                bail!("MAILWRIGHT_TLSREPORTS_ORGANIZATION must be a name of at most {MOST_NAME} characters")
            }
            name => name.to_owned(),
        };
        let contact = match self.contact.trim() {
            "" => sender.to_owned(),
            address => EmailAddress::parse(address)
                .context("MAILWRIGHT_TLSREPORTS_CONTACT must be an email address")?
                .to_string(),
        };
        if !self.send {
            return Ok(None);
        }
        if sender.is_empty() {
            bail!(
                "MAILWRIGHT_TLSREPORTS_SEND needs a sender: set MAILWRIGHT_PLATFORM_FROM to an address whose domain has \
                 the DKIM record of this instance"
            );
        }
        Ok(Some(TlsReportSettings { organization, contact }))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Config;
    use super::*;

    fn settings(variables: &[(&str, &str)]) -> Result<Option<TlsReportSettings>> {
        let always = [("MAILWRIGHT_BASE_URL", "https://mail.example.com")];
        let variables = always.iter().chain(variables).map(|(name, value)| {
            let name = if name.starts_with("MAILWRIGHT") {
                (*name).to_owned()
            } else {
                format!("MAILWRIGHT_TLSREPORTS_{name}")
            };
            (name, (*value).to_owned())
        });
        Config::load(None, variables)?.settings().map(|settings| settings.tls_reports)
    }

    #[test]
    fn reports_are_sent_where_they_are_asked_for() {
        let from = ("MAILWRIGHT_PLATFORM_FROM", "noreply@example.com");
        assert_eq!(settings(&[from]).unwrap(), None);
        let sent = settings(&[from, ("SEND", "true")]).unwrap().unwrap();
        assert_eq!((&*sent.organization, &*sent.contact), ("mail.example.com", "noreply@example.com"));
        let named =
            [from, ("SEND", "true"), ("ORGANIZATION", " Example Ltd "), ("CONTACT", "tls@example.com")];
        let sent = settings(&named).unwrap().unwrap();
        assert_eq!((&*sent.organization, &*sent.contact), ("Example Ltd", "tls@example.com"));
    }

    #[test]
    fn what_cannot_be_used_is_refused_at_the_start() {
        let from = ("MAILWRIGHT_PLATFORM_FROM", "noreply@example.com");
        let long = "x".repeat(MOST_NAME + 1);
        for (variables, told) in [
            (&[("SEND", "true")][..], "MAILWRIGHT_TLSREPORTS_SEND"),
            (&[("SEND", "true")], "MAILWRIGHT_PLATFORM_FROM"),
            (&[from, ("CONTACT", "nobody")], "MAILWRIGHT_TLSREPORTS_CONTACT"),
            (&[from, ("ORGANIZATION", long.as_str())], "MAILWRIGHT_TLSREPORTS_ORGANIZATION"),
        ] {
            let error = format!("{:#}", settings(variables).unwrap_err());
            assert!(error.contains(told), "{error}");
        }
    }
}
