//! What a check says of a record.

/// The result of looking up an expected record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RecordStatus {
    /// The record, or one that serves as well.
    Found,
    /// No record of this purpose.
    Missing,
    /// A record of this purpose that does not serve.
    Mismatch,
    /// The name server gave no answer; nothing is known.
    Unavailable,
}

impl RecordStatus {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Found, Self::Missing, Self::Mismatch, Self::Unavailable];

    /// The status of a name; `None` for a name that there is not.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == name)
    }

    /// The name in answers of the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Found => "found",
            Self::Missing => "missing",
            Self::Mismatch => "mismatch",
            Self::Unavailable => "unavailable",
        }
    }
}
