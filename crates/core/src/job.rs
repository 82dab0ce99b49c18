//! Background jobs: long work of a project that is done in steps.

/// What a job does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JobKind {
    /// Creates and updates contacts from a CSV file.
    ImportContacts,
    /// Subscribes contacts.
    SubscribeContacts,
    /// Unsubscribes contacts.
    UnsubscribeContacts,
    /// Removes contacts.
    DeleteContacts,
}

impl JobKind {
    /// Every kind.
    pub const ALL: [Self; 4] =
        [Self::ImportContacts, Self::SubscribeContacts, Self::UnsubscribeContacts, Self::DeleteContacts];

    /// The name in the database and in logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ImportContacts => "import_contacts",
            Self::SubscribeContacts => "subscribe_contacts",
            Self::UnsubscribeContacts => "unsubscribe_contacts",
            Self::DeleteContacts => "delete_contacts",
        }
    }

    /// The kind whose name is `text`.
    pub fn from_name(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }
}

/// Where a job stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JobState {
    /// Its turn has not come, or has passed for now.
    Waiting,
    /// A process works on it.
    Active,
    /// It is tried again after a failure.
    Delayed,
    /// It is done.
    Completed,
    /// It was given up.
    Failed,
}

impl JobState {
    /// Every state.
    pub const ALL: [Self; 5] = [Self::Waiting, Self::Active, Self::Delayed, Self::Completed, Self::Failed];

    /// The name that the API shows.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Active => "active",
            Self::Delayed => "delayed",
            Self::Completed => "completed",
            Self::Failed => "failed",
        }
    }

    /// The state whose name is `text`.
    pub fn from_name(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == text)
    }
}
