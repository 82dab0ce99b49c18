//! A file of which the addresses alone count, whatever they look like.

use crate::import::{Layout, RowFailure, SHOWN, no_email};

/// The longest address of a row, in bytes.
const MAX_ADDRESS: usize = 1016;

/// The column of a file that has the addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Addresses(usize);

/// What stands in a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    /// The line on which it begins.
    pub line: u64,
    /// What stands in the column. It need not be an address.
    pub email: String,
}

impl Layout for Addresses {
    type Row = Given;

    /// The column is named `email`, in any case. Others are ignored.
    fn new<'c>(header: impl Iterator<Item = &'c str>) -> Result<Self, String> {
        let names: Vec<&str> = header.collect();
        let mut columns = (0..).zip(&names).filter(|(_, name)| name.trim().eq_ignore_ascii_case("email"));
        match (columns.next(), columns.next()) {
            (Some((at, _)), None) => Ok(Self(at)),
            (None, _) => Err(no_email(&names)),
            (Some(_), Some(_)) => Err("The file has more than one column named email.".to_owned()),
        }
    }

    fn row<'c>(&self, line: u64, cells: impl Iterator<Item = &'c str>) -> Option<Result<Given, RowFailure>> {
        let cells: Vec<&str> = cells.map(str::trim).collect();
        if cells.iter().all(|cell| cell.is_empty()) {
            return None;
        }
        let email = cells.get(self.0).copied().unwrap_or_default();
        let fault = if email.is_empty() {
            "The row has no email address."
        } else if email.contains('\0') {
            "The row contains the NUL character."
        } else if email.len() > MAX_ADDRESS {
            "This is too long for an email address."
        } else {
            return Some(Ok(Given { line, email: email.to_owned() }));
        };
        let email = email.chars().filter(|c| *c != '\0').take(SHOWN).collect();
        Some(Err(RowFailure { row: line, email, error: fault.to_owned() }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(columns: Addresses, cells: &[&'static str]) -> Option<Result<Given, RowFailure>> {
        columns.row(7, cells.iter().copied())
    }

    #[test]
    fn a_row_is_what_stands_in_its_column() {
        let columns = Addresses::new(["Name", " EMAIL "].into_iter()).unwrap();
        let given = |email: &str| Some(Ok(Given { line: 7, email: email.to_owned() }));
        assert_eq!(row(columns, &["Ada", " ada@shop.test "]), given("ada@shop.test"));
        assert_eq!(row(columns, &["Ada", "no address"]), given("no address"));
        assert_eq!(row(columns, &["", " "]), None);
        for bad in [&["Ada"][..], &["Ada", ""], &["Ada", "a\0b"]] {
            assert!(matches!(row(columns, bad), Some(Err(_))), "{bad:?}");
        }
        let long = "a".repeat(MAX_ADDRESS + 1);
        let failure = columns.row(2, ["", long.as_str()].into_iter()).unwrap().unwrap_err();
        assert_eq!((failure.row, failure.email.len()), (2, SHOWN));
        assert!(Addresses::new(["name"].into_iter()).is_err());
        assert!(Addresses::new(["email", "Email"].into_iter()).is_err());
    }
}
