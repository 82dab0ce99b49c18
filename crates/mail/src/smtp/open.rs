//! Opens a connection that takes messages.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use mailwright_tls::{Dane, Verdict, Verify};
use rustls::pki_types::ServerName;
use tokio::net::{TcpSocket, TcpStream, lookup_host};
use tokio::time::{Instant, timeout};
use tokio_rustls::TlsConnector;

use super::auth::{self, Mechanisms};
use super::config::{RelayConfig, Security};
use super::opening::{Ends, Opening, TlsFailure};
use super::reply::{RawReply, Reply};
use super::session::{Capabilities, Connection};
use super::wire::{Stream, Wire, WireError};

/// With several addresses to try, the longest time for one of them.
const PER_ADDRESS: Duration = Duration::from_secs(10);

/// The step at which opening a connection failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OpenStage {
    /// Resolving the name and connecting.
    Connect,
    /// STARTTLS or the handshake; where TLS is opportunistic, also a connection that breaks at the first EHLO after it.
    Tls,
    /// The server's greeting.
    Greeting,
    /// EHLO or HELO.
    Hello,
    /// AUTH.
    Auth,
}

impl fmt::Display for OpenStage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connect => "connecting",
            Self::Tls => "TLS",
            Self::Greeting => "greeting",
            Self::Hello => "EHLO",
            Self::Auth => "authentication",
        })
    }
}

/// Why there is no connection. Nothing was sent, so every message waiting for it is untouched.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{stage} failed: {error}")]
pub struct OpenError {
    /// The step that failed.
    pub stage: OpenStage,
    /// Reply of the server, if it was the reason.
    pub reply: Option<Reply>,
    /// Description of the error, without credentials.
    pub error: String,
    /// Another try cannot succeed before somebody changes the server or the configuration: the server answered 5yz, or
    /// lacks TLS or an AUTH mechanism that is needed.
    pub permanent: bool,
    /// Why there is no TLS, where that is what failed.
    pub tls: Option<TlsFailure>,
    /// The addresses at the ends of the connection, where there was one.
    pub ends: Option<Ends>,
}

impl OpenError {
    fn broken(stage: OpenStage, error: impl fmt::Display) -> Self {
        let tls = (stage == OpenStage::Tls).then_some(TlsFailure::Other);
        Self { stage, reply: None, error: error.to_string(), permanent: false, tls, ends: None }
    }

    fn lacking(stage: OpenStage, error: &str) -> Self {
        let tls = (stage == OpenStage::Tls).then_some(TlsFailure::NotOffered);
        Self { stage, reply: None, error: error.to_owned(), permanent: true, tls, ends: None }
    }

    fn refused(stage: OpenStage, reply: Reply) -> Self {
        Self {
            stage,
            error: reply.to_string().trim_end().to_owned(),
            permanent: reply.is_permanent(),
            reply: Some(reply),
            tls: (stage == OpenStage::Tls).then_some(TlsFailure::NotOffered),
            ends: None,
        }
    }
}

impl Connection {
    /// Connects, greets, turns on TLS and logs in, as `config` says. The connection can then take an envelope.
    ///
    /// All addresses of the host are tried in order. `TCP_NODELAY` is set: without it a message waits 40 ms for
    /// Nagle's algorithm and the other end's delayed acknowledgement.
    pub async fn open(config: &RelayConfig) -> Result<Self, OpenError> {
        Self::open_by(config, Way::Named).await
    }

    /// The same where somebody else has looked up the addresses of the host: they are tried in order, from the address
    /// of ours that is given. Without one the system chooses.
    pub async fn open_to(
        config: &RelayConfig,
        addresses: &[IpAddr],
        from: Option<IpAddr>,
    ) -> Result<Self, OpenError> {
        Self::open_by(config, Way::Given { addresses, from }).await
    }

    /// The addresses at its ends, where they are known.
    pub fn ends(&self) -> Option<Ends> {
        self.opening.ends
    }

    /// Why it is not encrypted, with a description; `None` where it is.
    pub fn unencrypted(&self) -> Option<(TlsFailure, &str)> {
        if self.tls() {
            return None;
        }
        let fallback = self.opening.fallback.as_ref().map(|(failure, error)| (*failure, error.as_str()));
        Some(fallback.unwrap_or((TlsFailure::NotOffered, "the server does not offer STARTTLS")))
    }

    async fn open_by(config: &RelayConfig, way: Way<'_>) -> Result<Self, OpenError> {
        match dial(config, way, true).await {
            // Opportunistic means that broken TLS is no worse than none.
            Err(error) if error.stage == OpenStage::Tls && may_fall_back(config) => {
                tracing::debug!(
                    host = config.host,
                    error = error.error,
                    "opportunistic TLS failed, continuing without TLS"
                );
                let mut connection = dial(config, way, false).await?;
                connection.opening.fallback = error.tls.map(|failure| (failure, error.error));
                Ok(connection)
            }
            result => result,
        }
    }
}

fn may_fall_back(config: &RelayConfig) -> bool {
    config.security == Security::Opportunistic && config.credentials.is_none()
}

/// Which addresses are tried.
#[derive(Debug, Clone, Copy)]
enum Way<'a> {
    /// Those that the system finds for the host.
    Named,
    /// These, from an address of ours.
    Given { addresses: &'a [IpAddr], from: Option<IpAddr> },
}

async fn dial(config: &RelayConfig, way: Way<'_>, with_tls: bool) -> Result<Connection, OpenError> {
    let tcp = connect(config, way).await?;
    let ends = Ends::of(&tcp);
    match greet(config, tcp, with_tls).await {
        Ok(mut connection) => {
            connection.opening = Opening { ends, fallback: None };
            Ok(connection)
        }
        Err(error) => Err(OpenError { ends, ..error }),
    }
}

/// What is said on a connection until it can take an envelope.
async fn greet(config: &RelayConfig, tcp: TcpStream, with_tls: bool) -> Result<Connection, OpenError> {
    let limit = config.timeouts.opening;
    let helo = match config.helo_name.as_str() {
        "" => tcp.local_addr().map_or_else(|_| "localhost".to_owned(), address_literal),
        // A name from elsewhere than `from_url` must not become a command of its own.
        name => name.chars().filter(char::is_ascii_graphic).collect(),
    };
    let mut wire = Wire::new(match config.security {
        Security::ImplicitTls => handshake(tcp, config).await?,
        Security::Opportunistic | Security::StartTls | Security::None => Stream::Plain(tcp),
    });
    greeting(&mut wire, limit).await?;
    let (mut capabilities, mut offer) = hello(&mut wire, &helo, limit).await?;
    if !wire.is_tls() && with_tls {
        let starts = match config.security {
            Security::StartTls if !offer.starttls => {
                return Err(OpenError::lacking(OpenStage::Tls, "the server does not offer STARTTLS"));
            }
            Security::StartTls => true,
            Security::Opportunistic => offer.starttls,
            Security::ImplicitTls | Security::None => false,
        };
        if starts {
            wire = start_tls(wire, config).await?;
            // What was said before does not count (RFC 3207 section 4.2).
            (capabilities, offer) = if may_fall_back(config) {
                hello(&mut wire, &helo, config.timeouts.connect).await.map_err(blame_tls)?
            } else {
                hello(&mut wire, &helo, limit).await?
            };
        }
    }
    log_in(&mut wire, config, offer.mechanisms).await?;
    capabilities.chunking &= config.chunking;
    Ok(Connection::new(wire, capabilities, config.timeouts))
}

/// A server that does not like the handshake may say so only after its end: in TLS 1.3 it judges the client when the
/// client believes to be done. The first thing said under TLS then meets a broken connection.
fn blame_tls(error: OpenError) -> OpenError {
    let is_broken = error.stage == OpenStage::Hello && error.reply.is_none();
    let tls = Some(TlsFailure::Other);
    if is_broken { OpenError { stage: OpenStage::Tls, tls, ..error } } else { error }
}

async fn connect(config: &RelayConfig, way: Way<'_>) -> Result<TcpStream, OpenError> {
    let broken = |error: &dyn fmt::Display| OpenError::broken(OpenStage::Connect, error);
    let deadline = Instant::now() + config.timeouts.connect;
    let (addresses, from): (Vec<SocketAddr>, _) = match way {
        Way::Named => {
            let found = timeout(config.timeouts.connect, lookup_host((config.host.as_str(), config.port)));
            let found = found.await.map_err(|_| broken(&"the name server did not answer in time"))?;
            (found.map_err(|error| broken(&error))?.collect(), None)
        }
        Way::Given { addresses, from } => {
            // an address of ours reaches those of its own kind
            let may = |to: &&IpAddr| from.is_none_or(|from| from.is_ipv4() == to.is_ipv4());
            (addresses.iter().filter(may).map(|to| SocketAddr::new(*to, config.port)).collect(), from)
        }
    };
    let mut failure = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
    for (nth, address) in addresses.iter().enumerate() {
        let left = deadline.saturating_duration_since(Instant::now());
        let is_last = nth + 1 == addresses.len();
        match timeout(if is_last { left } else { left.min(PER_ADDRESS) }, reach(*address, from)).await {
            Ok(Ok(stream)) => {
                stream.set_nodelay(true).map_err(|error| broken(&error))?;
                return Ok(stream);
            }
            Ok(Err(error)) => failure = error,
            Err(_) => failure = io::Error::new(io::ErrorKind::TimedOut, "the server did not answer in time"),
        }
    }
    Err(broken(&failure))
}

async fn reach(to: SocketAddr, from: Option<IpAddr>) -> io::Result<TcpStream> {
    let Some(from) = from else { return TcpStream::connect(to).await };
    let socket = if from.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.bind(SocketAddr::new(from, 0))?;
    socket.connect(to).await
}

async fn handshake(tcp: TcpStream, config: &RelayConfig) -> Result<Stream, OpenError> {
    let broken = |error: &dyn fmt::Display| OpenError::broken(OpenStage::Tls, error);
    let verify = if config.accept_invalid_certs || may_fall_back(config) {
        Verify::Nothing
    } else {
        Verify::Certificate
    };
    let dane = config.dane.as_ref();
    let client = dane.map_or_else(|| config.tls.get(verify), Dane::config);
    let client = client.map_err(|error| broken(&error))?;
    let name = dane.map_or(config.host.as_str(), Dane::server_name);
    // MX records name hosts with the root's dot, certificates without.
    let name = ServerName::try_from(name.trim_end_matches('.').to_owned()).map_err(|error| broken(&error))?;
    let connecting = TlsConnector::from(Arc::clone(&client)).connect(name, tcp);
    let stream = timeout(config.timeouts.connect, connecting)
        .await
        .map_err(|_| broken(&"the handshake did not end in time"))?
        .map_err(|error| {
            let shown = match dane.and_then(Dane::verdict) {
                Some(Verdict::Refused(why)) => broken(&why),
                _ => broken(&error),
            };
            OpenError { tls: Some(TlsFailure::of(&error)), ..shown }
        })?;
    Ok(Stream::Tls(Box::new(stream)))
}

async fn greeting(wire: &mut Wire, limit: Duration) -> Result<(), OpenError> {
    let reply = wire.reply(limit).await.map_err(|error| OpenError::broken(OpenStage::Greeting, error))?;
    if reply.code == 220 { Ok(()) } else { Err(OpenError::refused(OpenStage::Greeting, reply.into())) }
}

async fn start_tls(mut wire: Wire, config: &RelayConfig) -> Result<Wire, OpenError> {
    let broken = |error: WireError| OpenError::broken(OpenStage::Tls, error);
    let reply = command(&mut wire, "STARTTLS", config.timeouts.connect).await.map_err(broken)?;
    if reply.code != 220 {
        return Err(OpenError::refused(OpenStage::Tls, reply.into()));
    }
    let tcp = wire.into_plain().map_err(broken)?;
    Ok(Wire::new(handshake(tcp, config).await?))
}

async fn log_in(wire: &mut Wire, config: &RelayConfig, mechanisms: Mechanisms) -> Result<(), OpenError> {
    let Some(credentials) = &config.credentials else {
        return Ok(());
    };
    if !wire.is_tls() && config.security != Security::None {
        let text =
            "the server does not offer TLS, and credentials are not sent in plain text (tls=none allows it)";
        return Err(OpenError::lacking(OpenStage::Auth, text));
    }
    if !mechanisms.any() {
        return Err(OpenError::lacking(
            OpenStage::Auth,
            "the server offers neither AUTH PLAIN nor AUTH LOGIN",
        ));
    }
    let reply = auth::authenticate(wire, mechanisms, credentials, config.timeouts.command)
        .await
        .map_err(|error| OpenError::broken(OpenStage::Auth, error))?;
    // some servers repeat the line they refuse, and the password is in it
    if reply.is_positive() { Ok(()) } else { Err(OpenError::refused(OpenStage::Auth, reply.without_text())) }
}

/// What the server offers that only matters while the connection is opened.
#[derive(Default)]
struct Offer {
    starttls: bool,
    mechanisms: Mechanisms,
}

/// EHLO, or HELO for a server that does not know it (RFC 5321 section 3.2).
async fn hello(wire: &mut Wire, name: &str, limit: Duration) -> Result<(Capabilities, Offer), OpenError> {
    let broken = |error: WireError| OpenError::broken(OpenStage::Hello, error);
    let reply = command(wire, &format!("EHLO {name}"), limit).await.map_err(broken)?;
    if reply.code == 250 {
        return Ok(capabilities(&reply));
    }
    let reply = Reply::from(reply);
    if !reply.is_permanent() {
        return Err(OpenError::refused(OpenStage::Hello, reply));
    }
    let reply = command(wire, &format!("HELO {name}"), limit).await.map_err(broken)?;
    if reply.code == 250 {
        Ok((Capabilities::default(), Offer::default()))
    } else {
        Err(OpenError::refused(OpenStage::Hello, reply.into()))
    }
}

fn capabilities(reply: &RawReply) -> (Capabilities, Offer) {
    let (mut capabilities, mut offer) = (Capabilities::default(), Offer::default());
    for line in reply.lines.iter().skip(1) {
        // `AUTH=` is how it was written before there was a standard; such servers are still around.
        let (keyword, parameters) = line.split_once([' ', '=']).unwrap_or((line, ""));
        match keyword.trim().to_ascii_uppercase().as_str() {
            "PIPELINING" => capabilities.pipelining = true,
            "CHUNKING" => capabilities.chunking = true,
            "SIZE" => {
                capabilities.size = true;
                // 0 is no limit
                capabilities.max_size = parameters.trim().parse().ok().filter(|bytes| *bytes > 0);
            }
            "STARTTLS" => offer.starttls = true,
            "AUTH" => {
                let more = Mechanisms::parse(parameters);
                offer.mechanisms.plain |= more.plain;
                offer.mechanisms.login |= more.login;
            }
            _ => {}
        }
    }
    (capabilities, offer)
}

async fn command(wire: &mut Wire, line: &str, limit: Duration) -> Result<RawReply, WireError> {
    wire.write(format!("{line}\r\n").as_bytes(), limit).await?;
    wire.reply(limit).await
}

/// RFC 5321 section 4.1.3.
fn address_literal(address: SocketAddr) -> String {
    match address {
        SocketAddr::V4(address) => format!("[{}]", address.ip()),
        SocketAddr::V6(address) => format!("[IPv6:{}]", address.ip()),
    }
}
