//! The secret of a project's webhooks, and signatures as receivers verify them by the text of Standard Webhooks 1.0.

use std::time::Duration;

use mailwright_testkit::receiver::{Call, Receiver, Reply};
use mailwright_testkit::{App, Engine, OWNER, Project, both_engines};
use mailwright_tests::browser::Browser;
use mailwright_tests::workflow::{Flow, output};
use mailwright_tests::{as_project, assert_only_keys, assert_uuid, create_contact, holds, items, text};
use ring::hmac;
use serde_json::{Value, json};

use super::simulation::quiet;

/// A server that may call private addresses.
async fn start(engine: Engine) -> App {
    App::builder(engine).env("MAILWRIGHT_ALLOW_PRIVATE_NETWORKS", "true").start().await
}

async fn owner(app: &App) -> Browser {
    Browser::log_in(app, OWNER.0, OWNER.1).await
}

/// The secret of a project, as a member sees it.
async fn secret(app: &App, person: &Browser, project: &str) -> String {
    let path = format!("/projects/{project}/webhook-secret");
    let found = person.request(app, "GET", &path).send().await.assert_status(200).json();
    assert_only_keys(&found, &["secret"]);
    text(&found["secret"]).to_owned()
}

/// Gives the project of the app another secret.
async fn renew(app: &App, owner: &Browser) -> String {
    let path = format!("/projects/{}/webhook-secret", app.project_id());
    let renewed = owner.request(app, "POST", &path).json(&json!({"password": OWNER.1})).send().await;
    let renewed = renewed.assert_status(200).json();
    assert_only_keys(&renewed, &["secret"]);
    text(&renewed["secret"]).to_owned()
}

/// The bytes of a text in Base64, written down apart from the service: RFC 4648 section 4.
fn decoded(base64: &str) -> Vec<u8> {
    const DIGITS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    assert!(base64.len().is_multiple_of(4), "not complete: {base64}");
    let value = |c: char| DIGITS.find(c).unwrap_or_else(|| panic!("{c} in {base64}"));
    let digits = base64.trim_end_matches('=').chars();
    let bits: Vec<bool> =
        digits.map(value).flat_map(|v| (0..6).map(move |n| v >> (5 - n) & 1 == 1)).collect();
    bits.chunks_exact(8).map(|byte| byte.iter().fold(0, |all, bit| all << 1 | u8::from(*bit))).collect()
}

/// The key in a secret.
fn key(secret: &str) -> Vec<u8> {
    decoded(secret.strip_prefix("whsec_").unwrap_or_else(|| panic!("no secret of webhooks: {secret}")))
}

/// Whether one of the signatures is that of what was signed: HMAC-SHA256 of id, time and body, with dots between them.
fn verifies(secret: &str, (id, timestamp, body): (&str, &str, &str), signatures: &str) -> bool {
    let key = hmac::Key::new(hmac::HMAC_SHA256, &key(secret));
    let signed = format!("{id}.{timestamp}.{body}");
    let mut tags = signatures.split(' ').filter_map(|one| one.strip_prefix("v1,")).map(decoded);
    tags.any(|tag| hmac::verify(&key, signed.as_bytes(), &tag).is_ok())
}

/// The value of a header that a request must have exactly once.
fn only<'a>(call: &'a Call, name: &str) -> &'a str {
    let found: Vec<&String> =
        call.headers.iter().filter(|(known, _)| known == name).map(|(_, value)| value).collect();
    let [value] = found[..] else { panic!("{name} {} times: {call:?}", found.len()) };
    value
}

/// What is signed of a request.
fn signed(call: &Call) -> (&str, &str, &str) {
    (only(call, "webhook-id"), only(call, "webhook-timestamp"), &call.body)
}

/// Whether a receiver that has this secret takes the request for one of the service's.
fn is_genuine(secret: &str, call: &Call) -> bool {
    verifies(secret, signed(call), only(call, "webhook-signature"))
}

/// When a request says that it was made, in seconds since 1970.
fn seconds(call: &Call) -> i64 {
    only(call, "webhook-timestamp").parse().expect("seconds since 1970")
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
    let contact = create_contact(app, email, true, json!({"name": "Zoë"})).await;
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

/// Has a workflow of a project call an address.
async fn call_from(app: &App, project: &Project, url: &str) {
    let ask = async |method: &str, path: &str, body: Value, status: u16| {
        as_project(app, project, method, path).json(&body).send().await.assert_status(status).json()
    };
    let flow = ask("POST", "/workflows", json!({"name": "Calls", "eventName": "ordered"}), 201).await;
    let path = format!("/workflows/{}", text(&flow["id"]));
    let step =
        json!({"type": "WEBHOOK", "name": "Call", "position": {"x": 0, "y": 0}, "config": {"url": url}});
    ask("POST", &format!("{path}/steps"), step, 201).await;
    ask("PATCH", &path, json!({"enabled": true}), 200).await;
    ask("POST", "/v1/track", json!({"email": "ann@example.com", "event": "ordered"}), 200).await;
}

fn ok() -> Reply {
    Reply::Status(200, r#"{"ok":true}"#.to_owned())
}

fn busy() -> Reply {
    Reply::Status(503, "busy".to_owned())
}

#[test]
fn the_receiver_of_these_tests_agrees_with_the_published_example() {
    let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    let example = ("msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", r#"{"test": 2432232314}"#);
    let right = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
    assert!(verifies(secret, example, right));
    assert!(verifies(secret, example, &format!("v1a,AAAA v1,AAAA {right}")), "one of several is enough");
    for wrong in ["", "v1,", "v1,AAAA", &right.replace("v1,", "v2,"), &right.replace("g0", "h0")] {
        assert!(!verifies(secret, example, wrong), "{wrong}");
    }
    assert!(!verifies(secret, (example.0, "1614265331", example.2), right));
}

both_engines! {
    async fn the_secret_is_for_those_who_manage_the_project(engine: Engine) {
        let app = App::start(engine).await;
        let (owner, project) = (owner(&app).await, app.project_id());
        let found = secret(&app, &owner, project).await;
        assert_eq!(secret(&app, &owner, project).await, found, "it stays the same");
        let admin = Browser::sign_up(&app, "admin@example.com").await;
        let member = Browser::sign_up(&app, "member@example.com").await;
        let stranger = Browser::sign_up(&app, "stranger@example.com").await;
        owner.add_member(&app, project, &admin, "ADMIN").await;
        owner.add_member(&app, project, &member, "MEMBER").await;
        assert_eq!(secret(&app, &admin, project).await, found);
        let all = owner.create_key(&app, project, "All", &["everything"]).await;
        let path = format!("/projects/{project}/webhook-secret");
        for method in ["GET", "POST"] {
            member.request(&app, method, &path).send().await.assert_error(403, "FORBIDDEN");
            stranger.request(&app, method, &path).send().await.assert_error(404, "RESOURCE_NOT_FOUND");
            app.request(method, &path).send().await.assert_error(401, "UNAUTHORIZED");
            for key in [app.secret_key(), app.public_key(), text(&all["key"])] {
                let answer = app.request(method, &path).bearer(key).send().await;
                answer.assert_error(401, "INVALID_API_KEY");
            }
        }
        assert_eq!(secret(&app, &owner, project).await, found, "nobody changed it");
    }

    async fn a_secret_is_long_random_and_stored_nowhere(engine: Engine) {
        let app = App::start(engine).await;
        let other = app.bootstrap("Other", "other.test").await;
        let owner = owner(&app).await;
        let first = secret(&app, &owner, app.project_id()).await;
        let second = renew(&app, &owner).await;
        let third = secret(&app, &owner, &other.id).await;
        assert_eq!(secret(&app, &owner, app.project_id()).await, second);
        for (one, others) in [(&first, [&second, &third]), (&second, [&first, &third])] {
            assert!(!others.contains(&one), "each has its own");
        }
        for secret in [&first, &second, &third] {
            // "between 24 bytes and 64 bytes"
            assert!((24..=64).contains(&key(secret).len()), "{secret}");
            let random = secret.trim_start_matches("whsec_");
            assert!(!holds(&app.stored().await, random), "in the database");
            assert!(!holds(app.log().as_bytes(), random), "in the log");
        }
        let audit = owner.audit(&app, app.project_id()).await;
        assert_eq!((&audit[0]["action"], &audit[0]["actor"]["name"]), (&json!("webhook_secret.rotated"), &json!(OWNER.0)));
        renew(&app, &owner).await;
        assert_eq!(secret(&app, &owner, &other.id).await, third, "that of another project stays");
    }

    async fn a_receiver_can_verify_every_request(engine: Engine) {
        let app = start(engine).await;
        let owner = owner(&app).await;
        let found = secret(&app, &owner, app.project_id()).await;
        let receiver = Receiver::start(|call, _| match call.target.as_str() {
            "/from" => Reply::With(307, "location", "/to".to_owned(), String::new()),
            _ => ok(),
        }).await;
        let own = json!({"webhook-id": "mine", "Webhook-Timestamp": "1", "WEBHOOK-SIGNATURE": "v1,AAAA"});
        for (n, (config, expected)) in [
            (json!({"url": receiver.url("/")}), None),
            (json!({"url": receiver.url("/"), "method": "PUT", "body": {"to": "{{name}} \u{1f600}", "n": 1.5}}),
             Some(json!({"to": "Zoë \u{1f600}", "n": 1.5}))),
            (json!({"url": receiver.url("/"), "method": "DELETE", "headers": own, "body": [true]}), Some(json!([true]))),
            (json!({"url": receiver.url("/"), "method": "GET"}), Some(Value::Null)),
            (json!({"url": receiver.url("/from"), "body": {"n": 1}}), Some(json!({"n": 1}))),
        ].into_iter().enumerate() {
            let before = receiver.calls().len();
            let flow = calling(&app, config).await;
            let id = begin(&app, &flow, &format!("c{n}@example.com")).await;
            let ended = flow.once(&id, "EXITED").await;
            for call in &receiver.calls()[before..] {
                assert!(is_genuine(&found, call), "{call:?}");
                assert_uuid(&json!(only(call, "webhook-id")));
                assert_eq!(output(&ended, "WEBHOOK")["webhookId"], only(call, "webhook-id"));
                assert!((app.now() / 1000 - seconds(call)).abs() < 60, "{call:?}");
                if let Some(expected) = &expected {
                    // that of GET is empty
                    assert_eq!(serde_json::from_str::<Value>(&call.body).unwrap_or_default(), *expected);
                }
                let (id, timestamp, body) = signed(call);
                let signatures = only(call, "webhook-signature");
                let (later, longer) = ((seconds(call) + 1).to_string(), format!("{body} "));
                for changed in [("other", timestamp, body), (id, later.as_str(), body), (id, timestamp, longer.as_str())] {
                    assert!(!verifies(&found, changed, signatures), "{changed:?}");
                }
            }
        }
        let calls = receiver.calls();
        assert_eq!(calls.len(), 6, "each once, and one redirection");
        assert_eq!(only(&calls[4], "webhook-id"), only(&calls[5], "webhook-id"));
        for pair in calls[..5].windows(2) {
            assert_ne!(only(&pair[0], "webhook-id"), only(&pair[1], "webhook-id"), "each has its own");
        }
    }

    async fn a_repeated_request_keeps_its_id_and_is_signed_anew(engine: Engine) {
        let app = start(engine).await;
        let owner = owner(&app).await;
        let found = secret(&app, &owner, app.project_id()).await;
        let receiver = Receiver::start(|_, count| match count {
            0 => Reply::Drop,
            1 => busy(),
            _ => ok(),
        }).await;
        let flow = calling(&app, json!({"url": receiver.url("/")})).await;
        let id = begin(&app, &flow, "ann@example.com").await;
        let mut made = Vec::new();
        // about 10 seconds, and about 20
        for (times, pause) in [(1, 20), (2, 40)] {
            calls(&app, &receiver, times).await;
            made.push(app.now() / 1000);
            quiet(&app).await;
            app.advance(Duration::from_secs(pause)).await;
        }
        flow.once(&id, "EXITED").await;
        made.push(app.now() / 1000);
        let calls = receiver.calls();
        assert_eq!(calls.len(), 3);
        for (call, made) in calls.iter().zip(made) {
            assert!(is_genuine(&found, call), "{call:?}");
            assert!((made - 15..=made).contains(&seconds(call)), "the time of the attempt, about {made}: {call:?}");
        }
        for (pair, pause) in calls.windows(2).zip([10, 20]) {
            let [(id, timestamp, body), (same, later, again)] = [signed(&pair[0]), signed(&pair[1])];
            assert_eq!((id, body), (same, again));
            assert!(seconds(&pair[1]) - seconds(&pair[0]) >= pause, "{pair:?}");
            assert!(!verifies(&found, (id, later, body), only(&pair[0], "webhook-signature")));
            assert!(!verifies(&found, (id, timestamp, body), only(&pair[1], "webhook-signature")));
        }
    }

    async fn a_new_secret_signs_everything_after_it(engine: Engine) {
        let app = start(engine).await;
        let owner = owner(&app).await;
        let old = secret(&app, &owner, app.project_id()).await;
        let receiver = Receiver::start(|_, count| if count == 0 { busy() } else { ok() }).await;
        let flow = calling(&app, json!({"url": receiver.url("/")})).await;
        let first = begin(&app, &flow, "ann@example.com").await;
        assert!(is_genuine(&old, &calls(&app, &receiver, 1).await[0]));
        quiet(&app).await;
        let new = renew(&app, &owner).await;
        assert_ne!(new, old);
        let second = begin(&app, &flow, "bob@example.com").await;
        flow.once(&second, "EXITED").await;
        app.advance(Duration::from_secs(20)).await;
        flow.once(&first, "EXITED").await;
        let calls = receiver.calls();
        assert_eq!(calls.len(), 3);
        for call in &calls[1..] {
            assert!(is_genuine(&new, call) && !is_genuine(&old, call), "{call:?}");
        }
        assert_eq!(only(&calls[0], "webhook-id"), only(&calls[2], "webhook-id"), "the one that is repeated");
    }

    async fn keys_that_only_read_do_not_see_what_headers_hold(engine: Engine) {
        let app = start(engine).await;
        let owner = owner(&app).await;
        let receiver = Receiver::start(|_, _| busy()).await;
        let headers = json!({"Authorization": "Bearer of the receiver", "X-Team": "{{data.team}}"});
        let flow = calling(&app, json!({"url": receiver.url("/"), "headers": headers})).await;
        let id = begin(&app, &flow, "ann@example.com").await;
        calls(&app, &receiver, 1).await;
        let hidden = json!({"Authorization": "(hidden)", "X-Team": "(hidden)"});
        for (scope, expected) in [("read", &hidden), ("workflows", &headers), ("everything", &headers)] {
            let made = owner.create_key(&app, app.project_id(), scope, &[scope]).await;
            let read = async |path: String| {
                app.get(&path).bearer(text(&made["key"])).send().await.assert_status(200).json()
            };
            let workflow = read(flow.path("")).await;
            let step = items(&workflow["steps"]).iter().find(|step| step["type"] == "WEBHOOK").expect("the step");
            assert_eq!(step["config"]["headers"], *expected, "{scope}");
            let execution = read(flow.path(&format!("/executions/{id}"))).await;
            assert_eq!(execution["currentStep"]["config"]["headers"], *expected, "{scope}");
        }
    }

    async fn each_project_signs_with_its_own_secret(engine: Engine) {
        let app = start(engine).await;
        let owner = owner(&app).await;
        let other = app.bootstrap("Other", "other.test").await;
        let receiver = Receiver::obliging().await;
        let url = receiver.url("/hook");
        let flow = calling(&app, json!({"url": url})).await;
        let id = begin(&app, &flow, "ann@example.com").await;
        flow.once(&id, "EXITED").await;
        call_from(&app, &other, &url).await;
        let calls = calls(&app, &receiver, 2).await;
        let secrets = [secret(&app, &owner, app.project_id()).await, secret(&app, &owner, &other.id).await];
        for (call, [own, foreign]) in calls.iter().zip([[0, 1], [1, 0]]) {
            assert!(is_genuine(&secrets[own], call), "{call:?}");
            assert!(!is_genuine(&secrets[foreign], call), "{call:?}");
        }
    }
}
