//! Mail to servers that let us wait for their answers, and the mail beside it.

use std::time::Duration;

use mailwright_testkit::smtp::{Answer, ScriptedServer};
use mailwright_testkit::{Engine, Value, both_engines, json};
use mailwright_tests::text;

use super::direct::Net;
use crate::delivery::codes;

both_engines! {
    async fn sites_that_hang_leave_connections_to_others(engine: Engine) {
        let net = Net::new().await;
        let mut hanging = Vec::new();
        for number in 1..=5 {
            let (domain, host) = (format!("slow{number}.example"), format!("mx.slow{number}.example"));
            net.dns.set_mx(&domain, [(10, &host)]);
            hanging.push(net.server(&host, number, ScriptedServer::builder(), |_, _| Answer::HoldAfterDot).await);
        }
        net.dns.set_mx("quick.example", [(10, "mx.quick.example")]);
        let quick = net.plain("mx.quick.example", 6).await;
        let app = net.app(engine).env("MAILWRIGHT_DELIVERY_CONNECTIONS", "8").start().await;
        let other = app.bootstrap("Other", "other.test").await;
        // half of the connections go to sites of which nothing is known
        let mut mails = Vec::new();
        for number in 1..=4 {
            mails.push(app.send_to(&format!("ada@slow{number}.example")).await);
        }
        app.eventually("their answers are awaited", async || {
            hanging.iter().take(4).all(|server| server.received().len() == 1).then_some(())
        }).await;
        app.advance(Duration::from_secs(31)).await;
        for to in ["bob@slow1.example", "eve@slow1.example", "ada@slow5.example"] {
            mails.push(app.send_to(to).await);
        }
        app.eventually("mail waits, and says why", async || {
            for id in &mails[4..6] {
                let email = app.email(id).await;
                if email["error"].as_str().is_some_and(|error| error.contains("slow1.example takes minutes to answer")) {
                    return Some(());
                }
            }
            None
        }).await;
        // that of others leaves, and that for sites which answer
        let body = json!({"to": "ada@quick.example", "subject": "Hi", "body": "<p>Hi</p>", "from": other.from});
        app.request("POST", "/v1/send").bearer(&other.secret_key).json(&body).send().await.assert_status(200);
        app.eventually("it leaves", async || (quick.received().len() == 1).then_some(())).await;
        let id = app.send_to("bob@quick.example").await;
        app.email_in(&id, &["SENT"]).await;
        app.eventually("no further connection, but for one try", async || {
            hanging.iter().all(|server| server.received().len() == 1).then_some(())
        }).await;
        hanging.iter().for_each(ScriptedServer::release);
        for id in &mails[..4] {
            app.email_in(id, &["SENT"]).await;
        }
        for id in &mails {
            let email = app.eventually("a mail that waited is sent", async || {
                let email = app.email(id).await;
                if email["status"] == "SENT" {
                    return Some(email);
                }
                app.advance(Duration::from_mins(1)).await;
                None
            }).await;
            assert_eq!((codes(&email), &email["inDoubt"]), (vec![Some(250)], &json!(false)));
        }
        assert_eq!(hanging.iter().map(|server| server.received().len()).collect::<Vec<_>>(), [3, 1, 1, 1, 1]);
    }

    async fn servers_that_hang_leave_the_others_of_their_site_alone(engine: Engine) {
        let net = Net::new().await;
        net.dns.set_mx("bad.example", [(10, "bad.hoster.example")]);
        net.dns.set_mx("good.example", [(10, "good.hoster.example")]);
        let bad = net.server("bad.hoster.example", 1, ScriptedServer::builder(), |_, _| Answer::HoldAfterDot).await;
        let good = net.plain("good.hoster.example", 2).await;
        let app = net.app(engine).start().await;
        let mut mails = Vec::new();
        for number in 1..=10 {
            mails.push(app.send_to(&format!("n{number}@bad.example")).await);
        }
        app.eventually("their answers are awaited", async || (!bad.received().is_empty()).then_some(())).await;
        app.advance(Duration::from_secs(31)).await;
        for number in 1..=10 {
            let id = app.send_to(&format!("n{number}@good.example")).await;
            app.email_in(&id, &["SENT"]).await;
        }
        assert_eq!(good.received().len(), 10);
        assert!(bad.received().len() < 10, "{}", bad.received().len());
        bad.release();
        for id in &mails {
            app.eventually("a mail that waited is sent", async || {
                if app.email(id).await["status"] == "SENT" {
                    return Some(());
                }
                app.advance(Duration::from_mins(1)).await;
                None
            }).await;
        }
        assert_eq!(bad.received().len(), 10);
    }

    async fn name_servers_that_hang_leave_the_mail_to_others_alone(engine: Engine) {
        let net = Net::new().await;
        net.dns.set_mx("quick.example", [(10, "mx.quick.example")]);
        let quick = net.plain("mx.quick.example", 1).await;
        let app = net.app(engine).start().await;
        let mut mails = Vec::new();
        for number in 0..400 {
            let domain = format!("silent{number}.example");
            net.dns.set_silent(&domain);
            mails.push(app.send_to(&format!("ada@{domain}")).await);
        }
        let id = app.send_to("ada@quick.example").await;
        app.email_in(&id, &["SENT"]).await;
        assert_eq!(quick.received().len(), 1);
        app.eventually("mail that waits says why", async || {
            let waiting = app.list_all("/emails?status=PENDING").await;
            let says = |email: &Value, why: &str| text(&email["error"]).contains(why);
            let said = waiting.iter().filter(|email| email["error"].is_string());
            let mut said = said.filter(|email| says(email, "take long to answer") || says(email, "gave no answer"));
            said.next().map(|_| ())
        }).await;
    }

    async fn sites_that_hang_after_a_first_mail_leave_mail_to_proven_ones_alone(engine: Engine) {
        let net = Net::new().await;
        let mut hanging = Vec::new();
        for number in 1..=14 {
            let (domain, host) = (format!("slow{number}.example"), format!("mx.slow{number}.example"));
            net.dns.set_mx(&domain, [(10, &host)]);
            let script = |to: &str, _| if to.starts_with("first@") { Answer::Accept } else { Answer::HoldAfterDot };
            hanging.push(net.server(&host, number, ScriptedServer::builder(), script).await);
        }
        net.dns.set_mx("quick.example", [(10, "mx.quick.example")]);
        let quick = net.plain("mx.quick.example", 20).await;
        let app = net.app(engine).env("MAILWRIGHT_DELIVERY_CONNECTIONS", "16").start().await;
        for number in 1..=14 {
            let id = app.send_to(&format!("first@slow{number}.example")).await;
            app.email_in(&id, &["SENT"]).await;
        }
        for number in 1..=5 {
            let id = app.send_to(&format!("n{number}@quick.example")).await;
            app.email_in(&id, &["SENT"]).await;
        }
        // more than may be under way, and more than is held in memory
        let mut mails = Vec::new();
        for mail in 1..=5 {
            for number in 1..=14 {
                mails.push(app.send_to(&format!("more{mail}@slow{number}.example")).await);
            }
        }
        let held = || hanging.iter().map(|server| server.received().len() - 1).sum::<usize>();
        app.eventually("all connections for sites that are not proven are used", async || {
            (held() >= 10).then_some(())
        }).await;
        app.advance(Duration::from_secs(31)).await;
        for number in 6..=30 {
            let id = app.send_to(&format!("n{number}@quick.example")).await;
            app.email_in(&id, &["SENT"]).await;
        }
        assert_eq!(quick.received().len(), 30);
        app.eventually("mail waits for room, and says so", async || {
            let waiting = app.list_all("/emails?status=PENDING").await;
            let says = |email: &Value| text(&email["error"]).contains("has not proven yet that it answers");
            waiting.iter().filter(|email| email["error"].is_string()).any(says).then_some(())
        }).await;
        assert!(held() <= 12, "{} conversations", held());
        hanging.iter().for_each(ScriptedServer::release);
        for id in &mails {
            let email = app.eventually("a mail that waited is sent", async || {
                let email = app.email(id).await;
                if email["status"] == "SENT" {
                    return Some(email);
                }
                app.advance(Duration::from_secs(15)).await;
                None
            }).await;
            assert_eq!((codes(&email), &email["inDoubt"]), (vec![Some(250)], &json!(false)));
        }
    }
}
