//! Whether SpamAssassin answers that judges mails before they are sent.

use mailwright_mail::spamd;

use super::Fine;
use crate::config::Config;

/// What is found of it; nothing where none is asked.
pub(super) async fn finding(config: &Config) -> Option<Result<Fine, String>> {
    let address = config.settings().ok()?.check.spamd?;
    Some(match spamd::ping(&address).await {
        Ok(()) => Ok(Fine::Ok(format!("{address} answers"))),
        Err(error) => Err(format!(
            "{address}: {error}; start spamd there and let this machine ask it (-A), or look at MAILWRIGHT_CHECK_SPAMD"
        )),
    })
}
