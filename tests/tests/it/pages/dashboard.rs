//! The dashboard as the program serves it. What it does is tested in `dashboard/test/browser`.

use mailwright_testkit::{App, Engine, Response};
use mailwright_tests::{required_header, shown};

const BROWSER: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

async fn opened(app: &App, path: &str) -> Response {
    app.request("GET", path).header("accept", BROWSER).send().await.assert_status(200)
}

/// The nonce in a policy.
fn nonce(page: &Response) -> String {
    let policy = required_header(page, "content-security-policy");
    let (_, rest) = policy.split_once("script-src 'nonce-").unwrap_or_else(|| panic!("{policy}"));
    rest.split('\'').next().expect("its end").to_owned()
}

/// The addresses of what a page loads.
fn loaded(page: &str) -> Vec<String> {
    let after = page.split(" src=\"").skip(1).chain(page.split(" href=\"").skip(1));
    after.filter_map(|rest| rest.split('"').next()).map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_address_that_a_browser_opens_is_the_page_with_a_nonce_of_its_own() {
    let app = App::start(Engine::Sqlite).await;
    let mut nonces = Vec::new();
    for path in ["/app/", "/app/contacts", "/app/contacts/018f?p=1", "/app/auth/login?message=denied"] {
        let page = opened(&app, path).await;
        let nonce = nonce(&page);
        let text = page.text();
        assert_eq!(required_header(&page, "cache-control"), "no-store", "{path}");
        assert_eq!(
            text.matches("<script").count(),
            text.matches(&format!("nonce=\"{nonce}\"")).count().min(2),
            "{text}"
        );
        for script in text.split("<script").skip(1) {
            assert!(
                script.contains(&format!("nonce=\"{nonce}\"")) && script.contains(" src=\"/app/"),
                "{script}"
            );
        }
        let policy = required_header(&page, "content-security-policy");
        assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
        assert!(!text.contains(" style=") && !text.contains("denied"), "{text}");
        nonces.push(nonce);
    }
    nonces.sort();
    nonces.dedup();
    assert_eq!(nonces.len(), 4, "each answer has its own");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn its_files_are_compressed_and_kept() {
    let app = App::start(Engine::Sqlite).await;
    let files = loaded(&opened(&app, "/app/").await.text());
    assert!(
        files.iter().any(|file| file.ends_with(".js")) && files.iter().any(|file| file.ends_with(".css"))
    );
    for file in files {
        let get = |accept: &'static str| app.request("GET", &file).header("accept-encoding", accept).send();
        let plain = get("identity").await.assert_status(200);
        assert_eq!(plain.headers.get("content-encoding"), None, "{file}");
        for (accept, encoding) in [("gzip, deflate, br", "br"), ("gzip, deflate", "gzip")] {
            let packed = get(accept).await.assert_status(200);
            assert_eq!(packed.headers.get("content-encoding"), Some(encoding), "{file}: {}", shown(&plain));
            assert_eq!(packed.headers.get("content-type"), plain.headers.get("content-type"), "{file}");
            assert_eq!(packed.headers.get("vary"), Some("Accept-Encoding"), "{file}");
        }
        let kept = required_header(&plain, "cache-control");
        let expected =
            if file.contains("/assets/") { "public, max-age=31536000, immutable" } else { "no-cache" };
        assert_eq!(kept, expected, "{file}");
    }
    for gone in ["/app/assets/index-00000000.js", "/app/index.html.br", "/app/assets/../theme.js"] {
        let answer = app.request("GET", gone).header("accept", "*/*").send().await;
        assert_eq!(answer.status, 404, "{gone}: {}", shown(&answer));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn below_a_path_it_loads_from_below_that_path() {
    let app =
        App::builder(Engine::Sqlite).env("MAILWRIGHT_BASE_URL", "https://example.com/mail").start().await;
    let page = opened(&app, "/app/segments").await.text();
    assert!(page.contains("content=\"/mail\""), "{page}");
    let files = loaded(&page);
    assert!(files.iter().all(|file| file.starts_with("/mail/app/")), "{files:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn its_files_are_not_counted_as_requests_without_a_key() {
    let app = App::builder(Engine::Sqlite)
        .env("MAILWRIGHT_RATE_LIMIT_PER_MINUTE", "1000")
        .env("MAILWRIGHT_KEYLESS_REQUESTS_PER_MINUTE", "5")
        .start()
        .await;
    let files = loaded(&opened(&app, "/app/").await.text());
    let script = files.iter().find(|file| file.contains("/assets/")).expect("a script");
    for _ in 0..20 {
        app.request("GET", script).send().await.assert_status(200);
    }
}
