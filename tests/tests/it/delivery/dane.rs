//! Certificates of the recipients' servers that DNS names (DANE, RFC 7672).

use std::time::Duration;

use mailwright_testkit::net::free_port;
use mailwright_testkit::policy::PolicyServer;
use mailwright_testkit::smtp::{Answer, ScriptedServer};
use mailwright_testkit::tls::Certificate;
use mailwright_testkit::{App, AppBuilder, Engine, Value, both_engines};

use crate::delivery::direct::{Net, address, waiting};
use crate::delivery::{attempts, sent};

/// Between two tries of a mail.
const LATER: Duration = Duration::from_mins(1);

/// A service whose name server validates.
fn app(net: &Net, engine: Engine) -> AppBuilder {
    net.app(engine).env("MAILWRIGHT_DNS_VALIDATES", "true")
}

/// The name of the TLSA records of a server.
fn tlsa(net: &Net, host: &str) -> String {
    format!("_{}._tcp.{host}", net.port)
}

/// A server that offers TLS, of a domain whose zone is signed.
async fn signed(net: &Net, domain: &str, number: u8, certificate: &Certificate) -> ScriptedServer {
    let host = format!("mx.{domain}");
    net.dns.set_secure(domain);
    net.dns.set_mx(domain, [(10, &host)]);
    let server = ScriptedServer::builder().starttls(certificate);
    net.server(&host, number, server, |_, _| Answer::Accept).await
}

/// Whether the last attempt of a mail was encrypted.
fn was_encrypted(email: &Value) -> bool {
    attempts(email).last().is_some_and(|attempt| attempt["tls"] == true)
}

/// A mail that waited, once it is sent.
async fn sent_later(app: &App, id: &str) -> Value {
    app.advance(LATER).await;
    app.email_in(id, &["SENT"]).await
}

both_engines! {
    async fn a_certificate_that_dns_names_is_valid_and_another_is_not(engine: Engine) {
        let net = Net::new().await;
        // nobody vouches for it, and it is for another name
        let certificate = Certificate::of(&["elsewhere.example"]);
        let mut server = signed(&net, "one.example", 1, &certificate).await;
        net.dns.set_tlsa(&tlsa(&net, "mx.one.example"), [certificate.tlsa(3, 1, 1)]);
        // a domain that is not signed has the same server
        net.dns.set_mx("two.example", [(10, "mx.one.example")]);
        let url = format!("direct:?helo=out.mailwright.test&port={}&tls=required", net.port);
        let app = app(&net, engine).env("MAILWRIGHT_TRANSPORT", url).start().await;
        for to in ["ada@one.example", "bob@one.example", "ada@two.example"] {
            assert!(was_encrypted(&sent(&app, to).await), "{to}");
        }
        assert_eq!((server.received().len(), server.connections()), (3, 1), "one connection is good for all");
        let another = Certificate::of(&["mx.one.example"]);
        net.dns.set_tlsa(&tlsa(&net, "mx.one.example"), [another.tlsa(3, 1, 1)]);
        // so that the connection is not used again
        server.stop().await;
        server.start_again().await;
        let id = app.send_to("eve@one.example").await;
        let why = "TLS failed under DANE (RFC 7672): its certificate is none that its TLSA records name";
        waiting(&app, &id, why).await;
        net.dns.set_tlsa(&tlsa(&net, "mx.one.example"), [another.tlsa(3, 1, 1), certificate.tlsa(3, 0, 2)]);
        assert!(was_encrypted(&sent_later(&app, &id).await));
        assert_eq!(server.received().len(), 4);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn records_that_nothing_proves_demand_nothing() {
    let net = Net::new().await;
    let certificate = Certificate::of(&["mx.one.example"]);
    let server = signed(&net, "one.example", 1, &certificate).await;
    let wrong = Certificate::generate().tlsa(3, 1, 1);
    net.dns.set_tlsa(&tlsa(&net, "mx.one.example"), [wrong]);
    net.dns.set_mx("two.example", [(10, "mx.one.example")]);
    {
        // nobody says that the name server validates
        let app = net.app(Engine::Sqlite).start().await;
        sent(&app, "ada@one.example").await;
    }
    let app = app(&net, Engine::Sqlite).start().await;
    let id = app.send_to("ada@one.example").await;
    waiting(&app, &id, "its TLSA records name").await;
    // that mail for the other domain goes to this server is not proven
    sent(&app, "ada@two.example").await;
    let second = app.send_to("bob@one.example").await;
    waiting(&app, &second, "its TLSA records name").await;
    net.dns.set_insecure(&tlsa(&net, "mx.one.example"));
    sent_later(&app, &id).await;
    app.email_in(&second, &["SENT"]).await;
    assert_eq!(server.received().len(), 4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_of_which_nothing_is_known_is_left_alone() {
    let net = Net::new().await;
    let certificate = Certificate::of(&["mx.one.example"]);
    let server = signed(&net, "one.example", 1, &certificate).await;
    net.dns.set_servfail(&tlsa(&net, "mx.one.example"));
    let app = app(&net, Engine::Sqlite).start().await;
    let id = app.send_to("ada@one.example").await;
    waiting(&app, &id, "gave no answer about its TLSA records").await;
    assert_eq!(server.connections(), 0);
    // another server of the domain takes the mail
    net.dns.set_mx("one.example", [(10, "mx.one.example"), (20, "mx2.one.example")]);
    let mut second = net.plain("mx2.one.example", 2).await;
    let email = sent_later(&app, &id).await;
    assert_eq!(
        attempts(&email).last().map(|attempt| attempt["host"].clone()),
        Some("mx2.one.example".into())
    );
    assert_eq!((server.connections(), second.received().len()), (0, 1));
    net.dns.set_tlsa(&tlsa(&net, "mx.one.example"), [certificate.tlsa(3, 0, 1)]);
    second.stop().await;
    sent(&app, "bob@one.example").await;
    assert_eq!(server.received().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_with_records_has_to_encrypt() {
    let net = Net::new().await;
    let certificate = Certificate::of(&["elsewhere.example"]);
    net.dns.set_secure("one.example");
    net.dns.set_mx("one.example", [(10, "mx.one.example")]);
    let mut plain = net.plain("mx.one.example", 1).await;
    // of usages that do not count for mail
    net.dns.set_tlsa(&tlsa(&net, "mx.one.example"), [certificate.tlsa(1, 1, 1)]);
    let app = app(&net, Engine::Sqlite).start().await;
    let id = app.send_to("ada@one.example").await;
    let why = "TLS failed under DANE (RFC 7672): the server does not offer STARTTLS";
    waiting(&app, &id, why).await;
    net.dns.set_tlsa(&tlsa(&net, "mx.one.example"), [certificate.tlsa(3, 1, 1)]);
    let second = app.send_to("bob@one.example").await;
    waiting(&app, &second, why).await;
    assert_eq!(plain.received().len(), 0);
    plain.stop().await;
    net.dns.set_tlsa(&tlsa(&net, "mx.one.example"), [certificate.tlsa(1, 1, 1)]);
    let server = signed(&net, "one.example", 1, &certificate).await;
    assert!(was_encrypted(&sent_later(&app, &id).await), "whatever the certificate");
    assert!(was_encrypted(&app.email_in(&second, &["SENT"]).await));
    assert_eq!(server.received().len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_certificate_of_an_issuer_that_dns_names_has_to_be_for_the_server_or_the_domain() {
    let net = Net::new().await;
    let of_server = Certificate::issued(&["mx.one.example"]);
    let of_domain = Certificate::issued(&["two.example"]);
    let of_others = Certificate::issued(&["elsewhere.example"]);
    let first = signed(&net, "one.example", 1, &of_server).await;
    let second = signed(&net, "two.example", 2, &of_domain).await;
    let third = signed(&net, "three.example", 3, &of_others).await;
    for (host, certificate) in
        [("mx.one.example", &of_server), ("mx.two.example", &of_domain), ("mx.three.example", &of_others)]
    {
        net.dns.set_tlsa(&tlsa(&net, host), [certificate.tlsa(2, 0, 1)]);
    }
    let app = app(&net, Engine::Sqlite).start().await;
    for to in ["ada@one.example", "bob@one.example", "ada@two.example", "bob@two.example"] {
        assert!(was_encrypted(&sent(&app, to).await), "{to}");
    }
    assert_eq!((first.received().len(), first.connections()), (2, 1));
    assert_eq!((second.received().len(), second.connections()), (2, 2), "it is the domain's alone");
    let id = app.send_to("ada@three.example").await;
    waiting(&app, &id, "valid neither for mx.three.example nor for three.example").await;
    assert_eq!(third.received().len(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_dns_names_goes_before_a_policy() {
    let net = Net::new().await;
    let hosts = ["mx.named.example", "mta-sts.named.example", "mta-sts.unnamed.example"];
    let certificate = Certificate::of(&hosts);
    let https = free_port();
    let policy = "version: STSv1\nmode: enforce\nmx: mx.named.example\nmax_age: 86400\n";
    let _published = PolicyServer::start(address(9), https, &certificate, policy).await;
    for domain in ["named.example", "unnamed.example"] {
        net.dns.set_txt(&format!("_mta-sts.{domain}"), ["v=STSv1; id=1"]);
        net.dns.set_a(&format!("mta-sts.{domain}"), [address(9)]);
    }
    let own = Certificate::generate();
    let unnamed = signed(&net, "unnamed.example", 1, &own).await;
    net.dns.set_tlsa(&tlsa(&net, "mx.unnamed.example"), [own.tlsa(3, 1, 1)]);
    let named = signed(&net, "named.example", 2, &certificate).await;
    net.dns.set_tlsa(&tlsa(&net, "mx.named.example"), [own.tlsa(3, 1, 1)]);
    let app = app(&net, Engine::Sqlite)
        .env("SSL_CERT_FILE", certificate.path().display().to_string())
        .env("MAILWRIGHT_TEST_POLICY_PORT", https.to_string())
        .start()
        .await;
    assert!(was_encrypted(&sent(&app, "ada@unnamed.example").await), "the policy does not name the server");
    // the policy names the server, whose certificate is valid, and not the one of the records
    let id = app.send_to("ada@named.example").await;
    waiting(&app, &id, "its certificate is none that its TLSA records name").await;
    assert_eq!((unnamed.received().len(), named.received().len()), (1, 0));
    // without records the policy decides
    net.dns.set_tlsa(&tlsa(&net, "mx.named.example"), []);
    assert!(was_encrypted(&sent_later(&app, &id).await));
    assert_eq!(named.received().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_doctor_looks_whether_the_name_server_validates() {
    let net = Net::new().await;
    let app = app(&net, Engine::Sqlite).start().await;
    let says = async |what: &str| {
        let found = String::from_utf8_lossy(&app.try_run(&["doctor"]).await.stdout).into_owned();
        let line = found.lines().find(|line| line.contains("name server:")).unwrap_or_default();
        assert!(line.contains(what), "{found}");
    };
    says("it does not validate DNSSEC").await;
    net.dns.set_secure("example.com");
    says("it answers, and validates DNSSEC").await;
}
