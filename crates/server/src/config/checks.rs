//! What settings must look like that are more than a number or a name.

use anyhow::{Result, anyhow, bail};
use mailwright_app::settings::{BaseUrl, BaseUrlError};

/// A setting that is the beginning of URLs.
pub(super) fn base_url(variable: &str, example: &str, url: &str) -> Result<BaseUrl> {
    BaseUrl::parse(url).map_err(|error| match error {
        // the text may have a password
        BaseUrlError::Credentials => {
            anyhow!("{variable} must be an address such as {example}, without a user or a password")
        }
        BaseUrlError::Query => {
            anyhow!("{variable} must be an address such as {example}, with nothing after ? or #: not {url:?}")
        }
        BaseUrlError::Unreadable => anyhow!("{variable} must be an address such as {example}, not {url:?}"),
        BaseUrlError::Characters { encoded } => anyhow!(
            "{variable} must be written with the characters of an address, such as {encoded:?}, not {url:?}"
        ),
    })
}

/// Whether a setting holds terms that can stand in an SPF record between its version and `all` (RFC 7208 section 4.5).
pub(super) fn check_spf(terms: &str) -> Result<()> {
    let is_own = |term: &str| {
        let term = term.trim_start_matches(['+', '-', '~', '?']);
        term.eq_ignore_ascii_case("all") || term.to_ascii_lowercase().starts_with("v=")
    };
    if terms.split_whitespace().any(is_own) || !terms.is_ascii() || terms.contains([';', '"']) {
        bail!(
            "MAILWRIGHT_DOMAINS_SPF must be what stands in an SPF record between v=spf1 and all, such as \
             include:spf.example.net, not {terms:?}"
        );
    }
    let is_known = |term: &str| {
        let term = term.trim_start_matches(['+', '-', '~', '?']).to_ascii_lowercase();
        let name = term.split([':', '/', '=']).next().unwrap_or_default();
        ["include", "a", "mx", "ptr", "ip4", "ip6", "exists", "redirect"].contains(&name)
    };
    match terms.split_whitespace().find(|term| !is_known(term)) {
        Some(term) => bail!("MAILWRIGHT_DOMAINS_SPF holds {term:?}, which is no mechanism of SPF"),
        None => Ok(()),
    }
}
