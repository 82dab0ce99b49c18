//! Addresses with names, as they are written in headers (RFC 5322 section 3.4).

use super::{DomainName, MAX_ADDRESS, MAX_LOCAL_PART};

/// An address with the name shown for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mailbox {
    /// The display name, not encoded; an empty one counts as none.
    pub name: Option<String>,
    /// The address, `local@domain`, ASCII.
    pub address: String,
}

impl Mailbox {
    /// Reads one mailbox: `ada@example.com`, `Ada <ada@example.com>`, `"Lovelace, Ada" <ada@example.com>` or
    /// `ada@example.com (Ada)`.
    ///
    /// The address is kept as it is written, but for a domain beyond ASCII, which becomes A-labels. Names may hold any
    /// character; an encoded word in one is taken literally.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parser = Parser { rest: text };
        let mailbox = parser.mailbox()?;
        parser.rest.is_empty().then_some(mailbox)
    }

    /// Reads one mailbox or several with commas between them. Groups (RFC 6854) are no mailboxes.
    pub fn parse_list(text: &str) -> Option<Vec<Self>> {
        let mut parser = Parser { rest: text };
        let mut list = vec![parser.mailbox()?];
        while let Some(rest) = parser.rest.strip_prefix(',') {
            parser.rest = rest;
            list.push(parser.mailbox()?);
        }
        parser.rest.is_empty().then_some(list)
    }

    /// The text that [`Mailbox::parse`] reads as this mailbox.
    pub fn to_text(&self) -> String {
        match self.name.as_deref().filter(|name| !name.is_empty()) {
            Some(name) => {
                format!("\"{}\" <{}>", name.replace('\\', "\\\\").replace('"', "\\\""), self.address)
            }
            None => self.address.clone(),
        }
    }
}

/// Whether a character may stand in a word without quotes: `atext`, and all beyond ASCII that is not white space
/// (RFC 6532). The dot belongs to it by long habit: `John Q. Public`.
fn is_atom(c: char) -> bool {
    c.is_ascii_alphanumeric()
        || "!#$%&'*+-/=?^_`{|}~.".contains(c)
        || (!c.is_ascii() && !c.is_whitespace() && !c.is_control())
}

struct Parser<'a> {
    rest: &'a str,
}

impl<'a> Parser<'a> {
    /// A mailbox with the white space around it, up to a comma or the end.
    fn mailbox(&mut self) -> Option<Mailbox> {
        let mut words: Vec<String> = Vec::new();
        loop {
            self.skip_space();
            match self.rest.chars().next() {
                Some('<') => {
                    let (spec, rest) = self.rest[1..].split_once('>')?;
                    self.rest = rest;
                    let address = addr_spec(spec.trim())?;
                    // after the address only comments may follow
                    while self.comment()?.is_some() {}
                    return self.done(words.join(" "), address);
                }
                Some('"') => words.push(self.quoted()?),
                Some('(') => words.push(format!("({})", self.comment()??)),
                Some(c) if is_atom(c) => {
                    let word = self.take_while(is_atom);
                    if let Some(domain) = self.rest.strip_prefix('@') {
                        // without angle brackets there is no name before it
                        self.rest = domain;
                        let domain = self.take_while(is_atom);
                        let address = addr_spec(&format!("{word}@{domain}"))?;
                        let mut name = None;
                        while let Some(comment) = self.comment()? {
                            name.get_or_insert(comment);
                        }
                        return if words.is_empty() {
                            self.done(name.unwrap_or_default(), address)
                        } else {
                            None
                        };
                    }
                    words.push(word.to_owned());
                }
                _ => return None,
            }
        }
    }

    fn done(&self, name: String, address: String) -> Option<Mailbox> {
        let ends = self.rest.is_empty() || self.rest.starts_with(',');
        ends.then_some(Mailbox { name: Some(name).filter(|name| !name.is_empty()), address })
    }

    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start_matches(|c: char| c.is_whitespace());
    }

    fn take_while(&mut self, belongs: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|c| !belongs(c)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }

    /// What stands between quotes, without the backslashes before quoted characters.
    fn quoted(&mut self) -> Option<String> {
        let mut text = String::new();
        let mut chars = self.rest[1..].char_indices();
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    self.rest = &self.rest[at + 2..];
                    return Some(text);
                }
                '\\' => text.push(chars.next()?.1),
                c => text.push(c),
            }
        }
        None
    }

    /// The text of the comment that comes next, if one does, parentheses in it included; `None` when it is never
    /// closed.
    #[expect(clippy::option_option, reason = "no comment is something else than one without an end")]
    fn comment(&mut self) -> Option<Option<String>> {
        self.skip_space();
        if !self.rest.starts_with('(') {
            return Some(None);
        }
        let (mut text, mut depth) = (String::new(), 1);
        let mut chars = self.rest[1..].char_indices();
        while let Some((at, c)) = chars.next() {
            match c {
                '\\' => {
                    text.push(chars.next()?.1);
                    continue;
                }
                '(' => depth += 1,
                ')' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                self.rest = &self.rest[at + 2..];
                self.skip_space();
                return Some(Some(text.trim().to_owned()));
            }
            text.push(c);
        }
        None
    }
}

/// `local@domain` as it is written, its domain in A-labels. Quoted local parts and address literals are refused.
fn addr_spec(text: &str) -> Option<String> {
    let (local, domain) = text.rsplit_once('@')?;
    let is_dot_atom = !local.is_empty()
        && local.len() <= MAX_LOCAL_PART
        && local.is_ascii()
        && local.chars().all(is_atom)
        && local.split('.').all(|label| !label.is_empty());
    let name = DomainName::parse(domain)?;
    let domain = if domain.is_ascii() { domain } else { name.as_str() };
    let address = format!("{local}@{domain}");
    (is_dot_atom && !domain.ends_with('.') && domain.trim() == domain && address.len() <= MAX_ADDRESS)
        .then_some(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mailbox(name: &str, address: &str) -> Mailbox {
        Mailbox { name: Some(name.to_owned()).filter(|name| !name.is_empty()), address: address.to_owned() }
    }

    #[test]
    fn reads_what_headers_hold() {
        for (text, name, address) in [
            ("ada@example.com", "", "ada@example.com"),
            (" Ada+Tag@Example.COM ", "", "Ada+Tag@Example.COM"),
            ("<ada@example.com>", "", "ada@example.com"),
            ("< ada@example.com >", "", "ada@example.com"),
            ("Ada <ada@example.com>", "Ada", "ada@example.com"),
            ("Ada  Lovelace<ada@example.com>", "Ada Lovelace", "ada@example.com"),
            ("Müller <mueller@example.com>", "Müller", "mueller@example.com"),
            ("山田 太郎 <taro@example.com>", "山田 太郎", "taro@example.com"),
            ("John Q. Public <john@example.com>", "John Q. Public", "john@example.com"),
            ("\"Doe, John\" <john@example.com>", "Doe, John", "john@example.com"),
            (r#""a \"b\" \\c" <x@example.com>"#, r#"a "b" \c"#, "x@example.com"),
            ("\"\" <x@example.com>", "", "x@example.com"),
            ("ada@example.com (Ada (the first))", "Ada (the first)", "ada@example.com"),
            ("Ada (Sales) <ada@example.com>", "Ada (Sales)", "ada@example.com"),
            ("Ada <ada@example.com> (work)", "Ada", "ada@example.com"),
            ("=?utf-8?Q?M=C3=BC?= <m@example.com>", "=?utf-8?Q?M=C3=BC?=", "m@example.com"),
            ("bounce+a=b.c@example.com", "", "bounce+a=b.c@example.com"),
            ("x@bücher.example", "", "x@xn--bcher-kva.example"),
        ] {
            assert_eq!(Mailbox::parse(text), Some(mailbox(name, address)), "{text}");
            let read = Mailbox::parse(text).unwrap();
            assert_eq!(Mailbox::parse(&read.to_text()), Some(read), "{text}");
        }
    }

    #[test]
    fn reads_lists() {
        let two = vec![mailbox("Doe, J", "j@example.com"), mailbox("", "a@example.org")];
        assert_eq!(Mailbox::parse_list("\"Doe, J\" <j@example.com>, a@example.org"), Some(two.clone()));
        assert_eq!(Mailbox::parse_list("\"Doe, J\" <j@example.com> (x) ,a@example.org"), Some(two));
        for bad in [
            "a@example.com,",
            ",a@example.com",
            "a@example.com,,b@example.com",
            "a@example.com b@example.com",
            "Doe, J <j@example.com>",
        ] {
            assert_eq!(Mailbox::parse_list(bad), None, "{bad}");
        }
        assert_eq!(Mailbox::parse("a@example.com, b@example.com"), None);
    }

    #[test]
    fn refuses_what_is_no_mailbox() {
        for bad in [
            "",
            " ",
            "Ada",
            "<>",
            "Ada <>",
            "Ada <ada>",
            "Ada <ada@>",
            "Ada <ada@example>",
            "Ada <ada@example.com",
            "Ada ada@example.com",
            "Ada <ada@example.com> x",
            "Ada <ada@example.com><x@example.com>",
            "Ada <a b@example.com>",
            "\"Ada <ada@example.com>",
            "(Ada ada@example.com",
            "Team: a@example.com;",
            "undisclosed-recipients:;",
            "a@[192.0.2.1]",
            "\"a b\"@example.com",
            "ä@example.com",
            ".a@example.com",
            "a..b@example.com",
            "a@example.com.",
            "a@@example.com",
            "x@y@example.com",
            "Ada \u{0} <a@example.com>",
            "a@exa mple.com",
            "<a@example.com",
            "a@example.com>",
        ] {
            assert_eq!(Mailbox::parse(bad), None, "{bad:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_taken_and_what_is_read_is_read_again(text in "[ a-c@.<>\"\\\\(),;:é=?_\r\n\t-]{0,30}") {
            if let Some(list) = Mailbox::parse_list(&text) {
                for read in list {
                    proptest::prop_assert!(read.address.is_ascii());
                    proptest::prop_assert_eq!(Mailbox::parse(&read.to_text()), Some(read));
                }
            }
        }

        #[test]
        fn any_name_is_read_back(name in "\\PC{1,40}") {
            let name = name.trim().to_owned();
            let written = Mailbox { name: Some(name).filter(|name| !name.is_empty()), address: "a@example.com".into() };
            proptest::prop_assert_eq!(Mailbox::parse(&written.to_text()), Some(written));
        }
    }
}
