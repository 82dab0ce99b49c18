//! Sets of rows in a statement: from arrays on PostgreSQL, row by row on SQLite, and project by project where the
//! tables are divided by project.

use std::collections::HashMap;
use std::fmt::Write as _;

use super::fragments::Dialect;

impl Dialect {
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

    /// `r: a int, b text`: a set of rows from one array per column, starting at `$1`.
    pub(super) fn rows(self, spec: &str) -> String {
        let (alias, columns) = spec.split_once(':').unwrap_or((spec, ""));
        let columns = columns.split(',').filter_map(|c| c.trim().split_once(' '));
        if self == Self::Postgres {
            return Self::unnest(alias, columns, 1);
        }
        let mut values = String::new();
        for (index, (column, kind)) in columns.enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            let n = index + 1;
            let _ = match kind.trim() {
                "json" => write!(values, "{comma}jsonb(${n}) as {column}"),
                _ => write!(values, "{comma}${n} as {column}"),
            };
        }
        format!("(select {values}) as {alias}")
    }

    /// PostgreSQL's set of rows from one array per column, of which the first is the argument `first`.
    fn unnest<'c>(alias: &str, columns: impl Iterator<Item = (&'c str, &'c str)>, first: usize) -> String {
        let (mut names, mut values) = (String::new(), String::new());
        for (index, (column, kind)) in columns.enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            let _ = write!(names, "{comma}{column}");
            let _ = write!(values, "{comma}${}::{}[]", first + index, Self::Postgres.array_type(kind));
        }
        format!("unnest({values}) as {alias}({names})")
    }

    fn array_type(self, kind: &str) -> String {
        match kind.trim() {
            "text" => "text".to_owned(),
            other => self.fragment(other),
        }
    }

    /// PostgreSQL's text for the rows of one project, where the rows of the set begin with their project: `$1` is the
    /// project of all, so that the statement goes to where its rows are. `None` where they do not.
    pub(crate) fn of_project(text: &str) -> Option<String> {
        let (before, rest) = text.split_once("{rows ")?;
        let (spec, after) = rest.split_once('}')?;
        let (alias, columns) = spec.split_once(':')?;
        let mut columns = columns.split(',').filter_map(|column| column.trim().split_once(' '));
        let (project, _) = columns.next().filter(|(name, _)| matches!(*name, "project_id" | "project"))?;
        let mut columns = columns.peekable();
        let set = if columns.peek().is_none() {
            format!("(values (1)) as {alias}(one)")
        } else {
            Self::unnest(alias, columns, 2)
        };
        let known = HashMap::from([(project, "$1::bigint".to_owned())]);
        let around = |text: &str| Self::Postgres.expand(&Self::with_values(text, alias, &known));
        Some(format!("{}{set}{}", around(before), around(after)))
    }

    /// The text with the values of its one row in the place of its `{rows}` set, which is left out; `None` where there is
    /// no such set or something is joined to it.
    pub(super) fn inline_row(text: &str) -> Option<String> {
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
                (
                    name,
                    if kind.trim() == "json" { format!("{{json ${number}}}") } else { format!("${number}") },
                )
            })
            .collect();
        Some(Self::with_values(&format!("{before}{after}"), alias, &values))
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
    fn rows_of_one_project_name_it_once() {
        let update = "update t set d = r.d from {rows r: project_id int, key id, d json} \
                      where t.project_id = r.project_id and t.key = r.key and t.n = $4";
        assert_eq!(
            Dialect::of_project(update).as_deref(),
            Some(
                "update t set d = r.d from unnest($2::uuid[], $3::jsonb[]) as r(key, d) \
                 where t.project_id = $1::bigint and t.key = r.key and t.n = $4"
            )
        );
        assert_eq!(
            Dialect::of_project(
                "insert into t (project_id, n) select r.project_id, $2 from {rows r: project_id int}"
            )
            .as_deref(),
            Some("insert into t (project_id, n) select $1::bigint, $2 from (values (1)) as r(one)")
        );
        assert_eq!(Dialect::of_project("select r.id from {rows r: id id, project_id int}"), None);
        assert_eq!(Dialect::of_project("select 1"), None);
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
