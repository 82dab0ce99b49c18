//! Event names.

use crate::names;

pub use crate::excess::{MAX_EVENT_NAMES, MAX_PUBLIC_EVENT_NAMES};

/// The longest event name, in characters.
pub const MAX_EVENT_NAME: usize = 255;

names! {
    /// What may become of a mail.
    #[derive(PartialOrd, Ord)]
    pub enum Activity {
        /// The next hop took it.
        Sent = "sent",
        /// The recipient's host took it.
        Delivered = "delivered",
        /// It was opened.
        Opened = "opened",
        /// A link in it was followed.
        Clicked = "clicked",
        /// It was refused for good.
        Bounced = "bounced",
        /// The recipient called it spam.
        Complained = "complained",
    }
}

/// A person opened a mail.
pub const EMAIL_OPEN: &str = "email.open";
/// The contact's subscription flipped to true.
pub const CONTACT_SUBSCRIBED: &str = "contact.subscribed";
/// The contact's subscription flipped to false.
pub const CONTACT_UNSUBSCRIBED: &str = "contact.unsubscribed";
/// A mail was accepted by the next hop.
pub const EMAIL_SENT: &str = "email.sent";
/// A mail was refused for good.
pub const EMAIL_BOUNCE: &str = "email.bounce";
/// A mail came in for an address at a sender domain.
pub const EMAIL_RECEIVED: &str = "email.received";

/// The recipient opted out by a link of a mail.
pub const EMAIL_UNSUBSCRIBE: &str = "email.unsubscribe";

/// The event that goes with what became of a mail (reference 6.1).
pub fn event_of(activity: Activity) -> &'static str {
    match activity {
        Activity::Sent => EMAIL_SENT,
        Activity::Delivered => "email.delivery",
        Activity::Opened => EMAIL_OPEN,
        Activity::Clicked => "email.click",
        Activity::Bounced => EMAIL_BOUNCE,
        Activity::Complained => "email.complaint",
    }
}

/// Whether a name is kept for the service's own events (contract, Events, rule 1). Case matters.
pub fn is_reserved(name: &str) -> bool {
    name.starts_with("email.")
        || name == CONTACT_SUBSCRIBED
        || name == CONTACT_UNSUBSCRIBED
        || (name.starts_with("segment.") && (name.ends_with(".entry") || name.ends_with(".exit")))
}

/// Whether a name is longer than an event's can be.
pub fn is_too_long(name: &str) -> bool {
    name.len() > MAX_EVENT_NAME && name.chars().count() > MAX_EVENT_NAME
}

/// The event that a flip of the subscription emits.
pub fn subscription_event(subscribed: bool) -> &'static str {
    if subscribed { CONTACT_SUBSCRIBED } else { CONTACT_UNSUBSCRIBED }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserved_names_and_their_neighbours() {
        for name in [
            "email.sent",
            "email.",
            "contact.subscribed",
            "contact.unsubscribed",
            "segment.vip.entry",
            "segment..exit",
        ] {
            assert!(is_reserved(name), "{name}");
        }
        for name in
            ["contact.created", "segment.foo", "emails.sent", "Email.sent", "segment.entry.x", "signup"]
        {
            assert!(!is_reserved(name), "{name}");
        }
    }

    #[test]
    fn the_length_of_a_name_is_that_of_its_characters() {
        for letter in ["e", "é", "名", "🦀"] {
            assert!(!is_too_long(&letter.repeat(255)), "{letter}");
            assert!(is_too_long(&letter.repeat(256)), "{letter}");
        }
    }
}
