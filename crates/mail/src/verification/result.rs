//! What is found out about an address.

use serde::Serialize;

/// The reason of an address about which there is nothing else to say.
pub(super) const LOOKS_VALID: &str = "The address looks valid.";

/// What is found out about an address. The names in JSON are those of the fields in camel case.
///
/// A flag that depends on DNS is false when the name server gave no answer; a reason says so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the answer")]
pub struct Verification {
    /// The address as it was given.
    pub email: String,
    /// Whether mail can be sent there, as far as can be known. False only for an address that is malformed, one whose
    /// domain does not exist, one whose domain cannot receive mail, and after [`Verification::refuse`].
    pub valid: bool,
    /// Whether the domain is on the list of those with disposable addresses.
    pub is_disposable: bool,
    /// Whether the domain is of a service that forwards mail and hides the real address.
    pub is_alias: bool,
    /// Whether the domain was probably mistyped.
    pub is_typo: bool,
    /// Whether the local part has a tag after a plus.
    pub is_plus_addressed: bool,
    /// Whether the domain is of a provider of mailboxes for private persons.
    pub is_personal_email: bool,
    /// Whether the local part is the name of an office or a program, such as `info`.
    pub is_role_address: bool,
    /// Whether the domain points to a service that parks domains.
    pub is_parked: bool,
    /// Whether the name of the domain is there in DNS, with whatever records, or with names below it. It need not be the
    /// top of a zone.
    pub domain_exists: bool,
    /// Whether the domain has an IPv4 or IPv6 address.
    pub has_website: bool,
    /// Whether the domain has an MX record; a null MX (RFC 7505) is one.
    pub has_mx_records: bool,
    /// What was found, one English sentence each: what is wrong first, then the evidence for the flags. Never empty.
    pub reasons: Vec<String>,
    /// The whole address with the domain that was probably meant; only if `is_typo`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suggested_email: Option<String>,
    /// The same under the name that other services have for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub did_you_mean: Option<String>,
}

impl Verification {
    /// An address without a flag or a reason.
    pub(super) fn new(email: &str) -> Self {
        Self {
            email: email.to_owned(),
            valid: true,
            is_disposable: false,
            is_alias: false,
            is_typo: false,
            is_plus_addressed: false,
            is_personal_email: false,
            is_role_address: false,
            is_parked: false,
            domain_exists: false,
            has_website: false,
            has_mx_records: false,
            reasons: Vec::new(),
            suggested_email: None,
            did_you_mean: None,
        }
    }

    /// A result that was stored, without its flags and reasons: the address, and the one that was probably meant.
    pub fn of(email: String, meant: Option<String>) -> Self {
        Self { suggested_email: meant.clone(), did_you_mean: meant, ..Self::new(&email) }
    }

    /// Adds what the caller knows of the address, one English sentence. The reason that there is nothing else to say is
    /// left out then.
    pub fn add_reason(&mut self, reason: impl Into<String>) {
        self.reasons.retain(|known| known != LOOKS_VALID);
        self.reasons.push(reason.into());
    }

    /// Makes the address invalid, because of something that the caller knows of it: mail to it bounced before, or it is
    /// suppressed.
    pub fn refuse(&mut self, reason: impl Into<String>) {
        self.valid = false;
        self.add_reason(reason);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callers_add_what_they_know() {
        let mut found = Verification::new("Ada@example.com");
        found.reasons.push(LOOKS_VALID.into());
        found.add_reason("It opened a mail in May.");
        assert_eq!(
            (found.valid, found.reasons.as_slice()),
            (true, &["It opened a mail in May.".to_owned()][..])
        );
        found.refuse("A mail to it bounced.");
        assert_eq!((found.valid, found.reasons.len()), (false, 2));
        let json = serde_json::to_value(&found).unwrap();
        assert_eq!(json["isPlusAddressed"], false);
        assert_eq!(json["email"], "Ada@example.com");
        assert_eq!(json.get("suggestedEmail"), None);
    }
}
