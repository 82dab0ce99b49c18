//! Looking up names and opening connections: what the client needs of the network.
//!
//! Two resolvers serve the two kinds of destination. What the operator configured is looked up by the system, as it is
//! everywhere on the machine: with the hosts file, search domains and the names of containers. What a user gave is
//! looked up by `Dns`, at the name server of the `dns_server` setting: such a look-up ends when it is given up, while one
//! of the system keeps a thread for as long as a slow name server likes, and neither the hosts file nor search domains
//! give the user names of the operator's network.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use futures_util::future::{BoxFuture, join};
use mailwright_mail::dns::{Dns, DnsError};
use tokio::net::{TcpStream, lookup_host};

use super::error::Failure;

/// Finds the addresses of a host.
pub(super) trait Resolve: Send + Sync {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, Result<Vec<IpAddr>, Failure>>;
}

/// Opens connections.
pub(super) trait Dial: Send + Sync {
    fn dial(&self, address: SocketAddr) -> BoxFuture<'_, io::Result<TcpStream>>;
}

/// The resolver of the system.
pub(super) struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, Result<Vec<IpAddr>, Failure>> {
        Box::pin(async move {
            let found = lookup_host((host, 0)).await.map_err(|error| Failure::Lookup(error.to_string()))?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

/// The resolver of the service.
pub(super) struct OwnResolver(pub(super) Dns);

impl Resolve for OwnResolver {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, Result<Vec<IpAddr>, Failure>> {
        Box::pin(async move {
            let name = host.trim_end_matches('.');
            if name == "localhost" || name.ends_with(".localhost") {
                // not a matter of name servers (RFC 6761 section 6.3)
                return Ok(vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]);
            }
            let (v4, v6) = join(self.0.a(name), self.0.aaaa(name)).await;
            // IPv4 first: many machines have no way to the networks of IPv6
            let found: Vec<IpAddr> = v4
                .iter()
                .flatten()
                .map(|v4| IpAddr::V4(*v4))
                .chain(v6.iter().flatten().map(|v6| IpAddr::V6(*v6)))
                .collect();
            match (found.is_empty(), v4.err(), v6.err()) {
                (false, ..) => Ok(found),
                (true, Some(DnsError::Unavailable(why)), _) | (true, _, Some(DnsError::Unavailable(why))) => {
                    Err(Failure::Lookup(why))
                }
                (true, ..) => Err(Failure::NoSuchHost),
            }
        })
    }
}

/// Connects by TCP.
pub(super) struct Tcp;

impl Dial for Tcp {
    fn dial(&self, address: SocketAddr) -> BoxFuture<'_, io::Result<TcpStream>> {
        Box::pin(TcpStream::connect(address))
    }
}
