//! What a body links to, shows and does, for whoever looks at it before a mail program does.

use std::ops::Range;

use super::address::next_character;
use super::element::Element;
use super::link::{MAX_LINKS, MAX_TARGET, add_words, place};
use super::tokens::{Token, Tokens};

/// Most pictures that are looked for.
pub const MAX_PICTURES: usize = 500;
/// Elements that act, or bring what acts. Mail programs take them out.
const ACTIVE: [&str; 8] = ["script", "form", "iframe", "object", "embed", "audio", "video", "applet"];

/// A link as a reader meets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenLink {
    /// Where it leads, decoded, without white space around it. Of a long target the first 4,096 bytes.
    pub target: String,
    /// Its text, or what its picture says of itself; at most 100 characters. It may be empty.
    pub text: String,
}

/// A picture of a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// Where its address stands in the body, without quotes; `None` where it has none.
    pub range: Option<Range<usize>>,
    /// Its address, decoded. Of a long one the first 4,096 bytes.
    pub source: String,
    /// Whether it says what it shows, or that it shows nothing: it has an `alt`.
    pub is_described: bool,
}

/// What was found in a body.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Survey {
    /// The links in their order, at most 500.
    pub links: Vec<SeenLink>,
    /// The pictures in their order, at most 500: of more the first ones and the last.
    pub pictures: Vec<Picture>,
    /// The elements that mail programs take out, each once.
    pub active: Vec<&'static str>,
    /// Whether there are more links or pictures.
    pub is_cut: bool,
}

impl Survey {
    /// Looks at a body. Takes any text, in time linear in its length.
    pub fn of(body: &str) -> Self {
        let mut found = Self::default();
        let mut tokens = Tokens::new(body);
        let mut is_open = false;
        while let Some(token) = tokens.next() {
            match token {
                Token::Text(text) if is_open => found.say(text),
                Token::Text(_) => {}
                Token::Open(tag) => {
                    let is = |name: &str| tag.name.eq_ignore_ascii_case(name);
                    if let Some(name) = ACTIVE.into_iter().find(|name| is(name))
                        && !found.active.contains(&name)
                    {
                        found.active.push(name);
                    }
                    if is("a") || is("area") {
                        let target = tag.attribute("href");
                        is_open = is("a") && target.is_some() && found.links.len() < MAX_LINKS;
                        if let Some(target) = target {
                            found.add_link(target);
                        }
                    } else if is("img") {
                        let alternative = tag.attribute("alt");
                        let source =
                            tag.attribute("src").map(|source| (place(body, source), decoded(source)));
                        found.add_picture(source, alternative.is_some());
                        if is_open {
                            found.say(alternative.unwrap_or_default());
                        }
                    } else if Element::of(tag.name) == Element::Dropped {
                        tokens.skip_past_end_of(tag.name);
                    }
                }
                Token::Close(name) => is_open &= !name.eq_ignore_ascii_case("a"),
            }
        }
        found
    }

    fn add_link(&mut self, target: &str) {
        if self.links.len() < MAX_LINKS {
            self.links.push(SeenLink { target: decoded(target), text: String::new() });
        } else {
            self.is_cut = true;
        }
    }

    fn add_picture(&mut self, source: Option<(Range<usize>, String)>, is_described: bool) {
        if self.pictures.len() >= MAX_PICTURES {
            // the last one of a mail is mostly that by which opens are counted
            self.pictures.pop();
            self.is_cut = true;
        }
        let (range, source) = source.unzip();
        let range = range.filter(|range| !range.is_empty());
        self.pictures.push(Picture { range, source: source.unwrap_or_default(), is_described });
    }

    /// Adds to the text of the last link.
    fn say(&mut self, text: &str) {
        if let Some(link) = self.links.last_mut() {
            add_words(&mut link.text, text);
        }
    }
}

/// A value with its entities decoded, without what a browser leaves out of an address.
fn decoded(value: &str) -> String {
    let value = value.trim_ascii();
    let mut text = String::new();
    let mut rest = value;
    while let Some(first) = rest.bytes().next()
        && text.len() < MAX_TARGET
    {
        let (c, length) = next_character(rest, first);
        if !c.is_control() {
            text.push(c);
        }
        rest = &rest[length..];
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn links_pictures_and_what_acts_are_found() {
        let body = "<style>a { color: red } <img src=x></style><a href=' https://a.test/?x=1&amp;y=2 '>Read <b>it</b></a>\
            <a href=''>nowhere</a><a name=x>no link</a><a href='#'><img src='cid:logo' alt='A &amp; B'></a>\
            <IMG SRC=https://b.test/p.png><img alt=''><form><script>'<a href=x>'</script></form><form></form>\
            <!-- <a href=https://c.test> -->";
        let found = Survey::of(body);
        let links: Vec<_> = found.links.iter().map(|link| (&*link.target, &*link.text)).collect();
        assert_eq!(links, [("https://a.test/?x=1&y=2", "Read it"), ("", "nowhere"), ("#", "A & B")]);
        let pictures: Vec<_> = found
            .pictures
            .iter()
            .map(|picture| {
                (picture.range.clone().map(|range| &body[range]), &*picture.source, picture.is_described)
            })
            .collect();
        assert_eq!(
            pictures,
            [
                (Some("cid:logo"), "cid:logo", true),
                (Some("https://b.test/p.png"), "https://b.test/p.png", false),
                (None, "", true),
            ]
        );
        assert_eq!(found.active, ["form", "script"]);
        assert!(!found.is_cut);
    }

    #[test]
    fn what_is_found_is_bounded() {
        let found = Survey::of(&"<a href=https://a.test><img src=x>".repeat(MAX_LINKS + 1));
        assert_eq!((found.links.len(), found.pictures.len()), (MAX_LINKS, MAX_PICTURES));
        assert!(found.is_cut);
        let last = format!("{}<img src=last>", "<img src=x>".repeat(2 * MAX_PICTURES));
        let found = Survey::of(&last).pictures;
        assert_eq!((found.len(), found.last().map(|last| &*last.source)), (MAX_PICTURES, Some("last")));
        let long = format!("<a href='https://a.test/{}'>", "x".repeat(2 * MAX_TARGET));
        assert_eq!(Survey::of(&long).links[0].target.len(), MAX_TARGET);
    }

    proptest! {
        #[test]
        fn any_text_is_taken(body in "([<>a-z=\"' /&#;é{}%]|<a href=|<img src=|</a>|<!--|-->|<script>){0,60}") {
            for picture in Survey::of(&body).pictures {
                prop_assert!(picture.range.is_none_or(|range| body.get(range).is_some()));
            }
        }
    }
}
