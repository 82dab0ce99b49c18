//! A source whose placeholders and tags are words, so that whoever reads it takes them for text.

use std::collections::HashSet;
use std::ops::Range;

use mailwright_core::template_language::marked_up;

use super::positions::Positions;

/// What every such word begins with. Its letters are in no name of MJML and in hardly any text.
const BEGINNING: &str = "Qz";
/// What ends the numbers of a word.
const END: char = 'q';

/// A source with words in the place of its placeholders and tags.
#[derive(Debug)]
pub(super) struct Hidden<'s> {
    /// The source with the words.
    pub(super) text: String,
    /// Where what stands in it stands in the source.
    pub(super) positions: Positions,
    source: &'s str,
    ranges: Vec<Range<usize>>,
    /// What the words of this source begin with: the source itself has it nowhere.
    beginning: String,
}

impl<'s> Hidden<'s> {
    pub(super) fn new(source: &'s str) -> Self {
        let ranges = marked_up(source);
        let beginning = beginning(source);
        let (mut text, mut positions, mut copied) =
            (String::with_capacity(source.len()), Positions::default(), 0);
        for (number, range) in ranges.iter().enumerate() {
            text.push_str(&source[copied..range.start]);
            positions.note(text.len(), range.start);
            text.push_str(&format!("{beginning}{number}{END}"));
            positions.note(text.len(), range.end);
            copied = range.end;
        }
        text.push_str(&source[copied..]);
        Self { text, positions, source, ranges, beginning }
    }

    /// What was made of the text, with placeholders and tags as they were written; `None` when it would be longer than
    /// `most` bytes.
    pub(super) fn put_back(&self, made: &str, most: usize) -> Option<String> {
        let mut whole = String::with_capacity(made.len().min(most));
        let mut rest = made;
        while let Some(at) = rest.find(&self.beginning) {
            let after = &rest[at + self.beginning.len()..];
            let digits = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
            let range = after[..digits].parse::<usize>().ok().and_then(|number| self.ranges.get(number));
            let was = range.map_or("", |range| &self.source[range.clone()]);
            if whole.len() + at + was.len() > most {
                return None;
            }
            whole.push_str(&rest[..at]);
            whole.push_str(was);
            rest = after[digits..].strip_prefix(END).unwrap_or(&after[digits..]);
        }
        if whole.len() + rest.len() > most {
            return None;
        }
        whole.push_str(rest);
        Some(whole)
    }
}

/// The first beginning of a word, by number, that stands nowhere in the source.
fn beginning(source: &str) -> String {
    let numbers = source.split(BEGINNING).skip(1).filter_map(|rest| {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        rest[..digits].parse::<usize>().ok()
    });
    let taken: HashSet<usize> = numbers.collect();
    let free = (0..=taken.len()).find(|number| !taken.contains(number)).unwrap_or_default();
    format!("{BEGINNING}{free}{END}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_hidden_is_put_back_wherever_it_went() {
        let source = "a {{ x }}{% if n < 5 %}b{% endif %}{% comment %}<b>{% endcomment %}";
        let hidden = Hidden::new(source);
        assert!(!hidden.text.contains(['{', '}', '<', '%']), "{}", hidden.text);
        assert_eq!(hidden.put_back(&hidden.text, 1000).unwrap(), source);
        let twice = hidden.put_back(&hidden.text.repeat(2), 1000).unwrap();
        assert_eq!(twice, source.repeat(2));
        assert_eq!(hidden.put_back(&hidden.text, source.len() - 1), None);
        assert_eq!(hidden.put_back(&hidden.text, source.len()).unwrap(), source);
    }

    #[test]
    fn words_of_the_source_are_left_alone() {
        let source = "Qz0q Qz0q0q {{ x }} Qz1q Qz3q Qz";
        let hidden = Hidden::new(source);
        assert!(hidden.text.contains("Qz2q0q"), "{}", hidden.text);
        assert_eq!(hidden.put_back(&hidden.text, 1000).unwrap(), source);
    }
}
