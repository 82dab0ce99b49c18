//! The records and the policy that a domain can have whose mail comes in here: TLS to our server, reports about it.

use std::path::Path;
use std::time::Duration;

use mailwright_testkit::dns::FakeDns;
use mailwright_testkit::mta::KeyFiles;
use mailwright_testkit::net::free_port;
use mailwright_testkit::{App, Engine, Response, both_engines};
use mailwright_tests::{header, items, read, shown, text};
use serde_json::{Value, json};

use super::capturing;

/// What a mail server is told that asks a host for the policy.
async fn policy_at(app: &App, host: &str) -> Response {
    app.request("GET", "/.well-known/mta-sts.txt").header("host", host).send().await
}

/// Lets what is known of a domain grow old.
async fn later(app: &App) {
    app.advance(Duration::from_secs(61)).await;
}

async fn verify(app: &App, domain: &Value) -> Value {
    read(app, &format!("/domains/{}/verify", text(&domain["id"]))).await
}

fn of<'a>(domain: &'a Value, purpose: &str) -> Option<&'a Value> {
    items(&domain["records"]).iter().find(|record| record["purpose"] == purpose)
}

/// The type, name, value and state of a record.
fn shape<'a>(domain: &'a Value, purpose: &str) -> [&'a str; 4] {
    let record = of(domain, purpose).unwrap_or_else(|| panic!("no record {purpose} in {domain}"));
    assert_eq!(record["required"], false, "{record}");
    ["type", "name", "value", "status"].map(|name| text(&record[name]))
}

async fn may_have_certificate(app: &App, name: &str) -> bool {
    let answer = app.request("GET", &format!("/t/host?domain={name}")).send().await;
    assert!(matches!(answer.status, 204 | 404), "{}", shown(&answer));
    answer.status == 204
}

both_engines! {
    async fn a_domain_whose_mail_is_taken_has_a_policy(engine: Engine) {
        let dns = FakeDns::start().await;
        let app = capturing(engine, &dns, free_port())
            .smtp(9)
            .env("MAILWRIGHT_BASE_URL", "https://mail.test")
            .env("MAILWRIGHT_DOMAINS_MTA_STS", "testing")
            .env("MAILWRIGHT_DOMAINS_TLS_REPORTS_TO", "tls@mail.test")
            .start()
            .await;
        let domain = app.post("/domains").json(&json!({"domain": "in.example"})).send().await;
        let domain = domain.assert_status(201).json();
        let [kind, name, value, status] = shape(&domain, "mta_sts");
        assert_eq!((kind, name, status), ("TXT", "_mta-sts.in.example", "unchecked"));
        let id = value.strip_prefix("v=STSv1; id=").expect("an id").to_owned();
        assert!(id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{id}");
        assert_eq!(shape(&domain, "mta_sts_host"), ["CNAME", "mta-sts.in.example", "mail.test", "unchecked"]);
        let reports = "v=TLSRPTv1; rua=mailto:tls@mail.test";
        assert_eq!(shape(&domain, "tls_reports"), ["TXT", "_smtp._tls.in.example", reports, "unchecked"]);

        // until a check found that its mail comes here, it has none
        assert_eq!(policy_at(&app, "mta-sts.in.example").await.status, 404);
        assert!(!may_have_certificate(&app, "mta-sts.in.example").await);
        dns.set_mx("in.example", [(10, "mx.mail.test")]);
        let key = of(&domain, "dkim").expect("a key");
        dns.set_txt(text(&key["name"]), [text(&key["value"])]);
        verify(&app, &domain).await;
        later(&app).await;
        let policy = policy_at(&app, "MTA-STS.in.example.:443").await;
        assert_eq!(policy.status, 200, "{}", shown(&policy));
        assert!(header(&policy, "content-type").is_some_and(|kind| kind.starts_with("text/plain")));
        assert_eq!(policy.text(), "version: STSv1\r\nmode: testing\r\nmx: mx.mail.test\r\nmax_age: 604800\r\n");
        assert!(may_have_certificate(&app, "mta-sts.in.example").await);
        for host in ["mta-sts.other.example", "in.example", "mail.test", "track.in.example", "mta-sts."] {
            assert_eq!(policy_at(&app, host).await.status, 404, "{host}");
        }

        dns.set_txt("_mta-sts.in.example", [value]);
        dns.set_cname("mta-sts.in.example", "mail.test");
        dns.set_txt("_smtp._tls.in.example", ["v=TLSRPTv1;rua=mailto:own@in.example"]);
        let found = verify(&app, &domain).await;
        for purpose in ["mta_sts", "mta_sts_host", "tls_reports"] {
            assert_eq!(shape(&found, purpose)[3], "found", "{found}");
        }
        dns.set_txt("_mta-sts.in.example", ["v=STSv1; id=1"]);
        let stale = verify(&app, &domain).await;
        assert_eq!(shape(&stale, "mta_sts")[3], "mismatch");
        let told = text(&of(&stale, "mta_sts").expect("the record")["difference"]);
        assert!(told.contains("has the id 1") && told.contains(&id), "{told}");

        // it goes with the mail
        dns.set_mx("in.example", [(10, "mx.elsewhere.test")]);
        verify(&app, &domain).await;
        later(&app).await;
        assert_eq!(policy_at(&app, "mta-sts.in.example").await.status, 404);
        assert!(!may_have_certificate(&app, "mta-sts.in.example").await);
    }

    async fn a_logo_is_proposed_where_a_policy_protects_the_name(engine: Engine) {
        let dns = FakeDns::start().await;
        let app = App::builder(engine).smtp(9).env("MAILWRIGHT_DNS_SERVER", dns.addr.to_string()).start().await;
        let domain = app.post("/domains").json(&json!({"domain": "shop.example"})).send().await;
        let domain = domain.assert_status(201).json();
        for policy in ["v=DMARC1; p=none", "v=DMARC1; p=reject; pct=20", "v=DMARC1; p=quarantine; sp=none"] {
            dns.set_txt("_dmarc.shop.example", [policy]);
            assert_eq!(of(&verify(&app, &domain).await, "bimi"), None, "{policy}");
        }
        dns.set_txt("_dmarc.shop.example", ["v=DMARC1; p=quarantine"]);
        let listed = verify(&app, &domain).await;
        let value = "v=BIMI1; l=https://shop.example/logo.svg";
        assert_eq!(shape(&listed, "bimi"), ["TXT", "default._bimi.shop.example", value, "unchecked"]);
        dns.set_txt("default._bimi.shop.example", ["v=BIMI1; l=http://cdn.example/logo.svg"]);
        let insecure = verify(&app, &domain).await;
        assert_eq!(shape(&insecure, "bimi")[3], "mismatch");
        dns.set_txt("default._bimi.shop.example", ["v=BIMI1; l=https://cdn.example/logo.svg; a="]);
        assert_eq!(shape(&verify(&app, &domain).await, "bimi")[3], "found");
    }

    async fn nothing_of_it_is_asked_for_unless_it_is_set(engine: Engine) {
        let dns = FakeDns::start().await;
        let app = capturing(engine, &dns, free_port()).env("MAILWRIGHT_BASE_URL", "https://mail.test").start().await;
        let listed = read(&app, &format!("/domains/project/{}", app.project_id())).await;
        for purpose in ["mta_sts", "mta_sts_host", "tls_reports", "bimi"] {
            assert_eq!(of(&listed[0], purpose), None, "{listed}");
        }
        let host = format!("mta-sts.{}", app.domain());
        assert_eq!(policy_at(&app, &host).await.status, 404);
        // a certificate that nobody vouches for would keep all mail away
        for (mode, said) in [("enforce", "has no certificate that others trust"), ("always", "must be none, testing or enforce")] {
            let doctor = app.try_run_with(&["doctor"], &[("MAILWRIGHT_DOMAINS_MTA_STS", mode)]).await;
            let told = String::from_utf8_lossy(&doctor.stdout);
            assert!(!doctor.status.success() && told.contains(said), "{told}");
        }
        let doctor = app.try_run_with(&["doctor"], &[("MAILWRIGHT_DOMAINS_MTA_STS", "testing")]).await;
        let told = String::from_utf8_lossy(&doctor.stdout);
        assert!(told.contains("LOOK   MTA-STS: the mode is testing"), "{told}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_doctor_checks_the_certificate_as_senders_do() {
    let dns = FakeDns::start().await;
    let app = capturing(Engine::Sqlite, &dns, free_port())
        .env("MAILWRIGHT_BASE_URL", "https://mail.test")
        .start()
        .await;
    let [ours, elsewhere] = ["mx.mail.test", "mx.elsewhere.test"].map(|name| KeyFiles::of(&[name]));
    let says = async |mode: &str, files: &KeyFiles, trusted: &Path, what: &str| {
        let texts = [files.certificate(), files.key(), trusted.to_owned()];
        let [certificate, key, trusted] = texts.map(|path| path.display().to_string());
        let more = [
            ("MAILWRIGHT_DOMAINS_MTA_STS", mode),
            ("MAILWRIGHT_INBOUND_TLS_CERTIFICATE", certificate.as_str()),
            ("MAILWRIGHT_INBOUND_TLS_KEY", key.as_str()),
            ("SSL_CERT_FILE", trusted.as_str()),
        ];
        let doctor = app.try_run_with(&["doctor"], &more).await;
        let found = String::from_utf8_lossy(&doctor.stdout).into_owned();
        let line = found.lines().find(|line| line.contains("MTA-STS: ")).unwrap_or_default();
        assert!(line.contains(what), "{what}: {found}");
    };
    let refused = "WRONG  MTA-STS: the mode is enforce, and senders bring no mail";
    says("enforce", &ours, &elsewhere.certificate(), refused).await;
    says("testing", &ours, &elsewhere.certificate(), "LOOK   MTA-STS: the mode is testing").await;
    says("enforce", &elsewhere, &elsewhere.certificate(), "is not valid for mx.mail.test").await;
    let valid =
        "ok     MTA-STS: the mode is enforce; the certificate of the SMTP server is valid for mx.mail.test";
    says("enforce", &ours, &ours.certificate(), valid).await;
}
