//! `/requests`: what keys and people asked of a project, what of it is kept, and for how long.

use std::time::Duration;

use mailwright_testkit::{App, AppBuilder, Engine, OWNER, Response, Value, both_engines, json};
use mailwright_tests::browser::Browser;
use mailwright_tests::{
    UNKNOWN_ID, as_project, assert_keys, assert_timestamp, assert_uuid, column, create_contact,
    early_in_a_minute, items, read, text,
};

const DAY: Duration = Duration::from_hours(24);

/// A service that keeps so many of a hundred successes.
fn builder(engine: Engine, percent: &str) -> AppBuilder {
    App::builder(engine).env("MAILWRIGHT_REQUESTS_SAMPLE_PERCENT", percent)
}

/// The log of the first project, as soon as it has so many requests.
async fn log(app: &App, query: &str, count: usize) -> Vec<Value> {
    let path = format!("/requests?{query}");
    let what = format!("{count} requests at {path}");
    app.eventually(&what, async || {
        let found = app.list_all(&path).await;
        (found.len() >= count).then_some(found)
    })
    .await
}

/// Asks for a contact that there is not; the id of the request.
pub(crate) async fn fail(app: &App) -> String {
    let answer = app.get(&format!("/contacts/{UNKNOWN_ID}")).send().await;
    answer.assert_error(404, "CONTACT_NOT_FOUND");
    request_id(&answer)
}

fn request_id(answer: &Response) -> String {
    answer.headers.get("x-request-id").expect("an id").to_owned()
}

/// A time in milliseconds since 1970 as a parameter has it.
fn iso(millis: i64) -> String {
    jiff::Timestamp::from_millisecond(millis).expect("a time").to_string()
}

/// A figure at `/metrics`.
async fn lost(app: &App, reason: &str) -> u64 {
    let metrics = app.request("GET", "/metrics").send().await.assert_status(200).text();
    let name = format!("mailwright_requests_not_logged_total{{reason=\"{reason}\"}} ");
    metrics
        .lines()
        .find_map(|line| line.strip_prefix(&name))
        .map_or(0, |count| count.parse().expect("a count"))
}

both_engines! {
    async fn errors_are_all_there_and_say_who_asked_for_what(engine: Engine) {
        let app = builder(engine, "0").start().await;
        let owner = Browser::log_in(&app, OWNER.0, OWNER.1).await;
        let project = app.project_id();
        let made = owner.create_key(&app, project, "reader", &["read"]).await;
        let reader = app.post("/contacts").bearer(text(&made["key"])).json(&json!({"email": "a@shop.test"}));
        reader.send().await.assert_error(403, "FORBIDDEN");
        app.track(json!({"email": "no address"})).await.assert_status(422);
        let named = app.get(&format!("/contacts/{UNKNOWN_ID}")).header("X-Request-ID", "mine-1");
        named.send().await.assert_error(404, "CONTACT_NOT_FOUND");
        let again = app.get(&format!("/contacts/{UNKNOWN_ID}")).header("X-Request-ID", "mine-1");
        again.send().await.assert_error(404, "CONTACT_NOT_FOUND");
        let person = owner.in_project(&app, project, "GET", &format!("/segments/{UNKNOWN_ID}"));
        let person = request_id(&person.send().await.assert_status(404));
        // of no project: not in its log
        app.get("/contacts").bearer("sk_unknown").send().await.assert_status(401);
        app.request("GET", "/contacts").send().await.assert_status(401);
        app.get("/nowhere").send().await.assert_status(404);
        app.request("GET", "/health").send().await.assert_status(200);

        let all = log(&app, "", 5).await;
        assert_eq!(column(&json!(all), "route"), [
            "/segments/{id}", "/contacts/{id}", "/contacts/{id}", "/v1/track", "/contacts",
        ]);
        for entry in &all {
            assert_keys(entry, &[
                "id", "requestId", "method", "route", "path", "status", "code", "durationMs", "keyId", "userId",
                "address", "createdAt",
            ]);
            assert_uuid(&entry["id"]);
            assert_timestamp(&entry["createdAt"]);
            assert!(entry["durationMs"].as_f64().is_some_and(|ms| (0.0..60_000.0).contains(&ms)), "{entry}");
            assert_eq!(entry["address"], Value::Null);
            assert_eq!(entry["keyId"].is_null(), entry["requestId"] == person.as_str(), "{entry}");
            assert_eq!(entry["userId"].is_null(), entry["requestId"] != person.as_str(), "{entry}");
            assert_eq!(read(&app, &format!("/requests/{}", text(&entry["id"]))).await, *entry);
        }
        assert_eq!(all[4]["keyId"], made["id"]);
        assert_eq!((&all[4]["method"], &all[4]["status"], &all[4]["code"]), (&json!("POST"), &json!(403), &json!("FORBIDDEN")));
        assert_eq!((&all[3]["status"], &all[3]["code"]), (&json!(422), &json!("VALIDATION_ERROR")));
        assert_eq!(all[2]["path"], format!("/contacts/{UNKNOWN_ID}"));
        assert_eq!([&all[1]["requestId"], &all[2]["requestId"]], ["mine-1", "mine-1"]);
        let page = read(&app, "/requests").await;
        assert_keys(&page, &["data", "cursor", "hasMore", "total", "leftOut"]);
        assert_eq!(page["total"], items(&page["data"]).len());
        assert_eq!((&page["leftOut"], &page["hasMore"], &page["cursor"]), (&json!(0), &json!(false), &Value::Null));
    }

    async fn the_log_is_read_by_pages_and_filtered(engine: Engine) {
        let app = builder(engine, "100").start().await;
        let owner = Browser::log_in(&app, OWNER.0, OWNER.1).await;
        let made = owner.create_key(&app, app.project_id(), "CI", &["everything"]).await;
        let ci = |path: &str| app.get(path).bearer(text(&made["key"]));
        let before = app.now();
        for _ in 0..2 {
            ci("/contacts").send().await.assert_status(200);
            ci(&format!("/topics/{UNKNOWN_ID}")).send().await.assert_status(404);
        }
        app.advance(DAY).await;
        let after = iso(app.now());
        let third = fail(&app).await;
        app.post("/contacts").json(&json!({})).send().await.assert_status(400);
        app.get("/requests?status=teapot").send().await.assert_error(400, "BAD_REQUEST");
        app.get("/requests?status=900").send().await.assert_error(400, "BAD_REQUEST");
        app.get("/requests?keyId=1").send().await.assert_error(400, "BAD_REQUEST");
        app.get("/requests?since=never").send().await.assert_error(400, "BAD_REQUEST");
        app.get("/requests?cursor=x").send().await.assert_error(400, "BAD_REQUEST");
        app.get("/requests/x").send().await.assert_error(404, "RESOURCE_NOT_FOUND");
        app.get(&format!("/requests/{UNKNOWN_ID}")).send().await.assert_error(404, "RESOURCE_NOT_FOUND");

        let errors = log(&app, "status=errors", 11).await;
        assert_eq!(errors.len(), 11);
        let key = text(&made["id"]);
        for (query, count) in [
            (format!("keyId={key}"), 4),
            (format!("keyId={key}&status=errors"), 2),
            (format!("keyId={key}&status=200"), 2),
            ("status=404".to_owned(), 5),
            ("code=CONTACT_NOT_FOUND".to_owned(), 1),
            ("code=BAD_REQUEST&method=GET".to_owned(), 5),
            ("method=POST&route=/contacts".to_owned(), 1),
            ("method=PUT".to_owned(), 0),
            ("route=/topics/{id}".to_owned(), 2),
            (format!("requestId={third}"), 1),
            (format!("until={after}&status=errors"), 2),
            (format!("since={after}&status=errors"), 9),
            (format!("since={}&until={after}&status=errors", iso(before)), 2),
        ] {
            assert_eq!(log(&app, &query, count).await.len(), count, "{query}");
        }
        let mut paged: Vec<Value> = Vec::new();
        let mut cursor = String::new();
        loop {
            let page = read(&app, &format!("/requests?status=errors&limit=2&cursor={cursor}")).await;
            assert!(items(&page["data"]).len() <= 2);
            assert_eq!(page["total"], 0, "the first page does not have them all");
            paged.extend_from_slice(items(&page["data"]));
            let Some(next) = page["cursor"].as_str() else { break };
            next.clone_into(&mut cursor);
        }
        assert_eq!(paged, errors);
    }

    async fn successes_are_kept_by_share_and_polling_is_not(engine: Engine) {
        let mut app = builder(engine, "100").start().await;
        let contact = create_contact(&app, "ada@shop.test", true, json!({})).await;
        read(&app, &format!("/contacts/{}", text(&contact["id"]))).await;
        read(&app, "/activity/recent-count").await;
        let kept = log(&app, "", 2).await;
        assert_eq!(column(&json!(kept), "route"), ["/contacts/{id}", "/contacts"]);
        assert_eq!((&kept[1]["status"], &kept[1]["code"]), (&json!(201), &Value::Null));
        assert_eq!(kept[0]["path"], format!("/contacts/{}", text(&contact["id"])));

        app.stop().await;
        app.restart_with(&[("MAILWRIGHT_REQUESTS_SAMPLE_PERCENT", "0")]).await;
        for _ in 0..20 {
            read(&app, "/contacts").await;
        }
        fail(&app).await;
        assert_eq!(log(&app, "", 3).await.len(), 3, "the error is there, and no success before it");

        app.stop().await;
        app.restart_with(&[("MAILWRIGHT_REQUESTS_RETENTION_DAYS", "0")]).await;
        fail(&app).await;
        app.advance(Duration::from_mins(2)).await;
        app.eventually("an empty log", async || app.list_all("/requests").await.is_empty().then_some(())).await;
    }

    async fn no_secret_and_nothing_of_a_person_reaches_the_log(engine: Engine) {
        let app = builder(engine, "100").start().await;
        let secret = "s3cr3t-of-a-link";
        let key = app.secret_key().to_owned();
        for (method, path) in [
            ("GET", format!("/contacts?token={secret}&search={secret}")),
            ("GET", format!("/contacts/{secret}?key={key}")),
            ("GET", format!("/contacts/fields/{secret}/values")),
            ("DELETE", format!("/suppressions/addresses/{secret}%40shop.test")),
            ("GET", format!("/auth/verify-email?token={secret}")),
            ("GET", format!("/auth/reset-password?token={secret}")),
            ("GET", format!("/t/{secret}/o.gif")),
            ("GET", format!("/unsubscribe/{secret}")),
            ("GET", format!("/nowhere/{secret}")),
            ("GET", format!("/contacts/{key}/topics")),
        ] {
            app.request(method, &path).bearer(&key).send().await;
        }
        app.track(json!({"email": format!("{secret}@shop.test"), "event": secret})).await.assert_status(200);
        app.track(json!({"email": secret})).await.assert_status(422);
        let last = fail(&app).await;
        log(&app, &format!("requestId={last}"), 1).await;
        let rows = app.rows().await;
        let stored = rows["request_log"].join("\n");
        assert!(rows["request_log"].len() >= 8, "{stored}");
        for word in [secret, &key, "@shop.test", "%40", "?"] {
            assert!(!stored.contains(word), "{word} is in {stored}");
        }
        assert!(stored.contains("/suppressions/addresses/{email}"), "{stored}");
    }

    async fn addresses_are_kept_where_the_instance_says_so(engine: Engine) {
        let app = builder(engine, "0")
            .env("MAILWRIGHT_REQUESTS_LOG_ADDRESSES", "true")
            .env("MAILWRIGHT_TRUSTED_PROXIES", "1")
            .start()
            .await;
        let asked = app.get(&format!("/contacts/{UNKNOWN_ID}")).header("X-Forwarded-For", "203.0.113.7");
        asked.send().await.assert_status(404);
        assert_eq!(log(&app, "", 1).await[0]["address"], "203.0.113.7");
    }

    async fn one_project_cannot_fill_the_log(engine: Engine) {
        let app = builder(engine, "0").start().await;
        let other = app.bootstrap("Other", "other.test").await;
        early_in_a_minute(&app).await;
        for _ in 0..45 {
            let ten: Vec<_> = (0..10).map(|_| app.get(&format!("/contacts/{UNKNOWN_ID}")).send()).collect();
            for answer in futures_util::future::join_all(ten).await {
                answer.assert_status(404);
            }
        }
        as_project(&app, &other, "GET", &format!("/contacts/{UNKNOWN_ID}")).send().await.assert_status(404);
        let kept = app.eventually("the number that was left out", async || {
            let page = read(&app, "/requests").await;
            (page["leftOut"] == 149).then(|| page["leftOut"].clone())
        });
        kept.await;
        assert_eq!(log(&app, "", 301).await.len(), 301);
        assert_eq!(lost(&app, "bound").await, 149);
        let next = read(&app, "/requests?limit=1").await;
        let second = read(&app, &format!("/requests?limit=1&cursor={}", text(&next["cursor"]))).await;
        assert_eq!((&next["leftOut"], &second["leftOut"]), (&json!(149), &json!(0)));
        let others = app.eventually("the other project's request", async || {
            let others = as_project(&app, &other, "GET", "/requests").send().await.assert_status(200).json();
            (!items(&others["data"]).is_empty()).then_some(others)
        });
        let others = others.await;
        assert_eq!((items(&others["data"]).len(), &others["leftOut"]), (1, &json!(0)));
        app.advance(Duration::from_mins(1)).await;
        fail(&app).await;
        assert_eq!(log(&app, "", 302).await.len(), 302, "the next minute has a bound of its own");
        let since = iso(app.now() - app.now() % 60_000);
        assert_eq!(read(&app, &format!("/requests?since={since}")).await["leftOut"], 0);
    }

    async fn requests_are_forgotten_after_their_time(engine: Engine) {
        let app = builder(engine, "0").env("MAILWRIGHT_REQUESTS_RETENTION_DAYS", "3").start().await;
        fail(&app).await;
        log(&app, "", 1).await;
        app.advance(2 * DAY).await;
        let second = fail(&app).await;
        log(&app, "", 2).await;
        app.advance(DAY + Duration::from_mins(2)).await;
        let left = app.eventually("one request", async || {
            let left = app.list_all("/requests").await;
            (left.len() == 1).then_some(left)
        });
        assert_eq!(left.await[0]["requestId"], second);
        app.advance(3 * DAY).await;
        app.eventually("no row", async || app.rows().await["request_log"].is_empty().then_some(())).await;
    }

    async fn a_project_sees_its_own_requests_alone(engine: Engine) {
        let app = builder(engine, "0").start().await;
        let other = app.bootstrap("Other", "other.test").await;
        fail(&app).await;
        let entry = log(&app, "", 1).await.remove(0);
        let id = text(&entry["id"]);
        as_project(&app, &other, "GET", &format!("/requests/{id}")).send().await.assert_error(404, "RESOURCE_NOT_FOUND");
        // that very question is an error of the other project
        let own = app.eventually("the other project's request", async || {
            let page = as_project(&app, &other, "GET", "/requests").send().await.assert_status(200).json();
            items(&page["data"]).first().cloned()
        });
        assert_eq!(own.await["path"], format!("/requests/{id}"));
        let filtered = format!("/requests?requestId={}", text(&entry["requestId"]));
        let page = as_project(&app, &other, "GET", &filtered).send().await.assert_status(200).json();
        assert_eq!(page["data"], json!([]));
        assert_eq!(log(&app, "", 1).await.len(), 1);

        let owner = Browser::log_in(&app, OWNER.0, OWNER.1).await;
        let reset = owner.request(&app, "POST", &format!("/users/@me/projects/{}/reset", app.project_id()));
        reset.send().await.assert_status(200);
        assert_eq!(read(&app, "/requests").await["data"], json!([]), "a reset removes them");
    }

    async fn a_process_that_stops_stores_what_it_has_and_a_killed_one_loses_a_second(engine: Engine) {
        let mut app = builder(engine, "0").start().await;
        let first = fail(&app).await;
        log(&app, "", 1).await;
        let second = fail(&app).await;
        app.stop().await;
        app.restart().await;
        assert_eq!(column(&json!(log(&app, "", 2).await), "requestId"), [&second, &first]);
        let third = fail(&app).await;
        log(&app, "", 3).await;
        fail(&app).await;
        app.kill();
        app.restart().await;
        let kept = app.list_all("/requests").await;
        assert!((3..=4).contains(&kept.len()), "{kept:?}");
        assert!(kept.iter().any(|entry| entry["requestId"] == third.as_str()), "{kept:?}");
    }
}

#[tokio::test]
async fn nobody_waits_for_a_log_that_cannot_be_written() {
    let app = builder(Engine::Postgres, "0").start().await;
    let held = app.hold_table("request_log").await;
    for _ in 0..5 {
        fail(&app).await;
    }
    app.eventually("requests that are dropped", async || (lost(&app, "database").await >= 5).then_some(()))
        .await;
    fail(&app).await;
    drop(held);
    let page = app.eventually("the number that was left out", async || {
        let page = read(&app, "/requests").await;
        (page["leftOut"].as_i64() >= Some(5)).then_some(page)
    });
    let left_out = page.await["leftOut"].as_i64().expect("a number");
    let kept = log(&app, "", 6 - left_out as usize).await.len() as i64;
    assert_eq!(kept + left_out, 6, "each is either there or counted");
}
