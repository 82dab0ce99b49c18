//! What the text of a refusal is about, for servers whose codes do not tell.

use std::hash::{DefaultHasher, Hash, Hasher};

/// Words for the recipient of a mail.
const RECIPIENT: &[&str] =
    &["user", "mailbox", "recipient", "address", "account", "inbox", "person", "alias", "local part"];
/// Phrases about a recipient that does not exist.
const IS_MISSING: &[&str] = &[
    "unknown",
    "no such",
    "not exist",
    "n't exist",
    "not found",
    "be found",
    "unrouteable",
    "unroutable",
    "invalid",
    "not valid",
    "not a valid",
    "disabled",
    "deactivated",
    "inactive",
    "unavailable",
    "not known",
    "not local",
    "no mailbox",
    "no user",
    "no account",
    "no longer",
    "not here",
    "not have",
    "n't have",
    "undeliverable",
    "deleted",
    "discontinued",
    "closed",
    "name not allowed",
];
/// Phrases about the sending host, the sender or the server's rules; they decide, whatever else the text says.
const US: &[&str] = &[
    "relay",
    "authenti",
    "authoriz",
    "sender",
    "client host",
    "helo",
    "ehlo",
    "black",
    "blocklist",
    "block list",
    "blocked",
    "dnsbl",
    "spam",
    "spf",
    "dkim",
    "dmarc",
    "reverse dns",
    "ptr",
    "policy",
    "prohibit",
    "denied",
    "your ip",
    "your host",
    "your server",
    "your domain",
    "your address",
    "your account",
    "your message",
    "reputation",
    "banned",
    "rcpthosts",
    "permitted",
    "administrat",
];
/// Phrases about the sending host or its permission to send, also in refusals of a mail's content.
const HOST: &[&str] = &["relay", "authenti", "client host", "your ip", "not verified"];
/// Phrases about how much a sender may send.
const SENDING: &[&str] = &[
    "sending",
    "sender",
    "submission",
    "http",
    "outbound",
    "daily",
    "hourly",
    "per day",
    "per hour",
    "per minute",
    "your ",
];
/// Phrases about other limits: the size of a message, the length of a line, the number of hops.
const OTHER_LIMITS: &[&str] = &["size", "length", "large", "hop", "loop"];
/// RFC 5321 writes this behind "mailbox unavailable", as one of several examples.
const EXAMPLE: &str = "command rejected for policy reasons";

/// The text of a refusal in small letters, without addresses and links: what stands in those is not said.
#[derive(Debug)]
pub(super) struct Wording(String);

impl Wording {
    pub(super) fn of(text: &str) -> Self {
        let text = text.to_lowercase().replace(EXAMPLE, " ");
        let words = text.split_whitespace().filter(|word| !word.contains('@') && !word.contains("://"));
        Self(words.collect::<Vec<_>>().join(" "))
    }

    fn has(&self, any: &[&str]) -> bool {
        any.iter().any(|part| self.0.contains(part))
    }

    /// Whether it says that the recipient does not exist.
    pub(super) fn speaks_of_the_recipient(&self) -> bool {
        self.has(RECIPIENT) && self.has(IS_MISSING) && !self.speaks_of_us()
    }

    /// Whether it speaks of us, of the sender or of rules.
    pub(super) fn speaks_of_us(&self) -> bool {
        self.has(US)
    }

    /// Whether it speaks of the host that sends or of its right to.
    pub(super) fn speaks_of_the_host(&self) -> bool {
        self.has(HOST)
    }

    /// Whether it says that we, or the sender, sent too much. A mailbox can be full as well; with `of_mailbox` it is,
    /// unless something else is said.
    pub(super) fn speaks_of_our_limit(&self, of_mailbox: bool) -> bool {
        let mut words = self.0.split(|c: char| !c.is_ascii_alphanumeric());
        let is_limit =
            self.has(&["quota", "limit", "too many messages", "too many mails", "too many emails"])
                || words.any(|word| word == "rate");
        let of_mailbox = of_mailbox || self.has(&["mailbox", "inbox", "recipient", "account", "storage"]);
        is_limit && !self.has(OTHER_LIMITS) && (!of_mailbox || self.has(SENDING))
    }

    /// Whether it speaks of a mail that goes round.
    pub(super) fn speaks_of_a_loop(&self) -> bool {
        self.has(&["loop", "hop"])
    }

    /// A number that is the same for replies that differ in the recipient, in numbers and in what has some.
    pub(super) fn likeness(&self, recipient: &str) -> u64 {
        let name = recipient.split('@').next().unwrap_or_default().to_lowercase();
        let mut hasher = DefaultHasher::new();
        for word in self.0.split_whitespace() {
            let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
            if bare != name && !word.contains(|c: char| c.is_ascii_digit()) {
                word.hash(&mut hasher);
            }
        }
        hasher.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_are_alike_but_for_the_recipient_and_numbers() {
        let alike = |text: &str, recipient: &str| Wording::of(text).likeness(recipient);
        let ada = alike("<ada@example.com>: no mailbox ada here (queue 4F1B2)", "ada@example.com");
        assert_eq!(ada, alike("<bob@x.example>: no mailbox Bob here (queue 77AA)", "bob@x.example"));
        assert_ne!(ada, alike("<bob@x.example>: mailbox full", "bob@x.example"));
    }
}
