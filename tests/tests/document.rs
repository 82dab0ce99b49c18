//! The API document, judged by a program that knows nothing else of it.

use mailwright_testkit::python::assert_valid_openapi;
use mailwright_testkit::{App, Engine};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_document_is_valid() {
    let app = App::start(Engine::Sqlite).await;
    let document = app.request("GET", "/openapi.json").send().await.assert_status(200).text();
    tokio::task::spawn_blocking(move || assert_valid_openapi(&document)).await.expect("the judge");
}
