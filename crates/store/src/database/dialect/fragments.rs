//! The named fragments, and what each engine makes of them.

/// Most attempts that the log of a mail keeps.
const LOG: usize = 50;

/// Which engine a text is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    Sqlite,
    Postgres,
}

impl Dialect {
    /// Fills the fragments in. An unknown fragment stays as it is, so that the engine refuses it by name.
    pub(crate) fn expand(self, text: &str) -> String {
        if self == Self::Sqlite
            && let Some(inlined) = Self::inline_row(text)
        {
            return self.fill(&inlined);
        }
        self.fill(text)
    }

    pub(super) fn fill(self, text: &str) -> String {
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

    pub(super) fn plain(self, text: &str, out: &mut String) {
        match self {
            Self::Postgres => out.push_str(text),
            Self::Sqlite => out.push_str(&text.replace('$', "?")),
        }
    }

    pub(super) fn fragment(self, inside: &str) -> String {
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
                     || ("
                ),
                Self::Sqlite => format!(
                    "jsonb_insert(case when json_array_length(emails.log) >= {LOG} \
                     then jsonb_remove(emails.log, char(36) || '[0]') else emails.log end, char(36) || '[#]', jsonb_set("
                ),
            },
            "numbered" => pick(
                // of functions that Citus knows to give each server the same
                "|| cast('{\"attempt\":' || cast(emails.attempts + 1 as text) || '}' as jsonb))",
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
}
