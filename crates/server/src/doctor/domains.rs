//! Whether receivers can verify what is signed for the domains that the operator vouches for.

use mailwright_core::domain::Domain;
use mailwright_store::body;
use mailwright_store::database::migrate::Standing;
use mailwright_store::sending::domain;

use super::Fine;
use crate::config::Config;
use crate::setup;

/// Domains that are looked at.
const DOMAINS: i64 = 1_000;
/// Domains that are named.
const NAMED: usize = 20;

/// What the last check found of these domains' keys; `None` where it looked for none. Other domains send nothing without
/// their record.
pub(super) async fn finding(config: &Config, standing: Option<Standing>) -> Option<Result<Fine, String>> {
    if standing != Some(Standing::Current) || !config.mail_leaves() {
        return None;
    }
    let setup = setup::open(config).ok()?;
    let domains = match setup.db.read(body!(async |rx| domain::vouched(rx, DOMAINS).await)).await {
        Ok(domains) => domains,
        Err(error) => return Some(Ok(Fine::Better(format!("what was found cannot be read: {error}")))),
    };
    if domains.is_empty() {
        return None;
    }
    let wrong: Vec<String> = domains.iter().filter_map(wrong_key).collect();
    if wrong.is_empty() {
        return Some(Ok(Fine::Ok(
            "of the domains that you vouch for none is known to be missing or wrong".to_owned(),
        )));
    }
    let mut text = wrong.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join("; ");
    if wrong.len() > NAMED {
        text.push_str(&format!("; and {} more", wrong.len() - NAMED));
    }
    Some(Ok(Fine::Better(format!("{text}. `mailwright domains records DOMAIN` says what to publish"))))
}

/// What is wrong with the record of a domain's key, as the last check found it.
fn wrong_key(domain: &Domain) -> Option<String> {
    let name = format!("{}._domainkey.{}", domain.selector, domain.name);
    let findings = domain.last_check.as_array()?;
    let finding = findings.iter().find(|one| one["purpose"] == "dkim" && one["name"] == name.as_str())?;
    let what = match finding["status"].as_str()? {
        "missing" => "is missing",
        "mismatch" => "is not right",
        _ => return None,
    };
    Some(format!("{}: its DKIM record {what}, signatures fail", domain.name))
}
