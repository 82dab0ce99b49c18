//! Whoever brings mail gets through, however many clients connect and say nothing.

use mailwright_testkit::dns::FakeDns;
use mailwright_testkit::mail_in::MailIn;
use mailwright_testkit::net::{allow_connections, free_port};
use mailwright_testkit::{Engine, one_engine};

use super::{capturing, message, received};

/// Connections that the service has at once.
const PLACES: usize = 40;
/// The networks of 24 bits that the others connect from, each time from another address.
const NETWORKS: usize = 3;

/// Clients that connect and say nothing.
struct Crowd {
    port: u16,
    sessions: Vec<MailIn>,
}

impl Crowd {
    /// Twice as many connect as there are places.
    async fn comes(&mut self) {
        for _ in 0..2 * PLACES {
            let number = self.sessions.len();
            let (network, address) = (number % NETWORKS, 1 + number / NETWORKS);
            let from = [127, 1, network as u8, u8::try_from(address).expect("an address")];
            let (session, _) = MailIn::greeted_from(from, self.port).await.expect("a connection");
            self.sessions.push(session);
        }
    }
}

one_engine! {
    async fn a_slow_sender_gets_through_a_crowd(engine: Engine) {
        allow_connections(1_000);
        let dns = FakeDns::start().await;
        let port = free_port();
        let app =
            capturing(engine, &dns, port).env("MAILWRIGHT_INBOUND_CONNECTIONS", PLACES.to_string()).start().await;
        let mut crowd = Crowd { port, sessions: Vec::new() };
        crowd.comes().await;
        let (mut sender, greeting) = MailIn::greeted(port).await.expect("a connection");
        assert!(greeting.starts_with("220 "), "{greeting}");
        for (command, code) in [
            ("EHLO mx.test", "250"),
            ("MAIL FROM:<ada@example.com>", "250"),
            ("RCPT TO:<help@acme.test>", "250"),
            ("DATA", "354"),
        ] {
            crowd.comes().await;
            let reply = sender.command(command).await;
            assert!(reply.starts_with(code), "{command}: {reply}");
        }
        crowd.comes().await;
        sender.raw(message("ada@example.com", "slow").replace('\n', "\r\n").as_bytes()).await;
        crowd.comes().await;
        let reply = sender.command(".").await;
        assert!(reply.starts_with("250"), "{reply}");
        assert_eq!(received(&app).await.len(), 1);
        let told = crowd.sessions[0].reply().await;
        assert_eq!(told, "421 4.3.2 Too busy, try again later");
    }
}
