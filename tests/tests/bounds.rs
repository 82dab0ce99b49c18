//! What a request, a public key or a recipient can make grow has a limit, and the answer names it.

use futures_util::future::join_all;
use mailwright_testkit::{App, Engine, Response, both_engines};
use mailwright_tests::{
    column, contact, contact_by_email, create_contact, holds, inline, issue, items, mail_to, read, send_ok,
    shown, text, track_ok, with,
};
use serde_json::{Map, Value, json};

/// Fields of a project and keys of a contact.
const MAX_FIELDS: usize = 1000;
/// Names of a project's events.
const MAX_EVENT_NAMES: usize = 10_000;
const KB: usize = 1024;

/// Fields with numbers for names.
fn fields(from: usize, count: usize) -> Value {
    Value::Object((from..from + count).map(|number| (format!("f{number}"), json!(1))).collect::<Map<_, _>>())
}

/// Tracks with the public key, as a page on the web does.
async fn track_from_a_page(app: &App, email: &str, event: &str, data: &Value) -> Response {
    let body = json!({"email": email, "event": event, "data": data});
    app.request("POST", "/v1/track").bearer(app.public_key()).json(&body).send().await
}

/// A refusal that names a limit.
#[track_caller]
fn assert_refused(answer: &Response, field: &str, limit: &str) {
    assert_eq!(answer.status, 422, "{}", shown(answer));
    let issue = issue(answer, field);
    assert_eq!(issue["code"], "too_big", "{issue}");
    assert!(text(&issue["message"]).contains(limit), "{issue} names {limit}");
}

/// An app whose mails wait for a server that does not answer.
async fn with_nobody_to_send_to(engine: Engine) -> App {
    App::builder(engine).smtp(9).start().await
}

/// Tracks with a secret key, as a server does.
async fn track_from_a_server(app: &App, email: &str, event: &str, data: &Value) -> Response {
    let body = json!({"email": email, "event": event, "data": data});
    app.post("/v1/track").json(&body).send().await
}

async fn total(app: &App) -> usize {
    read(app, "/contacts?limit=1").await["total"].as_u64().expect("a number") as usize
}

async fn custom_fields(app: &App) -> Vec<String> {
    let listed = read(app, "/contacts/fields").await;
    let names = column(&listed["fields"], "field");
    names.into_iter().filter_map(|name| name.strip_prefix("data.").map(str::to_owned)).collect()
}

fn many(count: usize) -> Value {
    (0..count).map(|number| json!(format!("r{number}@example.com"))).collect()
}

/// Names the project's events so often that `room` further names fit.
async fn fill_event_names(app: &App, room: usize) {
    let known = 1; // the test tracked one
    app.tamper(&format!(
        "insert into event_names (project_id, name, created_at) \
         with recursive n(i) as (select 1 union all select i + 1 from n where i < {}) \
         select (select project_id from event_names limit 1), 'filler ' || i, 0 from n",
        MAX_EVENT_NAMES - known - room
    ))
    .await;
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

    async fn the_public_key_adds_to_half_of_the_names_of_events(engine: Engine) {
        let app = App::start(engine).await;
        track_from_a_page(&app, "a@example.com", "signed up", &json!({})).await.assert_status(200);
        fill_event_names(&app, MAX_EVENT_NAMES / 2 + 1).await;
        track_from_a_page(&app, "a@example.com", "fits", &json!({})).await.assert_status(200);
        let answer = track_from_a_page(&app, "a@example.com", "more", &json!({})).await;
        assert_refused(&answer, "event", "5000 names");
        track_from_a_server(&app, "a@example.com", "more", &json!({})).await.assert_status(200);
        track_from_a_page(&app, "a@example.com", "more", &json!({})).await.assert_status(200);
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

    async fn a_project_has_events_of_a_bounded_number_of_names(engine: Engine) {
        let app = App::start(engine).await;
        track_from_a_server(&app, "a@example.com", "signed up", &json!({})).await.assert_status(200);
        fill_event_names(&app, 3).await;
        let names: Vec<_> = (0..8).map(|number| format!("new {number}")).collect();
        let empty = json!({});
        let answers = join_all(names.iter().map(|name| track_from_a_server(&app, "a@example.com", name, &empty))).await;
        let taken = answers.iter().filter(|answer| answer.status == 200).count();
        assert_eq!(taken, 3);
        for answer in answers.iter().filter(|answer| answer.status != 200) {
            assert_refused(answer, "event", "10000 names");
        }
        for (name, answer) in names.iter().zip(&answers) {
            let again = track_from_a_server(&app, "b@example.com", name, &json!({})).await;
            assert_eq!(again.status, answer.status, "{name}: {}", shown(&again));
        }
        track_from_a_server(&app, "b@example.com", "signed up", &json!({})).await.assert_status(200);
        let internal = app.post("/events/track").json(&json!({"email": "b@example.com", "event": "newer"})).send().await;
        assert_refused(&internal, "event", "10000 names");
        // the service's own events have room
        app.post("/contacts").json(&json!({"email": "b@example.com", "subscribed": false})).send().await.assert_status(200);

        app.delete("/events/signed%20up").send().await.assert_status(200);
        track_from_a_server(&app, "b@example.com", "newest", &json!({})).await.assert_status(200);
        assert_refused(&track_from_a_server(&app, "b@example.com", "signed up", &json!({})).await, "event", "10000 names");
    }

    async fn recipients_times_data_is_bounded(engine: Engine) {
        let app = with_nobody_to_send_to(engine).await;
        let before = app.stored().await.len();
        let data = json!({"blob": "x".repeat(250 * KB)});
        let body = with(inline(&app, &many(1000)), &json!({"data": data, "body": "<p>{{blob}}</p>"}));
        let answer = app.send(body).await;
        assert_refused(&answer, "data", "8 MB");
        let message = text(&issue(&answer, "data")["message"]).to_owned();
        assert!(message.contains("1000 recipients") && message.contains("at most 32 recipients"), "{message}");
        assert_eq!(total(&app).await, 0);
        let grown = app.stored().await.len().saturating_sub(before);
        assert!(grown < 2 * KB * KB, "{grown} bytes");
        // so many are fine
        let body = with(inline(&app, &many(32)), &json!({"data": data, "body": "<p>{{blob}}</p>"}));
        assert_eq!(items(&send_ok(&app, body).await["emails"]).len(), 32);
    }

    async fn values_of_a_request_are_stored_once(engine: Engine) {
        let app = with_nobody_to_send_to(engine).await;
        let before = app.stored().await.len();
        let data = json!({"blob": {"value": "x".repeat(250 * KB), "persistent": false}});
        let body = with(inline(&app, &many(200)), &json!({"data": data, "body": "<p>{{blob}}</p>"}));
        assert_eq!(items(&send_ok(&app, body).await["emails"]).len(), 200);
        let grown = app.stored().await.len().saturating_sub(before);
        // SQLite's file, its log and its values are looked at
        assert!(grown < 6 * KB * KB, "{grown} bytes");
    }

    async fn recipients_are_sent_what_they_share_and_what_is_theirs(engine: Engine) {
        let app = App::start(engine).await;
        create_contact(&app, "ann@example.com", true, json!({"plan": "pro", "digest": "stored", "city": "Oslo"})).await;
        let digest = "d".repeat(3000);
        let data = json!({
            "digest": {"value": digest, "persistent": false}, "city": null, "name": "Friend", "note": "kept",
        });
        let to = json!([{"email": "ann@example.com", "name": "Ann"}, "bob@example.com"]);
        let body = "<p>{{name}}|{{plan ?? \"none\"}}|{{city ?? \"nowhere\"}}|{{note}}|{{data.digest}}|{{email}}</p>";
        send_ok(&app, with(inline(&app, &to), &json!({"data": data, "body": body, "subject": "To {{name}}"}))).await;
        for (email, expected) in [
            ("ann@example.com", format!("Ann|pro|nowhere|kept|{digest}|ann@example.com")),
            ("bob@example.com", format!("Friend|none|nowhere|kept|{digest}|bob@example.com")),
        ] {
            let mail = mail_to(&app, email).await;
            assert!(text(&mail["html"]).contains(&expected), "{}", mail["html"]);
        }
        assert_eq!(mail_to(&app, "ann@example.com").await["subject"], "To Ann");
        let ann = contact_by_email(&app, "ann@example.com").await.expect("ann");
        assert_eq!(ann["data"], json!({"plan": "pro", "digest": "stored", "name": "Ann", "note": "kept"}));
    }

    async fn mails_of_one_request_keep_a_bounded_part_of_their_contacts(engine: Engine) {
        let app = with_nobody_to_send_to(engine).await;
        let count = 70;
        let large = json!({"blob": "x".repeat(250 * KB)});
        for number in 0..count {
            create_contact(&app, &format!("r{number}@example.com"), true, large.clone()).await;
        }
        let body = with(inline(&app, &many(count)), &json!({"body": "<p>{{blob}}</p>"}));
        assert_refused(&app.send(body).await, "to", "16 MB");
        // who does not use it does not keep it
        send_ok(&app, inline(&app, &many(count))).await;
    }

    async fn recipients_times_body_is_bounded(engine: Engine) {
        let app = with_nobody_to_send_to(engine).await;
        let body = "x".repeat(2 * KB * KB);
        let answer = app.send(with(inline(&app, &many(1000)), &json!({"body": body}))).await;
        assert_refused(&answer, "to", "1024 MB");
        send_ok(&app, with(inline(&app, &many(2)), &json!({"body": body}))).await;
    }

    async fn what_values_add_to_the_mails_of_one_request_is_bounded(engine: Engine) {
        let app = App::start(engine).await;
        let data = json!({"blob": {"value": "x".repeat(16 * KB), "persistent": false}});
        let times = |email: &str, times: usize| {
            format!("{{% if email == '{email}@example.com' %}}{{% for n in (1..{times}) %}}{{{{blob}}}}{{% endfor %}}{{% endif %}}")
        };
        // 320 KB and 192 KB, where 256 MB are 256 KB for each of 1,024
        let body = format!("<p>Hi</p>{}{}", times("r0", 20), times("r1", 12));
        let change = json!({"data": data, "body": body});
        let of = |sent: &Value, number: usize| text(&sent["emails"][number]["email"]).to_owned();
        let sent = send_ok(&app, with(inline(&app, &many(513)), &change)).await;
        let (outgrown, fits) = (of(&sent, 0), of(&sent, 1));
        let outgrown = app.email_in(&outgrown, &["FAILED", "SENT"]).await;
        assert_eq!((&outgrown["status"], &outgrown["reason"]), (&json!("FAILED"), &json!("unrenderable")), "{outgrown}");
        assert!(text(&outgrown["error"]).contains("256 KB"), "{outgrown}");
        assert_eq!(app.email_in(&fits, &["FAILED", "SENT"]).await["status"], "SENT");
        let mail = mail_to(&app, "r1@example.com").await;
        assert!(text(&mail["html"]).len() > 192 * KB, "all of it is there");
        // with fewer recipients there is room
        let sent = send_ok(&app, with(inline(&app, &many(2)), &change)).await;
        assert_eq!(app.email_in(&of(&sent, 0), &["FAILED", "SENT"]).await["status"], "SENT");
    }

    async fn a_small_template_makes_no_large_mail(engine: Engine) {
        let app = App::start(engine).await;
        let format = "%A".repeat(3000);
        let body = format!("{{% for a in (1..1000000) %}}{{{{ \"2024-01-01\" | date: \"{format}\" }}}}{{% endfor %}}");
        send_ok(&app, with(inline(&app, &json!("a@example.com")), &json!({"body": body}))).await;
        let page = app.eventually("the mail", async || {
            let page = read(&app, "/mailbox").await;
            (page["total"] == 1).then_some(page)
        }).await;
        let size = page["data"][0]["size"].as_u64().expect("a number");
        assert!(size < 300 * KB as u64, "{size} bytes");
    }

    async fn the_mailbox_holds_so_many_mails(engine: Engine) {
        let app = App::builder(engine).env("MAILWRIGHT_MAILBOX_COUNT", "3").start().await;
        for number in 0..6 {
            let id = app.send_to(&format!("c{number}@example.com")).await;
            app.email_in(&id, &["SENT"]).await;
        }
        let page = read(&app, "/mailbox").await;
        assert_eq!(page["total"], 3);
        let kept: Vec<_> = items(&page["data"]).iter().map(|mail| mail["to"].to_string()).collect();
        for (mail, number) in kept.iter().zip([5, 4, 3]) {
            assert!(mail.contains(&format!("c{number}@example.com")), "{kept:?}");
        }
        app.delete("/mailbox").send().await.assert_status(204);
        assert_eq!(read(&app, "/mailbox").await["total"], 0);
    }

    async fn the_mailbox_holds_so_many_bytes(engine: Engine) {
        let app = App::builder(engine).env("MAILWRIGHT_MAILBOX_TOTAL_MB", "1").start().await;
        let body = format!("<p>{}</p>", "word ".repeat(40_000));
        for number in 0..5 {
            let sent = send_ok(&app, with(inline(&app, &json!(format!("c{number}@example.com"))), &json!({"body": body}))).await;
            app.email_in(text(&sent["emails"][0]["email"]), &["SENT"]).await;
        }
        let page = read(&app, "/mailbox").await;
        let bytes: u64 = items(&page["data"]).iter().filter_map(|mail| mail["size"].as_u64()).sum();
        let one = page["data"][0]["size"].as_u64().expect("a number");
        let mb = (KB * KB) as u64;
        assert!(bytes <= mb && bytes + one > mb, "{bytes} of mails with {one}");
        // removing a contact gives its room back
        let newest = contact_by_email(&app, "c4@example.com").await.expect("a contact");
        app.delete(&format!("/contacts/{}", text(&newest["id"]))).send().await.assert_status(204);
        let sent = send_ok(&app, with(inline(&app, &json!("next@example.com")), &json!({"body": body}))).await;
        app.email_in(text(&sent["emails"][0]["email"]), &["SENT"]).await;
        assert_eq!(read(&app, "/mailbox").await["total"], page["total"]);
    }

    async fn a_mail_that_is_settled_forgets_its_values(engine: Engine) {
        let app = App::start(engine).await;
        let once = |value: &str| json!({"code": {"value": value, "persistent": false}});
        let body = "<p>{% if code == 'x' %}y{% endif %}</p>";
        let change = json!({"data": once("code-of-long-ago"), "body": body});
        let sent = send_ok(&app, with(inline(&app, &json!("a@example.com")), &change)).await;
        app.email_in(text(&sent["emails"][0]["email"]), &["SENT"]).await;
        if engine == Engine::Postgres {
            // a file of SQLite holds what was overwritten until its page is used again
            assert!(!holds(&app.stored().await, "code-of-long-ago"));
        }
        // fails where a mail kept anything
        app.tamper("create table kept (mails int check (mails = 0))").await;
        app.tamper("insert into kept select count(*) from emails where length(cast(variables as text)) > 2").await;
    }

    async fn domains_are_counted_when_they_are_added_at_once(engine: Engine) {
        let app = App::builder(engine).env("MAILWRIGHT_DOMAINS_KEY_TYPE", "ed25519").start().await;
        let add = async |node: &App, number: usize| {
            let body = json!({"domain": format!("d{number}.example")});
            node.post("/domains").json(&body).send().await
        };
        for number in 0..97 {
            add(&app, number).await.assert_status(201);
        }
        // one was made with the project
        let other = if engine == Engine::Postgres { Some(app.second_node().await) } else { None };
        let nodes = [&app, other.as_ref().unwrap_or(&app)];
        let answers = join_all((100..112).map(|number| add(nodes[number % 2], number))).await;
        let added = answers.iter().filter(|answer| answer.status == 201).count();
        assert_eq!(added, 2, "{:?}", answers.iter().map(|answer| answer.status).collect::<Vec<_>>());
        for answer in answers.iter().filter(|answer| answer.status != 201) {
            assert!(answer.status == 400 && shown(answer).contains("100 domains"), "{}", shown(answer));
        }
        let listed = read(&app, &format!("/domains/project/{}", app.project_id())).await;
        assert_eq!(items(&listed).len(), 100);
    }
}
