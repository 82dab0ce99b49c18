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
        /// Its subject, HTML or text has an error in the templates' language.
        InvalidTemplate = "INVALID_TEMPLATE",
        /// Gmail shows only the beginning of its HTML.
        Clipped = "CLIPPED",
        /// It is larger than many servers take.
        Large = "LARGE",
        /// Pictures do not say what they show.
        UndescribedPicture = "UNDESCRIBED_PICTURE",
        /// It has pictures, and hardly a word beside them.
        LittleText = "LITTLE_TEXT",
        /// Lists of mails show only the beginning of its subject.
        LongSubject = "LONG_SUBJECT",
        /// Its subject is in capitals.
        CapitalSubject = "CAPITAL_SUBJECT",
        /// Its plain text is empty.
        EmptyText = "EMPTY_TEXT",
        /// Links are not encrypted.
        InsecureLink = "INSECURE_LINK",
        /// Links hide where they lead, behind a service that shortens addresses.
        ShortLink = "SHORT_LINK",
    }
}

names_in_json! {
    /// What a receiver will find of a mail's authentication.
    pub enum Expectation {
        /// It passes.
        Pass = "pass",
        /// It fails.
        Fail = "fail",
        /// There is nothing that could pass.
        None = "none",
        /// Too little is known of the records.
        Unknown = "unknown",
    }
}

/// From how many bytes of HTML on Gmail shows only the beginning of a mail.
pub const CLIPPED_FROM: usize = 102 * 1024;
/// From how many bytes of the whole mail on many servers refuse it.
pub const LARGE_FROM: usize = 10 * 1024 * 1024;
/// How many characters of text, without spaces and addresses, a mail with pictures has at least so that filters do not
/// take it for one picture.
pub const FEWEST_CHARACTERS: usize = 200;
/// How many characters of a subject are shown in lists of mails at most (RFC 5322 section 2.1.1 wants no longer lines).
pub const LONGEST_SUBJECT: usize = 78;
/// From how many letters on a subject in capitals is told of. Shorter ones are names and codes.
pub const CAPITALS_FROM: usize = 8;
