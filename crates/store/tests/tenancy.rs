//! Every statement on a tenant table names a project: nothing joins across projects, and no query can forget whose data
//! it is about.

use std::fs;
use std::path::{Path, PathBuf};

const TENANT_TABLES: [&str; 29] = [
    "attachments",
    "audit",
    "campaigns",
    "contact_changes",
    "contact_fields",
    "contacts",
    "contents",
    "counters",
    "domains",
    "emails",
    "event_days",
    "event_names",
    "events",
    "idempotency_keys",
    "job_failures",
    "job_inputs",
    "jobs",
    "mailbox",
    "public_rate_windows",
    "rate_windows",
    "search_indexes",
    "segment_members",
    "segment_removals",
    "segment_timers",
    "segment_upkeep",
    "segments",
    "suppressions",
    "templates",
    "throttles",
];

/// Indexes on tables that are not a project's.
const GLOBAL_INDEXES: [&str; 13] = [
    "departures_user",
    "identities_user",
    "invitations_email",
    "invitations_expiry",
    "login_attempts_start",
    "login_clients_seen",
    "memberships_user",
    "projects_name",
    "projects_retired",
    "proofs_expiry",
    "proofs_user",
    "sessions_expiry",
    "sessions_user",
];

/// The string literals of a source file, roughly: escapes are kept, and a line continuation joins its lines.
fn literals(source: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut chars = source.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '/' if chars.peek() == Some(&'/') => while chars.next().is_some_and(|c| c != '\n') {},
            '\'' if matches!(chars.peek(), Some('"')) => {
                chars.next();
            }
            '"' => {
                let mut literal = String::new();
                while let Some(c) = chars.next() {
                    match c {
                        '\\' => literal.extend(chars.next().filter(|c| *c != '\n').map(|_| ' ')),
                        '"' => break,
                        c => literal.push(c),
                    }
                }
                found.push(literal.split_whitespace().collect::<Vec<_>>().join(" "));
            }
            _ => {}
        }
    }
    found
}

fn tenant_table(statement: &str) -> Option<&'static str> {
    let words: Vec<&str> = statement.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').collect();
    let after =
        |pair: &[&str]| matches!(pair[0], "from" | "into" | "update" | "join").then_some(pair[1].to_owned());
    words.windows(2).filter_map(after).find_map(|name| TENANT_TABLES.into_iter().find(|table| *table == name))
}

/// The source files of a folder and of the folders in it.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries =
        fs::read_dir(folder).expect("a folder of sources").map(|entry| entry.expect("an entry").path());
    entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] }).collect()
}

#[test]
fn statements_on_tenant_tables_name_the_project() {
    let mut statements = 0;
    for path in sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src")) {
        let source = fs::read_to_string(&path).unwrap();
        for literal in literals(&source) {
            let Some(table) = tenant_table(&literal) else { continue };
            statements += 1;
            assert!(
                literal.contains("project_id"),
                "{}: a statement on {table} names no project: {literal}",
                path.display()
            );
        }
    }
    assert!(statements > 60, "only {statements} statements were found: does the search still work?");
}

#[test]
fn tenant_tables_are_keyed_by_project() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations");
    let migrations =
        fs::read_dir(folder).unwrap().map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap());
    let schema: String = migrations.collect();
    for table in TENANT_TABLES {
        let start =
            schema.find(&format!("create table {table} (")).unwrap_or_else(|| panic!("{table} is gone"));
        let body = &schema[start..start + schema[start..].find(';').unwrap()];
        let keyed = body.contains("primary key (project_id") || body.contains("project_id {int} primary key");
        assert!(
            keyed || body.contains("unique (project_id, id)"),
            "the key of {table} begins with its project"
        );
    }
    for index in schema.split("create index ").skip(1) {
        let name = index.split_whitespace().next().unwrap();
        let columns = &index[index.find('(').unwrap()..];
        let global = GLOBAL_INDEXES.contains(&name);
        assert!(global || columns.starts_with("(project_id"), "index {name} begins with the project");
    }
}

#[test]
fn every_tenant_table_is_wiped_with_its_project() {
    let mut wiped: Vec<&str> = mailwright_store::retired::WIPED.iter().map(|(table, ..)| *table).collect();
    // moved to the project's new number, or wiped by itself
    wiped.push("audit");
    wiped.sort_unstable();
    assert_eq!(wiped, TENANT_TABLES, "a reset or deleted project leaves nothing behind");
}
