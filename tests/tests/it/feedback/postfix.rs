//! A bounce all the way round: through a mail server that others wrote, which reports to where our bounces return.

use std::time::Duration;

use mailwright_testkit::net::free_port;
use mailwright_testkit::postfix::Postfix;
use mailwright_testkit::smtp::{Answer, ScriptedServer};
use mailwright_testkit::{Engine, both_engines};
use mailwright_tests::{inline, send_ok, text, with};
use serde_json::json;

use super::{RETURN_PATH, events, is_subscribed, sent_to, taking_mail};

both_engines! {
    async fn a_bounce_comes_back_by_another_mail_server(engine: Engine) {
        let refusing = ScriptedServer::start(|to, _| {
            if to.starts_with("nobody@") { Answer::RefuseRcpt(550, "5.1.1 no such user here") } else { Answer::Accept }
        })
        .await;
        let inbound = free_port();
        let postfix = Postfix::start(&[("dead.test", refusing.port), (RETURN_PATH, inbound)]).await;
        let app = taking_mail(engine, inbound).smtp(postfix.port()).start().await;
        let fine = sent_to(&app, "somebody@dead.test").await;
        // it may come back before anybody looks
        let request = with(inline(&app, &json!("nobody@dead.test")), &json!({"subscribed": true}));
        let id = text(&send_ok(&app, request).await["emails"][0]["email"]).to_owned();
        let bounced = app
            .eventually_within(Duration::from_secs(30), "the bounce comes back", async || {
                let mail = app.email(&id).await;
                (mail["status"] == "BOUNCED").then_some(mail)
            })
            .await;
        assert_eq!(bounced["bounceClass"], "invalid-recipient", "{}", postfix.log());
        assert!(text(&bounced["error"]).contains("no such user here"), "{bounced}");
        assert!(!is_subscribed(&app, "nobody@dead.test").await);
        assert!(is_subscribed(&app, "somebody@dead.test").await);
        assert_eq!(app.email(&fine).await["status"], "SENT");
        let told = events(&app, "email.bounce").await;
        assert_eq!((told.len(), &told[0]["data"]["emailId"]), (1, &json!(id)));
        // the address gets nothing more
        let project = app.get(&format!("/projects/{}/security", app.project_id())).send().await.assert_status(200).json();
        assert!(project.to_string().contains("bounce"), "{project}");
    }
}
