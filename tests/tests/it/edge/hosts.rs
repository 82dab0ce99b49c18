//! Names under which the service is reached.

use mailwright_testkit::{App, Engine};
use mailwright_tests::{shown, text};
use serde_json::json;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_that_is_not_ours_signs_nobody_in() {
    let app = App::start(Engine::Sqlite).await;
    let port = app.base_url().rsplit(':').next().unwrap_or_default().to_owned();
    let strange = format!("rebind.evil.example:{port}");
    let body = json!({"email": "eve@example.com", "password": "a password of twelve words"});
    let sign_up = |host: &str| {
        let request = app.request("POST", "/auth/signup").header("host", host).json(&body);
        request.header("origin", &format!("http://{host}"))
    };
    // the page of another site, whose name was made to lead here, with and without what might let it pass
    for request in [
        sign_up(&strange),
        sign_up(&strange).header("sec-fetch-site", "same-origin"),
        sign_up(&strange).bearer(app.secret_key()),
    ] {
        let error = request.send().await.assert_error(421, "UNKNOWN_HOST");
        assert!(text(&error["suggestion"]).contains("MAILWRIGHT_ALLOWED_HOSTS"), "{error}");
    }
    for path in ["/auth/oauth-config", "/docs", "/inbox", "/", "/app/", "/config"] {
        let answer = app.request("GET", path).header("host", &strange).send().await;
        assert_eq!(answer.status, 421, "{path}: {}", shown(&answer));
    }
    let session =
        app.request("GET", "/users/@me").header("host", &strange).header("cookie", "mailwright_session=x");
    session.send().await.assert_error(421, "UNKNOWN_HOST");

    // probes, keys, and links that were sent under an old name
    for path in ["/health", "/ready", "/metrics"] {
        app.request("GET", path).header("host", &strange).send().await.assert_status(200);
    }
    app.get("/contacts").header("host", &strange).send().await.assert_status(200);
    let ann = app.post("/contacts").json(&json!({"email": "ann@example.com"}));
    let contact = ann.header("host", &strange).send().await.assert_status(201).json();
    let path = format!("/unsubscribe/{}", text(&contact["id"]));
    app.request("GET", &path).header("host", &strange).send().await.assert_status(200);
    app.request("POST", &path).header("host", &strange).send().await.assert_status(200);

    // addresses and localhost lead nowhere else
    for host in
        [format!("localhost:{port}"), "127.0.0.1".into(), "192.168.7.7:8000".into(), "[::1]:80".into()]
    {
        let answer = app.request("GET", "/auth/oauth-config").header("host", &host).send().await;
        assert_eq!(answer.status, 200, "{host}: {}", shown(&answer));
    }
    sign_up(&format!("localhost:{port}")).send().await.assert_status(200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn further_names_can_be_allowed() {
    let app = App::builder(Engine::Sqlite)
        .env("MAILWRIGHT_BASE_URL", "https://mail.example.com")
        .env("MAILWRIGHT_ALLOWED_HOSTS", "Mail.internal, mail.lan")
        .start()
        .await;
    for (host, status) in [
        ("mail.example.com", 200),
        ("mail.example.com:443", 200),
        ("mail.internal:8080", 200),
        ("MAIL.LAN", 200),
        ("other.lan", 421),
        ("example.com", 421),
    ] {
        let answer = app.request("GET", "/auth/oauth-config").header("host", host).send().await;
        assert_eq!(answer.status, status, "{host}: {}", shown(&answer));
    }
}
