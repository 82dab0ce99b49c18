//! Names of users' addresses, looked up at a name server.

use std::net::IpAddr;

use mailwright_mail::dns::Dns;
use tokio::net::UdpSocket;
use tokio::task::JoinSet;

use crate::http_client::error::Failure;
use crate::http_client::network::{OwnResolver, Resolve};

const A: u16 = 1;
const AAAA: u16 = 28;

/// What a name server answers, by the first label of the name: `four` has an address of IPv4, and so on; the one that
/// fails (SERVFAIL) fails for addresses of IPv6 where it has others.
fn reply(query: &[u8]) -> Vec<u8> {
    let length = usize::from(query[12]);
    let name = String::from_utf8_lossy(&query[13..13 + length]).to_lowercase();
    let end = 12 + query[12..].iter().position(|byte| *byte == 0).unwrap() + 5;
    let kind = u16::from_be_bytes([query[end - 4], query[end - 3]]);
    let record: &[u8] = match (name.as_str(), kind) {
        ("four" | "both" | "half", A) => &[0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 93, 184, 216, 34],
        ("six" | "both", AAAA) => {
            &[0xc0, 12, 0, 28, 0, 1, 0, 0, 0, 0, 0, 16, 0x26, 6, 0x47, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]
        }
        _ => &[],
    };
    let fails = name == "fails" || (name == "half" && kind == AAAA);
    let flags = [0x81, if fails { 0x82 } else { 0x80 }];
    let counts = [0, 1, 0, u8::from(!record.is_empty()), 0, 0, 0, 0];
    [&query[..2], &flags, &counts, &query[12..end], record].concat()
}

#[tokio::test]
async fn both_kinds_of_addresses_are_asked_for() {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let resolver = OwnResolver(Dns::with_server(socket.local_addr().unwrap()));
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        let mut buffer = [0; 1024];
        loop {
            let (length, from) = socket.recv_from(&mut buffer).await.unwrap();
            socket.send_to(&reply(&buffer[..length]), from).await.unwrap();
        }
    });
    let (v4, v6): (IpAddr, IpAddr) = ("93.184.216.34".parse().unwrap(), "2606:4700::1".parse().unwrap());
    for (host, found) in [
        ("four.example", vec![v4]),
        ("six.example", vec![v6]),
        ("both.example.", vec![v4, v6]),
        ("half.example", vec![v4]),
        ("localhost", vec!["127.0.0.1".parse().unwrap(), "::1".parse().unwrap()]),
        ("any.localhost.", vec!["127.0.0.1".parse().unwrap(), "::1".parse().unwrap()]),
    ] {
        assert_eq!(resolver.resolve(host).await, Ok(found), "{host}");
    }
    assert_eq!(resolver.resolve("none.example").await, Err(Failure::NoSuchHost));
    let failure = resolver.resolve("fails.example").await.unwrap_err();
    assert!(matches!(failure, Failure::Lookup(_)), "{failure:?}");
}
