//! What ARCHITECTURE.md says of the whole program, held against its source.
//!
//! Each rule names the files that may do what no other does. Whoever adds one says why beside it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Where the engines are told apart: what they are asked differs by more than a fragment of `dialect/`.
const ENGINES: [(&str, &str); 23] = [
    ("store/src/database/db.rs", "it opens them"),
    ("store/src/database/tx/read.rs", "it speaks to them"),
    ("store/src/database/migrate/mod.rs", "PostgreSQL migrates beside other processes"),
    ("store/src/database/coalesce/task.rs", "PostgreSQL has more than one writer"),
    ("store/src/database/coalesce/answer.rs", "SQLite's writer counts its own groups"),
    ("store/src/database/clock.rs", "PostgreSQL has a clock of its own"),
    ("store/src/database/cluster.rs", "SQLite is no cluster"),
    ("store/src/audience/columns/start.rs", "SQLite's one writer leaves no earlier transaction"),
    ("store/src/audience/search/mod.rs", "substrings are found by another kind of index"),
    ("store/src/audience/search/index.rs", "the same"),
    ("app/src/audience/search_index.rs", "PostgreSQL keeps its indexes itself"),
    ("store/src/audience/contact_field.rs", "a key of JSON is a path on SQLite"),
    ("store/src/audience/event_index.rs", "SQLite has no lateral joins"),
    ("store/src/audience/event_data.rs", "the planners need other hints"),
    ("store/src/audience/filter/mod.rs", "the planners need other hints"),
    ("store/src/audience/filter/lists.rs", "the planners need other hints"),
    ("store/src/sending/campaign/audience.rs", "it passes on to filters which engine it is"),
    ("store/src/audience/segment/member.rs", "it passes on to filters which engine it is"),
    ("store/src/insight/counter.rs", "SQLite has no lateral joins"),
    ("store/src/background/retention/growth.rs", "each tells what its tables weigh in its own way"),
    (
        "app/src/delivery/direct/pacer.rs",
        "what an earlier process had is nobody's where there is one at a time",
    ),
    ("app/src/background/clock.rs", "only a shared database has another clock"),
    (
        "app/src/audience/segment/refresher/windows.rs",
        "only a shared database has transactions of others under way",
    ),
];

/// Who starts tasks and threads. Everybody else uses `app::tasks`, which waits for what it started when the service stops.
const TASKS: [(&str, &str); 26] = [
    ("app/src/background/tasks.rs", "it starts those of all others"),
    ("app/src/delivery/render_pool.rs", "threads of low priority"),
    ("store/src/database/coalesce/task.rs", "ends with its queue"),
    ("store/src/database/postgres/mod.rs", "looks at the server once"),
    ("store/src/database/postgres/connection.rs", "ends connections"),
    ("store/src/database/postgres/workers/reach.rs", "ends with the database"),
    ("store/src/database/postgres/apart.rs", "ends a connection"),
    ("store/src/database/sqlite/thread.rs", "threads of the engine"),
    ("store/src/database/sqlite/copies/handle.rs", "the same, for what copies read and write"),
    ("store/src/audience/email_search_cache.rs", "reads for whoever asks next"),
    ("store/src/audience/columns/projects.rs", "the same"),
    ("store/src/audience/columns/mod.rs", "judging a million contacts takes milliseconds"),
    ("store/src/audience/columns/save.rs", "the same; writing down what a part has"),
    ("store/src/audience/columns/start.rs", "the same; reading it"),
    ("server/src/http/mod.rs", "connections, which drain at the end"),
    ("server/src/import.rs", "reads a file of any size"),
    ("api/src/body/bodies.rs", "parses large bodies on a thread of its own"),
    ("app/src/feedback/dmarc/taking.rs", "reading a large report takes a thread of its own"),
    ("app/src/feedback/machine_lists.rs", "reading long lists takes a thread of its own"),
    ("app/src/audience/verification/lists.rs", "reading long lists takes a thread of its own"),
    ("app/src/audience/import/preview.rs", "reading a whole file takes a thread of its own"),
    ("app/src/account/password.rs", "hashing takes a thread of its own"),
    ("app/src/sending/upload/mod.rs", "reading pictures takes a thread of its own"),
    ("app/src/sending/source.rs", "rendering what somebody edits takes a thread of its own"),
    ("app/src/sending/key_pool.rs", "making keys takes a thread of its own"),
    ("app/src/http_client/hosts.rs", "connections, which end with their pool"),
];

/// Who opens connections to elsewhere. Whoever adds one says why what a user gave cannot lead it into the operator's
/// network.
const CONNECTIONS: [(&str, &str); 14] = [
    ("app/src/http_client/network.rs", "HTTP, to addresses that the connector has checked"),
    ("app/src/http_client/connector.rs", "carries these connections"),
    ("app/src/http_client/hosts.rs", "keeps them"),
    ("app/src/http_client/exchange.rs", "uses them"),
    ("mail/src/smtp/open.rs", "the mail server, which the operator configured"),
    ("mail/src/dns.rs", "the name server, which the operator configured"),
    ("mail/src/dns/proven.rs", "the same, asked what DNSSEC proves"),
    ("mail/src/spamd.rs", "the filter of spam, which the operator configured"),
    ("store/src/database/postgres/mod.rs", "the database, which the operator configured"),
    ("store/src/database/postgres/connection.rs", "the same"),
    ("store/src/database/postgres/apart.rs", "the same"),
    ("store/src/database/postgres/workers/reach.rs", "the servers of its cluster"),
    ("server/src/doctor/feedback.rs", "asks the operator's own listener for its greeting"),
    ("server/src/moved_clock.rs", "answers tests at a socket; released programs do not have it"),
];

/// Where tests wait by the clock of the machine: how often, and why no condition can be waited for, and no clock moved
/// (`App::advance`). Nothing is asserted to have stayed away after such a wait.
const SLEEPS: [(&str, usize, &str); 16] = [
    ("tests/it/bulk/jobs.rs", 1, "a kill at a random moment"),
    ("tests/it/edge/bodies.rs", 2, "a client that sends slowly"),
    ("tests/it/edge/connections.rs", 1, "a client that reads slowly"),
    ("tests/it/program/process.rs", 1, "looks at a process again and again"),
    ("tests/hard/activity_stream.rs", 4, "kills at random moments, clients that pause"),
    ("tests/hard/campaign_crash.rs", 4, "kills at random moments"),
    ("tests/hard/divided/addresses.rs", 1, "a client that tries again"),
    ("tests/hard/divided/away.rs", 1, "a server is away for a while"),
    ("tests/hard/divided/moved.rs", 1, "moves that follow each other"),
    ("tests/hard/divided/sending.rs", 1, "clients that pause"),
    ("tests/hard/crash.rs", 7, "kills at random moments, callers that pause"),
    ("tests/hard/faults/database.rs", 2, "faults at random moments"),
    ("tests/hard/feedback_crash/mod.rs", 4, "kills at random moments, looks at everything again"),
    ("tests/hard/feedback_crash/senders.rs", 4, "senders that pause, looks at what was received"),
    ("tests/hard/real_sites.rs", 1, "moves the clock in small steps, while real servers have theirs"),
    ("tests/hard/workflow_crash/mod.rs", 8, "kills at random moments, callers that pause"),
];

/// A source file: its path below `crates`, and its text without tests and comments.
pub(crate) struct Source {
    pub(crate) path: String,
    pub(crate) code: String,
}

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates")
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// Every file of Rust in the repository.
pub(crate) fn every_file() -> Vec<PathBuf> {
    let is_rust = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "rs");
    let root = crates();
    let folders = [root.join("../tests/src"), root.join("../tests/tests"), root.join("../bench/src"), root];
    folders.iter().flat_map(|folder| files(folder)).filter(is_rust).collect()
}

/// What is compiled into the program of these crates.
pub(crate) fn sources(of: &[&str]) -> Vec<Source> {
    let root = crates();
    let mut found = Vec::new();
    for path in of.iter().flat_map(|name| files(&root.join(name).join("src"))) {
        let name = path.strip_prefix(&root).expect("below it").to_string_lossy().replace('\\', "/");
        let is_test = name.ends_with("tests.rs") || name.contains("/tests/");
        if is_test || path.extension().is_none_or(|extension| extension != "rs") {
            continue;
        }
        let text = fs::read_to_string(&path).expect("UTF-8");
        let tests = ["#[cfg(test)]\nmod tests {", "#[cfg(test)]\npub(crate) mod tests {"];
        let text = tests.iter().fold(&*text, |text, tests| text.split(tests).next().unwrap_or_default());
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>();
        found.push(Source { path: name, code: code.join("\n") });
    }
    assert!(!found.is_empty(), "no files of {of:?} were found");
    found
}

pub(crate) const ALL: [&str; 7] = ["core", "tls", "mail", "store", "app", "api", "server"];

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
fn sql_is_written_in_the_store_only() {
    for source in sources(&["core", "tls", "mail", "app", "api", "server"]) {
        // which pieces are literals is not certain, because a character can be a quotation mark: all are looked at
        for literal in source.code.split('"').skip(1) {
            assert!(!is_sql(literal), "{}: {literal}", source.path);
        }
    }
}

#[test]
fn engines_are_told_apart_where_they_must_be() {
    only_in(&ENGINES, &["core", "mail", "store", "app", "api"], &["is_postgres(", "db.is_shared("]);
}

#[test]
fn connections_are_opened_where_they_are_guarded() {
    let words = [
        "TcpStream::connect",
        "TcpSocket",
        "UdpSocket",
        "UnixStream",
        "lookup_host",
        "to_socket_addrs",
        "ToSocketAddrs",
        "TokioResolver",
        "UdpClientStream",
        "TcpClientStream",
        "TlsConnector",
        "hyper::client",
        "client::legacy",
        "tokio_postgres::Config",
        "MakeRustlsConnect",
        "NoTls",
    ];
    only_in(&CONNECTIONS, &ALL, &words);
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
        "TokioExecutor",
    ];
    only_in(&TASKS, &ALL, &words);
}

#[test]
fn the_core_draws_no_random_numbers_and_asks_no_clock() {
    let clock = ("core/src/time.rs", "it is the clock that everybody is given");
    only_in(&[clock], &["core"], &["rand::random", "use rand", "Instant::now", "SystemTime::now"]);
}

#[test]
fn tests_sleep_where_they_must_alone() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    for path in files(&root.join("tests")).into_iter().chain(files(&root.join("src"))) {
        let name = path.strip_prefix(root).expect("below it").to_string_lossy().replace('\\', "/");
        // cut in two, so that this file does not find itself
        let count = fs::read_to_string(&path).expect("UTF-8").matches(concat!("::sle", "ep(")).count();
        if count > 0 {
            found.push((name, count));
        }
    }
    found.sort();
    let mut listed: Vec<_> = SLEEPS.iter().map(|(path, count, _)| ((*path).to_owned(), *count)).collect();
    listed.sort();
    assert_eq!(found, listed, "move the clock with `App::advance`, or wait for a condition");
}

/// What moves the clock for tests is compiled with debug assertions alone, which released programs do not have.
#[test]
fn nothing_moves_the_clock_of_a_released_program() {
    let read = |path: &str| fs::read_to_string(crates().join(path)).expect("UTF-8");
    for (path, item) in [
        ("core/src/time.rs", "    pub fn move_to("),
        ("app/src/background/mod.rs", "mod due;\n#[cfg(not("),
        ("app/src/background/tasks.rs", "    pub fn move_clock("),
        ("server/src/main.rs", "mod moved_clock;"),
    ] {
        let text = read(path);
        let item = text.find(item).unwrap_or_else(|| panic!("{path} has no {item}"));
        assert!(text[..item].trim_end().ends_with("#[cfg(debug_assertions)]"), "{path}");
    }
    for source in sources(&ALL) {
        let may = ["core/src/time.rs", "app/src/background/due.rs", "server/src/moved_clock.rs"];
        assert!(!source.code.contains(".move_to(") || may.contains(&source.path.as_str()), "{}", source.path);
    }
    assert!(!read("../Cargo.toml").contains("debug-assertions"), "the profiles keep what cargo gives them");
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

/// In the API document a schema has the name of its type: of two types with one name, one would be described as the other.
#[test]
fn no_two_types_have_one_name_in_the_api_document() {
    let mut named: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for source in sources(&ALL) {
        let (mut is_schema, mut alias) = (false, None);
        for line in source.code.lines().map(str::trim) {
            is_schema |= (line.starts_with("#[derive(") && line.contains("ToSchema"))
                || line.contains("names_in_json! {");
            if let Some((_, rest)) = line.split_once("schema(as = ") {
                alias = rest.split([',', ')']).next().map(str::to_owned);
            }
            let mut words = line.split_whitespace().skip_while(|word| word.starts_with("pub"));
            if matches!(words.next(), Some("struct" | "enum")) {
                let own =
                    words.next().unwrap_or_default().split(['<', '(', ';', '{']).next().unwrap_or_default();
                let name = alias.take().unwrap_or_else(|| own.to_owned());
                if std::mem::take(&mut is_schema) {
                    named.entry(name).or_default().push(source.path.clone());
                }
            }
        }
    }
    assert!(named.len() > 200, "types were not found: {named:?}");
    named.retain(|_, paths| paths.len() > 1);
    assert!(named.is_empty(), "rename one of each: {named:#?}");
}
