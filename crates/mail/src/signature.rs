//! Whether a message has the signature that we make of it.
//!
//! A signature follows from the key, the message and the time that it states, so it is made again and compared. That
//! finds what a receiver who has the key's record finds, without a request to a name server.

use mailwright_core::time::Timestamp;
use memchr::memmem;

use crate::dkim::SigningKey;

/// The name of the header, with its colon.
const NAME: &str = "DKIM-Signature:";

/// The signature that a message begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signature<'a> {
    /// The whole header with its line end.
    header: &'a str,
    /// What is signed.
    message: &'a [u8],
    /// The domain that signed.
    pub domain: &'a str,
    /// Which of its keys.
    pub selector: &'a str,
}

impl<'a> Signature<'a> {
    /// Finds it; nothing where the message begins with another header.
    pub fn of(raw: &'a [u8]) -> Option<Self> {
        let is_end = |at: &usize| !matches!(raw.get(at + 2), Some(b' ' | b'\t'));
        let end = memmem::find_iter(raw, b"\r\n").find(is_end)? + 2;
        let (header, message) = raw.split_at(end);
        let header = std::str::from_utf8(header).ok()?;
        header.get(..NAME.len()).filter(|name| name.eq_ignore_ascii_case(NAME))?;
        Some(Self { header, message, domain: tag(header, "d=")?, selector: tag(header, "s=")? })
    }

    /// Whether the key makes the same signature of the message.
    pub fn is_of(&self, key: &SigningKey) -> bool {
        let at = tag(self.header, "t=").and_then(|at| at.parse::<i64>().ok());
        let Some(at) = at.and_then(|at| at.checked_mul(1000)) else { return false };
        let made = key.sign(self.domain, self.selector, self.message, Timestamp(at));
        made.is_ok_and(|made| made == self.header)
    }
}

/// The value of a tag (RFC 6376 section 3.2).
fn tag<'a>(header: &'a str, name: &str) -> Option<&'a str> {
    let mut tags = header[NAME.len()..].split(';').map(str::trim);
    tags.find_map(|tag| tag.strip_prefix(name)).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dkim::KeyType;

    #[test]
    fn a_signature_is_that_of_its_key_and_its_message() {
        let message = b"From: a@acme.test\r\nSubject: s\r\n\r\nHello\r\n";
        for kind in [KeyType::Rsa2048, KeyType::Ed25519] {
            let key = || SigningKey::from_der(kind, &SigningKey::generate(kind).unwrap().0).unwrap();
            let (ours, other) = (key(), key());
            let header = ours.sign("acme.test", "mw1", message, Timestamp(1_763_000_000_123)).unwrap();
            let raw = [header.as_bytes(), message].concat();
            let found = Signature::of(&raw).unwrap();
            assert_eq!((found.domain, found.selector), ("acme.test", "mw1"));
            assert!(found.is_of(&ours) && !found.is_of(&other));
            let changed = String::from_utf8(raw).unwrap().replace("Hello", "Hallo");
            assert!(!Signature::of(changed.as_bytes()).unwrap().is_of(&ours));
        }
    }

    #[test]
    fn what_is_no_signature_is_none() {
        for raw in [
            &b"From: a@acme.test\r\n\r\n"[..],
            b"",
            b"DKIM-Signature: d=a.test",
            b"DKIM-Signature: v=1\r\n\r\n",
            b"\xff\xfe\r\n\r\n",
        ] {
            assert_eq!(Signature::of(raw), None);
        }
        let raw = b"dkim-signature: d=a.test; s=x; t=999999999999999999\r\n\r\n";
        let (private, _) = SigningKey::generate(KeyType::Ed25519).unwrap();
        let key = SigningKey::from_der(KeyType::Ed25519, &private).unwrap();
        assert!(!Signature::of(raw).unwrap().is_of(&key));
    }
}
