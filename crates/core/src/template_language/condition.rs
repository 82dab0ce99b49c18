//! Reads the conditions of `if`, `elsif` and `unless`.

use super::Fault;
use super::expr::KEY_HELP;
use super::program::{Comparison, Condition, Join, Test};
use super::reader::Reader;

impl Reader<'_, '_> {
    /// Reads a condition, to the end.
    pub(super) fn condition(mut self, negated: bool) -> Result<Condition, Fault> {
        let first = self.test()?;
        let mut rest = Vec::new();
        while !self.ends() {
            let join = if self.eat_word("and") {
                Join::And
            } else if self.eat_word("or") {
                Join::Or
            } else {
                return Err(self.unexpected(match self.peek() {
                    Some('&' | '|') if self.rest().starts_with("&&") || self.rest().starts_with("||") => {
                        "Join conditions with `and` and `or`."
                    }
                    Some('|') => "Filters are not available here: use `{% assign %}` first.",
                    Some('=') => "Equality is written `==`.",
                    Some('?') => "Fallbacks are not available here: use `{% assign %}` first.",
                    _ => KEY_HELP,
                }));
            };
            rest.push((join, self.test()?));
        }
        Ok(Condition { first, rest, negated })
    }

    fn test(&mut self) -> Result<Test, Fault> {
        if self.ends() {
            return Err(
                self.fault("The condition is missing. Write one, such as `{% if plan == \"pro\" %}`.")
            );
        }
        if self.rest().starts_with('!') || self.next_word() == "not" {
            return Err(self.fault("`not` is not available. Use `{% unless %}` or `!=`."));
        }
        let left = self.operand()?;
        self.skip_space();
        let compared = match self.comparison() {
            Some(comparison) => Some((comparison, self.operand()?)),
            None => None,
        };
        Ok(Test { left, compared })
    }

    fn comparison(&mut self) -> Option<Comparison> {
        const SIGNS: [(&str, Comparison); 7] = [
            ("==", Comparison::Equal),
            ("!=", Comparison::NotEqual),
            ("<>", Comparison::NotEqual),
            ("<=", Comparison::LessOrEqual),
            (">=", Comparison::GreaterOrEqual),
            ("<", Comparison::Less),
            (">", Comparison::Greater),
        ];
        if self.eat_word("contains") {
            return Some(Comparison::Contains);
        }
        SIGNS.iter().find(|(sign, _)| self.eat(sign)).map(|(_, comparison)| *comparison)
    }
}
