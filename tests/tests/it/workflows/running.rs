//! What an execution does, from the event that begins it to its end.

use std::time::Duration;

use mailwright_testkit::receiver::Receiver;
use mailwright_testkit::{App, Engine, both_engines};
use mailwright_tests::workflow::{Flow, output, taken};
use mailwright_tests::{contact, create_template, items, mail_to, text, track_ok};
use serde_json::{Value, json};

both_engines! {
    async fn an_event_leads_a_contact_through_all_steps(engine: Engine) {
        let app = App::builder(engine).env("MAILWRIGHT_ALLOW_PRIVATE_NETWORKS", "true").start().await;
        let receiver = Receiver::obliging().await;
        let template = create_template(&app, &json!({
            "subject": "{{name}} ordered {{order}}",
            "body": "<p>{{event.order}} for {{data.name}} at {{email}}</p>",
        })).await;
        let flow = Flow::new(&app, "order_placed").await;
        let mail = json!({"templateId": template["id"]});
        flow.then("SEND_EMAIL", mail).await;
        flow.then("DELAY", json!({"amount": 1, "unit": "hours"})).await;
        flow.then("WEBHOOK", json!({
            "url": receiver.url("/hook?to={{email}}"),
            "body": {"order": "{{event.order}}", "n": 1},
        })).await;
        flow.then("UPDATE_CONTACT", json!({"updates": {"plan": "pro"}})).await;
        let condition = flow.then("CONDITION", json!({
            "field": "data.plan", "operator": "equals", "value": "pro",
        })).await;
        let exit = flow.loose("EXIT", json!({"reason": "upgraded"})).await;
        flow.link(&condition, &exit, json!({"branch": "yes"})).await;
        flow.enable().await;

        let tracked = track_ok(&app, json!({"email": "ada@example.com", "event": "order_placed", "data": {
            "name": "Ada", "order": {"value": "A-1", "persistent": false},
        }})).await;
        let waiting = flow.only("WAITING").await;
        assert_eq!(taken(&waiting), ["TRIGGER COMPLETED", "SEND_EMAIL COMPLETED", "DELAY WAITING"]);
        assert_eq!(waiting["sourceEventId"], tracked["event"]);
        assert_eq!(waiting["currentStep"]["type"], "DELAY");
        let message = mail_to(&app, "ada@example.com").await;
        assert_eq!(message["subject"], "Ada ordered A-1");
        assert!(text(&message["html"]).contains("A-1 for Ada at ada@example.com"), "{message}");

        app.advance(Duration::from_secs(3601)).await;
        let ended = flow.only("EXITED").await;
        assert_eq!(ended["exitReason"], "upgraded");
        assert_eq!(taken(&ended)[2..], [
            "DELAY COMPLETED", "WEBHOOK COMPLETED", "UPDATE_CONTACT COMPLETED", "CONDITION COMPLETED", "EXIT COMPLETED",
        ]);
        assert_eq!(output(&ended, "CONDITION")["branch"], "yes");
        assert_eq!(output(&ended, "WEBHOOK")["statusCode"], 200);
        assert_eq!(output(&ended, "WEBHOOK")["response"], json!({"ok": true}));
        let calls = receiver.calls();
        assert_eq!(calls.len(), 1);
        assert_eq!(calls[0].target, "/hook?to=ada%40example.com");
        let body: Value = serde_json::from_str(&calls[0].body).expect("JSON");
        assert_eq!(body, json!({"order": "A-1", "n": 1}));
        let stored = contact(&app, &tracked["contact"]).await;
        assert_eq!(stored["data"], json!({"name": "Ada", "plan": "pro"}), "nothing of the context is kept");
        assert_eq!(items(&ended["stepExecutions"])[1]["output"]["recipientEmail"], "ada@example.com");
    }
}
