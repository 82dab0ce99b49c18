//! What changed in a database, and what may.

use std::collections::{BTreeMap, BTreeSet};

use mailwright_testkit::{Rows, Value};
use mailwright_tests::text;

/// Why something is kept of a request that is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Cause {
    /// It is noted of every request.
    Request,
    /// The request is an attempt that is counted.
    Attempt,
    /// The request uses up a code of a second factor.
    Code,
    /// The request signs somebody in before it is refused.
    SignIn,
    /// The requests of a project are limited.
    Limit,
}

/// Something that is kept on purpose.
struct Exception {
    table: &'static str,
    /// The columns; all where there are none.
    columns: &'static [&'static str],
    cause: Cause,
    why: &'static str,
}

/// Everything that is kept on purpose. The test fails when an entry is not needed.
const EXCEPTIONS: &[Exception] = &[
    Exception {
        table: "api_keys",
        columns: &["last_used_at"],
        cause: Cause::Request,
        why: "the key was used, whatever came of it",
    },
    Exception {
        table: "sessions",
        columns: &["used_at"],
        cause: Cause::Request,
        why: "the session was used, whatever came of it",
    },
    Exception {
        table: "login_attempts",
        columns: &[],
        cause: Cause::Attempt,
        why: "guessing passwords and codes, making accounts and mailing strangers is bounded by counting what is tried",
    },
    Exception {
        table: "recovery_codes",
        columns: &[],
        cause: Cause::Code,
        why: "a code is used up when it was right: otherwise it could be tried out on what is refused anyway",
    },
    Exception {
        table: "sessions",
        columns: &[],
        cause: Cause::SignIn,
        why: "who signs in on the page of an invitation is signed in, also when the project has no room",
    },
    Exception {
        table: "login_clients",
        columns: &[],
        cause: Cause::SignIn,
        why: "the account is known at the client from where its owner signed in",
    },
    Exception {
        table: "rate_windows",
        columns: &[],
        cause: Cause::Limit,
        why: "requests are counted before anybody looks at them",
    },
];

/// What changes as time passes, whatever is asked: the columns of tables.
const BY_TIME: [(&str, &str); 2] = [("segment_upkeep", "swept_to"), ("domains", "check_at")];

/// Tables that say how time passes, and how large the database is, and those into which counters are folded as it passes.
const OF_TIME: [&str; 8] = [
    "database_sizes",
    "domain_days",
    "event_block_sums",
    "event_day_sums",
    "event_hour_sums",
    "retention_clock",
    "rollup_days",
    "segment_days",
];

/// The kinds of the counters that are folded. What counts in them counts in others as well.
const FOLDED: [&str; 3] = ["domain_day", "event_hour", "quarter"];

/// Compares what a database holds with what it held, and remembers which exceptions were needed.
#[derive(Default)]
pub(crate) struct Changes(BTreeSet<usize>);

impl Changes {
    /// The rows that are gone or new, apart from what may be.
    pub(crate) fn between(&mut self, before: &Rows, after: &Rows, causes: &[Cause]) -> Vec<String> {
        let tables: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        let none = Vec::new();
        let rows = |all: &'_ Rows, table: &String| {
            let mut rows = all.get(table).unwrap_or(&none).clone();
            if table == "counters" {
                rows.retain(|row| !FOLDED.contains(&text(&parsed(row)["kind"])));
            }
            rows
        };
        let changed = tables.into_iter().map(|table| (table, rows(before, table), rows(after, table)));
        let changed =
            changed.filter(|(table, before, after)| before != after && !OF_TIME.contains(&table.as_str()));
        changed.flat_map(|(table, before, after)| self.of_table(table, &before, &after, causes)).collect()
    }

    fn of_table(
        &mut self,
        table: &str,
        before: &[String],
        after: &[String],
        causes: &[Cause],
    ) -> Vec<String> {
        let allowed = |exception: &Exception| {
            exception.table == table
                && (exception.cause == Cause::Request || causes.contains(&exception.cause))
        };
        let allowed: Vec<_> = EXCEPTIONS.iter().enumerate().filter(|(_, it)| allowed(it)).collect();
        self.0.extend(allowed.iter().map(|(at, _)| at));
        if allowed.iter().any(|(_, exception)| exception.columns.is_empty()) {
            return Vec::new();
        }
        let mut columns: Vec<&str> = allowed.iter().flat_map(|(_, it)| it.columns).copied().collect();
        columns.extend(BY_TIME.iter().filter(|(of, _)| *of == table).map(|(_, column)| *column));
        let (before, after) = (counted(before, &columns), counted(after, &columns));
        let rows: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        let times = |all: &BTreeMap<String, usize>, row: &String| all.get(row).copied().unwrap_or(0);
        let differing = rows.into_iter().filter(|row| times(&before, row) != times(&after, row));
        let sign = |row: &String| if times(&before, row) > times(&after, row) { '-' } else { '+' };
        differing.map(|row| format!("{} {table} {}", sign(row), shortened(row))).collect()
    }

    /// Fails when an exception was not needed.
    pub(crate) fn assert_all_needed(&self) {
        let idle = EXCEPTIONS.iter().enumerate().filter(|(at, _)| !self.0.contains(at));
        let idle: Vec<_> = idle.map(|(_, it)| (it.table, it.columns, it.why)).collect();
        assert!(idle.is_empty(), "these exceptions are not needed: {idle:?}");
    }
}

/// How often there is each row without some columns.
fn counted(rows: &[String], without: &[&str]) -> BTreeMap<String, usize> {
    let mut counted = BTreeMap::new();
    for row in rows {
        let mut row = parsed(row);
        if let Some(columns) = row.as_object_mut() {
            columns.retain(|name, _| !without.contains(&name.as_str()));
        }
        *counted.entry(row.to_string()).or_default() += 1;
    }
    counted
}

/// A row: PostgreSQL writes spaces into it, SQLite does not.
fn parsed(row: &str) -> Value {
    serde_json::from_str(row).expect("a row is JSON")
}

fn shortened(row: &str) -> String {
    const MOST: usize = 1000;
    row.chars().take(MOST).collect()
}
