//! The tables that a statement names, found among its words.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, LazyLock};

use crate::database::tenant::found_by_project;

/// The names of parts, by those of their tables: of tables that are divided, and of those of the instance, which are each
/// one part on the coordinator.
pub(crate) type Names = HashMap<String, String>;

/// Where a statement runs that stands in a transaction on the server of a part, and its text there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Located {
    /// On that server, in the transaction.
    Here(Arc<str>),
    /// On the coordinator, which has the tables of the instance. It only reads them.
    Coordinator(Arc<str>),
    /// Nowhere: it changes tables of the instance, or reads those of both. The transaction has to run on the coordinator.
    Elsewhere,
}

/// The tables that are divided.
static DIVIDED: LazyLock<HashSet<&'static str>> = LazyLock::new(|| found_by_project().collect());

/// What follows `update` where it names no table.
const NO_TABLE: [&str; 5] = ["set", "skip", "of", "nowait", "limit"];
/// How a statement locks rows that it reads.
const LOCKS: [&str; 4] = [" for update", " for no key update", " for share", " for key share"];

/// The text with the names of the parts for those of the tables, if it is only about tables that are divided, or only
/// reads others.
pub(super) fn in_part(text: Arc<str>, names: &Names) -> Located {
    let mut out = String::with_capacity(text.len() + 64);
    let mut own: HashSet<&str> = HashSet::new();
    let mut tables: HashSet<&str> = HashSet::new();
    let (mut done, mut before) = (0, ["", ""]);
    for (at, word) in words(&text) {
        let rest = &text[at + word.len()..];
        if is_table(&text[..at], before, word, rest, names) {
            tables.insert(word);
            if let Some(part) = names.get(word) {
                out.push_str(&text[done..at]);
                out.push_str(part);
                done = at + word.len();
            }
        } else if is_defined(rest) {
            own.insert(word);
        }
        before = [before[1], word];
    }
    out.push_str(&text[done..]);
    if own.iter().any(|name| DIVIDED.contains(name) || names.contains_key(*name)) {
        return Located::Elsewhere;
    }
    let mut tables = tables.difference(&own);
    if tables.clone().any(|table| DIVIDED.contains(table) && !names.contains_key(*table)) {
        return Located::Elsewhere;
    }
    match (tables.clone().any(|table| DIVIDED.contains(table)), tables.any(|table| !DIVIDED.contains(table)))
    {
        (_, false) => Located::Here(out.into()),
        (false, true) if only_reads(&out) => Located::Coordinator(out.into()),
        (_, true) => Located::Elsewhere,
    }
}

/// Whether a word names a table, or what the statement itself gave a name. `text` is what stands before it, of which the
/// last two words are `before`.
fn is_table(text: &str, before: [&str; 2], word: &str, rest: &str, names: &Names) -> bool {
    let follows = rest.trim_start().chars().next();
    if text.ends_with('.') {
        return false;
    }
    if rest.starts_with('.') && (DIVIDED.contains(word) || names.contains_key(word)) {
        return true;
    }
    let is_named_so = match before[1] {
        // `is distinct from a`; `from a.b` is one as well
        "from" => before[0] != "distinct" && !rest.starts_with('.'),
        "join" | "into" | "using" => true,
        "update" => !matches!(before[0], "for" | "key" | "do") && !NO_TABLE.contains(&word),
        _ => false,
    };
    // what is in brackets is a query or a list of columns, what is followed by one a function
    let is_none = text.trim_end().ends_with('(') || (follows == Some('(') && before[1] != "into");
    is_named_so && !is_none && !matches!(word, "lateral" | "only")
}

/// Whether the statement gives the word before this to a query of its own.
fn is_defined(rest: &str) -> bool {
    let rest = rest.trim_start();
    // with columns: `name (a, b) as (`
    let rest = match rest.strip_prefix('(').and_then(|inside| inside.split_once(')')) {
        Some((columns, rest)) if columns.chars().all(|c| c.is_alphanumeric() || "_, ".contains(c)) => {
            rest.trim_start()
        }
        _ => rest,
    };
    let Some(rest) = rest.strip_prefix("as ") else { return false };
    let rest = rest.trim_start().trim_start_matches("not ").trim_start_matches("materialized ");
    rest.trim_start().starts_with('(')
}

fn only_reads(text: &str) -> bool {
    text.trim_start().starts_with("select ") && !LOCKS.iter().any(|lock| text.contains(lock))
}

/// The words of a statement with their places, without those in quotes.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let bytes = text.as_bytes();
        while at < bytes.len() {
            let byte = bytes[at];
            if let b'\'' | b'"' = byte {
                let end = text[at + 1..].find(byte as char);
                at = end.map_or(bytes.len(), |end| at + 1 + end + 1);
            } else if is_of_word(byte) {
                let begin = at;
                while at < bytes.len() && is_of_word(bytes[at]) {
                    at += 1;
                }
                return Some((begin, &text[begin..at]));
            } else {
                at += 1;
            }
        }
        None
    })
}

fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$')
}
