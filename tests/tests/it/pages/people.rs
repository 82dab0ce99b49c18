//! Where `/` leads, and what is below `/app/`.

use mailwright_testkit::{App, Engine, Response};
use mailwright_tests::{required_header, shown};

const BROWSER: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

fn assert_page(answer: &Response, status: u16) -> String {
    assert_eq!(answer.status, status, "{}", shown(answer));
    assert!(required_header(answer, "content-type").starts_with("text/html"), "{}", shown(answer));
    let policy = required_header(answer, "content-security-policy");
    assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    let text = answer.text();
    assert!(!text.contains("<script") && !text.contains(" style="), "{text}");
    text
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_root_leads_a_browser_to_the_pages_and_programs_to_the_reference() {
    let app = App::start(Engine::Sqlite).await;
    for (accept, to) in [
        (Some(BROWSER), "/app/"),
        (Some("text/html"), "/app/"),
        (Some("*/*"), "/docs"),
        (Some("application/json"), "/docs"),
        (Some("application/json, text/html;q=0.5"), "/docs"),
        (None, "/docs"),
    ] {
        let mut request = app.request("GET", "/");
        if let Some(accept) = accept {
            request = request.header("accept", accept);
        }
        let answer = request.send().await.assert_status(307);
        assert_eq!(required_header(&answer, "location"), to, "{accept:?}");
        assert_eq!(required_header(&answer, "vary"), "Accept");
    }
    let bare = app.request("GET", "/app").send().await.assert_status(308);
    assert_eq!(required_header(&bare, "location"), "/app/");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn below_a_path_they_lead_below_that_path() {
    let app =
        App::builder(Engine::Sqlite).env("MAILWRIGHT_BASE_URL", "https://example.com/mail").start().await;
    let root = app.request("GET", "/").header("accept", BROWSER).send().await.assert_status(307);
    assert_eq!(required_header(&root, "location"), "/mail/app/");
    let bare = app.request("GET", "/app").send().await.assert_status(308);
    assert_eq!(required_header(&bare, "location"), "/mail/app/");
    let gone = assert_page(&app.request("GET", "/app/a/b").send().await, 404);
    assert!(gone.contains("href=\"/mail/app/\""), "{gone}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_page_of_the_dashboard_is_a_page_and_an_unknown_endpoint_is_none() {
    let app = App::start(Engine::Sqlite).await;
    for path in ["/app/nowhere", "/app/a/b/c", "/app/auth", "/app/templates", "/app/assets/gone.js"] {
        for method in ["GET", "POST", "DELETE"] {
            assert_page(&app.request(method, path).send().await, 404);
        }
    }
    assert_page(&app.request("POST", "/app/").send().await, 404);
    app.request("GET", "/apples").send().await.assert_error(404, "RESOURCE_NOT_FOUND");
}
