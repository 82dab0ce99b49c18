//! The DKIM keys of domains: both kinds sign, and each is replaced without a gap.

use std::time::Duration;

use mailwright_testkit::dns::FakeDns;
use mailwright_testkit::python::verify_dkim;
use mailwright_testkit::smtp::{Answer, ScriptedServer};
use mailwright_testkit::{App, Engine, OWNER, both_engines};
use mailwright_tests::browser::Browser;
use mailwright_tests::{inline, items, read, send_ok, text, with};
use serde_json::{Value, json};

const WEEK: Duration = Duration::from_hours(7 * 24);

/// An app whose mail a server takes, and the name server that knows its domains.
struct Shop {
    app: App,
    dns: FakeDns,
    server: ScriptedServer,
}

impl Shop {
    async fn start(engine: Engine, settings: &[(&str, &str)]) -> Self {
        let dns = FakeDns::start().await;
        let server = ScriptedServer::start(|_, _| Answer::Accept).await;
        let builder =
            App::builder(engine).smtp(server.port).env("MAILWRIGHT_DNS_SERVER", dns.addr.to_string());
        let builder = builder.env("MAILWRIGHT_DOMAINS_KEY_TYPE", "both");
        let builder = settings.iter().fold(builder, |builder, (key, value)| builder.env(key, *value));
        Self { app: builder.start().await, dns, server }
    }

    async fn add(&self) -> Value {
        let added = self.app.post("/domains").json(&json!({"domain": "shop.example"})).send().await;
        added.assert_status(201).json()
    }

    fn publish(&self, records: &[&Value]) {
        for record in records {
            self.dns.set_txt(text(&record["name"]), [text(&record["value"])]);
        }
    }

    async fn verify(&self, domain: &Value) -> Value {
        read(&self.app, &format!("/domains/{}/verify", text(&domain["id"]))).await
    }

    async fn rotate(&self, domain: &Value) -> mailwright_testkit::Response {
        let path = format!("/domains/{}/rotate-keys", text(&domain["id"]));
        self.app.post(&path).json(&json!({})).send().await
    }

    /// The selectors and algorithms of the signatures of a mail, as an independent verifier finds them valid.
    async fn signatures(&self, to: &str, records: &[&Value]) -> Vec<(String, String)> {
        let send = with(inline(&self.app, &json!(to)), &json!({"from": "hi@shop.example"}));
        send_ok(&self.app, send).await;
        let received = self.app.eventually("the mail", async || self.server.received_for(to).pop()).await;
        let known: Vec<_> = records.iter().map(|r| (text(&r["name"]), text(&r["value"]))).collect();
        let verified = verify_dkim(&received.data, &known);
        let pair =
            |found: &Value| (text(&found["selector"]).to_owned(), text(&found["algorithm"]).to_owned());
        items(&verified).iter().map(pair).collect()
    }
}

/// The records of a domain's keys, in the order in which they are listed.
fn keys(domain: &Value) -> Vec<&Value> {
    items(&domain["records"]).iter().filter(|record| record["purpose"] == "dkim").collect()
}

fn selector(record: &Value) -> String {
    text(&record["name"]).split('.').next().expect("a label").to_owned()
}

both_engines! {
    async fn both_keys_sign_once_both_are_published(engine: Engine) {
        let shop = Shop::start(engine, &[]).await;
        let domain = shop.add().await;
        let records = keys(&domain);
        assert_eq!(records.len(), 2, "{domain}");
        let kinds: Vec<_> = records.iter().map(|record| text(&record["value"]).split("; ").nth(1)).collect();
        assert_eq!(kinds, [Some("k=rsa"), Some("k=ed25519")]);
        assert_eq!((&records[0]["required"], &records[1]["required"]), (&json!(true), &json!(false)));

        // the first alone proves the domain
        shop.publish(&records[..1]);
        assert_eq!(shop.verify(&domain).await["verified"], true);
        let rsa = (selector(records[0]), "rsa-sha256".to_owned());
        assert_eq!(shop.signatures("one@example.com", &records).await, std::slice::from_ref(&rsa));
        shop.publish(&records);
        shop.verify(&domain).await;
        shop.app.advance(Duration::from_secs(10)).await;
        let ed25519 = (selector(records[1]), "ed25519-sha256".to_owned());
        assert_eq!(shop.signatures("two@example.com", &records).await, [rsa, ed25519]);
    }

    async fn keys_are_replaced_without_a_gap(engine: Engine) {
        let shop = Shop::start(engine, &[]).await;
        let domain = shop.add().await;
        shop.publish(&keys(&domain));
        shop.verify(&domain).await;
        let rotated = shop.rotate(&domain).await.assert_status(200).json();
        let all = keys(&rotated);
        assert_eq!(all.len(), 4, "{rotated}");
        assert_eq!((all[0], &rotated["verified"]), (&with(keys(&domain)[0].clone(), &json!({"status": "found", "found": all[0]["found"]})), &json!(true)));
        shop.rotate(&domain).await.assert_error(409, "CONFLICT");

        // until the new records are there, the old keys sign
        assert_eq!(shop.verify(&domain).await["verified"], true);
        let old: Vec<_> = all[..2].iter().map(|record| selector(record)).collect();
        let new: Vec<_> = all[2..].iter().map(|record| selector(record)).collect();
        let signed = |found: Vec<(String, String)>| found.into_iter().map(|(selector, _)| selector).collect::<Vec<_>>();
        assert_eq!(signed(shop.signatures("one@example.com", &all).await), old);

        shop.publish(&all[2..]);
        let replaced = shop.verify(&domain).await;
        assert_eq!(replaced["verified"], true);
        assert_eq!(keys(&replaced).iter().map(|record| selector(record)).collect::<Vec<_>>(), new, "{replaced}");
        let former: Vec<_> = items(&replaced["formerKeys"]).iter().map(|former| text(&former["name"]).split('.').next()).collect();
        let mut expected: Vec<_> = old.iter().map(|selector| Some(selector.as_str())).collect();
        expected.sort_unstable();
        let mut found = former.clone();
        found.sort_unstable();
        assert_eq!(found, expected);
        shop.app.advance(Duration::from_secs(10)).await;
        assert_eq!(signed(shop.signatures("two@example.com", &all).await), new);
        let owner = Browser::log_in(&shop.app, OWNER.0, OWNER.1).await;
        let log = format!("/projects/{}/audit", shop.app.project_id());
        let log = owner.request(&shop.app, "GET", &log).send().await.assert_status(200).text();
        assert_eq!((log.matches("domain.key_made").count(), log.matches("domain.key_replaced").count()), (1, 2), "{log}");

        // a week later nobody needs the old ones
        shop.app.advance(WEEK + Duration::from_mins(10)).await;
        assert_eq!(shop.verify(&domain).await["formerKeys"], json!([]));
        // and the keys can be replaced again
        shop.rotate(&domain).await.assert_status(200);
    }

    async fn keys_that_are_old_are_replaced_and_members_told(engine: Engine) {
        let settings = [("MAILWRIGHT_DOMAINS_KEY_LIFETIME_DAYS", "30"), ("MAILWRIGHT_PLATFORM_FROM", "hello@instance.example")];
        let shop = Shop::start(engine, &settings).await;
        let domain = shop.add().await;
        shop.publish(&keys(&domain));
        assert_eq!(keys(&shop.verify(&domain).await).len(), 2);
        shop.app.advance(Duration::from_hours(31 * 24)).await;
        let aged = shop.app.eventually("new keys", async || {
            let listed = read(&shop.app, &format!("/domains/project/{}", shop.app.project_id())).await;
            let found = items(&listed).iter().find(|found| found["id"] == domain["id"]).cloned()?;
            (keys(&found).len() == 4).then_some(found)
        }).await;
        assert_eq!(aged["verified"], true);
        // the project's other domain has old keys too
        let told = |subject: &str| {
            let mails = shop.server.received();
            let said = mails.iter().map(|mail| String::from_utf8_lossy(&mail.data).replace("=\r\n", ""));
            said.filter(|said| said.contains(subject) && said.contains("shop.example")).count()
        };
        shop.app.eventually("a letter", async || (told("has new DKIM keys") == 1).then_some(())).await;

        // a domain whose record is gone: members hear of it once
        for record in keys(&aged) {
            shop.dns.remove(text(&record["name"]));
        }
        assert_eq!(shop.verify(&domain).await["verified"], false);
        shop.app.eventually("a letter", async || (told("cannot send from one of its") == 1).then_some(())).await;
        shop.verify(&domain).await;
        shop.app.advance(Duration::from_hours(1)).await;
        shop.verify(&domain).await;
        assert_eq!((told("cannot send from one of its"), told("has new DKIM keys")), (1, 1));
    }
}
