//! A DNS server with the records that a test gives it.

mod fault;
mod message;

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
    A, AAAA, CNAME, MX, NO_ERROR, NS, NXDOMAIN, PTR, Query, SERVFAIL, TXT, add_authority, authority, key,
    labels, record, strings,
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
    /// How many seconds an answer may be kept.
    ttl: u32,
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
    // An alias is followed a few times; a loop of aliases ends there.
    for _ in 0..8 {
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
                if query.kind == CNAME {
                    break;
                }
                name.clone_from(target);
            }
            None => break,
        }
    }
    let mut message = query.head(code, u16::try_from(records.len()).unwrap(), false);
    message.extend(records.concat());
    if records.is_empty() && zone.ttl > 0 {
        add_authority(&mut message, &authority(&query.name, zone.ttl));
    }
    Some(message)
}

/// Whether a name exists only because names below it do (an empty non-terminal).
fn has_children(zone: &Zone, name: &str) -> bool {
    let suffix = format!(".{name}");
    zone.names.keys().any(|known| known.ends_with(&suffix))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(name: &str, kind: u16) -> Vec<u8> {
        let mut bytes = vec![7, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        bytes.extend(labels(name));
        bytes.extend(kind.to_be_bytes());
        bytes.extend([0, 1]);
        bytes
    }

    async fn ask(dns: &FakeDns, name: &str, kind: u16) -> Option<Vec<u8>> {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        socket.send_to(&question(name, kind), dns.addr).await.unwrap();
        let mut buffer = vec![0; 4096];
        let answer = tokio::time::timeout(Duration::from_millis(200), socket.recv(&mut buffer)).await;
        answer.ok().map(|length| {
            buffer.truncate(length.unwrap());
            buffer
        })
    }

    /// Response code and number of answers.
    fn summary(answer: &[u8]) -> (u8, u8) {
        assert_eq!(answer[..2], [7, 7], "the id is the question's");
        (answer[3] & 0x0f, answer[7])
    }

    #[tokio::test]
    async fn it_says_what_it_was_told() {
        let dns = FakeDns::start().await;
        dns.set_txt("_dmarc.Example.com", ["v=DMARC1; p=none"]);
        dns.set_mx("example.com", [(10, "mx.example.com")]);
        dns.set_cname("alias.example.com", "_dmarc.example.com");
        dns.set_servfail("broken.example.com");
        dns.set_silent("silent.example.com");

        let answer = ask(&dns, "_DMARC.example.com", TXT).await.unwrap();
        assert_eq!(summary(&answer), (NO_ERROR, 1));
        assert!(answer.ends_with(b"\x10v=DMARC1; p=none"));
        let answer = ask(&dns, "example.com", MX).await.unwrap();
        assert!(answer.ends_with(b"\x00\x0a\x02mx\x07example\x03com\x00"));
        assert_eq!(summary(&ask(&dns, "alias.example.com", TXT).await.unwrap()), (NO_ERROR, 2));
        assert_eq!(summary(&ask(&dns, "example.com", TXT).await.unwrap()), (NO_ERROR, 0));
        assert_eq!(summary(&ask(&dns, "com", TXT).await.unwrap()), (NO_ERROR, 0));
        assert_eq!(summary(&ask(&dns, "other.example.com", TXT).await.unwrap()), (NXDOMAIN, 0));
        assert_eq!(summary(&ask(&dns, "broken.example.com", TXT).await.unwrap()), (SERVFAIL, 0));
        assert_eq!(ask(&dns, "silent.example.com", TXT).await, None);
        assert_eq!(dns.queries_for("silent.example.com"), 1);

        dns.remove("_dmarc.example.com");
        assert_eq!(summary(&ask(&dns, "_dmarc.example.com", TXT).await.unwrap()), (NXDOMAIN, 0));
        dns.set_txt("silent.example.com", ["back"]);
        assert_eq!(summary(&ask(&dns, "silent.example.com", TXT).await.unwrap()), (NO_ERROR, 1));
    }

    #[tokio::test]
    async fn answers_can_be_kept_wrong_and_late() {
        let dns = FakeDns::start().await;
        dns.set_ns("example.com", ["ns1.example.com"]);
        dns.set_aaaa("example.com", [Ipv6Addr::LOCALHOST]);
        assert!(ask(&dns, "example.com", NS).await.unwrap().ends_with(b"\x03ns1\x07example\x03com\x00"));
        dns.set_ttl(600);
        let answer = ask(&dns, "example.com", AAAA).await.unwrap();
        let end = [&[0, 0, 2, 88, 0, 16][..], &[0; 15], &[1]].concat();
        assert!(answer.ends_with(&end), "ten minutes, and the address");
        let answer = ask(&dns, "example.com", MX).await.unwrap();
        assert_eq!((summary(&answer), answer[9]), ((NO_ERROR, 0), 1), "a SOA record");
        assert!(answer.ends_with(&600_u32.to_be_bytes()));

        dns.set_fault(Some(Fault::Referral));
        let answer = ask(&dns, "example.com", NS).await.unwrap();
        assert_eq!((summary(&answer), answer[9]), ((NO_ERROR, 0), 1), "other name servers");
        dns.set_fault(Some(Fault::WrongId));
        assert_ne!(ask(&dns, "example.com", NS).await.unwrap()[..2], [7, 7]);
        dns.set_fault(None);
        dns.set_delay(Duration::from_secs(5));
        assert_eq!(ask(&dns, "example.com", NS).await, None);
        assert_eq!(dns.queries(), 6);
    }

    #[tokio::test]
    async fn a_long_answer_comes_over_tcp() {
        let dns = FakeDns::start().await;
        dns.set_txt("key.example.com", ["k".repeat(700)]);
        let answer = ask(&dns, "key.example.com", TXT).await.unwrap();
        assert_eq!((answer[2] & 2, summary(&answer)), (2, (NO_ERROR, 0)), "truncated");

        let mut stream = TcpStream::connect(dns.addr).await.unwrap();
        let question = question("key.example.com", TXT);
        stream.write_u16(u16::try_from(question.len()).unwrap()).await.unwrap();
        stream.write_all(&question).await.unwrap();
        let mut answer = vec![0; usize::from(stream.read_u16().await.unwrap())];
        stream.read_exact(&mut answer).await.unwrap();
        assert_eq!(summary(&answer), (NO_ERROR, 1));
        let data = [&[255][..], &[b'k'; 255], &[255], &[b'k'; 255], &[190], &[b'k'; 190]].concat();
        assert!(answer.ends_with(&data));
    }
}
