//! DNS lookups, on `hickory-resolver`.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use hickory_resolver::config::{
    ConnectionConfig, NameServerConfig, ResolveHosts, ResolverConfig, ResolverOpts,
};
use hickory_resolver::net::NetError;
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::proto::rr::{Name, RData, RecordType};
use hickory_resolver::{ResolverBuilder, TokioResolver};
use tokio::time::timeout;

/// How long one lookup may take, retries included.
const OVERALL: Duration = Duration::from_secs(5);
/// How often a question is put, and how long each answer is waited for.
const ATTEMPTS: usize = 2;
const PER_ATTEMPT: Duration = Duration::from_millis(2400);

/// Asks the name server for records. Cheap to clone.
///
/// Nothing is cached: a check that somebody starts by hand has to see what was changed a second ago. Names are taken
/// as complete, with or without the final dot; search domains and the hosts file play no part. Names in answers come
/// in lower case and without the final dot.
#[derive(Clone)]
pub struct Dns(TokioResolver);

/// Why there are no records.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DnsError {
    /// The name does not exist, or has no records of the type.
    #[error("there is no such record")]
    NotFound,
    /// The question could not be answered: no answer in time, or a name server that fails. May pass.
    #[error("the name server gave no answer: {0}")]
    Unavailable(String),
}

impl fmt::Debug for Dns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dns").finish_non_exhaustive()
    }
}

impl Dns {
    /// Asks the name servers of the system (`/etc/resolv.conf`).
    pub fn system() -> Result<Self, DnsError> {
        let builder =
            TokioResolver::builder_tokio().map_err(|error| DnsError::Unavailable(error.to_string()))?;
        build(builder).map_err(|error| DnsError::Unavailable(error.to_string()))
    }

    /// Asks one name server, by UDP, and by TCP when an answer is too long for that.
    pub fn with_server(server: SocketAddr) -> Self {
        let connections = [ConnectionConfig::udp(), ConnectionConfig::tcp()].map(|mut connection| {
            connection.port = server.port();
            connection
        });
        let server = NameServerConfig::new(server.ip(), true, connections.into());
        let config = ResolverConfig::from_name_servers(vec![server]);
        build(TokioResolver::builder_with_config(config, TokioRuntimeProvider::default()))
            .expect("only TLS, which is not compiled in, can fail here")
    }

    /// The resolver, for whoever asks with it for more than records.
    pub(crate) fn resolver(&self) -> &TokioResolver {
        &self.0
    }

    /// The TXT records of a name, the strings of each joined (RFC 7208 section 3.3); invalid UTF-8 is replaced.
    pub async fn txt(&self, name: &str) -> Result<Vec<String>, DnsError> {
        self.records(name, RecordType::TXT, |data| match data {
            RData::TXT(txt) => Some(String::from_utf8_lossy(&txt.txt_data.concat()).into_owned()),
            _ => None,
        })
        .await
    }

    /// The mail servers of a domain with their preferences, best first. A null MX (RFC 7505) is one with an empty name.
    pub async fn mx(&self, name: &str) -> Result<Vec<(u16, String)>, DnsError> {
        let mut servers = self
            .records(name, RecordType::MX, |data| match data {
                RData::MX(mx) => Some((mx.preference, host(&mx.exchange))),
                _ => None,
            })
            .await?;
        servers.sort();
        Ok(servers)
    }

    /// The name that a name is an alias of.
    pub async fn cname(&self, name: &str) -> Result<String, DnsError> {
        let targets = self
            .records(name, RecordType::CNAME, |data| match data {
                RData::CNAME(target) => Some(host(&target.0)),
                _ => None,
            })
            .await?;
        targets.into_iter().next().ok_or(DnsError::NotFound)
    }

    /// The name servers of a zone.
    pub async fn ns(&self, name: &str) -> Result<Vec<String>, DnsError> {
        self.records(name, RecordType::NS, |data| match data {
            RData::NS(server) => Some(host(&server.0)),
            _ => None,
        })
        .await
    }

    /// Whether a name is the apex of a zone: a registered domain, or a part of one that was delegated.
    pub async fn soa_exists(&self, name: &str) -> Result<bool, DnsError> {
        let found =
            self.records(name, RecordType::SOA, |data| matches!(data, RData::SOA(_)).then_some(())).await;
        match found {
            Ok(_) => Ok(true),
            Err(DnsError::NotFound) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The IPv4 addresses of a host.
    pub async fn a(&self, name: &str) -> Result<Vec<Ipv4Addr>, DnsError> {
        self.records(name, RecordType::A, |data| match data {
            RData::A(address) => Some(address.0),
            _ => None,
        })
        .await
    }

    /// The IPv6 addresses of a host.
    pub async fn aaaa(&self, name: &str) -> Result<Vec<Ipv6Addr>, DnsError> {
        self.records(name, RecordType::AAAA, |data| match data {
            RData::AAAA(address) => Some(address.0),
            _ => None,
        })
        .await
    }

    /// What `pick` takes from the answers; never empty.
    async fn records<T>(
        &self,
        name: &str,
        kind: RecordType,
        pick: impl Fn(&RData) -> Option<T>,
    ) -> Result<Vec<T>, DnsError> {
        // What cannot be a name does not exist.
        let mut name = Name::from_ascii(name).map_err(|_| DnsError::NotFound)?;
        name.set_fqdn(true);
        let lookup = timeout(OVERALL, self.0.lookup(name, kind))
            .await
            .map_err(|_| DnsError::Unavailable("no answer in time".into()))?
            .map_err(|error| failure(&error))?;
        let records: Vec<T> = lookup.answers().iter().filter_map(|record| pick(&record.data)).collect();
        if records.is_empty() { Err(DnsError::NotFound) } else { Ok(records) }
    }
}

fn build(mut builder: ResolverBuilder<TokioRuntimeProvider>) -> Result<Dns, NetError> {
    let options: &mut ResolverOpts = builder.options_mut();
    options.cache_size = 0;
    options.attempts = ATTEMPTS;
    options.timeout = PER_ATTEMPT;
    options.use_hosts_file = ResolveHosts::Never;
    options.edns0 = true;
    Ok(Dns(builder.build()?))
}

fn failure(error: &NetError) -> DnsError {
    if error.is_no_records_found() { DnsError::NotFound } else { DnsError::Unavailable(error.to_string()) }
}

fn host(name: &Name) -> String {
    let mut text = name.to_ascii().to_ascii_lowercase();
    if text.ends_with('.') {
        text.pop();
    }
    text
}
