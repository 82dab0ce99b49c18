//! Substring search over addresses, and the trigram index that a large project gets for it ([`index`] builds it in steps).
//!
//! Without the index a search scans the project's contacts. With it, a rare substring is looked up. For a common
//! substring it is faster to walk the list in its order, because the page fills early;
//! [`email_search_cache`](super::email_search_cache) counts the addresses that contain it.
//!
//! On SQLite the index has contacts up to a place, and those that came after it are gone through as well.

pub mod index;

use mailwright_core::ids::ProjectNumber;

use crate::database::error::Result;
use crate::database::tx::Rx;
use crate::database::value::Arg;
use index::Index;

/// A substring that more contacts than this have is common.
pub(crate) const COMMON: usize = 2_000;
/// The shortest text a trigram index can look up.
const SHORTEST: usize = 3;

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

/// The filter for a substring, its pattern appended to the arguments.
pub(crate) async fn filter(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    search: Option<&str>,
    args: &mut Vec<Arg<'_>>,
) -> Result<Filter> {
    let Some(search) = search.filter(|s| !s.is_empty()) else { return Ok(Filter::default()) };
    if let Some(lookup) = lookup(rx, project, search).await? {
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
async fn lookup(rx: &mut Rx<'_>, project: ProjectNumber, search: &str) -> Result<Option<Lookup>> {
    if search.chars().count() < SHORTEST {
        return Ok(None);
    }
    let Some(Index { is_followed }) = index::ready(rx, project).await? else { return Ok(None) };
    let n = project.0;
    // The project's number stands in the text, not in an argument: PostgreSQL uses a partial index only when it sees
    // the index's own condition, and in SQLite it is part of the table's name.
    let (hits, condition, pattern) = if rx.is_postgres() {
        let escaped = search.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
        (
            format!("select 1 from contacts where project_id = {n} and email like $1"),
            format!(
                " and c.id in (select s.id from contacts s where s.project_id = {n} and s.email like $pattern offset 0)"
            ),
            format!("%{escaped}%"),
        )
    } else {
        let rows = |pattern: &str, search: &str| {
            let indexed =
                format!("select rowid from contact_search_{n} where contact_search_{n} match {pattern}");
            if is_followed { format!("{indexed} union all {}", index::not_in_it(n, search)) } else { indexed }
        };
        (
            rows("$1", "$2"),
            format!(" and c.seq in ({})", rows("$pattern", "$search")),
            format!("\"{}\"", search.replace('"', "\"\"")),
        )
    };
    let mut args = vec![Arg::from(pattern.as_str())];
    if hits.contains("$2") {
        args.push(search.into());
    }
    let found: i64 = rx
        .one(format!("select count(*) from ({hits} limit {}) as hits", COMMON + 1), &args, |r| r.get(0))
        .await?;
    Ok((found <= COMMON as i64).then_some(Lookup { condition, pattern }))
}
