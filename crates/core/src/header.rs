//! Which headers a request may add to a mail, and what their values look like (RFC 5322). The check of requests and the
//! writer of messages (`mail/message/headers.rs`) both use these rules.

use crate::address::Mailbox;

/// The longest name of a header; leaves room for a value on the same line.
pub const MAX_NAME: usize = 255;

/// Most headers that a request may add.
pub const MAX_HEADERS: usize = 100;
/// Most bytes of their names and values together. Readers and filters are not made for more.
pub const MAX_BYTES: usize = 64 * 1024;

/// How the value of a header is read and written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeaderKind {
    /// The service sets this header: it names sender, recipients, subject or date, structures the message, or is a
    /// trace header (RFC 5322).
    Reserved,
    /// A list of addresses (RFC 5322 section 3.4), whose names are encoded one by one.
    Addresses,
    /// Ids, links and tokens, in which nothing can be encoded: ASCII only.
    Structured,
    /// Free text.
    Text,
}

const RESERVED: [&str; 26] = [
    "From",
    "Sender",
    "To",
    "Cc",
    "Bcc",
    "Resent-Bcc",
    "Subject",
    "Date",
    "Message-ID",
    "Return-Path",
    "Received",
    "Received-SPF",
    "Delivered-To",
    "Authentication-Results",
    "ARC-Seal",
    "ARC-Message-Signature",
    "ARC-Authentication-Results",
    "DKIM-Signature",
    "DomainKey-Signature",
    "MIME-Version",
    "Content-Type",
    "Content-Transfer-Encoding",
    "Content-Disposition",
    "Content-Length",
    "Content-MD5",
    "Apparently-To",
];

const ADDRESSES: [&str; 14] = [
    "Reply-To",
    "Mail-Reply-To",
    "Mail-Followup-To",
    "Disposition-Notification-To",
    "Return-Receipt-To",
    "X-Confirm-Reading-To",
    "Errors-To",
    "Resent-From",
    "Resent-Sender",
    "Resent-To",
    "Resent-Cc",
    "Resent-Reply-To",
    "Abuse-Reports-To",
    "X-Complaints-To",
];

const STRUCTURED: [&str; 18] = [
    "In-Reply-To",
    "References",
    "Resent-Date",
    "Resent-Message-ID",
    "List-Id",
    "List-Unsubscribe",
    "List-Unsubscribe-Post",
    "List-Subscribe",
    "List-Help",
    "List-Post",
    "List-Owner",
    "List-Archive",
    "Archived-At",
    "Auto-Submitted",
    "Precedence",
    "Feedback-ID",
    "Content-ID",
    "Content-Language",
];

/// What kind of header has this name, in any casing.
pub fn kind(name: &str) -> HeaderKind {
    let among = |names: &[&str]| names.iter().any(|known| known.eq_ignore_ascii_case(name));
    if among(&RESERVED) {
        HeaderKind::Reserved
    } else if among(&ADDRESSES) {
        HeaderKind::Addresses
    } else if among(&STRUCTURED) {
        HeaderKind::Structured
    } else {
        HeaderKind::Text
    }
}

/// RFC 5322 section 2.2: printable ASCII but the colon.
pub fn is_name(name: &str) -> bool {
    (1..=MAX_NAME).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_graphic() && b != b':')
}

/// Why a mail cannot have this header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// See [`is_name`].
    #[error("Is not a valid header name (RFC 5322).")]
    Name,
    /// See [`HeaderKind::Reserved`].
    #[error("This header is reserved and cannot be set.")]
    Reserved,
    /// Not a list of addresses.
    #[error(
        "Must be an address such as ada@example.com or Ada <ada@example.com>, or several with commas between."
    )]
    Addresses,
    /// Ids and links beyond ASCII.
    #[error("Must be ASCII: values of this header cannot be encoded.")]
    NotAscii,
}

/// Names of headers, by which the service knows those that may not be set. One that ends with `*` stands for all that
/// begin with what is before it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NameList(Vec<String>);

impl NameList {
    /// Reads names with commas between them; the one that is no name of a header is the error.
    pub fn parse(text: &str) -> Result<Self, String> {
        let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
        let checked = names.map(|name| {
            // a star is allowed in names, and nobody who writes one means it
            let start = name.strip_suffix('*').unwrap_or(name);
            if is_name(start) && !start.contains('*') {
                Ok(name.to_ascii_lowercase())
            } else {
                Err(name.to_owned())
            }
        });
        checked.collect::<Result<_, _>>().map(Self)
    }

    /// Whether a header is among these, in any casing.
    pub fn has(&self, name: &str) -> bool {
        let name = name.to_ascii_lowercase();
        self.0.iter().any(|known| match known.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => name == *known,
        })
    }
}

/// Checks a header that a request brings.
pub fn check(name: &str, value: &str) -> Result<(), HeaderError> {
    if !is_name(name) {
        return Err(HeaderError::Name);
    }
    match kind(name) {
        HeaderKind::Reserved => Err(HeaderError::Reserved),
        HeaderKind::Addresses if Mailbox::parse_list(value).is_none() => Err(HeaderError::Addresses),
        HeaderKind::Structured if !value.is_ascii() => Err(HeaderError::NotAscii),
        HeaderKind::Addresses | HeaderKind::Structured | HeaderKind::Text => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_names_and_beginnings_of_names() {
        let list = NameList::parse(" X-SMTPAPI, x-ses-*,,TLS-Required").unwrap();
        for (name, is_among) in [
            ("x-smtpapi", true),
            ("X-SMTPAPI-2", false),
            ("X-SES-CONFIGURATION-SET", true),
            ("X-Ses", false),
            ("tls-required", true),
        ] {
            assert_eq!(list.has(name), is_among, "{name}");
        }
        assert_eq!(NameList::parse("X-A, not a name"), Err("not a name".to_owned()));
        assert_eq!(NameList::parse("*"), Err("*".to_owned()));
        assert_eq!(NameList::parse("X-*-Y"), Err("X-*-Y".to_owned()));
        assert!(!NameList::parse("").unwrap().has("X-A"));
    }

    #[test]
    fn headers_are_checked_by_their_kind() {
        for (name, value, expected) in [
            ("X-Order", "größer", Ok(())),
            ("Bad Name", "x", Err(HeaderError::Name)),
            ("Bad:Name", "x", Err(HeaderError::Name)),
            ("", "x", Err(HeaderError::Name)),
            ("dAtE", "Thu, 1 Jan 2026 00:00:00 +0000", Err(HeaderError::Reserved)),
            ("subject", "x", Err(HeaderError::Reserved)),
            ("Resent-Bcc", "a@example.com", Err(HeaderError::Reserved)),
            ("REPLY-TO", "Müller <mueller@example.com>", Ok(())),
            ("Reply-To", "Müller", Err(HeaderError::Addresses)),
            ("Reply-To", "", Err(HeaderError::Addresses)),
            ("References", "<a@b> <c@d>", Ok(())),
            ("In-Reply-To", "<ä@b>", Err(HeaderError::NotAscii)),
        ] {
            assert_eq!(check(name, value), expected, "{name}: {value}");
        }
    }
}
