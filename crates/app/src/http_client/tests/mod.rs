//! The client against scripted servers. Names and addresses are the tests' own (`server.rs`), the filter is the real
//! one.

mod addresses;
mod bounds;
mod pool;
mod redirects;
mod resolver;
mod server;

use std::sync::Arc;
use std::time::Duration;

use hyper::header::{AUTHORIZATION, HeaderName, HeaderValue};
use mailwright_tls::ClientTls;

use self::server::{Net, Server, ok};
use super::address_filter::Filter;
use super::connector::Connector;
use super::{ConfiguredUrl, Error, GivenUrl, HttpClient, Inner, Lane, Limits, Request};

/// A public address that tests lead to a server.
const PUBLIC: &str = "93.184.216.34";
/// Another one.
const OTHER: &str = "93.184.216.35";
/// A limit that is reached.
const SOON: Duration = Duration::from_millis(50);
/// A limit that is reached too, but not before a connection is made.
const LATER: Duration = Duration::from_millis(500);

/// A client that lets users reach what a filter lets through.
fn client_with(net: &Arc<Net>, limits: Limits, filter: Filter, tls: &ClientTls) -> HttpClient {
    let lane = |filter| {
        let (resolver, dialer) = (Arc::clone(net), Arc::clone(net));
        Lane::new(limits, Connector::new(limits, filter, resolver, dialer, tls.clone()))
    };
    HttpClient(Arc::new(Inner { configured: lane(Filter::Any), given: lane(filter) }))
}

fn client(net: &Arc<Net>, limits: Limits) -> HttpClient {
    client_with(net, limits, Filter::Public, &ClientTls::default())
}

/// A net in which `hook.example` is a server at a public address.
fn net_to(server: &Server) -> Arc<Net> {
    let net = Arc::<Net>::default();
    net.name("hook.example", &[PUBLIC]);
    net.route(PUBLIC, server.address);
    net
}

fn given(url: &str) -> GivenUrl {
    GivenUrl::parse(url).unwrap()
}

fn configured(url: &str) -> ConfiguredUrl {
    ConfiguredUrl::parse(url).unwrap()
}

fn get(url: &str) -> Request<GivenUrl> {
    Request::get(given(url))
}

fn with(request: Request<GivenUrl>, headers: &[(&'static str, &'static str)]) -> Request<GivenUrl> {
    headers.iter().fold(request, |request, (name, value)| {
        request.header(HeaderName::from_static(name), HeaderValue::from_static(value))
    })
}

#[tokio::test]
async fn a_request_arrives_as_it_was_made_and_its_answer_comes_back() {
    let server = Server::start(|_| ok("hello")).await;
    let client = client(&net_to(&server), Limits::GIVEN);
    let request = Request::post(given("http://hook.example:8080/path?key=1#part"), "a body");
    let answer = client.send(with(request, &[("x-own", "yes")])).await.unwrap();
    assert_eq!((answer.status.as_u16(), &answer.body[..]), (200, &b"hello"[..]));
    assert_eq!(answer.headers["content-length"], "5");
    let seen = &server.seen()[0];
    assert_eq!((seen.line(), seen.body.as_str()), ("post /path?key=1 http/1.1", "a body"));
    for header in ["host: hook.example:8080", "x-own: yes", "user-agent: mailwright", "content-length: 6"] {
        assert!(seen.head.contains(header), "{header} in {}", seen.head);
    }
}

#[tokio::test]
async fn what_frames_a_request_is_the_clients_own() {
    const HEADERS: [(&str, &str); 5] = [
        ("host", "other.example"),
        ("content-length", "1"),
        ("transfer-encoding", "chunked"),
        ("connection", "upgrade"),
        ("user-agent", "own"),
    ];
    let server = Server::start(|_| ok("")).await;
    let client = client(&net_to(&server), Limits::GIVEN);
    client.send(with(Request::post(given("http://hook.example/"), "a body"), &HEADERS)).await.unwrap();
    let seen = &server.seen()[0];
    assert_eq!(seen.body, "a body");
    let mut lines: Vec<_> = seen.head.lines().skip(1).collect();
    lines.sort_unstable();
    assert_eq!(lines, ["content-length: 6", "host: hook.example", "user-agent: own"]);
}

#[tokio::test]
async fn errors_hold_no_secret() {
    let silent = Server::start(|_| server::Reply::Stalling(String::new())).await;
    let closing = Server::start(|_| server::Reply::Closing).await;
    let far = Server::start(|_| server::redirect(307, "http://10.0.0.1/?token=hunter2")).await;
    let net = net_to(&silent);
    for (name, address, server) in
        [("closing.example", OTHER, &closing), ("far.example", "93.184.216.36", &far)]
    {
        net.name(name, &[address]);
        net.route(address, server.address);
    }
    net.name("private.example", &["10.0.0.1"]);
    let client = client(&net, Limits { answer: SOON, request_body: 5, ..Limits::GIVEN });
    for (host, body) in [
        ("hook.example", ""),
        ("closing.example", ""),
        ("far.example", ""),
        ("private.example", ""),
        ("unknown.example", ""),
        ("hook.example", "hunter2"),
    ] {
        let url = given(&format!("http://{host}/hunter2?token=hunter2"));
        let bearer = HeaderValue::from_static("Bearer hunter2");
        let request = Request::post(url, body).header(AUTHORIZATION, bearer).following_redirects();
        let error: Error = client.send(request).await.unwrap_err();
        assert!(!format!("{error} {error:?}").contains("hunter2"), "{error:?}");
    }
}
