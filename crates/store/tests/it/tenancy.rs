//! Every statement on a tenant table names a project: nothing joins across projects, and no query can forget whose data
//! it is about.

#![expect(clippy::unwrap_used, reason = "what cannot go wrong in a test may panic")]

use std::fs;
use std::path::{Path, PathBuf};

use mailwright_core::time::Timestamp;
use mailwright_store::body;
use mailwright_store::database::migrate;
use mailwright_store::database::tenant::{Retirement, TABLES};
use mailwright_store::{Db, Location, Result, Row, StoreMetrics};

/// The tables that are the instance's, or a person's: they hold nothing of a project but its number.
const GLOBAL_TABLES: [&str; 42] = [
    "allowed_domains",
    "backup_marks",
    "database_sizes",
    "deletions",
    "delivery_sites",
    "epochs",
    "events_by_day",
    "identities",
    "instance_rate",
    "instance_suppressions",
    "intervention_projects",
    "interventions",
    "login_attempts",
    "login_clients",
    "meter_batches",
    "next_hops",
    "payment_customers",
    "payment_ends",
    "payment_events",
    "payment_invoices",
    "projects",
    "proofs",
    "provider_mails",
    "published_domains",
    "published_networks",
    "recovery_codes",
    "reset_requests",
    "retention_clock",
    "schema_migrations",
    "secret_check",
    "ses_identities",
    "sessions",
    "tls_policies",
    "tls_report_policies",
    "tls_report_posts",
    "tls_report_sessions",
    "tls_reports",
    "totp",
    "unknown_bounces",
    // objects in a store of files, which are removed after their project is gone
    "upload_removals",
    "users",
    "warm_ups",
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

/// The tables whose rows are found by their project alone: every key and every index of them begins with it.
fn keyed_by_project() -> impl Iterator<Item = &'static str> {
    TABLES.iter().filter_map(|(table, retirement)| match retirement {
        Retirement::Purged(_) | Retirement::Moved(_) | Retirement::WithObjects(_) => Some(*table),
        Retirement::Following | Retirement::Cascading => None,
    })
}

fn tenant_table(statement: &str) -> Option<&'static str> {
    let words: Vec<&str> = statement.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').collect();
    let after =
        |pair: &[&str]| matches!(pair[0], "from" | "into" | "update" | "join").then_some(pair[1].to_owned());
    words.windows(2).filter_map(after).find_map(|name| keyed_by_project().find(|table| *table == name))
}

/// A row of a query with one column.
fn text(row: &Row<'_>) -> Result<String> {
    row.get(0)
}

/// What a query finds in a database that all migrations were applied to.
async fn of_migrated(query: &'static str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let location = Location::Sqlite(folder.path().join("test.sqlite"));
    let db = Db::open(&location, StoreMetrics::default()).unwrap();
    migrate::migrate(&db, Timestamp(0)).await.unwrap();
    db.read(body!(async |rx| rx.all(query, &[], text).await)).await.unwrap()
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

#[tokio::test]
async fn every_table_of_projects_rows_is_known() {
    let found = of_migrated(
        "select distinct t.name from sqlite_master t join pragma_table_info(t.name) c \
         where t.type = 'table' and c.name = 'project_id' order by t.name",
    );
    let mut known: Vec<&str> = TABLES.iter().map(|(table, _)| *table).collect();
    known.sort_unstable();
    assert_eq!(
        found.await,
        known,
        "what becomes of a table's rows with their project is said in tenant::TABLES"
    );
}

#[tokio::test]
async fn tables_that_are_no_projects_hold_nothing_of_one() {
    let found = of_migrated(
        "select t.name from sqlite_master t where t.type = 'table' and t.name not like 'sqlite%' \
         and not exists (select 1 from pragma_table_info(t.name) c where c.name = 'project_id') order by t.name",
    );
    assert_eq!(found.await, GLOBAL_TABLES, "a table without a project is one of the instance's");
}

#[tokio::test]
async fn keys_and_indexes_begin_with_the_project() {
    let of_others = of_migrated(
        "select distinct t.name || ': ' || i.name from sqlite_master t join pragma_index_list(t.name) i \
         join pragma_index_info(i.name) c on c.seqno = 0 \
         where t.type = 'table' and c.name is not 'project_id' order by 1",
    )
    .await;
    for index in of_others {
        let table = index.split(':').next().unwrap();
        assert!(keyed_by_project().all(|keyed| keyed != table), "{index} does not begin with the project");
    }
    let without_key = of_migrated(
        "select t.name from sqlite_master t where t.type = 'table' and not exists \
         (select 1 from pragma_index_list(t.name) i where i.\"unique\") \
         and not exists (select 1 from pragma_table_info(t.name) c where c.name = 'project_id' and c.pk = 1)",
    )
    .await;
    for table in keyed_by_project() {
        assert!(
            !without_key.iter().any(|other| other == table),
            "{table} has no key that begins with the project"
        );
    }
}
