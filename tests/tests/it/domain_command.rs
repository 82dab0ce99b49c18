//! `mailwright domains`: what the operator sees of sender domains, and does with their keys.

use std::process::Output;

use mailwright_testkit::dns::FakeDns;
use mailwright_testkit::{App, Engine, both_engines};
use mailwright_tests::{as_project, items, read, text};
use serde_json::{Value, json};

const DOMAIN: &str = "shop.example";

async fn started(engine: Engine, dns: &FakeDns) -> App {
    App::builder(engine).smtp(9).env("MAILWRIGHT_DNS_SERVER", dns.addr.to_string()).start().await
}

async fn added(app: &App) -> Value {
    app.post("/domains").json(&json!({"domain": DOMAIN})).send().await.assert_status(201).json()
}

/// The line of the domain in the list of all.
async fn line_of(app: &App) -> String {
    let listed = app.run(&["domains", "list"]).await;
    let line = listed.lines().find(|line| line.contains(DOMAIN));
    line.unwrap_or_else(|| panic!("{listed}")).to_owned()
}

/// What a command wrote that failed.
fn complaint(output: &Output) -> String {
    assert!(!output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8_lossy(&output.stderr).into_owned()
}

both_engines! {
    async fn domains_are_listed_checked_and_written_as_a_zone(engine: Engine) {
        let dns = FakeDns::start().await;
        let app = started(engine, &dns).await;
        let domain = added(&app).await;
        let records = items(&domain["records"]);
        let (name, value) = (text(&records[0]["name"]), text(&records[0]["value"]));

        let zone = app.run(&["domains", "records", DOMAIN, "--zone"]).await;
        let lines: Vec<&str> = zone.lines().collect();
        assert_eq!(lines.len(), records.len(), "{zone}");
        assert_eq!(lines[0], format!("{name}. IN TXT \"{value}\""));
        // the API has the same lines
        let of_api: Vec<&str> = records.iter().map(|record| text(&record["zone"])).collect();
        assert_eq!(lines, of_api);
        let shown = app.run(&["domains", "records", "Shop.EXAMPLE."]).await;
        assert!(shown.contains("unchecked") && shown.contains(value) && shown.contains("(required)"), "{shown}");

        let checked = app.try_run(&["domains", "check", DOMAIN]).await;
        let said = String::from_utf8_lossy(&checked.stdout).into_owned();
        assert_eq!(checked.status.code(), Some(2), "{said}");
        assert!(said.contains(&format!("There is no TXT record at {name}.")), "{said}");
        assert!(said.contains("The domain shop.example is not verified."), "{said}");
        dns.set_txt(name, [value]);
        let said = app.run(&["domains", "check", DOMAIN]).await;
        assert!(said.contains("The domain shop.example is verified."), "{said}");

        // one that the operator vouches for counts as verified, and its signatures fail all the same
        let said = app.run(&["domains", "check", app.domain()]).await;
        assert!(said.contains("is verified.") && said.contains("so signatures fail"), "{said}");
        let doctor = String::from_utf8_lossy(&app.try_run(&["doctor"]).await.stdout).into_owned();
        let wanted = format!("LOOK   DKIM records: {}: its DKIM record is missing, signatures fail", app.domain());
        assert!(doctor.contains(&wanted), "{doctor}");

        let listed = app.run(&["domains", "list"]).await;
        let line = listed.lines().find(|line| line.contains(DOMAIN)).unwrap_or_else(|| panic!("{listed}"));
        assert!(line.starts_with(app.project_id()) && line.contains("verified"), "{line}");
        assert!(line.ends_with("dmarc missing"), "{line}");
        assert!(listed.contains(app.domain()), "{listed}");
        let listed = app.run(&["domains", "list", "--json", "--project", app.project_id()]).await;
        let line: Value = serde_json::from_str(listed.lines().next().unwrap_or_default()).unwrap_or_default();
        assert_eq!((&line["domain"], &line["verified"]), (&json!(DOMAIN), &json!(true)), "{listed}");
        assert_eq!(line["records"][0]["status"], "found", "{listed}");
        assert_eq!((items(&line["keys"]).len(), &line["keys"][0]["state"]), (1, &json!("signs")), "{listed}");
    }

    async fn keys_are_replaced_by_the_operator(engine: Engine) {
        let dns = FakeDns::start().await;
        let app = started(engine, &dns).await;
        added(&app).await;
        let said = app.run(&["domains", "rotate", DOMAIN]).await;
        let of_api = read(&app, &format!("/domains/project/{}", app.project_id())).await;
        let keys = items(&of_api[0]["records"]).iter().filter(|record| record["purpose"] == "dkim");
        let names: Vec<&str> = keys.map(|record| text(&record["name"])).collect();
        assert_eq!(names.len(), 2, "{of_api}");
        assert!(said.contains(names[1]) && !said.contains(names[0]), "{said}");
        let audit = app.run(&["project", "audit", app.project_id()]).await;
        let line = audit.lines().find(|line| line.contains("domain.key_made")).unwrap_or_else(|| panic!("{audit}"));
        assert!(line.contains("operator") && line.contains(DOMAIN), "{line}");
        let again = complaint(&app.try_run(&["domains", "rotate", DOMAIN]).await);
        assert!(again.contains("are being replaced already"), "{again}");
        let selectors: Vec<&str> = names.iter().map(|name| name.split('.').next().unwrap_or_default()).collect();
        let (old, next) = (selectors[0], selectors[1]);
        // nothing is signed before the domain is verified
        let listed = line_of(&app).await;
        let wanted = format!("  keys: {old} waits for its record; {next} waits for its record  ");
        assert!(listed.contains(&wanted), "{listed}");
        let first = items(&of_api[0]["records"]).iter().find(|record| record["name"] == names[0]);
        dns.set_txt(names[0], [text(&first.expect("the old key")["value"])]);
        app.run(&["domains", "check", DOMAIN]).await;
        let listed = line_of(&app).await;
        assert!(listed.contains(&format!("  keys: {old} signs; {next} waits for its record  ")), "{listed}");

        let new = items(&of_api[0]["records"]).iter().find(|record| record["name"] == names[1]);
        dns.set_txt(names[1], [text(&new.expect("the new key")["value"])]);
        app.run(&["domains", "check", DOMAIN]).await;
        let shown = app.run(&["domains", "records", DOMAIN]).await;
        let former = shown.lines().find(|line| line.contains(names[0])).unwrap_or_else(|| panic!("{shown}"));
        assert!(former.contains("former") && former.contains("keep until"), "{former}");
        let listed = line_of(&app).await;
        let wanted = format!("  keys: {next} signs; {old} was replaced, keep its record until ");
        assert!(listed.contains(&wanted), "{listed}");
    }

    async fn a_domain_of_several_projects_needs_its_project(engine: Engine) {
        let dns = FakeDns::start().await;
        let app = started(engine, &dns).await;
        added(&app).await;
        let other = app.bootstrap("Rockets", "rockets.test").await;
        let body = json!({"domain": DOMAIN});
        let theirs = as_project(&app, &other, "POST", "/domains").json(&body).send().await.assert_status(201).json();
        for command in ["records", "check", "rotate"] {
            let said = complaint(&app.try_run(&["domains", command, DOMAIN]).await);
            assert!(said.contains("--project"), "{command}: {said}");
            assert!(said.contains(app.project_id()) && said.contains(&other.id) && said.contains("Rockets"), "{said}");
        }
        let zone = app.run(&["domains", "records", DOMAIN, "--zone", "--project", &other.id]).await;
        assert!(zone.starts_with(text(&theirs["records"][0]["name"])), "{zone}");
        let zone = app.run(&["domains", "records", DOMAIN, "--zone", "--project", "Rockets"]).await;
        assert!(zone.starts_with(text(&theirs["records"][0]["name"])), "{zone}");
        let listed = app.run(&["domains", "list", "--project", "Rockets"]).await;
        assert!(listed.contains("rockets.test") && !listed.contains(app.domain()), "{listed}");

        let unknown = complaint(&app.try_run(&["domains", "check", "unknown.example"]).await);
        assert!(unknown.contains("Domain unknown.example was not found"), "{unknown}");
        let none = complaint(&app.try_run(&["domains", "records", "no domain"]).await);
        assert!(none.contains("not a domain name"), "{none}");
    }
}
