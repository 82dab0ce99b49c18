//! One SQL text for two engines: the named fragments, and what each engine makes of them.
//!
//! A text is expanded once in the life of a process. A difference that no fragment covers, such as another kind of
//! index or a hint for one planner, asks `is_postgres`. `tests/tests/it/invariants.rs` lists the files that may, each
//! with its reason.
//!
//! | fragment | PostgreSQL | SQLite |
//! |---|---|---|
//! | `$1` | `$1` | `?1` |
//! | `{rows r: a int, b text}` | `unnest($1::bigint[], $2::text[]) as r(a, b)` | `(select ?1 as a, ?2 as b) as r` |
//! | the same, if nothing is joined to it | | nothing: `r.a` becomes `?1`, because `update ... from` is slow on SQLite |
//! | `{in $2}` | `= any($2)` | `in rarray(?2)` |
//! | `{json $4}` | `$4::jsonb` | `jsonb(?4)` |
//! | `{json_out c}` | `c` | `json(c)` |
//! | `{json_or_raw c}` | `c` | `json(c)`, and text that is no JSON unchanged: one row must not fail a query of many |
//! | `{json_of c $2}` | the member of an object of that name, as text of JSON | the same |
//! | `{json_last c}` | the last element of an array, as JSON | the same; nothing of what is no array |
//! | `{json_bytes c}` | the length of `c` as text | the length of `c` as it is stored |
//! | `{contains c $2}` | `strpos(c, $2) > 0` | `instr(c, ?2) > 0` |
//! | `{json_contains c $2}` | the same with `c::text` | the same with `json(c)` |
//! | `{for_update}`, `{for_no_key_update}`, `{for_share}`, `{for_key_share}` | the lock | nothing: we are the only writer |
//! | `{skip_locked}` | `for update skip locked` | |
//! | `{log_and} r.a {numbered}` | the log of a mail and one more attempt, a JSON object, with its number | the same |
//! | `{shard}` | `pg_backend_pid() % 16` | `0` |
//! | DDL: `{int} {text} {bool} {id} {json} {bytes}` | types | types |
//! | DDL: `{serial}`, `{seq}`, `{strict}`, `{clustered}` | see [`Dialect::fragment`] | |

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Arc, PoisonError, RwLock};

/// Most attempts that the log of a mail keeps.
const LOG: usize = 50;

/// Which engine a text is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    Sqlite,
    Postgres,
}

/// A statement's text before the engine's fragments are filled in.
#[derive(Debug, Clone)]
pub enum Sql {
    /// Written in the source; expanded once.
    Fixed(&'static str),
    /// Put together at run time, from fixed parts only.
    Built(String),
}

impl From<&'static str> for Sql {
    fn from(text: &'static str) -> Self {
        Self::Fixed(text)
    }
}

impl From<String> for Sql {
    fn from(text: String) -> Self {
        Self::Built(text)
    }
}

/// Expanded texts, so that a fixed statement is expanded once in the life of the process.
#[derive(Debug)]
pub(crate) struct Texts {
    dialect: Dialect,
    /// By the place of a text in the program, and the rows and arguments of a block; both 0 where there is none.
    known: RwLock<HashMap<[usize; 4], Arc<str>>>,
}

impl Texts {
    pub(crate) fn new(dialect: Dialect) -> Self {
        Self { dialect, known: RwLock::default() }
    }

    pub(crate) fn text(&self, sql: &Sql) -> Arc<str> {
        let fixed = match sql {
            Sql::Built(text) => return self.dialect.expand(text).into(),
            Sql::Fixed(text) => *text,
        };
        self.kept(fixed, [0, 0], || self.dialect.expand(fixed))
    }

    /// SQLite's text of an insert of so many rows; see [`Dialect::expand_block`].
    pub(crate) fn block(&self, fixed: &'static str, rows: usize, arguments: usize) -> Arc<str> {
        self.kept(fixed, [rows, arguments], || Dialect::expand_block(fixed, rows, arguments))
    }

    fn kept(&self, fixed: &'static str, block: [usize; 2], expand: impl FnOnce() -> String) -> Arc<str> {
        let key = [fixed.as_ptr() as usize, fixed.len(), block[0], block[1]];
        if let Some(known) = self.known.read().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return Arc::clone(known);
        }
        let text: Arc<str> = expand().into();
        self.known.write().unwrap_or_else(PoisonError::into_inner).insert(key, Arc::clone(&text));
        text
    }
}

impl Dialect {
    /// Fills the fragments in. An unknown fragment stays as it is, so that the engine refuses it by name.
    pub(crate) fn expand(self, text: &str) -> String {
        if self == Self::Sqlite
            && let Some(inlined) = inline_row(text)
        {
            return self.fill(&inlined);
        }
        self.fill(text)
    }

    fn fill(self, text: &str) -> String {
        let mut out = String::with_capacity(text.len() + 64);
        let mut rest = text;
        while let Some(open) = rest.find('{') {
            self.plain(&rest[..open], &mut out);
            let Some(close) = rest[open..].find('}') else {
                rest = &rest[open..];
                break;
            };
            let inside = &rest[open + 1..open + close];
            let expanded = self.fragment(inside);
            self.plain(&expanded, &mut out);
            rest = &rest[open + close + 1..];
        }
        self.plain(rest, &mut out);
        out
    }

    /// SQLite's text of an insert whose `{rows}` set has `count` rows. The first row has the numbers of the arguments,
    /// the further ones those behind all `arguments`, row by row.
    pub(crate) fn expand_block(text: &str, count: usize, arguments: usize) -> String {
        let Some((before, rest)) = text.split_once("{rows ") else { return Self::Sqlite.expand(text) };
        let Some((spec, after)) = rest.split_once('}') else { return Self::Sqlite.expand(text) };
        let kinds: Vec<_> =
            spec.split(',').filter_map(|c| c.trim().rsplit_once(' ').map(|(_, k)| k)).collect();
        let first = Self::Sqlite.rows(spec);
        let (set, alias) = first.rsplit_once(')').unwrap_or((&first, ""));
        let mut out = Self::Sqlite.expand(before);
        Self::Sqlite.plain(set, &mut out);
        for row in 0..count.saturating_sub(1) {
            for (column, kind) in kinds.iter().enumerate() {
                let comma = if column == 0 { " union all select " } else { ", " };
                let number = arguments + row * kinds.len() + column + 1;
                let _ = match *kind {
                    "json" => write!(out, "{comma}jsonb(?{number})"),
                    _ => write!(out, "{comma}?{number}"),
                };
            }
        }
        out.push(')');
        out.push_str(alias);
        out.push_str(&Self::Sqlite.expand(after));
        out
    }

    fn plain(self, text: &str, out: &mut String) {
        match self {
            Self::Postgres => out.push_str(text),
            Self::Sqlite => out.push_str(&text.replace('$', "?")),
        }
    }

    fn fragment(self, inside: &str) -> String {
        let (name, rest) = inside.split_once([' ', ':']).unwrap_or((inside, ""));
        let rest = rest.trim();
        let pick =
            |postgres: &str, sqlite: &str| if self == Self::Postgres { postgres } else { sqlite }.to_owned();
        match name {
            "rows" => self.rows(rest),
            "in" => match self {
                Self::Postgres => format!("= any({rest})"),
                Self::Sqlite => format!("in rarray({rest})"),
            },
            "json" if rest.is_empty() => pick("jsonb", "blob"),
            "json" => match self {
                Self::Postgres => format!("{rest}::jsonb"),
                Self::Sqlite => format!("jsonb({rest})"),
            },
            "json_out" => match self {
                Self::Postgres => rest.to_owned(),
                Self::Sqlite => format!("json({rest})"),
            },
            "json_or_raw" => match self {
                Self::Postgres => rest.to_owned(),
                // a text, or a well-formed blob
                Self::Sqlite => format!("case when json_valid({rest}, 9) then json({rest}) else {rest} end"),
            },
            "json_of" => {
                let (column, key) = rest.split_once(' ').unwrap_or((rest, ""));
                match self {
                    Self::Postgres => format!("({column} -> {key}::text)::text"),
                    // the path is put together once for a statement
                    Self::Sqlite => format!("{column} -> (char(36) || '.' || json_quote({key}))"),
                }
            }
            "json_last" => match self {
                Self::Postgres => format!("{rest} -> -1"),
                Self::Sqlite => {
                    format!(
                        "case when json_valid({rest}, 9) then json_extract({rest}, char(36) || '[#-1]') end"
                    )
                }
            },
            "contains" => {
                let (column, value) = rest.split_once(' ').unwrap_or((rest, ""));
                format!("{}({column}, {value}) > 0", pick("strpos", "instr"))
            }
            "json_contains" => {
                let (column, value) = rest.split_once(' ').unwrap_or((rest, ""));
                match self {
                    Self::Postgres => format!("strpos({column}::text, {value}) > 0"),
                    Self::Sqlite => format!("instr(json({column}), {value}) > 0"),
                }
            }
            // the oldest attempt makes room for the newest; on SQLite a path is put together, because a dollar sign
            // stands for an argument in our texts
            "log_and" => match self {
                Self::Postgres => format!(
                    "(case when jsonb_array_length(emails.log) >= {LOG} then emails.log - 0 else emails.log end) \
                     || jsonb_build_array("
                ),
                Self::Sqlite => format!(
                    "jsonb_insert(case when json_array_length(emails.log) >= {LOG} \
                     then jsonb_remove(emails.log, char(36) || '[0]') else emails.log end, char(36) || '[#]', jsonb_set("
                ),
            },
            "numbered" => pick(
                "|| jsonb_build_object('attempt', emails.attempts + 1))",
                ", char(36) || '.attempt', emails.attempts + 1))",
            ),
            // each connection adds to its own rows, so that writers do not wait for each other
            "shard" => pick("pg_backend_pid() % 16", "0"),
            "for_update" => pick("for update", ""),
            "for_no_key_update" => pick("for no key update", ""),
            "for_share" => pick("for share", ""),
            "for_key_share" => pick("for key share", ""),
            // SQLite knows the length of a stored value without reading it
            "json_bytes" => match self {
                Self::Postgres => format!("octet_length({rest}::text)::bigint"),
                Self::Sqlite => format!("length({rest})"),
            },
            "skip_locked" => pick("for update skip locked", ""),
            "int" => pick("bigint", "integer"),
            "bool" => pick("boolean", "integer"),
            "id" => pick("uuid", "blob"),
            "bytes" => pick("bytea", "blob"),
            // binary order on both engines
            "text" => pick("text collate \"C\"", "text"),
            "serial" => pick("bigint generated always as identity primary key", "integer primary key"),
            // a small integer handle for tables that SQLite's full-text index points into
            "seq" => pick("", "seq integer primary key,"),
            "strict" => pick("", "strict"),
            // rows live in the primary key's tree: one write instead of two
            "clustered" => pick("", "without rowid, strict"),
            _ => format!("{{{inside}}}"),
        }
    }

    /// `r: a int, b text`: a set of rows from one array per column, starting at `$1`.
    fn rows(self, spec: &str) -> String {
        let (alias, columns) = spec.split_once(':').unwrap_or((spec, ""));
        let columns = columns.split(',').filter_map(|c| c.trim().split_once(' '));
        let mut names = String::new();
        let mut values = String::new();
        for (index, (column, kind)) in columns.enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            let n = index + 1;
            let _ = match self {
                Self::Postgres => {
                    let _ = write!(names, "{comma}{column}");
                    write!(values, "{comma}${n}::{}[]", self.array_type(kind))
                }
                Self::Sqlite if kind.trim() == "json" => write!(values, "{comma}jsonb(${n}) as {column}"),
                Self::Sqlite => write!(values, "{comma}${n} as {column}"),
            };
        }
        match self {
            Self::Postgres => format!("unnest({values}) as {alias}({names})"),
            Self::Sqlite => format!("(select {values}) as {alias}"),
        }
    }

    fn array_type(self, kind: &str) -> String {
        match kind.trim() {
            "text" => "text".to_owned(),
            other => self.fragment(other),
        }
    }
}

/// The text with the values of its one row in the place of its `{rows}` set, which is left out; `None` where there is
/// no such set or something is joined to it.
fn inline_row(text: &str) -> Option<String> {
    let (before, rest) = text.split_once("from {rows ")?;
    let (spec, after) = rest.split_once('}')?;
    let (alias, columns) = spec.split_once(':')?;
    let after = after.trim_start();
    let stands_alone =
        after.is_empty() || ["where", ")", "returning"].iter().any(|next| after.starts_with(next));
    if !stands_alone {
        return None;
    }
    let values: HashMap<&str, String> = columns
        .split(',')
        .filter_map(|column| column.trim().split_once(' '))
        .enumerate()
        .map(|(index, (name, kind))| {
            let number = index + 1;
            (name, if kind.trim() == "json" { format!("{{json ${number}}}") } else { format!("${number}") })
        })
        .collect();
    Some(with_values(&format!("{before}{after}"), alias, &values))
}

/// Puts values in the place of `alias.column`.
fn with_values(text: &str, alias: &str, values: &HashMap<&str, String>) -> String {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(&format!("{alias}.")) {
        let (before, found) = rest.split_at(at);
        let name = &found[alias.len() + 1..];
        let name = &name[..name.bytes().position(|b| !is_word(&b)).unwrap_or(name.len())];
        out.push_str(before);
        let stands_alone = !out.as_bytes().last().is_some_and(is_word);
        match values.get(name).filter(|_| stands_alone) {
            Some(value) => out.push_str(value),
            None => out.push_str(&found[..alias.len() + 1 + name.len()]),
        }
        rest = &found[alias.len() + 1 + name.len()..];
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_text_becomes_two() {
        let text = "select {json_out data} from t join {rows r: a int, d json} on t.a = r.a where b {in $3} and c = {json $4}";
        assert_eq!(
            Dialect::Postgres.expand(text),
            "select data from t join unnest($1::bigint[], $2::jsonb[]) as r(a, d) on t.a = r.a where b = any($3) and c = $4::jsonb"
        );
        assert_eq!(
            Dialect::Sqlite.expand(text),
            "select json(data) from t join (select ?1 as a, jsonb(?2) as d) as r on t.a = r.a where b in rarray(?3) and c = jsonb(?4)"
        );
    }

    #[test]
    fn values_stand_in_the_place_of_a_row_on_sqlite() {
        let text = "update t set d = r.d, n = t.n + r.n, k = $4 from {rows r: a int, d json, n int} \
                    where t.a = r.a and r.n > 0 and other.a = tr.a returning a";
        assert_eq!(
            Dialect::Sqlite.expand(text),
            "update t set d = jsonb(?2), n = t.n + ?3, k = ?4 where t.a = ?1 and ?3 > 0 and other.a = tr.a returning a"
        );
        assert_eq!(
            Dialect::Sqlite.expand("insert into t (a, b) select r.a, {json '[]'} from {rows r: a int}"),
            "insert into t (a, b) select ?1, jsonb('[]') "
        );
    }

    #[test]
    fn a_block_of_rows_is_one_statement() {
        let text = "insert into t (a, d, n) select r.a, r.d, $3 from {rows r: a int, d json} where true";
        assert_eq!(Dialect::expand_block(text, 1, 3), Dialect::Sqlite.fill(text));
        assert_eq!(
            Dialect::expand_block(text, 3, 3),
            "insert into t (a, d, n) select r.a, r.d, ?3 from (select ?1 as a, jsonb(?2) as d \
             union all select ?4, jsonb(?5) union all select ?6, jsonb(?7)) as r where true"
        );
    }

    #[test]
    fn an_unknown_fragment_is_left_for_the_engine_to_refuse() {
        assert_eq!(Dialect::Postgres.expand("select {what}"), "select {what}");
    }
}
