//! The addresses that bounces return to (VERP), and those that answers come back to: each names the mail that it is of,
//! signed, so that nobody can make up a bounce of a mail that did not reach them.
//!
//! The local part of a return path is `b` and 48 characters of Base32 in small letters: some hosts change the case of local parts, and 64
//! characters are the most that one has (RFC 5321 section 4.5.3.1.1). That of a reply address is the one that the sender
//! wrote, with `+r` and as many characters behind it.

use mailwright_core::ids::{EmailId, ProjectNumber};

use super::base32;
use super::token::{TOKEN, TokenKey};
use crate::secret::InstanceSecret;

/// Purpose under which the addresses are signed.
const PURPOSE: &str = "return path";
/// Purpose under which reply addresses are signed.
const REPLIES: &str = "reply address";
/// What local parts begin with, and what reply addresses have behind the sign.
const PREFIX: char = 'b';
const REPLY_PREFIX: char = 'r';
/// The longest local part.
const MAX_LOCAL: usize = 64;

/// What the addresses are made and read with.
#[derive(Debug)]
pub(crate) struct ReturnPath {
    key: TokenKey,
    prefix: char,
}

impl ReturnPath {
    pub(crate) fn new(secret: &InstanceSecret) -> Self {
        Self { key: TokenKey::new(secret, PURPOSE), prefix: PREFIX }
    }

    /// What reply addresses are made and read with.
    pub(crate) fn of_replies(secret: &InstanceSecret) -> Self {
        Self { key: TokenKey::new(secret, REPLIES), prefix: REPLY_PREFIX }
    }

    /// The local part of an address to which answers to a mail come back; `None` where the sender's is too long for it.
    pub(crate) fn tagged(&self, local: &str, project: ProjectNumber, mail: EmailId) -> Option<String> {
        let tagged = format!("{local}+{}", self.local_part(project, mail));
        (tagged.len() <= MAX_LOCAL).then_some(tagged)
    }

    /// The local part that the sender wrote, and the mail that an address names to which answers come back.
    pub(crate) fn untagged<'l>(&self, local: &'l str) -> Option<(&'l str, ProjectNumber, EmailId)> {
        let (local, tag) = local.rsplit_once('+')?;
        let (project, mail) = self.read(tag)?;
        (!local.is_empty()).then_some((local, project, mail))
    }

    /// The local part of the address to which bounces of a mail return.
    pub(crate) fn local_part(&self, project: ProjectNumber, mail: EmailId) -> String {
        format!("{}{}", self.prefix, base32::encode(&self.key.sign(project, mail)))
    }

    /// The mail whose bounces return to a local part; `None` for one that is not ours. Case does not matter.
    pub(crate) fn read(&self, local: &str) -> Option<(ProjectNumber, EmailId)> {
        let rest = local.strip_prefix([self.prefix, self.prefix.to_ascii_uppercase()])?;
        self.key.verify(base32::decode::<TOKEN>(rest)?)
    }
}

#[cfg(test)]
mod tests {
    use mailwright_core::time::Timestamp;

    use super::*;

    #[test]
    fn a_local_part_names_its_mail_in_any_case() {
        let secret = InstanceSecret::new(*b"0123456789abcdef");
        let return_path = ReturnPath::new(&secret);
        let mail = EmailId::new(Timestamp(1_741_608_000_000), rand::random());
        let named = Some((ProjectNumber(7), mail));
        let local = return_path.local_part(ProjectNumber(7), mail);
        assert_eq!(local.len(), 49);
        assert_eq!(return_path.read(&local), named);
        assert_eq!(return_path.read(&local.to_uppercase()), named);
        for other in ["", "b", &local[1..], &format!("{local}a"), &local.replace(char::is_numeric, "1"), "bé"]
        {
            assert_eq!(return_path.read(other), None, "{other}");
        }
        let mut forged = local.clone().into_bytes();
        for at in 1..forged.len() {
            let before = forged[at];
            forged[at] = if before == b'a' { b'b' } else { b'a' };
            assert_eq!(return_path.read(std::str::from_utf8(&forged).unwrap()), None, "{at}");
            forged[at] = before;
        }
        let replies = ReturnPath::of_replies(&secret);
        let tagged = replies.tagged("help", ProjectNumber(7), mail).unwrap();
        assert_eq!(replies.untagged(&tagged), Some(("help", ProjectNumber(7), mail)));
        assert_eq!(replies.tagged("newsletter-team", ProjectNumber(7), mail), None, "too long");
        for other in ["help", "help+x", "+", &format!("help+{local}"), &tagged[4..]] {
            assert_eq!(replies.untagged(other), None, "{other}");
        }
        assert_eq!(return_path.read(&tagged[5..]), None);
        // the token of a link opens nothing here
        let link = TokenKey::tracking(&secret);
        assert_eq!(link.verify(return_path.key.sign(ProjectNumber(7), mail)), None);
    }
}
