//! Cuts a source into text, outputs (`{{ }}`) and tags (`{% %}`).
//!
//! Braces are common in the CSS and scripts of HTML mails, so only certain placeholders count: a `{{` that meets
//! another brace before its `}}` is text.

use std::borrow::Cow;
use std::ops::Range;

use super::Fault;

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Text to write as it stands.
    Text,
    /// `{{ }}`.
    Output,
    /// `{{{ }}}`.
    RawOutput,
    /// `{% %}`.
    Tag,
    /// Something that writes nothing (a comment, the tags around `raw`), kept for its trim markers.
    Nothing,
}

/// A piece of the source.
#[derive(Debug)]
pub(super) struct Token {
    pub(super) kind: Kind,
    /// Where the token begins, braces included.
    pub(super) start: usize,
    /// The text, or what stands between the braces and trim markers.
    pub(super) inner: Range<usize>,
    trims_before: bool,
    trims_after: bool,
}

/// Cuts `source`. Without `tags`, `{%` is text.
pub(super) fn lex(source: &str, tags: bool) -> Result<Vec<Token>, Fault> {
    let mut lexer = Lexer { source, tokens: Vec::new(), text_from: 0 };
    let mut at = 0;
    while let Some(found) = source[at..].find('{') {
        let open = at + found;
        at = match source.as_bytes().get(open + 1) {
            Some(b'{') => lexer.output(open),
            Some(b'%') if tags => lexer.tag(open)?,
            _ => open + 1,
        };
    }
    lexer.text(source.len());
    trim(source, &mut lexer.tokens);
    Ok(lexer.tokens)
}

/// Where something else than text stands: placeholders, tags, and what `comment` blocks hold.
pub(super) fn marked_up(source: &str) -> Vec<Range<usize>> {
    let Ok(tokens) = lex(source, true).or_else(|_| lex(source, false)) else { return Vec::new() };
    let ends = tokens.iter().skip(1).map(|next| next.start).chain([source.len()]);
    let ranges = tokens.iter().zip(ends).filter(|(token, _)| token.kind != Kind::Text);
    ranges.map(|(token, end)| token.start..end).collect()
}

/// The source with everything but its text replaced by as many bytes of `x`.
pub(super) fn masked(source: &str) -> String {
    let mut masked = String::with_capacity(source.len());
    for range in marked_up(source) {
        masked.push_str(&source[masked.len()..range.start]);
        masked.extend(std::iter::repeat_n('x', range.len()));
    }
    masked.push_str(&source[masked.len()..]);
    masked
}

struct Lexer<'s> {
    source: &'s str,
    tokens: Vec<Token>,
    /// Where the text not yet in a token begins.
    text_from: usize,
}

impl Lexer<'_> {
    /// Ends the current text at `end`.
    fn text(&mut self, end: usize) {
        if self.text_from < end {
            self.tokens.push(Token {
                kind: Kind::Text,
                start: self.text_from,
                inner: self.text_from..end,
                trims_before: false,
                trims_after: false,
            });
        }
    }

    /// Adds the token that spans `start..end` with `inner` between its braces.
    fn push(&mut self, kind: Kind, start: usize, inner: Range<usize>, end: usize) {
        self.text(start);
        let (inner, trims_before, trims_after) = markers(self.source, inner);
        self.tokens.push(Token { kind, start, inner, trims_before, trims_after });
        self.text_from = end;
    }

    /// Reads the placeholder at `open`, if there is one, and returns where to go on.
    fn output(&mut self, open: usize) -> usize {
        let bytes = self.source.as_bytes();
        let triple = bytes.get(open + 2) == Some(&b'{');
        let from = open + if triple { 3 } else { 2 };
        let Some(close) = close_of(bytes, from, *b"{{", *b"}}") else { return open + 1 };
        let (kind, end) = match (triple, bytes.get(close + 2)) {
            (false, _) => (Kind::Output, close + 2),
            (true, Some(b'}')) => (Kind::RawOutput, close + 3),
            // `{{{name}}`: a brace of the text, then a placeholder.
            (true, _) => return open + 1,
        };
        self.push(kind, open, from..close, end);
        end
    }

    /// Reads the tag at `open` and returns where to go on.
    fn tag(&mut self, open: usize) -> Result<usize, Fault> {
        let Some(close) = close_of(self.source.as_bytes(), open + 2, *b"{%", *b"%}") else {
            return Err(Fault::new(
                open,
                "`{%` is not closed. Add `%}`, or put the text between `{% raw %}` and `{% endraw %}`.",
            ));
        };
        let inner = markers(self.source, open + 2..close).0;
        let content = self.source[inner].trim();
        let end = close + 2;
        let name = content.split(char::is_whitespace).next().unwrap_or_default();
        match name {
            "raw" | "comment" if name == "comment" || content == name => {
                self.verbatim(name, open, open + 2..close, end)
            }
            _ if content.starts_with('#') => {
                self.push(Kind::Nothing, open, open + 2..close, end);
                Ok(end)
            }
            _ => {
                self.push(Kind::Tag, open, open + 2..close, end);
                Ok(end)
            }
        }
    }

    /// Reads up to the end of a `raw` or `comment` block, whose content is not looked into.
    fn verbatim(
        &mut self,
        name: &str,
        open: usize,
        inner: Range<usize>,
        content: usize,
    ) -> Result<usize, Fault> {
        let Some((close, close_inner)) = self.end_tag(name, content) else {
            let message =
                format!("`{{% {name} %}}` is not closed. Add `{{% end{name} %}}` after its content.");
            return Err(Fault::new(open, message));
        };
        self.push(Kind::Nothing, open, inner, content);
        if name == "comment" {
            self.text_from = close;
        }
        let end = close_inner.end + 2;
        self.push(Kind::Nothing, close, close_inner, end);
        Ok(end)
    }

    /// Where the tag `end<name>` begins, and what stands between its braces.
    fn end_tag(&self, name: &str, from: usize) -> Option<(usize, Range<usize>)> {
        let mut at = from;
        loop {
            let open = at + self.source[at..].find("{%")?;
            at = open + 2;
            let rest = &self.source[at..];
            let rest = rest.strip_prefix('-').unwrap_or(rest).trim_start();
            let Some(rest) = rest.strip_prefix("end").and_then(|rest| rest.strip_prefix(name)) else {
                continue;
            };
            let rest = rest.trim_start();
            let rest = rest.strip_prefix('-').unwrap_or(rest);
            if rest.starts_with("%}") {
                return Some((open, open + 2..self.source.len() - rest.len()));
            }
        }
    }
}

/// Takes the trim markers off what stands between the braces, and says which there were.
fn markers(source: &str, inner: Range<usize>) -> (Range<usize>, bool, bool) {
    let Range { mut start, mut end } = inner;
    let before = source[start..end].starts_with('-');
    start += usize::from(before);
    let after = source[start..end].ends_with('-');
    end -= usize::from(after);
    (start..end, before, after)
}

/// Shortens the texts next to trim markers.
fn trim(source: &str, tokens: &mut [Token]) {
    for at in 0..tokens.len() {
        if tokens[at].kind != Kind::Text {
            continue;
        }
        let inner = tokens[at].inner.clone();
        if at > 0 && tokens[at - 1].trims_after {
            tokens[at].inner.start = inner.end - source[inner.clone()].trim_start().len();
        }
        let inner = tokens[at].inner.clone();
        if tokens.get(at + 1).is_some_and(|next| next.trims_before) {
            tokens[at].inner.end = inner.start + source[inner.clone()].trim_end().len();
        }
    }
}

/// Where `close` stands that ends what begins at `from`. A `close` inside quotes does not count, unless the quotes
/// do not match (`{{ name ?? 'tis }}`).
fn close_of(bytes: &[u8], from: usize, open: [u8; 2], close: [u8; 2]) -> Option<usize> {
    scan(bytes, from, open, close, true).or_else(|| scan(bytes, from, open, close, false))
}

/// A quoted text holds at most so many `{{` or `{%`, which keeps the search for its end linear in the source.
const OPENINGS_IN_QUOTES: u32 = 8;

fn scan(bytes: &[u8], from: usize, open: [u8; 2], close: [u8; 2], quotes: bool) -> Option<usize> {
    let mut quote = None;
    let mut openings = 0;
    let mut closed = false;
    for at in from..bytes.len() {
        let byte = bytes[at];
        let pair = [byte, bytes.get(at + 1).copied().unwrap_or_default()];
        if let Some(mark) = quote {
            if byte == mark {
                (quote, closed) = (None, false);
            } else if pair == close {
                closed = true;
            } else if pair == open {
                openings += 1;
                // The quote ran on into the next placeholder: it was an apostrophe.
                if closed || openings > OPENINGS_IN_QUOTES {
                    return None;
                }
            }
        } else if pair == close {
            return Some(at);
        } else if pair == open || (close == *b"}}" && matches!(byte, b'{' | b'}')) {
            return None;
        } else if quotes && opens_quote(bytes, from, at) {
            quote = Some(byte);
        }
    }
    None
}

/// Whether a quoted text begins at `at`, rather than an apostrophe within a word.
pub(super) fn opens_quote(bytes: &[u8], from: usize, at: usize) -> bool {
    let in_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii();
    matches!(bytes[at], b'"' | b'\'') && (at == from || !in_word(bytes[at - 1]))
}

/// The entities that rich-text editors write inside braces, and what they stand for.
const ENTITIES: [(&str, char); 6] =
    [("&lt;", '<'), ("&gt;", '>'), ("&quot;", '"'), ("&#39;", '\''), ("&amp;", '&'), ("&nbsp;", ' ')];

/// `inner` without the entities of a rich-text editor.
pub(super) fn decode(inner: &str) -> Cow<'_, str> {
    if !inner.contains('&') {
        return Cow::Borrowed(inner);
    }
    Cow::Owned(decoded(inner).map(|(_, char)| char).collect())
}

/// The offset in `inner` of what stands at `offset` in the decoded text.
pub(super) fn undecoded(inner: &str, offset: usize) -> usize {
    let mut at = 0;
    for (from, char) in decoded(inner) {
        if at >= offset {
            return from;
        }
        at += char.len_utf8();
    }
    inner.len()
}

/// The decoded characters, each with its offset in `inner`.
fn decoded(inner: &str) -> impl Iterator<Item = (usize, char)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = &inner[at..];
        let first = rest.chars().next()?;
        let entity = ENTITIES.iter().find(|(entity, _)| first == '&' && rest.starts_with(entity));
        let (len, char) = entity.map_or((first.len_utf8(), first), |(entity, char)| (entity.len(), *char));
        let from = at;
        at += len;
        Some((from, char))
    })
}
