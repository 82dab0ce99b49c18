//! What a CSV file says about suppressed addresses: a column `email`, and, if they are there, `reason` and `expiresAt`.
//! Other columns are ignored, so that the files of other services, and that of an export, can be imported as they are.

use std::borrow::Cow;

use super::SuppressionReason;
use crate::address::EmailAddress;
use crate::csv;
use crate::import::{Layout, RowFailure};
use crate::short_text::shortened;
use crate::time::Timestamp;

/// The columns that an export writes.
pub const HEADER: [&str; 5] = ["email", "reason", "createdAt", "expiresAt", "emailId"];
/// How much of a cell is shown in a failure, in characters.
const SHOWN: usize = 320;

/// The columns of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Columns {
    email: usize,
    reason: Option<usize>,
    expires_at: Option<usize>,
}

/// A row of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The line on which it begins.
    pub line: u64,
    /// The address.
    pub email: EmailAddress,
    /// Why it is suppressed; `import` when the file does not say.
    pub reason: SuppressionReason,
    /// When it ends by itself.
    pub expires_at: Option<Timestamp>,
}

impl Row {
    /// The row as one that was not imported.
    pub fn failed(&self, error: String) -> RowFailure {
        RowFailure { row: self.line, email: self.email.to_string(), error }
    }
}

/// The reason that a cell names, in our words or in those of other services.
fn reason(cell: &str) -> Option<SuppressionReason> {
    let word = cell.to_ascii_lowercase().replace(['_', ' '], "-");
    SuppressionReason::from_name(&word).or(match word.as_str() {
        "bounce" | "hardbounce" | "bounced" => Some(SuppressionReason::HardBounce),
        "spam" | "spamcomplaint" | "spam-complaint" | "spam-report" | "complained" => {
            Some(SuppressionReason::Complaint)
        }
        "manualsuppression" => Some(SuppressionReason::Manual),
        "unsubscribe" | "unsubscribed" | "global-unsubscribe" => Some(SuppressionReason::UnsubscribeAll),
        _ => None,
    })
}

impl Layout for Columns {
    type Row = Row;

    /// Names are trimmed and compared in any case.
    fn new<'c>(header: impl Iterator<Item = &'c str>) -> Result<Self, String> {
        let names: Vec<String> =
            header.map(|name| name.trim().to_lowercase().replace(['_', ' ', '-'], "")).collect();
        let find = |wanted: &str| names.iter().position(|name| name == wanted);
        let email = ["email", "emailaddress", "address", "recipient"].into_iter().find_map(find);
        let email = email.ok_or("The file has no column named email.")?;
        Ok(Self { email, reason: find("reason"), expires_at: find("expiresat") })
    }

    fn row<'c>(&self, line: u64, cells: impl Iterator<Item = &'c str>) -> Option<Result<Row, RowFailure>> {
        let cells: Vec<&str> = cells.map(str::trim).collect();
        if cells.iter().all(|cell| cell.is_empty()) {
            return None;
        }
        let cell = |place: Option<usize>| {
            place.and_then(|place| cells.get(place)).copied().filter(|cell| !cell.is_empty())
        };
        let text = cell(Some(self.email)).unwrap_or_default();
        let failed = |error: String| {
            let email = shortened(&text.replace('\0', ""), SHOWN);
            Some(Err(RowFailure { row: line, email, error }))
        };
        if text.is_empty() {
            return failed("The row has no email address.".to_owned());
        }
        let Some(email) = EmailAddress::parse(text) else {
            return failed("This is not an email address.".to_owned());
        };
        let reason = match cell(self.reason).map(reason) {
            None => SuppressionReason::Import,
            Some(Some(reason)) => reason,
            Some(None) => {
                let names = SuppressionReason::ALL.map(SuppressionReason::as_str).join(", ");
                return failed(format!("The column reason takes {names}, or nothing."));
            }
        };
        let expires_at = match cell(self.expires_at).map(Timestamp::parse) {
            None => None,
            Some(Some(at)) => Some(at),
            Some(None) => {
                return failed("The column expiresAt takes a date such as 2030-01-31T10:20:30Z.".to_owned());
            }
        };
        Some(Ok(Row { line, email, reason, expires_at }))
    }
}

/// Appends the header of an export.
pub fn write_header(out: &mut String) {
    csv::write(out, HEADER.map(Cow::Borrowed));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(header: &str, cells: &str) -> Option<Result<Row, RowFailure>> {
        Columns::new(header.split(',')).unwrap().row(2, cells.split(','))
    }

    #[test]
    fn rows_say_address_reason_and_end() {
        use SuppressionReason::{Complaint, HardBounce, Import, Manual, UnsubscribeAll};
        for (header, cells, expected, expires) in [
            ("email", "ADA@example.com", Import, false),
            ("Email,Reason", "ada@example.com,", Import, false),
            ("Email,Reason", "ada@example.com,hard-bounce", HardBounce, false),
            ("reason,EmailAddress", "HardBounce,ada@example.com", HardBounce, false),
            ("name,recipient,reason", "x,ada@example.com,SpamComplaint", Complaint, false),
            ("email,reason", "ada@example.com,ManualSuppression", Manual, false),
            ("email,reason,expiresAt", "ada@example.com,unsubscribe_all,2030-01-31", UnsubscribeAll, true),
        ] {
            let read = row(header, cells).unwrap().unwrap();
            assert_eq!((read.email.as_str(), read.reason), ("ada@example.com", expected), "{header}");
            assert_eq!(read.expires_at.is_some(), expires, "{header}");
        }
    }

    #[test]
    fn rows_that_cannot_be_meant_fail_alone() {
        assert!(row("email,reason", " ,").is_none());
        for (cells, word) in [
            (",manual,", "no email"),
            ("ada,manual,", "not an email"),
            ("ada@example.com,because,", "reason takes"),
            ("ada@example.com,,soon", "expiresAt takes"),
        ] {
            let failure = row("email,reason,expires_at", cells).unwrap().unwrap_err();
            assert!(failure.error.contains(word), "{failure:?}");
        }
        assert!(Columns::new("name;email".split(',')).is_err());
    }
}
