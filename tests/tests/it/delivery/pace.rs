//! The rate of the instance as a whole.

use mailwright_testkit::smtp::{Answer, ScriptedServer};
use mailwright_testkit::{App, Engine, both_engines, json};
use mailwright_tests::{assert_paced, create_contact};
use std::time::{Duration, Instant};

const RATE: usize = 20;

both_engines! {
    async fn all_projects_together_keep_to_the_instances_rate_and_share_it(engine: Engine) {
        const MAILS: usize = 40;
        let server = ScriptedServer::start(|_, _| Answer::Accept).await;
        let app = App::builder(engine)
            .smtp(server.port)
            .env("MAILWRIGHT_SENDING_INSTANCE_PER_SECOND", RATE.to_string())
            .start()
            .await;
        let other = app.bootstrap("Other", "other.test").await;
        let began = Instant::now();
        // at once, so that the mails of both wait beside each other
        let sends = [("a", app.secret_key(), app.from()), ("b", &other.secret_key, other.from.clone())].map(|(prefix, key, from)| {
            let to: Vec<String> = (0..MAILS).map(|n| format!("{prefix}{n}@example.com")).collect();
            let body = json!({"to": to, "subject": "Hi", "body": "<p>Hi</p>", "from": from});
            app.request("POST", "/v1/send").bearer(key).json(&body).send()
        });
        for sent in futures_util::future::join_all(sends).await {
            sent.assert_status(200);
        }
        app.eventually_within(Duration::from_secs(30), "all are sent", async || {
            (server.received().len() == 2 * MAILS).then_some(())
        })
        .await;
        let received = server.received();
        assert_paced(received.iter().map(|mail| mail.at), began, RATE);
        // what was claimed before the other project's mail came may leave first
        let half = received[..MAILS].iter().filter(|mail| mail.rcpt_to[0].starts_with('b')).count();
        assert!(half >= MAILS / 4, "{half} of the first {MAILS} mails are the second project's");
    }

    async fn urgent_mail_has_the_first_claim_on_the_instances_rate(engine: Engine) {
        const URGENT: usize = 15;
        let server = ScriptedServer::start(|_, _| Answer::Accept).await;
        let app = App::builder(engine)
            .smtp(server.port)
            .env("MAILWRIGHT_SENDING_INSTANCE_PER_SECOND", "10")
            .start()
            .await;
        let contacts = (0..80).map(|n| {
            let (app, address) = (&app, format!("audience{n}@example.com"));
            async move { create_contact(app, &address, true, json!({})).await }
        });
        futures_util::future::join_all(contacts).await;
        let campaign = json!({"name": "News", "subject": "News", "body": "<p>News</p>", "from": app.from(), "audienceType": "ALL"});
        let campaign = app.post("/campaigns").json(&campaign).send().await.assert_status(201).json();
        let id = campaign["data"]["id"].as_str().expect("an id").to_owned();
        app.post(&format!("/campaigns/{id}/send")).json(&json!({})).send().await.assert_status(200);
        app.eventually("the campaign is under way", async || (server.received().len() >= 12).then_some(())).await;

        let before = server.received().len();
        let to: Vec<String> = (0..URGENT).map(|n| format!("urgent{n}@example.com")).collect();
        app.send(json!({"to": to, "subject": "Hi", "body": "<p>Hi</p>", "from": app.from()})).await.assert_status(200);
        let last = app.eventually("they are sent", async || {
            let received = server.received();
            let urgent = |(_, mail): &(usize, &mailwright_testkit::smtp::Received)| mail.rcpt_to[0].starts_with("urgent");
            let places: Vec<usize> = received.iter().enumerate().filter(urgent).map(|(place, _)| place).collect();
            (places.len() == URGENT).then(|| places[URGENT - 1])
        })
        .await;
        let overtook = last + 1 - before - URGENT;
        assert!(overtook <= 8, "{overtook} mails of the campaign left before the last urgent one");
    }
}
