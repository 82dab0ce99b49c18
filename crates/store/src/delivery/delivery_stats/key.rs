//! The names of the counters of how mails were received: `sent`, `day 020000 sent`, `hour 480000 bounced`. The numbers
//! are as wide for every day and hour, so that the names stand in their order.

use std::fmt;

use mailwright_core::names;

/// The name of a counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) span: Span,
    pub(super) counted: Counted,
}

/// A stretch of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Span {
    /// All of it.
    Ever,
    /// A day, in days since the Unix epoch.
    Day(i64),
    /// An hour, in hours since the Unix epoch.
    Hour(i64),
}

names! {
    /// What is counted.
    #[derive(PartialOrd, Ord)]
    pub(super) enum Counted {
        Sent = "sent",
        Bounced = "bounced",
        Complained = "complained",
    }
}

const DAY: &str = "day ";
const HOUR: &str = "hour ";

impl Span {
    /// What the names of all counters of the same kind of stretch lie between: from the first of all, and before the
    /// first of this one.
    pub(super) fn all_before(self) -> (&'static str, String) {
        let first = match self {
            Self::Ever => "",
            Self::Day(_) => DAY,
            Self::Hour(_) => HOUR,
        };
        (first, self.to_string())
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ever => Ok(()),
            Self::Day(day) => write!(f, "{DAY}{day:06}"),
            Self::Hour(hour) => write!(f, "{HOUR}{hour:06}"),
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.span {
            Span::Ever => f.write_str(self.counted.as_str()),
            span => write!(f, "{span} {}", self.counted.as_str()),
        }
    }
}

impl Key {
    /// Reads a name; `None` if it is none of ours.
    pub(super) fn parse(name: &str) -> Option<Self> {
        let (span, counted) = match name.rsplit_once(' ') {
            None => (Span::Ever, name),
            Some((span, counted)) => {
                let day = || Some(Span::Day(span.strip_prefix(DAY)?.parse().ok()?));
                let hour = || Some(Span::Hour(span.strip_prefix(HOUR)?.parse().ok()?));
                (day().or_else(hour)?, counted)
            }
        };
        let counted = Counted::from_name(counted)?;
        Some(Self { span, counted })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;

    proptest! {
        #[test]
        fn a_name_is_read_as_it_was_written(
            span in prop_oneof![
                Just(Span::Ever),
                (0..1_000_000_i64).prop_map(Span::Day),
                (0..1_000_000_i64).prop_map(Span::Hour),
            ],
            counted in select(&Counted::ALL[..]),
        ) {
            let key = Key { span, counted };
            prop_assert_eq!(Key::parse(&key.to_string()), Some(key));
        }

        #[test]
        fn names_stand_in_the_order_of_the_days(day in 0..999_999_i64, counted in select(&Counted::ALL[..])) {
            let (first, next) = Span::Day(day + 1).all_before();
            let name = Key { span: Span::Day(day), counted }.to_string();
            prop_assert!(first < name.as_str() && name < next);
        }
    }

    #[test]
    fn names_are_those_that_are_stored() {
        let name = |span, counted| Key { span, counted }.to_string();
        assert_eq!(name(Span::Ever, Counted::Complained), "complained");
        assert_eq!(name(Span::Day(12_345), Counted::Sent), "day 012345 sent");
        assert_eq!(name(Span::Hour(480_000), Counted::Bounced), "hour 480000 bounced");
        assert_eq!(Key::parse("week 000001 sent"), None);
    }
}
