//! Configuration: the documented defaults (`defaults.toml`), then a file, then environment variables. Unknown names and
//! numbers out of range are errors.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use mailwright_app::Transport;
use mailwright_app::delivery::mailbox::Quota;
use mailwright_app::settings::{
    AccountSettings, AttachmentLimits, BodySettings, ClientSecret, DeliverySettings, DomainSettings,
    JobSettings, OauthSettings, PlatformSettings, ProviderSettings, RequestLimits, SegmentSettings, Settings,
};
use mailwright_core::address::EmailAddress;
use mailwright_core::header::NameList;
use mailwright_mail::dkim::KeyType;
use mailwright_mail::smtp::RelayConfig;
use mailwright_store::{Location, SlowReads};
use serde::Deserialize;
use toml::{Table, Value};
use url::Url;

use crate::http::{Bounds, Limits};

const DEFAULTS: &str = include_str!("defaults.toml");
const PREFIX: &str = "MAILWRIGHT_";
/// Files that the embedded database has open at most: a few for each of its connections.
const SQLITE_FILES: usize = 24;
/// Variables of the test suite, which the program may inherit.
const IGNORED: [&str; 3] = ["MAILWRIGHT_TEST_", "MAILWRIGHT_BENCH_", "MAILWRIGHT_BIN"];

/// The longest times: ten years.
const MOST_MS: i64 = 315_360_000_000;
const MOST_SECONDS: i64 = 315_360_000;
const MOST_HOURS: i64 = 87_600;
/// The largest counts.
const MANY: i64 = 1_000_000_000;
/// The numbers that each setting takes. One that is out of its range is refused, so that nothing else is done than what
/// was asked for.
const RANGES: [(&str, i64, i64); 48] = [
    ("rate_limit_per_minute", 0, MANY),
    ("public_rate_limit_per_minute", 1, MANY),
    ("public_share_per_minute", 0, MANY),
    ("keyless_requests_per_minute", 1, MANY),
    ("invalid_keys_per_minute", 1, MANY),
    ("projects_per_user", 0, MANY),
    ("trusted_proxies", 0, 100),
    ("drain_ms", 0, 3_600_000),
    ("http.connections", 0, 1_000_000),
    ("http.connections_per_client", 0, 1_000_000),
    ("http.header_seconds", 1, MOST_SECONDS),
    ("http.header_kb", 8, 1024),
    ("http.idle_seconds", 1, MOST_SECONDS),
    ("http.body_pause_seconds", 1, MOST_SECONDS),
    ("http.body_seconds", 1, MOST_SECONDS),
    ("http.write_seconds", 1, MOST_SECONDS),
    // twice the largest body: the large bodies of a client have half of the budget at most
    ("http.body_budget_mb", 100, 1_048_576),
    // one is for reads that may take long
    ("database.connections", 2, 10_000),
    ("database.lock_wait_ms", 1, 600_000),
    ("database.clock_check_seconds", 1, MOST_SECONDS),
    ("database.slow_reads", 1, 100),
    ("database.slow_read_ms", 100, 3_600_000),
    ("delivery.connections", 1, 1000),
    ("delivery.retry_base_ms", 1, MOST_MS),
    ("delivery.retry_max_ms", 1, MOST_MS),
    ("delivery.lease_ms", 100, MOST_MS),
    ("delivery.deadline_hours", 0, MOST_HOURS),
    ("delivery.refused_base_ms", 1, MOST_MS),
    ("delivery.refused_max_ms", 1, MOST_MS),
    ("delivery.reply_timeout_ms", 1, MOST_MS),
    ("delivery.final_reply_timeout_ms", 1, MOST_MS),
    ("sending.per_second", 0, MANY),
    ("sending.instance_per_second", 0, MANY),
    ("idempotency.ttl_seconds", 1, MOST_SECONDS),
    ("domains.check_interval_seconds", 1, MOST_SECONDS),
    ("jobs.at_once", 1, 100),
    ("jobs.lease_ms", 1000, MOST_MS),
    ("segments.refresh_interval_seconds", 1, MOST_SECONDS),
    ("campaigns.latest_start_hours", 0, MOST_HOURS),
    ("attachments.count", 0, 1000),
    ("attachments.total_mb", 0, 1024),
    ("mailbox.count", 1, MANY),
    ("mailbox.total_mb", 1, 1_048_576),
    ("login.attempts_per_address", 1, MANY),
    ("login.attempts_per_client", 1, MANY),
    ("login.window_seconds", 1, MOST_SECONDS),
    ("login.link_seconds", 1, MOST_SECONDS),
    ("oauth.state_ttl_seconds", 1, MOST_SECONDS),
];

/// Every setting. The meaning of each is in `defaults.toml`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Config {
    pub(crate) listen: String,
    pub(crate) data_dir: PathBuf,
    database_url: Hidden,
    base_url: String,
    transport: Hidden,
    rate_limit_per_minute: i64,
    public_rate_limit_per_minute: i64,
    public_share_per_minute: i64,
    keyless_requests_per_minute: i64,
    invalid_keys_per_minute: i64,
    allowed_hosts: String,
    pub(crate) allow_private_networks: bool,
    dns_server: String,
    secret: Hidden,
    disable_signups: bool,
    projects_per_user: i64,
    auto_project_disable: bool,
    trusted_proxies: usize,
    platform_from: String,
    pub(crate) log: String,
    drain_ms: u64,
    http: Http,
    database: Database,
    delivery: Delivery,
    sending: Sending,
    idempotency: Idempotency,
    domains: Domains,
    jobs: Jobs,
    segments: Segments,
    campaigns: Campaigns,
    attachments: Attachments,
    mailbox: Mailbox,
    login: Login,
    oauth: Oauth,
}

/// A setting that can hold a password.
#[derive(Clone, Deserialize)]
#[serde(transparent)]
struct Hidden(String);

impl std::fmt::Debug for Hidden {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_empty() { "not set" } else { "***" })
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Http {
    connections: usize,
    connections_per_client: usize,
    header_seconds: u64,
    header_kb: usize,
    idle_seconds: u64,
    body_pause_seconds: u64,
    body_seconds: u64,
    write_seconds: u64,
    body_budget_mb: usize,
}

impl Http {
    fn bodies(&self) -> BodySettings {
        BodySettings {
            pause: Duration::from_secs(self.body_pause_seconds),
            whole: Duration::from_secs(self.body_seconds),
            budget: self.body_budget_mb * 1024 * 1024,
        }
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Database {
    connections: usize,
    lock_wait_ms: u64,
    clock_check_seconds: u64,
    slow_reads: usize,
    slow_read_ms: u64,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Delivery {
    connections: usize,
    retry_base_ms: u64,
    retry_max_ms: u64,
    lease_ms: u64,
    deadline_hours: u64,
    refused_base_ms: u64,
    refused_max_ms: u64,
    reply_timeout_ms: u64,
    final_reply_timeout_ms: u64,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sending {
    per_second: i64,
    instance_per_second: i64,
    reserved_headers: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Idempotency {
    ttl_seconds: u64,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Domains {
    check_interval_seconds: u64,
    spf: String,
    key_type: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Jobs {
    at_once: usize,
    lease_ms: u64,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Segments {
    refresh_interval_seconds: u64,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Campaigns {
    latest_start_hours: u64,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Attachments {
    count: usize,
    total_mb: usize,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Mailbox {
    count: i64,
    total_mb: i64,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Login {
    attempts_per_address: i64,
    attempts_per_client: i64,
    window_seconds: u64,
    link_seconds: u64,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Oauth {
    state_ttl_seconds: u64,
    github_client_id: String,
    github_client_secret: Hidden,
    github_url: String,
    github_api_url: String,
    google_client_id: String,
    google_client_secret: Hidden,
    google_url: String,
    google_token_url: String,
    google_api_url: String,
}

impl Oauth {
    fn settings(&self) -> Result<OauthSettings> {
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
    for (setting, url) in urls {
        check_web_address(&format!("MAILWRIGHT_OAUTH_{name}_{setting}"), "https://login.example.com", url)?;
    }
    match (id.is_empty(), secret.0.is_empty()) {
        (true, true) => return Ok(None),
        (false, false) => {}
        _ => bail!(
            "MAILWRIGHT_OAUTH_{name}_CLIENT_ID and MAILWRIGHT_OAUTH_{name}_CLIENT_SECRET belong together"
        ),
    }
    let [authorize_url, token_url, api_url] = urls.map(|(_, url)| url.trim_end_matches('/').to_owned());
    let (client_id, client_secret) = (id.to_owned(), ClientSecret::new(&secret.0));
    Ok(Some(ProviderSettings { client_id, client_secret, authorize_url, token_url, api_url }))
}

impl Config {
    /// Reads the layers. `variables` are the process's environment variables.
    pub(crate) fn load(
        file: Option<&PathBuf>,
        variables: impl Iterator<Item = (String, String)>,
    ) -> Result<Self> {
        let mut table: Table = DEFAULTS.parse().context("the built-in defaults cannot be read")?;
        if let Some(path) = file {
            let text =
                std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
            let given: Table = text.parse().with_context(|| format!("{} is not TOML", path.display()))?;
            merge(&mut table, given, "").with_context(|| path.display().to_string())?;
        }
        for (name, value) in variables {
            if name.starts_with(PREFIX) && !IGNORED.iter().any(|prefix| name.starts_with(prefix)) {
                set(&mut table, &name, &value)?;
            }
        }
        for (name, least, most) in RANGES {
            check_range(&table, name, least, most)?;
        }
        Value::Table(table).try_into().context("the configuration is not valid")
    }

    /// Whether the settings can be worked with, as far as they alone tell.
    pub(crate) fn check(&self) -> Result<()> {
        self.check_listen()?;
        self.check_base_url()?;
        self.settings()?;
        self.location()?;
        self.transport()?;
        self.secret()?;
        self.dns().map(drop)
    }

    pub(crate) fn check_listen(&self) -> Result<()> {
        let (host, port) = self.listen.rsplit_once(':').unwrap_or_default();
        if host.is_empty() || port.parse::<u16>().is_err() {
            bail!(
                "MAILWRIGHT_LISTEN must be an address and a port, such as 127.0.0.1:8080 or [::]:8080, not {:?}",
                self.listen
            );
        }
        Ok(())
    }

    pub(crate) fn check_base_url(&self) -> Result<()> {
        check_web_address("MAILWRIGHT_BASE_URL", "https://mail.example.com", &self.base_url())
    }

    pub(crate) fn location(&self) -> Result<Location> {
        let url = &self.database_url.0;
        if url.is_empty() {
            return Ok(Location::Sqlite(self.data_dir.join("mailwright.sqlite")));
        }
        if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
            bail!(
                "MAILWRIGHT_DATABASE_URL must begin with postgres://, or be empty for the embedded database"
            );
        }
        Ok(Location::Postgres {
            url: url.clone(),
            connections: self.database.connections,
            lock_wait: Duration::from_millis(self.database.lock_wait_ms),
        })
    }

    pub(crate) fn slow_reads(&self) -> SlowReads {
        let time_limit = Duration::from_millis(self.database.slow_read_ms);
        SlowReads { at_once: self.database.slow_reads, time_limit }
    }

    pub(crate) fn transport(&self) -> Result<Transport> {
        let url = self.transport.0.as_str();
        if url == "capture" {
            return Ok(Transport::Capture);
        }
        if !url.starts_with("smtp://") && !url.starts_with("smtps://") {
            bail!("MAILWRIGHT_TRANSPORT must be capture, smtp://host:port or smtps://host:port");
        }
        let mut relay = RelayConfig::from_url(url).map_err(|e| anyhow!("MAILWRIGHT_TRANSPORT: {e}"))?;
        relay.timeouts.command = Duration::from_millis(self.delivery.reply_timeout_ms);
        relay.timeouts.data_end = Duration::from_millis(self.delivery.final_reply_timeout_ms);
        if relay.helo_name.is_empty() {
            relay.helo_name = self.host_name().unwrap_or_default();
        }
        Ok(Transport::Smtp(Box::new(relay)))
    }

    pub(crate) fn dns(&self) -> Result<mailwright_mail::dns::Dns> {
        use mailwright_mail::dns::Dns;
        if self.dns_server.is_empty() {
            return Dns::system().map_err(|e| anyhow!("the system's name servers cannot be read: {e}"));
        }
        let server: SocketAddr = self.dns_server.parse().context("MAILWRIGHT_DNS_SERVER must be ip:port")?;
        Ok(Dns::with_server(server))
    }

    /// How long requests are still taken after the process was asked to stop.
    pub(crate) fn drain(&self) -> Duration {
        Duration::from_millis(self.drain_ms)
    }

    /// What connections are held to, where `files` can be open at once.
    pub(crate) fn limits(&self, files: usize) -> Limits {
        let database = if self.database_url.0.is_empty() { SQLITE_FILES } else { self.database.connections };
        let taken = database + self.delivery.connections;
        let connections = crate::http::connections(self.http.connections, files, taken);
        let per_client = match self.http.connections_per_client {
            0 => connections.div_ceil(2),
            wanted => wanted.min(connections),
        };
        Limits {
            connections,
            // behind proxies all connections are the proxies'
            connections_per_client: (self.trusted_proxies == 0).then_some(per_client),
            bounds: Bounds {
                header: Duration::from_secs(self.http.header_seconds),
                idle: Duration::from_secs(self.http.idle_seconds),
                write: Duration::from_secs(self.http.write_seconds),
                header_bytes: self.http.header_kb * 1024,
            },
        }
    }

    /// Names of hosts; a port counts for nothing.
    fn allowed_hosts(&self) -> Result<Vec<String>> {
        let names = self.allowed_hosts.split(',').map(str::trim).filter(|name| !name.is_empty());
        names
            .map(|name| {
                if name.contains(['/', ' ', '*']) {
                    bail!("MAILWRIGHT_ALLOWED_HOSTS must be names of hosts, separated by commas: not {name}");
                }
                Ok(name.to_owned())
            })
            .collect()
    }

    /// The secret, if one was configured.
    pub(crate) fn secret(&self) -> Result<Option<&str>> {
        match self.secret.0.len() {
            0 => Ok(None),
            1..16 => bail!("MAILWRIGHT_SECRET must have at least 16 characters"),
            _ => Ok(Some(&self.secret.0)),
        }
    }

    fn spf(&self) -> Result<Option<String>> {
        let terms = self.domains.spf.trim();
        check_spf(terms)?;
        Ok(Some(terms.to_owned()).filter(|terms| !terms.is_empty()))
    }

    pub(crate) fn base_url(&self) -> String {
        if self.base_url.is_empty() {
            return format!("http://{}", self.listen);
        }
        self.base_url.trim_end_matches('/').to_owned()
    }

    /// Whether the base URL is good on this machine alone.
    pub(crate) fn is_local(&self) -> bool {
        let base_url = self.base_url();
        ["127.0.0.1", "localhost", "[::1]", "0.0.0.0"].iter().any(|host| base_url.contains(host))
    }

    /// The host of the base URL, where it is a name that others can look up: one with a dot, and no address.
    pub(crate) fn host_name(&self) -> Option<String> {
        let base_url = self.base_url();
        let rest = base_url.split_once("://")?.1;
        let host = rest.split(['/', ':', '?', '#']).next()?;
        let is_name = host.contains('.')
            && host.parse::<std::net::IpAddr>().is_err()
            && host.bytes().all(|b| b.is_ascii_alphanumeric() || b"-.".contains(&b));
        is_name.then(|| host.trim_end_matches('.').to_ascii_lowercase())
    }

    /// The sender of the instance's own mails. One that was not asked for serves as well, where the service has a name
    /// that can be in an address, but nobody is kept out then: those mails might not arrive.
    fn platform(&self) -> Result<PlatformSettings> {
        let base_url = self.base_url();
        if self.platform_from.is_empty() {
            let host = base_url.split_once("://").map_or("", |(_, rest)| rest);
            let host = host.split(['/', ':']).next().unwrap_or_default();
            let from = EmailAddress::parse(&format!("noreply@{host}"));
            return Ok(PlatformSettings { from, verification_required: false });
        }
        let from = EmailAddress::parse(&self.platform_from)
            .context("MAILWRIGHT_PLATFORM_FROM must be an email address")?;
        Ok(PlatformSettings { from: Some(from), verification_required: true })
    }

    /// Most connections to the mail server.
    pub(crate) fn delivery_connections(&self) -> usize {
        self.delivery.connections
    }

    pub(crate) fn settings(&self) -> Result<Settings> {
        let key_type = match self.domains.key_type.as_str() {
            "rsa" => KeyType::Rsa2048,
            "ed25519" => KeyType::Ed25519,
            _ => bail!("MAILWRIGHT_DOMAINS_KEY_TYPE must be rsa or ed25519"),
        };
        Ok(Settings {
            base_url: self.base_url(),
            requests: RequestLimits {
                per_project: self.rate_limit_per_minute,
                public: self.public_rate_limit_per_minute,
                public_share: self.public_share_per_minute,
                keyless: self.keyless_requests_per_minute,
                invalid_keys: self.invalid_keys_per_minute,
            },
            allowed_hosts: self.allowed_hosts()?,
            bodies: self.http.bodies(),
            auto_project_disable: self.auto_project_disable,
            idempotency_ttl: Duration::from_secs(self.idempotency.ttl_seconds),
            clock_check_interval: Duration::from_secs(self.database.clock_check_seconds),
            latest_start: Duration::from_secs(self.campaigns.latest_start_hours * 3600),
            attachments: AttachmentLimits {
                count: self.attachments.count,
                total_bytes: self.attachments.total_mb * 1024 * 1024,
                ..AttachmentLimits::default()
            },
            mailbox: Quota { mails: self.mailbox.count, bytes: self.mailbox.total_mb * 1024 * 1024 },
            delivery: DeliverySettings {
                connections: self.delivery.connections,
                per_second: self.sending.per_second,
                instance_per_second: self.sending.instance_per_second,
                retry_base: Duration::from_millis(self.delivery.retry_base_ms),
                retry_max: Duration::from_millis(self.delivery.retry_max_ms),
                refused_base: Duration::from_millis(self.delivery.refused_base_ms),
                refused_max: Duration::from_millis(self.delivery.refused_max_ms),
                lease: Duration::from_millis(self.delivery.lease_ms),
                deadline: Duration::from_secs(self.delivery.deadline_hours * 3600),
            },
            reserved_headers: NameList::parse(&self.sending.reserved_headers).map_err(|name| {
                anyhow!(
                    "MAILWRIGHT_SENDING_RESERVED_HEADERS must be names of headers, separated by commas, with * at the end for \
                     all that begin so: not {name}"
                )
            })?,
            domains: DomainSettings {
                check_interval: Duration::from_secs(self.domains.check_interval_seconds),
                spf: self.spf()?,
                key_type,
            },
            jobs: JobSettings {
                at_once: self.jobs.at_once,
                lease: Duration::from_millis(self.jobs.lease_ms),
            },
            segments: SegmentSettings {
                refresh_interval: Duration::from_secs(self.segments.refresh_interval_seconds),
            },
            accounts: AccountSettings {
                disable_signups: self.disable_signups,
                projects_per_user: self.projects_per_user,
                attempts_per_address: self.login.attempts_per_address,
                attempts_per_client: self.login.attempts_per_client,
                links_good_for: Duration::from_secs(self.login.link_seconds),
                attempts_window: Duration::from_secs(self.login.window_seconds),
                trusted_proxies: self.trusted_proxies,
            },
            platform: self.platform()?,
            oauth: self.oauth.settings()?,
        })
    }
}

/// Whether a setting is the beginning of addresses on the web. They go into headers, so they are written in ASCII.
fn check_web_address(variable: &str, example: &str, url: &str) -> Result<()> {
    if url.contains('@') {
        // what stands before it may be a password
        bail!("{variable} must be an address such as {example}, without a user or a password");
    }
    if url.contains(['?', '#']) {
        bail!("{variable} must be an address such as {example}, with nothing after ? or #: not {url:?}");
    }
    let parsed = Url::parse(url).ok().filter(|parsed| matches!(parsed.scheme(), "http" | "https"));
    let Some(parsed) =
        parsed.filter(|_| !url.contains(char::is_whitespace) && url.contains("://") && !url.contains(":///"))
    else {
        bail!("{variable} must be an address such as {example}, not {url:?}");
    };
    // the parser mends what is not written as it should be
    if !url.is_ascii() || url.contains(['<', '>', '"', '\\', '{', '}', '|', '^', '`']) {
        let written = parsed.as_str();
        bail!(
            "{variable} must be written with the characters of an address, such as {written:?}, not {url:?}"
        );
    }
    Ok(())
}

/// Whether a setting holds terms that can stand in an SPF record between its version and `all` (RFC 7208 section 4.5).
fn check_spf(terms: &str) -> Result<()> {
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

/// The value of a setting, whose section stands before a dot.
fn value<'t>(table: &'t Table, name: &str) -> Option<&'t Value> {
    match name.split_once('.') {
        Some((area, name)) => table.get(area)?.get(name),
        None => table.get(name),
    }
}

fn check_range(table: &Table, name: &str, least: i64, most: i64) -> Result<()> {
    let Some(Value::Integer(number)) = value(table, name) else { return Ok(()) };
    if (least..=most).contains(number) {
        return Ok(());
    }
    let variable = format!("{PREFIX}{}", name.replace('.', "_").to_uppercase());
    bail!("{name} ({variable}) must be from {least} to {most}, not {number}");
}

fn merge(into: &mut Table, from: Table, area: &str) -> Result<()> {
    for (name, value) in from {
        match (into.get_mut(&name), value) {
            (None, _) => bail!("{area}{name} is not a setting"),
            (Some(Value::Table(known)), Value::Table(given)) => merge(known, given, &format!("{name}."))?,
            (Some(slot), value) if !slot.same_type(&value) => {
                bail!("{area}{name} must be {}", kind(slot));
            }
            (Some(slot), value) => *slot = value,
        }
    }
    Ok(())
}

/// What a setting takes, by its default.
fn kind(default: &Value) -> &'static str {
    match default {
        Value::Integer(_) => "a whole number",
        Value::Boolean(_) => "true or false",
        Value::Table(_) => "a section",
        _ => "a text in quotes",
    }
}

/// Puts a variable's value where it belongs, as the type that the default has. An empty one changes nothing.
fn set(table: &mut Table, variable: &str, text: &str) -> Result<()> {
    let name = variable[PREFIX.len()..].to_lowercase();
    let slot = if table.get(&name).is_some_and(|v| !v.is_table()) {
        table.get_mut(&name)
    } else {
        name.split_once('_').and_then(|(area, rest)| table.get_mut(area)?.as_table_mut()?.get_mut(rest))
    };
    let Some(slot) = slot else {
        bail!("{variable} is not a setting; `mailwright --help` names the documentation of all settings");
    };
    if text.is_empty() {
        return Ok(());
    }
    *slot = match slot {
        Value::Integer(_) => {
            Value::Integer(text.trim().parse().map_err(|_| anyhow!("{variable} must be {}", kind(slot)))?)
        }
        Value::Boolean(_) => {
            Value::Boolean(text.trim().parse().map_err(|_| anyhow!("{variable} must be {}", kind(slot)))?)
        }
        _ => Value::String(text.to_owned()),
    };
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(variables: &[(&str, &str)]) -> Result<Config> {
        Config::load(None, variables.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())))
    }

    #[test]
    fn variables_reach_their_settings() {
        let config = load(&[
            ("MAILWRIGHT_LISTEN", "0.0.0.0:1"),
            ("MAILWRIGHT_DELIVERY_RETRY_BASE_MS", "50"),
            ("MAILWRIGHT_TEST_POSTGRES", "ignored"),
            ("PATH", "ignored"),
        ])
        .unwrap();
        assert_eq!(config.listen, "0.0.0.0:1");
        assert_eq!(config.settings().unwrap().delivery.retry_base, Duration::from_millis(50));
    }

    #[test]
    fn wrong_names_and_values_are_told() {
        for (variable, value, told) in [
            ("MAILWRIGHT_LISTENN", "x", "MAILWRIGHT_LISTENN is not a setting"),
            ("MAILWRIGHT_DELIVERY_CONNECTIONS", "many", "must be a whole number"),
        ] {
            let error = load(&[(variable, value)]).unwrap_err().to_string();
            assert!(error.contains(told), "{error}");
        }
        assert!(load(&[("MAILWRIGHT_DATABASE_URL", "mysql://x")]).unwrap().location().is_err());
        assert!(load(&[("MAILWRIGHT_TRANSPORT", "pigeon")]).unwrap().transport().is_err());
    }

    #[test]
    fn every_number_has_a_range_and_is_refused_beyond_it() {
        let defaults: Table = DEFAULTS.parse().unwrap();
        let mut numbers = 0;
        for (name, setting) in &defaults {
            let inner =
                setting.as_table().map(|area| area.iter().map(|(n, v)| (format!("{name}.{n}"), v)).collect());
            for (name, setting) in inner.unwrap_or_else(|| vec![(name.clone(), setting)]) {
                if setting.is_integer() {
                    numbers += 1;
                    assert!(RANGES.iter().any(|(known, ..)| *known == name), "{name} has no range");
                }
            }
        }
        assert_eq!(numbers, RANGES.len(), "a range is for no setting, or twice there");
        for (name, least, most) in RANGES {
            let variable = format!("MAILWRIGHT_{}", name.replace('.', "_").to_uppercase());
            for (number, fits) in [(least, true), (most, true), (least - 1, false), (most + 1, false)] {
                let loaded = load(&[(&variable, &number.to_string())]);
                assert_eq!(loaded.is_ok(), fits, "{variable}={number}");
                let Err(error) = loaded else { continue };
                assert!(
                    error.to_string().contains(&format!("{variable}) must be from {least} to {most}")),
                    "{error}"
                );
            }
        }
    }

    #[test]
    fn addresses_are_looked_at_before_they_are_used() {
        for (listen, fits) in [
            ("127.0.0.1:8080", true),
            ("0.0.0.0:0", true),
            ("[::]:8080", true),
            ("localhost:8080", true),
            ("8080", false),
            (":8080", false),
            ("127.0.0.1", false),
            ("127.0.0.1:http", false),
            ("127.0.0.1:80800", false),
        ] {
            let config = load(&[("MAILWRIGHT_LISTEN", listen)]).unwrap();
            assert_eq!(config.check_listen().is_ok(), fits, "{listen}");
        }
        for (base_url, fits) in [
            ("https://mail.example.com", true),
            ("http://[::1]:8080/sub/", true),
            ("mail.example.com", false),
            ("https://", false),
            ("http://:8080", false),
            ("https://mail example.com", false),
            ("https://mail.example.com?page=1", false),
            ("https://mail.example.com/#top", false),
            ("https://mail.example.com:8443/sub", true),
            ("https://xn--mnchen-3ya.de", true),
            ("https://münchen.de", false),
            ("https://mail.example.com>", false),
            ("https://mail.example.com/<", false),
            ("https://mail\"x", false),
            ("https://mail.example.com:99999", false),
            ("https:mail.example.com", false),
            ("https://you:hunter2@mail.example.com", false),
            ("you:hunter2@mail.example.com", false),
        ] {
            let config = load(&[("MAILWRIGHT_BASE_URL", base_url)]).unwrap();
            let checked = config.check_base_url();
            assert_eq!(checked.is_ok(), fits, "{base_url}");
            let error = checked.err().map(|error| error.to_string()).unwrap_or_default();
            assert!(!error.contains("hunter2"), "{error}");
        }
        let error =
            load(&[("MAILWRIGHT_BASE_URL", "https://münchen.de")]).unwrap().check_base_url().unwrap_err();
        assert!(error.to_string().contains("https://xn--mnchen-3ya.de"), "{error}");
    }

    #[test]
    fn terms_of_spf_are_checked() {
        for (terms, fits) in [
            ("", true),
            ("include:spf.example.net", true),
            (" ip4:192.0.2.0/24  ip6:2001:db8::/32 mx a:mail.example.net/24 ", true),
            ("v=spf1 include:spf.example.net ~all", false),
            ("include:spf.example.net -ALL", false),
            ("include:spf.example.net; mx", false),
            ("spf.example.net", false),
            ("include:spf.bücher.example", false),
        ] {
            let settings = load(&[("MAILWRIGHT_DOMAINS_SPF", terms)]).unwrap().settings();
            assert_eq!(settings.is_ok(), fits, "{terms}");
        }
    }

    #[test]
    fn addresses_of_providers_are_looked_at_although_none_is_offered() {
        for (variable, url) in [
            ("MAILWRIGHT_OAUTH_GITHUB_URL", "nothing"),
            ("MAILWRIGHT_OAUTH_GITHUB_API_URL", "ftp://api.example.com"),
            ("MAILWRIGHT_OAUTH_GOOGLE_TOKEN_URL", "x"),
        ] {
            let error = load(&[(variable, url)]).unwrap().check().unwrap_err().to_string();
            assert!(error.contains(&format!("{variable} must be")) && error.contains(url), "{error}");
        }
    }

    #[test]
    fn an_empty_variable_changes_nothing() {
        let defaults: Table = DEFAULTS.parse().unwrap();
        let mut variables = Vec::new();
        for (name, setting) in &defaults {
            match setting.as_table() {
                Some(area) => variables.extend(area.keys().map(|inner| format!("{name}_{inner}"))),
                None => variables.push(name.clone()),
            }
        }
        let variables: Vec<_> = variables
            .iter()
            .map(|name| (format!("MAILWRIGHT_{}", name.to_uppercase()), String::new()))
            .collect();
        let config = Config::load(None, variables.into_iter()).unwrap();
        assert_eq!(format!("{config:?}"), format!("{:?}", load(&[]).unwrap()));
    }

    #[test]
    fn a_file_is_told_what_its_settings_take() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for (text, told) in [
            ("listen = 8080", "listen must be a text in quotes"),
            ("disable_signups = \"true\"", "disable_signups must be true or false"),
            ("drain_ms = 1.5", "drain_ms must be a whole number"),
            ("delivery = 3", "delivery must be a section"),
            ("[delivery]\nconnections = \"many\"", "delivery.connections must be a whole number"),
            ("[log]\nlevel = 1", "log must be a text in quotes"),
        ] {
            std::fs::write(file.path(), text).unwrap();
            let path = file.path().to_owned();
            let error = format!("{:#}", Config::load(Some(&path), std::iter::empty()).unwrap_err());
            assert!(error.contains(told) && error.contains(path.to_str().unwrap()), "{error}");
        }
    }

    #[test]
    fn own_mail_has_a_sender_where_the_service_has_a_name() {
        for (variables, from, required) in [
            (&[][..], None, false),
            (&[("MAILWRIGHT_BASE_URL", "http://localhost:8080")], None, false),
            (
                &[("MAILWRIGHT_BASE_URL", "https://mail.example.com:8443/sub")],
                Some("noreply@mail.example.com"),
                false,
            ),
            (&[("MAILWRIGHT_PLATFORM_FROM", "Post@Example.com")], Some("post@example.com"), true),
        ] {
            let platform = load(variables).unwrap().settings().unwrap().platform;
            assert_eq!(platform.from.as_ref().map(EmailAddress::as_str), from, "{variables:?}");
            assert_eq!(platform.verification_required, required, "{variables:?}");
        }
        assert!(load(&[("MAILWRIGHT_PLATFORM_FROM", "nobody")]).unwrap().settings().is_err());
    }

    #[test]
    fn the_name_in_ehlo_is_that_of_the_service() {
        let helo = |variables: &[(&str, &str)]| {
            let smtp = [("MAILWRIGHT_TRANSPORT", "smtp://relay.example.net:25")];
            match load(&[&smtp, variables].concat()).unwrap().transport().unwrap() {
                Transport::Smtp(relay) => relay.helo_name,
                Transport::Capture => panic!("it was given a server"),
            }
        };
        for (base_url, name) in [
            ("https://Mail.Example.com:8443/sub", "mail.example.com"),
            ("http://mail.example.com", "mail.example.com"),
            ("http://192.0.2.1:8080", ""),
            ("http://[2001:db8::1]:8080", ""),
            ("http://localhost:8080", ""),
        ] {
            assert_eq!(helo(&[("MAILWRIGHT_BASE_URL", base_url)]), name, "{base_url}");
        }
        let own = "smtp://relay.example.net:25?helo=out.example.org";
        let variables = [("MAILWRIGHT_TRANSPORT", own), ("MAILWRIGHT_BASE_URL", "https://mail.example.com")];
        assert_eq!(helo(&variables), "out.example.org", "what is asked for wins");
    }

    #[test]
    fn the_final_reply_is_awaited_as_long_as_the_standard_asks_for() {
        let Transport::Smtp(relay) =
            load(&[("MAILWRIGHT_TRANSPORT", "smtp://h:25")]).unwrap().transport().unwrap()
        else {
            panic!("it was given a server")
        };
        let minutes = [relay.timeouts.command, relay.timeouts.block, relay.timeouts.data_end];
        assert_eq!(minutes, [5, 3, 10].map(Duration::from_mins));
    }

    #[test]
    fn passwords_are_not_printed() {
        let config = load(&[
            ("MAILWRIGHT_TRANSPORT", "smtp://u:hunter2@h:25"),
            ("MAILWRIGHT_SECRET", "0123456789abcdefX"),
        ]);
        let text = format!("{:?}", config.unwrap());
        assert!(!text.contains("hunter2") && !text.contains("abcdefX"), "{text}");
    }
}
