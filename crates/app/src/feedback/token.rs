//! The token that says which mail of which project something is about: in the addresses of tracked links and pictures,
//! and in those that bounces return to.
//!
//! 30 bytes: the mail's id and the number of its project, masked so that only the service can read them, and a tag of 9
//! bytes over both (HMAC-SHA256). No row is needed to tell a token of ours from another. In a link they are 40 characters of
//! base64url, and the number of the link stands beside them: whoever has the token of a mail has the mail, and all its
//! links.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use mailwright_core::ids::{EmailId, ProjectNumber};
use ring::hmac;

use crate::secret::InstanceSecret;

/// Purpose under which the tokens of links are signed.
const TRACKING: &str = "tracking";
/// Bytes of a mail's id.
const MAIL: usize = 16;
/// Bytes of a project's number: enough for 10^12 projects.
const PROJECT: usize = 5;
/// Bytes of the tag. Guesses cost a request each.
const TAG: usize = 9;

/// Bytes of what a token names.
const NAMED: usize = MAIL + PROJECT;
/// Bytes of a token.
pub(super) const TOKEN: usize = NAMED + TAG;

/// What tokens are signed with.
#[derive(Debug)]
pub(crate) struct TokenKey(hmac::Key);

impl TokenKey {
    /// The key for one purpose: the tokens of one are none of another.
    pub(super) fn new(secret: &InstanceSecret, purpose: &str) -> Self {
        Self(secret.signing_key(purpose).expect("a key of 32 bytes can be derived from any secret"))
    }

    /// The key for links and pictures.
    pub(crate) fn tracking(secret: &InstanceSecret) -> Self {
        Self::new(secret, TRACKING)
    }

    /// The token of a mail, for an address of the web.
    pub(crate) fn token(&self, project: ProjectNumber, mail: EmailId) -> String {
        URL_SAFE_NO_PAD.encode(self.sign(project, mail))
    }

    /// The mail that a token of ours in an address of the web names; `None` for any other text.
    pub(crate) fn read(&self, token: &str) -> Option<(ProjectNumber, EmailId)> {
        let mut bytes = [0; TOKEN];
        let length = URL_SAFE_NO_PAD.decode_slice(token, &mut bytes).ok()?;
        if length == TOKEN { self.verify(bytes) } else { None }
    }

    /// The token of a mail.
    pub(super) fn sign(&self, project: ProjectNumber, mail: EmailId) -> [u8; TOKEN] {
        let mut bytes = [0; TOKEN];
        bytes[..MAIL].copy_from_slice(mail.as_uuid().as_bytes());
        bytes[MAIL..NAMED].copy_from_slice(&project.0.to_be_bytes()[8 - PROJECT..]);
        let tag = hmac::sign(&self.0, &bytes[..NAMED]);
        bytes[NAMED..].copy_from_slice(&tag.as_ref()[..TAG]);
        self.mask(&mut bytes);
        bytes
    }

    /// The mail that a token of ours names; `None` for any other bytes.
    pub(super) fn verify(&self, mut bytes: [u8; TOKEN]) -> Option<(ProjectNumber, EmailId)> {
        self.mask(&mut bytes);
        let (named, tag) = bytes.split_at(NAMED);
        let right = hmac::sign(&self.0, named);
        // the time that it takes tells nothing of the right tag
        let differs = right.as_ref().iter().zip(tag).fold(0, |all, (a, b)| all | (a ^ b));
        if differs != 0 {
            return None;
        }
        let mut number = [0; 8];
        number[8 - PROJECT..].copy_from_slice(&bytes[MAIL..NAMED]);
        let mail = <[u8; MAIL]>::try_from(&bytes[..MAIL]).ok()?;
        Some((ProjectNumber(i64::from_be_bytes(number)), EmailId::from_bytes(mail)))
    }

    /// Hides the mail and the project's number, or shows them: whoever sees an address does not learn the `Message-ID` of
    /// the mail. The mask follows from the tag, which differs from mail to mail (as in SIV, RFC 5297).
    fn mask(&self, bytes: &mut [u8; TOKEN]) {
        let (named, tag) = bytes.split_at_mut(NAMED);
        let mask = hmac::sign(&self.0, tag);
        named.iter_mut().zip(mask.as_ref()).for_each(|(byte, mask)| *byte ^= mask);
    }
}

#[cfg(test)]
mod tests {
    use mailwright_core::time::Timestamp;

    use super::*;

    fn key(secret: &[u8; 16]) -> TokenKey {
        TokenKey::tracking(&InstanceSecret::new(*secret))
    }

    #[test]
    fn a_token_is_short_and_names_its_mail() {
        let key = key(b"0123456789abcdef");
        for number in [1, 255, 1 << 39] {
            let mail = EmailId::new(Timestamp(1_741_608_000_000), rand::random());
            let token = key.token(ProjectNumber(number), mail);
            assert_eq!(token.len(), 40);
            assert_eq!(key.read(&token), Some((ProjectNumber(number), mail)));
        }
    }

    #[test]
    fn every_other_text_names_nothing() {
        let ours = key(b"0123456789abcdef");
        let mail = EmailId::new(Timestamp(1_741_608_000_000), rand::random());
        let token = ours.token(ProjectNumber(7), mail);
        assert_eq!(key(b"another secret!!").read(&token), None);
        let bytes = URL_SAFE_NO_PAD.decode(&token).unwrap();
        for at in 0..bytes.len() {
            let mut forged = bytes.clone();
            forged[at] ^= 1;
            assert_eq!(ours.read(&URL_SAFE_NO_PAD.encode(forged)), None, "byte {at}");
        }
        for text in ["", "x", &token[1..], &format!("{token}A"), &format!("{token}="), &"A".repeat(40), "é"]
        {
            assert_eq!(ours.read(text), None, "{text}");
        }
    }
}
