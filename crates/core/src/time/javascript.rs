//! Dates as JavaScript's `Date` reads them.
//!
//! ISO 8601 in the form of ECMA-262 comes first. Other texts are read as V8 (Node, Chrome) reads them: month names,
//! `AM` and `PM`, `2/1/2027`, `GMT+0200`, `EST`, text in parentheses. A date-time without an offset is in UTC, as it is
//! in a JavaScript program whose time zone is UTC. The grammar is V8's, including its tolerance; the test is a table of
//! V8's answers.

use super::Timestamp;

/// Reads `text`; `None` when it is no date, or one that ISO 8601 cannot write with a year of four digits.
pub(super) fn parse(text: &str) -> Option<Timestamp> {
    let mut parser = Parser {
        scanner: Scanner::new(text),
        day: Day::default(),
        time: Time::default(),
        zone: Zone::default(),
    };
    let left = parser.iso()?;
    parser.legacy(left)?;
    let days = parser.day.days()?;
    let millis = parser.time.millis()?;
    Timestamp::from_millis(days * 86_400_000 + millis - parser.zone.offset_seconds()? * 1000)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token {
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
enum Word {
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
    fn of(word: &str) -> Self {
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

struct Scanner<'a> {
    rest: &'a str,
    next: Token,
}

impl<'a> Scanner<'a> {
    fn new(text: &'a str) -> Self {
        let mut scanner = Self { rest: text, next: Token::End };
        scanner.take();
        scanner
    }

    /// The next token, which is then gone.
    fn take(&mut self) -> Token {
        let scanned = self.scan();
        std::mem::replace(&mut self.next, scanned)
    }

    fn skip(&mut self, symbol: char) -> bool {
        let found = self.next == Token::Symbol(symbol);
        if found {
            self.take();
        }
        found
    }

    /// The next token when it is a number of exactly so many digits.
    fn number_of(&mut self, digits: usize) -> Option<i64> {
        let Token::Number(number, length) = self.next else { return None };
        (length == digits).then(|| {
            self.take();
            number
        })
    }

    fn scan(&mut self) -> Token {
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

    fn take_while(&mut self, belongs: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|c| !belongs(c)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }

    /// Moves past the parenthesis that closes the one at hand, or to the end.
    fn skip_parentheses(&mut self) {
        let mut depth = 0;
        let end = self.rest.char_indices().find(|(_, c)| {
            depth += i32::from(*c == '(') - i32::from(*c == ')');
            depth == 0
        });
        self.rest = end.map_or("", |(at, _)| &self.rest[at + 1..]);
    }
}

/// The numbers of a date, in the order they were read in.
#[derive(Default)]
struct Day {
    numbers: Vec<i64>,
    named_month: Option<i64>,
    is_iso: bool,
}

impl Day {
    fn add(&mut self, number: i64) -> Option<()> {
        (self.numbers.len() < 3).then(|| self.numbers.push(number))
    }

    /// Days since 1970. A day that its month does not have counts on into the next month.
    fn days(&self) -> Option<i64> {
        let is_day = |number: i64| (1..=31).contains(&number);
        let number = |at: usize| self.numbers.get(at).copied().unwrap_or(1);
        let first = *self.numbers.first()?;
        let (year, month, day) = match self.named_month {
            None if self.is_iso || !is_day(first) => (first, number(1), number(2)),
            None => (number(2), first, number(1)),
            Some(month) if is_day(first) => (number(1), month, first),
            Some(month) => (first, month, number(1)),
        };
        let year = match year {
            0..=49 if !self.is_iso => year + 2000,
            50..=99 if !self.is_iso => year + 1900,
            _ => year,
        };
        // the years that JavaScript has dates in
        let in_range = (-271_821..=275_760).contains(&year);
        (in_range && (1..=12).contains(&month) && is_day(day)).then(|| days_to_month(year, month) + day - 1)
    }
}

/// Days from 1970-01-01 to the first of a month, in the proleptic Gregorian calendar.
fn days_to_month(year: i64, month: i64) -> i64 {
    // Years that begin in March have their leap day at the end.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// Hour, minute, second and millisecond, as far as they were read.
#[derive(Default)]
struct Time {
    numbers: Vec<i64>,
    /// No more is expected.
    is_final: bool,
    meridiem: Option<i64>,
}

impl Time {
    fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    fn expects(&self, number: i64) -> bool {
        !self.is_final
            && match self.numbers.len() {
                1 | 2 => (0..60).contains(&number),
                3 => (0..1000).contains(&number),
                _ => false,
            }
    }

    fn add(&mut self, number: i64) -> Option<()> {
        (!self.is_final && self.numbers.len() < 4).then(|| self.numbers.push(number))
    }

    fn add_final(&mut self, number: i64) {
        self.numbers.push(number);
        self.is_final = true;
    }

    fn millis(&self) -> Option<i64> {
        let number = |at: usize| self.numbers.get(at).copied().unwrap_or(0);
        let (mut hour, minute, second, milli) = (number(0), number(1), number(2), number(3));
        if let Some(offset) = self.meridiem {
            if !(0..=12).contains(&hour) {
                return None;
            }
            hour = hour % 12 + offset;
        }
        let in_day = hour < 24 && minute < 60 && second < 60 && milli < 1000;
        let is_end_of_day = (hour, minute, second, milli) == (24, 0, 0, 0);
        (in_day || is_end_of_day).then(|| ((hour * 60 + minute) * 60 + second) * 1000 + milli)
    }
}

/// How far the clock that was read is ahead of UTC.
#[derive(Default)]
struct Zone {
    sign: Option<i64>,
    hour: Option<i64>,
    minute: Option<i64>,
}

impl Zone {
    fn set(&mut self, hours: i64) {
        *self = Self { sign: Some(if hours < 0 { -1 } else { 1 }), hour: Some(hours.abs()), minute: Some(0) };
    }

    fn is_utc(&self) -> bool {
        self.hour == Some(0) && self.minute == Some(0)
    }

    fn expects(&self, number: i64) -> bool {
        self.hour.is_some() && self.minute.is_none() && (0..60).contains(&number)
    }

    fn offset_seconds(&self) -> Option<i64> {
        let seconds = self.hour.unwrap_or(0) * 3600 + self.minute.unwrap_or(0) * 60;
        match self.sign {
            None => Some(0),
            // the widest that V8 keeps in a small integer
            Some(sign) => (seconds < 1 << 30).then_some(sign * seconds),
        }
    }
}

/// The three digits after the point of a number that was written with `digits` digits.
fn milliseconds(number: i64, digits: usize) -> i64 {
    match digits {
        1 => number * 100,
        2 => number * 10,
        _ => number / 10_i64.pow(digits.min(9) as u32 - 3),
    }
}

struct Parser<'a> {
    scanner: Scanner<'a>,
    day: Day,
    time: Time,
    zone: Zone,
}

impl Parser<'_> {
    /// Reads as far as the text is ISO 8601. Returns the first token that is not, [`Token::End`] when all was; `None`
    /// when it can be no other date either.
    fn iso(&mut self) -> Option<Token> {
        if let Token::Symbol('+' | '-') = self.scanner.next {
            let sign = self.scanner.take();
            let Some(year) = self.scanner.number_of(6) else { return Some(sign) };
            if sign == Token::Symbol('-') && year == 0 {
                return Some(sign);
            }
            self.day.add(if sign == Token::Symbol('-') { -year } else { year })?;
        } else if let Some(year) = self.scanner.number_of(4) {
            self.day.add(year)?;
        } else {
            return Some(self.scanner.take());
        }
        for most in [12, 31] {
            if !self.scanner.skip('-') {
                break;
            }
            match self.scanner.next {
                Token::Number(number, 2) if (1..=most).contains(&number) => {
                    self.day.add(number)?;
                    self.scanner.take();
                }
                _ => return Some(self.scanner.take()),
            }
        }
        if self.scanner.next == Token::Word(Word::TimeFollows) {
            self.scanner.take();
            self.iso_time()?;
        } else if self.scanner.next != Token::End {
            return Some(self.scanner.take());
        }
        self.day.is_iso = true;
        Some(Token::End)
    }

    /// The time after a `T`, and its offset, up to the end of the text.
    fn iso_time(&mut self) -> Option<()> {
        let up_to = |number: i64, most: i64| (number <= most).then_some(number);
        let hour = up_to(self.scanner.number_of(2)?, 24)?;
        self.time.add(hour)?;
        let (sixty, thousand) = if hour == 24 { (0, 0) } else { (59, i64::MAX) };
        self.scanner.skip(':').then_some(())?;
        self.time.add(up_to(self.scanner.number_of(2)?, sixty)?)?;
        if self.scanner.skip(':') {
            self.time.add(up_to(self.scanner.number_of(2)?, sixty)?)?;
            if self.scanner.skip('.') {
                let Token::Number(number, digits) = self.scanner.take() else { return None };
                self.time.add(milliseconds(up_to(number, thousand)?, digits))?;
            }
        }
        match self.scanner.next {
            Token::Word(Word::Zulu) => {
                self.scanner.take();
                self.zone.set(0);
            }
            Token::Symbol(sign @ ('+' | '-')) => {
                self.scanner.take();
                self.zone.sign = Some(if sign == '-' { -1 } else { 1 });
                let (hour, minute) = if let Some(both) = self.scanner.number_of(4) {
                    (both / 100, both % 100)
                } else {
                    let hour = self.scanner.number_of(2)?;
                    self.scanner.skip(':').then_some(())?;
                    (hour, self.scanner.number_of(2)?)
                };
                (self.zone.hour, self.zone.minute) = (Some(up_to(hour, 23)?), Some(up_to(minute, 59)?));
            }
            _ => {}
        }
        (self.scanner.next == Token::End).then_some(())
    }

    /// Reads what is left, beginning with `token`.
    fn legacy(&mut self, mut token: Token) -> Option<()> {
        let mut has_number = !self.day.numbers.is_empty();
        while token != Token::End {
            match token {
                Token::Number(number, _) => {
                    has_number = true;
                    self.number(number)?;
                }
                Token::Word(word) => self.word(word, has_number)?,
                Token::Symbol(sign @ ('+' | '-')) if self.zone.is_utc() || !self.time.is_empty() => {
                    has_number = true;
                    self.offset(if sign == '-' { -1 } else { 1 })?;
                }
                // a second offset, or a parenthesis that was never opened
                Token::Symbol('+' | '-' | ')') if has_number => return None,
                Token::Symbol(_) | Token::Space | Token::Other | Token::End => {}
            }
            token = self.scanner.take();
        }
        Some(())
    }

    fn number(&mut self, number: i64) -> Option<()> {
        if self.scanner.skip(':') {
            if self.scanner.skip(':') {
                // `n::` is an hour without a minute
                self.time.is_empty().then_some(())?;
                self.time.add(number)?;
                return self.time.add(0);
            }
            self.time.add(number)?;
            self.scanner.skip('.');
            return Some(());
        }
        if self.scanner.skip('.') && self.time.expects(number) {
            self.time.add(number)?;
            let Token::Number(fraction, digits) = self.scanner.take() else { return None };
            self.time.add_final(milliseconds(fraction, digits));
        } else if self.zone.expects(number) {
            self.zone.minute = Some(number);
        } else if self.time.expects(number) {
            self.time.add_final(number);
            let ends = matches!(
                self.scanner.next,
                Token::End | Token::Space | Token::Word(Word::Zulu) | Token::Symbol('+' | '-')
            );
            ends.then_some(())?;
        } else {
            self.day.add(number)?;
            self.scanner.skip('-');
        }
        Some(())
    }

    fn word(&mut self, word: Word, has_number: bool) -> Option<()> {
        match word {
            Word::Meridiem(hours) if !self.time.is_empty() => self.time.meridiem = Some(hours),
            Word::Month(month) => {
                self.day.named_month = Some(month);
                self.scanner.skip('-');
            }
            Word::Zone(hours) if has_number => self.zone.set(hours),
            Word::Zulu if has_number => self.zone.set(0),
            // any other word may stand before the first number, apart from it
            _ => return (!has_number && !matches!(self.scanner.next, Token::Number(..))).then_some(()),
        }
        Some(())
    }

    /// An offset from UTC after its sign: `2`, `02`, `0200`, `02:00`, or nothing.
    fn offset(&mut self, sign: i64) -> Option<()> {
        self.zone.sign = Some(sign);
        let (mut number, mut digits) = (0, 0);
        if let Token::Number(given, length) = self.scanner.next {
            (number, digits) = (given, length);
            self.scanner.take();
        }
        (self.zone.hour, self.zone.minute) = match digits {
            _ if self.scanner.next == Token::Symbol(':') => (Some(number), None),
            1 | 2 => (Some(number), Some(0)),
            3 | 4 => (Some(number / 100), Some(number % 100)),
            _ => return None,
        };
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What Node answers, under the time zone UTC, one date a line: the text in JSON, a tab, and `toISOString()` or a
    /// `-`. `scripts/javascript-dates.js` writes it.
    const TABLE: &str = include_str!("javascript.tsv");

    #[test]
    fn every_date_is_read_as_javascript_reads_it() {
        assert!(TABLE.lines().count() > 200);
        for line in TABLE.lines() {
            let (text, expected) = line.split_once('\t').unwrap();
            let text: String = serde_json::from_str(text).unwrap();
            let read = parse(&text).map(|instant| instant.to_string());
            assert_eq!(read.as_deref().unwrap_or("-"), expected, "{text:?}");
        }
    }

    #[test]
    fn days_are_counted_as_calendars_do() {
        for (year, month, days) in [(1970, 1, 0), (2000, 3, 11_017), (0, 1, -719_528), (9999, 12, 2_932_866)]
        {
            assert_eq!(days_to_month(year, month), days, "{year}-{month}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_taken(text in "[ -~TZ0-9:+\\-./()é\u{2028}]{0,40}") {
            parse(&text);
        }
    }
}
