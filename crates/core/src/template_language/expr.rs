//! Reads expressions: the content of `{{ }}` and the arguments of tags.

use std::ops::Range;

use super::filters::{self, Filter};
use super::lex::opens_quote;
use super::names::Names;
use super::program::{Expr, Key, Path, Pipeline, Step};
use super::reader::{Number, Reader, is_word};
use super::{Fault, suggestion};

/// How deep brackets and ranges can stand inside each other.
const MAX_BRACKETS: usize = 16;
const NAME_HELP: &str = "Write a name, such as `{{ name }}`.";
/// What to do about a sign that cannot be read.
pub(super) const KEY_HELP: &str =
    "A key with spaces or signs is written `data[\"the key\"]`, and text goes in quotes.";

/// Reads `name ?? "fallback" | filter: argument`, which begins at `start` of `text`. If `lenient`, what cannot be
/// read is skipped, and a name that cannot be read is taken whole.
pub(super) fn pipeline(
    text: &str,
    start: usize,
    names: &mut Names,
    lenient: bool,
) -> Result<Pipeline, Fault> {
    let parts = parts(text, start);
    let mut head = Expr::Nil;
    let mut steps = Vec::with_capacity(parts.len() - 1);
    for (at, part) in parts.iter().enumerate() {
        let Range { start, end } = part.range.clone();
        match part.kind {
            PartKind::Head if text[start..end].trim().is_empty() && parts.len() == 1 => {}
            PartKind::Head => {
                head = match Reader::new(text, start, end, names).head() {
                    Err(_) if lenient => whole_name(&text[start..end], names),
                    read => read?,
                }
            }
            PartKind::Fallback => steps.push(Step::Fallback(fallback(text, start, end, names, lenient)?)),
            PartKind::Filter => {
                let doubled = text[start..end].is_empty() && parts.get(at + 1).is_some();
                match Reader::new(text, start, end, names).filter(doubled, !lenient) {
                    Err(_) if lenient => {}
                    read => {
                        let (filter, arguments) = read?;
                        steps.push(Step::Filter(filter, arguments));
                    }
                }
            }
        }
    }
    Ok(Pipeline { head, steps })
}

/// A piece of a pipeline between `??` and `|`.
struct Part {
    kind: PartKind,
    range: Range<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum PartKind {
    Head,
    Fallback,
    Filter,
}

/// Cuts `text` at the `??` and `|` outside quotes.
fn parts(text: &str, start: usize) -> Vec<Part> {
    let bytes = text.as_bytes();
    let mut parts = Vec::new();
    let (mut kind, mut from, mut at) = (PartKind::Head, start, start);
    let mut quote = None;
    // A fallback is quoted from its beginning or not at all: `?? rock 'n' roll`.
    let mut blank = true;
    while at < bytes.len() {
        let next = match bytes[at] {
            _ if quote.is_some() => None,
            b'|' => Some((PartKind::Filter, 1)),
            b'?' if bytes.get(at + 1) == Some(&b'?') => Some((PartKind::Fallback, 2)),
            _ => None,
        };
        if let Some((next, len)) = next {
            parts.push(Part { kind, range: from..at });
            at += len;
            (kind, from, blank) = (next, at, true);
            continue;
        }
        if quote == Some(bytes[at]) {
            quote = None;
        } else if quote.is_none() && opens_quote(bytes, from, at) && (blank || kind != PartKind::Fallback) {
            quote = Some(bytes[at]);
        }
        blank &= bytes[at].is_ascii_whitespace();
        at += 1;
    }
    parts.push(Part { kind, range: from..bytes.len() });
    parts
}

/// The name that is all of `text`.
fn whole_name(text: &str, names: &mut Names) -> Expr {
    let name = text.trim();
    if name.is_empty() {
        return Expr::Nil;
    }
    Expr::Path(Path { root: names.used(name), rest: Vec::new() })
}

/// The text of a fallback: quoted, or as it stands.
fn fallback(
    text: &str,
    start: usize,
    end: usize,
    names: &mut Names,
    lenient: bool,
) -> Result<Box<str>, Fault> {
    let plain = text[start..end].trim();
    if !plain.starts_with(['"', '\'']) {
        return Ok(plain.into());
    }
    let mut reader = Reader::new(text, start, end, names);
    reader.skip_space();
    let quoted = reader.quoted().and_then(|quoted| {
        if reader.ends() {
            return Ok(quoted);
        }
        Err(reader.unexpected(
            "A fallback is one text: put it in the other kind of quotes if it has quotes inside.",
        ))
    });
    match quoted {
        Err(_) if lenient => Ok(plain.into()),
        quoted => quoted.map(Into::into),
    }
}

impl Reader<'_, '_> {
    /// Reads what a pipeline begins with, where names can hold spaces.
    fn head(mut self) -> Result<Expr, Fault> {
        self.skip_space();
        let start = self.at();
        let literal = match self.peek() {
            Some('"' | '\'') => Some(Expr::Text(self.quoted()?.into())),
            Some('(') => Some(self.range()?),
            None => return Err(self.fault(format!("The name is missing. {NAME_HELP}"))),
            _ => self.number().map(number).filter(|_| self.rest().trim().is_empty()),
        };
        let head = if let Some(literal) = literal {
            literal
        } else {
            self.go_back(start);
            self.path(true)?
        };
        if self.ends() { Ok(head) } else { Err(self.misplaced(start)) }
    }

    /// Says why the rest of a pipeline's beginning, which started at `start`, cannot be read.
    fn misplaced(&mut self, start: usize) -> Fault {
        let help = match self.peek() {
            Some('#' | '/' | '^' | '>' | '&' | '!') if self.at() == start => {
                "Blocks are written `{% if name %}` ... `{% endif %}` and `{% for item in items %}` ... `{% endfor %}`."
            }
            Some('=' | '<' | '>' | '!') => "Compare inside `{% if %}`: `{% if plan == \"pro\" %}`.",
            Some('+' | '*' | '/' | '%') => "Calculate with filters: `{{ price | plus: 1 }}`.",
            Some('(') => "There are no functions; use filters: `{{ name | upcase }}`.",
            Some('?') => "A fallback is written `{{ name ?? \"text\" }}`.",
            _ => KEY_HELP,
        };
        self.unexpected(help)
    }

    /// Reads a value: a literal, a range or a path whose names hold no spaces.
    pub(super) fn operand(&mut self) -> Result<Expr, Fault> {
        self.skip_space();
        match self.peek() {
            Some('"' | '\'') => Ok(Expr::Text(self.quoted()?.into())),
            Some('(') => self.range(),
            _ => match self.number() {
                Some(read) => Ok(number(read)),
                None => self.path(false),
            },
        }
    }

    /// Reads `(first..last)`.
    fn range(&mut self) -> Result<Expr, Fault> {
        self.enter()?;
        self.eat("(");
        let first = self.operand()?;
        self.skip_space();
        if !self.eat("..") {
            return Err(self.unexpected("A range is written `(1..5)`."));
        }
        let last = self.operand()?;
        self.skip_space();
        if !self.eat(")") {
            return Err(self.unexpected("Close the range with `)`."));
        }
        self.depth -= 1;
        Ok(Expr::Range(Box::new((first, last))))
    }

    /// Reads a path, or a literal written as a word. `spaced` names can hold spaces and some signs.
    fn path(&mut self, spaced: bool) -> Result<Expr, Fault> {
        let root = if self.peek() == Some('[') {
            let at = self.at();
            match self.bracket()? {
                Key::Fixed(name, _) => name,
                Key::Computed(_) => {
                    return Err(Fault::new(at, format!("Put the key in quotes. {KEY_HELP}")));
                }
            }
        } else {
            let root = self.name(spaced)?;
            match self.peek() {
                Some('.' | '[') => {}
                _ => {
                    if let Some(literal) = literal(&root) {
                        return Ok(literal);
                    }
                }
            }
            root
        };
        let mut rest = Vec::new();
        loop {
            if self.peek() == Some('[') {
                rest.push(self.bracket()?);
            } else if self.peek() == Some('.') && !self.rest().starts_with("..") {
                self.advance(1);
                self.skip_space();
                rest.push(Key::fixed(&self.name(spaced)?));
            } else {
                return Ok(Expr::Path(Path { root: self.names.used(&root), rest }));
            }
        }
    }

    /// Reads one name of a path.
    fn name(&mut self, spaced: bool) -> Result<Box<str>, Fault> {
        let name: Box<str> = if spaced { self.spaced_name() } else { self.word().into() };
        if !name.is_empty() {
            return Ok(name);
        }
        if self.ends() {
            return Err(self.fault(format!("A name or value is missing here. {NAME_HELP}")));
        }
        Err(self.misplaced(self.at()))
    }

    /// Reads a name that can hold spaces; several in a row count as one, as between words that are wrapped.
    fn spaced_name(&mut self) -> Box<str> {
        let rest = self.rest();
        let mut in_word = false;
        let end = rest.find(|char: char| {
            let sign = matches!(char, ':' | ';') || (in_word && matches!(char, '\'' | '’'));
            in_word = is_word(char);
            !(in_word || sign || char.is_whitespace())
        });
        let name = &rest[..end.unwrap_or(rest.len())];
        self.advance(name.len());
        let words: Vec<&str> = name.split_whitespace().collect();
        words.join(" ").into()
    }

    /// Reads `["key"]`, `[0]` or `[name]`.
    fn bracket(&mut self) -> Result<Key, Fault> {
        self.enter()?;
        self.eat("[");
        let key = match self.operand()? {
            Expr::Text(text) => Key::fixed(&text),
            Expr::Int(index) => Key::Fixed(index.to_string().into(), Some(index)),
            computed => Key::Computed(computed),
        };
        self.skip_space();
        if !self.eat("]") {
            return Err(self.unexpected("Close the key with `]`; a key that is a text goes in quotes."));
        }
        self.depth -= 1;
        Ok(key)
    }

    fn enter(&mut self) -> Result<(), Fault> {
        self.depth += 1;
        if self.depth > MAX_BRACKETS {
            return Err(self.fault(format!("More than {MAX_BRACKETS} brackets are nested.")));
        }
        Ok(())
    }

    /// Reads `filter: argument, argument`, to the end. `doubled` says that the `|` before was one of two, `guess`
    /// that an unknown name is worth a look for what was meant.
    fn filter(mut self, doubled: bool, guess: bool) -> Result<(&'static Filter, Vec<Expr>), Fault> {
        self.skip_space();
        let at = self.at();
        let name = self.word();
        if name.is_empty() {
            let help = if doubled {
                "`||` is not available. A fallback is written `{{ name ?? \"text\" }}`."
            } else {
                "The name of a filter goes after `|`, such as `{{ name | upcase }}`."
            };
            return Err(Fault::new(at, help));
        }
        let Some(filter) = filters::find(name) else {
            let known = filters::ALL.iter().map(|filter| filter.name);
            let guess = if guess { suggestion(name, known) } else { String::new() };
            let message =
                format!("There is no filter `{name}`.{guess} Correct the name or remove the filter.");
            return Err(Fault::new(at, message));
        };
        self.skip_space();
        let arguments = if self.eat(":") { self.arguments()? } else { Vec::new() };
        if !self.ends() {
            return Err(self.unexpected(if arguments.is_empty() {
                "The values of a filter go after a colon: `| append: \"!\"`."
            } else {
                "Separate values with commas, and put text in quotes."
            }));
        }
        filter.check(arguments.len()).map_err(|message| Fault::new(at, message))?;
        Ok((filter, arguments))
    }

    fn arguments(&mut self) -> Result<Vec<Expr>, Fault> {
        let mut arguments = Vec::new();
        loop {
            self.skip_space();
            // The one option that Liquid writes with its name; it is the second value of `default`.
            if self.eat_word("allow_false") {
                self.skip_space();
                self.eat(":");
            }
            arguments.push(self.operand()?);
            self.skip_space();
            if !self.eat(",") {
                return Ok(arguments);
            }
        }
    }
}

fn number(number: Number) -> Expr {
    match number {
        Number::Int(int) => Expr::Int(int),
        Number::Float(float) => Expr::Float(float),
    }
}

/// The literal that `word` is, unless it is a name.
fn literal(word: &str) -> Option<Expr> {
    Some(match word {
        "true" => Expr::Bool(true),
        "false" => Expr::Bool(false),
        "nil" | "null" => Expr::Nil,
        "empty" => Expr::Empty,
        "blank" => Expr::Blank,
        _ => return None,
    })
}
