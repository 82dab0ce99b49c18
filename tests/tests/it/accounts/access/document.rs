//! The table has what the API document has, and the document every route.

use std::collections::BTreeSet;

use mailwright_testkit::{App, Engine, one_engine};
use mailwright_tests::{members, shown};

use super::table::TABLE;

/// The source files below a folder that add routes past the document.
fn routed(folder: &std::path::Path, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).expect("the sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            routed(&path, found);
            continue;
        }
        let source = std::fs::read_to_string(&path).expect("a source file");
        let shipped = source.split("#[cfg(test)]").next().unwrap_or_default();
        if [".route(", ".route_service(", ".nest(", ".nest_service("]
            .iter()
            .any(|call| shipped.contains(call))
        {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let folder = folder.file_name().unwrap_or_default().to_string_lossy();
            found.insert(if name == "mod.rs" { format!("{folder}/{name}") } else { name });
        }
    }
}

one_engine! {
    async fn the_table_has_every_endpoint_once(engine: Engine) {
        let app = App::start(engine).await;
        let document = app.request("GET", "/openapi.json").send().await.assert_status(200).json();
        let mut documented = BTreeSet::new();
        for (path, item) in members(&document["paths"]) {
            for method in members(item).keys().filter(|key| ["get", "post", "put", "patch", "delete"].contains(&key.as_str())) {
                documented.insert((method.clone(), path.clone()));
            }
        }
        let table: BTreeSet<_> = TABLE.iter().map(|(m, p, _)| ((*m).to_owned(), (*p).to_owned())).collect();
        assert_eq!(table.len(), TABLE.len(), "an entry twice");
        let missing: Vec<_> = documented.difference(&table).collect();
        assert!(missing.is_empty(), "say in the table who may call {missing:?}");
        let gone: Vec<_> = table.difference(&documented).collect();
        assert!(gone.is_empty(), "no such endpoints: {gone:?}");
    }

    async fn the_document_has_every_route(engine: Engine) {
        // what is added past the document serves pages and the document itself, and holds nothing of a project
        let mut found = BTreeSet::new();
        let sources = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/api/src");
        routed(&sources, &mut found);
        // it adds what its lists have, from which the document is made
        assert!(found.remove("routes.rs"));
        let lists = std::fs::read_to_string(sources.join("routes.rs")).expect("the routes");
        assert_eq!(lists.matches(".route(").count(), 1);
        assert_eq!(found, BTreeSet::from(["docs.rs", "people.rs", "reference/mod.rs"].map(str::to_owned)));
        // and these are open to whoever asks
        let app = App::start(engine).await;
        for path in ["/", "/app/", "/app/auth/login", "/docs", "/docs/reference.js", "/inbox", "/openapi.json"] {
            let answer = app.request("GET", path).header("accept", "text/html").send().await;
            assert!(answer.status < 400, "{path}: {}", shown(&answer));
        }
    }
}
