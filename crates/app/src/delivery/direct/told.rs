//! What a mail server was told, and what it says about us beside that.
//!
//! A server repeats addresses and names in its replies. Whoever chooses them could have it say that it blocks us.

use mailwright_core::pacing::reply::{Signal, signal};
use mailwright_mail::route::registered;
use mailwright_store::sending::email::Claimed;

use crate::delivery::hand_over::Reply;

/// The names that a server was told, or has itself.
#[derive(Clone, Copy)]
pub(super) struct Told<'m> {
    /// Recipient and sender; empty before there is a mail.
    addresses: [&'m str; 2],
    domain: &'m str,
    host: &'m str,
}

impl<'m> Told<'m> {
    /// By a mail.
    pub(super) fn of(mail: &'m Claimed, envelope_sender: &'m str, host: &'m str) -> Self {
        let addresses = [mail.recipient.as_str(), envelope_sender];
        Self { addresses, ..Self::of_domain(mail.recipient.domain(), host) }
    }

    /// Before there is a mail: the domain that it is for is known to whoever runs the server.
    pub(super) fn of_domain(domain: &'m str, host: &'m str) -> Self {
        Self { addresses: [""; 2], domain, host }
    }

    /// All of them, the longest first of those that are parts of others.
    fn names(self) -> [&'m str; 8] {
        let [recipient, sender] = self.addresses;
        let local = |address: &'m str| address.rsplit_once('@').map_or("", |(local, _)| local);
        let (domain, host) = (self.domain, self.host);
        [
            recipient,
            sender,
            host,
            domain,
            registered(host),
            registered(domain),
            local(recipient),
            local(sender),
        ]
    }

    /// What a reply says about us.
    pub(super) fn signal_of(&self, reply: &Reply) -> Option<Signal> {
        self.heard(reply.code, reply.enhanced, &reply.text).filter(|signal| *signal != Signal::Greylisted)
    }

    /// What the parts of a reply say about us, or that the site greylists the mail.
    pub(super) fn heard(&self, code: u16, enhanced: Option<(u8, u16, u16)>, text: &str) -> Option<Signal> {
        let enhanced = enhanced.map(|(class, subject, detail)| (u16::from(class), subject, detail));
        signal(code, enhanced, text, &self.names())
    }
}
