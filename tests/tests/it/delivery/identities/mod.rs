//! Sender domains that are registered with Amazon SES, as moto imitates it.

mod given_up;

use std::time::Duration;

use mailwright_testkit::dns::FakeDns;
use mailwright_testkit::net::free_port;
use mailwright_testkit::ses::{Identity, SesService};
use mailwright_testkit::{App, Engine, OWNER, Project, Value, both_engines, json, one_engine};
use mailwright_tests::browser::Browser;
use mailwright_tests::{
    as_project, assert_only_keys, assert_timestamp, inline, items, read, send_ok, text, with,
};

const DOMAIN: &str = "shop.example";
/// What sending alone needs.
const SENDING: [&str; 3] = ["ses:SendEmail", "ses:SendRawEmail", "ses:GetSendQuota"];

/// An app that registers its domains, and the name server that knows them.
struct Shop {
    app: App,
    dns: FakeDns,
    ses: SesService,
}

impl Shop {
    /// Domains get keys of a kind; SES signs in a way.
    async fn start(engine: Engine, way: &str, kind: &str) -> Self {
        let ses = SesService::start();
        let url = ses.registering_url(way);
        Self::with(engine, ses, &url, kind).await
    }

    async fn with(engine: Engine, ses: SesService, url: &str, kind: &str) -> Self {
        let dns = FakeDns::start().await;
        let app = App::builder(engine)
            .env("MAILWRIGHT_TRANSPORT", url)
            .env("MAILWRIGHT_DNS_SERVER", dns.addr.to_string())
            .env("MAILWRIGHT_DOMAINS_KEY_TYPE", kind)
            .start()
            .await;
        Self { app, dns, ses }
    }

    async fn add(&self, domain: &str) -> Value {
        let added = self.app.post("/domains").json(&json!({"domain": domain})).send().await;
        added.assert_status(201).json()
    }

    fn publish(&self, domain: &Value) {
        for record in items(&domain["records"]) {
            let (name, value) = (text(&record["name"]), text(&record["value"]));
            match text(&record["type"]) {
                "TXT" => self.dns.set_txt(name, [value]),
                "CNAME" => self.dns.set_cname(name, value),
                other => panic!("a record of type {other}: {record}"),
            }
        }
    }

    /// Has the records of a domain looked up.
    async fn check(&self, domain: &Value) -> Value {
        read(&self.app, &format!("/domains/{}/verify", text(&domain["id"]))).await
    }

    /// A domain as it is listed.
    async fn listed(&self, domain: &Value) -> Value {
        let listed = read(&self.app, &format!("/domains/project/{}", self.app.project_id())).await;
        items(&listed).iter().find(|found| found["id"] == domain["id"]).expect("the domain").clone()
    }

    /// Waits until SES said this of a domain; the domain then.
    async fn until(&self, domain: &Value, status: &str, signed_with: Option<&str>) -> Value {
        let what = format!("{status}, {signed_with:?}");
        self.app
            .eventually(&what, async || {
                let domain = self.listed(domain).await;
                let identity = &domain["identities"][0];
                let is_so = identity["status"] == status && identity["signedWith"].as_str() == signed_with;
                is_so.then_some(domain)
            })
            .await
    }

    /// A domain that is registered and verified.
    async fn verified(&self, name: &str, signed_with: &str) -> Value {
        let domain = self.add(name).await;
        self.publish(&domain);
        assert_eq!(self.check(&domain).await["verified"], true);
        self.until(&domain, "pending", Some(signed_with)).await;
        self.ses.verify(name);
        self.check(&domain).await;
        self.until(&domain, "verified", Some(signed_with)).await
    }

    /// The entries of the audit log about registered domains, newest first.
    async fn recorded(&self) -> Vec<Value> {
        let owner = Browser::log_in(&self.app, OWNER.0, OWNER.1).await;
        let mut entries = owner.audit(&self.app, self.app.project_id()).await;
        entries.retain(|entry| entry["action"] == "domain.identity_registered");
        entries
    }

    /// What the doctor says of it.
    async fn doctor(&self) -> String {
        let doctor = self.app.try_run(&["doctor"]).await;
        let said = String::from_utf8_lossy(&doctor.stdout).into_owned();
        let line = said.lines().find(|line| line.contains("  identities: "));
        line.unwrap_or_else(|| panic!("nothing about identities: {said}")).to_owned()
    }
}

/// The records of a domain for a purpose.
fn records<'d>(domain: &'d Value, purpose: &str) -> Vec<&'d Value> {
    items(&domain["records"]).iter().filter(|record| record["purpose"] == purpose).collect()
}

/// Selector and public key of a record.
fn key(record: &Value) -> (String, String) {
    let selector = text(&record["name"]).split('.').next().expect("a label").to_owned();
    let (_, public_key) = text(&record["value"]).split_once("p=").expect("a key");
    (selector, public_key.to_owned())
}

/// Selector and public key of what SES was given.
fn given(identity: &Identity) -> (String, String) {
    assert_eq!(identity.origin, "EXTERNAL", "{identity:?}");
    (identity.selector.clone().unwrap_or_default(), identity.public_key.clone().unwrap_or_default())
}

both_engines! {
    async fn a_domain_is_registered_with_its_own_key_once_its_record_is_found(engine: Engine) {
        let shop = Shop::start(engine, "own_key", "rsa").await;
        let domain = shop.add(DOMAIN).await;
        assert_eq!(domain["identities"], json!([]));
        assert_eq!(shop.check(&domain).await["identities"], json!([]), "its record is not there");

        shop.publish(&domain);
        let checked = shop.check(&domain).await;
        assert_eq!((&checked["verified"], &checked["identities"][0]["status"]), (&json!(true), &json!("pending")));
        let found = shop.until(&domain, "pending", Some("own_key")).await;
        let identity = &found["identities"][0];
        assert_only_keys(identity, &["transport", "status", "signedWith", "error", "errorKind", "checkedAt"]);
        assert_eq!((&identity["transport"], &identity["error"]), (&json!("default"), &json!(null)));
        assert_timestamp(&identity["checkedAt"]);
        let registered = shop.ses.identities();
        assert_eq!(registered.len(), 1, "the domain that the operator vouches for is not: {registered:?}");
        assert_eq!(registered[0].name, DOMAIN);
        assert_eq!(given(&registered[0]), key(records(&domain, "dkim")[0]), "the key that is published");
        assert!(records(&found, "ses_dkim").is_empty(), "no further record is needed: {found}");

        shop.ses.verify(DOMAIN);
        shop.check(&domain).await;
        shop.until(&domain, "verified", Some("own_key")).await;
        let send = with(inline(&shop.app, &json!("ada@example.com")), &json!({"from": format!("hi@{DOMAIN}")}));
        let sent = send_ok(&shop.app, send).await;
        shop.app.email_in(text(&sent["emails"][0]["email"]), &["SENT"]).await;
        assert_eq!(shop.ses.messages().len(), 1);

        // a domain that is verified is asked about once an hour
        shop.check(&domain).await;
        shop.app.advance(Duration::from_mins(61)).await;
        let asked = shop.app.eventually("it is asked about again", async || {
            let asked = shop.ses.asked(DOMAIN);
            (asked.len() > 2).then_some(asked)
        }).await;
        assert_eq!(asked, ["CreateEmailIdentity", "GetEmailIdentity", "GetEmailIdentity"]);
        let recorded = shop.recorded().await;
        let details = json!({"transport": "default", "signedWith": "own_key", "selector": key(records(&domain, "dkim")[0]).0});
        assert_eq!((recorded.len(), &recorded[0]["target"], &recorded[0]["details"]), (1, &json!(DOMAIN), &details));
    }

    async fn a_new_key_takes_the_place_of_the_old_one(engine: Engine) {
        let shop = Shop::start(engine, "own_key", "rsa").await;
        let domain = shop.verified(DOMAIN, "own_key").await;
        let old = key(records(&domain, "dkim")[0]);
        let path = format!("/domains/{}/rotate-keys", text(&domain["id"]));
        let rotated = shop.app.post(&path).json(&json!({})).send().await.assert_status(200).json();
        let new = key(records(&rotated, "dkim")[1]);
        shop.check(&domain).await;
        assert_eq!(given(&shop.ses.identities()[0]), old, "its record is not there yet");

        shop.publish(&rotated);
        let replaced = shop.check(&domain).await;
        assert_eq!(key(records(&replaced, "dkim")[0]), new);
        shop.app.eventually("SES has the new key", async || {
            (given(&shop.ses.identities()[0]) == new).then_some(())
        }).await;
        shop.ses.verify(DOMAIN);
        shop.until(&domain, "pending", Some("own_key")).await;
        shop.check(&domain).await;
        shop.until(&domain, "verified", Some("own_key")).await;
        let selectors: Vec<_> =
            shop.recorded().await.iter().map(|entry| text(&entry["details"]["selector"]).to_owned()).collect();
        assert_eq!(selectors, [new.0, old.0]);
    }
}

one_engine! {
    async fn keys_of_ses_need_records_that_are_listed_and_looked_up(engine: Engine) {
        let shop = Shop::start(engine, "easy_dkim", "ed25519").await;
        let domain = shop.add(DOMAIN).await;
        shop.publish(&domain);
        shop.check(&domain).await;
        let found = shop.until(&domain, "pending", Some("easy_dkim")).await;
        let tokens = shop.ses.identities()[0].tokens.clone();
        let wanted: Vec<_> = tokens
            .iter()
            .map(|token| json!({
                "type": "CNAME", "name": format!("{token}._domainkey.{DOMAIN}"),
                "value": format!("{token}.dkim.amazonses.com"),
                "purpose": "ses_dkim", "required": false, "status": "unchecked", "found": [], "difference": null,
                "differenceKind": null, "zone": format!("{token}._domainkey.{DOMAIN}. IN CNAME {token}.dkim.amazonses.com."),
            }))
            .collect();
        assert_eq!((wanted.len(), records(&found, "ses_dkim")), (3, wanted.iter().collect::<Vec<_>>()));

        let missing = shop.check(&domain).await;
        assert!(records(&missing, "ses_dkim").iter().all(|record| record["status"] == "missing"), "{missing}");
        assert_eq!(missing["verified"], true, "the domain's own key decides");
        shop.publish(&found);
        shop.ses.verify(DOMAIN);
        let published = shop.check(&domain).await;
        assert!(records(&published, "ses_dkim").iter().all(|record| record["status"] == "found"), "{published}");
        shop.until(&domain, "verified", Some("easy_dkim")).await;
    }

    async fn a_domain_without_an_rsa_key_is_signed_for_with_keys_of_ses(engine: Engine) {
        let shop = Shop::start(engine, "own_key", "ed25519").await;
        let domain = shop.verified(DOMAIN, "easy_dkim").await;
        assert_eq!(shop.ses.identities()[0].origin, "AWS_SES");
        assert_eq!(records(&domain, "ses_dkim").len(), 3);
    }

    async fn what_ses_refuses_is_shown_and_asked_again_and_does_not_disturb_the_domain(engine: Engine) {
        let shop = Shop::start(engine, "own_key", "rsa").await;
        let said = shop.doctor().await;
        assert!(said.starts_with("ok ") && said.contains("own_key"), "{said}");
        shop.ses.set_rights(&SENDING);
        let domain = shop.add(DOMAIN).await;
        shop.publish(&domain);
        assert_eq!(shop.check(&domain).await["verified"], true);
        let denied = shop.until(&domain, "denied", None).await;
        let error = text(&denied["identities"][0]["error"]);
        assert_eq!(error, "Amazon SES does not let this instance register domains. Ask whoever runs it.");
        assert_eq!(denied["identities"][0]["errorKind"], "denied");
        assert!(shop.app.log().contains("ses:CreateEmailIdentity"), "the log says what SES said");
        assert_eq!(denied["verified"], true);
        let said = shop.doctor().await;
        assert!(said.starts_with("WRONG") && said.contains("ses:PutEmailIdentityDkimSigningAttributes"), "{said}");
        shop.ses.set_rights(&["ses:*"]);
        let said = shop.doctor().await;
        assert!(said.starts_with("WRONG") && said.contains("refused to register 1 domains"), "{said}");

        shop.ses.refuse_identities("TooManyRequestsException", 429, "Rate exceeded", 1);
        assert_eq!(shop.check(&domain).await["verified"], true);
        let throttled = shop.until(&domain, "throttled", None).await;
        assert_eq!(throttled["identities"][0]["error"], "Amazon SES was asked too often. It is asked again at a later check.");
        shop.check(&domain).await;
        let registered = shop.until(&domain, "pending", Some("own_key")).await;
        assert_eq!(registered["identities"][0]["error"], json!(null));
        assert_eq!(registered["identities"][0]["errorKind"], json!(null));
        assert!(shop.doctor().await.starts_with("ok "));

        // what was verified stays so
        shop.ses.verify(DOMAIN);
        shop.check(&domain).await;
        shop.until(&domain, "verified", Some("own_key")).await;
        shop.ses.refuse_identities("InternalServiceErrorException", 500, "Try again", 1);
        shop.app.advance(Duration::from_mins(61)).await;
        shop.app.eventually("it failed", async || {
            let identity = shop.listed(&domain).await["identities"][0].clone();
            (identity["status"] == "verified" && identity["error"].is_string()).then_some(())
        }).await;
        assert!(!shop.app.log().contains(shop.ses.secret()));
    }

    async fn a_service_that_is_away_is_asked_again(engine: Engine) {
        let ses = SesService::start();
        let url = format!("{}&identities=own_key", ses.url(free_port()));
        let mut shop = Shop::with(engine, ses, &url, "rsa").await;
        let domain = shop.add(DOMAIN).await;
        shop.publish(&domain);
        assert_eq!(shop.check(&domain).await["verified"], true);
        shop.until(&domain, "unavailable", None).await;
        shop.app.stop().await;
        let url = shop.ses.registering_url("own_key");
        shop.app.restart_with(&[("MAILWRIGHT_TRANSPORT", url.as_str())]).await;
        assert_eq!(shop.check(&domain).await["verified"], true);
        shop.until(&domain, "pending", Some("own_key")).await;
    }

    async fn a_domain_that_is_not_proved_is_never_registered(engine: Engine) {
        let shop = Shop::start(engine, "easy_dkim", "ed25519").await;
        let bank = shop.add("bank.example").await;
        assert_eq!(shop.check(&bank).await["identities"], json!([]));
        // somebody else's key is there
        shop.dns.set_txt(text(&bank["records"][0]["name"]), ["v=DKIM1; k=ed25519; p=c29tZWJvZHkncw=="]);
        shop.check(&bank).await;
        shop.app.advance(Duration::from_mins(10)).await;
        shop.verified(DOMAIN, "easy_dkim").await;
        assert_eq!(shop.listed(&bank).await["identities"], json!([]));
        for name in ["bank.example", shop.app.domain()] {
            assert!(shop.ses.asked(name).is_empty(), "{name}");
        }
    }

    async fn who_was_first_keeps_a_domain_while_it_serves(engine: Engine) {
        let shop = Shop::start(engine, "own_key", "rsa").await;
        let other = shop.app.bootstrap("Neighbour", "neighbour.example").await;
        let first = shop.verified(DOMAIN, "own_key").await;
        let asks = |project: &Project, method: &str, path: &str| as_project(&shop.app, project, method, path);
        let added = asks(&other, "POST", "/domains").json(&json!({"domain": DOMAIN})).send().await;
        let second = added.assert_status(201).json();
        shop.publish(&second);
        let check = format!("/domains/{}/verify", text(&second["id"]));
        let look = async || asks(&other, "GET", &check).send().await.assert_status(200).json();
        let identity = async || {
            let listed = asks(&other, "GET", &format!("/domains/project/{}", other.id)).send().await;
            let listed = listed.assert_status(200).json();
            let found = items(&listed).iter().find(|domain| domain["domain"] == DOMAIN);
            found.expect("the domain")["identities"][0].clone()
        };

        // it exists: that is asked about at the next check
        assert_eq!(look().await["verified"], true);
        shop.app.eventually("SES says that it exists", async || {
            (!identity().await["checkedAt"].is_null()).then_some(())
        }).await;
        look().await;
        shop.app.eventually("it is verified for both", async || {
            let identity = identity().await;
            (identity["status"] == "verified" && identity["signedWith"] == "own_key").then_some(())
        }).await;
        let firsts = key(records(&first, "dkim")[0]);
        assert_eq!(given(&shop.ses.identities()[0]), firsts);

        // the first one loses the name, and SES notices
        shop.dns.remove(text(&records(&first, "dkim")[0]["name"]));
        assert_eq!(shop.check(&first).await["verified"], false);
        shop.ses.fail(DOMAIN);
        shop.app.advance(Duration::from_mins(61)).await;
        shop.app.eventually("SES says that it failed", async || {
            (identity().await["status"] == "failed").then_some(())
        }).await;
        look().await;
        let seconds = key(records(&second, "dkim")[0]);
        shop.app.eventually("the second one has put its key", async || {
            (given(&shop.ses.identities()[0]) == seconds).then_some(())
        }).await;
        let puts = shop.ses.asked(DOMAIN).iter().filter(|asked| asked.starts_with("Put")).count();
        assert_eq!(puts, 1, "the first one does not take it back");
    }
}
