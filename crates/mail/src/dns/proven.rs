//! Questions to a name server that validates DNSSEC, and whether it says that it has proven the answer (the bit AD).
//!
//! `hickory-resolver` shows that bit of answers with records alone, and does not ask for it (RFC 6840 section 5.7) unless it
//! validates by itself, with features that are not compiled. So these questions go one level below it: a request with the
//! bit AD to the same name servers, by UDP, and by TCP where the answer is cut off. DO is not set: it would bring
//! signatures that nobody here reads.
//!
//! The bit is worth what the way to the name server is worth: whoever can change packets there can set it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use hickory_resolver::config::ResolverConfig;
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::net::tcp::TcpClientStream;
use hickory_resolver::net::udp::UdpClientStream;
use hickory_resolver::net::xfer::{DnsHandle, FirstAnswer};
use hickory_resolver::net::{DnsError, NetError};
use hickory_resolver::proto::op::{DnsRequest, DnsRequestOptions, DnsResponse, Query, ResponseCode};
use hickory_resolver::proto::rr::{Name, RData, Record, RecordType};
use quick_cache::sync::Cache;

/// How often each name server is asked, and how long each answer is waited for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    pub(super) attempts: usize,
    pub(super) per_attempt: Duration,
}

/// How many answers are kept, and for how long at most: those with records, and those without.
#[derive(Debug, Clone, Copy)]
pub(super) struct Keeping {
    pub(super) most: usize,
    pub(super) records: Duration,
    pub(super) absence: Duration,
}

/// Most questions along aliases that a name server does not follow.
const MOST_QUESTIONS: usize = 8;

/// An answer of a name server.
#[derive(Debug, Clone)]
pub(super) struct Said {
    /// Whether it is proven that the answer is that of the zone, all aliases on the way included.
    pub(super) is_proven: bool,
    /// What it says where there are no records.
    pub(super) absence: Absence,
    /// Whether it has the SOA record of a zone that the name is in.
    has_soa: bool,
    /// The name at the end of the aliases.
    pub(super) name: Name,
    /// What was asked for, of that name.
    pub(super) records: Vec<RData>,
    /// How long it may be kept.
    ttl: Duration,
}

/// What an answer without records says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Absence {
    /// The name is there, without such records.
    NoData,
    /// The same without the SOA record that would make it certain (RFC 2308 section 2.2), or that the end of an alias
    /// is not there, without such a record.
    Empty,
    /// There is no such name.
    NoName,
    /// Other name servers are to be asked (RFC 2308 section 2.2).
    Referral,
    /// It has aliases alone, and says nothing of the name at their end: otherwise it would have the SOA record of that
    /// name's zone (RFC 2308 section 2.2).
    CutShort,
}

impl Said {
    fn new(response: &DnsResponse, query: &Query) -> Self {
        // an alias that is asked for is not followed
        let name = match query.query_type() {
            RecordType::CNAME => query.name().clone(),
            _ => end_of_aliases(query.name(), &response.answers),
        };
        let is_wanted = |record: &&Record| record.name == name && record.record_type() == query.query_type();
        let records: Vec<RData> =
            response.answers.iter().filter(is_wanted).map(|record| record.data.clone()).collect();
        let has = |kind| response.authorities.iter().any(|record| record.record_type() == kind);
        let exists = response.response_code != ResponseCode::NXDomain;
        let is_soa = |record: &Record| record.record_type() == RecordType::SOA && record.name.zone_of(&name);
        // in a circle, the end is an alias as well
        let is_alias = |record: &Record| record.record_type() == RecordType::CNAME && record.name == name;
        let has_aliases = name != *query.name() || response.answers.iter().any(is_alias);
        let has_soa = response.authorities.iter().any(is_soa);
        let absence = match () {
            () if exists && has_aliases && !has_soa => Absence::CutShort,
            () if has(RecordType::NS) && !has(RecordType::SOA) => Absence::Referral,
            () if exists && has(RecordType::SOA) => Absence::NoData,
            () if exists || has_aliases && !has_soa => Absence::Empty,
            () => Absence::NoName,
        };
        let seconds = if records.is_empty() {
            response.negative_ttl()
        } else {
            response.answers.iter().map(|record| record.ttl).min()
        };
        Self {
            is_proven: response.authentic_data,
            absence,
            has_soa,
            name,
            records,
            ttl: Duration::from_secs(seconds.unwrap_or(0).into()),
        }
    }

    fn is_cut_short(&self) -> bool {
        self.records.is_empty() && self.absence == Absence::CutShort
    }

    /// The same where an alias led to it that another answer ends with.
    fn after(&self, alias: &Self) -> Self {
        let absence = match self.absence {
            Absence::NoName if !self.has_soa => Absence::Empty,
            absence => absence,
        };
        Self { is_proven: self.is_proven && alias.is_proven, absence, ..self.clone() }
    }
}

/// Follows the aliases of a name as far as the answer has them.
fn end_of_aliases(name: &Name, answers: &[Record]) -> Name {
    let mut name = name.clone();
    // each is followed once at most, so that a circle ends
    for _ in answers {
        let next = answers.iter().find_map(|record| match &record.data {
            RData::CNAME(target) if record.name == name => Some(target.0.clone()),
            _ => None,
        });
        let Some(next) = next else { break };
        name = next;
    }
    name
}

/// Answers, and until when each is kept.
type Kept = Cache<Query, (Arc<Said>, Instant)>;

/// Name servers that validate.
pub(super) struct Validating {
    servers: Vec<SocketAddr>,
    patience: Patience,
    /// The server that answered last: it is asked first.
    first: AtomicUsize,
    kept: Option<(Keeping, Kept)>,
}

impl Validating {
    /// Asks the name servers of a configuration.
    pub(super) fn new(config: &ResolverConfig, patience: Patience, keeping: Option<Keeping>) -> Self {
        let servers = config.name_servers().iter().filter_map(|server| {
            server.connections.first().map(|connection| SocketAddr::new(server.ip, connection.port))
        });
        Self {
            servers: servers.collect(),
            patience,
            first: AtomicUsize::new(0),
            kept: keeping.map(|keeping| (keeping, Cache::new(keeping.most))),
        }
    }

    /// The answer, or why there is none: no server answers, or the zone is not what it should be (SERVFAIL). Aliases
    /// that the server does not follow are followed here.
    pub(super) async fn ask(&self, name: &Name, kind: RecordType) -> Result<Arc<Said>, NetError> {
        let mut said = self.ask_about(name, kind).await?;
        for _ in 1..MOST_QUESTIONS {
            if !said.is_cut_short() {
                break;
            }
            said = Arc::new(self.ask_about(&said.name, kind).await?.after(&said));
        }
        Ok(said)
    }

    async fn ask_about(&self, name: &Name, kind: RecordType) -> Result<Arc<Said>, NetError> {
        let query = Query::query(name.clone(), kind);
        if let Some((_, cache)) = &self.kept
            && let Some((said, until)) = cache.get(&query)
            && Instant::now() < until
        {
            return Ok(said);
        }
        let said = Arc::new(Said::new(&self.ask_servers(&query).await?, &query));
        if let Some((keeping, cache)) = &self.kept {
            let most = if said.records.is_empty() { keeping.absence } else { keeping.records };
            let ttl = said.ttl.min(most);
            if !ttl.is_zero() {
                cache.insert(query, (Arc::clone(&said), Instant::now() + ttl));
            }
        }
        Ok(said)
    }

    async fn ask_servers(&self, query: &Query) -> Result<DnsResponse, NetError> {
        let mut failure = NetError::NoConnections;
        let first = self.first.load(Ordering::Relaxed);
        for nth in 0..self.servers.len() * self.patience.attempts {
            let number = (first + nth) % self.servers.len();
            match self.ask_server(self.servers[number], query).await {
                Ok(response)
                    if matches!(response.response_code, ResponseCode::NoError | ResponseCode::NXDomain) =>
                {
                    self.first.store(number, Ordering::Relaxed);
                    return Ok(response);
                }
                Ok(response) => failure = DnsError::ResponseCode(response.response_code).into(),
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }

    async fn ask_server(&self, server: SocketAddr, query: &Query) -> Result<DnsResponse, NetError> {
        let limit = self.patience.per_attempt;
        let provider = TokioRuntimeProvider::default();
        let udp = UdpClientStream::builder(server, provider.clone()).with_timeout(Some(limit)).exchange();
        let response = udp.send(request(query)).first_answer().await?;
        if !response.truncation {
            return Ok(response);
        }
        let tcp = TcpClientStream::exchange(server, None, limit, None, provider).await?;
        let response = tcp.send(request(query)).first_answer().await?;
        if response.truncation { Err(NetError::Truncated) } else { Ok(response) }
    }
}

fn request(query: &Query) -> DnsRequest {
    let mut request = DnsRequest::from_query(query.clone(), DnsRequestOptions::default());
    request.metadata.authentic_data = true;
    request
}
