//! Substring search over addresses, and the trigram index that a large project gets for it ([`index`] builds it in steps).
//!
//! Without the index a search scans the project's contacts. With it, a rare substring is looked up. For a common
//! substring it is faster to walk the list in its order, because the page fills early;
//! [`email_search_cache`](super::email_search_cache) counts the addresses that contain it.
//!
//! On SQLite the index has contacts up to a place, and those that came after it are gone through as well.

pub mod index;

use mailwright_core::ids::ProjectNumber;

use crate::args;
use crate::database::error::Result;
use crate::database::tx::Rx;
use crate::database::value::Arg;

/// A substring that more contacts than this have is common.
pub(crate) const COMMON: usize = 2_000;
/// The shortest text a trigram index can look up.
const SHORTEST: usize = 3;
/// Trigrams of a substring that are looked up on SQLite, at most.
const TRIGRAMS: usize = 16;
/// A substring whose trigrams are in more addresses than this is better looked for in all of them.
const CANDIDATES: usize = 5_000;

/// How a query on `contacts c` finds a substring of the address.
#[derive(Debug, Default)]
pub(crate) struct Filter {
    /// A condition to be appended to the `where`.
    pub(crate) condition: String,
    /// The prefix of columns in conditions and order that must not make SQLite choose an index, so that the lookup
    /// drives the query: SQLite uses no index for a column with a unary plus.
    pub(crate) plus: &'static str,
    /// Whether contacts are gone through one after the other.
    pub(crate) scans: bool,
}

/// The filter for a substring, its pattern appended to the arguments. `holding` is how many contacts have it, where that
/// is known.
pub(crate) async fn filter(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    search: Option<&str>,
    holding: Option<i64>,
    args: &mut Vec<Arg<'_>>,
) -> Result<Filter> {
    let Some(search) = search.filter(|s| !s.is_empty()) else { return Ok(Filter::default()) };
    if let Some(lookup) = lookup(rx, project, search, holding).await? {
        args.push(lookup.pattern.into());
        let mut condition = lookup.condition.replace("$pattern", &format!("${}", args.len()));
        if condition.contains("$search") {
            args.push(search.to_owned().into());
            condition = condition.replace("$search", &format!("${}", args.len()));
        }
        return Ok(Filter { condition, plus: if rx.is_postgres() { "" } else { "+" }, scans: false });
    }
    args.push(search.to_owned().into());
    Ok(Filter { condition: format!(" and {{contains c.email ${}}}", args.len()), plus: "", scans: true })
}

struct Lookup {
    /// A condition in which `$pattern` stands for the bound pattern, and `$search` for the substring itself.
    condition: String,
    pattern: String,
}

/// How to look a substring up in the index; `None` when there is none, or when a scan is better.
async fn lookup(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    search: &str,
    holding: Option<i64>,
) -> Result<Option<Lookup>> {
    let is_common = holding.is_some_and(|holding| holding > COMMON as i64);
    if is_common || search.chars().count() < SHORTEST || !index::is_ready(rx, project).await? {
        return Ok(None);
    }
    let is_rare = holding.is_some();
    if rx.is_postgres() {
        look_up_postgres(rx, project, search, is_rare).await
    } else {
        look_up_sqlite(rx, project, search, is_rare).await
    }
}

// The project's number stands in the text of both, not in an argument: PostgreSQL uses a partial index only when it sees the
// index's own condition, and in SQLite it is part of the table's name.

async fn look_up_postgres(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    search: &str,
    is_rare: bool,
) -> Result<Option<Lookup>> {
    let n = project.0;
    let escaped = search.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
    let pattern = format!("%{escaped}%");
    let hits = format!("select 1 from contacts where project_id = {n} and email like $1");
    let is_rare = is_rare || count_up_to(rx, &hits, COMMON, args![&pattern]).await? <= COMMON;
    let condition = format!(
        " and c.id in (select s.id from contacts s where s.project_id = {n} and s.email like $pattern offset 0)"
    );
    Ok(is_rare.then_some(Lookup { condition, pattern }))
}

async fn look_up_sqlite(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    search: &str,
    is_rare: bool,
) -> Result<Option<Lookup>> {
    let n = project.0;
    let pattern = trigrams(search);
    let candidates = format!("select rowid from contact_search_{n} where contact_search_{n} match");
    if count_up_to(rx, &format!("{candidates} $1"), CANDIDATES, args![&pattern]).await? > CANDIDATES {
        return Ok(None);
    }
    let rows = |pattern: &str, search: &str| {
        let indexed = format!(
            "select s.seq from contacts s where s.seq in ({candidates} {pattern}) and +s.project_id = {n} \
             and {{contains s.email {search}}}"
        );
        format!("{indexed} union all {}", index::not_in_it(n, search))
    };
    let is_rare =
        is_rare || count_up_to(rx, &rows("$1", "$2"), COMMON, args![&pattern, search]).await? <= COMMON;
    let condition = format!(" and c.seq in ({})", rows("$pattern", "$search"));
    Ok(is_rare.then_some(Lookup { condition, pattern }))
}

/// How many rows a query has, as far as `most` and one more.
async fn count_up_to(rx: &mut Rx<'_>, query: &str, most: usize, args: &[Arg<'_>]) -> Result<usize> {
    let found: i64 = rx
        .one(format!("select count(*) from ({query} limit {}) as hits", most + 1), args, |r| r.get(0))
        .await?;
    Ok(usize::try_from(found).unwrap_or_default())
}

/// The query of a full-text table for what has the trigrams of a substring.
fn trigrams(search: &str) -> String {
    let characters: Vec<char> = search.chars().collect();
    let mut terms: Vec<String> = Vec::new();
    for three in characters.windows(SHORTEST) {
        let term = format!("\"{}\"", three.iter().collect::<String>().replace('"', "\"\""));
        if !terms.contains(&term) {
            terms.push(term);
        }
        if terms.len() == TRIGRAMS {
            break;
        }
    }
    terms.join(" AND ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_substring_is_looked_up_by_its_trigrams() {
        assert_eq!(trigrams("ada"), r#""ada""#);
        assert_eq!(trigrams("adada\""), r#""ada" AND "dad" AND "da""""#);
        assert_eq!(trigrams("a@b.example.com".repeat(20).as_str()).matches("AND").count(), 15 - 1);
        assert_eq!(trigrams("0123456789abcdefghijklmnopq").matches("AND").count(), TRIGRAMS - 1);
    }
}
