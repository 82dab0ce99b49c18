//! The words, numbers and signs of a text.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token {
    End,
    /// A number and how many digits it was written with. Of more than nine digits that count, the first nine.
    Number(i64, usize),
    Symbol(char),
    Word(Word),
    Space,
    /// Any other character, or text in parentheses.
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Word {
    Month(i64),
    /// Hours to add: 0 or 12.
    Meridiem(i64),
    /// Hours from UTC.
    Zone(i64),
    /// The single letter, which is UTC.
    Zulu,
    TimeFollows,
    Unknown,
}

impl Word {
    pub(super) fn of(word: &str) -> Self {
        const MONTHS: [&str; 12] =
            ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
        let lower = word.to_ascii_lowercase();
        if let Some(month) = lower.get(..3).and_then(|start| MONTHS.iter().position(|name| *name == start)) {
            return Self::Month(month as i64 + 1);
        }
        match &*lower {
            "am" => Self::Meridiem(0),
            "pm" => Self::Meridiem(12),
            "z" => Self::Zulu,
            "ut" | "utc" | "gmt" => Self::Zone(0),
            "edt" => Self::Zone(-4),
            "est" | "cdt" => Self::Zone(-5),
            "cst" | "mdt" => Self::Zone(-6),
            "mst" | "pdt" => Self::Zone(-7),
            "pst" => Self::Zone(-8),
            "t" => Self::TimeFollows,
            _ => Self::Unknown,
        }
    }
}

pub(super) struct Scanner<'a> {
    pub(super) rest: &'a str,
    pub(super) next: Token,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let mut scanner = Self { rest: text, next: Token::End };
        scanner.take();
        scanner
    }

    /// The next token, which is then gone.
    pub(super) fn take(&mut self) -> Token {
        let scanned = self.scan();
        std::mem::replace(&mut self.next, scanned)
    }

    pub(super) fn skip(&mut self, symbol: char) -> bool {
        let found = self.next == Token::Symbol(symbol);
        if found {
            self.take();
        }
        found
    }

    /// The next token when it is a number of exactly so many digits.
    pub(super) fn number_of(&mut self, digits: usize) -> Option<i64> {
        let Token::Number(number, length) = self.next else { return None };
        (length == digits).then(|| {
            self.take();
            number
        })
    }

    pub(super) fn scan(&mut self) -> Token {
        let Some(first) = self.rest.chars().next() else { return Token::End };
        if first.is_ascii_digit() {
            let digits = self.take_while(|c| c.is_ascii_digit());
            let counting = digits.trim_start_matches('0');
            let number = counting[..counting.len().min(9)].parse().unwrap_or(0);
            return Token::Number(number, digits.len());
        }
        if first.is_whitespace() || first == '\u{feff}' {
            self.rest = &self.rest[first.len_utf8()..];
            return Token::Space;
        }
        if first >= 'A' {
            return Token::Word(Word::of(self.take_while(|c| c >= 'A' && !c.is_whitespace())));
        }
        if first == '(' {
            self.skip_parentheses();
            return Token::Other;
        }
        self.rest = &self.rest[1..];
        if matches!(first, ':' | '-' | '+' | '.' | ')') { Token::Symbol(first) } else { Token::Other }
    }

    pub(super) fn take_while(&mut self, belongs: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|c| !belongs(c)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }

    /// Moves past the parenthesis that closes the one at hand, or to the end.
    pub(super) fn skip_parentheses(&mut self) {
        let mut depth = 0;
        let end = self.rest.char_indices().find(|(_, c)| {
            depth += i32::from(*c == '(') - i32::from(*c == ')');
            depth == 0
        });
        self.rest = end.map_or("", |(at, _)| &self.rest[at + 1..]);
    }
}
