//! Configuration: the documented defaults (`defaults.toml`), then a file, then environment variables. Unknown names and
//! numbers out of range are errors.

mod backup;
mod billing;
mod check;
mod checks;
mod domains;
mod layers;
mod ranges;
mod retention;
mod sections;
mod stores;
#[cfg(test)]
mod tests;
mod tls_reports;
mod transport;
mod uploads;
mod warm_up;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use mailwright_app::copies::CopySettings;
use mailwright_app::delivery::mailbox::Quota;
use mailwright_app::settings::{
    AccountSettings, AttachmentLimits, BaseUrl, ClientSecret, DeliverySettings, JobSettings, RequestLimits,
    SegmentSettings, Settings, StoreSettings, SystemMailSettings,
};
use mailwright_core::address::EmailAddress;
use mailwright_core::header::NameList;
use mailwright_store::audience::columns::ColumnLimits;
use mailwright_store::{Location, SlowReads};
use serde::Deserialize;
use toml::Value;

use crate::http::{Bounds, Limits};
pub(crate) use sections::Listener;

use backup::Backup;
use billing::Billing;
use check::Check;
use domains::Domains;
use retention::{Elsewhere, Retention};
use sections::{
    Activity, Attachments, Campaigns, Database, Delivery, Hidden, Http, Idempotency, Inbound, Jobs, Login,
    Mailbox, Oauth, Requests, Search, Segments, Sending, Sns, Tracking,
};
use tls_reports::TlsReports;
use transport::{RouteEntry, TransportEntry};
use uploads::Uploads;
use warm_up::WarmUp;

/// Files that the embedded database has open at most: a few for each of its connections.
const SQLITE_FILES: usize = 36;

/// Every setting. The meaning of each is in `defaults.toml`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is a setting of its own")]
pub(crate) struct Config {
    pub(crate) listen: String,
    pub(crate) data_dir: PathBuf,
    database_url: Hidden,
    base_url: String,
    transport: Hidden,
    transports: Vec<TransportEntry>,
    routes: Vec<RouteEntry>,
    rate_limit_per_minute: i64,
    member_share_per_minute: i64,
    public_rate_limit_per_minute: i64,
    public_share_per_minute: i64,
    person_requests_per_minute: i64,
    keyless_requests_per_minute: i64,
    invalid_keys_per_minute: i64,
    allowed_hosts: String,
    allow_private_networks: bool,
    dns_server: String,
    dns_validates: bool,
    secret: Hidden,
    metrics_key: Hidden,
    disable_signups: bool,
    verify_email_on_signup: bool,
    projects_per_user: i64,
    auto_project_disable: bool,
    trusted_proxies: usize,
    platform_from: String,
    pub(crate) log: String,
    drain_ms: u64,
    http: Http,
    requests: Requests,
    retention: Retention,
    database: Database,
    delivery: Delivery,
    sending: Sending,
    idempotency: Idempotency,
    domains: Domains,
    warmup: WarmUp,
    tlsreports: TlsReports,
    check: Check,
    jobs: Jobs,
    segments: Segments,
    search: Search,
    campaigns: Campaigns,
    tracking: Tracking,
    inbound: Inbound,
    activity: Activity,
    sns: Sns,
    attachments: Attachments,
    mailbox: Mailbox,
    uploads: Uploads,
    login: Login,
    oauth: Oauth,
    billing: Billing,
    backup: Backup,
}

impl Config {
    /// Reads the layers. `variables` are the process's environment variables.
    pub(crate) fn load(
        file: Option<&PathBuf>,
        variables: impl Iterator<Item = (String, String)>,
    ) -> Result<Self> {
        let table = layers::read(file, variables)?;
        ranges::check(&table)?;
        Value::Table(table).try_into().context("the configuration is not valid")
    }

    /// Whether the settings can be worked with, as far as they alone tell.
    pub(crate) fn check(&self) -> Result<()> {
        self.check_listen()?;
        self.settings()?;
        self.location()?;
        self.transports()?;
        self.secret()?;
        self.listener()?;
        self.copies()?;
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

    /// How continuous copies are made; `None` if none are.
    pub(crate) fn copies(&self) -> Result<Option<CopySettings>> {
        self.backup.settings(&self.data_dir, self.database_url.0.is_empty())
    }

    /// A folder or a bucket with copies, as a command names it.
    pub(crate) fn place_of_copies(&self, place: &str) -> Result<StoreSettings> {
        self.backup.place(place)
    }

    pub(crate) fn slow_reads(&self) -> SlowReads {
        let time_limit = Duration::from_millis(self.database.slow_read_ms);
        SlowReads { at_once: self.database.slow_reads, time_limit }
    }

    pub(crate) fn dns(&self) -> Result<mailwright_mail::dns::Dns> {
        use mailwright_mail::dns::Dns;
        let dns = if self.dns_server.is_empty() {
            Dns::system().map_err(|e| anyhow!("the system's name servers cannot be read: {e}"))?
        } else {
            let server: SocketAddr =
                self.dns_server.parse().context("MAILWRIGHT_DNS_SERVER must be ip:port")?;
            Dns::with_server(server)
        };
        Ok(if self.dns_validates { dns.validating() } else { dns })
    }

    /// How long requests are still taken after the process was asked to stop.
    pub(crate) fn drain(&self) -> Duration {
        Duration::from_millis(self.drain_ms)
    }

    /// What connections are held to, where `files` can be open at once.
    pub(crate) fn limits(&self, files: usize) -> Limits {
        let database = if self.database_url.0.is_empty() { SQLITE_FILES } else { self.database.connections };
        let inbound = crate::http::inbound_connections(self.inbound.connections(), files);
        let outgoing = self.delivery.connections * self.transports.len().max(1)
            + mailwright_app::http_client::CONNECTIONS;
        let taken = database + outgoing + inbound;
        let connections = crate::http::connections(self.http.connections, files, taken);
        let per_client = match self.http.connections_per_client {
            0 => connections.div_ceil(2),
            wanted => wanted.min(connections),
        };
        Limits {
            connections,
            // behind proxies all connections are the proxies'
            connections_per_client: (self.trusted_proxies == 0).then_some(per_client),
            inbound,
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

    /// The key with which metrics name sites, if one was configured.
    fn metrics_key(&self) -> Result<Option<ClientSecret>> {
        let key = &self.metrics_key.0;
        match key.len() {
            0 => Ok(None),
            1..16 => bail!("MAILWRIGHT_METRICS_KEY must have at least 16 characters"),
            _ if key.contains(|c: char| !c.is_ascii_graphic()) => {
                bail!("MAILWRIGHT_METRICS_KEY must be printable ASCII without spaces")
            }
            _ => Ok(Some(ClientSecret::new(key))),
        }
    }

    /// Where clients reach the service; on this machine where nothing else was asked for.
    pub(crate) fn base_url(&self) -> Result<BaseUrl> {
        let parsed = |text: &str| checks::base_url("MAILWRIGHT_BASE_URL", "https://mail.example.com", text);
        if self.base_url.is_empty() {
            parsed(&format!("http://{}", self.listen))
        } else {
            parsed(&self.base_url)
        }
    }

    /// The host of the base URL, where it is a name that others can look up: one with a dot, and no address.
    pub(crate) fn host_name(&self) -> Option<String> {
        let base_url = self.base_url().ok()?;
        let host = base_url.domain()?;
        let is_name =
            host.contains('.') && host.bytes().all(|b| b.is_ascii_alphanumeric() || b"-.".contains(&b));
        is_name.then(|| host.trim_end_matches('.').to_owned())
    }

    /// The sender of the instance's own mails. One that was not asked for serves as well, where the service has a name
    /// that can be in an address, but nobody is kept out then: those mails might not arrive.
    fn system_mail(&self, base_url: &BaseUrl) -> Result<SystemMailSettings> {
        if self.platform_from.is_empty() {
            let from = base_url.domain().and_then(|host| EmailAddress::parse(&format!("noreply@{host}")));
            return Ok(SystemMailSettings { from, verification_required: false });
        }
        let from = EmailAddress::parse(&self.platform_from)
            .context("MAILWRIGHT_PLATFORM_FROM must be an email address")?;
        Ok(SystemMailSettings { from: Some(from), verification_required: true })
    }

    /// How mail comes in; `None` where nothing listens for it.
    pub(crate) fn listener(&self) -> Result<Option<Listener>> {
        self.inbound.listener(self.host_name())
    }

    /// Most connections to the mail server.
    pub(crate) fn delivery_connections(&self) -> usize {
        self.delivery.connections
    }

    pub(crate) fn settings(&self) -> Result<Settings> {
        let base_url = self.base_url()?;
        Ok(Settings {
            requests: RequestLimits {
                per_project: self.rate_limit_per_minute,
                member_share: self.member_share_per_minute,
                public: self.public_rate_limit_per_minute,
                public_share: self.public_share_per_minute,
                person: self.person_requests_per_minute,
                keyless: self.keyless_requests_per_minute,
                invalid_keys: self.invalid_keys_per_minute,
            },
            request_log: self.requests.settings(),
            retention: self.retention.periods(&Elsewhere {
                hits: self.tracking.hits_days(),
                raw_inbound: self.inbound.keep_days(),
                request_log: self.requests.retention_days(),
            })?,
            allowed_hosts: self.allowed_hosts()?,
            allow_private_networks: self.allow_private_networks,
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
            domains: self.domains.settings(&self.inbound)?,
            warm_up: self.warmup.settings()?,
            check: self.check.settings()?,
            inbound: self.inbound.settings(self.host_name(), self.sns.settings()?)?,
            activity: self.activity.settings(),
            jobs: JobSettings {
                at_once: self.jobs.at_once,
                lease: Duration::from_millis(self.jobs.lease_ms),
            },
            uploads: self.uploads.settings(&self.data_dir)?,
            segments: SegmentSettings {
                refresh_interval: Duration::from_secs(self.segments.refresh_interval_seconds),
                columns: ColumnLimits {
                    bytes: megabytes(self.segments.memory_mb),
                    contacts: i64::try_from(self.segments.memory_from_contacts).unwrap_or(i64::MAX),
                },
            },
            search_bytes: megabytes(self.search.memory_mb),
            tracking: self.tracking.settings(),
            accounts: AccountSettings {
                disable_signups: self.disable_signups,
                verify_addresses: self.verify_email_on_signup,
                projects_per_user: self.projects_per_user,
                attempts_per_address: self.login.attempts_per_address,
                attempts_per_client: self.login.attempts_per_client,
                links_good_for: Duration::from_secs(self.login.link_seconds),
                attempts_window: Duration::from_secs(self.login.window_seconds),
                trusted_proxies: self.trusted_proxies,
            },
            system_mail: self.system_mail(&base_url)?,
            tls_reports: self.tlsreports.settings(&base_url, &self.platform_from)?,
            base_url,
            oauth: self.oauth.settings()?,
            billing: self.billing.settings()?,
            metrics_key: self.metrics_key()?,
        })
    }
}

/// Megabytes of memory, in bytes.
fn megabytes(count: u64) -> usize {
    usize::try_from(count * 1024 * 1024).unwrap_or(usize::MAX)
}
