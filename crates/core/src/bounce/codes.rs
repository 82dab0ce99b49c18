//! Conditions on the codes of a reply.

/// The codes of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reply {
    pub(super) code: Option<u16>,
    pub(super) enhanced: Option<(u8, u16, u16)>,
}

impl Reply {
    /// The first digit: that of the reply code, which is what was said in the dialogue, or of the enhanced code.
    pub(super) fn digit(self) -> Option<u8> {
        let code = self.code.map(|code| (code / 100) as u8);
        code.or(self.enhanced.map(|(class, ..)| class))
    }
}

/// What the codes of a reply have to be for a rule.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Codes {
    is_none: bool,
    digit: Option<u8>,
    code: Option<u16>,
    enhanced: Option<Enhanced>,
}

/// An enhanced code. What is `None` may be anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Enhanced {
    class: Option<u8>,
    subject: u16,
    details: Option<(u16, u16)>,
}

impl Codes {
    /// Reads the second column of the table.
    pub(super) fn read(column: &str) -> Option<Self> {
        let mut codes = Self::default();
        if column == "-" {
            return Some(codes);
        }
        for word in column.split(' ') {
            match word {
                "none" => codes.is_none = true,
                "4yz" => codes.digit = Some(4),
                "5yz" => codes.digit = Some(5),
                _ if word.contains('.') => codes.enhanced = Some(Enhanced::read(word)?),
                _ => codes.code = Some(word.parse().ok().filter(|code| (400..600).contains(code))?),
            }
        }
        Some(codes)
    }

    pub(super) fn fit(&self, reply: Reply) -> bool {
        let Self { is_none, digit, code, enhanced } = self;
        if *is_none {
            return reply.code.is_none() && reply.enhanced.is_none();
        }
        digit.is_none_or(|digit| reply.digit() == Some(digit))
            && code.is_none_or(|code| reply.code == Some(code))
            && enhanced.is_none_or(|enhanced| reply.enhanced.is_some_and(|of_reply| enhanced.fits(of_reply)))
    }
}

impl Enhanced {
    fn read(word: &str) -> Option<Self> {
        let mut parts = word.split('.');
        let class = match parts.next()? {
            "x" => None,
            "4" => Some(4),
            "5" => Some(5),
            _ => return None,
        };
        let subject = parts.next()?.parse().ok()?;
        let details = match parts.next()? {
            "x" => None,
            detail => {
                let (from, to) = detail.split_once('-').unwrap_or((detail, detail));
                Some((from.parse().ok()?, to.parse().ok()?))
            }
        };
        parts.next().is_none().then_some(Self { class, subject, details })
    }

    fn fits(self, (class, subject, detail): (u8, u16, u16)) -> bool {
        self.class.is_none_or(|expected| expected == class)
            && self.subject == subject
            && self.details.is_none_or(|(from, to)| (from..=to).contains(&detail))
    }
}

#[cfg(test)]
impl Codes {
    /// A reply that fits.
    pub(super) fn example(self) -> Reply {
        let digit = self.digit.unwrap_or(5);
        let enhanced = self.enhanced.map(|of| {
            let class = of.class.or(self.code.map(|code| (code / 100) as u8)).unwrap_or(digit);
            (class, of.subject, of.details.map_or(999, |(from, _)| from))
        });
        let has_none = self.is_none || self.code.is_none() && enhanced.is_some();
        let code = self.code.or((!has_none).then_some(u16::from(digit) * 100 + 99));
        Reply { code, enhanced }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_fit_what_the_column_says() {
        for (column, code, enhanced, expected) in [
            ("-", Some(550), None, true),
            ("550", Some(550), Some((5, 1, 1)), true),
            ("550", Some(551), None, false),
            ("550", None, Some((5, 5, 0)), false),
            ("5yz", Some(550), None, true),
            ("5yz", None, Some((5, 1, 1)), true),
            ("5yz", Some(450), Some((5, 1, 1)), false),
            ("5yz", None, None, false),
            ("5.7.1", Some(550), Some((5, 7, 1)), true),
            ("5.7.1", Some(450), Some((4, 7, 1)), false),
            ("x.7.1", Some(450), Some((4, 7, 1)), true),
            ("5.7.x", None, Some((5, 7, 509)), true),
            ("5.7.606-649", None, Some((5, 7, 649)), true),
            ("5.7.606-649", None, Some((5, 7, 650)), false),
            ("550 5.7.1", Some(550), Some((5, 7, 1)), true),
            ("550 5.7.1", Some(554), Some((5, 7, 1)), false),
            ("none", None, None, true),
            ("none", Some(550), None, false),
        ] {
            let codes = Codes::read(column).unwrap();
            assert_eq!(codes.fit(Reply { code, enhanced }), expected, "{column} {code:?} {enhanced:?}");
        }
        for column in ["", "6yz", "250", "5.7", "5.7.1.1", "7.7.1", "5.x.1", "5.7.9-x", "550  5.7.1"] {
            assert_eq!(Codes::read(column), None, "{column}");
        }
    }
}
