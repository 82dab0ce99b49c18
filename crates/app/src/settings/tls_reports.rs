//! Reports about TLS that are sent to other domains (RFC 8460).

/// What such a report says of who sends it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsReportSettings {
    /// The name of the organization.
    pub organization: String,
    /// Whom to ask: an address.
    pub contact: String,
}
