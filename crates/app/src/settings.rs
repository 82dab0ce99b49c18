//! What an operator can set, as the use cases need it.

use std::time::Duration;

/// Settings of the use cases and the worker.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where clients and recipients reach the service, without a final slash.
    pub base_url: String,
    /// Requests a minute and project; 0 switches the limit off.
    pub rate_limit_per_minute: i64,
    /// How long an idempotency key is kept.
    pub idempotency_ttl: Duration,
    /// Attachments.
    pub attachments: AttachmentLimits,
    /// Sending.
    pub delivery: DeliverySettings,
    /// Sender domains.
    pub domains: DomainSettings,
    /// Segments.
    pub segments: SegmentSettings,
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
    /// The first back-off after a temporary refusal; it doubles with every further one.
    pub retry_base: Duration,
    /// The longest back-off.
    pub retry_max: Duration,
    /// How long a claim holds without a sign of life.
    pub lease: Duration,
    /// How long a mail is tried.
    pub deadline: Duration,
}

/// How segments are looked after.
#[derive(Debug, Clone, Copy)]
pub struct SegmentSettings {
    /// Time between two counts of a segment that is not tracked, and from a change to the condition of one that is
    /// until everybody is judged by it.
    pub refresh_interval: Duration,
}

/// How sender domains are checked.
#[derive(Debug, Clone)]
pub struct DomainSettings {
    /// Time between two checks of a domain.
    pub check_interval: Duration,
    /// What SPF records should contain, such as `include:spf.example.net`.
    pub spf: Option<String>,
    /// Kind of new DKIM keys.
    pub key_type: mailwright_mail::dkim::KeyType,
}
