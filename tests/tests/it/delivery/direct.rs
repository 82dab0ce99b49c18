//! Mail that is brought to the recipients' own servers.

use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use mailwright_testkit::dns::FakeDns;
use mailwright_testkit::net::free_port;
use mailwright_testkit::policy::PolicyServer;
use mailwright_testkit::smtp::{Answer, ScriptedServer, ServerBuilder};
use mailwright_testkit::tls::Certificate;
use mailwright_testkit::{App, AppBuilder, Engine, both_engines, json};
use mailwright_tests::{read, text};

use crate::delivery::{attempts, codes, events, settled};

/// A name server, and the port that all mail servers listen on.
pub(super) struct Net {
    pub(super) dns: FakeDns,
    pub(super) port: u16,
}

impl Net {
    pub(super) async fn new() -> Self {
        Self { dns: FakeDns::start().await, port: free_port() }
    }

    pub(super) fn app(&self, engine: Engine) -> AppBuilder {
        App::builder(engine).direct(&self.dns, self.port)
    }

    /// A mail server with a name and an address of its own.
    pub(super) async fn server(
        &self,
        host: &str,
        number: u8,
        server: ServerBuilder,
        script: impl Fn(&str, u32) -> Answer + Send + Sync + 'static,
    ) -> ScriptedServer {
        let address = address(number);
        self.dns.set_a(host, [address]);
        server.address(address).port(self.port).start(script).await
    }

    pub(super) async fn plain(&self, host: &str, number: u8) -> ScriptedServer {
        self.server(host, number, ScriptedServer::builder(), |_, _| Answer::Accept).await
    }
}

pub(super) fn address(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(127, 0, 17, number)
}

/// An email that waits, once it says why.
pub(super) async fn waiting(app: &App, id: &str, why: &str) -> mailwright_testkit::Value {
    app.eventually(&format!("email {id} waits: {why}"), async || {
        let email = app.email(id).await;
        let says = email["error"].as_str().is_some_and(|error| error.contains(why));
        (email["status"] == "PENDING" && says).then_some(email)
    })
    .await
}

/// How many attempts have a reply that says this.
fn times_said(email: &mailwright_testkit::Value, what: &str) -> usize {
    attempts(email)
        .iter()
        .filter(|one| one["reply"].as_str().is_some_and(|reply| reply.contains(what)))
        .count()
}

both_engines! {
    async fn mail_goes_to_the_best_server_that_can_be_reached(engine: Engine) {
        let net = Net::new().await;
        net.dns.set_mx("one.example", [(10, "mx1.one.example"), (20, "mx2.one.example")]);
        net.dns.set_a("mx1.one.example", [address(1)]);
        let second = net.plain("mx2.one.example", 2).await;
        net.dns.set_mx("two.example", [(10, "mx.two.example")]);
        let other = net.plain("mx.two.example", 3).await;
        // a domain without MX is its own mail server
        let own = net.plain("three.example", 4).await;
        let app = net.app(engine).start().await;
        let mails = [("ada@one.example", &second, "mx2.one.example"), ("ada@two.example", &other, "mx.two.example"),
            ("ada@three.example", &own, "three.example")];
        for (to, server, host) in mails {
            let id = app.send_to(to).await;
            let email = app.email_in(&id, &["SENT"]).await;
            assert_eq!(codes(&email), [Some(250)]);
            assert_eq!(attempts(&email)[0]["host"], host);
            let received = server.received();
            assert_eq!((received.len(), &*received[0].rcpt_to[0]), (1, to));
            assert!(server.helo_names().iter().all(|name| name == "out.mailwright.test"));
            assert_eq!(server.violations(), Vec::<String>::new());
        }
    }

    async fn a_domain_that_takes_no_mail_bounces_and_one_that_is_not_there_after_a_second_look(engine: Engine) {
        let net = Net::new().await;
        net.dns.set_mx("silent.example", [(0, "")]);
        let app = net.app(engine).start().await;
        let refused = settled(&app, &app.send_to("ada@silent.example").await).await;
        assert_eq!((&refused["status"], codes(&refused)), (&"BOUNCED".into(), vec![Some(556)]));
        assert_eq!(events(&app, &refused, "email.bounce").await.len(), 1);
        let missing = app.send_to("ada@missing.example").await;
        app.eventually("one look", async || (codes(&app.email(&missing).await) == [Some(451)]).then_some(())).await;
        let missing = settled(&app, &missing).await;
        assert_eq!((&missing["status"], codes(&missing)), (&"BOUNCED".into(), vec![Some(451), Some(550)]));
        assert_eq!(attempts(&missing)[1]["enhanced"], "5.1.2");
        assert_eq!(times_said(&missing, "missing.example does not exist"), 2, "{missing}");
        // a domain that is there, and has a record of another kind
        net.dns.set_ttl(60);
        net.dns.set_txt("bare.example", ["v=spf1 -all"]);
        let bare = settled(&app, &app.send_to("ada@bare.example").await).await;
        assert_eq!((&bare["status"], codes(&bare)), (&"BOUNCED".into(), vec![Some(451), Some(550)]));
        let said = "bare.example has no mail server: neither MX nor address records.";
        assert_eq!(times_said(&bare, said), 2, "{bare}");
    }

    async fn a_domain_whose_aliases_lead_in_a_circle_is_tried_again(engine: Engine) {
        let net = Net::new().await;
        net.dns.set_cname("round.example", "about.example");
        net.dns.set_cname("about.example", "round.example");
        let app = net.app(engine).start().await;
        let id = app.send_to("ada@round.example").await;
        let email = app.eventually("two looks", async || {
            let email = app.email(&id).await;
            (codes(&email).len() >= 2).then_some(email)
        }).await;
        assert_eq!((&email["status"], codes(&email)[0]), (&"PENDING".into(), Some(451)), "{email}");
        assert!(times_said(&email, "CNAME loop: the aliases of round.example lead in a circle") >= 2, "{email}");
        net.dns.remove("round.example");
        net.dns.set_mx("round.example", [(10, "mx.round.example")]);
        let server = net.plain("mx.round.example", 1).await;
        app.advance(Duration::from_mins(1)).await;
        app.email_in(&id, &["SENT"]).await;
        assert_eq!(server.received().len(), 1);
    }

    async fn a_domain_of_which_it_is_not_certain_that_it_takes_no_mail_bounces_after_hours(engine: Engine) {
        let net = Net::new().await;
        // an alias alone, and of its end nothing, without the SOA record that would make it certain
        net.dns.set_cuts_aliases(true);
        net.dns.set_cname("alias.example", "end.example");
        net.dns.set_txt("end.example", ["no address"]);
        let app = net
            .app(engine)
            .env("MAILWRIGHT_DELIVERY_RETRY_BASE_MS", "60000")
            .env("MAILWRIGHT_DELIVERY_RETRY_MAX_MS", "14400000")
            .start()
            .await;
        let id = app.send_to("ada@alias.example").await;
        // the pauses double from a minute on, with a tenth more at most: the ninth look is the first after four hours
        for looks in 1..=8_usize {
            let email = app.eventually("it is looked up again", async || {
                let email = app.email(&id).await;
                (codes(&email).len() >= looks).then_some(email)
            }).await;
            assert_eq!((&email["status"], codes(&email)), (&"PENDING".into(), vec![Some(451); looks]), "{email}");
            assert_eq!(attempts(&email)[looks - 1]["enhanced"], "4.4.3");
            app.advance(Duration::from_secs(66 << (looks - 1))).await;
        }
        let email = settled(&app, &id).await;
        assert_eq!((&email["status"], codes(&email).len()), (&"BOUNCED".into(), 9));
        assert_eq!(attempts(&email)[8]["enhanced"], "5.1.2");
        assert_eq!(events(&app, &email, "email.bounce").await.len(), 1);
    }

    async fn a_name_server_that_fails_costs_no_attempt_and_no_bounce(engine: Engine) {
        let net = Net::new().await;
        net.dns.set_servfail("one.example");
        let app = net.app(engine).start().await;
        let id = app.send_to("ada@one.example").await;
        let email = waiting(&app, &id, "gave no answer about one.example").await;
        assert_eq!(email["attemptCount"], 0);
        net.dns.remove("one.example");
        net.dns.set_mx("one.example", [(10, "mx.one.example")]);
        let server = net.plain("mx.one.example", 1).await;
        app.advance(Duration::from_mins(1)).await;
        app.email_in(&id, &["SENT"]).await;
        assert_eq!(server.received().len(), 1);
    }

    async fn a_domain_of_which_there_is_no_answer_is_looked_up_ever_more_rarely(engine: Engine) {
        let net = Net::new().await;
        net.dns.set_servfail("one.example");
        net.dns.set_mx("two.example", [(10, "mx.two.example")]);
        let two = net.plain("mx.two.example", 2).await;
        let app = net.app(engine).start().await;
        let first = app.send_to("ada@one.example").await;
        waiting(&app, &first, "gave no answer about one.example").await;
        let asked = net.dns.queries_for("one.example");
        app.advance(Duration::from_mins(1)).await;
        app.eventually("it is looked up again", async || (net.dns.queries_for("one.example") > asked).then_some(())).await;
        // a further mail waits with it
        let second = app.send_to("bob@one.example").await;
        waiting(&app, &second, "gave no answer about one.example").await;
        let asked = net.dns.queries_for("one.example");
        app.advance(Duration::from_secs(61)).await;
        let other = app.send_to("ada@two.example").await;
        app.email_in(&other, &["SENT"]).await;
        assert_eq!((net.dns.queries_for("one.example"), two.received().len()), (asked, 1), "it rests for two minutes");
        net.dns.remove("one.example");
        net.dns.set_mx("one.example", [(10, "mx.one.example")]);
        let server = net.plain("mx.one.example", 1).await;
        app.advance(Duration::from_mins(1)).await;
        for id in [&first, &second] {
            assert_eq!(codes(&app.email_in(id, &["SENT"]).await), [Some(250)]);
        }
        assert_eq!(server.received().len(), 2);
    }

    async fn addresses_that_are_not_public_are_not_connected_to(engine: Engine) {
        let net = Net::new().await;
        net.dns.set_mx("inside.example", [(10, "mx.inside.example")]);
        let server = net.plain("mx.inside.example", 1).await;
        let app = net.app(engine).env("MAILWRIGHT_ALLOW_PRIVATE_NETWORKS", "false").start().await;
        let id = app.send_to("ada@inside.example").await;
        waiting(&app, &id, "it has private addresses only, and MAILWRIGHT_ALLOW_PRIVATE_NETWORKS is false").await;
        assert_eq!(server.connections(), 0);
    }

    async fn a_site_that_throttles_is_left_alone_and_nobody_else_waits(engine: Engine) {
        let net = Net::new().await;
        net.dns.set_mx("slow.example", [(10, "mx.slow.example")]);
        net.dns.set_mx("quick.example", [(10, "mx.quick.example")]);
        let limited = ScriptedServer::builder().mails_per_window(5, Duration::from_hours(1));
        let slow = net.server("mx.slow.example", 1, limited, |_, _| Answer::Accept).await;
        let quick = net.plain("mx.quick.example", 2).await;
        let key = "a-key-for-the-metrics";
        let app = net.app(engine).env("MAILWRIGHT_METRICS_KEY", key).start().await;
        let mut mails = Vec::new();
        for number in 0..12 {
            mails.push(app.send_to(&format!("n{number}@slow.example")).await);
        }
        let first = app.eventually("mails wait", async || {
            for id in &mails {
                let email = app.email(id).await;
                if email["error"].as_str().is_some_and(|error| error.contains("asks us to send less")) {
                    return Some(email);
                }
            }
            None
        }).await;
        assert!(text(&first["error"]).contains("450 4.7.1"), "{first}");
        let site = read(&app, "/delivery/sites").await["sites"][0].clone();
        assert_eq!((&site["domain"], &site["site"], &site["siteState"]), (&json!("slow.example"), &json!("slow.example"), &json!("resting")), "{site}");
        assert_eq!((&site["siteReply"], &site["connections"]), (&json!("450 4.7.1"), &json!(1)), "{site}");
        assert!(site["sitePausedUntil"].is_string() && site["perMinute"].is_number(), "{site}");
        app.eventually("the metrics show it", async || {
            let metrics = app.request("GET", "/metrics").header("authorization", &format!("bearer {key}")).send().await.assert_status(200).text();
            let state = "mailwright_site_state{transport=\"default\",site=\"slow.example\",state=\"resting\"} 1";
            metrics.contains(state).then_some(())
        }).await;
        // sites are domains that projects write to, and nothing else keeps others from the metrics
        for request in [app.request("GET", "/metrics"), app.get("/metrics"), app.request("GET", "/metrics").bearer("another-key-than-that")] {
            let metrics = request.send().await.assert_status(200).text();
            assert!(metrics.contains("mailwright_sites{transport=\"default\",state=\"resting\"} 1"), "{metrics}");
            assert!(!metrics.contains("slow.example") && !metrics.contains("mailwright_site_"), "{metrics}");
        }
        let began = Instant::now();
        for number in 0..20 {
            let id = app.send_to(&format!("n{number}@quick.example")).await;
            app.email_in(&id, &["SENT"]).await;
        }
        assert!(began.elapsed() < Duration::from_secs(20));
        assert_eq!(quick.received().len(), 20);
        assert_eq!(slow.received().len(), 5);
        assert!(slow.refused_mails() <= 2, "{}", slow.refused_mails());
    }

    async fn a_dead_site_costs_only_its_own_mail(engine: Engine) {
        let net = Net::new().await;
        net.dns.set_mx("dead.example", [(10, "mx.dead.example")]);
        net.dns.set_mx("quick.example", [(10, "mx.quick.example")]);
        let mut dead = net.plain("mx.dead.example", 1).await;
        dead.stop().await;
        let quick = net.plain("mx.quick.example", 2).await;
        let app = net.app(engine).start().await;
        let mut mails = Vec::new();
        for number in 0..30 {
            mails.push(app.send_to(&format!("n{number}@dead.example")).await);
        }
        waiting(&app, &mails[29], "cannot be reached").await;
        let id = app.send_to("ada@quick.example").await;
        app.email_in(&id, &["SENT"]).await;
        assert_eq!(quick.received().len(), 1);
        dead.start_again().await;
        app.advance(Duration::from_mins(20)).await;
        app.eventually("the site is found to be back", async || (!dead.received().is_empty()).then_some(())).await;
        // what was given back before that is looked at again within a minute
        app.advance(Duration::from_secs(61)).await;
        for id in &mails {
            app.email_in(id, &["SENT"]).await;
        }
        assert_eq!(dead.received().len(), 30);
    }

    async fn domains_of_one_site_share_its_connections(engine: Engine) {
        let net = Net::new().await;
        let most = ScriptedServer::builder().most_connections(2);
        let server = net.server("mx.host.example", 1, most, |_, _| Answer::Delay(Duration::from_millis(30))).await;
        for number in 0..40 {
            net.dns.set_mx(&format!("d{number}.example"), [(10, "mx.host.example")]);
        }
        let app = net.app(engine).start().await;
        let mut mails = Vec::new();
        for number in 0..120 {
            mails.push(app.send_to(&format!("ada@d{}.example", number % 40)).await);
        }
        for id in &mails {
            app.email_in(id, &["SENT"]).await;
        }
        assert_eq!(server.received().len(), 120);
        assert!(server.refused_connections() <= 3, "{} too many", server.refused_connections());
        assert!(server.connections() <= 20, "{} connections for 120 mails", server.connections());
        assert_eq!(server.violations(), Vec::<String>::new());
    }

    async fn a_policy_about_tls_is_enforced_and_kept(engine: Engine) {
        let net = Net::new().await;
        let certificate = Certificate::of(&["mx.strict.example", "mta-sts.strict.example"]);
        net.dns.set_mx("strict.example", [(10, "mx.strict.example"), (20, "mx.other.example")]);
        net.dns.set_mx("loose.example", [(10, "mx.strict.example")]);
        net.dns.set_txt("_mta-sts.strict.example", ["v=STSv1; id=1"]);
        net.dns.set_a("mta-sts.strict.example", [address(9)]);
        let https = free_port();
        let policy = "version: STSv1\nmode: enforce\nmx: mx.strict.example\nmax_age: 86400\n";
        let mut published = PolicyServer::start(address(9), https, &certificate, policy).await;
        let mut plain = net.plain("mx.strict.example", 1).await;
        let other = net.plain("mx.other.example", 2).await;
        let app = net
            .app(engine)
            .env("SSL_CERT_FILE", certificate.path().display().to_string())
            .env("MAILWRIGHT_TEST_POLICY_PORT", https.to_string())
            .start()
            .await;
        // the server that the policy names offers no TLS, and the other is not named
        let id = app.send_to("ada@strict.example").await;
        waiting(&app, &id, "does not offer STARTTLS").await;
        let loose = app.send_to("ada@loose.example").await;
        app.email_in(&loose, &["SENT"]).await;
        assert_eq!((plain.received().len(), other.received().len()), (1, 0));
        // an attacker who suppresses the policy gains nothing
        published.stop().await;
        net.dns.remove("_mta-sts.strict.example");
        app.advance(Duration::from_mins(1)).await;
        let second = app.send_to("bob@strict.example").await;
        waiting(&app, &second, "does not offer STARTTLS").await;
        plain.stop().await;
        let encrypting = ScriptedServer::builder().starttls(&certificate);
        let encrypting = net.server("mx.strict.example", 1, encrypting, |_, _| Answer::Accept).await;
        app.advance(Duration::from_mins(1)).await;
        for id in [&id, &second] {
            let email = app.email_in(id, &["SENT"]).await;
            assert_eq!(attempts(&email).last().map(|attempt| attempt["tls"].clone()), Some(true.into()));
        }
        assert!(encrypting.received().iter().all(|mail| mail.tls));
        assert_eq!(other.received().len(), 0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_doctor_looks_whether_name_and_address_lead_to_each_other() {
    let net = Net::new().await;
    // not of this machine, whose reverse names no name server is asked for
    let public = Ipv4Addr::new(192, 0, 2, 7);
    let app = net.app(Engine::Sqlite).start().await;
    let says = async |what: &str| {
        let found = String::from_utf8_lossy(&app.try_run(&["doctor"]).await.stdout).into_owned();
        let line = found.lines().find(|line| line.contains("transport: direct")).unwrap_or_default();
        assert!(line.contains(what), "{found}");
    };
    says("has no address; add an A record").await;
    net.dns.set_a("out.mailwright.test", [public]);
    says("the reverse name of 192.0.2.7 is not out.mailwright.test").await;
    net.dns.set_ptr(public, "out.mailwright.test");
    says("out.mailwright.test and its address name each other").await;
}
