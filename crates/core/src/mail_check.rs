//! What a look at a mail finds, under the names that answers have.

use crate::names::names_in_json;

names_in_json! {
    /// What a mail's DKIM signature is worth, judged by the key that the project has for the domain.
    pub enum Signed {
        /// The key makes this signature of the mail.
        Valid = "VALID",
        /// The key makes another signature: the mail was changed, or another key made it.
        Invalid = "INVALID",
        /// The domain was removed, or has another key by now, so nothing can be said.
        KeyGone = "KEY_GONE",
        /// The mail is not signed.
        Missing = "MISSING",
    }
}

names_in_json! {
    /// What is wrong with the target of a link.
    pub enum LinkProblem {
        /// It leads nowhere.
        Empty = "EMPTY",
        /// It names no host, so that no reader can follow it.
        NoHost = "NO_HOST",
        /// It leads to the reader's own machine, or into a private network.
        Localhost = "LOCALHOST",
        /// It is not encrypted.
        NotHttps = "NOT_HTTPS",
        /// Mail programs do not open addresses of its kind.
        Blocked = "BLOCKED",
    }
}

names_in_json! {
    /// A fact of a mail that makes programs distrust it, or take something out of it.
    pub enum MailWarning {
        /// The text of a link is an address of another host than the one it leads to.
        MisleadingLink = "MISLEADING_LINK",
        /// Scripts, forms, frames, sound or films, which mail programs take out.
        ActiveContent = "ACTIVE_CONTENT",
        /// It is bulk mail without the header `List-Unsubscribe`.
        NoUnsubscribe = "NO_UNSUBSCRIBE",
        /// It has no subject.
        NoSubject = "NO_SUBJECT",
    }
}

/// From how many bytes of HTML on Gmail shows only the beginning of a mail.
pub const CLIPPED_FROM: usize = 102 * 1024;
