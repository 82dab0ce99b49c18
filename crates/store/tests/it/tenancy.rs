//! Every statement on a tenant table names a project: nothing joins across projects, and no query can forget whose data
//! it is about.

#![expect(clippy::unwrap_used, reason = "what cannot go wrong in a test may panic")]

mod shards;
mod statement;

use std::fs;
use std::path::{Path, PathBuf};

use mailwright_core::time::Timestamp;
use mailwright_store::body;
use mailwright_store::database::migrate;
use mailwright_store::database::tenant::{TABLES, found_by_project};
use mailwright_store::{Db, Location, Result, Row, StoreMetrics};

use self::statement::Statement;

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

/// It finds the projects that have work.
const SWEEP: &str = "finds the projects that have work";
/// It is a statement of the embedded database, whose rows are in one place.
const SQLITE: &str = "of the embedded database alone";
/// The rest of the statement names the project.
const PART: &str = "a part of a statement that is bound to a project";
/// Who asks knows no project, but an id that a visitor came with.
const BY_ID: &str = "looks up whose an id is";
/// Who asks knows no project, but a domain that mail came for.
const BY_NAME: &str = "looks up whose a domain is";
/// The projects are a set of which each statement gets few.
const SET: &str = "asks for several projects at once";
/// It is asked at the start, by a command, or for the metrics.
const START: &str = "for the whole instance, rarely";

/// Statements on tables of projects that are bound to no project, and why: file, how the text begins, reason. They ask
/// every shard where the tables are divided by project, so none of them may be part of what a request or a mail does.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    ("audience/confirmation.rs", "with recursive waiting", SWEEP),
    ("audience/confirmation.rs", "select distinct project_id from", SWEEP),
    ("audience/contact/record.rs", "select p.number from projects p join contacts c", BY_ID),
    ("audience/contact/record.rs", "select project_id from contacts where id", BY_ID),
    ("audience/filter/mod.rs", "select seq, project_id from contacts", SQLITE),
    ("audience/search/index.rs", "create trigger if not exists contact_search_place", SQLITE),
    ("audience/search/index.rs", "select i.filled_to, (select max(seq)", SQLITE),
    ("audience/search/index.rs", "select project_id from search_indexes", SWEEP),
    ("audience/search/index.rs", "select (select count(*) from (select 1 from contacts", SQLITE),
    ("audience/segment/mod.rs", "select u.project_id from segment_upkeep u", SWEEP),
    ("audience/segment/mod.rs", "select distinct project_id from segment_removals", SWEEP),
    ("audience/segment/refresher.rs", "select project_id from segment_upkeep", SWEEP),
    ("audience/segment/refresher.rs", "select u.project_id from segment_upkeep u", SWEEP),
    ("audience/touched.rs", "select cast($2 as {int}), project_id from segment_upkeep", SET),
    ("automation/due.rs", "with recursive waiting", SWEEP),
    ("automation/due.rs", "with recursive told", SWEEP),
    ("automation/due.rs", "select distinct project_id from", SWEEP),
    ("automation/request.rs", "with recursive waiting", SWEEP),
    ("automation/request.rs", "select distinct project_id from", SWEEP),
    ("automation/workflow.rs", "with recursive planned", SWEEP),
    ("automation/workflow.rs", "select distinct project_id from", SWEEP),
    ("background/job.rs", "select p.number from projects p", SWEEP),
    ("background/job.rs", "select distinct project_id from", SWEEP),
    ("database/sealed.rs", "select private_key from domains", START),
    ("database/sealed.rs", "select project_id, id, name, private_key from domains", START),
    ("feedback/dmarc/taking.rs", "select d.project_id from domain_names n", BY_NAME),
    ("feedback/hit.rs", "with recursive waiting", SWEEP),
    ("feedback/hit.rs", "select distinct project_id from", SWEEP),
    ("feedback/origin.rs", "select 1 from domain_names n join domains d", BY_NAME),
    ("feedback/receipt.rs", "with recursive waiting", SWEEP),
    ("feedback/receipt.rs", "select distinct project_id from", SWEEP),
    ("sending/campaign/audience.rs", "segment_members m join contacts c", PART),
    ("sending/campaign/audience.rs", "join topic_choices t", PART),
    ("sending/campaign/audience.rs", "not exists (select 1 from suppressions s", PART),
    ("sending/campaign/audience.rs", "{} join suppressions s", PART),
    ("sending/campaign/audience.rs", "and {not}exists (select 1 from topic_choices t", PART),
    ("sending/campaign/queue.rs", "with recursive under_way", SWEEP),
    ("sending/campaign/queue.rs", "select distinct e.project_id from", SWEEP),
    ("sending/campaign/run/due.rs", "with recursive under_way", SWEEP),
    ("sending/campaign/run/due.rs", "select project_id from campaigns where next_at", SWEEP),
    ("sending/domain.rs", "select {COLUMNS} from domains where vouched", START),
    ("sending/domain.rs", "select 1 from domain_names n join domains d", BY_NAME),
    ("sending/domain.rs", "select project_id from domains where check_at", SWEEP),
    ("sending/domain_claim.rs", "select d.name from projects p join domains d", SWEEP),
    ("sending/domain_identity.rs", "select count(*) from domain_identities", START),
    ("sending/email/due.rs", "with recursive waiting", SWEEP),
    ("sending/email/due.rs", "select distinct project_id from", SWEEP),
    ("sending/held/list.rs", "select count(*) from (select 1 from held_emails", START),
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

/// The string literals of the program, each with the file that it stands in.
fn literals_of_sources() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    for path in sources(&folder) {
        let file = path.strip_prefix(&folder).unwrap().to_str().unwrap().to_owned();
        if !file.ends_with("tests.rs") {
            let literals = literals(&fs::read_to_string(&path).unwrap());
            found.extend(literals.into_iter().map(|literal| (file.clone(), literal)));
        }
    }
    found
}

#[test]
fn every_tenant_table_of_a_statement_is_bound_to_one_project() {
    let (mut statements, mut excused) = (0, Vec::new());
    for (file, literal) in literals_of_sources() {
        let statement = Statement::of(&literal);
        if statement.tables.is_empty() {
            continue;
        }
        statements += 1;
        let Some(fault) = statement.fault() else { continue };
        let excuse = EXCEPTIONS.iter().position(|(of, begins, _)| *of == file && literal.starts_with(begins));
        match excuse {
            Some(place) => excused.push(place),
            None => panic!("{file}: {fault}: {literal}"),
        }
    }
    assert!(statements > 700, "only {statements} statements were found: does the search still work?");
    for (place, (file, begins, _)) in EXCEPTIONS.iter().enumerate() {
        assert!(excused.contains(&place), "{file}: no statement needs to be excused any more: {begins}");
    }
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
        assert!(found_by_project().all(|keyed| keyed != table), "{index} does not begin with the project");
    }
    let without_key = of_migrated(
        "select t.name from sqlite_master t where t.type = 'table' and not exists \
         (select 1 from pragma_index_list(t.name) i where i.\"unique\") \
         and not exists (select 1 from pragma_table_info(t.name) c where c.name = 'project_id' and c.pk = 1)",
    )
    .await;
    for table in found_by_project() {
        assert!(
            !without_key.iter().any(|other| other == table),
            "{table} has no key that begins with the project"
        );
    }
}
