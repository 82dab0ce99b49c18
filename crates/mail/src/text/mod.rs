//! The plain text part of a message, made from its HTML if the sender gives none.
//!
//! The rules are those of the reference, section 4.4 "Plain text", and some that readers need beyond them:
//!
//! - Style, script, head and hidden elements are dropped.
//! - A link becomes `text (address)`.
//! - The ends of blocks and `br` become line breaks, the ends of cells tabs.
//! - Items of lists have their number or `- ` and are indented; quotes have `> `; `pre` keeps its lines.
//! - Entities are decoded. Runs of white space and of blank lines collapse.

mod address;
mod element;
mod entities;
mod link;
mod nesting;
mod pictures;
mod place;
mod style;
mod survey;
#[cfg(test)]
mod tests;
mod tokens;
mod writer;

use self::element::Element;
pub use self::link::{Link, MAX_LINKS, MAX_TARGET, dead_links, links, web_address};
pub use self::pictures::pictures_without_alt;
pub use self::place::end_of_what_is_seen;
pub use self::survey::{MAX_PICTURES, Picture, SeenLink, Survey};
use self::tokens::{Token, Tokens};
use self::writer::TextWriter;

/// Makes readable plain text of `html`. Lines end with `\n`; there is no white space at either end.
///
/// Takes any text, well-formed or not, in time linear in its length.
pub fn html_to_text(html: &str) -> String {
    let mut writer = TextWriter::new(html.len());
    let mut tokens = Tokens::new(html);
    while let Some(token) = tokens.next() {
        match token {
            Token::Text(text) => writer.text(text),
            Token::Open(tag) => {
                let element = Element::of(tag.name);
                if element == Element::Dropped {
                    tokens.skip_past_end_of(tag.name);
                } else {
                    writer.open(element, &tag);
                }
            }
            Token::Close(name) => writer.close(Element::of(name), name),
        }
    }
    writer.end_link();
    // a mail that is one picture, or several, is what they say of themselves
    if writer.out.is_empty() && !writer.alternatives.is_empty() {
        return html_to_text(&writer.alternatives);
    }
    writer.out
}
