//! DNS lookups, on `hickory-resolver`.

mod proven;
mod records;

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use hickory_resolver::config::{
    ConnectionConfig, NameServerConfig, ResolveHosts, ResolverConfig, ResolverOpts,
};
use hickory_resolver::lookup::Lookup;
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::net::{DnsError as Failure, NetError, NoRecords};
use hickory_resolver::proto::op::ResponseCode;
use hickory_resolver::proto::rr::{Name, RData, RecordType};
use hickory_resolver::system_conf::read_system_conf;
use hickory_resolver::{ResolverBuilder, TokioResolver};
use mailwright_tls::Tlsa;
use tokio::time::timeout;

use proven::{Absence, Keeping, Patience, Said, Validating};
use records::{alias, certificate, complete, host, mail_server, name_server};

/// How long one lookup may take, retries included.
const OVERALL: Duration = Duration::from_secs(5);
/// How often a question is put, and how long each answer is waited for.
const ATTEMPTS: usize = 2;
const PER_ATTEMPT: Duration = Duration::from_millis(2400);
const PATIENCE: Patience = Patience { attempts: ATTEMPTS, per_attempt: PER_ATTEMPT };
/// How many answers [`Dns::keeping_answers`] keeps: the oldest of those least asked for make room for new ones.
const MAX_KEPT: u64 = 16_384;
/// How long it keeps an answer, however long the answer allows it.
const MAX_KEPT_FOR: Duration = Duration::from_hours(1);
/// How long it keeps that there is no such name or record. Somebody may be about to create it.
const MAX_ABSENCE_KEPT_FOR: Duration = Duration::from_mins(5);

/// Asks the name server for records. Cheap to clone.
///
/// Nothing is cached, unless [`Dns::keeping_answers`] made it: a check that somebody starts by hand has to see what was
/// changed a second ago. Names are taken as complete, with or without the final dot; search domains and the hosts file
/// play no part. Names in answers come in lower case and without the final dot.
#[derive(Clone)]
pub struct Dns {
    resolver: TokioResolver,
    /// The name servers, with what the system says about asking them.
    settings: Arc<(ResolverConfig, ResolverOpts)>,
    /// The same name servers, where they validate DNSSEC.
    validating: Option<Arc<Validating>>,
}

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

/// An answer that tells a name that is not there from one without such records, and both from no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer<T> {
    /// The records; never empty.
    Records(Vec<T>),
    /// The name is there, or names below it are, without records of the type (RFC 2308 section 2.2).
    NoData,
    /// The same without the SOA record that makes it certain; or, without one, that the end of an alias is not there.
    Empty,
    /// There is no such name (NXDOMAIN). After an alias it may be the name at the end that is not there.
    NoName,
    /// No answer in time, one that cannot be used, one of a server that does not know, or aliases with an unknown end.
    Unknown,
}

/// An answer, and whether DNSSEC proves it.
#[derive(Debug)]
pub(crate) struct Proven<T> {
    pub(crate) answer: Answer<T>,
    /// Whether a name server that validates says that answer and aliases are those of the zones (RFC 4035 section 3.2.3).
    pub(crate) is_secure: bool,
    /// The name at the end of the aliases, in lower case and without the final dot; `None` where it is the one that was
    /// asked about, or is not known.
    pub(crate) alias_of: Option<String>,
}

impl fmt::Debug for Dns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dns").finish_non_exhaustive()
    }
}

impl Dns {
    /// Asks the name servers of the system (`/etc/resolv.conf`).
    pub fn system() -> Result<Self, DnsError> {
        let settings = read_system_conf().map_err(|error| DnsError::Unavailable(error.to_string()))?;
        build(Arc::new(settings), |_| ()).map_err(|error| DnsError::Unavailable(error.to_string()))
    }

    /// Asks one name server, by UDP, and by TCP when an answer is too long for that.
    pub fn with_server(server: SocketAddr) -> Self {
        let connections = [ConnectionConfig::udp(), ConnectionConfig::tcp()].map(|mut connection| {
            connection.port = server.port();
            connection
        });
        let server = NameServerConfig::new(server.ip(), true, connections.into());
        let config = ResolverConfig::from_name_servers(vec![server]);
        build(Arc::new((config, ResolverOpts::default())), |_| ()).expect(NO_TLS)
    }

    /// The same name servers, of which the operator says that they validate DNSSEC and that nobody can change what they
    /// say on the way here: what they call proven is believed.
    #[must_use]
    pub fn validating(self) -> Self {
        let validating = Validating::new(&self.settings.0, PATIENCE, None);
        Self { validating: Some(Arc::new(validating)), ..self }
    }

    /// Asks the same name servers and keeps what they say, as long as it says itself (the TTL; for what is not there that
    /// of RFC 2308 section 5), but an hour at most, and five minutes what is not there. An answer without such a time, no
    /// answer and a failure are not kept. At most 16,384 answers are kept at a time. Clones share them; another call does
    /// not.
    #[must_use]
    pub fn keeping_answers(&self) -> Self {
        let kept = build(Arc::clone(&self.settings), |options| {
            options.cache_size = MAX_KEPT;
            options.positive_max_ttl = Some(MAX_KEPT_FOR);
            options.negative_max_ttl = Some(MAX_ABSENCE_KEPT_FOR);
        })
        .expect(NO_TLS);
        let keeping =
            Keeping { most: MAX_KEPT as usize, records: MAX_KEPT_FOR, absence: MAX_ABSENCE_KEPT_FOR };
        let validating = self.validating.as_ref().map(|_| {
            let config = &self.settings.0;
            Arc::new(Validating::new(config, PATIENCE, Some(keeping)))
        });
        Self { validating, ..kept }
    }

    /// Whether the name servers validate, so that they can prove something.
    pub fn validates(&self) -> bool {
        self.validating.is_some()
    }

    /// Whether the name servers call proven what they say of a zone.
    pub async fn proves(&self, zone: &str) -> Result<bool, DnsError> {
        let said = self.prove(zone, RecordType::NS, name_server).await;
        match said.answer {
            Answer::Unknown => Err(DnsError::Unavailable("no answer that can be used".into())),
            Answer::Records(_) | Answer::NoData | Answer::Empty | Answer::NoName => Ok(said.is_secure),
        }
    }

    /// The resolver, for whoever asks with it for more than records.
    pub(crate) fn resolver(&self) -> &TokioResolver {
        &self.resolver
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
        let mut servers = self.records(name, RecordType::MX, mail_server).await?;
        servers.sort();
        Ok(servers)
    }

    /// The name that a name is an alias of.
    pub async fn cname(&self, name: &str) -> Result<String, DnsError> {
        let targets = self.records(name, RecordType::CNAME, alias).await?;
        targets.into_iter().next().ok_or(DnsError::NotFound)
    }

    /// The name servers of a zone.
    pub async fn ns(&self, name: &str) -> Result<Vec<String>, DnsError> {
        self.records(name, RecordType::NS, name_server).await
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

    /// The names that an address says it has (its reverse names).
    pub async fn ptr(&self, address: IpAddr) -> Result<Vec<String>, DnsError> {
        self.records(&Name::from(address).to_ascii(), RecordType::PTR, |data| match data {
            RData::PTR(name) => Some(host(&name.0)),
            _ => None,
        })
        .await
    }

    /// As [`Dns::mx`], in no order.
    pub(crate) async fn ask_mx(&self, name: &str) -> Answer<(u16, String)> {
        self.ask(name, RecordType::MX, mail_server).await
    }

    /// The same with its proof.
    pub(crate) async fn prove_mx(&self, name: &str) -> Proven<(u16, String)> {
        self.prove(name, RecordType::MX, mail_server).await
    }

    /// As [`Dns::cname`], with its proof.
    pub(crate) async fn prove_cname(&self, name: &str) -> Proven<String> {
        self.prove(name, RecordType::CNAME, alias).await
    }

    /// As [`Dns::a`], with its proof.
    pub(crate) async fn prove_a(&self, name: &str) -> Proven<IpAddr> {
        self.prove(name, RecordType::A, RData::ip_addr).await
    }

    /// As [`Dns::aaaa`], with its proof.
    pub(crate) async fn prove_aaaa(&self, name: &str) -> Proven<IpAddr> {
        self.prove(name, RecordType::AAAA, RData::ip_addr).await
    }

    /// The certificates that a name names (RFC 6698), with the proof without which they say nothing.
    pub(crate) async fn prove_tlsa(&self, name: &str) -> Proven<Tlsa> {
        self.prove(name, RecordType::TLSA, certificate).await
    }

    /// As [`Dns::ns`].
    pub(crate) async fn ask_ns(&self, name: &str) -> Answer<String> {
        self.ask(name, RecordType::NS, name_server).await
    }

    /// As [`Dns::cname`].
    pub(crate) async fn ask_cname(&self, name: &str) -> Answer<String> {
        self.ask(name, RecordType::CNAME, alias).await
    }

    /// As [`Dns::a`].
    pub(crate) async fn ask_a(&self, name: &str) -> Answer<IpAddr> {
        self.ask(name, RecordType::A, RData::ip_addr).await
    }

    /// As [`Dns::aaaa`].
    pub(crate) async fn ask_aaaa(&self, name: &str) -> Answer<IpAddr> {
        self.ask(name, RecordType::AAAA, RData::ip_addr).await
    }

    /// What `pick` takes from the answers; never empty.
    async fn records<T>(
        &self,
        name: &str,
        kind: RecordType,
        pick: impl Fn(&RData) -> Option<T>,
    ) -> Result<Vec<T>, DnsError> {
        // What cannot be a name does not exist.
        let name = complete(name).ok_or(DnsError::NotFound)?;
        let lookup = self.lookup(name, kind).await.map_err(|error| match error {
            None => DnsError::Unavailable("no answer in time".into()),
            Some(error) => failure(&error),
        })?;
        let records = picked(&lookup, pick);
        if records.is_empty() { Err(DnsError::NotFound) } else { Ok(records) }
    }

    /// What `pick` takes from the answers, or why there is nothing.
    async fn ask<T>(&self, name: &str, kind: RecordType, pick: impl Fn(&RData) -> Option<T>) -> Answer<T> {
        let Some(asked) = complete(name) else { return Answer::NoName };
        match self.lookup(asked.clone(), kind).await {
            Ok(lookup) => Some(picked(&lookup, pick))
                .filter(|records| !records.is_empty())
                .map_or(Answer::Unknown, Answer::Records),
            Err(Some(NetError::Dns(Failure::NoRecordsFound(none)))) => {
                let is_cut_short = self.is_cut_short(&asked, &none).await;
                if is_cut_short { Answer::Unknown } else { absence(&asked, &none) }
            }
            Err(_) => Answer::Unknown,
        }
    }

    /// Whether an answer without records has aliases alone whose end was not asked about, since there are so many: it
    /// does not say that there are no records (RFC 2308 section 2.2).
    async fn is_cut_short(&self, asked: &Name, none: &NoRecords) -> bool {
        let end = none.query.name();
        if end == asked || none.soa.is_some() || none.response_code != ResponseCode::NoError {
            return false;
        }
        // the resolver says of which name it asked last, and not whether that is an alias
        match self.lookup(end.clone(), RecordType::CNAME).await {
            Ok(_) | Err(None) => true,
            Err(Some(error)) => !error.is_no_records_found(),
        }
    }

    /// The same, and whether DNSSEC proves it: never where the name server does not validate.
    async fn prove<T>(&self, name: &str, kind: RecordType, pick: impl Fn(&RData) -> Option<T>) -> Proven<T> {
        let unproven = |answer| Proven { answer, is_secure: false, alias_of: None };
        let Some(validating) = &self.validating else {
            return unproven(self.ask(name, kind, pick).await);
        };
        let Some(name) = complete(name) else { return unproven(Answer::NoName) };
        match timeout(OVERALL, validating.ask(&name, kind)).await {
            Ok(Ok(said)) => Proven {
                answer: answer(&said, pick),
                is_secure: said.is_proven,
                alias_of: (said.name != name).then(|| host(&said.name)),
            },
            Ok(Err(_)) | Err(_) => unproven(Answer::Unknown),
        }
    }

    /// The error is `None` when there is no answer in time.
    async fn lookup(&self, name: Name, kind: RecordType) -> Result<Lookup, Option<NetError>> {
        timeout(OVERALL, self.resolver.lookup(name, kind)).await.map_err(|_| None)?.map_err(Some)
    }
}

/// Why building a resolver cannot fail.
const NO_TLS: &str = "only TLS, which is not compiled in, can fail here";

fn build(
    settings: Arc<(ResolverConfig, ResolverOpts)>,
    change: impl FnOnce(&mut ResolverOpts),
) -> Result<Dns, NetError> {
    let (config, options) = &*settings;
    let provider = TokioRuntimeProvider::default();
    let mut builder: ResolverBuilder<_> = TokioResolver::builder_with_config(config.clone(), provider);
    let mut options = options.clone();
    options.cache_size = 0;
    options.attempts = ATTEMPTS;
    options.timeout = PER_ATTEMPT;
    options.use_hosts_file = ResolveHosts::Never;
    options.edns0 = true;
    change(&mut options);
    *builder.options_mut() = options;
    Ok(Dns { resolver: builder.build()?, settings, validating: None })
}

fn picked<T>(lookup: &Lookup, pick: impl Fn(&RData) -> Option<T>) -> Vec<T> {
    lookup.answers().iter().filter_map(|record| pick(&record.data)).collect()
}

fn failure(error: &NetError) -> DnsError {
    if error.is_no_records_found() { DnsError::NotFound } else { DnsError::Unavailable(error.to_string()) }
}

/// What an answer without records says. One with name servers and without a SOA record is a referral (RFC 2308 section
/// 2.2): the server does not know. That the end of an alias is not there is certain with a SOA record only.
fn absence<T>(asked: &Name, none: &NoRecords) -> Answer<T> {
    match none.response_code {
        ResponseCode::NXDomain if none.query.name() != asked && none.soa.is_none() => Answer::Empty,
        ResponseCode::NXDomain => Answer::NoName,
        ResponseCode::NoError if none.soa.is_some() => Answer::NoData,
        ResponseCode::NoError if none.ns.is_none() => Answer::Empty,
        _ => Answer::Unknown,
    }
}

/// What an answer with its proof says.
fn answer<T>(said: &Said, pick: impl Fn(&RData) -> Option<T>) -> Answer<T> {
    let records: Vec<T> = said.records.iter().filter_map(pick).collect();
    match said.absence {
        _ if !records.is_empty() => Answer::Records(records),
        // of another kind than was asked for
        _ if !said.records.is_empty() => Answer::Unknown,
        Absence::NoData => Answer::NoData,
        Absence::Empty => Answer::Empty,
        Absence::NoName => Answer::NoName,
        Absence::Referral | Absence::CutShort => Answer::Unknown,
    }
}
