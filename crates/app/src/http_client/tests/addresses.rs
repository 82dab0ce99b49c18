//! Where requests do and do not go.

use std::sync::Arc;

use mailwright_tls::ClientTls;

use super::server::{Names, Net, Reply, Server, ok};
use super::{OTHER, PUBLIC, SOON, client, client_with, configured, get, net_to};
use crate::http_client::address_filter::Filter;
use crate::http_client::{Error, Failure, Limits, Phase, Refusal, Request};

/// A server that closes each connection after an answer.
async fn forgetful() -> Server {
    Server::start(|_| {
        Reply::Text("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi".into())
    })
    .await
}

#[tokio::test]
async fn a_user_reaches_no_private_address_by_any_name() {
    let server = Server::start(|_| ok("")).await;
    let net = net_to(&server);
    net.name("inside.example", &["10.0.0.1", "::1"]);
    net.name("metadata.example", &["169.254.169.254"]);
    for address in ["10.0.0.1", "127.0.0.1", "::1", "169.254.169.254", "::ffff:7f00:1"] {
        net.route(address, server.address);
    }
    let client = client(&net, Limits::GIVEN);
    for url in [
        "http://inside.example/",
        "http://metadata.example/latest/meta-data/",
        "http://127.0.0.1/",
        "http://0x7f.1/",
        "http://2130706433/",
        "http://0/",
        "https://10.0.0.1/",
        "http://[::1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[64:ff9b::a9fe:a9fe]/",
        "http://169.254.169.254/",
    ] {
        let refused = client.send(get(url)).await.unwrap_err();
        assert!(matches!(refused, Error::Refused(Refusal::Host(_))), "{url}: {refused:?}");
        assert!(refused.was_not_sent());
    }
    assert_eq!(net.dialled(), [""; 0], "nothing was connected to");
}

#[tokio::test]
async fn the_operator_reaches_every_address() {
    let server = Server::start(|_| ok("")).await;
    let net = Arc::<Net>::default();
    net.name("provider.internal", &["10.0.0.1"]);
    net.route("10.0.0.1", server.address);
    net.route("::1", server.address);
    let client = client(&net, Limits::CONFIGURED);
    for url in ["http://provider.internal/", "http://10.0.0.1/", "http://[::1]:6000/"] {
        client.send(Request::get(configured(url))).await.unwrap();
    }
    assert_eq!(net.dialled(), ["10.0.0.1:80", "10.0.0.1:80", "[::1]:6000"]);
}

#[tokio::test]
async fn private_networks_can_be_allowed_but_not_metadata() {
    let server = Server::start(|_| ok("")).await;
    let net = Arc::<Net>::default();
    net.route("10.0.0.1", server.address);
    let client = client_with(&net, Limits::GIVEN, Filter::PublicAndPrivate, &ClientTls::default());
    client.send(get("http://10.0.0.1/")).await.unwrap();
    let refused = client.send(get("http://169.254.169.254/")).await.unwrap_err();
    assert_eq!(refused, Error::Refused(Refusal::Host("link-local")));
    assert_eq!(net.dialled(), ["10.0.0.1:80"]);
}

#[tokio::test]
async fn the_address_that_was_checked_is_connected_to() {
    let server = forgetful().await;
    let net = Arc::<Net>::default();
    // the private ones of a name are passed over
    net.name("mixed.example", &["127.0.0.1", OTHER, "10.0.0.1"]);
    net.route(OTHER, server.address);
    net.route("127.0.0.1", server.address);
    let client = client(&net, Limits::GIVEN);
    client.send(get("http://mixed.example:8080/")).await.unwrap();
    assert_eq!(net.dialled(), [format!("{OTHER}:8080")]);
}

#[tokio::test]
async fn a_name_that_changes_to_a_private_address_is_refused_then() {
    let server = forgetful().await;
    let net = Arc::<Net>::default();
    net.name("rebound.example", &[PUBLIC]);
    net.name("rebound.example", &["127.0.0.1"]);
    net.route(PUBLIC, server.address);
    net.route("127.0.0.1", server.address);
    let client = client(&net, Limits::GIVEN);
    client.send(get("http://rebound.example/")).await.unwrap();
    server.has_closed(1).await;
    let refused = client.send(get("http://rebound.example/")).await.unwrap_err();
    assert_eq!(refused, Error::Refused(Refusal::Host("loopback")));
    assert_eq!(net.dialled(), [format!("{PUBLIC}:80")]);
}

#[tokio::test]
async fn the_next_address_is_tried_when_one_does_not_answer() {
    let server = Server::start(|_| ok("")).await;
    let net = Arc::<Net>::default();
    net.name("two.example", &[OTHER, PUBLIC]);
    net.route(PUBLIC, server.address);
    let limits = Limits { connecting_to_each: SOON, ..Limits::GIVEN };
    client(&net, limits).send(get("http://two.example/")).await.unwrap();
    assert_eq!(net.dialled(), [format!("{OTHER}:80"), format!("{PUBLIC}:80")]);

    let limits = Limits { addresses: 1, connecting: SOON, ..Limits::GIVEN };
    let error = client(&net, limits).send(get("http://two.example/")).await.unwrap_err();
    let too_late = Failure::Timeout { phase: Phase::Connecting, limit: SOON };
    assert_eq!(error, Error::NotSent(too_late), "no more than one is tried");
}

#[tokio::test]
async fn a_host_that_is_not_there_is_told_apart() {
    let net = Arc::<Net>::default();
    net.then("gone.example", Names::Unknown);
    let client = client(&net, Limits::GIVEN);
    let error = client.send(get("http://gone.example/")).await.unwrap_err();
    assert_eq!(error, Error::NotSent(Failure::NoSuchHost));
}
