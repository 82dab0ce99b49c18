//! Pictures that say nothing to whoever does not see them.

use super::tokens::{Token, Tokens};

/// Where the pictures of some HTML begin that have no `alt`, at most so many. An empty one is one: it says that the picture
/// is for the eye alone.
pub fn pictures_without_alt(html: &str, most: usize) -> Vec<usize> {
    let mut found = Vec::new();
    let mut tokens = Tokens::new(html);
    while let Some(token) = tokens.next() {
        let Token::Open(tag) = token else { continue };
        if tag.name.eq_ignore_ascii_case("img") && tag.attribute("alt").is_none() {
            found.push(tokens.start());
            if found.len() == most {
                break;
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pictures_without_alt_are_found() {
        let html =
            "é<img src=a><IMG src='b' alt=''><p alt=x><img alt=\"c\" /><!-- <img> --><img src=\"alt=x\">";
        assert_eq!(pictures_without_alt(html, 10), [2, html.rfind("<img").unwrap()]);
        assert_eq!(pictures_without_alt(html, 1), [2]);
    }
}
