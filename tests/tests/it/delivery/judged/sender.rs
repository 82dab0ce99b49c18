//! A service with sender domains, whose mail a server takes.

use std::collections::BTreeMap;
use std::time::Duration;

use mailwright_testkit::dns::FakeDns;
use mailwright_testkit::net::free_port;
use mailwright_testkit::smtp::{Answer, ScriptedServer};
use mailwright_testkit::{App, Engine, Value, json};
use mailwright_tests::{items, read, send_ok, text, with};

const PATIENCE: Duration = Duration::from_mins(1);
/// From where the mails come, and how that server calls itself. Addresses for documentation are no use: SpamAssassin
/// takes them for forged.
pub(super) const ADDRESS: &str = "198.18.0.25";
pub(super) const HELO: &str = "out.example.net";
pub(super) const RECEIVER: &str = "mx.example.org";
/// What else DNS knows: name, type and value.
const HOSTS: [(&str, &str, &str); 18] = [
    ("25.0.18.198.in-addr.arpa", "PTR", HELO),
    (HELO, "A", ADDRESS),
    (HELO, "TXT", "v=spf1 a -all"),
    ("example.net", "A", ADDRESS),
    ("example.net", "MX", "10 mx.example.net"),
    ("mx.example.net", "A", ADDRESS),
    ("mail.example.net", "A", ADDRESS),
    ("mail.example.net", "MX", "10 mx.example.net"),
    ("mail.example.net", "TXT", "v=spf1 ip4:198.18.0.25 ~all"),
    ("bounces.example.net", "MX", "10 mx.example.net"),
    ("bounces.example.net", "TXT", "v=spf1 ip4:198.18.0.25 ~all"),
    ("example.com", "A", "198.18.0.80"),
    ("shop.example.com", "A", "198.18.0.80"),
    ("shop.example.com", "MX", "10 mx.example.net"),
    ("www.shop.example.com", "A", "198.18.0.80"),
    ("acme.test", "MX", "10 mx.example.net"),
    ("example.org", "MX", "10 mx.example.org"),
    (RECEIVER, "A", "198.18.1.7"),
];
pub(super) const FROM: &str = "hello@shop.example.com";

/// A service with sender domains, the server that takes its mail, and what DNS knows.
pub(super) struct Sender {
    pub(super) app: App,
    pub(super) server: ScriptedServer,
    dns: FakeDns,
    pub(super) zone: BTreeMap<String, BTreeMap<String, Vec<String>>>,
}

impl Sender {
    pub(super) async fn start(key_type: &str) -> Self {
        let answer = |to: &str, _| {
            if to.starts_with("nobody") {
                Answer::RefuseRcpt(550, "5.1.1 no such user")
            } else {
                Answer::Accept
            }
        };
        let server = ScriptedServer::start(answer).await;
        let dns = FakeDns::start().await;
        let app = App::builder(Engine::Sqlite)
            .smtp(server.port)
            .env("MAILWRIGHT_LOG", "info")
            .env("MAILWRIGHT_DNS_SERVER", dns.addr.to_string())
            .env("MAILWRIGHT_BASE_URL", "https://mail.example.net")
            .env("MAILWRIGHT_PLATFORM_FROM", "noreply@mail.example.net")
            .env("MAILWRIGHT_DOMAINS_KEY_TYPE", key_type)
            .env("MAILWRIGHT_DOMAINS_SPF", format!("ip4:{ADDRESS}"))
            .env("MAILWRIGHT_INBOUND_LISTEN", format!("127.0.0.1:{}", free_port()))
            .env("MAILWRIGHT_INBOUND_HOST", "mx.example.net")
            .env("MAILWRIGHT_INBOUND_RETURN_PATH", "bounces.example.net")
            // for the notices about limits
            .env("MAILWRIGHT_BILLING_SECRET_KEY", "sk_test")
            .env("MAILWRIGHT_BILLING_WEBHOOK_SECRET", "whsec_test")
            .env("MAILWRIGHT_BILLING_FREE_MAILS", "100")
            .start()
            .await;
        let mut sender = Self { app, server, dns, zone: BTreeMap::new() };
        for (name, kind, value) in HOSTS {
            sender.know(name, kind, value);
        }
        let domain = json!({"domain": "shop.example.com"});
        sender.app.post("/domains").json(&domain).send().await.assert_status(201);
        let domains = read(&sender.app, &format!("/domains/project/{}", sender.app.project_id())).await;
        for domain in items(&domains) {
            sender.publish(domain).await;
        }
        sender
    }

    fn know(&mut self, name: &str, kind: &str, value: &str) {
        let kinds = self.zone.entry(name.to_owned()).or_default();
        kinds.entry(kind.to_owned()).or_default().push(value.to_owned());
    }

    /// Publishes what a sender domain asks for, and has it looked at.
    async fn publish(&mut self, domain: &Value) {
        for record in items(&domain["records"]) {
            let (name, value) = (text(&record["name"]), text(&record["value"]));
            match text(&record["type"]) {
                "TXT" => self.dns.set_txt(name, [value]),
                "CNAME" => self.dns.set_cname(name, value),
                // its mail goes elsewhere
                "MX" => continue,
                other => panic!("a record of type {other}: {record}"),
            }
            self.know(name, text(&record["type"]), value);
        }
        let found = read(&self.app, &format!("/domains/{}/verify", text(&domain["id"]))).await;
        for record in items(&found["records"]).iter().filter(|record| record["purpose"] != "inbound") {
            assert_eq!(record["status"], "found", "{found}");
        }
    }

    /// Publishes the keys of the instance's own mails, which only the log tells.
    pub(super) fn publish_own_keys(&mut self) {
        let log = self.app.log();
        let lines = log.lines().filter(|line| line.contains("own mails are signed with the key"));
        let records: Vec<Value> =
            lines.map(|line| serde_json::from_str(line).expect("a line of JSON")).collect();
        assert!(!records.is_empty(), "the log tells the record: {log}");
        for record in records {
            self.know(text(&record["name"]), "TXT", text(&record["value"]));
        }
    }

    /// Sends a mail to the address that is named after its kind.
    pub(super) async fn send(&self, kind: &str, fields: Value) {
        let plain = json!({
            "to": {"email": address(kind), "name": "Ada Lindholm"},
            "from": {"email": FROM, "name": "The Garden Shop"},
        });
        send_ok(&self.app, with(plain, &fields)).await;
    }

    pub(super) async fn template(&self, kind: &str, fields: Value) -> Value {
        let plain = json!({"name": "Letter", "type": kind, "from": FROM, "fromName": "The Garden Shop"});
        let made = self.app.post("/templates").json(&with(plain, &fields)).send().await;
        made.assert_status(201).json()["id"].clone()
    }

    /// Waits until so many mails for an address have come.
    pub(super) async fn wait_for(&self, to: &str, count: usize) {
        let what = format!("{count} mails for {to}");
        let came = async || (self.server.copies().get(to) == Some(&count)).then_some(());
        self.app.eventually_within(PATIENCE, &what, came).await;
    }
}

pub(super) fn address(kind: &str) -> String {
    format!("{kind}@example.org")
}
