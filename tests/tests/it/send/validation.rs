//! The body rules of POST /v1/send: each broken one names its field and code.

use mailwright_testkit::{App, Engine, one_engine};
use mailwright_tests::{contact_by_email, inline, issue, issues, items, read, send_ok, shown, text, with};
use serde_json::{Map, Value, json};

/// Sends with each change alone and expects exactly the issue named beside it.
async fn assert_refused(app: &App, cases: &[(Value, &str, &str)]) {
    let base = inline(app, &json!("ann@example.com"));
    for (change, field, code) in cases {
        let response = app.send(with(base.clone(), change)).await;
        assert_eq!(response.status, 422, "{change}: {}", shown(&response));
        assert_eq!(issues(&response), [((*field).to_owned(), (*code).to_owned())], "{change}");
        let message = issue(&response, field)["message"].clone();
        assert!(message.as_str().is_some_and(|m| !m.is_empty()), "{change}: {}", shown(&response));
    }
    assert_eq!(read(app, "/emails").await["total"], 0, "nothing is queued");
    assert_eq!(contact_by_email(app, "ann@example.com").await, None, "no contact is made");
}

/// A good attachment with `changes` put over it, in a list.
fn attached(changes: &Value) -> Value {
    let good = json!({"filename": "a.txt", "content": "aGVsbG8=", "contentType": "text/plain"});
    json!({"attachments": [with(good, changes)]})
}

fn named_header(name: &str, value: &Value) -> Value {
    let headers: Map<String, Value> = [(name.to_owned(), value.clone())].into_iter().collect();
    json!({"headers": headers})
}

/// So many headers with values of this length.
fn headers(count: usize, length: usize) -> Value {
    let headers: Map<String, Value> =
        (0..count).map(|number| (format!("X-Header-{number}"), json!("v".repeat(length)))).collect();
    json!({"headers": headers})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_operator_says_which_headers_are_reserved() {
    let app =
        App::builder(Engine::Sqlite).env("MAILWRIGHT_SENDING_RESERVED_HEADERS", "X-Internal-*").start().await;
    assert_refused(
        &app,
        &[(named_header("x-internal-route", &json!("a")), "headers.x-internal-route", "custom")],
    )
    .await;
    let allowed = with(inline(&app, &json!("ann@example.com")), &named_header("X-SMTPAPI", &json!("{}")));
    send_ok(&app, allowed).await;
    let many = with(inline(&app, &json!("ann@example.com")), &headers(100, 500));
    send_ok(&app, many).await;
}

one_engine! {
    async fn every_failing_field_is_named_whichever_rule_it_breaks(engine: Engine) {
        let app = App::start(engine).await;
        let body = json!({
            "to": "nope", "subject": 5, "from": {"email": "x"}, "headers": {"Not A Name": "a"},
            "data": {"": 1}, "attachments": [{"filename": "a", "content": "aGVsbG8=", "contentType": "text/plain",
            "disposition": "inline"}],
        });
        let answer = app.post("/v1/send").json(&body).send().await;
        let mut named: Vec<String> = issues(&answer).into_iter().map(|(field, _)| field).collect();
        named.sort();
        assert_eq!(
            named,
            ["attachments.0.contentId", "data.", "from.email", "headers.Not A Name", "subject", "to"]
        );
    }

    async fn recipients_and_sender_must_be_addresses(engine: Engine) {
        let app = App::start(engine).await;
        let split = "Ann\r\nBcc: x@example.com";
        assert_refused(
            &app,
            &[
                (json!({"to": "nope"}), "to", "invalid_string"),
                (json!({"to": "-x@example.com"}), "to", "invalid_string"),
                (json!({"to": ""}), "to", "invalid_string"),
                (json!({"to": 5}), "to", "invalid_union"),
                (json!({"to": null}), "to", "invalid_union"),
                (json!({"to": {"name": "Ann"}}), "to", "invalid_union"),
                (json!({"to": {"email": "nope"}}), "to.email", "invalid_string"),
                (json!({"to": ["b@example.com", "nope"]}), "to.1", "invalid_string"),
                (json!({"to": ["b@example.com", {"email": "nope"}]}), "to.1.email", "invalid_string"),
                (json!({"to": {"email": "b@example.com", "name": split}}), "to.name", "invalid_string"),
                (json!({"from": "nope"}), "from", "invalid_string"),
                (json!({"from": {"email": "nope"}}), "from.email", "invalid_string"),
                (json!({"from": {"name": "Ann"}}), "from", "invalid_union"),
                (json!({"from": 5}), "from", "invalid_union"),
                (json!({"from": {"email": app.from(), "name": split}}), "from.name", "invalid_string"),
                (json!({"reply": "nope"}), "reply", "invalid_string"),
                (json!({"reply": "Ann <nope>"}), "reply", "invalid_string"),
                (json!({"reply": "a@example.com, b@example.com"}), "reply", "invalid_string"),
                (json!({"reply": {"email": "nope"}}), "reply.email", "invalid_string"),
                (json!({"reply": {"email": "a@example.com", "name": split}}), "reply.name", "invalid_string"),
                (json!({"reply": 5}), "reply", "invalid_union"),
                (json!({"fromName": 5}), "fromName", "invalid_type"),
            ],
        )
        .await;
        let structural = app.send(with(inline(&app, &json!([5])), &json!({}))).await;
        let found = issues(&structural);
        assert!(
            found.len() == 1 && found[0].0.starts_with("to") && found[0].1 == "invalid_union",
            "{found:?}"
        );
        let missing = app.send(json!({"subject": "s", "body": "b", "from": app.from()})).await;
        assert_eq!(issues(&missing), [("to".to_owned(), "invalid_union".to_owned())]);
    }

    async fn content_and_data_have_their_types_and_lengths(engine: Engine) {
        let app = App::start(engine).await;
        assert_refused(
            &app,
            &[
                (json!({"subject": ""}), "subject", "too_small"),
                (json!({"subject": "s".repeat(999)}), "subject", "too_big"),
                (json!({"subject": "one\ntwo"}), "subject", "invalid_string"),
                (json!({"subject": "one\rtwo"}), "subject", "invalid_string"),
                (json!({"subject": 5}), "subject", "invalid_type"),
                (json!({"body": ""}), "body", "too_small"),
                (json!({"body": {}}), "body", "invalid_type"),
                (json!({"text": ""}), "text", "too_small"),
                (json!({"text": 5}), "text", "invalid_type"),
                (json!({"template": "welcome"}), "template", "invalid_string"),
                (json!({"subscribed": "yes"}), "subscribed", "invalid_type"),
                (json!({"data": "text"}), "data", "invalid_type"),
                (json!({"data": ["a"]}), "data", "invalid_type"),
                (json!({"headers": "X-A: b"}), "headers", "invalid_type"),
                (json!({"attachments": {}}), "attachments", "invalid_type"),
            ],
        )
        .await;
        let typed =
            app.send(with(inline(&app, &json!("ann@example.com")), &json!({"subscribed": "yes"}))).await;
        assert_eq!(issue(&typed, "subscribed")["received"], "string");

        let longest = json!({"subject": "é".repeat(998)});
        send_ok(&app, with(inline(&app, &json!("ann@example.com")), &longest)).await;
    }

    async fn custom_headers_cannot_break_out_of_their_line(engine: Engine) {
        let app = App::start(engine).await;
        assert_refused(
            &app,
            &[
                (named_header("X-A", &json!("a\r\nBcc: x@example.com")), "headers.X-A", "invalid_string"),
                (named_header("X-A", &json!("a\nb")), "headers.X-A", "invalid_string"),
                (named_header("X-A", &json!("a\rb")), "headers.X-A", "invalid_string"),
                (named_header("X-A", &json!("v".repeat(999))), "headers.X-A", "too_big"),
                (named_header("Date", &json!("yesterday")), "headers.Date", "custom"),
                (named_header("SUBJECT", &json!("x")), "headers.SUBJECT", "custom"),
                (named_header("Message-Id", &json!("<a@b>")), "headers.Message-Id", "custom"),
                (named_header("Resent-Bcc", &json!("a@example.com")), "headers.Resent-Bcc", "custom"),
                (named_header("Authentication-Results", &json!("x")), "headers.Authentication-Results", "custom"),
                (named_header("Reply-To", &json!("Müller")), "headers.Reply-To", "invalid_string"),
                (named_header("reply-to", &json!("a@example.com,")), "headers.reply-to", "invalid_string"),
                (named_header("Errors-To", &json!("")), "headers.Errors-To", "invalid_string"),
                (named_header("References", &json!("<ä@b>")), "headers.References", "invalid_string"),
                (named_header("X-SMTPAPI", &json!("{}")), "headers.X-SMTPAPI", "custom"),
                (named_header("x-ses-configuration-set", &json!("x")), "headers.x-ses-configuration-set", "custom"),
                (named_header("TLS-Required", &json!("No")), "headers.TLS-Required", "custom"),
                (headers(101, 1), "headers", "too_big"),
                (headers(70, 950), "headers", "too_big"),
                (named_header("X-A", &json!(5)), "headers.X-A", "invalid_type"),
                (named_header("X-A", &json!(null)), "headers.X-A", "invalid_type"),
            ],
        )
        .await;
        for name in ["X-A\r\nBcc", "X-A\nBcc: x@example.com\nX-B", ""] {
            let change = named_header(name, &json!("v"));
            let response = app.send(with(inline(&app, &json!("ann@example.com")), &change)).await;
            let found = issues(&response);
            assert!(found.len() == 1 && found[0].0.starts_with("headers"), "{name:?}: {found:?}");
        }
        let longest = named_header("X-A", &json!("v".repeat(998)));
        send_ok(&app, with(inline(&app, &json!("ann@example.com")), &longest)).await;
    }

    async fn attachments_have_a_shape(engine: Engine) {
        let app = App::start(engine).await;
        let inside = |field: &str| format!("attachments.0.{field}");
        let long = "x".repeat(256);
        let cases = [
            (json!({"filename": null}), "filename", "invalid_type"),
            (json!({"filename": ""}), "filename", "too_small"),
            (json!({"filename": long}), "filename", "too_big"),
            (json!({"filename": "a\r\n.txt"}), "filename", "invalid_string"),
            (json!({"filename": "a\".txt"}), "filename", "invalid_string"),
            (json!({"content": ""}), "content", "too_small"),
            (json!({"content": 5}), "content", "invalid_type"),
            (json!({"contentType": ""}), "contentType", "too_small"),
            (json!({"contentType": long}), "contentType", "too_big"),
            (json!({"contentType": "text/plain\r\nX: y"}), "contentType", "invalid_string"),
            (json!({"contentId": "<logo>"}), "contentId", "invalid_string"),
            (json!({"contentId": "zwei ä"}), "contentId", "invalid_string"),
            (json!({"contentId": "ä"}), "contentId", "invalid_string"),
            (json!({"contentId": "two words"}), "contentId", "invalid_string"),
            (json!({"contentId": "a(b)"}), "contentId", "invalid_string"),
            (json!({"contentId": long}), "contentId", "too_big"),
            (json!({"disposition": "inline"}), "contentId", "custom"),
            (json!({"disposition": "sideways"}), "disposition", "invalid_enum_value"),
        ];
        for (change, field, code) in cases {
            assert_refused(&app, &[(attached(&change), &inside(field), code)]).await;
        }
        for content in ["not base64!", "data:text/plain;base64,aGVsbG8=", "aGVsbG8"] {
            let change = attached(&json!({"content": content}));
            let response = app.send(with(inline(&app, &json!("ann@example.com")), &change)).await;
            if content == "aGVsbG8" && response.status == 200 {
                continue; // missing padding still decodes
            }
            issue(&response, &inside("content"));
        }
        let missing =
            app.send(with(inline(&app, &json!("ann@example.com")), &json!({"attachments": [{}]}))).await;
        for field in ["filename", "content", "contentType"] {
            assert_eq!(issue(&missing, &inside(field))["code"], "invalid_type");
        }
    }

    async fn attachments_are_limited_in_number_and_size(engine: Engine) {
        let app = App::start(engine).await;
        let file =
            |size: usize| json!({"filename": "a", "content": "A".repeat(size), "contentType": "text/plain"});
        let files = |sizes: &[usize]| {
            let list: Vec<Value> = sizes.iter().map(|size| file(*size)).collect();
            with(inline(&app, &json!("ann@example.com")), &json!({"attachments": list}))
        };
        let too_many = app.send(files(&[4; 11])).await;
        assert_eq!(issues(&too_many), [("attachments".to_owned(), "too_big".to_owned())]);
        // 13,981,016 characters are 10,485,762 bytes, and 10,485,760 with two of padding.
        let too_large = app.send(files(&[6_990_508, 6_990_508])).await;
        assert_eq!(issues(&too_large), [("attachments".to_owned(), "custom".to_owned())]);
        let mut one_byte_more = files(&[13_981_016]);
        one_byte_more["attachments"][0]["content"] = json!(format!("{}=", "A".repeat(13_981_015)));
        let too_large = app.send(one_byte_more.clone()).await;
        assert_eq!(issues(&too_large), [("attachments".to_owned(), "custom".to_owned())]);
        assert_eq!(read(&app, "/emails").await["total"], 0);

        send_ok(&app, files(&[4; 10])).await;
        send_ok(&app, files(&[6_990_508, 6_990_504])).await;
        // ten megabytes to the byte, in one file and in ten
        one_byte_more["attachments"][0]["content"] = json!(format!("{}==", "A".repeat(13_981_014)));
        send_ok(&app, one_byte_more).await;
        let mut ten = files(&[4; 10]);
        for file in ten["attachments"].as_array_mut().expect("a list") {
            file["content"] = json!(format!("{}==", "A".repeat(1_398_102)));
        }
        send_ok(&app, ten).await;
    }

    async fn all_failing_fields_are_named_together_and_unknown_ones_ignored(engine: Engine) {
        let app = App::start(engine).await;
        for content in [json!({}), json!({"subject": "s"}), json!({"body": "b"})] {
            let response =
                app.send(with(json!({"to": "ann@example.com", "from": app.from()}), &content)).await;
            assert_eq!(issues(&response), [("template".to_owned(), "custom".to_owned())], "{content}");
        }

        let response = app
            .send(json!({
                "to": ["nope", {"email": "nope"}],
                "subject": "",
                "subscribed": 1,
                "reply": "nope",
                "attachments": [{"filename": "a", "content": "aGk=", "contentType": 5}],
            }))
            .await;
        let mut fields: Vec<String> = issues(&response).into_iter().map(|(field, _)| field).collect();
        fields.sort();
        // `template` is asked for only once the fields are good.
        let expected = ["attachments.0.contentType", "reply", "subject", "subscribed", "to.0", "to.1.email"];
        assert_eq!(fields, expected);

        let extra = json!({"sendAt": "tomorrow", "cc": 5, "projectId": "x"});
        let data = send_ok(&app, with(inline(&app, &json!("ann@example.com")), &extra)).await;
        assert_eq!(items(&data["emails"]).len(), 1);
        assert_eq!(text(&data["emails"][0]["contact"]["email"]), "ann@example.com");
    }
}
