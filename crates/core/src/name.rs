//! Names that people give to projects, keys and themselves, and that other people are shown.

/// Whether a text can be shown as a name and is what it looks like: at least one visible character, no control
/// characters (so no line ends, which would end a mail header or a log line), and none that are invisible or turn the
/// direction of writing around.
pub fn is_plain(text: &str) -> bool {
    text.chars().any(|c| !c.is_whitespace()) && !text.chars().any(|c| c.is_control() || is_hidden(c))
}

/// Joiners (U+200C, U+200D) are not among these: some scripts, and emoji, cannot be written without them.
fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}'
        | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::is_plain;

    #[test]
    fn names_are_what_they_look_like() {
        for fine in ["Acme", "Bücher & Söhne", "株式会社", "می\u{200c}خواهم", "a"] {
            assert!(is_plain(fine), "{fine:?}");
        }
        for bad in ["", " ", "a\r\nBcc: x@y.zz", "a\nb", "a\0b", "abc\u{202e}fed", "a\u{200b}b", "\u{feff}"] {
            assert!(!is_plain(bad), "{bad:?}");
        }
    }
}
