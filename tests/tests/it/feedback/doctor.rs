//! `mailwright doctor` finds what keeps bounces, complaints and notifications from coming back.

use std::net::Ipv4Addr;

use mailwright_testkit::dns::FakeDns;
use mailwright_testkit::net::free_port;
use mailwright_testkit::smtp::{Answer, ScriptedServer};
use mailwright_testkit::{App, Engine, both_engines};

use super::{RETURN_PATH, taking_mail};

/// What the doctor says of something.
async fn finding(app: &App, what: &str) -> String {
    let doctor = app.try_run(&["doctor"]).await;
    let said = String::from_utf8_lossy(&doctor.stdout).into_owned();
    let line = said.lines().find(|line| line.contains(&format!("  {what}: ")));
    line.unwrap_or_else(|| panic!("nothing about {what}: {said}")).to_owned()
}

both_engines! {
    async fn the_records_of_the_return_path_are_looked_at(engine: Engine) {
        let (dns, server) = (FakeDns::start().await, ScriptedServer::start(|_, _| Answer::Accept).await);
        let app = taking_mail(engine, free_port())
            .smtp(server.port)
            .env("MAILWRIGHT_DNS_SERVER", dns.addr.to_string())
            .start()
            .await;
        let said = finding(&app, "inbound mail").await;
        assert!(said.starts_with("ok ") && said.contains("220 mx.mail.test"), "{said}");
        assert!(finding(&app, "inbound host").await.starts_with("WRONG"));
        dns.set_a("mx.mail.test", [Ipv4Addr::new(192, 0, 2, 1)]);
        assert!(finding(&app, "inbound host").await.starts_with("ok "));

        let said = finding(&app, "return path").await;
        assert!(said.starts_with("WRONG") && said.contains("bounces.mail.test MX 10 mx.mail.test"), "{said}");
        dns.set_mx(RETURN_PATH, [(10, "other.test")]);
        assert!(finding(&app, "return path").await.starts_with("LOOK "));
        dns.set_mx(RETURN_PATH, [(10, "mx.mail.test")]);
        let said = finding(&app, "return path").await;
        assert!(said.starts_with("LOOK ") && said.contains("no SPF record"), "{said}");
        dns.set_txt(RETURN_PATH, ["v=spf1 a:mail.test ~all"]);
        assert!(finding(&app, "return path").await.starts_with("ok "));
        dns.set_servfail(RETURN_PATH);
        let said = finding(&app, "return path").await;
        assert!(said.starts_with("LOOK ") && said.contains("could not be looked up"), "{said}");
    }

    async fn receivers_need_leave_to_report_to_the_return_path(engine: Engine) {
        let dns = FakeDns::start().await;
        let app = taking_mail(engine, free_port()).env("MAILWRIGHT_DNS_SERVER", dns.addr.to_string()).start().await;
        let said = finding(&app, "DMARC reports").await;
        assert!(said.starts_with("LOOK ") && said.contains("*._report._dmarc.bounces.mail.test TXT"), "{said}");
        // the name that a wildcard alone answers for
        dns.set_txt(&format!("doctor.invalid._report._dmarc.{RETURN_PATH}"), ["v=DMARC1"]);
        let said = finding(&app, "DMARC reports").await;
        assert!(said.starts_with("ok ") && said.contains(RETURN_PATH), "{said}");
    }

    async fn notifications_need_a_public_address(engine: Engine) {
        let app = App::builder(engine)
            .env("MAILWRIGHT_SNS_TOPICS", "arn:aws:sns:eu-west-1:123456789012:mail")
            .start()
            .await;
        let said = finding(&app, "SNS").await;
        assert!(said.starts_with("WRONG") && said.contains("/webhooks/sns"), "{said}");
        assert!(finding(&app, "inbound mail").await.starts_with("ok "));
    }

    async fn a_name_for_tracked_links_has_to_answer(engine: Engine) {
        let dns = FakeDns::start().await;
        let app = App::builder(engine)
            .env("MAILWRIGHT_DNS_SERVER", dns.addr.to_string())
            .env("MAILWRIGHT_BASE_URL", "https://mail.test")
            .start()
            .await;
        let domain = app.from().rsplit_once('@').map(|(_, domain)| domain.to_owned()).expect("a domain");
        let said = finding(&app, "sender domains").await;
        assert!(said.starts_with("ok ") && said.contains("of 1 looked at, 0 have"), "{said}");
        dns.set_cname(&format!("track.{domain}"), "mail.test");
        let said = finding(&app, "sender domains").await;
        assert!(said.starts_with("WRONG") && said.contains(&format!("track.{domain}")), "{said}");
    }
}
