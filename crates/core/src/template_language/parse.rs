//! Builds the program from the tokens: which tag closes which, and what each tag's arguments mean.

use std::ops::Range;

use super::edges::Edges;
use super::lex::{self, Kind, Token};
use super::names::Names;
use super::program::{Block, Condition, Loop, Node, Pipeline, Program};
use super::reader::Reader;
use super::tags::{self, Tag};
use super::{Fault, MAX_DEPTH, SyntaxError, expr, suggestion};

/// What a source may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rules {
    /// Everything must be well formed.
    Strict,
    /// Tags must be well formed; what is wrong in a placeholder is skipped.
    Lenient,
    /// As lenient, and tags are text.
    Placeholders,
}

/// The tags a template can open a statement or block with.
const TAGS: [&str; 12] = [
    "if", "unless", "case", "for", "assign", "capture", "comment", "raw", "break", "continue", "elsif",
    "else",
];

/// Parses `source`. With [`Rules::Placeholders`] this does not fail.
pub(super) fn parse(source: &str, rules: Rules, marks: &[Range<usize>]) -> Result<Program, SyntaxError> {
    compile(source, rules, marks).map_err(|fault| SyntaxError::at(source, fault.at, fault.message))
}

fn compile(source: &str, rules: Rules, marks: &[Range<usize>]) -> Result<Program, Fault> {
    let tokens = lex::lex(source, rules != Rules::Placeholders)?;
    let mut parser = Parser {
        source,
        tokens,
        next: 0,
        names: Names::default(),
        lenient: rules != Rules::Strict,
        open: Vec::new(),
        loops: 0,
        edges: Edges::new(marks),
        writes_markup: false,
    };
    let nodes = parser.block()?.0;
    let defines = parser.names.defines();
    Ok(Program {
        source: source.into(),
        nodes,
        writes_markup: parser.writes_markup,
        names: parser.names.into_list(),
        defines,
    })
}

struct Parser<'s> {
    source: &'s str,
    tokens: Vec<Token>,
    /// The token to read next.
    next: usize,
    names: Names,
    lenient: bool,
    /// The blocks around the position: the name of the tag that opened each, and where it stands.
    open: Vec<(&'static str, usize)>,
    /// How many of them are loops.
    loops: usize,
    /// Where marks begin and end.
    edges: Edges,
    /// Whether an output before the position writes a value as it is.
    writes_markup: bool,
}

impl Parser<'_> {
    /// Reads nodes up to a tag that belongs to the innermost open block, or up to the end of the source.
    fn block(&mut self) -> Result<(Block, Option<Tag>), Fault> {
        let mut nodes = Vec::new();
        while let Some(token) = self.tokens.get(self.next) {
            self.next += 1;
            let (kind, start, inner) = (token.kind, token.start, token.inner.clone());
            match kind {
                Kind::Nothing => {}
                Kind::Text => {
                    let end = self.tokens.get(self.next).map_or(self.source.len(), |next| next.start);
                    self.edges.cut(start..end, inner, &mut nodes);
                }
                Kind::Output | Kind::RawOutput => {
                    let text = lex::decode(&self.source[inner.clone()]);
                    let value = self.pipeline(&text, 0, inner.start)?;
                    let raw = kind == Kind::RawOutput || value.is_raw();
                    self.writes_markup |= raw;
                    nodes.push(Node::Output { value, raw });
                }
                Kind::Tag => {
                    let tag = Tag::read(start, inner.start, &self.source[inner])?;
                    if self.closes(&tag)? {
                        return Ok((nodes, Some(tag)));
                    }
                    nodes.push(self.statement(&tag)?);
                }
            }
        }
        match self.open.last() {
            None => Ok((nodes, None)),
            Some((name, at)) => {
                let message =
                    format!("`{{% {name} %}}` is not closed. Add `{{% end{name} %}}` after its content.");
                Err(Fault::new(*at, message))
            }
        }
    }

    /// Whether `tag` continues or ends the innermost open block. A fault if it belongs to another one.
    fn closes(&self, tag: &Tag) -> Result<bool, Fault> {
        let name = tag.name.as_str();
        let innermost = self.open.last();
        let belongs = |opener: &str| match name {
            "else" => matches!(opener, "if" | "unless" | "case" | "for"),
            "elsif" => matches!(opener, "if" | "unless"),
            "when" => opener == "case",
            _ => name.strip_prefix("end") == Some(opener),
        };
        if innermost.is_some_and(|(opener, _)| belongs(opener)) {
            return Ok(true);
        }
        let block = name.strip_prefix("end").is_some_and(|block| TAGS.contains(&block));
        if !block && !matches!(name, "else" | "elsif" | "when") {
            return Ok(false);
        }
        let message = match innermost {
            None => {
                format!("`{{% {name} %}}` has no block to belong to. Remove it, or open the block before it.")
            }
            Some((opener, at)) => {
                let line = SyntaxError::at(self.source, *at, String::new()).line;
                format!(
                    "`{{% {name} %}}` stands inside `{{% {opener} %}}` of line {line}. Close that first with \
                     `{{% end{opener} %}}`."
                )
            }
        };
        Err(Fault::new(tag.start, message))
    }

    /// Reads the statement or block that `tag` begins.
    fn statement(&mut self, tag: &Tag) -> Result<Node, Fault> {
        match tag.name.as_str() {
            "if" => self.enclosed("if", tag, |parser| parser.conditional(tag, false)),
            "unless" => self.enclosed("unless", tag, |parser| parser.conditional(tag, true)),
            "case" => self.enclosed("case", tag, |parser| parser.case(tag)),
            "for" => self.enclosed("for", tag, |parser| parser.iteration(tag)),
            "capture" => self.enclosed("capture", tag, |parser| parser.capture(tag)),
            "assign" => self.assign(tag),
            "break" => self.jump(tag, Node::Break),
            "continue" => self.jump(tag, Node::Continue),
            "include" | "render" | "layout" => Err(Fault::new(
                tag.start,
                format!(
                    "`{}` is not available: a template cannot load another. Copy the content in.",
                    tag.name
                ),
            )),
            name => {
                let guess = suggestion(name, TAGS.into_iter());
                let message = format!(
                    "There is no tag `{name}`.{guess} Correct the name, or put the text between `{{% raw %}}` and \
                     `{{% endraw %}}`."
                );
                Err(Fault::new(tag.start, message))
            }
        }
    }

    /// Reads a block with `read` while it counts as open.
    fn enclosed(
        &mut self,
        name: &'static str,
        tag: &Tag,
        read: impl FnOnce(&mut Self) -> Result<Node, Fault>,
    ) -> Result<Node, Fault> {
        if self.open.len() >= MAX_DEPTH {
            let message = format!("More than {MAX_DEPTH} blocks are nested. Nest fewer.");
            return Err(Fault::new(tag.start, message));
        }
        self.open.push((name, tag.start));
        let node = read(self)?;
        self.open.pop();
        Ok(node)
    }

    fn conditional(&mut self, tag: &Tag, negated: bool) -> Result<Node, Fault> {
        let mut condition = self.condition(tag, negated)?;
        let mut branches = Vec::new();
        loop {
            let (body, end) = self.inner_block()?;
            branches.push((condition, body));
            match end.name.as_str() {
                "elsif" => condition = self.condition(&end, false)?,
                "else" => {
                    end.refuse_if()?;
                    let otherwise = self.last_block(&end)?;
                    return Ok(Node::If { branches, otherwise });
                }
                _ => {
                    self.no_arguments(&end)?;
                    return Ok(Node::If { branches, otherwise: Vec::new() });
                }
            }
        }
    }

    fn case(&mut self, tag: &Tag) -> Result<Node, Fault> {
        let subject = self.read(tag, |mut reader| {
            let subject = reader.operand()?;
            if reader.ends() { Ok(subject) } else { Err(reader.unexpected("`case` takes one value.")) }
        })?;
        // What stands before the first `when` belongs to no branch, as in Liquid.
        let (_, mut end) = self.inner_block()?;
        let mut branches = Vec::new();
        loop {
            match end.name.as_str() {
                "when" => {
                    let values = self.read(&end, tags::values)?;
                    let (body, next) = self.inner_block()?;
                    branches.push((values, body));
                    end = next;
                }
                "else" => {
                    let otherwise = self.last_block(&end)?;
                    return Ok(Node::Case { subject, branches, otherwise });
                }
                _ => {
                    self.no_arguments(&end)?;
                    return Ok(Node::Case { subject, branches, otherwise: Vec::new() });
                }
            }
        }
    }

    fn iteration(&mut self, tag: &Tag) -> Result<Node, Fault> {
        let (variable, header) = self.read(tag, tags::loop_header)?;
        let variable = self.names.bind(&variable);
        let info = self.names.bind("forloop");
        self.loops += 1;
        let (body, end) = self.inner_block()?;
        self.loops -= 1;
        self.names.unbind(variable);
        self.names.unbind(info);
        let otherwise = if end.name == "else" { self.last_block(&end)? } else { Vec::new() };
        Ok(Node::For(Box::new(Loop { variable, info, body, otherwise, ..header })))
    }

    fn capture(&mut self, tag: &Tag) -> Result<Node, Fault> {
        let name = self.read(tag, |mut reader| {
            let name = tags::new_name(&mut reader, "`capture` takes a name: `{% capture greeting %}`.")?;
            if reader.ends() { Ok(name) } else { Err(reader.unexpected("`capture` takes one name.")) }
        })?;
        let (body, _) = self.inner_block()?;
        // what it holds is written elsewhere, as it is
        self.writes_markup = true;
        Ok(Node::Capture { name: self.names.bind(&name), body })
    }

    fn assign(&mut self, tag: &Tag) -> Result<Node, Fault> {
        const HELP: &str = "Write `{% assign name = value %}`.";
        let (name, value) = self.read(tag, |mut reader| {
            let name = tags::new_name(&mut reader, HELP)?;
            reader.skip_space();
            if reader.eat("=") { Ok((name, reader.at())) } else { Err(reader.unexpected(HELP)) }
        })?;
        if tag.text[value..].trim().is_empty() {
            return Err(self.within(tag, Fault::new(value, format!("The value is missing. {HELP}"))));
        }
        let value = self.pipeline(&tag.text, value, tag.inner)?;
        Ok(Node::Assign { name: self.names.bind(&name), value })
    }

    fn jump(&mut self, tag: &Tag, node: Node) -> Result<Node, Fault> {
        self.no_arguments(tag)?;
        if self.loops == 0 {
            let message = format!("`{{% {} %}}` only works inside `{{% for %}}`. Remove it.", tag.name);
            return Err(Fault::new(tag.start, message));
        }
        Ok(node)
    }

    /// The nodes up to the tag that continues or ends the innermost block, and that tag.
    fn inner_block(&mut self) -> Result<(Block, Tag), Fault> {
        let (nodes, end) = self.block()?;
        // Inside a block, `block` only returns without a tag as a fault.
        end.map(|end| (nodes, end)).ok_or_else(|| Fault::new(self.source.len(), "A block is not closed."))
    }

    /// The nodes after the `else` that is `tag`, which must be the last part of its block.
    fn last_block(&mut self, tag: &Tag) -> Result<Block, Fault> {
        self.no_arguments(tag)?;
        let (nodes, end) = self.inner_block()?;
        if !end.name.starts_with("end") {
            let message = format!("`{}` cannot follow `else`. Put `else` last.", end.name);
            return Err(Fault::new(end.start, message));
        }
        self.no_arguments(&end)?;
        Ok(nodes)
    }

    fn no_arguments(&mut self, tag: &Tag) -> Result<(), Fault> {
        let help = format!("`{}` takes no values. Remove what follows its name.", tag.name);
        self.read(tag, |mut reader| if reader.ends() { Ok(()) } else { Err(reader.unexpected(&help)) })
    }

    fn condition(&mut self, tag: &Tag, negated: bool) -> Result<Condition, Fault> {
        self.read(tag, |reader| reader.condition(negated))
    }

    /// Reads the arguments of `tag`.
    fn read<T>(
        &mut self,
        tag: &Tag,
        read: impl FnOnce(Reader<'_, '_>) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let reader = Reader::new(&tag.text, tag.arguments, tag.text.len(), &mut self.names);
        read(reader).map_err(|fault| self.within(tag, fault))
    }

    fn pipeline(&mut self, text: &str, start: usize, inner: usize) -> Result<Pipeline, Fault> {
        let read = expr::pipeline(text, start, &mut self.names, self.lenient);
        read.map_err(|fault| self.relocated(inner, fault))
    }

    fn within(&self, tag: &Tag, fault: Fault) -> Fault {
        self.relocated(tag.inner, fault)
    }

    /// The fault in the decoded text of what begins at `inner`, as a fault in the source.
    fn relocated(&self, inner: usize, fault: Fault) -> Fault {
        Fault { at: inner + lex::undecoded(&self.source[inner..], fault.at), ..fault }
    }
}
