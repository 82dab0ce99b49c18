//! Several transports: which mail leaves by which, and who stands in when one takes none.

use std::time::Duration;

use mailwright_testkit::dns::FakeDns;
use mailwright_testkit::net::free_port;
use mailwright_testkit::smtp::{Answer, ScriptedServer};
use mailwright_testkit::{App, Engine, both_engines, json};
use mailwright_tests::{as_project, text};

use crate::delivery::{sent, sent_by, settled};

/// A file with two relays and routes.
fn two(first: &ScriptedServer, second: &ScriptedServer, routes: &str) -> String {
    let transport = |name: &str, server: &ScriptedServer| {
        format!("[[transports]]\nname = '{name}'\nurl = 'smtp://127.0.0.1:{}?tls=none'\n", server.port)
    };
    format!("{}{}{routes}", transport("first", first), transport("second", second))
}

const IN_TURN: &str = "[[routes]]\nvia = ['first', 'second']\n";

async fn accepting() -> ScriptedServer {
    ScriptedServer::start(|_, _| Answer::Accept).await
}

async fn waits_for_the_first(app: &App, id: &str) {
    app.eventually("it waits for the first", async || {
        let email = app.email(id).await;
        email["error"].as_str()?.contains("transport first takes none").then_some(())
    })
    .await;
}

both_engines! {
    async fn a_transport_that_is_down_is_stood_in_for_until_it_is_back(engine: Engine) {
        let (mut first, second) = (accepting().await, accepting().await);
        let app = App::builder(engine).file(&two(&first, &second, IN_TURN)).start().await;
        assert_eq!(sent_by(&sent(&app, "a@example.com").await), "first");
        first.stop().await;
        assert_eq!(sent_by(&sent(&app, "b@example.com").await), "second");
        assert_eq!(sent_by(&sent(&app, "c@example.com").await), "second");
        first.start_again().await;
        app.eventually_within(Duration::from_secs(30), "the first is used again", async || {
            (sent_by(&sent(&app, "d@example.com").await) == "first").then_some(())
        }).await;
    }

    async fn what_is_refused_for_the_recipient_goes_by_no_other(engine: Engine) {
        let first = ScriptedServer::start(|_, _| Answer::RefuseRcpt(550, "5.1.1 no such user")).await;
        let second = accepting().await;
        let app = App::builder(engine).file(&two(&first, &second, IN_TURN)).start().await;
        let email = settled(&app, &app.send_to("nobody@example.com").await).await;
        assert_eq!((text(&email["status"]), &*sent_by(&email)), ("BOUNCED", "first"));
        assert_eq!(second.attempts().len(), 0);
    }

    async fn a_transport_that_refuses_all_mail_is_stood_in_for(engine: Engine) {
        let first = ScriptedServer::start(|_, _| Answer::RefuseMail(554, "5.7.1 your account is suspended")).await;
        let second = accepting().await;
        let app = App::builder(engine).file(&two(&first, &second, IN_TURN)).start().await;
        let mut mails = Vec::new();
        for number in 0..10 {
            mails.push(app.send_to(&format!("n{number}@example.com")).await);
        }
        for id in &mails {
            let email = app.email_in(id, &["SENT"]).await;
            assert_eq!(sent_by(&email), "second");
        }
        assert_eq!(second.received().len(), 10);
        assert_eq!(first.received().len(), 0);
    }

    async fn a_refused_login_is_stood_in_for(engine: Engine) {
        let first = ScriptedServer::builder().auth("ada", "right").start(|_, _| Answer::Accept).await;
        let second = accepting().await;
        let file = two(&first, &second, IN_TURN).replacen("smtp://", "smtp://ada:wrong@", 1);
        let app = App::builder(engine).file(&file).start().await;
        assert_eq!(sent_by(&sent(&app, "a@example.com").await), "second");
    }

    async fn routes_choose_by_what_a_mail_is(engine: Engine) {
        let (first, second) = (accepting().await, accepting().await);
        let routes = "[[routes]]\nrecipient_domains = ['*.special.example']\nvia = ['second']\n\
                      [[routes]]\nsender_domains = ['other.example']\nvia = ['second']\n\
                      [[routes]]\nlanes = ['transactional']\nrecipient_domains = ['half.example']\nshare = 50\nvia = ['second']\n";
        let app = App::builder(engine).file(&two(&first, &second, routes)).start().await;
        for (to, by) in [("a@special.example", "first"), ("a@very.special.example", "second"), ("a@example.com", "first")] {
            assert_eq!(sent_by(&sent(&app, to).await), by, "{to}");
        }
        let other = app.bootstrap("Other", "other.example").await;
        let body = json!({"to": "b@example.com", "from": "news@other.example", "subject": "s", "body": "<p>b</p>"});
        let answer = as_project(&app, &other, "POST", "/v1/send").json(&body).send().await.assert_status(200).json();
        let id = text(&answer["data"]["emails"][0]["email"]).to_owned();
        let email = app.eventually("it is sent", async || {
            let email = as_project(&app, &other, "GET", &format!("/emails/{id}")).send().await.assert_status(200).json();
            (email["status"] == "SENT").then_some(email)
        }).await;
        assert_eq!(sent_by(&email), "second");
        let mut by_second = 0;
        for number in 0..40 {
            by_second += usize::from(sent_by(&sent(&app, &format!("n{number}@half.example")).await) == "second");
        }
        assert!((8..=32).contains(&by_second), "{by_second} of 40");
    }

    async fn a_route_of_a_project_is_its_own(engine: Engine) {
        let (first, second) = (accepting().await, accepting().await);
        let mut app = App::builder(engine).file(&two(&first, &second, "")).start().await;
        let other = app.bootstrap("Other", "other.example").await;
        assert_eq!(sent_by(&sent(&app, "a@example.com").await), "first");
        app.stop().await;
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("routes.toml");
        let routes = format!("[[routes]]\nprojects = ['{}']\nvia = ['second']\n", app.project_id());
        std::fs::write(&path, two(&first, &second, &routes)).expect("a file");
        app.restart_as(&["--config", &path.display().to_string()], &[]).await;
        assert_eq!(sent_by(&sent(&app, "b@example.com").await), "second");
        let body = json!({"to": "b@example.com", "from": "news@other.example", "subject": "s", "body": "<p>b</p>"});
        as_project(&app, &other, "POST", "/v1/send").json(&body).send().await.assert_status(200);
        app.eventually("the other project's mail leaves by the first", async || {
            (first.received().len() == 2).then_some(())
        }).await;
    }

    async fn a_mail_in_doubt_goes_by_no_other_transport(engine: Engine) {
        let mut first = ScriptedServer::start(|_, attempt| {
            if attempt == 1 { Answer::DropAfterDot } else { Answer::Accept }
        }).await;
        let second = accepting().await;
        let app = App::builder(engine)
            .file(&two(&first, &second, IN_TURN))
            .env("MAILWRIGHT_DELIVERY_RETRY_BASE_MS", "3000")
            .env("MAILWRIGHT_DELIVERY_RETRY_MAX_MS", "3000")
            .start()
            .await;
        let id = app.send_to("ada@example.com").await;
        app.eventually("it is in doubt", async || (app.email(&id).await["inDoubt"] == true).then_some(())).await;
        first.stop().await;
        // the others leave by the second
        assert_eq!(sent_by(&sent(&app, "b@example.com").await), "second");
        app.advance(Duration::from_mins(1)).await;
        waits_for_the_first(&app, &id).await;
        first.start_again().await;
        app.advance(Duration::from_mins(1)).await;
        let email = app.email_in(&id, &["SENT"]).await;
        assert_eq!(sent_by(&email), "first");
        assert!(second.received_for("ada@example.com").is_empty());
    }

    async fn a_mail_that_was_being_written_when_the_process_died_goes_by_no_other_transport(engine: Engine) {
        let mut first = ScriptedServer::start(|_, attempt| {
            if attempt == 1 { Answer::HoldAfterDot } else { Answer::Accept }
        }).await;
        let second = accepting().await;
        let mut app = App::builder(engine).file(&two(&first, &second, IN_TURN)).start().await;
        let id = app.send_to("ada@example.com").await;
        app.eventually("it was written", async || (first.received_for("ada@example.com").len() == 1).then_some(())).await;
        app.kill();
        first.stop().await;
        app.restart().await;
        assert_eq!(sent_by(&sent(&app, "b@example.com").await), "second");
        app.advance(Duration::from_mins(1)).await;
        waits_for_the_first(&app, &id).await;
        first.start_again().await;
        app.advance(Duration::from_mins(1)).await;
        app.email_in(&id, &["SENT"]).await;
        assert!(second.received_for("ada@example.com").is_empty());
        assert_eq!(first.received_for("ada@example.com").len(), 2);
    }

    async fn where_a_site_blocks_us_another_transport_stands_in(engine: Engine) {
        let (dns, port) = (FakeDns::start().await, free_port());
        let blocked = "5.7.1 blocked using zen.spamhaus.org, see https://www.spamhaus.org";
        let mut servers = Vec::new();
        for (number, name) in [(1, "blocks"), (2, "takes")] {
            let address = std::net::Ipv4Addr::new(127, 0, 18, number);
            let host = format!("mx.{name}.example");
            dns.set_mx(&format!("{name}.example"), [(10, &host)]);
            dns.set_a(&host, [address]);
            let script = move |_: &str, _| if number == 1 { Answer::RefuseMail(554, blocked) } else { Answer::Accept };
            servers.push(ScriptedServer::builder().address(address).port(port).start(script).await);
        }
        let relay = accepting().await;
        let file = format!(
            "[[transports]]\nname = 'mx'\nurl = 'direct:?helo=out.mailwright.test&port={port}'\n\
             [[transports]]\nname = 'relay'\nurl = 'smtp://127.0.0.1:{}?tls=none'\n\
             [[routes]]\nvia = ['mx', 'relay']\n",
            relay.port
        );
        let app = App::builder(engine)
            .file(&file)
            .env("MAILWRIGHT_DNS_SERVER", dns.addr.to_string())
            .env("MAILWRIGHT_ALLOW_PRIVATE_NETWORKS", "true")
            .start()
            .await;
        for number in 0..5 {
            assert_eq!(sent_by(&sent(&app, &format!("n{number}@blocks.example")).await), "relay");
            assert_eq!(sent_by(&sent(&app, &format!("n{number}@takes.example")).await), "mx");
        }
        assert_eq!((relay.received().len(), servers[1].received().len()), (5, 5));
        assert!(servers[0].refused_senders() <= 2, "{}", servers[0].refused_senders());
    }
}
