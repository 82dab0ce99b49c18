//! WEBHOOK: what is sent, which answers end it, when it is tried again, and what it may not reach.

use std::time::Duration;

use mailwright_testkit::receiver::{Call, Receiver, Reply};
use mailwright_testkit::{App, Engine, Rows, both_engines};
use mailwright_tests::workflow::{Flow, output, taken};
use mailwright_tests::{assert_only_keys, assert_timestamp, assert_uuid, create_contact, text, track_ok};
use serde_json::{Value, json};

/// A server that may call private addresses.
async fn start(engine: Engine) -> App {
    App::builder(engine).env("MAILWRIGHT_ALLOW_PRIVATE_NETWORKS", "true").start().await
}

/// An enabled workflow that calls and ends.
async fn calling(app: &App, config: Value) -> Flow<'_> {
    let flow = Flow::new(app, "ordered").await;
    flow.then("WEBHOOK", config).await;
    flow.then("EXIT", json!({})).await;
    flow.enable().await;
    flow
}

/// Begins an execution for a new contact. Returns its id.
async fn begin(app: &App, flow: &Flow<'_>, email: &str) -> String {
    let contact = create_contact(app, email, true, json!({})).await;
    flow.start(&contact["id"], json!({"order": "A-1"})).await
}

/// The requests that a receiver got, once there are so many.
async fn calls(app: &App, receiver: &Receiver, count: usize) -> Vec<Call> {
    app.eventually(&format!("{count} requests"), async || {
        let calls = receiver.calls();
        (calls.len() >= count).then_some(calls)
    })
    .await
}

/// Waits until the service has written down what it did: time can pass then.
async fn until_written(app: &App) {
    let (mut last, mut same) = (Rows::new(), 0);
    app.eventually("the database stays as it is", async || {
        let rows = app.rows().await;
        same = if rows == last { same + 1 } else { 0 };
        last = rows;
        (same == 5).then_some(())
    })
    .await;
}

/// A JSON body of a request.
fn body(call: &Call) -> Value {
    serde_json::from_str(&call.body).unwrap_or_else(|error| panic!("no JSON ({error}): {call:?}"))
}

/// A header that a request must have.
fn header<'a>(call: &'a Call, name: &str) -> &'a str {
    call.header(name).unwrap_or_else(|| panic!("no header {name}: {call:?}"))
}

fn ok() -> Reply {
    Reply::Status(200, r#"{"ok":true}"#.to_owned())
}

/// Refuses for now.
fn busy() -> Reply {
    Reply::Status(503, "busy".to_owned())
}

both_engines! {
    async fn a_request_tells_of_contact_workflow_execution_and_event(engine: Engine) {
        let app = start(engine).await;
        let receiver = Receiver::obliging().await;
        let flow = calling(&app, json!({"url": receiver.url("/hook")})).await;
        let data = json!({"plan": "pro", "order": {"id": "A-1"}});
        track_ok(&app, json!({"email": "ann@example.com", "event": "ordered", "data": data})).await;
        let ended = flow.only("EXITED").await;
        let calls = receiver.calls();
        assert_eq!(calls.len(), 1);
        assert_eq!((calls[0].method.as_str(), calls[0].target.as_str()), ("POST", "/hook"));
        let told = body(&calls[0]);
        assert_only_keys(&told, &["contact", "workflow", "execution", "event"]);
        assert_eq!(told["contact"], json!({"email": "ann@example.com", "subscribed": true, "data": data}));
        assert_eq!(told["workflow"], json!({"id": flow.id, "name": "ordered"}));
        assert_eq!(told["execution"], json!({"id": ended["id"], "startedAt": ended["startedAt"]}));
        assert_eq!(told["event"], data);

        assert!(header(&calls[0], "content-type").starts_with("application/json"));
        assert_uuid(&json!(header(&calls[0], "webhook-id")));
        let sent_at: i64 = header(&calls[0], "webhook-timestamp").parse().expect("seconds");
        assert!((app.now() / 1000 - sent_at).abs() < 60, "{sent_at}");
        let signature = header(&calls[0], "webhook-signature").strip_prefix("v1,").expect("a version");
        assert!(signature.len() == 44 && signature.ends_with('='), "32 bytes in Base64: {signature}");
        assert_eq!(output(&ended, "WEBHOOK"), json!({
            "url": receiver.url("/hook"), "method": "POST", "statusCode": 200, "success": true,
            "response": {"ok": true}, "webhookId": header(&calls[0], "webhook-id"), "attempts": 1,
        }));
    }

    async fn method_headers_and_body_are_those_of_the_step(engine: Engine) {
        let app = start(engine).await;
        let receiver = Receiver::obliging().await;
        let sent = json!({"to": ["{{email}}", 1, true, null], "deep": {"order": "no. {{event.order}}"}});
        let rendered = json!({"to": ["ann0@example.com", 1, true, null], "deep": {"order": "no. A-1"}});
        let headers = json!({"x-order": "{{event.order}}", "Authorization": "Bearer abc"});
        for (n, method) in ["POST", "PUT", "PATCH", "DELETE", "GET"].into_iter().enumerate() {
            let config = json!({
                "url": receiver.url("/orders/{{event.order}}"), "method": method, "headers": headers, "body": sent,
            });
            let flow = calling(&app, config).await;
            let email = format!("ann{n}@example.com");
            let id = begin(&app, &flow, &email).await;
            let ended = flow.once(&id, "EXITED").await;
            assert_eq!(output(&ended, "WEBHOOK")["method"], method);
            let call = receiver.calls().pop().expect("a request");
            assert_eq!((call.method.as_str(), call.target.as_str()), (method, "/orders/A-1"));
            assert_eq!((call.header("x-order"), call.header("authorization")), (Some("A-1"), Some("Bearer abc")));
            assert_uuid(&json!(header(&call, "webhook-id")));
            if method == "GET" {
                assert_eq!(call.body, "");
            } else {
                let mut expected = rendered.clone();
                expected["to"][0] = json!(email);
                assert_eq!(body(&call), expected, "{method}");
            }
        }
        assert_eq!(receiver.calls().len(), 5);
        let config = json!({"url": receiver.url("/"), "headers": {"content-type": "application/vnd.order+json"}});
        let flow = calling(&app, config).await;
        let id = begin(&app, &flow, "other@example.com").await;
        flow.once(&id, "EXITED").await;
        assert_eq!(receiver.calls()[5].header("content-type"), Some("application/vnd.order+json"));
    }

    async fn answers_end_the_step_whether_they_are_good_or_bad(engine: Engine) {
        let app = start(engine).await;
        let long = "x".repeat(100_000);
        let kept = long.clone();
        let receiver = Receiver::start(move |call, _| {
            let status = call.target.trim_start_matches('/').parse().unwrap_or(500);
            let text = match status {
                200 => r#"{"ok":[1]}"#,
                201 => "plain text",
                202 => long.as_str(),
                204 => "",
                _ => r#"{"error":"no"}"#,
            };
            Reply::Status(status, text.to_owned())
        }).await;
        for (status, success, response) in [
            (200, true, Some(json!({"ok": [1]}))),
            (201, true, Some(json!("plain text"))),
            (202, true, None),
            (204, true, None),
            (400, false, Some(json!({"error": "no"}))),
            (404, false, Some(json!({"error": "no"}))),
            (410, false, Some(json!({"error": "no"}))),
        ] {
            let flow = calling(&app, json!({"url": receiver.url(&format!("/{status}"))})).await;
            let id = begin(&app, &flow, &format!("c{status}@example.com")).await;
            let ended = flow.once(&id, "EXITED").await;
            assert_eq!(taken(&ended), ["TRIGGER COMPLETED", "WEBHOOK COMPLETED", "EXIT COMPLETED"]);
            let told = output(&ended, "WEBHOOK");
            assert_eq!((&told["statusCode"], &told["success"]), (&json!(status), &json!(success)), "{told}");
            assert_eq!(told["attempts"], 1, "{status}");
            if let Some(response) = response {
                assert_eq!(told["response"], response, "{status}");
            }
            if status == 202 {
                let cut = text(&told["response"]);
                assert!(cut.len() <= 65_536 && cut.len() > 60_000, "{} bytes are kept", cut.len());
                assert!(kept.starts_with(cut));
            }
        }
        assert_eq!(receiver.calls().len(), 7);
    }

    async fn a_redirection_is_followed(engine: Engine) {
        let app = start(engine).await;
        let receiver = Receiver::start(|call, _| match call.target.as_str() {
            "/from" => Reply::With(307, "location", "/to".to_owned(), String::new()),
            _ => ok(),
        }).await;
        let flow = calling(&app, json!({"url": receiver.url("/from"), "body": {"n": 1}})).await;
        let id = begin(&app, &flow, "ann@example.com").await;
        let ended = flow.once(&id, "EXITED").await;
        assert_eq!(output(&ended, "WEBHOOK")["statusCode"], 200);
        let calls = receiver.calls();
        assert_eq!((calls.len(), calls[1].target.as_str(), calls[1].method.as_str()), (2, "/to", "POST"));
        assert_eq!(body(&calls[1]), json!({"n": 1}));
    }

    async fn what_may_pass_is_tried_again_later_and_later(engine: Engine) {
        let app = start(engine).await;
        for (n, bad) in [busy(), Reply::Status(500, String::new()), Reply::Status(429, String::new()), Reply::Drop]
            .into_iter().enumerate()
        {
            let receiver = Receiver::start(move |_, count| if count < 2 { bad.clone() } else { ok() }).await;
            let flow = calling(&app, json!({"url": receiver.url("/")})).await;
            let id = begin(&app, &flow, &format!("c{n}@example.com")).await;
            // about 10 seconds, and about 20
            for (times, early, rest) in [(1, 5, 15), (2, 10, 30)] {
                calls(&app, &receiver, times).await;
                until_written(&app).await;
                let found = flow.execution(&id).await;
                assert_eq!(found["status"], "RUNNING");
                assert_eq!(taken(&found), ["TRIGGER COMPLETED", "WEBHOOK RUNNING"]);
                let told = output(&found, "WEBHOOK");
                assert_eq!((&told["attempts"], told["lastError"].is_string()), (&json!(times), true), "{told}");
                assert_timestamp(&told["nextAttemptAt"]);
                app.advance(Duration::from_secs(early)).await;
                until_written(&app).await;
                assert_eq!(receiver.calls().len(), times, "too early");
                app.advance(Duration::from_secs(rest)).await;
            }
            let ended = flow.once(&id, "EXITED").await;
            let told = output(&ended, "WEBHOOK");
            assert_eq!((&told["success"], &told["statusCode"]), (&json!(true), &json!(200)), "{told}");
            assert_eq!(told["attempts"], 3);
            let calls = receiver.calls();
            assert_eq!(calls.len(), 3);
            let at = |call: &Call| header(call, "webhook-timestamp").parse::<i64>().expect("seconds");
            for pair in calls.windows(2) {
                assert_eq!(header(&pair[0], "webhook-id"), header(&pair[1], "webhook-id"), "the same delivery");
                assert!(at(&pair[0]) < at(&pair[1]), "{pair:?}");
                assert_ne!(header(&pair[0], "webhook-signature"), header(&pair[1], "webhook-signature"));
                assert_eq!(pair[0].body, pair[1].body);
            }
            assert_eq!(told["webhookId"], header(&calls[0], "webhook-id"));
        }
    }

    async fn a_receiver_can_say_when_it_is_to_be_tried_again(engine: Engine) {
        let app = start(engine).await;
        for (n, status) in [429, 503].into_iter().enumerate() {
            let receiver = Receiver::start(move |_, count| match count {
                0 => Reply::With(status, "retry-after", "300".to_owned(), String::new()),
                _ => ok(),
            }).await;
            let flow = calling(&app, json!({"url": receiver.url("/")})).await;
            let id = begin(&app, &flow, &format!("c{n}@example.com")).await;
            calls(&app, &receiver, 1).await;
            until_written(&app).await;
            app.advance(Duration::from_mins(4)).await;
            until_written(&app).await;
            assert_eq!((receiver.calls().len(), &flow.execution(&id).await["status"]), (1, &json!("RUNNING")));
            app.advance(Duration::from_mins(2)).await;
            let ended = flow.once(&id, "EXITED").await;
            assert_eq!(output(&ended, "WEBHOOK")["attempts"], 2);
        }
    }

    async fn after_twelve_hours_it_is_given_up(engine: Engine) {
        let app = start(engine).await;
        let answering = Receiver::start(|_, _| busy()).await;
        let silent = Receiver::start(|_, _| Reply::Drop).await;
        let refused = calling(&app, json!({"url": answering.url("/")})).await;
        // another host: while one of them is left alone, no last request is made
        let lost = calling(&app, json!({"url": silent.url("/").replace("127.0.0.1", "localhost")})).await;
        let (first, second) = (begin(&app, &refused, "a@example.com").await, begin(&app, &lost, "b@example.com").await);
        calls(&app, &answering, 1).await;
        calls(&app, &silent, 1).await;
        let began = app.now();
        app.eventually_within(Duration::from_mins(3), "both are given up", async || {
            until_written(&app).await;
            app.advance(Duration::from_mins(30)).await;
            let left = [refused.execution(&first).await, lost.execution(&second).await];
            left.iter().all(|execution| execution["status"] != "RUNNING").then_some(())
        }).await;
        let hours = (app.now() - began) / 3_600_000;
        assert!((6..=14).contains(&hours), "given up after {hours} hours");
        let ended = refused.once(&first, "EXITED").await;
        let told = output(&ended, "WEBHOOK");
        assert_eq!((&told["success"], &told["statusCode"]), (&json!(false), &json!(503)), "{told}");
        assert_eq!(told["response"], "busy");
        assert_eq!(told["attempts"], answering.calls().len());
        assert!(answering.calls().len() > 5, "{told}");

        let failed = lost.once(&second, "FAILED").await;
        assert_eq!(taken(&failed), ["TRIGGER COMPLETED", "WEBHOOK FAILED"]);
        assert!(!text(&failed["stepExecutions"][1]["error"]).is_empty(), "{failed}");
        assert!(silent.calls().len() > 5, "{} requests", silent.calls().len());
    }

    async fn a_host_that_does_not_answer_keeps_no_other_waiting(engine: Engine) {
        let app = start(engine).await;
        let slow = Receiver::start(|_, _| Reply::Late(Duration::from_mins(1))).await;
        let quick = Receiver::obliging().await;
        let waiting = calling(&app, json!({"url": slow.url("/hook")})).await;
        for n in 0..12 {
            begin(&app, &waiting, &format!("c{n}@example.com")).await;
        }
        calls(&app, &slow, 4).await;
        // another host
        let url = quick.url("/hook").replace("127.0.0.1", "localhost");
        let flow = calling(&app, json!({"url": url})).await;
        let id = begin(&app, &flow, "ann@example.com").await;
        flow.once(&id, "EXITED").await;
        assert_eq!(slow.calls().len(), 4, "so many wait for an answer at the same time, and they still do");
    }

    async fn a_cancelled_execution_calls_no_more(engine: Engine) {
        let app = start(engine).await;
        let receiver = Receiver::start(|_, _| busy()).await;
        let flow = calling(&app, json!({"url": receiver.url("/")})).await;
        let id = begin(&app, &flow, "ann@example.com").await;
        calls(&app, &receiver, 1).await;
        until_written(&app).await;
        let cancelled = app.delete(&flow.path(&format!("/executions/{id}"))).send().await.assert_status(200).json();
        assert_eq!(cancelled["status"], "CANCELLED");
        app.advance(Duration::from_hours(1)).await;
        until_written(&app).await;
        assert_eq!((receiver.calls().len(), &flow.execution(&id).await["status"]), (1, &json!("CANCELLED")));
    }

    async fn a_request_is_tried_again_after_a_crash(engine: Engine) {
        let mut app = start(engine).await;
        let receiver = Receiver::start(|_, count| if count == 0 { busy() } else { ok() }).await;
        let flow = calling(&app, json!({"url": receiver.url("/")})).await;
        let id = begin(&app, &flow, "ann@example.com").await;
        calls(&app, &receiver, 1).await;
        until_written(&app).await;
        let workflow = json!({"id": flow.id});
        app.kill();
        app.advance(Duration::from_mins(1)).await;
        app.restart().await;
        let ended = Flow::of(&app, &workflow).await.once(&id, "EXITED").await;
        assert_eq!(output(&ended, "WEBHOOK")["attempts"], 2);
        let calls = receiver.calls();
        assert_eq!(calls.len(), 2);
        assert_eq!(header(&calls[0], "webhook-id"), header(&calls[1], "webhook-id"));
    }

    async fn what_is_no_address_fails_at_once(engine: Engine) {
        let app = start(engine).await;
        for (n, url) in ["http://exa mple.com/", "http://{{missing}}/", "http://:8080/", "nonsense"].iter().enumerate() {
            let flow = Flow::new(&app, "ordered").await;
            if flow.try_add("WEBHOOK", &json!({"url": url}), &json!({})).await.status == 201 {
                flow.enable().await;
                let id = begin(&app, &flow, &format!("c{n}@example.com")).await;
                let failed = flow.once(&id, "FAILED").await;
                let error = text(&failed["stepExecutions"][1]["error"]).to_owned();
                assert!(error.starts_with("The address is refused"), "{url}: {error}");
            }
        }
    }

    async fn private_addresses_are_not_reached_unless_that_is_allowed(engine: Engine) {
        let app = App::start(engine).await;
        let receiver = Receiver::obliging().await;
        let url = receiver.url("/");
        let to = |host: &str| url.replace("127.0.0.1", host);
        let hosts = ["127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "10.0.0.1", "169.254.169.254"];
        for (n, host) in hosts.into_iter().enumerate() {
            let flow = calling(&app, json!({"url": to(host)})).await;
            let id = begin(&app, &flow, &format!("c{n}@example.com")).await;
            let failed = flow.once(&id, "FAILED").await;
            assert_eq!(taken(&failed), ["TRIGGER COMPLETED", "WEBHOOK FAILED"], "{host}");
            assert!(!text(&failed["stepExecutions"][1]["error"]).is_empty(), "{host}: {failed}");
        }
        assert!(receiver.calls().is_empty());
    }
}
