//! The reference page: what is in it, what it loads, how it is served.

use mailwright_testkit::{App, Engine};
use mailwright_tests::{header, members, required_header, shown, text};

use super::reference;

/// Methods in the document.
const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_operation_is_there_with_an_example_in_each_language() {
    let app = App::start(Engine::Sqlite).await;
    let document = app.request("GET", "/openapi.json").send().await.assert_status(200).json();
    let (page, mut operations) = reference(&app).await;
    let page = page.text();
    for (path, item) in members(&document["paths"]) {
        for (method, operation) in members(item).iter().filter(|(key, _)| METHODS.contains(&key.as_str())) {
            let id = text(&operation["operationId"]);
            let shown = operations.remove(id).unwrap_or_else(|| panic!("{id} is not there"));
            assert_eq!((shown.method.to_lowercase(), &shown.path), (method.clone(), path), "{id}");
            let languages: Vec<&str> = shown.examples.keys().map(String::as_str).collect();
            assert_eq!(languages, ["curl", "javascript", "python", "rust"], "{id}");
            let before = path.split('{').next().unwrap_or_default();
            for (language, example) in &shown.examples {
                let url = format!("{}{before}", app.base_url());
                assert!(example.contains(&url), "{id} in {language}: {example}");
            }
            assert_eq!(page.matches(&format!(" id=\"{id}\"")).count(), 1, "one anchor {id}");
            assert!(page.contains(&format!("href=\"#{id}\"")), "{id} is in the contents");
        }
    }
    assert!(operations.is_empty(), "not in the document: {:?}", operations.keys());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_groups_are_in_the_order_of_the_contract() {
    let app = App::start(Engine::Sqlite).await;
    let (page, _) = reference(&app).await;
    let page = page.text();
    let at = |id: &str| page.find(&format!(" id=\"{id}\"")).unwrap_or_else(|| panic!("no {id}"));
    let order = [
        "base-url",
        "authentication",
        "errors",
        "pagination",
        "idempotency",
        "rate-limits",
        "versioning",
        "send",
        "track",
        "listContacts",
        "upsertContact",
        "getContact",
        "updateContact",
        "deleteContact",
        "lookupContacts",
        "listTemplates",
        "listCampaigns",
        "listSegments",
        "trackEvent",
        "listDomains",
        "getConfig",
        "logIn",
        "signUp",
        "getMe",
        "listProjects",
        "listMembers",
    ];
    assert!(order.is_sorted_by_key(|id| at(id)), "{:?}", order.map(at));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_loads_its_own_style_and_script_and_nothing_else() {
    let app = App::start(Engine::Sqlite).await;
    let (page, _) = reference(&app).await;
    let policy = required_header(&page, "content-security-policy");
    assert!(
        policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'"),
        "{policy}"
    );
    assert!(!policy.contains("unsafe") && !policy.contains("http"), "{policy}");
    let html = page.text();
    let mut loaded = Vec::new();
    for tag in html.split('<').filter_map(|rest| rest.split('>').next()) {
        let name = tag.split([' ', '/']).next().unwrap_or_default();
        assert!(
            !["style", "img", "iframe", "object", "embed", "base", "form", "video"].contains(&name),
            "<{tag}>"
        );
        // without the values
        let names: String = tag.split('"').step_by(2).collect();
        assert!(!names.contains(" style=") && !names.contains(" on"), "<{tag}>");
        for part in [" src=\"", " href=\""] {
            let Some((_, rest)) = tag.split_once(part) else { continue };
            let address = rest.split('"').next().unwrap_or_default();
            assert!(!address.contains(':') && !address.starts_with('/'), "<{tag}>");
            if name != "a" {
                loaded.push(address.to_owned());
            }
        }
    }
    assert_eq!(loaded, ["docs/reference.css", "docs/reference.js"]);
    assert_eq!(html.matches("<script").count(), 1);
    assert!(html.contains("<script src=\"docs/reference.js\" defer></script>"), "it has nothing inline");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_is_small_on_the_way_and_kept_by_who_has_it() {
    let app = App::start(Engine::Sqlite).await;
    for (path, kind, most) in [
        ("/docs", "text/html", 200_000),
        ("/docs/reference.css", "text/css", 10_000),
        ("/docs/reference.js", "text/javascript", 10_000),
    ] {
        let plain = app.request("GET", path).send().await.assert_status(200);
        assert!(required_header(&plain, "content-type").starts_with(kind), "{}", shown(&plain));
        assert_eq!(header(&plain, "content-encoding"), None);
        assert_eq!(required_header(&plain, "vary"), "Accept-Encoding");
        assert_eq!(required_header(&plain, "cache-control"), "no-cache");
        let small = app.request("GET", path).header("accept-encoding", "gzip").send().await;
        assert_eq!(required_header(&small, "content-encoding"), "gzip");
        assert!(small.body.len() < most, "{path}: {} bytes", small.body.len());
        let tag = required_header(&plain, "etag");
        assert_eq!(required_header(&small, "etag"), tag);
        let known = app.request("GET", path).header("if-none-match", tag).send().await.assert_status(304);
        assert!(known.body.is_empty());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_says_what_holds_on_this_instance() {
    let app = App::builder(Engine::Sqlite)
        .env("MAILWRIGHT_BASE_URL", "https://mail.example.com")
        .env("MAILWRIGHT_RATE_LIMIT_PER_MINUTE", "1234")
        .start()
        .await;
    let page = app.request("GET", "/docs").send().await.assert_status(200).text();
    for part in [
        "<code id=\"base-url-value\">https://mail.example.com</code>",
        "1,234 requests",
        "__Host-mailwright_session",
    ] {
        assert!(page.contains(part), "{part}");
    }
}
