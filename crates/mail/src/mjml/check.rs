//! A first reading of a source: what it holds is counted, and its attributes are made safe.

use htmlparser::{ElementEnd, StrSpan, Token, Tokenizer};

use super::fault::{Flaw, NO_INCLUDE};
use super::limits::{MAX_CAROUSEL_IMAGES, MAX_CLASSES, MAX_DEPTH, MAX_ELEMENTS, MAX_INHERITED};
use super::positions::Positions;

/// A source that may be rendered.
#[derive(Debug)]
pub(super) struct Checked {
    pub(super) text: String,
    /// Where what stands in it stands in the source.
    pub(super) positions: Positions,
}

/// Elements without content, as `mrml` knows them.
const VOID: [&str; 14] = [
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track",
    "wbr",
];
/// Elements whose attributes go on to what stands in them.
const PASSING_ON: [&str; 6] =
    ["mj-accordion", "mj-accordion-element", "mj-carousel", "mj-navbar", "mj-social", "mj-social-element"];

/// Counts what a source holds, and writes its attributes so that they come out as they are.
pub(super) fn check(source: &str) -> Result<Checked, Flaw> {
    let mut reading = Reading::default();
    let mut made = Checked { text: String::with_capacity(source.len()), positions: Positions::default() };
    let mut copied = 0;
    for token in Tokenizer::from(source) {
        let token = token.map_err(|error| unreadable(source, &error))?;
        reading.note(&token)?;
        let Token::Attribute { value: Some(value), .. } = token else { continue };
        if value.as_str().chars().any(is_escaped) {
            made.text.push_str(&source[copied..value.start()]);
            made.positions.note(made.text.len(), value.start());
            for letter in value.as_str().chars() {
                if is_escaped(letter) {
                    made.text.push_str(&format!("&#{};", u32::from(letter)));
                } else {
                    made.text.push(letter);
                }
            }
            made.positions.note(made.text.len(), value.end());
            copied = value.end();
        }
    }
    made.text.push_str(&source[copied..]);
    reading.finish()?;
    Ok(made)
}

/// Whether Rust writes a letter of a text in another way, as `mrml` does with attributes. HTML reads numbers instead.
fn is_escaped(letter: char) -> bool {
    letter != '\'' && letter.escape_debug().len() > 1
}

/// What was read so far.
#[derive(Debug, Default)]
struct Reading {
    elements: usize,
    depth: usize,
    /// The name of the element whose attributes come.
    is_void: bool,
    passes_on: bool,
    /// How deep `mj-attributes` stands, if what comes is in it.
    in_attributes: Option<usize>,
    images: usize,
    classes: usize,
    inherited: usize,
}

impl Reading {
    fn note(&mut self, token: &Token<'_>) -> Result<(), Flaw> {
        match token {
            Token::ElementStart { local, span, .. } => self.begin(local, span.start()),
            Token::Attribute { local, value, span, .. } => {
                if self.passes_on || self.in_attributes.is_some() {
                    self.inherited += span.as_str().len();
                }
                if local.as_str() == "mj-class" {
                    self.classes += value.map_or(0, |value| value.as_str().len());
                }
                if self.classes > MAX_CLASSES {
                    let most = MAX_CLASSES / 1024;
                    return Err(Flaw::at(
                        span.start(),
                        format!("All `mj-class` together are longer than {most} KB."),
                    ));
                }
                Ok(())
            }
            Token::ElementEnd { end: ElementEnd::Open, span } => {
                if !self.is_void {
                    self.depth += 1;
                }
                if self.depth > MAX_DEPTH {
                    let text = format!("More than {MAX_DEPTH} elements stand inside each other here.");
                    return Err(Flaw::at(span.start(), text));
                }
                Ok(())
            }
            Token::ElementEnd { end, .. } => {
                if matches!(end, ElementEnd::Close(..)) {
                    self.depth = self.depth.saturating_sub(1);
                }
                self.in_attributes = self.in_attributes.filter(|depth| self.depth > *depth);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn begin(&mut self, name: &StrSpan<'_>, at: usize) -> Result<(), Flaw> {
        self.elements += 1;
        if self.elements > MAX_ELEMENTS {
            return Err(Flaw::at(at, format!("The MJML has more than {MAX_ELEMENTS} elements.")));
        }
        let name = name.as_str();
        self.is_void = VOID.contains(&name);
        self.passes_on = PASSING_ON.contains(&name);
        match name {
            "mj-include" => return Err(Flaw::at(at, NO_INCLUDE)),
            "mj-attributes" => self.in_attributes = self.in_attributes.or(Some(self.depth)),
            "mj-carousel-image" => self.images += 1,
            _ => {}
        }
        if self.images > MAX_CAROUSEL_IMAGES {
            return Err(Flaw::at(
                at,
                format!("The MJML has more than {MAX_CAROUSEL_IMAGES} images of carousels."),
            ));
        }
        Ok(())
    }

    fn finish(&self) -> Result<(), Flaw> {
        if self.inherited.saturating_mul(self.elements) > MAX_INHERITED {
            return Err(Flaw::nowhere(format!(
                "{} bytes of attributes that elements take over (from `mj-attributes`, `mj-social` and their like) are too \
                 much for {} elements: the product can be {MAX_INHERITED} at most.",
                self.inherited, self.elements
            )));
        }
        Ok(())
    }
}

/// What the reader of the tokens did not understand.
fn unreadable(source: &str, error: &htmlparser::Error) -> Flaw {
    use htmlparser::Error;
    let place = error.pos();
    let line =
        source.split_inclusive('\n').take(place.row.saturating_sub(1) as usize).map(str::len).sum::<usize>();
    let rest = &source[line..];
    let column =
        rest.char_indices().nth(place.col.saturating_sub(1) as usize).map_or(rest.len(), |(at, _)| at);
    let message = match error {
        Error::InvalidElement(..) => {
            "Here a name of an element is missing or wrong. Write `&lt;` for the sign `<` in texts."
        }
        Error::InvalidAttribute(..) => "Here an attribute is wrong. Write it as `name=\"value\"`.",
        Error::InvalidComment(..) | Error::InvalidConditionalComment(..) => {
            "Here a comment is wrong or is not closed."
        }
        Error::InvalidCharData(..) => "Here the text has something that no text can have.",
        Error::InvalidDeclaration(..)
        | Error::InvalidPI(..)
        | Error::InvalidDoctype(..)
        | Error::InvalidEntity(..)
        | Error::InvalidCdata(..)
        | Error::UnknownToken(..) => "Here stands something that MJML does not have.",
    };
    Flaw::at(line + column, message)
}
