//! A set of domains that is small in memory and found by name and by what is above it.

use std::borrow::Cow;

use mailwright_core::address::DomainName;

/// The largest list that is read, in bytes. The largest that is published is a tenth of it.
pub const MAX_LIST_BYTES: usize = 32 * 1024 * 1024;
/// The most domains that a list may have.
pub const MAX_LIST_DOMAINS: usize = 1_000_000;
/// Of so many lines one may be something else than a domain; with more the text is no list.
const LINES_FOR_ONE_BAD: usize = 10;

/// Why a text is no list of domains.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ListError {
    /// More than [`MAX_LIST_BYTES`] or [`MAX_LIST_DOMAINS`].
    #[error("the list is larger than {MAX_LIST_BYTES} bytes, or has more than {MAX_LIST_DOMAINS} domains")]
    TooLarge,
    /// It holds no domain, or too much that is none: an error page, for one.
    #[error("the text is no list of domains: {read} lines are domains and {refused} are not")]
    NotAList {
        /// How many lines are domains.
        read: usize,
        /// How many lines are not.
        refused: usize,
    },
    /// It has so few domains that most of the list must be missing.
    #[error("the list has {read} domains, and at least {least} are expected")]
    TooSmall {
        /// How many domains it has.
        read: usize,
        /// How many it should have at least.
        least: usize,
    },
}

/// Domains, in lower case and A-labels. A name is in the set when the name or one above it was listed.
///
/// It is a text with one domain on each line, and where the lines begin in alphabetical order: four bytes for each domain
/// besides the text, which is not copied when it comes with the program. A search is a binary search for each label.
#[derive(Debug, Clone)]
pub struct DomainSet {
    text: Cow<'static, str>,
    starts: Box<[u32]>,
}

impl DomainSet {
    /// Takes a list that comes with the program: one domain on each line in lower case, and comments after `#`.
    pub(super) fn embedded(text: &'static str) -> Self {
        Self::of(Cow::Borrowed(text))
    }

    /// Reads a list: one domain on each line. Empty lines and what follows `#`, `//` or `;` do not count; `*.`, `.` and
    /// `@` before a domain, and quotes and commas around it are left out, so that a JSON array with one entry on each line
    /// is read as well. Lines that are no domain, public suffixes (all of `co.uk`) and what `may_enter` refuses are left
    /// out.
    pub(super) fn parse(text: &str, may_enter: impl Fn(&str) -> bool) -> Result<Self, ListError> {
        if text.len() > MAX_LIST_BYTES {
            return Err(ListError::TooLarge);
        }
        let (mut read, mut refused) = (0, 0);
        let mut kept = String::with_capacity(text.len());
        for entry in text.trim_start_matches('\u{feff}').lines().filter_map(entry) {
            let Some(domain) = DomainName::parse(entry) else {
                refused += 1;
                continue;
            };
            read += 1;
            if !is_public_suffix(domain.as_str()) && may_enter(domain.as_str()) {
                kept.push_str(domain.as_str());
                kept.push('\n');
            }
        }
        if read > MAX_LIST_DOMAINS {
            return Err(ListError::TooLarge);
        }
        if read == 0 || refused > read / LINES_FOR_ONE_BAD {
            return Err(ListError::NotAList { read, refused });
        }
        kept.shrink_to_fit();
        Ok(Self::of(Cow::Owned(kept)))
    }

    fn of(text: Cow<'static, str>) -> Self {
        let mut starts = Vec::new();
        let mut at = 0_u32;
        for line in text.split_inclusive('\n') {
            if !line.starts_with('#') && !line.trim_end().is_empty() {
                starts.push(at);
            }
            at = at.saturating_add(line.len() as u32);
        }
        starts.sort_by(|&a, &b| line_at(&text, a).cmp(line_at(&text, b)));
        starts.dedup_by(|a, b| line_at(&text, *a) == line_at(&text, *b));
        Self { text, starts: starts.into_boxed_slice() }
    }

    /// The entry that a name is under: itself or the nearest one above it. The name is in lower case and A-labels.
    pub fn find(&self, name: &str) -> Option<&str> {
        suffixes(name).find_map(|suffix| self.get(suffix))
    }

    /// The entry of exactly this text.
    pub(super) fn get(&self, entry: &str) -> Option<&str> {
        let found = self.starts.binary_search_by(|&start| line_at(&self.text, start).cmp(entry)).ok()?;
        self.starts.get(found).map(|&start| line_at(&self.text, start))
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// What it weighs in memory: the bytes of its text, whether on the heap or in the program, and those on the heap
    /// besides.
    pub fn bytes(&self) -> usize {
        self.text.len() + size_of_val(&*self.starts)
    }

    /// All entries, in alphabetical order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.starts.iter().map(|&start| line_at(&self.text, start))
    }
}

/// The line that begins at this byte, without its end.
fn line_at(text: &str, start: u32) -> &str {
    let rest = text.get(start as usize..).unwrap_or("");
    let end = memchr::memchr(b'\n', rest.as_bytes()).unwrap_or(rest.len());
    rest.get(..end).unwrap_or(rest).trim_end()
}

/// A name and the names above it, as far as they have two labels.
pub(super) fn suffixes(name: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(name), |name| {
        let (_, rest) = name.split_once('.')?;
        rest.contains('.').then_some(rest)
    })
}

/// Whether everybody may register names right below it (publicsuffix.org).
pub(super) fn is_public_suffix(name: &str) -> bool {
    psl::suffix_str(name) == Some(name)
}

/// What of a line may be a domain.
fn entry(line: &str) -> Option<&str> {
    let end = [line.find(['#', ';']), line.find("//")].into_iter().flatten().min();
    let line = line.get(..end.unwrap_or(line.len())).unwrap_or(line);
    let around = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ',' | '[' | ']');
    let text = line.trim_matches(around);
    let text = text.strip_prefix("*.").unwrap_or(text).trim_start_matches(['.', '@']);
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<DomainSet, ListError> {
        DomainSet::parse(text, |_| true)
    }

    #[test]
    fn a_name_is_found_by_itself_and_by_what_is_above_it() {
        let set = parse("mailinator.com\nb.example.org\n").unwrap();
        assert_eq!(set.find("mailinator.com"), Some("mailinator.com"));
        assert_eq!(set.find("a.sub.mailinator.com"), Some("mailinator.com"));
        assert_eq!(set.find("x.b.example.org"), Some("b.example.org"));
        for other in ["notmailinator.com", "example.org", "com", "mailinator.com.br", "", "."] {
            assert_eq!(set.find(other), None, "{other}");
        }
    }

    #[test]
    fn lists_are_read_as_they_are_published() {
        let text = "\u{feff}# head\r\n\r\nB.example\r\n*.a.example # why\n@c.example\n// note\n.d.example\n; note\nbücher.example\nb.example";
        let set = parse(text).unwrap();
        let all: Vec<&str> = set.iter().collect();
        assert_eq!(all, ["a.example", "b.example", "c.example", "d.example", "xn--bcher-kva.example"]);
        let set = parse("[\n  \"b.example\",\n  'a.example'\n]\n").unwrap();
        assert_eq!(set.iter().collect::<Vec<_>>(), ["a.example", "b.example"]);
    }

    #[test]
    fn what_would_match_everybody_is_left_out() {
        let text = "com.br\nco.uk\nexample.co.uk\ngmail.com\ngithub.io\n";
        let set = DomainSet::parse(text, |domain| domain != "gmail.com").unwrap();
        assert_eq!(set.iter().collect::<Vec<_>>(), ["example.co.uk"]);
    }

    #[test]
    fn other_texts_are_refused() {
        assert_eq!(parse("").unwrap_err(), ListError::NotAList { read: 0, refused: 0 });
        let page = "<!DOCTYPE html>\n<html><head>\n<title>404</title>\n</head></html>\nexample.com\n";
        assert_eq!(parse(page).unwrap_err(), ListError::NotAList { read: 1, refused: 4 });
        let mixed = "a.example\n".repeat(20) + "no domain\n";
        assert_eq!(parse(&mixed).unwrap().len(), 1);
        assert_eq!(parse(&"x".repeat(MAX_LIST_BYTES + 1)).unwrap_err(), ListError::TooLarge);
    }

    proptest::proptest! {
        #[test]
        fn what_was_listed_is_found(mut names in proptest::collection::vec("[a-c]{1,3}\\.[a-c]{1,3}\\.example", 1..40), label in "[a-z]{1,5}") {
            let set = parse(&names.join("\n")).unwrap();
            for name in &names {
                proptest::prop_assert_eq!(set.find(name), Some(name.as_str()));
                let below = format!("{label}.{name}");
                proptest::prop_assert_eq!(set.find(&below), Some(name.as_str()));
            }
            names.sort();
            names.dedup();
            proptest::prop_assert_eq!(set.iter().collect::<Vec<_>>(), names);
        }

        #[test]
        fn any_text_is_taken(text in "[ a-c.#/;@*\"é\r\n<]{0,60}", name in ".{0,30}") {
            if let Ok(set) = parse(&text) {
                set.find(&name);
            }
        }
    }
}
