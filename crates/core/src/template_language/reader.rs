//! Reads the content of braces, piece by piece.

use super::Fault;
use super::names::Names;

/// A position in the text between braces (entities already decoded).
pub(super) struct Reader<'t, 'n> {
    text: &'t str,
    at: usize,
    pub(super) names: &'n mut Names,
    /// How many brackets and ranges the position is inside of.
    pub(super) depth: usize,
}

impl<'t, 'n> Reader<'t, 'n> {
    /// Reads `text` up to `end`, starting at `start`; faults are reported as offsets in `text`.
    pub(super) fn new(text: &'t str, start: usize, end: usize, names: &'n mut Names) -> Self {
        Self { text: &text[..end], at: start, names, depth: 0 }
    }

    /// What is not read yet.
    pub(super) fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    /// The offset of the position.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// Moves the position back to `at`.
    pub(super) fn go_back(&mut self, at: usize) {
        self.at = at;
    }

    /// The next character.
    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Goes on behind `count` bytes.
    pub(super) fn advance(&mut self, count: usize) {
        self.at += count;
    }

    /// Skips white space.
    pub(super) fn skip_space(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    /// Skips white space and says whether the text ends there.
    pub(super) fn ends(&mut self) -> bool {
        self.skip_space();
        self.rest().is_empty()
    }

    /// Reads `token` if it comes next.
    pub(super) fn eat(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    /// Reads `keyword` if it comes next as a whole word.
    pub(super) fn eat_word(&mut self, keyword: &str) -> bool {
        let found = self.next_word() == keyword;
        if found {
            self.at += keyword.len();
        }
        found
    }

    /// The word that comes next; empty when none does.
    pub(super) fn next_word(&self) -> &'t str {
        let rest = self.rest();
        let end = rest.find(|char| !is_word(char)).unwrap_or(rest.len());
        &rest[..end]
    }

    /// Reads the word that comes next.
    pub(super) fn word(&mut self) -> &'t str {
        let word = self.next_word();
        self.at += word.len();
        word
    }

    /// Reads a text in single or double quotes, whose opening quote comes next.
    pub(super) fn quoted(&mut self) -> Result<&'t str, Fault> {
        let rest = self.rest();
        let mark = rest.chars().next().unwrap_or('"');
        let body = &rest[mark.len_utf8()..];
        let Some(end) = body.find(mark) else {
            return Err(self.fault(format!("The text is not closed. Add a {mark} at its end.")));
        };
        self.at += end + 2 * mark.len_utf8();
        Ok(&body[..end])
    }

    /// Reads the number that comes next, if a whole word is one.
    pub(super) fn number(&mut self) -> Option<Number> {
        let rest = self.rest();
        let digits = |text: &str| text.find(|char: char| !char.is_ascii_digit()).unwrap_or(text.len());
        let sign = usize::from(rest.starts_with('-'));
        let whole = digits(&rest[sign..]);
        let mut end = sign + whole;
        let fraction = rest[end..].strip_prefix('.').map_or(0, digits);
        if fraction > 0 {
            end += 1 + fraction;
        }
        if whole == 0 || rest[end..].starts_with(is_word) {
            return None;
        }
        let text = &rest[..end];
        let int = if fraction == 0 { text.parse().ok().map(Number::Int) } else { None };
        let number = int.or_else(|| text.parse().ok().map(Number::Float));
        self.at += end;
        number
    }

    /// A fault at the position.
    pub(super) fn fault(&self, message: impl Into<String>) -> Fault {
        Fault::new(self.at, message)
    }

    /// A fault about what comes next, which should not; `help` says what should.
    pub(super) fn unexpected(&mut self, help: &str) -> Fault {
        self.skip_space();
        let word = self.next_word();
        let found = match (word, self.peek()) {
            ("", Some(char)) => format!("Unexpected `{char}`."),
            ("", None) => "Something is missing at the end.".to_owned(),
            _ => format!("Unexpected `{}`.", word.chars().take(40).collect::<String>()),
        };
        self.fault(format!("{found} {help}"))
    }
}

/// A number as written in a template.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Number {
    Int(i64),
    Float(f64),
}

/// Whether `char` is part of a name, where names cannot hold spaces.
pub(super) fn is_word(char: char) -> bool {
    char.is_alphanumeric() || matches!(char, '_' | '-' | '$' | '@')
}
