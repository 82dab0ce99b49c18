//! How sender domains are looked after.

use std::time::Duration;

use mailwright_core::address::EmailAddress;
use mailwright_mail::dkim::KeyType;
use mailwright_mail::mta_sts::Mode;

/// How sender domains are checked.
#[derive(Debug, Clone)]
pub struct DomainSettings {
    /// Time between two checks of a domain.
    pub check_interval: Duration,
    /// What SPF records should contain, such as `include:spf.example.net`.
    pub spf: Option<String>,
    /// Kind of the keys that prove domains.
    pub key_type: KeyType,
    /// Whether domains have a second key, of the other kind.
    pub second_key: bool,
    /// After how long new keys are made; `None` for never.
    pub key_lifetime: Option<Duration>,
    /// First label of the names under sender domains to which bounces return.
    pub return_path_label: String,
    /// First label of the names under sender domains that tracked links have.
    pub tracking_label: String,
    /// What the MTA-STS policy about mail for them asks of senders; `None` as a mode for no policy.
    pub mta_sts: Mode,
    /// The address that takes reports about TLS to the SMTP server.
    pub tls_reports_to: Option<EmailAddress>,
}
