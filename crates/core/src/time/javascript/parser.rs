//! The grammar.

use super::clock::{Day, Time, Zone, milliseconds};
use super::scanner::{Scanner, Token, Word};

pub(super) struct Parser<'a> {
    pub(super) scanner: Scanner<'a>,
    pub(super) day: Day,
    pub(super) time: Time,
    pub(super) zone: Zone,
}

impl Parser<'_> {
    /// Reads as far as the text is ISO 8601. Returns the first token that is not, [`Token::End`] when all was; `None`
    /// when it can be no other date either.
    pub(super) fn iso(&mut self) -> Option<Token> {
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
    pub(super) fn legacy(&mut self, mut token: Token) -> Option<()> {
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
