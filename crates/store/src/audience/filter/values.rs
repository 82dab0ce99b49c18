//! The parameters of a compiled filter, and the operators of SQL.

use mailwright_core::filter::Comparison;

use crate::database::value::Arg;

/// The bound arguments of the statement.
pub(super) struct Values<'a> {
    args: &'a mut Vec<Arg<'static>>,
    pub(super) postgres: bool,
}

impl<'a> Values<'a> {
    /// Appends to `args`.
    pub(super) fn new(args: &'a mut Vec<Arg<'static>>, postgres: bool) -> Self {
        Self { args, postgres }
    }

    /// Binds a value; what stands for it in the statement.
    pub(super) fn bind(&mut self, value: impl Into<Arg<'static>>) -> String {
        self.args.push(value.into());
        format!("${}", self.args.len())
    }

    /// Binds a text. PostgreSQL is told its type where it would not know, and that bytes are compared.
    pub(super) fn text(&mut self, text: &str) -> String {
        let place = self.bind(text.to_owned());
        if self.postgres { format!("({place}::text collate \"C\")") } else { place }
    }

    /// Binds a number as a text, so that it is read like the numbers that are stored. The sign takes the type from the
    /// cast: SQLite would make a number of a text that is compared with one.
    pub(super) fn number(&mut self, number: f64) -> String {
        if number.is_infinite() {
            return if number > 0.0 { "9e999" } else { "-9e999" }.to_owned();
        }
        let place = self.bind(serde_json::Value::from(number).to_string());
        if self.postgres { format!("{place}::text::float8") } else { format!("+cast({place} as real)") }
    }
}

/// The operator of a comparison.
pub(super) fn sign(comparison: Comparison) -> &'static str {
    match comparison {
        Comparison::Greater => ">",
        Comparison::GreaterOrEqual => ">=",
        Comparison::Less => "<",
        Comparison::LessOrEqual => "<=",
    }
}
