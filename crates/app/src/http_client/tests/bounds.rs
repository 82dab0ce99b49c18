//! What takes too long, is too large, or breaks: the limit is named, and whether the request was sent.

use std::sync::Arc;

use bytes::Bytes;
use hyper::Method;
use mailwright_tls::ClientTls;
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::server::{Names, Net, Reply, Server, ok};
use super::{LATER, PUBLIC, SOON, client, client_with, get, given, net_to, with};
use crate::http_client::address_filter::Filter;
use crate::http_client::{Error, Failure, Limits, Part, Phase, Request};

fn timeout(phase: Phase) -> Failure {
    Failure::Timeout { phase, limit: if phase == Phase::Whole { LATER } else { SOON } }
}

async fn error_of(net: &Arc<Net>, limits: Limits, url: &str) -> Error {
    client(net, limits).send(get(url)).await.unwrap_err()
}

#[tokio::test]
async fn each_phase_has_its_limit() {
    let server = Server::start(|_| Reply::Stalling(String::new())).await;
    let net = net_to(&server);
    net.then("unanswered.example", Names::Silent);
    net.name("unreachable.example", &["93.184.216.1"]);
    for (url, limits, error) in [
        (
            "http://unanswered.example/",
            Limits { resolving: SOON, ..Limits::GIVEN },
            Error::NotSent(timeout(Phase::Resolving)),
        ),
        (
            "http://unreachable.example/",
            Limits { connecting: SOON, ..Limits::GIVEN },
            Error::NotSent(timeout(Phase::Connecting)),
        ),
        ("https://hook.example/", Limits { tls: SOON, ..Limits::GIVEN }, Error::NotSent(timeout(Phase::Tls))),
        (
            "http://hook.example/",
            Limits { answer: SOON, ..Limits::GIVEN },
            Error::InDoubt(timeout(Phase::Answer)),
        ),
        (
            "http://unreachable.example/",
            Limits { whole: LATER, ..Limits::GIVEN },
            Error::NotSent(timeout(Phase::Whole)),
        ),
        (
            "http://hook.example/",
            Limits { whole: LATER, ..Limits::GIVEN },
            Error::InDoubt(timeout(Phase::Whole)),
        ),
    ] {
        let is_sent = matches!(error, Error::InDoubt(_));
        let found = error_of(&net, limits, url).await;
        assert_eq!((found.was_not_sent(), &found), (!is_sent, &error), "{url}");
        assert!(found.to_string().contains("0ms"), "{found}");
    }
}

#[tokio::test]
async fn an_answer_that_does_not_end_is_given_up() {
    for answer in [
        "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
        "HTTP/1.1 200 OK\r\n\r\nwithout an end",
    ] {
        let server = Server::start(|_| Reply::Stalling(answer.into())).await;
        let limits = Limits { whole: LATER, ..Limits::GIVEN };
        let error = error_of(&net_to(&server), limits, "http://hook.example/").await;
        assert_eq!(error, Error::InDoubt(timeout(Phase::Whole)), "{answer}");
        // nobody gets what is left of it
        server.has_closed(1).await;
    }
}

#[tokio::test]
async fn requests_have_a_size() {
    let server = Server::start(|_| ok("")).await;
    let client = client(&net_to(&server), Limits { request_head: 100, request_body: 10, ..Limits::GIVEN });
    let send = |request| client.send(request);
    let url = "http://hook.example/";
    send(Request::post(given(url), "x".repeat(10))).await.unwrap();
    let too_large = |part, limit| Error::NotSent(Failure::TooLarge { part, limit });
    let error = send(Request::post(given(url), "x".repeat(11))).await.unwrap_err();
    assert_eq!(error, too_large(Part::RequestBody, 10));
    assert_eq!(error.to_string(), "nothing was sent: the body of the request is too large (limit: 10 bytes)");
    for request in [
        get(&format!("{url}{}", "x".repeat(100))),
        with(
            get(url),
            &[(
                "x-long",
                "a value of more than a hundred characters if one counts them all, or at least nearly that many",
            )],
        ),
    ] {
        assert_eq!(send(request).await.unwrap_err(), too_large(Part::RequestHead, 100));
    }
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn answers_have_a_size() {
    let headers = "X-Filler: yes\r\n".repeat(4);
    for (answer, part, limit) in [
        ("HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n".to_owned(), Some(Part::AnswerBody), 10),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nabcdef\r\n6\r\nabcdef\r\n".to_owned(),
            Some(Part::AnswerBody),
            10,
        ),
        (format!("HTTP/1.1 200 OK\r\nX-Filler: {}", "x".repeat(20_000)), Some(Part::AnswerHead), 8192),
        (format!("HTTP/1.1 200 OK\r\n{headers}\r\n"), Some(Part::AnswerHead), 8192),
        ("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789".to_owned(), None, 0),
    ] {
        let sent = answer.clone();
        let server = Server::start(move |_| Reply::Stalling(sent.clone())).await;
        let limits = Limits { answer_head: 8192, answer_headers: 3, answer_body: 10, ..Limits::GIVEN };
        let found = client(&net_to(&server), limits).send(get("http://hook.example/")).await;
        let error = part.map(|part| Error::InDoubt(Failure::TooLarge { part, limit }));
        assert_eq!(found.err(), error, "{answer}");
    }
}

#[tokio::test]
async fn the_length_of_a_body_that_does_not_come_counts_for_nothing() {
    let server =
        Server::start(|_| Reply::Text("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n".into())).await;
    let client = client(&net_to(&server), Limits { answer_body: 10, ..Limits::GIVEN });
    let answer = client.send(Request::new(Method::HEAD, given("http://hook.example/"))).await.unwrap();
    assert_eq!(answer.body, Bytes::new());
}

#[tokio::test]
async fn what_breaks_is_in_doubt_once_a_request_was_begun() {
    let net = Arc::<Net>::default();
    net.name("hook.example", &[PUBLIC]);
    // a port that nobody listens at any more
    let nobody = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    net.route(PUBLIC, nobody);
    let error = error_of(&net, Limits::GIVEN, "http://hook.example/").await;
    assert!(matches!(error, Error::NotSent(Failure::Connection(_))), "{error:?}");

    for script in [
        (|_: &_| Reply::Closing) as fn(&_) -> Reply,
        |_| Reply::Text("220 mail.example ESMTP\r\n".into()),
        |_| Reply::Text("HTTP/2.0 nonsense\r\n\r\n".into()),
    ] {
        let server = Server::start(script).await;
        net.route(PUBLIC, server.address);
        let error = error_of(&net, Limits::GIVEN, "http://hook.example/").await;
        assert!(matches!(error, Error::InDoubt(Failure::Exchange(_))), "{error:?}");
        assert_eq!(server.seen().len(), 1, "it is not sent twice");
    }
}

#[tokio::test]
async fn a_connection_that_the_server_closed_is_not_used_again() {
    let server = Server::start(|seen| {
        if seen.connection == 1 {
            Reply::Text("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n".into())
        } else {
            ok("")
        }
    })
    .await;
    let client = client(&net_to(&server), Limits::GIVEN);
    for _ in 0..2 {
        client.send(Request::post(given("http://hook.example/"), "once")).await.unwrap();
    }
    assert_eq!((server.opened(), server.seen().len()), (2, 2));
}

#[tokio::test]
async fn certificates_are_checked_by_the_name_of_the_host() {
    let made = rcgen::generate_simple_self_signed(["hook.example".to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let server = Server::start_with(|_| ok("sealed"), Some(TlsAcceptor::from(Arc::new(config)))).await;
    let net = net_to(&server);
    net.name("other.example", &[PUBLIC]);
    let tls = ClientTls::with_extra_roots(vec![made.cert.der().clone()]);
    let client = client_with(&net, Limits::GIVEN, Filter::Public, &tls);
    let answer = client.send(get("https://hook.example/")).await.unwrap();
    assert_eq!(&answer.body[..], b"sealed");
    client.send(get("https://hook.example./")).await.unwrap();
    let error = client.send(get("https://other.example/")).await.unwrap_err();
    assert!(matches!(error, Error::NotSent(Failure::Certificate(_))), "{error:?}");
    let stranger = super::client(&net, Limits::GIVEN);
    let error = stranger.send(get("https://hook.example/")).await.unwrap_err();
    assert!(matches!(error, Error::NotSent(Failure::Certificate(_))), "{error:?}");
    assert_eq!(net.dialled()[0], format!("{PUBLIC}:443"));
}
