//! New source addresses and sender domains send little at first; what exceeds the volume goes another way, or waits.

use std::net::Ipv4Addr;
use std::time::Duration;

use mailwright_testkit::dns::FakeDns;
use mailwright_testkit::net::free_port;
use mailwright_testkit::smtp::{Answer, ScriptedServer};
use mailwright_testkit::{App, AppBuilder, Engine, both_engines, json};
use mailwright_tests::{as_project, text};

use crate::delivery::{pass, sent, sent_by};

/// A site that takes all mail of `one.example`, a name server that knows it, and one of whose mail it takes none yet.
struct Net {
    dns: FakeDns,
    port: u16,
    site: ScriptedServer,
}

impl Net {
    async fn new() -> Self {
        let (dns, port) = (FakeDns::start().await, free_port());
        let address = Ipv4Addr::new(127, 0, 18, 1);
        for domain in ["one.example", "busy.example"] {
            dns.set_mx(domain, [(10, "mx.one.example")]);
        }
        dns.set_a("mx.one.example", [address]);
        let site = ScriptedServer::builder().address(address).port(port);
        let site = site
            .start(|to, _| {
                if to.ends_with("busy.example") {
                    Answer::RefuseRcpt(450, "4.2.1 the mailbox is busy")
                } else {
                    Answer::Accept
                }
            })
            .await;
        Self { dns, port, site }
    }

    fn url(&self, warm_up: &str) -> String {
        format!("direct:?helo=out.mailwright.test&from=127.0.0.1&port={}{warm_up}", self.port)
    }

    /// A file with a relay that stands in.
    fn with_relay(&self, relay: &ScriptedServer) -> String {
        let mx = self.url("&warmup=yes");
        let relay = format!("smtp://127.0.0.1:{}?tls=none", relay.port);
        let transport = |name, url| format!("[[transports]]\nname = '{name}'\nurl = '{url}'\n");
        format!("{}{}[[routes]]\nvia = ['mx', 'relay']\n", transport("mx", &mx), transport("relay", &relay))
    }

    /// With a plan of 40 mails on the first day, 10 in an hour, and 80 on the second.
    fn app(&self, engine: Engine) -> AppBuilder {
        App::builder(engine)
            .direct(&self.dns, self.port)
            .env("MAILWRIGHT_TRANSPORT", self.url("&warmup=yes"))
            .env("MAILWRIGHT_WARMUP_PLAN", "40, 80")
    }
}

async fn send_many(app: &App, count: usize, domain: &str) -> Vec<String> {
    let mut mails = Vec::new();
    for number in 0..count {
        mails.push(app.send_to(&format!("n{number}-{}@{domain}", mails.len())).await);
    }
    mails
}

/// Waits until so many of the mails are sent, and the first of the others that was looked at says why it waits.
async fn all_but_those_that_wait(app: &App, mails: &[String], sent: usize, why: &str) {
    app.eventually(&format!("{sent} of {} are sent, the others wait: {why}", mails.len()), async || {
        let (mut found, mut explained) = (0, 0);
        for id in mails {
            let email = app.email(id).await;
            found += usize::from(email["status"] == "SENT");
            let says = email["error"].as_str().is_some_and(|error| error.contains(why));
            explained += usize::from(email["status"] == "PENDING" && says);
        }
        (found == sent && (explained > 0 || sent == mails.len())).then_some(())
    })
    .await;
}

/// The next hour begins, and the minute in which its first mails leave is over.
async fn an_hour_later(app: &App) {
    app.advance(Duration::from_mins(62)).await;
}

both_engines! {
    async fn a_new_address_sends_what_its_day_and_hour_have(engine: Engine) {
        let net = Net::new().await;
        let app = net.app(engine).start().await;
        let mails = send_many(&app, 12, "one.example").await;
        let why = "the address 127.0.0.1 is new to receivers: on day 1 of 2 it sends 40 mails, 10 in an hour";
        all_but_those_that_wait(&app, &mails, 10, why).await;
        let listed = app.run(&["delivery", "warm-up", "list"]).await;
        assert!(listed.contains("address 127.0.0.1  day=1  volume=40  hourly=10  today=10"), "{listed}");
        an_hour_later(&app).await;
        all_but_those_that_wait(&app, &mails, 12, why).await;
        assert_eq!(net.site.received().len(), 12);
        // it costs a mail nothing of the time that it may wait
        let email = app.email(&mails[11]).await;
        assert_eq!((&email["status"], &email["attemptCount"]), (&json!("SENT"), &json!(1)));
    }

    async fn what_exceeds_it_goes_by_the_next_transport(engine: Engine) {
        let net = Net::new().await;
        let relay = ScriptedServer::start(|_, _| Answer::Accept).await;
        let app = net.app(engine).env("MAILWRIGHT_TRANSPORT", "capture").file(&net.with_relay(&relay)).start().await;
        let mut by = Vec::new();
        for number in 0..12 {
            by.push(sent_by(&sent(&app, &format!("n{number}@one.example")).await));
        }
        assert_eq!((by.iter().filter(|name| *name == "mx").count(), &by[10..]), (10, &["relay".to_owned(), "relay".to_owned()][..]));
        an_hour_later(&app).await;
        assert_eq!(sent_by(&sent(&app, "later@one.example").await), "mx");
        assert_eq!((net.site.received().len(), relay.received().len()), (11, 2));
    }

    async fn a_burst_to_a_domain_that_nobody_has_looked_up_uses_the_volume_too(engine: Engine) {
        let net = Net::new().await;
        let relay = ScriptedServer::start(|_, _| Answer::Accept).await;
        let app = net.app(engine).env("MAILWRIGHT_TRANSPORT", "capture").file(&net.with_relay(&relay)).start().await;
        let to: Vec<String> = (0..40).map(|number| format!("n{number}@one.example")).collect();
        let body = json!({"to": to, "from": app.from(), "subject": "s", "body": "<p>b</p>"});
        app.post("/v1/send").json(&body).send().await.assert_status(200);
        app.eventually("all are sent", async || {
            (net.site.received().len() + relay.received().len() == 40).then_some(())
        }).await;
        assert_eq!((net.site.received().len(), relay.received().len()), (10, 30));
    }

    async fn a_part_is_kept_for_transactional_mail(engine: Engine) {
        let net = Net::new().await;
        let app = net.app(engine).start().await;
        for number in 0..12 {
            let body = json!({"email": format!("c{number}@one.example"), "event": "joined", "subscribed": true});
            app.post("/v1/track").json(&body).send().await.assert_status(200);
        }
        let joined = json!({"field": "event.joined", "operator": "triggered"});
        let campaign = json!({
            "name": "News", "subject": "News", "body": "<p>News</p>", "from": app.from(), "audienceType": "FILTERED",
            "audienceCondition": {"logic": "AND", "groups": [{"filters": [joined]}]},
        });
        let made = app.post("/campaigns").json(&campaign).send().await.assert_status(201).json();
        let path = format!("/campaigns/{}/send", text(&made["data"]["id"]));
        app.post(&path).send().await.assert_status(200);
        app.eventually("eight are sent", async || (net.site.received().len() >= 8).then_some(())).await;
        assert_eq!(net.site.received().len(), 8);
        sent(&app, "ada@one.example").await;
        sent(&app, "bob@one.example").await;
        assert_eq!(net.site.received().len(), 10);
        let waits = app.send_to("carl@one.example").await;
        all_but_those_that_wait(&app, &[waits], 0, "is new to receivers").await;
        an_hour_later(&app).await;
        app.eventually("the rest is sent", async || (net.site.received().len() == 15).then_some(())).await;
    }

    async fn a_mail_that_did_not_leave_is_not_counted(engine: Engine) {
        let net = Net::new().await;
        let long = "600000";
        let app = net.app(engine)
            .env("MAILWRIGHT_DELIVERY_RETRY_BASE_MS", long)
            .env("MAILWRIGHT_DELIVERY_RETRY_MAX_MS", long)
            .start().await;
        let busy = send_many(&app, 10, "busy.example").await;
        app.eventually("all are put off", async || {
            for id in &busy {
                if app.email(id).await["attemptCount"].as_i64() < Some(1) {
                    return None;
                }
            }
            Some(())
        }).await;
        // what did not leave is written back twice a minute
        app.advance(Duration::from_secs(31)).await;
        app.eventually("nothing is counted", async || {
            app.run(&["delivery", "warm-up", "list"]).await.contains("today=0").then_some(())
        }).await;
        for id in send_many(&app, 10, "one.example").await {
            app.email_in(&id, &["SENT"]).await;
        }
    }

    async fn a_new_domain_warms_up_by_itself(engine: Engine) {
        let net = Net::new().await;
        let app = net.app(engine)
            .env("MAILWRIGHT_TRANSPORT", net.url(""))
            .env("MAILWRIGHT_WARMUP_DOMAINS", "true")
            .start().await;
        let other = app.bootstrap("Other", "other.example").await;
        let mails = send_many(&app, 12, "one.example").await;
        let why = format!("the domain {} is new to receivers", app.domain());
        all_but_those_that_wait(&app, &mails, 10, &why).await;
        let body = json!({"to": "b@one.example", "from": "news@other.example", "subject": "s", "body": "<p>b</p>"});
        let answer = as_project(&app, &other, "POST", "/v1/send").json(&body).send().await.assert_status(200).json();
        let id = text(&answer["data"]["emails"][0]["email"]).to_owned();
        app.eventually("the other domain sends", async || {
            let email = as_project(&app, &other, "GET", &format!("/emails/{id}")).send().await.assert_status(200).json();
            (email["status"] == "SENT").then_some(())
        }).await;
    }

    async fn an_operator_ends_and_restarts_it(engine: Engine) {
        let net = Net::new().await;
        let app = net.app(engine).start().await;
        let listed = app.run(&["delivery", "warm-up", "list"]).await;
        assert!(listed.starts_with("Nothing warms up yet"), "{listed}");
        let mails = send_many(&app, 12, "one.example").await;
        all_but_those_that_wait(&app, &mails, 10, "is new to receivers").await;
        let listed = app.run(&["delivery", "warm-up", "list", "--json"]).await;
        assert!(listed.contains("\"address\":\"127.0.0.1\"") && listed.contains("\"volume\":40"), "{listed}");
        let output = app.try_run(&["delivery", "warm-up", "finish", "--domain", "shop.example"]).await;
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.contains("MAILWRIGHT_WARMUP_DOMAINS is false"), "{said}");
        assert_eq!(app.run(&["delivery", "warm-up", "finish", "--address", "127.0.0.1"]).await.trim(),
            "The warm-up of address 127.0.0.1 is over.");
        // a process asks again each minute
        pass(&app, Duration::from_secs(61)).await;
        for id in send_many(&app, 20, "one.example").await {
            app.email_in(&id, &["SENT"]).await;
        }
        assert!(app.run(&["delivery", "warm-up", "list"]).await.contains("address 127.0.0.1  over"));
        app.run(&["delivery", "warm-up", "restart", "--address", "127.0.0.1"]).await;
        let mails = send_many(&app, 11, "one.example").await;
        all_but_those_that_wait(&app, &mails, 10, "on day 1 of 2").await;
    }
}

#[tokio::test]
async fn two_processes_share_the_volume() {
    let net = Net::new().await;
    let one = net.app(Engine::Postgres).start().await;
    let two = one.second_node().await;
    let mut mails = Vec::new();
    for number in 0..16 {
        let app = if number % 2 == 0 { &one } else { &two };
        mails.push(app.send_to(&format!("n{number}@one.example")).await);
    }
    all_but_those_that_wait(&one, &mails, 10, "is new to receivers").await;
    assert_eq!(net.site.received().len(), 10);
}
