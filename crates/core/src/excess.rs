//! What a request would exceed or bring back, and what its caller is told.

use crate::issue::Issue;

/// The most custom fields of a contact.
pub const MAX_CONTACT_KEYS: usize = 1000;
/// The largest data of a contact, in bytes of JSON.
pub const MAX_CONTACT_BYTES: usize = 256 * 1024;
/// The most custom fields of a project.
pub const MAX_FIELDS: usize = 1000;
/// How many custom fields a project may have for the public key, which everybody can read, to add another.
pub const MAX_PUBLIC_FIELDS: usize = MAX_FIELDS / 2;
/// The most names that the events of a project can have.
pub const MAX_EVENT_NAMES: usize = 10_000;
/// How many names of events there may be for the public key to add another.
pub const MAX_PUBLIC_EVENT_NAMES: usize = MAX_EVENT_NAMES / 2;

/// Which limit a request would exceed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Excess {
    /// The custom fields of a contact.
    Keys,
    /// The bytes of a contact's data.
    Bytes,
    /// The custom fields of a project.
    Fields,
    /// The names of a project's events.
    EventNames,
    /// The custom fields of a project that the public key can add to.
    PublicFields,
    /// The names of a project's events that the public key can add to.
    PublicEventNames,
    /// Contacts' data that the mails of one request keep.
    Variables,
    /// Contacts' data that has to be read for one request.
    Contacts,
    /// A person was erased and is not to come back.
    Erased,
}

/// The most bytes that the mails of one request keep of their contacts' data.
pub const MAX_VARIABLES: usize = 16 * 1024 * 1024;
/// The most bytes of contacts' data that one request can make us read.
pub const MAX_LOADED: usize = 64 * 1024 * 1024;

impl Excess {
    /// The issue for the caller, with the limit and what to do.
    pub fn issue(self) -> Issue {
        let kilobytes = MAX_CONTACT_BYTES / 1024;
        let (variables, loaded) = (MAX_VARIABLES / 1024 / 1024, MAX_LOADED / 1024 / 1024);
        let (field, message) = match self {
            Self::Keys => (
                "data",
                format!(
                    "The contact would have more than {MAX_CONTACT_KEYS} custom fields. Remove some: a field that is set to null is removed."
                ),
            ),
            Self::Bytes => (
                "data",
                format!(
                    "The contact's data would be larger than {kilobytes} KB. Remove fields: a field that is set to null is removed."
                ),
            ),
            Self::Fields => (
                "data",
                format!(
                    "The project would have more than {MAX_FIELDS} custom fields. Use fields that exist, or delete one that is not needed any more."
                ),
            ),
            Self::EventNames => (
                "event",
                format!(
                    "The project would have events of more than {MAX_EVENT_NAMES} names. Use a name that exists and put what varies into data, or delete events that are not needed any more."
                ),
            ),
            Self::PublicFields => (
                "data",
                format!(
                    "The project has {MAX_PUBLIC_FIELDS} custom fields or almost as many, and requests with \
                     the public key cannot add more. Use fields that exist, or add the field once with a \
                     secret key."
                ),
            ),
            Self::PublicEventNames => (
                "event",
                format!(
                    "The project has events of {MAX_PUBLIC_EVENT_NAMES} names, and requests with the public \
                     key cannot add more. Use a name that exists, or record the event once with a secret key."
                ),
            ),
            Self::Variables => (
                "to",
                format!(
                    "The mails of this request would keep more than {variables} MB of their contacts' data. Send to fewer recipients at a time."
                ),
            ),
            Self::Contacts => (
                "to",
                format!(
                    "The contacts of this request have more than {loaded} MB of data. Name fewer of them at a time."
                ),
            ),
            Self::Erased => {
                let message = "The address was erased from this project and is kept out of it. Only the person may \
                               come back, with a form that uses the public key.";
                return Issue::new("email", "erased", message);
            }
        };
        Issue::new(field, "too_big", message)
    }
}
