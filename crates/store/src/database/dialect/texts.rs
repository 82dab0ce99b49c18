//! Expanded texts, and which of them a server is to get.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use super::fragments::Dialect;
use crate::database::away::Away;

/// Asks a PostgreSQL server whether its tables may be divided.
pub(crate) const FLAVOUR: &str = "select exists (select 1 from pg_extension where extname = 'citus')";
/// How the texts of [`Texts::of_project`] and [`Texts::counted`] are told from others of the same place.
const OF_PROJECT: [usize; 2] = [usize::MAX, 0];
const COUNTED: [usize; 2] = [usize::MAX, 1];
/// What an insert returns of each row.
const RETURNING: &str = " returning 1";

/// Whether a text has its rows counted by what it returns.
pub(crate) fn is_counted(text: &str) -> bool {
    text.ends_with(RETURNING)
}

fn counted(text: &str) -> String {
    let returns = !text.trim_start().starts_with("insert") || text.contains(" returning ");
    if returns { text.to_owned() } else { format!("{text}{RETURNING}") }
}

/// A statement's text before the engine's fragments are filled in.
#[derive(Debug, Clone)]
pub enum Sql {
    /// Written in the source; expanded once.
    Fixed(&'static str),
    /// Put together at run time, from fixed parts only.
    Built(String),
    /// Written in the source twice.
    Either {
        /// For tables in one place.
        whole: &'static str,
        /// For tables that are divided by project, where the other cannot run.
        divided: &'static str,
    },
}

impl Sql {
    /// The text for tables in one place, if it is written in the source.
    pub(crate) fn whole(&self) -> Option<&'static str> {
        match self {
            Self::Fixed(text) | Self::Either { whole: text, .. } => Some(text),
            Self::Built(_) => None,
        }
    }
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

/// Where a text comes from.
enum Source<'s> {
    Fixed(&'static str),
    Built(&'s str),
}

/// Expanded texts, so that a fixed statement is expanded once in the life of the process.
#[derive(Debug)]
pub(crate) struct Texts {
    dialect: Dialect,
    /// Whether the tables are divided by project; not known before the first connection.
    is_divided: OnceLock<bool>,
    /// By the place of a text in the program, and the rows and arguments of a block; both 0 where there is none.
    known: RwLock<HashMap<[usize; 4], Arc<str>>>,
    away: Away,
}

impl Texts {
    pub(crate) fn new(dialect: Dialect) -> Self {
        Self { dialect, is_divided: OnceLock::new(), known: RwLock::default(), away: Away::default() }
    }

    /// Whether the tables are divided by project over several servers: whether the server has the extension Citus.
    pub(crate) fn is_divided(&self) -> bool {
        self.is_divided.get().copied().unwrap_or_default()
    }

    /// Whether that is known.
    pub(crate) fn knows_flavour(&self) -> bool {
        self.is_divided.get().is_some()
    }

    /// Takes note of what [`FLAVOUR`] answered.
    pub(crate) fn learn_flavour(&self, is_divided: bool) {
        let _ = self.is_divided.set(is_divided);
    }

    /// The servers that the tables are divided over and that do not answer.
    pub(crate) fn away(&self) -> &Away {
        &self.away
    }

    pub(crate) fn text(&self, sql: &Sql) -> Arc<str> {
        match self.source(sql) {
            Source::Built(text) => self.dialect.expand(text).into(),
            Source::Fixed(fixed) => self.kept(fixed, [0, 0], || self.dialect.expand(fixed)),
        }
    }

    /// The text for tables in one place, as a part of divided ones is as well. Whoever asks keeps it.
    pub(crate) fn whole(&self, sql: &Sql) -> Arc<str> {
        let text = match sql {
            Sql::Built(text) => text,
            Sql::Fixed(text) | Sql::Either { whole: text, .. } => *text,
        };
        self.dialect.expand(text).into()
    }

    /// The text for the rows of one project; see [`Dialect::of_project`]. An insert says how many rows it made by
    /// returning them: what Citus says of it is how many were sent.
    pub(crate) fn of_project(&self, sql: &Sql) -> Option<Arc<str>> {
        let expand = |text: &str| Dialect::of_project(text).map(|text| counted(&text));
        match self.source(sql) {
            Source::Built(text) => expand(text).map(Into::into),
            Source::Fixed(fixed) => {
                let text = self.kept(fixed, OF_PROJECT, || expand(fixed).unwrap_or_default());
                (!text.is_empty()).then_some(text)
            }
        }
    }

    /// The text of a statement of which the number of rows is wanted, as [`Texts::of_project`] has it.
    pub(crate) fn counted(&self, sql: &Sql) -> Arc<str> {
        match self.source(sql) {
            Source::Built(text) => counted(&self.dialect.expand(text)).into(),
            Source::Fixed(fixed) => self.kept(fixed, COUNTED, || counted(&self.dialect.expand(fixed))),
        }
    }

    fn source<'s>(&self, sql: &'s Sql) -> Source<'s> {
        match sql {
            Sql::Built(text) => Source::Built(text),
            Sql::Fixed(text) => Source::Fixed(text),
            Sql::Either { divided, .. } if self.is_divided() => Source::Fixed(divided),
            Sql::Either { whole, .. } => Source::Fixed(whole),
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    const INSERT: &str = "insert into t (project_id, a) select r.project_id, r.a \
                          from {rows r: project_id int, a int} where true on conflict do nothing";

    #[test]
    fn an_insert_returns_the_rows_that_it_made() {
        let texts = Texts::new(Dialect::Postgres);
        for sql in [Sql::Fixed(INSERT), Sql::Built(INSERT.to_owned())] {
            for text in [texts.of_project(&sql).unwrap(), texts.counted(&sql)] {
                assert!(is_counted(&text), "{text}");
            }
            assert!(!is_counted(&texts.text(&sql)));
        }
        assert!(!is_counted(&texts.counted(&Sql::Fixed("update t set a = 1 where project_id = $1"))));
        assert_eq!(texts.of_project(&Sql::Fixed("select 1")), None);
    }

    #[test]
    fn one_of_two_texts_is_for_divided_tables() {
        let (texts, sql) =
            (Texts::new(Dialect::Postgres), Sql::Either { whole: "select 1", divided: "select 2" });
        assert!(!texts.knows_flavour());
        assert_eq!(&*texts.text(&sql), "select 1");
        texts.learn_flavour(true);
        assert_eq!(&*texts.text(&sql), "select 2");
    }
}
