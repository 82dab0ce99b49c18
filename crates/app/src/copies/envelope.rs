//! What is around the bytes of every object: a SHA-256 of its name and of them, so that one that was damaged, cut off or
//! put in another's place is seen.

use sha2::{Digest, Sha256};

/// What every object begins with.
const MAGIC: &[u8] = b"mailwright copy 1\n";
/// Bytes of a SHA-256.
const HASH: usize = 32;

fn hash(name: &str, bytes: &[u8]) -> [u8; HASH] {
    let mut hash = Sha256::new();
    hash.update(name.as_bytes());
    hash.update(b"\n");
    hash.update(bytes);
    hash.finalize().into()
}

/// Puts an envelope around the bytes of an object.
pub(super) fn seal(name: &str, bytes: &[u8]) -> Vec<u8> {
    [MAGIC, &hash(name, bytes), bytes].concat()
}

/// Takes the envelope away; `None` where the bytes are not those that were written under this name.
pub(super) fn open(name: &str, mut sealed: Vec<u8>) -> Option<Vec<u8>> {
    let (magic, rest) = sealed.split_at_checked(MAGIC.len())?;
    let (found, bytes) = rest.split_at_checked(HASH)?;
    if magic != MAGIC || found != hash(name, bytes) {
        return None;
    }
    sealed.drain(..MAGIC.len() + HASH);
    Some(sealed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_changed_cut_off_or_exchanged_is_seen() {
        let sealed = seal("a", b"some bytes");
        assert_eq!(open("a", sealed.clone()).as_deref(), Some(&b"some bytes"[..]));
        assert_eq!(open("a", seal("a", b"")).as_deref(), Some(&b""[..]));
        assert_eq!(open("b", sealed.clone()), None);
        for at in 0..sealed.len() {
            let mut damaged = sealed.clone();
            damaged[at] ^= 1;
            assert_eq!(open("a", damaged), None, "{at}");
            assert_eq!(open("a", sealed[..at].to_vec()), None, "{at}");
        }
    }
}
