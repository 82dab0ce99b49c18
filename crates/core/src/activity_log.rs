//! Places in the log of the feed, by which those who follow it say how far they have read.

use std::fmt;
use std::str::FromStr;

/// The next entry to read: which row of the log, and which entry in it. As text it is `<position>.<index>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bookmark {
    /// The place of the row.
    pub position: i64,
    /// How many of its entries were read.
    pub index: usize,
}

impl Bookmark {
    /// The first entry behind a row.
    pub fn behind(position: i64) -> Self {
        Self { position: position.saturating_add(1), index: 0 }
    }
}

impl fmt::Display for Bookmark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.position, self.index)
    }
}

/// A text that is no bookmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoBookmark;

impl FromStr for Bookmark {
    type Err = NoBookmark;

    fn from_str(text: &str) -> Result<Self, NoBookmark> {
        let (position, index) = text.split_once('.').ok_or(NoBookmark)?;
        let found = Self {
            position: position.parse().map_err(|_| NoBookmark)?,
            index: index.parse().map_err(|_| NoBookmark)?,
        };
        // what is read back otherwise was not made here
        if found.position >= 0 && found.to_string() == text { Ok(found) } else { Err(NoBookmark) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bookmark_is_read_as_it_was_written() {
        let some = Bookmark { position: 12, index: 7 };
        assert_eq!(some.to_string().parse(), Ok(some));
        assert_eq!(Bookmark::behind(12).to_string(), "13.0");
        for bad in ["", ".", "1", "1.", ".1", "-1.0", "01.0", "1.00", "1.0.0", "99999999999999999999.0"] {
            assert_eq!(bad.parse::<Bookmark>(), Err(NoBookmark), "{bad}");
        }
    }
}
