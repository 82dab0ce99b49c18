//! Texts of the document as HTML: paragraphs, and what is between backticks as code.

use maud::{Markup, html};

/// A text with its paragraphs.
pub(super) fn paragraphs(text: &str) -> Markup {
    html! {
        @for paragraph in text.split("\n\n").filter(|paragraph| !paragraph.trim().is_empty()) {
            p { (inline(paragraph)) }
        }
    }
}

/// A text without paragraphs.
pub(super) fn inline(text: &str) -> Markup {
    let parts: Vec<&str> = text.split('`').collect();
    // a backtick without its partner is a character like any other
    let last = if parts.len().is_multiple_of(2) { parts.len() - 1 } else { parts.len() };
    html! {
        @for (at, part) in parts.iter().enumerate() {
            @if at >= last { "`" (part) }
            @else if at % 2 == 1 { code { (part) } }
            @else { (part) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_between_backticks_and_nothing_is_markup() {
        for (text, html) in [
            ("a `b` c", "a <code>b</code> c"),
            ("`<b>` & c", "<code>&lt;b&gt;</code> &amp; c"),
            ("one ` alone", "one ` alone"),
            ("`a` and `", "<code>a</code> and `"),
        ] {
            assert_eq!(inline(text).into_string(), html);
        }
        assert_eq!(paragraphs("a\nb\n\nc").into_string(), "<p>a\nb</p><p>c</p>");
    }
}
