//! A DNS server with the records that a test gives it.

mod fault;
mod message;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::task::{JoinHandle, JoinSet};

pub use fault::Fault;

use crate::net::free_port;
use message::{
    A, AAAA, CNAME, MX, NO_ERROR, NS, NXDOMAIN, PTR, Query, SERVFAIL, SOA, TLSA, TXT, add_authority,
    authority, key, labels, prove, record, strings,
};

/// What the server says about a name.
#[derive(Clone, Debug, Default)]
struct Name {
    servfail: bool,
    silent: bool,
    /// Type and data of each record.
    records: Vec<(u16, Vec<u8>)>,
    cname: Option<String>,
}

/// The names that are known, in lower case and without the final dot.
#[derive(Default)]
struct Zone {
    names: HashMap<String, Name>,
    all_silent: bool,
    fault: Option<Fault>,
    /// How long each answer over UDP is held back.
    delay: Duration,
    /// Whether answers have the first alias of a name alone.
    cuts_aliases: bool,
    /// Whether no answer has a SOA record beside it.
    without_soa: bool,
    /// How many seconds an answer may be kept.
    ttl: u32,
    /// Zones that are signed, and zones below them that are not.
    signed: HashMap<String, bool>,
    /// The questions so far: name and type.
    queries: Vec<(String, u16)>,
}

/// A running server on 127.0.0.1, UDP and TCP. A name it was not told about does not exist (NXDOMAIN).
pub struct FakeDns {
    /// Where it listens, for `MAILWRIGHT_DNS_SERVER`.
    pub addr: SocketAddr,
    zone: Arc<Mutex<Zone>>,
    tasks: [JoinHandle<()>; 2],
}

impl fmt::Debug for FakeDns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FakeDns").field("addr", &self.addr).finish_non_exhaustive()
    }
}

impl FakeDns {
    /// Starts a server that knows no name.
    pub async fn start() -> Self {
        let (tcp, udp) = loop {
            let addr = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()));
            if let (Ok(tcp), Ok(udp)) = (TcpListener::bind(addr).await, UdpSocket::bind(addr).await) {
                break (tcp, udp);
            }
        };
        let addr = udp.local_addr().unwrap();
        let zone = Arc::new(Mutex::new(Zone::default()));
        let udp_task = tokio::spawn(serve_udp(udp, Arc::clone(&zone)));
        let tcp_task = tokio::spawn(serve_tcp(tcp, Arc::clone(&zone)));
        Self { addr, zone, tasks: [udp_task, tcp_task] }
    }

    /// Sets the TXT records of a name; a value longer than 255 bytes becomes one record of several strings.
    pub fn set_txt<V: AsRef<str>>(&self, name: &str, values: impl IntoIterator<Item = V>) {
        self.set(name, TXT, values.into_iter().map(|value| strings(value.as_ref())));
    }

    /// Sets the MX records of a name: preference and host.
    pub fn set_mx<H: AsRef<str>>(&self, name: &str, hosts: impl IntoIterator<Item = (u16, H)>) {
        let data = hosts.into_iter().map(|(preference, host)| {
            let mut data = preference.to_be_bytes().to_vec();
            data.extend(labels(host.as_ref()));
            data
        });
        self.set(name, MX, data);
    }

    /// Sets the addresses of a name.
    pub fn set_a(&self, name: &str, addresses: impl IntoIterator<Item = Ipv4Addr>) {
        self.set(name, A, addresses.into_iter().map(|address| address.octets().to_vec()));
    }

    /// Sets the IPv6 addresses of a name.
    pub fn set_aaaa(&self, name: &str, addresses: impl IntoIterator<Item = Ipv6Addr>) {
        self.set(name, AAAA, addresses.into_iter().map(|address| address.octets().to_vec()));
    }

    /// Sets the name servers of a zone.
    pub fn set_ns<H: AsRef<str>>(&self, name: &str, hosts: impl IntoIterator<Item = H>) {
        self.set(name, NS, hosts.into_iter().map(|host| labels(host.as_ref())));
    }

    /// Sets the name that an address says it has.
    pub fn set_ptr(&self, address: Ipv4Addr, name: &str) {
        let [a, b, c, d] = address.octets();
        self.set(&format!("{d}.{c}.{b}.{a}.in-addr.arpa"), PTR, std::iter::once(labels(name)));
    }

    /// Sets the TLSA records of a name: usage, selector, matching type and data of each.
    pub fn set_tlsa(&self, name: &str, records: impl IntoIterator<Item = (u8, u8, u8, Vec<u8>)>) {
        let data = records.into_iter().map(|(usage, selector, matching, data)| {
            let mut bytes = vec![usage, selector, matching];
            bytes.extend(data);
            bytes
        });
        self.set(name, TLSA, data);
    }

    /// Says of answers about a name and all names below it that DNSSEC proves them, to whoever asks for that (the bit AD).
    pub fn set_secure(&self, zone: &str) {
        self.zone.lock().unwrap().signed.insert(key(zone), true);
    }

    /// Does not say so of a name and of those below it, although a zone above is secure.
    pub fn set_insecure(&self, zone: &str) {
        self.zone.lock().unwrap().signed.insert(key(zone), false);
    }

    /// Lets answers be kept for so many seconds, those without records as well. At first nothing may be kept: a test
    /// changes a record and looks again.
    pub fn set_ttl(&self, seconds: u32) {
        self.zone.lock().unwrap().ttl = seconds;
    }

    /// Answers all questions wrongly, or rightly again.
    pub fn set_fault(&self, fault: Option<Fault>) {
        self.zone.lock().unwrap().fault = fault;
    }

    /// Holds back each answer over UDP for so long.
    pub fn set_delay(&self, delay: Duration) {
        self.zone.lock().unwrap().delay = delay;
    }

    /// How many questions were put, about whatever.
    pub fn queries(&self) -> usize {
        self.zone.lock().unwrap().queries.len()
    }

    /// Makes a name an alias of another.
    pub fn set_cname(&self, name: &str, target: &str) {
        self.change(name, |entry| entry.cname = Some(key(target)));
    }

    /// Answers with the first alias of a name alone, and leaves it to whoever asks to follow it, or follows them again.
    pub fn set_cuts_aliases(&self, cuts: bool) {
        self.zone.lock().unwrap().cuts_aliases = cuts;
    }

    /// Leaves out the SOA record by which it is certain that something is not there, or has it again.
    pub fn set_without_soa(&self, without: bool) {
        self.zone.lock().unwrap().without_soa = without;
    }

    /// Answers questions about a name with SERVFAIL until it is set or removed.
    pub fn set_servfail(&self, name: &str) {
        self.change(name, |entry| entry.servfail = true);
    }

    /// Does not answer questions about a name until it is set or removed.
    pub fn set_silent(&self, name: &str) {
        self.change(name, |entry| entry.silent = true);
    }

    /// Answers no question at all, or answers again.
    pub fn set_all_silent(&self, silent: bool) {
        self.zone.lock().unwrap().all_silent = silent;
    }

    /// Forgets a name.
    pub fn remove(&self, name: &str) {
        self.zone.lock().unwrap().names.remove(&key(name));
    }

    /// How often a name was asked about, whatever the type.
    pub fn queries_for(&self, name: &str) -> usize {
        let name = key(name);
        self.zone.lock().unwrap().queries.iter().filter(|(asked, _)| *asked == name).count()
    }

    fn set(&self, name: &str, kind: u16, data: impl Iterator<Item = Vec<u8>>) {
        self.change(name, |entry| {
            entry.servfail = false;
            entry.silent = false;
            entry.records.retain(|(other, _)| *other != kind);
            entry.records.extend(data.map(|data| (kind, data)));
        });
    }

    fn change(&self, name: &str, change: impl FnOnce(&mut Name)) {
        change(self.zone.lock().unwrap().names.entry(key(name)).or_default());
    }
}

impl Drop for FakeDns {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

async fn serve_udp(socket: UdpSocket, zone: Arc<Mutex<Zone>>) {
    let socket = Arc::new(socket);
    let mut buffer = [0; 4096];
    let mut held_back = JoinSet::new();
    loop {
        let Ok((length, from)) = socket.recv_from(&mut buffer).await else { continue };
        let Some(query) = Query::parse(&buffer[..length]) else { continue };
        let Some(mut answer) = answer(&zone, &query) else { continue };
        if answer.len() > query.udp_size {
            // TC: the client asks again over TCP.
            answer = query.head(NO_ERROR, 0, true);
        }
        let delay = zone.lock().unwrap().delay;
        if delay.is_zero() {
            let _ = socket.send_to(&answer, from).await;
            continue;
        }
        let socket = Arc::clone(&socket);
        held_back.spawn(async move {
            tokio::time::sleep(delay).await;
            let _ = socket.send_to(&answer, from).await;
        });
        while held_back.try_join_next().is_some() {}
    }
}

async fn serve_tcp(listener: TcpListener, zone: Arc<Mutex<Zone>>) {
    let mut connections = JoinSet::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        let zone = Arc::clone(&zone);
        connections.spawn(async move {
            let _ = serve_connection(stream, &zone).await;
        });
        while connections.try_join_next().is_some() {}
    }
}

async fn serve_connection(mut stream: TcpStream, zone: &Mutex<Zone>) -> io::Result<()> {
    loop {
        let mut buffer = vec![0; usize::from(stream.read_u16().await?)];
        stream.read_exact(&mut buffer).await?;
        if let Some(answer) = Query::parse(&buffer).and_then(|query| answer(zone, &query)) {
            stream.write_u16(u16::try_from(answer.len()).unwrap()).await?;
            stream.write_all(&answer).await?;
        }
    }
}

/// The answer to a question; `None` means silence.
fn answer(zone: &Mutex<Zone>, query: &Query) -> Option<Vec<u8>> {
    let mut zone = zone.lock().unwrap();
    zone.queries.push((query.name.clone(), query.kind));
    if zone.all_silent {
        return None;
    }
    if let Some(fault) = zone.fault {
        return Some(fault.answer(query));
    }
    let mut records = Vec::new();
    let mut name = query.name.clone();
    let mut code = NO_ERROR;
    let mut is_proven = query.asks_for_proof;
    // An alias is followed a few times; a loop of aliases ends there.
    for _ in 0..8 {
        is_proven &= is_signed(&zone, &name);
        let Some(entry) = zone.names.get(&name) else {
            code = if has_children(&zone, &name) { NO_ERROR } else { NXDOMAIN };
            break;
        };
        if entry.silent {
            return None;
        }
        if entry.servfail {
            return Some(query.head(SERVFAIL, 0, false));
        }
        let matching = entry.records.iter().filter(|(kind, _)| *kind == query.kind);
        records.extend(matching.map(|(kind, data)| record(&name, *kind, data, zone.ttl)));
        match &entry.cname {
            Some(target) => {
                records.push(record(&name, CNAME, &labels(target), zone.ttl));
                if query.kind == CNAME || zone.cuts_aliases {
                    break;
                }
                name.clone_from(target);
            }
            None => break,
        }
    }
    let mut message = query.head(code, u16::try_from(records.len()).unwrap(), false);
    message.extend(records.concat());
    if zone.without_soa {
        // nothing says for how long it may be kept
    } else if records.is_empty() && zone.ttl > 0 {
        add_authority(&mut message, &authority(&query.name, zone.ttl));
    } else if has_no_more(&zone, &name, query) {
        add_authority(&mut message, &authority(&name, zone.ttl));
    }
    if is_proven {
        prove(&mut message);
    }
    Some(message)
}

/// Whether aliases led to a name that has no records of the kind that is asked for. Zones are not asked about: each
/// name would seem to be one.
fn has_no_more(zone: &Zone, name: &str, query: &Query) -> bool {
    let has_records = |entry: &Name| entry.records.iter().any(|(kind, _)| *kind == query.kind);
    let ends = |entry: &Name| entry.cname.is_none() && !has_records(entry);
    query.kind != SOA && *name != query.name && zone.names.get(name).is_none_or(ends)
}

/// Whether a name is in a zone that is signed: the nearest one above it counts.
fn is_signed(zone: &Zone, name: &str) -> bool {
    let mut name = name;
    loop {
        if let Some(signed) = zone.signed.get(name) {
            return *signed;
        }
        let Some((_, above)) = name.split_once('.') else { return false };
        name = above;
    }
}

/// Whether a name exists only because names below it do (an empty non-terminal).
fn has_children(zone: &Zone, name: &str) -> bool {
    let suffix = format!(".{name}");
    zone.names.keys().any(|known| known.ends_with(&suffix))
}
