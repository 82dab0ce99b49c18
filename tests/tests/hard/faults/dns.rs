//! The name server says nothing.

use mailwright_testkit::dns::FakeDns;
use mailwright_testkit::smtp::{Answer, ScriptedServer};
use mailwright_testkit::{App, Engine, Request, Value, json};
use mailwright_tests::{items, text};
use std::collections::BTreeMap;
use std::time::Duration;

/// Publishes the records a domain asks for.
fn publish(dns: &FakeDns, domain: &Value) {
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for record in items(&domain["records"]) {
        let (name, value) = (text(&record["name"]).to_owned(), text(&record["value"]).to_owned());
        match text(&record["type"]) {
            "TXT" => texts.entry(name).or_default().push(value),
            "CNAME" => dns.set_cname(&name, &value),
            "MX" => {
                let preference = record["priority"].as_u64().unwrap_or(10);
                dns.set_mx(&name, [(u16::try_from(preference).expect("a preference"), value)]);
            }
            other => panic!("a record of type {other}: {record}"),
        }
    }
    for (name, values) in texts {
        dns.set_txt(&name, values);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silent_dns_verifies_nothing_and_takes_nothing_away() {
    let dns = FakeDns::start().await;
    let server = ScriptedServer::start(|_, _| Answer::Accept).await;
    let app = App::builder(Engine::Sqlite)
        .smtp(server.port)
        .env("MAILWRIGHT_DNS_SERVER", dns.addr.to_string())
        .start()
        .await;
    let domain =
        app.post("/domains").json(&json!({"domain": "news.example"})).send().await.assert_status(201).json();
    assert_eq!((&domain["verified"], &domain["status"]), (&json!(false), &json!("pending")));
    assert!(!items(&domain["records"]).is_empty(), "{domain}");
    let verify: Request =
        app.get(&format!("/domains/{}/verify", text(&domain["id"]))).timeout(Duration::from_secs(20));
    let send =
        json!({"to": "ada@example.com", "subject": "Hi", "body": "<p>Hi</p>", "from": "hello@news.example"});

    dns.set_all_silent(true);
    let silent = tokio::spawn(verify.clone().send());
    app.get("/contacts?limit=1").send().await.assert_status(200);
    app.send(send.clone()).await.assert_error(403, "INTERNAL_SERVER_ERROR");
    assert!(!silent.is_finished(), "others do not wait for DNS");
    let checked = silent.await.expect("an answer").assert_status(200).json();
    assert_eq!((&checked["verified"], &checked["status"]), (&json!(false), &json!("pending")), "{checked}");

    dns.set_all_silent(false);
    let checked = verify.clone().send().await.assert_status(200).json();
    assert_eq!(checked["verified"], false, "names that do not exist: {checked}");

    publish(&dns, &domain);
    let checked = verify.clone().send().await.assert_status(200).json();
    assert_eq!((&checked["verified"], &checked["status"]), (&json!(true), &json!("verified")), "{checked}");
    app.send(send.clone()).await.assert_status(200);

    // An outage says nothing about the records.
    dns.set_all_silent(true);
    verify.clone().send().await.assert_status(200);
    app.send(send.clone()).await.assert_status(200);
    dns.set_all_silent(false);
    for record in items(&domain["records"]) {
        dns.set_servfail(text(&record["name"]));
    }
    verify.send().await.assert_status(200);
    app.send(send).await.assert_status(200);
}
