//! Sender domains: claiming, the records to publish, verification and removal.

use mailwright_testkit::dns::FakeDns;
use mailwright_testkit::smtp::{Answer, ScriptedServer};
use mailwright_testkit::{App, Engine, Response, both_engines, one_engine};
use mailwright_tests::{
    UNKNOWN_ID, as_project, assert_keys, assert_timestamp, assert_uuid, column, create_template,
};
use mailwright_tests::{inline, issue, items, read, send_ok, shown, text, with};
use serde_json::{Value, json};

const SHAPE: &[&str] = &[
    "id",
    "domain",
    "verified",
    "status",
    "records",
    "formerKeys",
    "identities",
    "projectId",
    "createdAt",
    "updatedAt",
];

async fn add(app: &App, domain: &str) -> Response {
    app.post("/domains").json(&json!({"domain": domain})).send().await
}

async fn verify(app: &App, domain: &Value) -> Value {
    read(app, &format!("/domains/{}/verify", text(&domain["id"]))).await
}

/// Publishes what a domain asks for.
fn publish(dns: &FakeDns, domain: &Value) {
    for record in items(&domain["records"]) {
        let (name, value) = (text(&record["name"]), text(&record["value"]));
        match text(&record["type"]) {
            "TXT" => dns.set_txt(name, [value]),
            "CNAME" => dns.set_cname(name, value),
            "MX" => {
                let host = value.rsplit(' ').next().expect("a host");
                dns.set_mx(name, [(record["priority"].as_u64().unwrap_or(10) as u16, host)]);
            }
            other => panic!("a record of type {other}: {record}"),
        }
    }
}

/// An app that sends to nowhere and asks `dns` about domains.
async fn with_dns(engine: Engine, dns: &FakeDns) -> App {
    let builder = App::builder(engine).env("MAILWRIGHT_TRANSPORT", "smtp://127.0.0.1:9?tls=none");
    builder.env("MAILWRIGHT_DNS_SERVER", dns.addr.to_string()).start().await
}

both_engines! {
    async fn a_domain_is_added_with_the_records_to_publish(engine: Engine) {
        let dns = FakeDns::start().await;
        let app = with_dns(engine, &dns).await;
        let domain = add(&app, "pending.example").await.assert_status(201).json();
        assert_keys(&domain, SHAPE);
        assert_uuid(&domain["id"]);
        assert_timestamp(&domain["createdAt"]);
        assert_eq!(domain["domain"], "pending.example");
        assert_eq!((&domain["verified"], &domain["status"]), (&json!(false), &json!("pending")));
        assert_eq!(domain["projectId"], app.project_id());

        let records = items(&domain["records"]);
        assert!(records.iter().any(|record| record["required"] == true), "{domain}");
        for record in records {
            assert_keys(record, &["type", "name", "value", "purpose", "required", "status", "found"]);
            let name = text(&record["name"]);
            assert!(name == "pending.example" || name.ends_with(".pending.example"), "{record}");
            assert!(!text(&record["value"]).is_empty() && !text(&record["purpose"]).is_empty(), "{record}");
            assert!(record["required"].is_boolean() && record["status"].is_string(), "{record}");
        }
        assert!(records.iter().any(|r| text(&r["name"]).contains("._domainkey.")), "a DKIM key: {domain}");
    }

    async fn a_domain_is_verified_while_its_records_are_published(engine: Engine) {
        let dns = FakeDns::start().await;
        let app = with_dns(engine, &dns).await;
        let domain = add(&app, "pending.example").await.assert_status(201).json();
        assert_eq!(verify(&app, &domain).await["verified"], false, "nothing is published yet");

        publish(&dns, &domain);
        let verified = verify(&app, &domain).await;
        assert_keys(&verified, SHAPE);
        assert_eq!(
            (&verified["verified"], &verified["status"]),
            (&json!(true), &json!("verified")),
            "{verified}"
        );
        assert_eq!((&verified["id"], &verified["domain"]), (&domain["id"], &domain["domain"]));
        let send = with(inline(&app, &json!("ann@example.com")), &json!({"from": "hi@pending.example"}));
        send_ok(&app, send.clone()).await;

        for record in items(&domain["records"]) {
            dns.remove(text(&record["name"]));
        }
        let lost = verify(&app, &domain).await;
        assert_eq!((&lost["verified"], &lost["status"]), (&json!(false), &json!("pending")), "{lost}");
        app.send(send).await.assert_error(403, "INTERNAL_SERVER_ERROR");
    }

    async fn a_wrong_record_is_shown_as_found(engine: Engine) {
        let dns = FakeDns::start().await;
        let app = with_dns(engine, &dns).await;
        let domain = add(&app, "pending.example").await.assert_status(201).json();
        publish(&dns, &domain);
        let required = items(&domain["records"]).iter().find(|r| r["required"] == true && r["type"] == "TXT");
        let name = text(&required.expect("a required TXT record")["name"]);
        dns.set_txt(name, ["v=DKIM1; p=somebody-elses-key"]);
        let checked = verify(&app, &domain).await;
        assert_eq!(checked["verified"], false, "{checked}");
        let record = items(&checked["records"]).iter().find(|record| record["name"] == name);
        let found = &record.expect("the record")["found"];
        assert!(found.to_string().contains("somebody-elses-key"), "{checked}");
    }

    async fn with_the_capture_transport_a_domain_is_verified_at_once(engine: Engine) {
        let app = App::start(engine).await;
        let domain = add(&app, "Mail.Shop.EXAMPLE.").await.assert_status(201).json();
        assert_keys(&domain, SHAPE);
        assert_eq!(domain["domain"], "mail.shop.example", "lower case, without the final dot");
        assert_eq!((&domain["verified"], &domain["status"]), (&json!(true), &json!("verified")));
        assert_eq!(verify(&app, &domain).await["verified"], true);
        let from = json!({"from": "hi@mail.shop.example"});
        send_ok(&app, with(inline(&app, &json!("ann@example.com")), &from)).await;
        // Neither the domain above nor those below come with it.
        for other in ["hi@shop.example", "hi@a.mail.shop.example"] {
            let send = with(inline(&app, &json!("ann@example.com")), &json!({"from": other}));
            app.send(send).await.assert_error(403, "INTERNAL_SERVER_ERROR");
        }
    }

    async fn what_was_verified_while_mail_was_captured_is_proven_before_mail_leaves(engine: Engine) {
        let mut app = App::start(engine).await;
        let bank = add(&app, "bank.example").await.assert_status(201).json();
        assert_eq!(bank["verified"], true);
        app.stop().await;
        app.restart_with(&[("MAILWRIGHT_TRANSPORT", "smtp://127.0.0.1:9?tls=none")]).await;
        let from_bank = with(inline(&app, &json!("ann@example.com")), &json!({"from": "ceo@bank.example"}));
        app.send(from_bank).await.assert_error(403, "INTERNAL_SERVER_ERROR");
        let listed = read(&app, &format!("/domains/project/{}", app.project_id())).await;
        let listed: Vec<_> = items(&listed).iter().filter(|domain| domain["id"] == bank["id"]).collect();
        assert_eq!(listed[0]["verified"], false, "{listed:?}");
        // the operator's own is vouched for
        send_ok(&app, inline(&app, &json!("ann@example.com"))).await;
    }

    async fn mail_of_a_domain_whose_key_cannot_be_opened_waits_and_says_why(engine: Engine) {
        let mut app = App::start(engine).await;
        add(&app, "newer.example").await.assert_status(201);
        app.post("/contacts").json(&json!({"email": "ann@example.com"})).send().await.assert_status(201);
        app.stop().await;
        let domain = app.domain().to_owned();
        let damage = "update domains set private_key = substr(private_key, 2)";
        app.tamper(&format!("{damage} where name = '{domain}'")).await;
        app.restart().await;
        let said = format!("whose mail waits: {domain};");
        app.eventually("the log names the domain", async || app.log().contains(&said).then_some(())).await;

        let why = format!("The key of the sender's domain {domain} cannot be decrypted");
        for to in ["bob@example.com", "cy@example.com"] {
            let sent = send_ok(&app, inline(&app, &json!(to))).await;
            let path = format!("/emails/{}", text(&sent["emails"][0]["email"]));
            let waits = async || {
                let email = read(&app, &path).await;
                email["error"].as_str().is_some_and(|error| error.starts_with(&why)).then_some(email)
            };
            let email = app.eventually("the mail says why it waits", waits).await;
            assert_eq!((&email["status"], &email["attemptCount"]), (&json!("PENDING"), &json!(0)), "{email}");
        }
        assert_eq!(app.log().matches("mail of a domain waits").count(), 1, "{}", app.log());
        let draft = json!({
            "name": "News", "subject": "News", "body": "<p>News</p>", "from": app.from(), "audienceType": "ALL",
        });
        let campaign = app.post("/campaigns").json(&draft).send().await.assert_status(201).json()["data"].clone();
        let path = format!("/campaigns/{}", text(&campaign["id"]));
        app.post(&format!("{path}/send")).json(&json!({})).send().await.assert_status(200);
        app.eventually("the campaign is paused", async || {
            let campaign = read(&app, &path).await;
            let note = campaign["note"].as_str()?;
            (note.contains(&format!("the key of the domain {domain} cannot be decrypted"))
                && !campaign["pausedAt"].is_null())
            .then_some(())
        })
        .await;
        let doctor = app.try_run(&["doctor"]).await;
        let said = String::from_utf8_lossy(&doctor.stdout);
        assert!(!doctor.status.success() && said.contains("whose mail waits"), "{said}");
        assert!(said.contains(&domain) && !said.contains("newer.example"), "{said}");
    }

    async fn with_a_lost_secret_every_domain_gets_a_new_key_in_place(engine: Engine) {
        let dns = FakeDns::start().await;
        let server = ScriptedServer::start(|_, _| Answer::Accept).await;
        let app = App::builder(engine).smtp(server.port).env("MAILWRIGHT_DNS_SERVER", dns.addr.to_string());
        let mut app = app.start().await;
        let domain = add(&app, "shop.example").await.assert_status(201).json();
        publish(&dns, &domain);
        assert_eq!(verify(&app, &domain).await["verified"], true);
        let from = json!({"from": "hi@shop.example"});
        create_template(&app, &from).await;
        app.stop().await;
        let another = [("MAILWRIGHT_SECRET", "another secret of this instance")];
        app.restart_as(&["--lost-secret"], &another).await;
        app.eventually("the keys are renewed", async || {
            app.log().contains("the next start needs no --lost-secret").then_some(())
        })
        .await;

        let list = format!("/domains/project/{}", app.project_id());
        let domains = read(&app, &list).await;
        let renewed = &domains[0];
        assert_eq!((&renewed["id"], &renewed["status"]), (&domain["id"], &json!("pending")), "{renewed}");
        assert_ne!(renewed["records"][0]["name"], domain["records"][0]["name"], "another selector");
        assert!(app.log().contains(text(&renewed["records"][0]["name"])), "{}", app.log());
        let bob = inline(&app, &json!("bob@example.com"));
        app.send(with(bob.clone(), &from)).await.assert_status(403);
        let vouched = send_ok(&app, bob.clone()).await;
        app.email_in(text(&vouched["emails"][0]["email"]), &["SENT"]).await;

        assert_eq!(verify(&app, renewed).await["verified"], false, "the old record is not enough");
        publish(&dns, renewed);
        assert_eq!(verify(&app, renewed).await["verified"], true);
        let sent = send_ok(&app, with(bob, &from)).await;
        app.email_in(text(&sent["emails"][0]["email"]), &["SENT"]).await;
        let audit = app.run(&["project", "audit", app.project_id()]).await;
        assert_eq!(audit.matches("domain.renewed").count(), 2, "{audit}");
        app.stop().await;
        app.restart_as(&[], &[]).await;
        assert_eq!(read(&app, &list).await[0]["records"], verify(&app, renewed).await["records"], "once");
    }

    async fn the_domains_of_a_project_are_listed_newest_first(engine: Engine) {
        let app = App::start(engine).await;
        let other = app.bootstrap("Neighbour", "neighbour.example").await;
        add(&app, "one.example").await.assert_status(201);
        let two = add(&app, "two.example").await.assert_status(201).json();
        let list = read(&app, &format!("/domains/project/{}", app.project_id())).await;
        assert_eq!(column(&list, "domain"), ["two.example", "one.example", app.domain()]);
        for domain in items(&list) {
            assert_keys(domain, &["id", "domain", "verified", "projectId", "createdAt", "updatedAt"]);
            assert_eq!(domain["projectId"], app.project_id());
        }
        assert_eq!(list[0]["id"], two["id"]);

        let path = format!("/domains/project/{}", app.project_id());
        for (project, path) in [(&other, path), (&other, format!("/domains/project/{UNKNOWN_ID}"))] {
            let response = as_project(&app, project, "GET", &path).send().await;
            assert!(matches!(response.status, 403 | 404), "{path}: {}", shown(&response));
        }
        let named = json!({"domain": "three.example", "projectId": app.project_id()});
        app.post("/domains").json(&named).send().await.assert_status(201);
        let foreign = json!({"domain": "four.example", "projectId": other.id});
        let response = app.post("/domains").json(&foreign).send().await;
        assert!(matches!(response.status, 403 | 404), "{}", shown(&response));
    }

    async fn a_removed_domain_sends_no_more(engine: Engine) {
        let app = App::start(engine).await;
        let domain = add(&app, "shop.example").await.assert_status(201).json();
        let path = format!("/domains/{}", text(&domain["id"]));
        let removed = app.delete(&path).send().await.assert_status(200).json();
        assert_eq!(removed, json!({"success": true}));
        let send = with(inline(&app, &json!("ann@example.com")), &json!({"from": "hi@shop.example"}));
        app.send(send).await.assert_error(403, "INTERNAL_SERVER_ERROR");
        app.delete(&path).send().await.assert_error(404, "RESOURCE_NOT_FOUND");

        let other = app.bootstrap("Neighbour", "neighbour.example").await;
        let list = format!("/domains/project/{}", other.id);
        let foreign = as_project(&app, &other, "GET", &list).send().await.assert_status(200).json();
        for id in [text(&domain["id"]), UNKNOWN_ID, "nonsense", text(&foreign[0]["id"])] {
            for request in [app.get(&format!("/domains/{id}/verify")), app.delete(&format!("/domains/{id}"))]
            {
                let response = request.send().await;
                assert_eq!(response.status, 404, "{id}: {}", shown(&response));
                response.assert_error(404, "RESOURCE_NOT_FOUND");
            }
        }
        add(&app, "shop.example").await.assert_status(201);
    }

    async fn a_domain_that_a_template_sends_from_stays(engine: Engine) {
        let app = App::start(engine).await;
        let used = add(&app, "shop.example").await.assert_status(201).json();
        let longer = add(&app, "shop.example.test").await.assert_status(201).json();
        let template = create_template(&app, &json!({"from": "hi@shop.example.test"})).await;
        let path = |domain: &Value| format!("/domains/{}", text(&domain["id"]));

        app.delete(&path(&longer)).send().await.assert_error(409, "CONFLICT");
        // The other domain only begins like the one in use.
        app.delete(&path(&used)).send().await.assert_status(200);
        let template = format!("/templates/{}", text(&template["id"]));
        app.delete(&template).send().await.assert_status(204);
        app.delete(&path(&longer)).send().await.assert_status(200);
    }
}

one_engine! {
    async fn a_domain_must_be_a_host_name(engine: Engine) {
        let app = App::start(engine).await;
        assert_eq!(
            issue(&app.post("/domains").json(&json!({})).send().await, "domain")["code"],
            "invalid_type"
        );
        assert_eq!(
            issue(&app.post("/domains").json(&json!({"domain": 5})).send().await, "domain")["code"],
            "invalid_type"
        );
        let long = format!("{}example", "abcdefgh.".repeat(30));
        for domain in [
            "",
            "ab",
            "two words.example",
            "http://shop.example",
            "a@shop.example",
            "-a.example",
            "a..example",
            &long,
        ] {
            let response = add(&app, domain).await;
            assert_eq!(response.status, 422, "{domain}: {}", shown(&response));
            issue(&response, "domain");
        }
        let again = add(&app, app.domain()).await;
        assert!((400..500).contains(&again.status), "a domain is added once: {}", shown(&again));
    }
}
