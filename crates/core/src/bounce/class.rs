//! The classes of bounces, and what follows from each.

use crate::names::names_in_json;

names_in_json! {
    /// What a bounce is about.
    pub enum BounceClass {
        /// The address does not exist. Also one whose domain does not, if the receiver says so by X.1.2, and one whose
        /// domain says that it takes no mail at all (RFC 7505).
        InvalidRecipient = "invalid-recipient",
        /// The address existed, and its mailbox is disabled, suspended or abandoned.
        InactiveRecipient = "inactive-recipient",
        /// The mailbox has no room.
        MailboxFull = "mailbox-full",
        /// A rule of the receiver, or of the recipient, that says nothing more exact.
        Policy = "policy",
        /// The sender's address or domain is refused, or does not exist. RFC 3463 has codes of its own for it (X.1.7,
        /// X.1.8), and it tells nothing about the recipient.
        SenderRejected = "sender-rejected",
        /// The mail is taken for spam.
        SpamBlock = "spam-block",
        /// The reputation of the sending host or domain is bad, or a block list names it.
        Reputation = "reputation",
        /// It is not proven who sends: SPF, DKIM or DMARC failed, or the host has no proper name (PTR, HELO). Receivers
        /// name both together (RFC 7372), and both are mended in the DNS of the sender.
        Authentication = "authentication",
        /// Too many mails, recipients or connections.
        RateLimited = "rate-limited",
        /// An unknown sender has to try once more.
        Greylisted = "greylisted",
        /// The recipient's domain is not found, or the way to it is broken: no route, or a loop.
        Dns = "dns",
        /// The connection is not encrypted, or not as one side demands.
        Tls = "tls",
        /// The mail is too large.
        Size = "size",
        /// The content is refused: a virus, an attachment, or a malformed message.
        Content = "content",
        /// A command was not understood, or not allowed at this point.
        Protocol = "protocol",
        /// The server does not relay for us, or wants a login.
        Relay = "relay",
        /// The receiver has a problem that will pass. Also a mail that expired while trying.
        Temporary = "temporary",
        /// An automatic answer, such as one from somebody on vacation. It is no bounce.
        AutoReply = "auto-reply",
        /// The recipient's system wants a person to confirm the mail.
        ChallengeResponse = "challenge-response",
        /// No rule knows it.
        Unknown = "unknown",
    }
}

names_in_json! {
    /// How final a bounce is, as clients are told.
    pub enum BounceKind {
        /// No mail will ever reach the address.
        Permanent = "Permanent",
        /// This mail did not reach the address; another one may.
        Transient = "Transient",
        /// It is not known.
        Undetermined = "Undetermined",
    }
}

/// Whether an address is written to after a bounce.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Suppression {
    /// No more: the address itself is the reason.
    AtOnce,
    /// No more if it happens again over days.
    AfterRepetition,
    /// As before: the reason is the sender, the mail, or what the receiver thinks of them.
    Never,
}

impl BounceClass {
    /// How final a bounce of this class is. Only a bounce about the address is permanent: whatever is refused because of
    /// the sender, the content or the receiver's policy may be taken the next time, though the reply is a 5yz.
    pub fn kind(self) -> BounceKind {
        match self {
            Self::InvalidRecipient | Self::InactiveRecipient => BounceKind::Permanent,
            Self::MailboxFull
            | Self::Policy
            | Self::SenderRejected
            | Self::SpamBlock
            | Self::Reputation
            | Self::Authentication
            | Self::RateLimited
            | Self::Greylisted
            | Self::Tls
            | Self::Size
            | Self::Content
            | Self::Protocol
            | Self::Relay
            | Self::Temporary
            | Self::AutoReply
            | Self::ChallengeResponse => BounceKind::Transient,
            // a domain without DNS records may have been mistyped, or be broken today
            Self::Dns | Self::Unknown => BounceKind::Undetermined,
        }
    }

    /// What follows for the address.
    pub fn suppresses(self) -> Suppression {
        match self {
            Self::InvalidRecipient | Self::InactiveRecipient => Suppression::AtOnce,
            Self::MailboxFull | Self::Dns => Suppression::AfterRepetition,
            Self::Policy
            | Self::SenderRejected
            | Self::SpamBlock
            | Self::Reputation
            | Self::Authentication
            | Self::RateLimited
            | Self::Greylisted
            | Self::Tls
            | Self::Size
            | Self::Content
            | Self::Protocol
            | Self::Relay
            | Self::Temporary
            | Self::AutoReply
            | Self::ChallengeResponse
            | Self::Unknown => Suppression::Never,
        }
    }

    /// Whether a mail came back. An automatic answer says that it arrived.
    pub fn is_bounce(self) -> bool {
        self != Self::AutoReply
    }
}
