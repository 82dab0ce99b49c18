//! The operator's settings, in the form that the use cases need. `server/src/config.rs` makes them.

mod base_url;
mod check;
mod domains;
mod tls_reports;
mod warm_up;

use std::path::PathBuf;
use std::time::Duration;

use mailwright_core::header::NameList;
use mailwright_core::hit::Timing;
use mailwright_core::retention::Periods;
use mailwright_store::audience::columns::ColumnLimits;
use mailwright_store::delivery::mailbox::Quota;
use mailwright_store::feedback::inbound::Volume;
use sha2::{Digest, Sha256};

pub use self::base_url::{BaseUrl, BaseUrlError};
pub use self::check::CheckSettings;
pub use self::domains::DomainSettings;
pub use self::tls_reports::TlsReportSettings;
pub use self::warm_up::WarmUpSettings;

/// Settings of the use cases and the worker.
#[derive(Debug, Clone)]
pub struct Settings {
    /// URL at which clients and recipients reach the service.
    pub base_url: BaseUrl,
    /// Requests a minute.
    pub requests: RequestLimits,
    /// The log of requests.
    pub request_log: RequestLogSettings,
    /// How long what grows is kept, where no project has shorter periods.
    pub retention: Periods,
    /// Names under which the service is reached beside the base URL's, in small letters and without ports.
    pub allowed_hosts: Vec<String>,
    /// Whether requests to addresses that users give may go to private networks.
    pub allow_private_networks: bool,
    /// Bodies of requests.
    pub bodies: BodySettings,
    /// Whether a project is disabled when too much of its mail comes back; otherwise the operator is only told.
    pub auto_project_disable: bool,
    /// How long an idempotency key is kept.
    pub idempotency_ttl: Duration,
    /// Time between two comparisons of the machine's clock with the database's.
    pub clock_check_interval: Duration,
    /// How late a scheduled campaign may start.
    pub latest_start: Duration,
    /// Attachments.
    pub attachments: AttachmentLimits,
    /// Quota of a project's mailbox for captured mail.
    pub mailbox: Quota,
    /// Sending.
    pub delivery: DeliverySettings,
    /// Headers that a request may not set beside those that are reserved anyway.
    pub reserved_headers: NameList,
    /// Sender domains.
    pub domains: DomainSettings,
    /// How much mail new source addresses and sender domains send at first.
    pub warm_up: WarmUpSettings,
    /// How mails are checked before they are sent.
    pub check: CheckSettings,
    /// Background jobs.
    pub jobs: JobSettings,
    /// Uploaded pictures.
    pub uploads: UploadSettings,
    /// Segments.
    pub segments: SegmentSettings,
    /// Most bytes of the addresses that are kept in memory to count what a search for contacts finds.
    pub search_bytes: usize,
    /// Opens and clicks.
    pub tracking: TrackingSettings,
    /// Mail that comes in.
    pub inbound: InboundSettings,
    /// The feed as it happens.
    pub activity: ActivitySettings,
    /// Accounts.
    pub accounts: AccountSettings,
    /// The instance's own mails.
    pub system_mail: SystemMailSettings,
    /// Reports about TLS to other domains; `None` where none are sent.
    pub tls_reports: Option<TlsReportSettings>,
    /// Providers that people sign in with.
    pub oauth: OauthSettings,
    /// What mail costs; `None` where nothing is billed, and nothing limited.
    pub billing: Option<BillingSettings>,
    /// The key with which the metrics name sites; `None`: they name none.
    pub metrics_key: Option<ClientSecret>,
}

/// How mail is billed: by a payment service that speaks like Stripe.
#[derive(Debug, Clone)]
pub struct BillingSettings {
    /// Where its API is.
    pub api_base: BaseUrl,
    /// The key with which it is asked.
    pub secret_key: ClientSecret,
    /// The secret with which it signs events.
    pub webhook_secret: ClientSecret,
    /// The id of the price of a unit.
    pub price_usage: Option<String>,
    /// The id of the price that is paid once, when a project is subscribed.
    pub price_onboarding: Option<String>,
    /// The name of the events that report units.
    pub meter_event: String,
    /// Mails that a project may have in a month without a subscription.
    pub free_allowance: i64,
}

/// Requests a minute.
#[derive(Debug, Clone, Copy)]
pub struct RequestLimits {
    /// Requests a minute of a project, with its secret keys and by its members; 0 switches all of these limits off.
    pub per_project: i64,
    /// Requests a minute that a member may make after others have used up the project's limit.
    pub member_share: i64,
    /// Requests a minute of a project with its public key.
    pub public: i64,
    /// Requests a minute that one client may make with the public key after others have used up the project's limit.
    pub public_share: i64,
    /// Requests a minute that a person makes about the own account.
    pub person: i64,
    /// Requests a minute of a client without a key.
    pub keyless: i64,
    /// Requests a minute of a client with keys that are not valid.
    pub invalid_keys: i64,
}

/// What the log of requests keeps.
#[derive(Debug, Clone, Copy)]
pub struct RequestLogSettings {
    /// How long requests are kept; zero: there is no log.
    pub keep: Duration,
    /// How many of a hundred successful requests are kept, besides all errors.
    pub sample_percent: u32,
    /// Whether the addresses of clients are kept.
    pub addresses: bool,
}

/// How bodies of requests are read.
#[derive(Debug, Clone, Copy)]
pub struct BodySettings {
    /// How long a client may pause within a body.
    pub pause: Duration,
    /// How long a whole body may take.
    pub whole: Duration,
    /// Most bytes of bodies in memory.
    pub budget: usize,
}

/// Providers that people sign in with; `None` where one is not configured.
#[derive(Debug, Clone, Default)]
pub struct OauthSettings {
    /// How long the way to a provider and back may take.
    pub state_ttl: Duration,
    /// GitHub.
    pub github: Option<ProviderSettings>,
    /// Google.
    pub google: Option<ProviderSettings>,
}

/// How a provider is reached.
#[derive(Debug, Clone)]
pub struct ProviderSettings {
    /// Id of this instance at the provider.
    pub client_id: String,
    /// Secret that authenticates this instance to the provider.
    pub client_secret: ClientSecret,
    /// URL where people allow the sign-in.
    pub authorize_url: BaseUrl,
    /// URL where a code is exchanged for a token.
    pub token_url: BaseUrl,
    /// URL of the API that describes the account.
    pub api_url: BaseUrl,
}

/// A secret that the operator chose or another service gave out. Never printed.
#[derive(Clone)]
pub struct ClientSecret(String);

impl ClientSecret {
    /// Takes the secret's text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }

    /// Whether a text is the secret. How long that takes says nothing of it.
    pub fn is(&self, text: &str) -> bool {
        Sha256::digest(&self.0) == Sha256::digest(text)
    }
}

impl std::fmt::Debug for ClientSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("***")
    }
}

/// Mails of the instance itself.
#[derive(Debug, Clone)]
pub struct SystemMailSettings {
    /// Sender of the instance's own mails; `None`: the instance sends none.
    pub from: Option<mailwright_core::address::EmailAddress>,
    /// Whether accounts with a password have to prove their address before they are let in.
    pub verification_required: bool,
}

/// Who may have an account, and how sign-ins are guarded.
#[derive(Debug, Clone)]
pub struct AccountSettings {
    /// Whether only the first account can be created by signing up.
    pub disable_signups: bool,
    /// Whether an address to which no mail can be sent gets no account, nor a disposable one.
    pub verify_addresses: bool,
    /// Projects that a user may own; 0 for no limit.
    pub projects_per_user: i64,
    /// Wrong passwords for an address in a window.
    pub attempts_per_address: i64,
    /// Wrong passwords from a client in a window.
    pub attempts_per_client: i64,
    /// How long a window is.
    pub attempts_window: Duration,
    /// How long a link that proves an address is good.
    pub links_good_for: Duration,
    /// How many proxies stand before the service and append to `X-Forwarded-For`.
    pub trusted_proxies: usize,
}

/// Limits on attachments (contract, Limits).
#[derive(Debug, Clone, Copy)]
pub struct AttachmentLimits {
    /// Most attachments of a mail.
    pub count: usize,
    /// Most bytes of all attachments of a mail.
    pub total_bytes: usize,
    /// Most bytes of a whole message.
    pub message_bytes: usize,
}

impl Default for AttachmentLimits {
    fn default() -> Self {
        Self { count: 10, total_bytes: 10 * 1024 * 1024, message_bytes: 40 * 1024 * 1024 }
    }
}

/// How mail is handed over.
#[derive(Debug, Clone)]
pub struct DeliverySettings {
    /// Connections to the next hop, and so mails on the wire at once.
    pub connections: usize,
    /// Mails a second and project; 0 switches the throttle off.
    pub per_second: i64,
    /// Mails a second of the whole instance; 0 for any number.
    pub instance_per_second: i64,
    /// The first back-off after a temporary refusal; it doubles with every further one.
    pub retry_base: Duration,
    /// The longest back-off.
    pub retry_max: Duration,
    /// First pause after the next hop refused the login or all mail; it doubles each time.
    pub refused_base: Duration,
    /// The longest time until it is tried again.
    pub refused_max: Duration,
    /// How long a claim holds without a sign of life.
    pub lease: Duration,
    /// How long a mail waits between its attempts, all pauses together, before it is given up.
    pub deadline: Duration,
}

/// How segments are looked after.
#[derive(Debug, Clone, Copy)]
pub struct SegmentSettings {
    /// Time between two counts of a segment that is not tracked. For a tracked segment: time from a change of its
    /// condition until all contacts are evaluated.
    pub refresh_interval: Duration,
    /// What limits the columns that the contacts of large projects are judged by.
    pub columns: ColumnLimits,
}

/// How opens and clicks are followed.
#[derive(Debug, Clone)]
pub struct TrackingSettings {
    /// Time between an open or a click and its judgement.
    pub settle: Duration,
    /// How long links lead somewhere after their content was used for the last time.
    pub links: Duration,
    /// How fast people are.
    pub timing: Timing,
}

/// How mail comes in.
#[derive(Debug, Clone, Default)]
pub struct InboundSettings {
    /// The host name of the listener, to which MX records point; `None` where nothing listens.
    pub host: Option<String>,
    /// The domain that bounces return to; `None` where they return to the sender.
    pub return_path: Option<String>,
    /// How long messages are kept as they came.
    pub keep: Duration,
    /// The most that a project takes on a day (UTC).
    pub per_day: Volume,
    /// Notifications of Amazon SNS.
    pub sns: SnsSettings,
}

/// How the feed is followed.
#[derive(Debug, Clone)]
pub struct ActivitySettings {
    /// For how long one can go on from where one had stopped.
    pub stream_kept: Duration,
    /// Most clients of a project that follow in this process.
    pub streams_per_project: usize,
    /// Most clients that follow in this process.
    pub streams: usize,
}

/// Which notifications of Amazon SNS are taken.
#[derive(Debug, Clone, Default)]
pub struct SnsSettings {
    /// The topics; none: no notifications are taken.
    pub topics: Vec<String>,
    /// The service, if it is not Amazon's but one that speaks like it.
    pub endpoint: Option<BaseUrl>,
}

impl Settings {
    /// The domain that bounces return to.
    pub fn return_path(&self) -> Option<&str> {
        self.inbound.return_path.as_deref()
    }

    /// The host that takes mail for sender domains.
    pub fn inbound_host(&self) -> Option<&str> {
        self.inbound.host.as_deref()
    }

    /// The host that answers tracked links, where it is a name that others can point to.
    pub fn tracking_host(&self) -> Option<&str> {
        self.base_url.domain().filter(|host| host.contains('.'))
    }
}

/// Uploaded pictures.
#[derive(Debug, Clone)]
pub struct UploadSettings {
    /// Where their bytes are.
    pub store: StoreSettings,
    /// The beginning of the URLs that they are served at; `None` for the base URL.
    pub public_url: Option<BaseUrl>,
    /// Most bytes of the pictures of a project.
    pub bytes_per_project: i64,
}

/// A store of files.
#[derive(Debug, Clone)]
pub enum StoreSettings {
    /// A folder.
    Folder(PathBuf),
    /// A store that speaks S3.
    S3(Box<S3Settings>),
}

/// How a store is reached that speaks S3.
#[derive(Debug, Clone)]
pub struct S3Settings {
    /// The bucket.
    pub bucket: String,
    /// What the names of all objects begin with; empty for nothing.
    pub prefix: String,
    /// The service, if it is not Amazon's.
    pub endpoint: Option<BaseUrl>,
    /// The region.
    pub region: String,
    /// Id of the key.
    pub key_id: String,
    /// The key.
    pub secret: ClientSecret,
}

/// How background jobs are done.
#[derive(Debug, Clone, Copy)]
pub struct JobSettings {
    /// Projects whose jobs this process works on at the same time.
    pub at_once: usize,
    /// How long a claim holds without a sign of life. Every step of a job is such a sign.
    pub lease: Duration,
}
