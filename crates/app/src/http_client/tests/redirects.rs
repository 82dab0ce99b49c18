//! Redirects.

use std::sync::Arc;

use bytes::Bytes;
use hyper::header::LOCATION;
use hyper::{HeaderMap, Method, StatusCode};
use url::Url;

use super::server::{Net, Server, ok, redirect};
use super::{OTHER, PUBLIC, client, configured, get, given, net_to, with};
use crate::http_client::redirect::target;
use crate::http_client::{Answer, BadRedirect, Error, Failure, Limits, Refusal, Request};

/// A server that leads from `/start` elsewhere, and answers elsewhere.
async fn leading(status: u16, to: &'static str) -> Server {
    Server::start(move |seen| if seen.line().contains("/start") { redirect(status, to) } else { ok("there") })
        .await
}

/// A net with two hosts on one server.
fn net_of_two(server: &Server) -> Arc<Net> {
    let net = net_to(server);
    net.name("other.example", &[OTHER]);
    net.route(OTHER, server.address);
    net
}

#[tokio::test]
async fn redirects_are_answers_unless_they_are_to_be_followed() {
    let server = leading(302, "/there").await;
    let client = client(&net_to(&server), Limits::GIVEN);
    let answer = client.send(get("http://hook.example/start")).await.unwrap();
    assert_eq!((answer.status.as_u16(), &answer.headers["location"]), (302, &"/there".parse().unwrap()));
    assert_eq!(server.seen().len(), 1);
    let answer = client.send(get("http://hook.example/start").following_redirects()).await.unwrap();
    assert_eq!(&answer.body[..], b"there");
}

#[tokio::test]
async fn what_is_followed_is_made_again_as_it_was() {
    for status in [301, 302, 303, 307, 308] {
        for method in [Method::POST, Method::PUT, Method::DELETE] {
            let server = leading(status, "/there").await;
            let client = client(&net_to(&server), Limits::GIVEN);
            let mut request = Request::post(given("http://hook.example/start"), "a body");
            request.method = method.clone();
            let request = with(request, &[("content-type", "text/plain"), ("x-own", "yes")]);
            client.send(request.following_redirects()).await.unwrap();
            let seen = &server.seen()[1];
            let line = format!("{method} /there http/1.1").to_lowercase();
            assert_eq!((seen.line().to_lowercase(), seen.body.as_str()), (line, "a body"), "{status}");
            assert!(seen.head.contains("content-type: text/plain") && seen.head.contains("x-own: yes"));
        }
    }
}

#[tokio::test]
async fn a_redirect_to_nowhere_is_an_error() {
    let server = Server::start(|_| redirect(302, "http://[")).await;
    let client = client(&net_to(&server), Limits::GIVEN);
    let error = client.send(get("http://hook.example/").following_redirects()).await.unwrap_err();
    assert_eq!(error, Error::Redirect(BadRedirect::Nowhere));
    assert_eq!(client.send(get("http://hook.example/")).await.unwrap().status, 302);
}

#[tokio::test]
async fn credentials_do_not_go_to_another_origin() {
    const HEADERS: [(&str, &str); 5] = [
        ("authorization", "Bearer 1"),
        ("cookie", "a=1"),
        ("x-signature", "1"),
        ("accept", "text/plain"),
        ("content-type", "text/plain"),
    ];
    for (to, is_same) in [
        ("/there", true),
        ("http://hook.example:80/there", true),
        ("http://hook.example:8080/there", false),
        ("http://other.example/there", false),
        ("//other.example/there", false),
    ] {
        let server = leading(307, to).await;
        let client = client(&net_of_two(&server), Limits::GIVEN);
        let request = with(Request::post(given("http://hook.example/start"), "body"), &HEADERS);
        client.send(request.following_redirects()).await.unwrap();
        let head = server.seen()[1].head.clone();
        for (name, _) in HEADERS {
            let goes_along = is_same || ["accept", "content-type"].contains(&name);
            assert_eq!(head.contains(&format!("\r\n{name}: ")), goes_along, "{name} to {to}");
        }
    }
}

#[tokio::test]
async fn credentials_that_were_dropped_do_not_come_back() {
    let server = Server::start(|seen| match seen.line() {
        line if line.contains("/start") => redirect(307, "http://other.example/back"),
        line if line.contains("/back") => redirect(307, "http://hook.example/end"),
        _ => ok(""),
    })
    .await;
    let client = client(&net_of_two(&server), Limits::GIVEN);
    let request = with(get("http://hook.example/start"), &[("authorization", "Bearer 1")]);
    client.send(request.following_redirects()).await.unwrap();
    let with_it: Vec<_> = server.seen().iter().map(|seen| seen.head.contains("authorization")).collect();
    assert_eq!(with_it, [true, false, false]);
}

#[tokio::test]
async fn redirects_are_followed_only_so_often() {
    let server = Server::start(|_| redirect(302, "/again")).await;
    let client = client(&net_to(&server), Limits { redirects: 2, ..Limits::GIVEN });
    let error = client.send(get("http://hook.example/").following_redirects()).await.unwrap_err();
    assert_eq!(error, Error::Redirect(BadRedirect::TooMany(2)));
    assert!(!error.was_not_sent());
    assert_eq!(server.seen().len(), 3);
}

#[tokio::test]
async fn each_target_is_checked() {
    for (to, why) in [
        ("http://10.0.0.1/", Refusal::Host("private network")),
        ("http://inside.example/", Refusal::Host("loopback")),
        ("http://a:b@other.example/", Refusal::UserInfo),
        ("ftp://other.example/", Refusal::Scheme),
        ("file:///etc/passwd", Refusal::Scheme),
        ("http://other.example:25/", Refusal::Port(25)),
    ] {
        let server = leading(302, to).await;
        let net = net_of_two(&server);
        net.name("inside.example", &["127.0.0.1"]);
        net.route("127.0.0.1", server.address);
        let client = client(&net, Limits::GIVEN);
        let error = client.send(get("http://hook.example/start").following_redirects()).await.unwrap_err();
        assert_eq!(error, Error::Redirect(BadRedirect::Refused(why)), "{to}");
        assert_eq!(net.dialled(), [format!("{PUBLIC}:80")], "{to}");
    }
}

#[tokio::test]
async fn a_target_that_is_not_reached_leaves_the_request_in_doubt() {
    let server = leading(307, "http://gone.example/").await;
    let client = client(&net_to(&server), Limits::GIVEN);
    let error = client.send(get("http://hook.example/start").following_redirects()).await.unwrap_err();
    assert_eq!(error, Error::InDoubt(Failure::NoSuchHost));
}

#[tokio::test]
async fn a_host_that_the_operators_server_names_is_not_the_operators() {
    for (to, is_followed) in [
        ("http://provider.internal:8080/there", true),
        ("http://database.internal/", false),
        ("http://169.254.169.254/", false),
    ] {
        let server = leading(302, to).await;
        let net = Arc::<Net>::default();
        for (name, address) in [("provider.internal", "10.0.0.1"), ("database.internal", "10.0.0.2")] {
            net.name(name, &[address]);
            net.route(address, server.address);
        }
        let client = client(&net, Limits::CONFIGURED);
        let request = Request::get(configured("http://provider.internal/start")).following_redirects();
        assert_eq!(client.send(request).await.is_ok(), is_followed, "{to}");
        assert_eq!(server.seen().len(), 1 + usize::from(is_followed));
    }
}

#[test]
fn https_leads_to_no_http() {
    let answer = |to: &str| Answer {
        status: StatusCode::FOUND,
        headers: HeaderMap::from_iter([(LOCATION, to.parse().unwrap())]),
        body: Bytes::new(),
    };
    let from = Url::parse("https://hook.example/start").unwrap();
    for to in ["http://hook.example/", "http://other.example/"] {
        assert_eq!(target(&from, &answer(to)), Err(BadRedirect::Downgrade));
    }
    let there = target(&from, &answer("there?a=1#part")).unwrap().unwrap();
    assert_eq!(there.as_str(), "https://hook.example/there?a=1");
    let from = Url::parse("http://hook.example/").unwrap();
    assert!(target(&from, &answer("https://hook.example/")).unwrap().is_some());
    assert_eq!(target(&from, &answer("http://")), Err(BadRedirect::Nowhere));
}
