//! Whether the MTA-STS policy about mail for sender domains can be served, and does what was asked for.

use mailwright_mail::mta_sts::Mode;

use super::Fine;
use crate::config::Config;

/// What is found of it; nothing where there is none.
pub(super) fn finding(config: &Config) -> Option<Result<Fine, String>> {
    let settings = config.settings().ok()?;
    let mode = settings.domains.mta_sts;
    if mode == Mode::None {
        return None;
    }
    let name = mode.as_str();
    let listener = config.listener().ok()?;
    Some(Ok(match listener {
        None => Fine::Better(format!(
            "MAILWRIGHT_DOMAINS_MTA_STS is {name} without effect, because MAILWRIGHT_INBOUND_LISTEN is not set"
        )),
        Some(_) if settings.tracking_host().is_none() => Fine::Better(format!(
            "MAILWRIGHT_DOMAINS_MTA_STS is {name} without effect, because nobody can point to the host of {}; set \
             MAILWRIGHT_BASE_URL to a name",
            settings.base_url
        )),
        Some(listener) if listener.tls.is_none() => Fine::Better(format!(
            "the mode is {name}, and senders will report each connection, because the SMTP server has no certificate that \
             others trust; set MAILWRIGHT_INBOUND_TLS_CERTIFICATE and MAILWRIGHT_INBOUND_TLS_KEY"
        )),
        Some(listener) => Fine::Ok(format!(
            "the mode is {name}; the certificate of the SMTP server has to be for {}, and the proxy needs one for each name \
             that begins with mta-sts.",
            listener.host
        )),
    }))
}
