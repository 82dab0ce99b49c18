//! Reads single tags.

use super::names::Symbol;
use super::program::{Expr, Loop};
use super::reader::{Reader, is_word};
use super::{Fault, lex};

/// A `{% %}` tag: its name and, from `arguments` on, its decoded text.
pub(super) struct Tag {
    pub(super) name: String,
    pub(super) text: String,
    pub(super) arguments: usize,
    pub(super) start: usize,
    pub(super) inner: usize,
}

impl Tag {
    /// Takes apart the tag at `start` that has `raw`, from `inner` on, between its braces.
    pub(super) fn read(start: usize, inner: usize, raw: &str) -> Result<Self, Fault> {
        let text = lex::decode(raw).into_owned();
        let content = text.trim_start();
        let from = text.len() - content.len();
        let end = content.find(|char| !is_word(char)).unwrap_or(content.len());
        let name = content[..end].to_owned();
        if name.is_empty() {
            return Err(Fault::new(start, "The tag has no name. Write one, such as `{% if name %}`."));
        }
        Ok(Self { name, arguments: from + end, text, start, inner })
    }

    /// Refuses `else if`.
    pub(super) fn refuse_if(&self) -> Result<(), Fault> {
        if self.text[self.arguments..].trim_start().starts_with("if") {
            return Err(Fault::new(self.start, "`else if` is written `{% elsif condition %}`."));
        }
        Ok(())
    }
}

/// Reads the name that a tag gives a value to.
pub(super) fn new_name(reader: &mut Reader<'_, '_>, help: &str) -> Result<String, Fault> {
    reader.skip_space();
    let name = reader.word();
    if name.is_empty() { Err(reader.unexpected(help)) } else { Ok(name.to_owned()) }
}

/// Reads the values of a `when`.
pub(super) fn values(mut reader: Reader<'_, '_>) -> Result<Vec<Expr>, Fault> {
    let mut values = Vec::new();
    loop {
        values.push(reader.operand()?);
        if reader.ends() {
            return Ok(values);
        }
        if !reader.eat(",") && !reader.eat_word("or") {
            return Err(reader.unexpected("Separate the values of `when` with commas."));
        }
    }
}

/// Reads `item in items limit:1 offset:1 reversed`: the name of the variable, and a loop without its content.
pub(super) fn loop_header(mut reader: Reader<'_, '_>) -> Result<(String, Loop), Fault> {
    const HELP: &str = "Write `{% for item in items %}`.";
    let variable = new_name(&mut reader, HELP)?;
    reader.skip_space();
    if !reader.eat_word("in") {
        return Err(reader.unexpected(HELP));
    }
    let unset = Symbol(usize::MAX);
    let mut header = Loop {
        variable: unset,
        info: unset,
        source: reader.operand()?,
        limit: None,
        offset: None,
        reversed: false,
        body: Vec::new(),
        otherwise: Vec::new(),
    };
    while !reader.ends() {
        reader.eat(",");
        reader.skip_space();
        let place = match reader.next_word() {
            "reversed" => {
                reader.word();
                header.reversed = true;
                continue;
            }
            "limit" => &mut header.limit,
            "offset" => &mut header.offset,
            _ => {
                return Err(reader.unexpected("Only `limit:`, `offset:` and `reversed` can follow the list."));
            }
        };
        reader.word();
        reader.skip_space();
        if !reader.eat(":") {
            return Err(reader.unexpected("Write `limit: 5` and `offset: 5`."));
        }
        *place = Some(reader.operand()?);
    }
    Ok((variable, header))
}
