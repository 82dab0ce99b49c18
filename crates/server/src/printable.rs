//! Text that others wrote, as it is printed: tenants, their visitors and remote servers choose its characters, and some
//! act on a terminal or turn the direction of writing around.

use std::borrow::Cow;

use mailwright_core::name::is_hidden;

/// A text for one line: what acts on a terminal is replaced, line ends and tabs included.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    replaced(text, |c| c.is_control() || is_hidden(c))
}

/// A text of several lines: line ends and tabs stay.
pub(crate) fn printable_lines(text: &str) -> Cow<'_, str> {
    replaced(text, |c| c.is_control() && c != '\n' && c != '\t' || is_hidden(c))
}

/// A text of JSON (RFC 8259): the control characters that may stand in strings are escaped, so that the values stay
/// what they are.
pub(crate) fn printable_json(json: &str) -> Cow<'_, str> {
    // those below U+0020 are escaped already, or stand between the values
    let acts = |c: char| matches!(c, '\u{7f}'..='\u{9f}');
    if !json.contains(acts) {
        return Cow::Borrowed(json);
    }
    let mut text = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if acts(c) {
            text.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            text.push(c);
        }
    }
    Cow::Owned(text)
}

fn replaced(text: &str, acts: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&acts) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().map(|c| if acts(c) { char::REPLACEMENT_CHARACTER } else { c }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_acts_on_a_terminal_is_not_printed() {
        assert_eq!(
            printable("a\u{1b}[2J\nb\u{9b}m\tc\u{202e}d"),
            "a\u{fffd}[2J\u{fffd}b\u{fffd}m\u{fffd}c\u{fffd}d"
        );
        assert_eq!(printable_lines("a\u{1b}[2J\n\tb\rc"), "a\u{fffd}[2J\n\tb\u{fffd}c");
        for fine in ["Bücher & Söhne", "می\u{200c}خواهم", ""] {
            assert_eq!(printable(fine), fine);
        }
    }

    #[test]
    fn json_keeps_its_values() {
        let value = serde_json::json!({"reason": "a\u{9b}31m\u{7f}\u{1b}\"b"});
        let text = value.to_string();
        let printed = printable_json(&text);
        assert!(!printed.contains(char::is_control), "{printed}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&printed).unwrap(), value);
    }
}
