//! What a site takes at most: what its operator publishes, and careful numbers for everybody else.

use std::sync::OnceLock;

use serde::Deserialize;

/// The receivers whose limits are known, each with where they come from.
const RECEIVERS: &str = include_str!("receivers.json");

/// What a site takes from one source address, at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Limits {
    /// Connections at a time.
    pub connections: u32,
    /// Mails on one connection, after which it is closed.
    pub mails_per_connection: u32,
    /// Mails a minute; `None` where nothing is known.
    #[serde(default)]
    pub per_minute: Option<u32>,
}

impl Limits {
    /// Those of a site of which nothing is known.
    pub const UNKNOWN: Self = Self { connections: 10, mails_per_connection: 100, per_minute: None };
}

/// A large receiver.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Receiver {
    /// Its name, for people.
    pub name: String,
    /// The domains that the names of its mail servers end with.
    pub hosts: Vec<String>,
    /// The organisational domains that its DMARC reports come from, where these hold no mailboxes of the public:
    /// whoever has a mailbox in a domain can prove to write from it.
    #[serde(default)]
    pub reporters: Vec<String>,
    /// What it takes.
    pub limits: Limits,
    /// Where the limits come from.
    pub source: String,
}

/// The large receivers whose limits are known.
pub fn receivers() -> &'static [Receiver] {
    static READ: OnceLock<Vec<Receiver>> = OnceLock::new();
    READ.get_or_init(|| serde_json::from_str(RECEIVERS).unwrap_or_default())
}

/// The organisational domains that DMARC reports of large receivers come from, and that nobody else can write from.
pub fn large_reporters() -> Vec<&'static str> {
    receivers().iter().flat_map(|receiver| &receiver.reporters).map(String::as_str).collect()
}

/// The receiver that runs a mail server, given its name in lower case and without the final dot.
pub fn receiver_of(host: &str) -> Option<&'static Receiver> {
    receivers().iter().find(|receiver| receiver.hosts.iter().any(|domain| is_within(host, domain)))
}

/// The limits of the receiver that runs a mail server, or those of an unknown one.
pub fn limits_of(host: &str) -> Limits {
    receiver_of(host).map_or(Limits::UNKNOWN, |receiver| receiver.limits)
}

fn is_within(host: &str, domain: &str) -> bool {
    host.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_whole() {
        assert!(receivers().len() >= 6);
        for receiver in receivers() {
            assert!(receiver.source.starts_with("https://"), "{}", receiver.name);
            assert!(!receiver.hosts.is_empty(), "{}", receiver.name);
            assert!(
                receiver.reporters.iter().all(|domain| domain.split('.').count() == 2),
                "{}",
                receiver.name
            );
            assert!(receiver.limits.connections > 0 && receiver.limits.mails_per_connection > 0);
        }
    }

    #[test]
    fn a_receiver_is_known_by_the_names_of_its_servers() {
        assert_eq!(receiver_of("mta5.am0.yahoodns.net").map(|found| &*found.name), Some("Yahoo"));
        assert_eq!(limits_of("mta5.am0.yahoodns.net").mails_per_connection, 20);
        assert_eq!(receiver_of("gmail-smtp-in.l.google.com").map(|found| &*found.name), Some("Google"));
        assert!(receiver_of("notgoogle.com").is_none(), "only a whole label counts");
        assert_eq!(limits_of("mx.example.net"), Limits::UNKNOWN);
        assert!(
            ["google.com", "microsoft.com", "yahooinc.com"].iter().all(|one| large_reporters().contains(one))
        );
    }
}
