//! Which values a mail of a content is rendered with, and keeps.

use mailwright_core::contact::Contact;
use mailwright_core::custom_data::{self, Data};
use serde_json::Value;

use super::prepare::Prepared;

/// The names that every mail has a value for: those of its contact and of the contact's pages.
pub(crate) const FIXED: [&str; 7] =
    ["id", "svc_id", "email", "svc_email", "unsubscribeUrl", "subscribeUrl", "manageUrl"];

impl Prepared {
    /// Whether its mails differ by more than the address: it names values that not all of them share.
    pub(crate) fn has_own_values(&self) -> bool {
        self.names.iter().any(|name| !FIXED.contains(&name.as_str()) && !self.shared.contains_key(name))
    }

    /// The request's values that the content uses.
    pub(super) fn used<'r>(&self, request: &'r Data) -> impl Iterator<Item = (&'r String, &'r Value)> {
        let all = self.names.contains("data");
        request.iter().filter(move |(name, _)| all || *name == "locale" || self.names.contains(*name))
    }

    /// Bytes of the request's values that the content uses.
    pub(crate) fn request_bytes(&self, request: &Data) -> usize {
        self.used(request).map(|(name, value)| name.len() + 4 + custom_data::value_size(value)).sum()
    }

    /// Bytes of a contact's data that a mail keeps.
    pub(crate) fn kept_bytes(&self, contact: &Contact) -> usize {
        self.request_bytes(&contact.data)
    }

    /// The values a mail is rendered with, as they are now: of the names its content uses, the request's values before
    /// the contact's. `data` as a whole, when the content refers to it. What all recipients share is left out.
    pub(crate) fn variables(&self, contact: &Contact, request: &Data) -> Data {
        // a recipient's own name is the one value of a request that is not everybody's
        let is_shared = |name: &str| match self.shared.get(name) {
            Some(shared) => name != "name" || request.get(name) == Some(shared),
            None => false,
        };
        let value = |name: &str| {
            let found = request.get(name).or_else(|| contact.data.get(name));
            found.filter(|_| !is_shared(name))
        };
        let mut variables = Data::new();
        if self.names.contains("data") {
            for name in contact.data.keys().chain(request.keys()) {
                if let Some(found) = value(name)
                    && !variables.contains_key(name)
                {
                    variables.insert(name.clone(), found.clone());
                }
            }
        }
        for name in &self.names {
            if let Some(found) = value(name) {
                variables.insert(name.clone(), found.clone());
            }
        }
        if self.names.contains("subscribed")
            && !variables.contains_key("subscribed")
            && !self.shared.contains_key("subscribed")
        {
            variables.insert("subscribed".into(), contact.subscribed.into());
        }
        if let Some(locale @ Value::String(_)) = value("locale") {
            // what the mail says around its content can be in the recipient's language
            variables.insert("locale".into(), locale.clone());
        }
        variables
    }
}
