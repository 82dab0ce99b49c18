//! The links of a body, for whoever puts other targets in their place.

use std::ops::Range;

use super::address::next_character;
use super::element::Element;
use super::tokens::{Tag, Token, Tokens};

/// Most links that are looked for. What comes after stays as it is.
pub const MAX_LINKS: usize = 500;
/// The longest target, in bytes, that counts; longer ones stay as they are.
pub const MAX_TARGET: usize = 4096;
/// Most characters of a link's text that are kept.
const MAX_TEXT: usize = 100;
/// The attribute that keeps a link as it is.
const UNTRACKED: &str = "data-no-track";

/// A link of a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Where its target stands, without quotes.
    pub range: Range<usize>,
    /// What a reader sees of it: its text, or what its picture says of itself. It may be empty.
    pub text: String,
}

/// The links of a body whose targets may be replaced: those of `a` and `area` without the attribute `data-no-track`,
/// in their order. `masked` is the body with the same length, in which no brace of the template language is left to be
/// taken for HTML, and `body` gives the texts.
///
/// Takes any text, in time linear in its length.
pub fn links(body: &str, masked: &str) -> Vec<Link> {
    let mut found: Vec<Link> = Vec::new();
    let mut tokens = Tokens::new(masked);
    let mut is_open = false;
    while let Some(token) = tokens.next() {
        match token {
            Token::Text(text) if is_open => {
                let end = tokens.at();
                add_text(&mut found, body.get(end - text.len()..end).unwrap_or_default());
            }
            Token::Text(_) => {}
            Token::Open(tag) => {
                let is_link = tag.name.eq_ignore_ascii_case("a");
                if is_link || tag.name.eq_ignore_ascii_case("area") {
                    let range = target(masked, &tag).filter(|_| found.len() < MAX_LINKS);
                    is_open = is_link && range.is_some();
                    found.extend(range.map(|range| Link { range, text: String::new() }));
                } else if Element::of(tag.name) == Element::Dropped {
                    tokens.skip_past_end_of(tag.name);
                } else if is_open && tag.name.eq_ignore_ascii_case("img") {
                    let alternative = tag.attribute("alt").and_then(|alt| body.get(place(masked, alt)));
                    add_text(&mut found, alternative.unwrap_or_default());
                }
            }
            Token::Close(name) => is_open &= !name.eq_ignore_ascii_case("a"),
        }
    }
    found
}

/// Where the links of HTML begin that lead nowhere, since their target is empty or only `#`; so many at most.
pub fn dead_links(masked: &str, most: usize) -> Vec<usize> {
    let mut found = Vec::new();
    let mut tokens = Tokens::new(masked);
    while let Some(token) = tokens.next() {
        let Token::Open(tag) = token else { continue };
        let is_dead = |target: &str| matches!(target.trim(), "" | "#");
        if tag.name.eq_ignore_ascii_case("a") && tag.attribute("href").is_some_and(is_dead) {
            found.push(tokens.start());
            if found.len() == most {
                break;
            }
        }
    }
    found
}

/// Where a piece of a text stands in it.
pub(super) fn place(whole: &str, piece: &str) -> Range<usize> {
    let start = piece.as_ptr() as usize - whole.as_ptr() as usize;
    start..start + piece.len()
}

/// Where the target of a link stands, unless it is to stay as it is.
fn target(masked: &str, tag: &Tag<'_>) -> Option<Range<usize>> {
    let target = tag.attribute("href").filter(|target| !target.is_empty() && target.len() <= MAX_TARGET)?;
    tag.attribute(UNTRACKED).is_none().then(|| place(masked, target))
}

/// Adds to the text of the last link, whose white space counts as one space.
fn add_text(found: &mut [Link], text: &str) {
    if let Some(link) = found.last_mut() {
        add_words(&mut link.text, text);
    }
}

/// Adds to the text of a link what HTML says, up to a bound.
pub(super) fn add_words(words: &mut String, text: &str) {
    for word in text.split_ascii_whitespace() {
        if words.chars().count() >= MAX_TEXT {
            return;
        }
        if !words.is_empty() {
            words.push(' ');
        }
        let room = MAX_TEXT - words.chars().count().min(MAX_TEXT);
        let mut rest = word;
        for _ in 0..room {
            let Some(first) = rest.bytes().next() else { break };
            let (c, length) = next_character(rest, first);
            words.push(if c.is_control() { ' ' } else { c });
            rest = &rest[length..];
        }
    }
}

/// The web address that a target with entities leads to, as a browser reads it: `None` when it leads elsewhere than to a
/// host by `http` or `https`, or is too long.
pub fn web_address(target: &str) -> Option<String> {
    let target = target.trim_ascii();
    let mut address = String::with_capacity(target.len());
    let mut rest = target;
    while let Some(first) = rest.bytes().next() {
        let (c, length) = next_character(rest, first);
        match c {
            '\t' | '\r' | '\n' => {}
            ' ' => address.push_str("%20"),
            c if c.is_control() => return None,
            c => address.push(c),
        }
        rest = &rest[length..];
    }
    let is_web = ["http://", "https://"].iter().any(|scheme| {
        address.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
            && address.len() > scheme.len()
    });
    (is_web && address.len() <= MAX_TARGET).then_some(address)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn found(html: &str) -> Vec<(&str, String)> {
        links(html, html).into_iter().map(|link| (&html[link.range], link.text)).collect()
    }

    #[test]
    fn links_are_found_with_their_texts() {
        let html = r#"<p><a href="https://a.test/?x=1&amp;y=2">Read  the <b>news</b></a>
            <A HREF='https://b.test'><img src=x alt="A &amp; B"></A><a name=x>none</a> <a href=https://c.test>c</a
            ><map><area href="https://d.test" alt=d></map><a href="">empty</a>"#;
        assert_eq!(
            found(html),
            [
                ("https://a.test/?x=1&amp;y=2", "Read the news".to_owned()),
                ("https://b.test", "A & B".to_owned()),
                ("https://c.test", "c".to_owned()),
                ("https://d.test", String::new()),
            ]
        );
    }

    #[test]
    fn what_is_not_a_link_of_the_body_stays() {
        for html in [
            "<a href='https://a.test' data-no-track>x</a>",
            "<a data-no-track=\"true\" href='https://a.test'>x</a>",
            "<!-- <a href='https://a.test'>x</a> -->",
            "<style><a href='https://a.test'></style>",
            "<script>'<a href=\"https://a.test\">'</script>",
            "<link href='https://a.test'><base href='https://b.test'><img src='https://c.test'>",
            "<a title='<a href=https://a.test>'>x</a>",
            "&lt;a href='https://a.test'&gt;",
            "<a href",
            "<a href='https://a.test",
        ] {
            assert_eq!(found(html), [], "{html}");
        }
        let long = format!("<a href='https://a.test/{}'>x</a>", "x".repeat(MAX_TARGET));
        assert_eq!(found(&long), []);
        assert_eq!(found(&"<a href='https://a.test'>".repeat(MAX_LINKS + 1)).len(), MAX_LINKS);
    }

    #[test]
    fn a_text_is_bounded() {
        let html = format!("<a href='https://a.test'>{} tail</a>", "é".repeat(300));
        assert_eq!(found(&html)[0].1, "é".repeat(MAX_TEXT));
        let html = format!("<a href='https://a.test'>{}", "ab ".repeat(300));
        assert!(found(&html)[0].1.chars().count() <= MAX_TEXT);
    }

    #[test]
    fn a_target_is_read_as_a_browser_does() {
        for (target, address) in [
            ("https://a.test/?x=1&amp;y=2", Some("https://a.test/?x=1&y=2")),
            (" HTTP://a.test/a b\n", Some("HTTP://a.test/a%20b")),
            ("ht\ntps://a.test", Some("https://a.test")),
            ("https&#58;//a.test", Some("https://a.test")),
            ("https://a.test/?x=1&copy=2", Some("https://a.test/?x=1&copy=2")),
            ("https://", None),
            ("mailto:ada@example.com", None),
            ("javascript:alert(1)", None),
            ("//a.test", None),
            ("/a", None),
            ("#top", None),
            ("https://a.test/\u{1}", None),
            ("", None),
        ] {
            assert_eq!(web_address(target).as_deref(), address, "{target}");
        }
        assert_eq!(web_address(&format!("https://{}", "a".repeat(MAX_TARGET))), None);
    }

    proptest! {
        #[test]
        fn any_text_is_taken(html in "([<>a-z=\"' /&#;é{}%]|<a href=|</a>|<!--|-->|<script>){0,60}") {
            let mut end = 0;
            for link in links(&html, &html) {
                prop_assert!(link.range.start >= end && html.get(link.range.clone()).is_some());
                end = link.range.end;
            }
            web_address(&html);
        }
    }
}
