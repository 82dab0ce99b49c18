//! Reports about TLS that are sent to other domains (RFC 8460).

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use mailwright_mail::tls_report::{PolicyType, ResultType, TlsReport};
use mailwright_testkit::net::free_port;
use mailwright_testkit::policy::PolicyServer;
use mailwright_testkit::report_server::ReportServer;
use mailwright_testkit::smtp::{Answer, Received, ScriptedServer};
use mailwright_testkit::tls::Certificate;
use mailwright_testkit::{App, AppBuilder, Engine, both_engines};

use crate::delivery::direct::{Net, address};
use crate::delivery::sent;

/// Milliseconds of a day.
const DAY: i64 = 86_400_000;
/// Within this time after the end of a day its reports are sent.
const SPREAD: Duration = Duration::from_hours(4);

/// Domains, their mail servers and their policies.
struct World {
    net: Net,
    certificate: Certificate,
    /// The port on which policies are served.
    https: u16,
}

impl World {
    /// `names` are those that the certificate is for, which is trusted.
    async fn new(names: &[&str]) -> Self {
        Self { net: Net::new().await, certificate: Certificate::of(names), https: free_port() }
    }

    /// A service that sends reports, at the beginning of a day.
    async fn start(&self, engine: Engine) -> App {
        let app = self.app(engine).start().await;
        app.advance(rest_of_day(&app)).await;
        app
    }

    fn app(&self, engine: Engine) -> AppBuilder {
        self.net
            .app(engine)
            .env("SSL_CERT_FILE", self.certificate.path().display().to_string())
            .env("MAILWRIGHT_TEST_POLICY_PORT", self.https.to_string())
            .env("MAILWRIGHT_PLATFORM_FROM", "noreply@platform.test")
            .env("MAILWRIGHT_TLSREPORTS_SEND", "true")
            .env("MAILWRIGHT_TLSREPORTS_ORGANIZATION", "Mailwright Tests")
    }

    /// A domain with a mail server of its own that has TLS, and where its reports go.
    async fn domain(&self, domain: &str, number: u8, rua: &str) -> ScriptedServer {
        self.asks(domain, rua);
        let host = format!("mx.{domain}");
        self.net.dns.set_mx(domain, [(10, host.as_str())]);
        let server = ScriptedServer::builder().starttls(&self.certificate);
        self.net.server(&host, number, server, |_, _| Answer::Accept).await
    }

    fn asks(&self, domain: &str, rua: &str) {
        self.net.dns.set_txt(&format!("_smtp._tls.{domain}"), [format!("v=TLSRPTv1; rua={rua}")]);
    }

    /// A policy of MTA-STS for a domain.
    async fn policy(&self, domain: &str, number: u8, mode: &str) -> PolicyServer {
        self.net.dns.set_txt(&format!("_mta-sts.{domain}"), ["v=STSv1; id=1"]);
        self.net.dns.set_a(&format!("mta-sts.{domain}"), [address(number)]);
        let text = format!("version: STSv1\nmode: {mode}\nmx: mx.{domain}\nmax_age: 604800\n");
        PolicyServer::start(address(number), self.https, &self.certificate, &text).await
    }

    /// A server for the reports that go to addresses at `reports.example`.
    async fn reports(&self) -> ScriptedServer {
        self.net.dns.set_mx("reports.example", [(10, "mx.reports.example")]);
        self.net.plain("mx.reports.example", 20).await
    }
}

/// How long the day of the service lasts yet.
fn rest_of_day(app: &App) -> Duration {
    Duration::from_millis((DAY - app.now().rem_euclid(DAY)) as u64)
}

/// Lets the day end, and the time after it in which its reports are sent.
async fn to_the_reports(app: &App) {
    app.advance(rest_of_day(app) + SPREAD).await;
}

/// A mail to an address, once it is there.
async fn received_for(app: &App, server: &ScriptedServer, to: &str) -> Received {
    app.eventually(&format!("a report for {to}"), async || server.received_for(to).into_iter().next()).await
}

/// The report in a mail.
fn report_in(mail: &Received) -> TlsReport {
    let text = String::from_utf8_lossy(&mail.data).into_owned();
    let (_, part) = text.split_once("application/tlsrpt+gzip").expect("a part that is a report");
    let (_, content) = part.split_once("\r\n\r\n").expect("an end of the part's head");
    let lines = content.split("\r\n--").next().unwrap_or_default();
    let packed = BASE64.decode(lines.split_whitespace().collect::<String>()).expect("base64");
    TlsReport::from_gzip(&packed).expect("a report")
}

/// The head of a mail, unfolded.
fn head_of(mail: &Received) -> String {
    let text = String::from_utf8_lossy(&mail.data).into_owned();
    let head = text.split("\r\n\r\n").next().unwrap_or_default();
    head.replace("\r\n ", " ").replace("\r\n\t", " ")
}

/// Successes and failures of the first policy of a report.
fn sums(report: &TlsReport) -> (u64, u64) {
    let summary = report.policies[0].summary;
    (summary.total_successful_session_count, summary.total_failure_session_count)
}

/// How many reports there were with an outcome.
async fn counted(app: &App, outcome: &str) -> u64 {
    let metrics = app.get("/metrics").send().await.assert_status(200).text();
    let name = format!("mailwright_tls_reports_total{{outcome=\"{outcome}\"}} ");
    let found = metrics.lines().find_map(|line| line.strip_prefix(&name));
    found.map_or(0, |count| count.parse().expect("a number"))
}

both_engines! {
    async fn each_domain_is_told_once_of_its_day(engine: Engine) {
        let world =
            World::new(&["mx.good.example", "mta-sts.good.example", "mta-sts.bad.example", "reports.example"]).await;
        let taken = ReportServer::start(address(8), &world.certificate, &[]).await;
        world.net.dns.set_a("reports.example", [address(8)]);
        let reports = world.reports().await;
        let good = world.domain("good.example", 1, "mailto:good@reports.example").await;
        let _enforced = world.policy("good.example", 11, "enforce").await;
        let bad = world.domain("bad.example", 2, "mailto:bad@reports.example").await;
        let _tested = world.policy("bad.example", 12, "testing").await;
        let url = format!("https://reports.example:{}/v1/tls?key=1", taken.port());
        world.asks("plain.example", &format!("{url},mailto:plain@reports.example"));
        world.net.dns.set_mx("plain.example", [(10, "mx.plain.example")]);
        let plain = world.net.plain("mx.plain.example", 3).await;
        let app = world.start(engine).await;
        for to in ["a@good.example", "b@good.example", "a@bad.example", "a@plain.example"] {
            sent(&app, to).await;
        }
        // the mail to the domain that only tests its policy went on without
        assert!(bad.received().iter().all(|mail| mail.tls) && bad.received().len() == 1);
        let (good_sessions, plain_sessions) = (good.connections(), plain.connections());
        to_the_reports(&app).await;

        let mail = received_for(&app, &reports, "good@reports.example").await;
        let report = report_in(&mail);
        assert_eq!((&*report.organization_name, &*report.contact_info), ("Mailwright Tests", "noreply@platform.test"));
        assert_eq!((report.policies.len(), sums(&report)), (1, (good_sessions, 0)));
        let policy = &report.policies[0].policy;
        assert_eq!((policy.policy_type, &*policy.policy_domain), (PolicyType::Sts, "good.example"));
        assert_eq!(policy.mx_host, ["mx.good.example"]);
        assert_eq!(policy.policy_string[1], "mode: enforce");
        let range = report.date_range;
        assert_eq!(range.end_datetime.since(range.start_datetime), Duration::from_secs(86_399));
        let head = head_of(&mail);
        for line in [
            "TLS-Report-Domain: good.example",
            "TLS-Report-Submitter: platform.test",
            "TLS-Required: No",
            &format!("Subject: Report Domain: good.example Submitter: platform.test Report-ID: <{}>", report.report_id),
        ] {
            assert!(head.contains(line), "{line} is not in:\n{head}");
        }
        assert!(head.contains("multipart/report") && head.contains("report-type=\"tlsrpt\""), "{head}");
        let signature = head.lines().find(|line| line.starts_with("DKIM-Signature:")).expect("a signature");
        assert!(signature.contains("d=platform.test") && signature.contains("TLS-Report-Domain"), "{signature}");

        let report = report_in(&received_for(&app, &reports, "bad@reports.example").await);
        assert_eq!(sums(&report), (0, 1));
        let failure = &report.policies[0].failure_details[0];
        assert_eq!((failure.result_type, failure.failed_session_count), (ResultType::CertificateHostMismatch, 1));
        assert_eq!(failure.receiving_mx_hostname.as_deref(), Some("mx.bad.example"));
        assert_eq!(failure.receiving_ip, Some(address(2).into()));
        assert!(failure.sending_mta_ip.is_some_and(|ours| ours.is_loopback()));

        let report = report_in(&received_for(&app, &reports, "plain@reports.example").await);
        assert_eq!((report.policies[0].policy.policy_type, sums(&report)), (PolicyType::NoPolicyFound, (0, plain_sessions)));
        assert_eq!(report.policies[0].failure_details[0].result_type, ResultType::StarttlsNotSupported);
        let posted = app.eventually("a report by HTTPS", async || taken.posted().into_iter().next()).await;
        assert_eq!(posted.request, "POST /v1/tls?key=1 HTTP/1.1");
        assert!(posted.headers.to_lowercase().contains("content-type: application/tlsrpt+gzip"), "{}", posted.headers);
        assert_eq!(TlsReport::from_gzip(&posted.body).expect("a report"), report);

        // the connections that brought reports are in no report, and no report comes twice
        to_the_reports(&app).await;
        to_the_reports(&app).await;
        assert_eq!((reports.received().len(), taken.posted().len()), (3, 1));
        assert!(app.log().contains("reports about TLS of a day"));
        assert_eq!((counted(&app, "sent").await, counted(&app, "failed").await), (4, 0));
    }

    async fn a_report_leaves_whatever_its_domain_demands(engine: Engine) {
        let world = World::new(&["mta-sts.strict.example"]).await;
        let strict = world.domain("strict.example", 1, "mailto:tls@strict.example").await;
        let _enforced = world.policy("strict.example", 11, "enforce").await;
        let app = world.start(engine).await;
        let id = app.send_to("ada@strict.example").await;
        app.eventually("the mail waits for a valid certificate", async || {
            let error = app.email(&id).await["error"].clone();
            error.as_str().is_some_and(|error| error.contains("not valid for name")).then_some(())
        })
        .await;
        to_the_reports(&app).await;
        let report = report_in(&received_for(&app, &strict, "tls@strict.example").await);
        let (successes, failures) = sums(&report);
        assert!(successes == 0 && failures >= 1, "{report:?}");
        assert_eq!(report.policies[0].failure_details[0].result_type, ResultType::CertificateHostMismatch);
        assert!(strict.received_for("ada@strict.example").is_empty());
    }

    async fn a_policy_that_cannot_be_had_is_told(engine: Engine) {
        let world = World::new(&["mx.lost.example"]).await;
        let reports = world.reports().await;
        let _lost = world.domain("lost.example", 1, "mailto:lost@reports.example").await;
        // the certificate is not for the server of the policy
        let _unproven = world.policy("lost.example", 11, "enforce").await;
        let app = world.start(engine).await;
        sent(&app, "ada@lost.example").await;
        to_the_reports(&app).await;
        let report = report_in(&received_for(&app, &reports, "lost@reports.example").await);
        assert_eq!((report.policies[0].policy.policy_type, sums(&report)), (PolicyType::Sts, (0, 1)));
        assert_eq!(report.policies[0].failure_details[0].result_type, ResultType::StsWebpkiInvalid);
    }

    async fn a_domain_that_asks_for_none_gets_none(engine: Engine) {
        let world = World::new(&["mx.asks.example"]).await;
        let reports = world.reports().await;
        let asks = world.domain("asks.example", 1, "mailto:asks@reports.example").await;
        world.net.dns.set_mx("silent.example", [(10, "mx.silent.example")]);
        let silent = world.net.plain("mx.silent.example", 2).await;
        let app = world.start(engine).await;
        sent(&app, "ada@silent.example").await;
        sent(&app, "ada@asks.example").await;
        to_the_reports(&app).await;
        received_for(&app, &reports, "asks@reports.example").await;
        assert_eq!((counted(&app, "sent").await, counted(&app, "dropped").await), (1, 1));
        assert_eq!((silent.received().len(), asks.received().len()), (1, 1));
        assert!(app.rows().await["tls_report_sessions"].is_empty(), "what was counted is gone");
    }

    async fn nothing_is_counted_unless_the_operator_asks_for_it(engine: Engine) {
        let world = World::new(&["mx.asks.example"]).await;
        let _asks = world.domain("asks.example", 1, "mailto:tls@asks.example").await;
        let app = world.app(engine).env("MAILWRIGHT_TLSREPORTS_SEND", "false").start().await;
        sent(&app, "ada@asks.example").await;
        app.advance(Duration::from_mins(5)).await;
        assert!(app.rows().await["tls_reports"].is_empty());
        to_the_reports(&app).await;
        assert_eq!(world.net.dns.queries_for("_smtp._tls.asks.example"), 0);
    }

    async fn a_server_that_refuses_a_report_gets_it_later_or_not_at_all(engine: Engine) {
        let world = World::new(&["mx.late.example", "mx.never.example", "reports.example"]).await;
        world.net.dns.set_a("reports.example", [address(8)]);
        let late = ReportServer::start(address(8), &world.certificate, &[503]).await;
        let never = ReportServer::start(address(8), &world.certificate, &[500; 100]).await;
        let url = |server: &ReportServer| format!("https://reports.example:{}/", server.port());
        let _late = world.domain("late.example", 1, &url(&late)).await;
        let _never = world.domain("never.example", 2, &url(&never)).await;
        let app = world.start(engine).await;
        sent(&app, "ada@late.example").await;
        sent(&app, "ada@never.example").await;
        to_the_reports(&app).await;
        app.eventually("both were asked", async || {
            (late.posted().len() == 1 && never.posted().len() == 1).then_some(())
        })
        .await;
        app.advance(Duration::from_mins(6)).await;
        app.eventually("one took it", async || (late.posted().len() == 2).then_some(())).await;
        for _ in 0..8 {
            app.advance(Duration::from_hours(4)).await;
        }
        assert_eq!(late.posted().len(), 2);
        let tries = never.posted().len();
        assert!((5..15).contains(&tries), "{tries} tries in a day");
        assert_eq!((counted(&app, "sent").await, counted(&app, "failed").await), (1, 1));
        assert!(app.rows().await["tls_report_posts"].is_empty());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_send_one_report() {
    let world = World::new(&["mx.one.example", "reports.example"]).await;
    world.net.dns.set_a("reports.example", [address(8)]);
    let taken = ReportServer::start(address(8), &world.certificate, &[]).await;
    let reports = world.reports().await;
    let rua = format!("mailto:one@reports.example,https://reports.example:{}/", taken.port());
    let server = world.domain("one.example", 1, &rua).await;
    let app = world.start(Engine::Postgres).await;
    let second = app.second_node().await;
    for number in 0..10 {
        sent(&app, &format!("n{number}@one.example")).await;
    }
    let sessions = server.connections();
    // both store what they counted
    app.advance(Duration::from_mins(2)).await;
    to_the_reports(&app).await;
    let report = report_in(&received_for(&app, &reports, "one@reports.example").await);
    assert_eq!(sums(&report), (sessions, 0));
    app.eventually("a report by HTTPS", async || taken.posted().pop()).await;
    app.advance(Duration::from_hours(1)).await;
    assert_eq!((reports.received().len(), taken.posted().len()), (1, 1));
    assert_eq!(counted(&app, "sent").await + counted(&second, "sent").await, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reports_without_a_sender_are_refused_at_the_start() {
    let app = App::start(Engine::Sqlite).await;
    let program = app.try_run_with(&["serve"], &[("MAILWRIGHT_TLSREPORTS_SEND", "true")]).await;
    let said = String::from_utf8_lossy(&program.stderr).into_owned();
    assert!(!program.status.success());
    for name in ["MAILWRIGHT_TLSREPORTS_SEND", "MAILWRIGHT_PLATFORM_FROM"] {
        assert!(said.contains(name), "{said}");
    }
}
