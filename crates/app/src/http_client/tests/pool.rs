//! Which connections are used again, and how many requests there are at once.

use std::sync::Arc;

use super::server::{Net, Reply, Server, ok};
use super::{OTHER, PUBLIC, SOON, client, configured, get, given, net_to};
use crate::http_client::{Error, Failure, Limits, Phase, Request};

#[tokio::test]
async fn a_connection_is_used_again() {
    let server = Server::start(|_| ok("hi")).await;
    let net = net_to(&server);
    let client = client(&net, Limits::GIVEN);
    for _ in 0..3 {
        client.send(get("http://hook.example/")).await.unwrap();
    }
    assert_eq!((server.opened(), server.seen().len()), (1, 3));
    // another port is another server, and another name may be
    client.send(get("http://hook.example:8080/")).await.unwrap();
    assert_eq!(server.opened(), 2);
}

#[tokio::test]
async fn what_changes_nothing_is_sent_again_over_a_connection_that_lives() {
    let server =
        Server::start(|seen| if seen.line().ends_with("again http/1.1") { Reply::Closing } else { ok("") });
    let server = server.await;
    let client = client(&net_to(&server), Limits::GIVEN);
    let outcome = |line: &str, may_repeat: bool| {
        let request = get(&format!("http://hook.example/{line}"));
        let request = if may_repeat { request.may_repeat() } else { request };
        client.send(request)
    };
    outcome("", false).await.unwrap();
    assert!(matches!(outcome("again", false).await, Err(Error::InDoubt(Failure::Exchange(_)))));
    assert_eq!(server.seen().len(), 2, "it was sent once");
    assert!(matches!(outcome("again", true).await, Err(Error::InDoubt(Failure::Exchange(_)))));
    assert_eq!(server.seen().len(), 3 + Limits::GIVEN.idle_per_host, "it was sent a bounded number of times");
}

#[tokio::test]
async fn a_connection_that_ended_while_it_was_kept_costs_a_harmless_request_nothing() {
    let server =
        Server::start(
            |seen| if seen.connection == 1 && seen.body == "second" { Reply::Closing } else { ok("") },
        )
        .await;
    let client = client(&net_to(&server), Limits::GIVEN);
    client.send(get("http://hook.example/")).await.unwrap();
    let second = Request::post(given("http://hook.example/"), "second").may_repeat();
    client.send(second).await.unwrap();
    assert_eq!(server.seen().iter().map(|seen| seen.connection).collect::<Vec<_>>(), [1, 1, 2]);
}

#[tokio::test]
async fn a_connection_of_the_operator_serves_no_user() {
    let server = Server::start(|_| ok("")).await;
    let net = net_to(&server);
    let client = client(&net, Limits::GIVEN);
    client.send(Request::get(configured("http://hook.example/"))).await.unwrap();
    client.send(get("http://hook.example/")).await.unwrap();
    client.send(Request::get(configured("http://hook.example/"))).await.unwrap();
    let connections: Vec<_> = server.seen().iter().map(|seen| seen.connection).collect();
    assert_eq!(connections, [1, 2, 1]);
}

#[tokio::test]
async fn idle_connections_are_closed_after_a_while() {
    let server = Server::start(|_| ok("")).await;
    let client = client(&net_to(&server), Limits { idle: SOON, ..Limits::GIVEN });
    client.send(get("http://hook.example/")).await.unwrap();
    server.has_closed(1).await;
}

#[tokio::test]
async fn a_host_keeps_only_so_many_connections() {
    let server = Server::start(|_| ok("")).await;
    let client = client(&net_to(&server), Limits { idle_per_host: 1, ..Limits::GIVEN });
    let requests = (0..3).map(|_| client.send(get("http://hook.example/")));
    for answer in futures_util::future::join_all(requests).await {
        answer.unwrap();
    }
    let opened = server.opened();
    server.has_closed(opened - 1).await;
}

#[tokio::test]
async fn connections_to_hosts_of_long_ago_are_closed() {
    let servers =
        [Server::start(|_| ok("")).await, Server::start(|_| ok("")).await, Server::start(|_| ok("")).await];
    let net = Arc::<Net>::default();
    for (number, server) in servers.iter().enumerate() {
        let address = format!("93.184.216.{number}");
        net.name(&format!("{number}.example"), &[&address]);
        net.route(&address, server.address);
    }
    let client = client(&net, Limits { hosts: 2, ..Limits::GIVEN });
    for host in ["0.example", "1.example", "0.example", "2.example"] {
        client.send(get(&format!("http://{host}/"))).await.unwrap();
    }
    servers[1].has_closed(1).await;
    client.send(get("http://0.example/")).await.unwrap();
    assert_eq!(servers[0].opened(), 1, "it was used after the other");
}

#[tokio::test]
async fn a_slow_host_costs_only_itself() {
    let slow = Server::start(|_| Reply::Stalling(String::new())).await;
    let quick = Server::start(|_| ok("")).await;
    let net = net_to(&slow);
    net.name("quick.example", &[OTHER]);
    net.route(OTHER, quick.address);
    let client = client(&net, Limits { at_once: 3, at_once_per_host: 2, turn: SOON, ..Limits::GIVEN });
    let send = |url: &'static str| {
        let client = client.clone();
        tokio::spawn(async move { client.send(get(url)).await })
    };
    let under_way = [send("http://hook.example/"), send("http://hook.example/")];
    slow.has_seen(2).await;
    let error = client.send(get("http://HOOK.example.:8080/")).await.unwrap_err();
    assert_eq!(error, Error::NotSent(Failure::Timeout { phase: Phase::Turn, limit: SOON }));
    client.send(get("http://quick.example/")).await.unwrap();

    // the places of a request that is given up are free again
    for request in under_way {
        request.abort();
    }
    slow.has_closed(2).await;
    let again = send("http://hook.example/");
    slow.has_seen(3).await;
    again.abort();
}

#[tokio::test]
async fn there_are_only_so_many_requests_at_once() {
    let slow = Server::start(|_| Reply::Stalling(String::new())).await;
    let net = net_to(&slow);
    net.name("other.example", &[PUBLIC]);
    let client = client(&net, Limits { at_once: 1, turn: SOON, ..Limits::GIVEN });
    let sender = client.clone();
    let first = tokio::spawn(async move { sender.send(get("http://hook.example/")).await });
    slow.has_seen(1).await;
    let error = client.send(get("http://other.example/")).await.unwrap_err();
    assert_eq!(error, Error::NotSent(Failure::Timeout { phase: Phase::Turn, limit: SOON }));
    first.abort();
}
