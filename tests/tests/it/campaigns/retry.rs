//! Sending again what failed.

use super::{contacts, draft, entries, get, path, send, settled};
use mailwright_testkit::smtp::{Answer, ScriptedServer};
use mailwright_testkit::{App, Engine, Response, Value, both_engines, json};
use mailwright_tests::issue;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

async fn retry(app: &App, campaign: &Value, body: &Value) -> Response {
    app.post(&path(campaign, "/retry")).json(body).send().await
}

both_engines! {
    async fn exactly_the_failed_ones_are_sent_again(engine: Engine) {
        let mended = Arc::new(AtomicBool::new(false));
        let is_mended = Arc::clone(&mended);
        let server = ScriptedServer::start(move |to, _| match to {
            _ if is_mended.load(Ordering::Relaxed) => Answer::Accept,
            "a0@example.com" | "a1@example.com" => Answer::RefuseData(554, "5.7.1 refused"),
            "a2@example.com" => Answer::RefuseRcpt(550, "5.1.1 unknown"),
            "a3@example.com" => Answer::DropAfterDot,
            _ => Answer::Accept,
        })
        .await;
        let app = App::builder(engine).smtp(server.port).start().await;
        contacts(&app, "a", 9).await;
        let campaign = draft(&app, &json!({})).await;
        retry(&app, &campaign, &json!({})).await.assert_error(400, "BAD_REQUEST");
        send(&app, &campaign).await;
        let ledger = settled(&app, &campaign).await;
        assert_eq!(ledger["equation"]["failed"], json!({"bounced": 1, "rejected": 2}), "{ledger}");
        retry(&app, &campaign, &json!({"reason": "expired"})).await.assert_error(400, "BAD_REQUEST");
        assert_eq!(issue(&retry(&app, &campaign, &json!({"reason": "x"})).await, "reason")["code"], "invalid_enum_value");
        assert_eq!(issue(&retry(&app, &campaign, &json!({"state": "SENT"})).await, "state")["code"], "invalid_enum_value");

        // not mended yet: they fail again, and are not tried a third time
        let again = retry(&app, &campaign, &json!({"reason": "rejected"})).await.assert_status(200).json();
        assert_eq!((&again["requeued"], &again["status"]), (&json!(2), &json!("SENDING")), "{again}");
        let ledger = settled(&app, &campaign).await;
        assert_eq!(ledger["equation"]["failed"], json!({"bounced": 1, "rejected": 2}), "{ledger}");
        assert_eq!(server.attempts_for("a0@example.com").len(), 2);
        assert_eq!(get(&app, &campaign).await["bouncedCount"], 1);

        mended.store(true, Ordering::Relaxed);
        let again = retry(&app, &campaign, &json!({})).await.assert_status(200).json();
        assert_eq!(again["requeued"], 3, "{again}");
        let ledger = settled(&app, &campaign).await;
        // the address that does not exist is suppressed by now
        assert_eq!(ledger["equation"]["failed"], json!({}), "{ledger}");
        assert_eq!(ledger["equation"]["skipped"], json!({"suppressed": 1}), "{ledger}");
        assert_eq!((&ledger["equation"]["accepted"], &ledger["equation"]["inDoubt"]), (&json!(7), &json!(1)));
        assert_eq!((server.attempts_for("a2@example.com").len(), server.attempts_for("a4@example.com").len()), (1, 1));
        let sent = get(&app, &campaign).await;
        assert_eq!((&sent["status"], &sent["bouncedCount"], &sent["sentCount"]), (&json!("SENT"), &json!(0), &json!(7)));

        // what is in doubt only when it is asked for
        retry(&app, &campaign, &json!({})).await.assert_error(400, "BAD_REQUEST");
        let again = retry(&app, &campaign, &json!({"state": "IN_DOUBT"})).await.assert_status(200).json();
        assert_eq!(again["requeued"], 1);
        let ledger = settled(&app, &campaign).await;
        assert_eq!((&ledger["equation"]["accepted"], &ledger["equation"]["inDoubt"]), (&json!(8), &json!(0)));
        assert_eq!(server.received_for("a3@example.com").len(), 2, "that was the risk");
        let accepted = entries(&app, &campaign, "state=ACCEPTED").await;
        let doubted: Vec<_> = accepted.iter().filter(|entry| entry["inDoubt"] == true).collect();
        assert_eq!((doubted.len(), &doubted[0]["email"]), (1, &json!("a3@example.com")));
    }
}
