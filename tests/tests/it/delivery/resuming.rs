//! A site that blocks us is tried again before its time, because the operator says that the cause is removed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mailwright_testkit::smtp::{Answer, ScriptedServer};
use mailwright_testkit::{App, Engine, both_engines};
use mailwright_tests::read;

use crate::delivery::direct::{Net, waiting};
use crate::delivery::{codes, sent};

const BLOCKED: &str = "5.7.1 blocked using zen.spamhaus.org, see https://www.spamhaus.org";
const WAITS: &str = "host.example blocks the address that we send from";

/// A server of the site `host.example` that blocks us while it is to.
async fn blocking(net: &Net) -> (ScriptedServer, Arc<AtomicBool>) {
    for domain in ["one.example", "two.example"] {
        net.dns.set_mx(domain, [(10, "mx.host.example")]);
    }
    let blocks = Arc::new(AtomicBool::new(true));
    let is_blocking = Arc::clone(&blocks);
    let script = move |_: &str, _: u32| {
        if is_blocking.load(Ordering::SeqCst) { Answer::RefuseMail(554, BLOCKED) } else { Answer::Accept }
    };
    let server = net.server("mx.host.example", 1, ScriptedServer::builder(), script).await;
    (server, blocks)
}

async fn resume(app: &App, site: &str) -> String {
    app.run(&["delivery", "resume", "--site", site, "--reason", "They took us off the list."]).await
}

async fn is_blocked(app: &App) {
    app.eventually("the site blocks us", async || {
        let sites = read(app, "/delivery/sites").await;
        (sites["sites"][0]["siteState"] == "blocked").then_some(())
    })
    .await;
}

both_engines! {
    async fn a_block_that_is_ended_by_hand_is_longer_when_it_comes_back(engine: Engine) {
        let net = Net::new().await;
        net.dns.set_mx("quick.example", [(10, "mx.quick.example")]);
        let _quick = net.plain("mx.quick.example", 2).await;
        let (server, blocks) = blocking(&net).await;
        let app = net.app(engine).start().await;
        let first = app.send_to("ada@one.example").await;
        is_blocked(&app).await;
        let second = app.send_to("ada@two.example").await;
        for id in [&first, &second] {
            waiting(&app, id, WAITS).await;
        }
        let output = app.try_run(&["delivery", "resume", "--site", "other.example"]).await;
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains("other.example does not block us"), "{said}");
        let output = app.try_run(&["delivery", "resume", "--site", "192.0.2.1"]).await;
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains("--site must be the name of a site"), "{said}");
        assert!(server.received().is_empty());

        blocks.store(false, Ordering::SeqCst);
        let said = resume(&app, "Host.example.").await;
        assert!(said.contains("The block of the address that the system chooses is ended."), "{said}");
        let listed = app.run(&["delivery", "list"]).await;
        assert!(listed.contains("  RESUME  site=host.example  reason=\"They took us off the list.\"  by=operator"), "{listed}");
        app.eventually("mail leaves again", async || (!server.received().is_empty()).then_some(())).await;
        // at a tenth of the rate, which is a mail a minute here
        app.advance(Duration::from_mins(3)).await;
        for id in [&first, &second] {
            assert_eq!(codes(&app.email_in(id, &["SENT"]).await), [Some(250)], "a block costs no attempt");
        }

        blocks.store(true, Ordering::SeqCst);
        app.advance(Duration::from_mins(3)).await;
        let third = app.send_to("bob@one.example").await;
        is_blocked(&app).await;
        waiting(&app, &third, WAITS).await;
        blocks.store(false, Ordering::SeqCst);
        // the first block was for an hour, this one is for two
        app.advance(Duration::from_mins(90)).await;
        sent(&app, "ada@quick.example").await;
        waiting(&app, &third, WAITS).await;
        assert_eq!(server.received().len(), 2);
        resume(&app, "host.example").await;
        app.email_in(&third, &["SENT"]).await;
        let listed = app.run(&["delivery", "list"]).await;
        assert_eq!(listed.matches("RESUME").count(), 1, "{listed}");
        app.advance(Duration::from_hours(24)).await;
        app.eventually("it is forgotten", async || {
            (!app.run(&["delivery", "list"]).await.contains("RESUME")).then_some(())
        })
        .await;
    }

    async fn the_blocks_of_all_addresses_and_the_pause_of_the_site_end_together(engine: Engine) {
        let net = Net::new().await;
        let (server, blocks) = blocking(&net).await;
        let transport = |name: &str, from: &str| {
            let url = format!("direct:?helo=out.mailwright.test&from={from}&port={}", net.port);
            format!("[[transports]]\nname = '{name}'\nurl = '{url}'\n")
        };
        let file = format!(
            "{}{}[[routes]]\nvia = ['first', 'second']\n",
            transport("first", "127.0.0.1"),
            transport("second", "127.0.0.2")
        );
        let app = App::builder(engine)
            .file(&file)
            .env("MAILWRIGHT_DNS_SERVER", net.dns.addr.to_string())
            .env("MAILWRIGHT_ALLOW_PRIVATE_NETWORKS", "true")
            .start()
            .await;
        let id = app.send_to("ada@one.example").await;
        // it waits once both addresses are blocked
        waiting(&app, &id, WAITS).await;
        let printed = app.run(&["delivery", "pause", "--site", "host.example"]).await;
        let pause = printed.split_whitespace().next().expect("an id");
        blocks.store(false, Ordering::SeqCst);
        let said = resume(&app, "host.example").await;
        for part in ["The block of 127.0.0.1 is ended.", "The block of 127.0.0.2 is ended.", &format!("The pause {pause} is ended.")] {
            assert!(said.contains(part), "{said}");
        }
        app.email_in(&id, &["SENT"]).await;
        assert_eq!(server.received().len(), 1);
        assert!(!app.run(&["delivery", "list"]).await.contains("PAUSE"));
    }
}
