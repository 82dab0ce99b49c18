//! How much a contact holds, and how many fields contacts and projects have.

use futures_util::future::join_all;
use mailwright_testkit::{App, Engine, both_engines};
use mailwright_tests::{
    column, contact, contact_by_email, create_contact, inline, items, read, send_ok, text, track_ok, with,
};
use serde_json::{Map, Value, json};

use super::{KB, assert_refused, total, track_from_a_page, track_from_a_server};

/// Fields of a project and keys of a contact.
const MAX_FIELDS: usize = 1000;

/// Fields with numbers for names.
fn fields(from: usize, count: usize) -> Value {
    Value::Object((from..from + count).map(|number| (format!("f{number}"), json!(1))).collect::<Map<_, _>>())
}

async fn custom_fields(app: &App) -> Vec<String> {
    let listed = read(app, "/contacts/fields").await;
    let names = column(&listed["fields"], "field");
    names.into_iter().filter_map(|name| name.strip_prefix("data.").map(str::to_owned)).collect()
}

both_engines! {
    async fn a_contact_holds_a_bounded_number_of_bytes(engine: Engine) {
        let app = App::start(engine).await;
        let piece = "x".repeat(60 * KB);
        let mut refused = 0;
        for number in 0..8 {
            let mut data = Map::new();
            data.insert(format!("p{number}"), json!(piece));
            let answer = track_from_a_page(&app, "big@example.com", "seen", &Value::Object(data)).await;
            if answer.status == 200 {
                assert_eq!(refused, 0, "nothing fits behind what did not");
            } else {
                assert_refused(&answer, "data", "256 KB");
                refused += 1;
            }
        }
        assert_eq!(refused, 4, "four pieces fit");
        let known = contact_by_email(&app, "big@example.com").await.expect("a contact");
        assert_eq!(known["data"].as_object().map(Map::len), Some(4));
        // by every other way as well, and there is a way out of each
        let more = json!({"q": piece});
        let path = format!("/contacts/{}", text(&known["id"]));
        assert_refused(&app.patch(&path).json(&json!({"data": more})).send().await, "data", "256 KB");
        let post = json!({"email": "big@example.com", "data": more});
        assert_refused(&app.post("/contacts").json(&post).send().await, "data", "256 KB");
        let send = with(inline(&app, &json!("big@example.com")), &json!({"data": more}));
        assert_refused(&app.send(send).await, "data", "256 KB");
        assert_eq!(contact(&app, &known["id"]).await, known, "nothing of it was kept");
        let smaller = json!({"data": {"p0": null, "q": "short"}});
        app.patch(&path).json(&smaller).send().await.assert_status(200);
        track_ok(&app, json!({"email": "big@example.com", "event": "seen", "data": {"p1": "short"}})).await;
        assert_eq!(contact(&app, &known["id"]).await["data"]["p1"], "short");
    }

    async fn a_group_with_a_refused_member_loses_nothing_else(engine: Engine) {
        let app = App::start(engine).await;
        create_contact(&app, "full@example.com", true, json!({"a": "x".repeat(200 * KB)})).await;
        let calls = (0..40).map(|number| {
            let app = &app;
            async move {
                if number % 4 == 0 {
                    let data = json!({"b": "x".repeat(100 * KB)});
                    let body = json!({"email": "full@example.com", "event": "grow", "data": data});
                    let key = format!("key-{number}");
                    let answer = app.post("/v1/track").header("idempotency-key", &key).json(&body).send().await;
                    assert_refused(&answer, "data", "256 KB");
                    // the key stays free for a request that fits
                    let body = json!({"email": "full@example.com", "event": "fits"});
                    app.post("/v1/track").header("idempotency-key", &key).json(&body).send().await.assert_status(200);
                } else {
                    let body = json!({"email": format!("c{number}@example.com"), "event": "seen", "data": {"n": number}});
                    track_ok(app, body).await;
                }
            }
        });
        join_all(calls).await;
        assert_eq!(total(&app).await, 31);
        let names = read(&app, "/events/names").await;
        let mut names: Vec<_> = items(&names["eventNames"]).iter().map(text).collect();
        names.sort_unstable();
        assert_eq!(names, ["fits", "seen"]);
    }

    async fn a_project_has_a_bounded_number_of_fields(engine: Engine) {
        let app = App::start(engine).await;
        // at once, of different contacts, each with 300 names of its own
        let requests = (0..12).map(|number| {
            let app = &app;
            async move {
                let email = format!("c{number}@example.com");
                track_from_a_server(app, &email, "seen", &fields(number * 300, 300)).await
            }
        });
        let answers = join_all(requests).await;
        let (taken, refused): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.status == 200);
        assert_eq!((taken.len(), refused.len()), (3, 9));
        for answer in refused {
            assert_refused(answer, "data", "1000 custom fields");
        }
        let known = custom_fields(&app).await;
        assert_eq!((known.len(), total(&app).await), (900, 3), "a refused request leaves nothing");

        // what is known is known to everybody, and what still fits is taken
        let mut data = Map::new();
        data.insert(known[0].clone(), json!(2));
        track_from_a_server(&app, "new@example.com", "seen", &Value::Object(data)).await.assert_status(200);
        track_from_a_server(&app, "new@example.com", "seen", &fields(90_000, 100)).await.assert_status(200);
        let one_more = json!({"one more": 1});
        assert_refused(&track_from_a_server(&app, "new@example.com", "seen", &one_more).await, "data", "1000 custom fields");
        let post = json!({"email": "new@example.com", "data": one_more});
        assert_refused(&app.post("/contacts").json(&post).send().await, "data", "1000 custom fields");
        let id = contact_by_email(&app, "new@example.com").await.expect("a contact")["id"].clone();
        let patched = app.patch(&format!("/contacts/{}", text(&id))).json(&json!({"data": one_more})).send().await;
        assert_refused(&patched, "data", "1000 custom fields");
        let send = with(inline(&app, &json!("new@example.com")), &json!({"data": one_more}));
        assert_refused(&app.send(send).await, "data", "1000 custom fields");
        // a value for one request only is no field
        let once = json!({"data": {"one more": {"value": 1, "persistent": false}}});
        send_ok(&app, with(inline(&app, &json!("new@example.com")), &once)).await;
        assert_eq!(custom_fields(&app).await.len(), MAX_FIELDS);

        app.delete("/contacts/fields/data.f90000").send().await.assert_status(200);
        app.post("/contacts").json(&post).send().await.assert_status(200);
        assert!(custom_fields(&app).await.contains(&"one more".to_owned()));
        // a project of its own has fields of its own
        let other = app.bootstrap("Neighbour", "neighbour.example").await;
        let body = json!({"email": "x@example.com", "event": "seen", "data": fields(0, 5)});
        app.request("POST", "/v1/track").bearer(&other.public_key).json(&body).send().await.assert_status(200);
    }

    async fn the_public_key_adds_to_half_of_the_fields(engine: Engine) {
        let app = App::start(engine).await;
        track_from_a_page(&app, "a@example.com", "seen", &fields(0, 400)).await.assert_status(200);
        let answer = track_from_a_page(&app, "a@example.com", "seen", &fields(400, 101)).await;
        assert_refused(&answer, "data", "500 custom fields");
        track_from_a_page(&app, "a@example.com", "seen", &fields(400, 100)).await.assert_status(200);
        let more = json!({"orderId": "123"});
        let answer = track_from_a_page(&app, "b@example.com", "seen", &more).await;
        assert_refused(&answer, "data", "500 custom fields");
        track_from_a_page(&app, "b@example.com", "seen", &fields(7, 3)).await.assert_status(200);
        // the project's own people and programs are not kept from naming something new
        send_ok(&app, with(inline(&app, &json!("c@example.com")), &json!({"data": more}))).await;
        track_from_a_page(&app, "b@example.com", "seen", &more).await.assert_status(200);
        track_from_a_server(&app, "a@example.com", "seen", &fields(500, 400)).await.assert_status(200);
        assert_eq!(custom_fields(&app).await.len(), 901);
    }

    async fn a_contact_has_a_bounded_number_of_fields(engine: Engine) {
        let app = App::start(engine).await;
        for from in [0, 500] {
            track_from_a_server(&app, "a@example.com", "seen", &fields(from, 500)).await.assert_status(200);
        }
        let answer = track_from_a_server(&app, "a@example.com", "seen", &json!({"x": 1})).await;
        assert_refused(&answer, "data", "1000 custom fields");
        let swapped = json!({"f1": null, "f2": 2});
        track_from_a_server(&app, "a@example.com", "seen", &swapped).await.assert_status(200);
    }
}
