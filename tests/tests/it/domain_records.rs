//! What a check says of the records of a domain: what is different about them, and what to do.

use mailwright_testkit::dns::FakeDns;
use mailwright_testkit::{App, AppBuilder, Engine, both_engines};
use mailwright_tests::{items, read, text};
use serde_json::{Value, json};

/// An app that sends to nowhere and asks `dns` about domains.
fn asking(engine: Engine, dns: &FakeDns) -> AppBuilder {
    App::builder(engine).smtp(9).env("MAILWRIGHT_DNS_SERVER", dns.addr.to_string())
}

async fn add(app: &App, domain: &str) -> Value {
    app.post("/domains").json(&json!({"domain": domain})).send().await.assert_status(201).json()
}

async fn verify(app: &App, domain: &Value) -> Value {
    read(app, &format!("/domains/{}/verify", text(&domain["id"]))).await
}

/// The record of a purpose, the first of several.
fn record<'a>(domain: &'a Value, purpose: &str) -> &'a Value {
    let found = items(&domain["records"]).iter().find(|record| record["purpose"] == purpose);
    found.unwrap_or_else(|| panic!("no record {purpose} in {domain}"))
}

/// What is said to be different about a record, with its state.
fn said<'a>(domain: &'a Value, purpose: &str) -> (&'a str, &'a str) {
    let record = record(domain, purpose);
    (text(&record["status"]), record["difference"].as_str().unwrap_or_default())
}

both_engines! {
    async fn what_is_different_is_told_in_words(engine: Engine) {
        let dns = FakeDns::start().await;
        let app = asking(engine, &dns)
            .env("MAILWRIGHT_DOMAINS_SPF", "include:spf.example.net")
            .env("MAILWRIGHT_INBOUND_RETURN_PATH", "bounces.example.net")
            .start()
            .await;
        let domain = add(&app, "shop.example").await;
        assert!(items(&domain["records"]).iter().all(|record| record["difference"].is_null()), "{domain}");
        let key = record(&domain, "dkim").clone();
        let (name, value) = (text(&key["name"]), text(&key["value"]));

        // nothing is there yet
        let missing = verify(&app, &domain).await;
        let (status, told) = said(&missing, "dkim");
        assert_eq!(status, "missing");
        assert!(told.contains(&format!("There is no TXT record at {name}.")), "{told}");

        dns.set_txt(name, [format!("\"{value}\"")]);
        dns.set_txt("shop.example", ["v=spf1 mx -all", "some-verification=abc"]);
        dns.set_txt("_dmarc.shop.example.shop.example", ["v=DMARC1; p=none"]);
        dns.set_cname("bounce.shop.example", "elsewhere.example");
        let found = verify(&app, &domain).await;
        let (status, told) = said(&found, "dkim");
        assert!(status == "mismatch" && told.contains("quotation marks"), "{found}");
        let (status, told) = said(&found, "spf");
        let write = "Write instead: v=spf1 mx include:spf.example.net -all";
        assert!(status == "mismatch" && told.ends_with(write), "{found}");
        let (status, told) = said(&found, "dmarc");
        assert!(status == "missing" && told.contains("Enter the name as _dmarc there."), "{found}");
        let points = "bounce.shop.example points to elsewhere.example, and has to point to bounces.example.net.";
        assert_eq!(said(&found, "return_path"), ("mismatch", points));
        // and in a form that programs read
        for (purpose, kind, details) in [
            ("dkim", "wrapped", json!(null)),
            (
                "spf",
                "spf_lacks",
                json!({"wanted": "include:spf.example.net", "instead": "v=spf1 mx include:spf.example.net -all"}),
            ),
            ("dmarc", "doubled", json!({"at": "_dmarc.shop.example.shop.example", "enter": "_dmarc"})),
            ("return_path", "elsewhere", json!({"found": "elsewhere.example"})),
        ] {
            let record = record(&found, purpose);
            assert_eq!((&record["differenceKind"], &record["differenceDetails"]), (&json!(kind), &details), "{record}");
        }

        // what is there in a form that receivers pass over
        dns.set_txt("_dmarc.shop.example", ["DMARC1; p=none"]);
        dns.set_servfail("bounce.shop.example");
        dns.set_txt(name, [value]);
        let found = verify(&app, &domain).await;
        assert_eq!(said(&found, "dkim"), ("found", ""));
        assert!(record(&found, "dkim")["difference"].is_null());
        assert!(record(&found, "dkim")["differenceKind"].is_null());
        let (status, told) = said(&found, "dmarc");
        assert!(status == "missing" && told.contains("does not begin with v=DMARC1"), "{found}");
        let (status, told) = said(&found, "return_path");
        assert!(status == "unavailable" && told.contains("gave no answer"), "{found}");
        // the list shows the same
        let listed = read(&app, &format!("/domains/project/{}", app.project_id())).await;
        assert_eq!(listed[0]["records"], found["records"]);
    }

    async fn the_doubled_name_is_asked_about_only_where_a_record_is_missing(engine: Engine) {
        let dns = FakeDns::start().await;
        let app = asking(engine, &dns).start().await;
        let domain = add(&app, "shop.example").await;
        let key = record(&domain, "dkim");
        let (name, value) = (text(&key["name"]), text(&key["value"]));
        let doubled = format!("{name}.shop.example");
        dns.set_txt(name, [value]);
        assert_eq!(verify(&app, &domain).await["verified"], true);
        dns.set_txt(name, ["v=DKIM1; k=ed25519; p=another"]);
        verify(&app, &domain).await;
        assert_eq!(dns.queries_for(&doubled), 0);
        dns.remove(name);
        // another record there says nothing
        dns.set_txt(&doubled, ["v=DKIM1; k=ed25519; p=another"]);
        let found = verify(&app, &domain).await;
        assert!(said(&found, "dkim").1.contains("There is no TXT record"), "{found}");
        dns.set_txt(&doubled, [value]);
        let found = verify(&app, &domain).await;
        assert!(said(&found, "dkim").1.contains(&format!("The record is at {doubled}")), "{found}");
        assert_eq!(found["verified"], false, "receivers do not look there");
    }
}
