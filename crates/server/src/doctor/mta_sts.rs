//! Whether the MTA-STS policy about mail for sender domains can be served, and does what was asked for.

use std::path::Path;

use mailwright_core::time::{Clock, Timestamp};
use mailwright_mail::mta_sts::Mode;
use mailwright_tls::ClientTls;

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
    Some(match listener {
        None => Ok(Fine::Better(format!(
            "MAILWRIGHT_DOMAINS_MTA_STS is {name} without effect, because MAILWRIGHT_INBOUND_LISTEN is not set"
        ))),
        Some(_) if settings.tracking_host().is_none() => Ok(Fine::Better(format!(
            "MAILWRIGHT_DOMAINS_MTA_STS is {name} without effect, because nobody can point to the host of {}; set \
             MAILWRIGHT_BASE_URL to a name",
            settings.base_url
        ))),
        Some(listener) => match &listener.tls {
            None => Ok(Fine::Better(format!(
                "the mode is {name}, and senders will report each connection, because the SMTP server has no certificate \
                 that others trust; set MAILWRIGHT_INBOUND_TLS_CERTIFICATE and MAILWRIGHT_INBOUND_TLS_KEY"
            ))),
            Some((certificate, _)) => of_certificate(mode, certificate, &listener.host),
        },
    })
}

/// Whether senders take the certificate in the file for the SMTP server, which the policy names: they check it as this
/// service checks those of others.
fn of_certificate(mode: Mode, file: &Path, host: &str) -> Result<Fine, String> {
    let (name, file_name) = (mode.as_str(), file.display());
    let now = Clock::system().now().since(Timestamp(0));
    let why = match ClientTls::default().objection(file, host, now) {
        Ok(None) => {
            return Ok(Fine::Ok(format!(
                "the mode is {name}; the certificate of the SMTP server is valid for {host}, and the proxy needs one for \
                 each name that begins with mta-sts."
            )));
        }
        Ok(Some(why)) => why,
        Err(why) => {
            return Ok(Fine::Better(format!(
                "the mode is {name}; whether senders take the certificate of the SMTP server for {host} cannot be found \
                 out: {why}"
            )));
        }
    };
    let fault = format!("the certificate in {file_name} is not valid for {host}: {why}");
    let remedy = format!(
        "name one in MAILWRIGHT_INBOUND_TLS_CERTIFICATE that a public authority issued for {host}, with the certificates \
         in between"
    );
    if mode == Mode::Enforce {
        return Err(format!(
            "the mode is enforce, and senders bring no mail, because {fault}; {remedy}, or set \
             MAILWRIGHT_DOMAINS_MTA_STS to testing until there is one"
        ));
    }
    Ok(Fine::Better(format!(
        "the mode is {name}, and senders will report each connection, because {fault}; {remedy}"
    )))
}
