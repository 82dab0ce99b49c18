//! The sections of the configuration, as they are read.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use mailwright_app::feedback::Volume;
use mailwright_app::settings::{
    ActivitySettings, BodySettings, ClientSecret, InboundSettings, OauthSettings, ProviderSettings,
    RequestLogSettings, SnsSettings, TrackingSettings,
};
use mailwright_core::address::DomainName;
use mailwright_core::hit::Timing;
use serde::Deserialize;

use super::checks::base_url;

/// A setting that can hold a password.
#[derive(Clone, Deserialize)]
#[serde(transparent)]
pub(super) struct Hidden(pub(super) String);

impl std::fmt::Debug for Hidden {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_empty() { "not set" } else { "***" })
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Http {
    pub(super) connections: usize,
    pub(super) connections_per_client: usize,
    pub(super) header_seconds: u64,
    pub(super) header_kb: usize,
    pub(super) idle_seconds: u64,
    pub(super) body_pause_seconds: u64,
    pub(super) body_seconds: u64,
    pub(super) write_seconds: u64,
    pub(super) body_budget_mb: usize,
}

impl Http {
    pub(super) fn bodies(&self) -> BodySettings {
        BodySettings {
            pause: Duration::from_secs(self.body_pause_seconds),
            whole: Duration::from_secs(self.body_seconds),
            budget: self.body_budget_mb * 1024 * 1024,
        }
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Requests {
    retention_days: u64,
    sample_percent: u32,
    log_addresses: bool,
}

impl Requests {
    pub(super) fn retention_days(&self) -> u64 {
        self.retention_days
    }

    pub(super) fn settings(&self) -> RequestLogSettings {
        RequestLogSettings {
            keep: Duration::from_hours(24 * self.retention_days),
            sample_percent: self.sample_percent,
            addresses: self.log_addresses,
        }
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Database {
    pub(super) connections: usize,
    pub(super) lock_wait_ms: u64,
    pub(super) clock_check_seconds: u64,
    pub(super) slow_reads: usize,
    pub(super) slow_read_ms: u64,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Delivery {
    pub(super) connections: usize,
    pub(super) retry_base_ms: u64,
    pub(super) retry_max_ms: u64,
    pub(super) lease_ms: u64,
    pub(super) deadline_hours: u64,
    pub(super) refused_base_ms: u64,
    pub(super) refused_max_ms: u64,
    pub(super) reply_timeout_ms: u64,
    pub(super) final_reply_timeout_ms: u64,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Sending {
    pub(super) per_second: i64,
    pub(super) instance_per_second: i64,
    pub(super) reserved_headers: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Idempotency {
    pub(super) ttl_seconds: u64,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Jobs {
    pub(super) at_once: usize,
    pub(super) lease_ms: u64,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Segments {
    pub(super) refresh_interval_seconds: u64,
    pub(super) memory_mb: u64,
    pub(super) memory_from_contacts: u64,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Search {
    pub(super) memory_mb: u64,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Campaigns {
    pub(super) latest_start_hours: u64,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tracking {
    pub(super) settle_ms: u64,
    pub(super) hits_days: u64,
    pub(super) links_days: u64,
}

impl Tracking {
    pub(super) fn hits_days(&self) -> u64 {
        self.hits_days
    }

    pub(super) fn settings(&self) -> TrackingSettings {
        let days = |days: u64| Duration::from_hours(days * 24);
        TrackingSettings {
            settle: Duration::from_millis(self.settle_ms),
            links: days(self.links_days),
            timing: Timing::default(),
        }
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Inbound {
    listen: String,
    host: String,
    return_path: String,
    tls_certificate: String,
    tls_key: String,
    connections: usize,
    connections_per_client: usize,
    message_mb: usize,
    keep_days: u64,
    mails_per_day: i64,
    mb_per_day: i64,
}

/// Where mail comes in.
#[derive(Debug, Clone)]
pub(crate) struct Listener {
    /// Address and port.
    pub(crate) listen: String,
    /// The host name, in the greeting and in `Received`.
    pub(crate) host: String,
    /// Files with the certificate chain and its key; `None` for a certificate that nobody vouches for.
    pub(crate) tls: Option<(PathBuf, PathBuf)>,
    /// Most connections of one client.
    pub(crate) connections_per_client: usize,
    /// The largest message, in bytes.
    pub(crate) message_bytes: usize,
}

impl Inbound {
    pub(super) fn keep_days(&self) -> u64 {
        self.keep_days
    }

    /// Whether there is an SMTP server.
    pub(super) fn listens(&self) -> bool {
        !self.listen.is_empty()
    }

    /// Whether it has a certificate of its own, instead of one that nobody vouches for.
    pub(super) fn has_certificate(&self) -> bool {
        !self.tls_certificate.is_empty()
    }

    fn host(&self, of_base_url: Option<String>) -> Option<String> {
        if self.host.is_empty() { of_base_url } else { Some(self.host.to_ascii_lowercase()) }
    }

    /// Most connections of others that bring mail; none where nothing listens.
    pub(super) fn connections(&self) -> usize {
        if self.listens() { self.connections } else { 0 }
    }

    pub(super) fn listener(&self, of_base_url: Option<String>) -> Result<Option<Listener>> {
        if self.listen.is_empty() {
            return Ok(None);
        }
        let (host, port) = self.listen.rsplit_once(':').unwrap_or_default();
        if host.is_empty() || port.parse::<u16>().is_err() {
            bail!(
                "MAILWRIGHT_INBOUND_LISTEN must be an address and a port, such as 0.0.0.0:25 or [::]:25, not {:?}",
                self.listen
            );
        }
        let tls = match (self.tls_certificate.is_empty(), self.tls_key.is_empty()) {
            (true, true) => None,
            (false, false) => Some((PathBuf::from(&self.tls_certificate), PathBuf::from(&self.tls_key))),
            _ => bail!("MAILWRIGHT_INBOUND_TLS_CERTIFICATE and MAILWRIGHT_INBOUND_TLS_KEY belong together"),
        };
        Ok(Some(Listener {
            listen: self.listen.clone(),
            host: self.host(of_base_url).unwrap_or_else(|| "localhost".to_owned()),
            tls,
            connections_per_client: self.connections_per_client,
            message_bytes: self.message_mb * 1024 * 1024,
        }))
    }

    pub(super) fn settings(&self, of_base_url: Option<String>, sns: SnsSettings) -> Result<InboundSettings> {
        let domain = |setting: &str, name: &str, example: &str| {
            let parsed = DomainName::parse(name).map(|name| name.to_string());
            parsed.with_context(|| {
                format!("MAILWRIGHT_INBOUND_{setting} must be a domain name, such as {example}, not {name:?}")
            })
        };
        if !self.host.is_empty() {
            domain("HOST", &self.host, "mx.example.com")?;
        }
        let return_path = match self.return_path.as_str() {
            "" => None,
            name => Some(domain("RETURN_PATH", name, "bounces.example.com")?),
        };
        let host = self.host(of_base_url).filter(|_| !self.listen.is_empty());
        let keep = Duration::from_hours(24 * self.keep_days);
        let per_day = Volume { mails: self.mails_per_day, bytes: self.mb_per_day * 1024 * 1024 };
        Ok(InboundSettings { host, return_path, keep, per_day, sns })
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Sns {
    topics: String,
    endpoint: String,
}

impl Sns {
    pub(super) fn settings(&self) -> Result<SnsSettings> {
        let topics = self.topics.split(',').map(str::trim).filter(|topic| !topic.is_empty());
        let topics: Vec<String> = topics.map(str::to_owned).collect();
        if let Some(topic) = topics.iter().find(|topic| !topic.starts_with("arn:")) {
            bail!("MAILWRIGHT_SNS_TOPICS must be ARNs of topics, separated by commas: not {topic}");
        }
        let endpoint = match self.endpoint.as_str() {
            "" => None,
            url => Some(base_url("MAILWRIGHT_SNS_ENDPOINT", "https://sns.example.com", url)?),
        };
        Ok(SnsSettings { topics, endpoint })
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Attachments {
    pub(super) count: usize,
    pub(super) total_mb: usize,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Activity {
    stream_hours: u64,
    streams_per_project: usize,
    streams: usize,
}

impl Activity {
    pub(super) fn settings(&self) -> ActivitySettings {
        ActivitySettings {
            stream_kept: Duration::from_hours(self.stream_hours),
            streams_per_project: self.streams_per_project,
            streams: self.streams,
        }
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Mailbox {
    pub(super) count: i64,
    pub(super) total_mb: i64,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Login {
    pub(super) attempts_per_address: i64,
    pub(super) attempts_per_client: i64,
    pub(super) window_seconds: u64,
    pub(super) link_seconds: u64,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Oauth {
    pub(super) state_ttl_seconds: u64,
    pub(super) github_client_id: String,
    pub(super) github_client_secret: Hidden,
    pub(super) github_url: String,
    pub(super) github_api_url: String,
    pub(super) google_client_id: String,
    pub(super) google_client_secret: Hidden,
    pub(super) google_url: String,
    pub(super) google_token_url: String,
    pub(super) google_api_url: String,
}

impl Oauth {
    pub(super) fn settings(&self) -> Result<OauthSettings> {
        Ok(OauthSettings {
            state_ttl: Duration::from_secs(self.state_ttl_seconds),
            github: provider(
                "GITHUB",
                (&self.github_client_id, &self.github_client_secret),
                [("URL", &self.github_url), ("URL", &self.github_url), ("API_URL", &self.github_api_url)],
            )?,
            google: provider(
                "GOOGLE",
                (&self.google_client_id, &self.google_client_secret),
                [
                    ("URL", &self.google_url),
                    ("TOKEN_URL", &self.google_token_url),
                    ("API_URL", &self.google_api_url),
                ],
            )?,
        })
    }
}

/// A provider: id and secret of the client, and where people, codes and questions go, with the names of these settings.
fn provider(
    name: &str,
    (id, secret): (&str, &Hidden),
    urls: [(&str, &String); 3],
) -> Result<Option<ProviderSettings>> {
    let parsed = |(setting, url): (&str, &String)| {
        base_url(&format!("MAILWRIGHT_OAUTH_{name}_{setting}"), "https://login.example.com", url)
    };
    let [authorize_url, token_url, api_url] = urls.map(parsed);
    let (authorize_url, token_url, api_url) = (authorize_url?, token_url?, api_url?);
    match (id.is_empty(), secret.0.is_empty()) {
        (true, true) => return Ok(None),
        (false, false) => {}
        _ => bail!(
            "MAILWRIGHT_OAUTH_{name}_CLIENT_ID and MAILWRIGHT_OAUTH_{name}_CLIENT_SECRET belong together"
        ),
    }
    let (client_id, client_secret) = (id.to_owned(), ClientSecret::new(&secret.0));
    Ok(Some(ProviderSettings { client_id, client_secret, authorize_url, token_url, api_url }))
}
