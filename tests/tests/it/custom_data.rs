//! The rules of custom data, the same wherever `data` is taken: track, send, and a contact's POST and PATCH.

use mailwright_testkit::{App, Engine, Response, both_engines, one_engine};
use mailwright_tests::{
    contact, contact_by_email, create_contact, inline, issue, items, read, shown, text, with,
};
use serde_json::{Map, Value, json};

/// The four ways to write a contact's data.
#[derive(Clone, Copy, Debug)]
enum Way {
    Track,
    Send,
    Post,
    Patch,
}

const WAYS: [Way; 4] = [Way::Track, Way::Send, Way::Post, Way::Patch];

impl Way {
    /// The address that tests of this way write to.
    fn address(self) -> String {
        format!("{self:?}@example.com").to_lowercase()
    }

    /// Writes `data` to this way's contact, which exists.
    async fn write(self, app: &App, data: &Value) -> Response {
        let address = self.address();
        match self {
            Self::Track => app.track(json!({"email": address, "event": "seen", "data": data})).await,
            Self::Send => app.send(with(inline(app, &json!(address)), &json!({"data": data}))).await,
            Self::Post => app.post("/contacts").json(&json!({"email": address, "data": data})).send().await,
            Self::Patch => {
                let known = contact_by_email(app, &address).await.expect("a contact");
                let path = format!("/contacts/{}", text(&known["id"]));
                app.patch(&path).json(&json!({"data": data})).send().await
            }
        }
    }
}

/// For each way: a contact with `before`, then each write in turn, then `after`.
async fn assert_written(app: &App, before: &Value, writes: &[Value], after: &Value) {
    for way in WAYS {
        let known = create_contact(app, &way.address(), true, before.clone()).await;
        for data in writes {
            let response = way.write(app, data).await;
            assert_eq!(response.status, 200, "{way:?} {data}: {}", shown(&response));
        }
        assert_eq!(contact(app, &known["id"]).await["data"], *after, "{way:?} {writes:?}");
        let path = format!("/contacts/{}", text(&known["id"]));
        app.delete(&path).send().await.assert_status(204);
    }
}

/// `depth` objects, one inside the other.
fn nested(depth: usize) -> String {
    format!("{}1{}", "{\"a\":".repeat(depth), "}".repeat(depth))
}

both_engines! {
    async fn only_the_keys_that_are_sent_change(engine: Engine) {
        let app = App::start(engine).await;
        let before = json!({"plan": "free", "city": "Oslo", "score": 3});
        let after = json!({"plan": "pro", "city": "Oslo", "score": 3, "new": true});
        assert_written(&app, &before, &[json!({"plan": "pro", "new": true}), json!({})], &after).await;
    }

    async fn values_are_stored_as_they_are_sent(engine: Engine) {
        let app = App::start(engine).await;
        let data = json!({
            "text": "Grüße 😀 \"quoted\" \\ \n\t <b>",
            "integer": 42,
            "negative": -7,
            "zero": 0,
            "fraction": 3.25,
            "large": 9_007_199_254_740_991_i64,
            "yes": true,
            "no": false,
            "date": "2026-01-31",
            "list": ["a", 1, null, {"b": [true]}, []],
            "empty": {},
            "object": {"inner": {"deep": null, "text": ""}},
            // what libraries tell themselves by is data as well
            "raw": {"$serde_json::private::RawValue": "[1]"},
            "number": {"$serde_json::private::Number": "1"},
            "locale": "fr",
        });
        assert_written(&app, &json!({}), std::slice::from_ref(&data), &data).await;
        // A key keeps no type: what is sent is what is stored.
        let mixed = [json!({"v": 1}), json!({"v": "text"}), json!({"v": [true]}), json!({"v": {"a": 1}})];
        assert_written(&app, &json!({"v": false}), &mixed, &json!({"v": {"a": 1}})).await;
    }

    async fn null_deletes_and_an_empty_string_is_ignored(engine: Engine) {
        let app = App::start(engine).await;
        let before = json!({"plan": "free", "city": "Oslo", "object": {"a": 1}});
        let writes = [json!({"plan": null, "object": null, "never": null}), json!({"city": "", "other": ""})];
        assert_written(&app, &before, &writes, &json!({"city": "Oslo"})).await;
    }

    async fn an_object_replaces_what_was_there(engine: Engine) {
        let app = App::start(engine).await;
        let before = json!({"profile": {"tier": "gold", "since": 2020}, "tags": ["a", "b"]});
        let writes = [json!({"profile": {"tier": "silver"}, "tags": ["c"]})];
        let after = json!({"profile": {"tier": "silver"}, "tags": ["c"]});
        assert_written(&app, &before, &writes, &after).await;
    }

    async fn one_off_values_are_not_stored(engine: Engine) {
        let app = App::start(engine).await;
        let before = json!({"code": "old"});
        let writes = [json!({
            "code": {"value": "new", "persistent": false},
            "other": {"value": {"deep": 1}, "persistent": false},
            "kept": {"value": "v", "persistent": true},
            "plain": {"value": "v"},
            "odd": {"value": "v", "persistent": "false"},
        })];
        let after = json!({
            "code": "old",
            "kept": {"value": "v", "persistent": true},
            "plain": {"value": "v"},
            "odd": {"value": "v", "persistent": "false"},
        });
        assert_written(&app, &before, &writes, &after).await;
    }

    async fn reserved_keys_are_filtered_without_an_error(engine: Engine) {
        let app = App::start(engine).await;
        let reserved = ["id", "svc_id", "svc_email", "email", "unsubscribeUrl", "subscribeUrl", "manageUrl"];
        let all = |value: &Value| -> Value {
            let members: Map<String, Value> =
                reserved.iter().map(|key| ((*key).to_owned(), value.clone())).collect();
            with(json!({"plan": "pro"}), &Value::Object(members))
        };
        let writes = [all(&json!("x")), all(&json!({"a": 1})), all(&json!(null)), all(&json!(""))];
        assert_written(&app, &json!({}), &writes, &json!({"plan": "pro"})).await;

        // Names of built-in fields that are not reserved are ordinary keys and change nothing else.
        let other =
            json!({"subscribed": false, "createdAt": "x", "updatedAt": 1, "name": "Ann", "data": {"a": 1}});
        for way in WAYS {
            let known = create_contact(&app, &way.address(), true, json!({})).await;
            way.write(&app, &other).await.assert_status(200);
            let after = contact(&app, &known["id"]).await;
            assert_eq!(after["data"], other, "{way:?}");
            assert_eq!(after["subscribed"], true, "{way:?}");
            assert_eq!(after["createdAt"], known["createdAt"], "{way:?}");
            assert_eq!(after["email"], way.address());
        }
    }

    async fn any_text_can_be_a_key(engine: Engine) {
        let app = App::start(engine).await;
        let keys = [
            "first name",
            "field.with.dots",
            "dash-ed",
            "ключ",
            "😀",
            "we\"ird",
            "it's",
            "back\\slash",
            "$.path",
            "list[0]",
            "new\nline",
            "{{braces}}",
            "__proto__",
            "constructor",
            "%_",
            "SELECT",
            " ",
        ];
        let of = |value: &Value| -> Value {
            keys.iter().map(|key| ((*key).to_owned(), value.clone())).collect::<Map<_, _>>().into()
        };
        let filled = of(&json!("v"));
        assert_written(&app, &json!({}), std::slice::from_ref(&filled), &filled).await;
        assert_written(&app, &filled, &[of(&json!(null))], &json!({})).await;
        let long = json!({"k".repeat(500): "v"});
        assert_written(&app, &json!({}), std::slice::from_ref(&long), &long).await;
    }

    async fn characters_that_no_database_text_holds_are_refused(engine: Engine) {
        let app = App::start(engine).await;
        for way in WAYS {
            let known = create_contact(&app, &way.address(), true, json!({"plan": "free"})).await;
            for data in [json!({"plan": "a\u{0}b"}), json!({"a\u{0}b": 1}), json!({"o": {"l": ["\u{0}"]}})] {
                let response = way.write(&app, &data).await;
                response.assert_error(422, "VALIDATION_ERROR");
            }
            assert_eq!(contact(&app, &known["id"]).await["data"], json!({"plan": "free"}), "{way:?}");
        }
        let name = json!({"email": "a@example.com", "event": "a\u{0}b"});
        app.track(name).await.assert_error(422, "VALIDATION_ERROR");
        let subject = with(inline(&app, &json!("a@example.com")), &json!({"subject": "a\u{0}b"}));
        app.send(subject).await.assert_error(422, "VALIDATION_ERROR");
        let body = with(inline(&app, &json!("a@example.com")), &json!({"body": "a\u{0}b"}));
        app.send(body).await.assert_error(422, "VALIDATION_ERROR");
        let template = json!({"name": "a\u{0}b", "subject": "s", "body": "b", "from": app.from()});
        app.post("/templates").json(&template).send().await.assert_error(422, "VALIDATION_ERROR");
        for path in
            ["/contacts?search=%00", "/templates?search=%00", "/contacts/%00", "/events?eventName=%00"]
        {
            let response = app.get(path).send().await;
            assert!(response.status < 500, "{path}: {}", shown(&response));
        }
        let half = r#"{"email": "a@example.com", "event": "seen", "data": {"k": "\ud800"}}"#;
        let response = app.post("/v1/track").body(half, "application/json").send().await;
        assert!(matches!(response.status, 400 | 422), "{}", shown(&response));
    }

    async fn data_of_any_depth_gets_an_answer(engine: Engine) {
        let app = App::start(engine).await;
        for way in WAYS {
            create_contact(&app, &way.address(), true, json!({})).await;
            let deep: Value = serde_json::from_str(&nested(20)).expect("JSON");
            way.write(&app, &json!({"tree": deep})).await.assert_status(200);
            let stored = contact_by_email(&app, &way.address()).await.expect("a contact");
            assert_eq!(stored["data"]["tree"], deep, "{way:?}");
        }
        for depth in [200, 20_000] {
            let known = contact_by_email(&app, &Way::Patch.address()).await.expect("a contact");
            let path = format!("/contacts/{}", text(&known["id"]));
            let data = nested(depth);
            let send = format!(
                r#"{{"to":"a@example.com","subject":"s","body":"b","from":"{}","data":{data}}}"#,
                app.from()
            );
            for request in [
                app.post("/v1/track")
                    .body(format!(r#"{{"email":"a@example.com","event":"e","data":{data}}}"#), JSON),
                app.post("/v1/send").body(send, JSON),
                app.post("/contacts").body(format!(r#"{{"email":"a@example.com","data":{data}}}"#), JSON),
                app.patch(&path).body(format!(r#"{{"data":{data}}}"#), JSON),
            ] {
                let response = request.send().await;
                assert!(matches!(response.status, 400 | 422), "depth {depth}: {}", shown(&response));
                response.assert_error(response.status, "VALIDATION_ERROR");
            }
        }
        assert_eq!(contact_by_email(&app, "a@example.com").await, None);
        read(&app, "/contacts").await;
    }
}

const JSON: &str = "application/json";

one_engine! {
    async fn data_that_is_no_object_is_refused(engine: Engine) {
        let app = App::start(engine).await;
        for way in WAYS {
            let known = create_contact(&app, &way.address(), true, json!({"plan": "free"})).await;
            for data in [json!("text"), json!(["a"]), json!(5), json!(true)] {
                let response = way.write(&app, &data).await;
                match way {
                    // The references name 400 beside the general rule of 422 here.
                    Way::Patch => assert!(matches!(response.status, 400 | 422), "{}", shown(&response)),
                    _ => assert_eq!(issue(&response, "data")["code"], "invalid_type", "{way:?}"),
                }
            }
            assert_eq!(contact(&app, &known["id"]).await["data"], json!({"plan": "free"}), "{way:?}");
        }
        assert_eq!(items(&read(&app, "/events").await["events"]).len(), 0, "nothing was tracked");
    }
}
