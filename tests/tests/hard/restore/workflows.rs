//! Workflows: what their executions did after the backup is done again, and its mails are held; what they do later is
//! sent.

use std::collections::BTreeMap;
use std::time::Duration;

use mailwright_testkit::{App, Engine, Value, both_engines, json};
use mailwright_tests::workflow::Flow;
use mailwright_tests::{create_template, sized};

use super::{copies, held, receiver, start, sum, table, unsettled, until_held};

/// Contacts that go through the workflow.
fn contacts() -> usize {
    sized(60, 5_000)
}

async fn template(app: &App, name: &str) -> Value {
    create_template(app, &json!({"name": name, "subject": name, "type": "TRANSACTIONAL"})).await["id"].clone()
}

/// Waits until no mail waits: the clock is moved afterwards, and leases end.
async fn settled(app: &App) {
    app.eventually("every mail is settled", async || {
        let waiting = unsettled(&app.rows().await);
        waiting.is_empty().then_some(())
    })
    .await;
}

both_engines! {
    /// A mail at once, one after an hour and one after a day. The backup is made among the first, and the service killed
    /// among the second.
    async fn steps_of_the_lost_stretch_send_nothing_again(engine: Engine) {
        let count = contacts();
        let folder = tempfile::tempdir().expect("a folder");
        let server = receiver().await;
        let mut app = start(engine, &server, (count / 4).max(1)).await;
        let flow = Flow::new(&app, "came").await;
        for (name, delay) in [("first", None), ("second", Some((1, "hours"))), ("third", Some((1, "days")))] {
            if let Some((amount, unit)) = delay {
                flow.then("DELAY", json!({"amount": amount, "unit": unit})).await;
            }
            flow.then("SEND_EMAIL", json!({"templateId": template(&app, name).await})).await;
        }
        flow.enable().await;
        let path = flow.path("");
        for number in 0..count {
            let event = json!({"email": format!("flow{number}@example.com"), "event": "came", "subscribed": true});
            app.track(event).await.assert_status(200);
        }
        let everybody: BTreeMap<String, usize> =
            (0..count).map(|number| (format!("flow{number}@example.com"), 1)).collect();
        // the delays of one that begins after the restore would count from there
        app.eventually("all executions have begun", async || {
            (table(&app.rows().await, "workflow_executions").len() == count).then_some(())
        })
        .await;
        app.eventually("some of the first mails have left", async || {
            (server.copies().len() >= count / 4).then_some(())
        })
        .await;
        let backup = folder.path().join("backup");
        app.back_up(&backup).await;

        // the stretch that is lost
        app.eventually("all first mails have left", async || (copies(&server) == everybody).then_some(())).await;
        settled(&app).await;
        app.advance(Duration::from_hours(1)).await;
        app.eventually("some of the second mails have left", async || {
            (server.copies().values().sum::<usize>() >= count + count / 4).then_some(())
        })
        .await;
        app.kill();
        let sent = copies(&server);
        assert!(sent.values().all(|copies| *copies <= 2));

        let rows = app.load(&backup).await;
        let waiting = unsettled(&rows);
        let made = table(&rows, "emails").len();
        app.put_back(&backup).await;
        assert_eq!(held(&app).await, waiting);
        app.restart().await;
        // the first mails that the backup does not have yet, and all second ones, are made again, and held
        let settled = made - waiting.values().sum::<usize>();
        let expected = 2 * count - settled;
        until_held(&app, |held| held.values().sum::<usize>() >= expected).await;
        let all_held = held(&app).await;
        assert_eq!(all_held.values().sum::<usize>(), expected);
        assert!(everybody.keys().all(|address| all_held.contains_key(address)), "each second mail is held");
        assert_eq!(copies(&server), sent, "nothing left by itself");
        let shown = app.get(&path).send().await.assert_status(200).json();
        assert_eq!(shown["enabled"], true, "{shown}");

        // a third mail was not due before the restore: it is sent, once
        app.advance(Duration::from_hours(25)).await;
        let after = sum(&sent, &everybody);
        app.eventually("all third mails have left", async || {
            (server.copies().values().sum::<usize>() >= after.values().sum()).then_some(())
        })
        .await;
        assert_eq!(copies(&server), after);
        assert_eq!(held(&app).await, all_held);

        let said = app.run(&["restore", "--discard", "--all"]).await;
        assert_eq!(said.trim(), format!("0 mails are sent, {expected} are not."));
        assert!(held(&app).await.is_empty());
        // what is sent afterwards shows that the queue went on
        let id = app.send_to("direct@example.com").await;
        app.email_in(&id, &["SENT"]).await;
        assert_eq!(copies(&server), sum(&after, &BTreeMap::from([("direct@example.com".to_owned(), 1)])));
    }
}
