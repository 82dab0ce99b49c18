//! Tables of phrases: what mail systems and people write, and what it means.

/// The rows of a table: where a phrase stands, what it means, and the phrase, with tabs between them. Empty lines and
/// those that begin with `#` are no rows. Phrases are as [`plain`] makes them.
pub(super) fn rows<P, M>(
    table: &'static str,
    place: fn(&str) -> Option<P>,
    meaning: fn(&str) -> Option<M>,
) -> Vec<(P, M, &'static str)> {
    let rows = table.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    rows.filter_map(|line| {
        let mut cells = line.splitn(3, '\t');
        Some((place(cells.next()?)?, meaning(cells.next()?)?, cells.next()?))
    })
    .collect()
}

/// A text as phrases are searched in it: lower case, runs of white space as one space, plain quotes.
pub(super) fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\u{2018}' | '\u{2019}' => plain.push('\''),
            '\u{201c}' | '\u{201d}' => plain.push('"'),
            c if c.is_whitespace() || c.is_control() => {
                if !plain.is_empty() && !plain.ends_with(' ') {
                    plain.push(' ');
                }
            }
            c if c.is_ascii() => plain.push(c.to_ascii_lowercase()),
            c => plain.extend(c.to_lowercase()),
        }
    }
    plain.truncate(plain.trim_end().len());
    plain
}

/// Whether a text begins with a phrase that ends there: no letter and no digit follows it.
pub(super) fn begins_with(plain: &str, phrase: &str) -> bool {
    let is_open =
        |rest: &str| !phrase.ends_with(char::is_alphanumeric) || !rest.starts_with(char::is_alphanumeric);
    plain.strip_prefix(phrase).is_some_and(is_open)
}

/// Whether a subject, as [`plain`] makes it, is that of an answer to a mail, or of one that somebody passed on.
pub(super) fn is_passed_on(subject: &str) -> bool {
    const PREFIXES: [&str; 18] = [
        "re", "aw", "sv", "antw", "ref", "res", "odp", "vs", "fw", "fwd", "wg", "tr", "rv", "enc", "i",
        "doorst", "vb", "pd",
    ];
    let prefix = subject.split([':', '：']).next().unwrap_or_default();
    let prefix = prefix.split('[').next().unwrap_or_default().trim();
    subject.len() > prefix.len() && PREFIXES.contains(&prefix)
}

#[cfg(test)]
mod tests {
    use super::{begins_with, is_passed_on, plain};

    #[test]
    fn texts_are_made_plain() {
        assert_eq!(plain(" A\u{2019}b \r\n\t C\u{201c}Ä\u{201d}\0"), "a'b c\"ä\"");
        assert!(begins_with("out of office: x", "out of office"));
        assert!(begins_with("delayed:x", "delayed:"));
        assert!(!begins_with("out of officers", "out of office"));
    }

    #[test]
    fn answers_and_forwards_are_known() {
        for subject in ["re: x", "aw: x", "fwd: x", "re[2]: x", "re : x", "fw：x"] {
            assert!(is_passed_on(subject), "{subject}");
        }
        for subject in ["", "re", "returned mail: x", "report: re: x", "undeliverable: re: x"] {
            assert!(!is_passed_on(subject), "{subject}");
        }
    }
}
