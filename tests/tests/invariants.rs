//! What ARCHITECTURE.md says of the whole program, held against its source.
//!
//! Each rule names the files that may do what no other does. Whoever adds one says why beside it.

use std::fs;
use std::path::{Path, PathBuf};

/// Where the engines are told apart: what they are asked differs by more than a fragment of `dialect.rs`.
const ENGINES: [(&str, &str); 13] = [
    ("store/src/database/db.rs", "it opens them"),
    ("store/src/database/tx.rs", "it speaks to them"),
    ("store/src/database/migrate.rs", "PostgreSQL migrates beside other processes"),
    ("store/src/database/coalesce.rs", "PostgreSQL has more than one writer"),
    ("store/src/database/clock.rs", "PostgreSQL has a clock of its own"),
    ("store/src/audience/search.rs", "substrings are found by another kind of index"),
    ("store/src/audience/contact_field.rs", "a key of JSON is a path on SQLite"),
    ("store/src/audience/event.rs", "the planners need other hints"),
    ("store/src/audience/filter/mod.rs", "the planners need other hints"),
    ("store/src/sending/campaign/audience.rs", "it passes on to filters which engine it is"),
    ("store/src/audience/segment/member.rs", "it passes on to filters which engine it is"),
    ("app/src/background/clock.rs", "only a shared database has another clock"),
    ("app/src/audience/segment/refresher.rs", "only a shared database has transactions of others under way"),
];

/// Who starts tasks and threads. Everybody else uses `app::tasks`, which waits for what it started when the service stops.
const TASKS: [(&str, &str); 12] = [
    ("app/src/background/tasks.rs", "it starts those of all others"),
    ("app/src/delivery/render_pool.rs", "threads of low priority"),
    ("store/src/database/coalesce.rs", "ends with its queue"),
    ("store/src/database/postgres/mod.rs", "connections, and what ends them"),
    ("store/src/database/postgres/apart.rs", "ends a connection"),
    ("store/src/database/sqlite/mod.rs", "threads of the engine"),
    ("store/src/audience/email_search_cache.rs", "reads for whoever asks next"),
    ("server/src/http/mod.rs", "connections, which drain at the end"),
    ("server/src/import.rs", "reads a file of any size"),
    ("api/src/body.rs", "parses large bodies on a thread of its own"),
    ("app/src/account/password.rs", "hashing takes a thread of its own"),
    ("app/src/sending/key_pool.rs", "making keys takes a thread of its own"),
];

/// A source file: its path below `crates`, and its text without tests and comments.
struct Source {
    path: String,
    code: String,
}

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates")
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// What is compiled into the program of these crates.
fn sources(of: &[&str]) -> Vec<Source> {
    let root = crates();
    let mut found = Vec::new();
    for path in of.iter().flat_map(|name| files(&root.join(name).join("src"))) {
        let name = path.strip_prefix(&root).expect("below it").to_string_lossy().replace('\\', "/");
        let is_test = name.ends_with("tests.rs") || name.contains("/tests/");
        if is_test || path.extension().is_none_or(|extension| extension != "rs") {
            continue;
        }
        let text = fs::read_to_string(&path).expect("UTF-8");
        let tests = ["#[cfg(test)]\nmod tests", "#[cfg(test)]\npub(crate) mod tests"];
        let text = tests.iter().fold(&*text, |text, tests| text.split(tests).next().unwrap_or_default());
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>();
        found.push(Source { path: name, code: code.join("\n") });
    }
    assert!(found.len() > 5, "only {} files of {of:?} were found", found.len());
    found
}

const ALL: [&str; 6] = ["core", "mail", "store", "app", "api", "server"];

/// Every file that has one of the words is allowed to, and every file that is allowed to has one.
fn only_in(allowed: &[(&str, &str)], crates: &[&str], words: &[&str]) {
    let found: Vec<_> = sources(crates)
        .into_iter()
        .filter(|source| words.iter().any(|word| source.code.contains(word)))
        .map(|source| source.path)
        .collect();
    for path in &found {
        assert!(allowed.iter().any(|(known, _)| known == path), "{path} has one of {words:?}");
    }
    for (known, _) in allowed {
        assert!(
            found.iter().any(|path| path == known),
            "{known} has none of {words:?}: take it off the list"
        );
    }
}

/// Whether a text between quotation marks looks like a statement.
fn is_sql(literal: &str) -> bool {
    let words: Vec<_> = literal.split_whitespace().take(3).map(str::to_lowercase).collect();
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    matches!(
        words[..],
        ["insert", "into", _]
            | ["delete", "from", _]
            | ["update", _, "set"]
            | ["create" | "alter" | "drop", "table" | "index", _]
            | ["pragma", ..]
    ) || words.first() == Some(&"select") && literal.to_lowercase().contains(" from ")
}

#[test]
fn sql_is_spoken_in_the_store_alone() {
    for source in sources(&["core", "mail", "app", "api", "server"]) {
        // every second piece stands between quotation marks, but for escaped ones, which statements do not have
        for literal in source.code.split('"').skip(1).step_by(1) {
            assert!(!is_sql(literal), "{}: {literal}", source.path);
        }
    }
}

#[test]
fn engines_are_told_apart_where_they_must_be() {
    only_in(&ENGINES, &["core", "mail", "store", "app", "api"], &["is_postgres(", "db.is_shared("]);
}

#[test]
fn tasks_and_threads_are_started_where_they_are_waited_for() {
    let words = [
        "tokio::spawn",
        "thread::spawn",
        "thread::Builder",
        "runtime.spawn",
        "spawn_blocking",
        "connections.spawn",
        "tracker.spawn",
    ];
    only_in(&TASKS, &ALL, &words);
}

#[test]
fn the_core_draws_no_random_numbers_and_asks_no_clock() {
    let clock = ("core/src/time.rs", "it is the clock that everybody is given");
    only_in(&[clock], &["core"], &["rand::random", "use rand", "Instant::now", "SystemTime::now"]);
}

#[test]
fn the_rules_see_what_breaks_them() {
    assert!(
        is_sql("select 1 from contacts")
            && is_sql("update t set a = 1")
            && is_sql("INSERT INTO t values (1)")
    );
    assert!(!is_sql("Select one of the templates") && !is_sql("update your settings") && !is_sql("delete"));
}
