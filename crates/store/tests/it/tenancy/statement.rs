//! What a statement's text says of the tables of projects that it uses.

use mailwright_store::database::tenant::found_by_project;

/// What stands after a table that is not its other name.
const NO_ALIAS: [&str; 20] = [
    "(",
    ")",
    ",",
    "where",
    "on",
    "set",
    "join",
    "left",
    "inner",
    "cross",
    "order",
    "group",
    "limit",
    "select",
    "returning",
    "values",
    "using",
    "union",
    "and",
    "as",
];

/// A table of projects' rows, as a statement uses it.
#[derive(Debug)]
pub(super) struct Table {
    name: &'static str,
    alias: Option<String>,
    /// Whether rows are inserted into it.
    is_filled: bool,
}

/// A statement, in words.
pub(super) struct Statement {
    words: Vec<String>,
    pub(super) tables: Vec<Table>,
}

impl Statement {
    pub(super) fn of(text: &str) -> Self {
        let spaced = text.replace('(', " ( ").replace(')', " ) ").replace(',', " , ").replace(';', " ");
        // a plus keeps SQLite from the index of a column
        let plain = |word: &str| word.trim_start_matches("{plus}").trim_start_matches('+').to_owned();
        let words: Vec<String> = spaced.split_whitespace().map(plain).collect();
        let mut tables = Vec::new();
        for (at, pair) in words.windows(2).enumerate() {
            let is_filled = pair[0] == "into";
            if !is_filled && !matches!(pair[0].as_str(), "from" | "update" | "join") {
                continue;
            }
            let Some(name) = found_by_project().find(|table| *table == pair[1]) else { continue };
            let after = words.get(at + 2).map_or("", String::as_str);
            let alias = if after == "as" { words.get(at + 3) } else { words.get(at + 2) };
            let is_name = |alias: &&String| {
                let is_word = alias.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
                is_word && !NO_ALIAS.contains(&alias.as_str())
            };
            tables.push(Table { name, alias: alias.filter(is_name).cloned(), is_filled });
        }
        Self { words, tables }
    }

    /// Why it is not one of a single project; `None` where it is.
    pub(super) fn fault(&self) -> Option<String> {
        if !self.names_a_project() {
            return Some("no project is bound".to_owned());
        }
        let loose = self.tables.iter().find(|table| !self.binds(table))?;
        Some(format!("{} is bound to no project", loose.name))
    }

    /// Whether the project of a table's rows is a value, or that of another table.
    fn binds(&self, table: &Table) -> bool {
        if table.is_filled {
            return true;
        }
        let mut names = vec![format!("{}.project_id", table.name)];
        if let Some(alias) = &table.alias {
            names.push(format!("{alias}.project_id"));
        }
        if table.alias.is_none() || self.tables.len() == 1 {
            names.push("project_id".to_owned());
        }
        let is_of = |word: &String| names.contains(word);
        let is_project = |word: &str| {
            let (_, column) = word.rsplit_once('.').unwrap_or(("", word));
            word.starts_with(['$', '{']) || matches!(column, "project_id" | "project" | "number")
        };
        self.words.windows(3).any(|three| {
            three[1] == "="
                && (is_of(&three[0]) && is_project(&three[2]) || is_of(&three[2]) && is_project(&three[0]))
        })
    }

    /// Whether one project is bound: as an argument, or as the first column of a set of rows, which is split by it where
    /// that matters.
    fn names_a_project(&self) -> bool {
        let is_argument = |word: &str| word.starts_with(['$', '{']);
        let is_project = |word: &str| word == "project_id" || word.ends_with(".project_id");
        let is_compared = self
            .words
            .windows(3)
            .any(|three| three[1] == "=" && is_project(&three[0]) && is_argument(&three[2]));
        let is_row = self.words.windows(3).any(|three| {
            three[0].ends_with("{rows")
                && three[1] == "r:"
                && matches!(three[2].as_str(), "project_id" | "project")
        });
        is_compared || is_row || self.fills_one()
    }

    /// Whether rows of a project that is an argument are inserted: it is the first column and the first value.
    fn fills_one(&self) -> bool {
        let Some(table) = self.words.iter().position(|word| word == "into") else { return false };
        let begins = |at: usize, word: &str| self.words.get(at).is_some_and(|found| found == word);
        let columns = self.words.iter().skip(table).position(|word| word == "(").map(|at| at + table);
        let is_first = columns.is_some_and(|at| begins(at + 1, "project_id"));
        let values = self.words.windows(3).any(|three| {
            (three[0] == "values" && three[1] == "(" && three[2].starts_with('$'))
                || (three[0] == "select" && three[1].starts_with('$'))
        });
        is_first && values
    }
}
