//! The codes: those that change with the time, and recovery codes.

use mailwright_core::ids::UserId;
use mailwright_core::time::Timestamp;
use ring::hmac;

use crate::error::{Error, Result};
use crate::secret::InstanceSecret;

/// Bytes of a seed: as many as SHA-1 makes (RFC 4226 section 4).
pub(super) const SEED: usize = 20;
/// Seconds that a code is shown.
pub(super) const STEP: i64 = 30;
/// How many steps a device's clock may be off.
const DRIFT: i64 = 1;
/// Digits of a code.
pub(super) const DIGITS: usize = 6;
/// Random bytes of a recovery code: 16 characters in Base32.
const RECOVERY_BYTES: usize = 10;
/// Purpose of the keyed hashes of recovery codes.
const RECOVERY: &str = "recovery code";

/// Whether a text is a code rather than a recovery code, which is longer. Programs show codes in groups.
pub(super) fn is_code(text: &str) -> bool {
    text.chars().filter(|c| !c.is_whitespace()).count() == DIGITS
}

/// The time step whose code is given: the current one, or one that a clock which is a little off is in.
pub(super) fn matching_step(seed: &[u8], given: &str, now: Timestamp) -> Option<i64> {
    let given: String = given.chars().filter(|c| !c.is_whitespace()).collect();
    let current = now.0 / 1000 / STEP;
    (current - DRIFT..=current + DRIFT).find(|step| {
        // in a time that does not depend on where they differ
        let right = hotp(seed, *step as u64, DIGITS);
        right.len() == given.len()
            && right.bytes().zip(given.bytes()).fold(0, |all, (a, b)| all | (a ^ b)) == 0
    })
}

/// The code of a counter (RFC 4226 section 5.3).
fn hotp(seed: &[u8], counter: u64, digits: usize) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, seed);
    let tag = hmac::sign(&key, &counter.to_be_bytes());
    let bytes = tag.as_ref();
    let at = usize::from(bytes[bytes.len() - 1] & 0xf);
    let number =
        bytes[at..at + 4].iter().fold(0_u32, |number, byte| number << 8 | u32::from(*byte)) & 0x7fff_ffff;
    format!("{:0digits$}", u64::from(number) % 10_u64.pow(digits as u32))
}

/// Base32 without padding (RFC 4648 section 6).
pub(super) fn base32(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    let bit = |at: usize| bytes.get(at / 8).map_or(0, |byte| byte >> (7 - at % 8) & 1);
    let groups = (bytes.len() * 8).div_ceil(5);
    (0..groups)
        .map(|group| (0..5).fold(0, |value, n| value << 1 | bit(group * 5 + n)))
        .map(|value| char::from(ALPHABET[usize::from(value)]))
        .collect()
}

/// A new recovery code, in groups of four.
pub(super) fn recovery_code() -> String {
    let text = base32(&rand::random::<[u8; RECOVERY_BYTES]>()).to_lowercase();
    [&text[..4], &text[4..8], &text[8..12], &text[12..]].join("-")
}

/// The keyed hash of a recovery code. Case and separators do not matter.
pub(super) fn recovery_hash(secret: &InstanceSecret, user: UserId, code: &str) -> Result<[u8; 32]> {
    let typed: String = code.chars().filter(char::is_ascii_alphanumeric).collect();
    let signed = secret.sign(RECOVERY, format!("{user} {}", typed.to_ascii_lowercase()).as_bytes())?;
    signed.try_into().map_err(|_| Error::Internal("a keyed hash has another length".into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &[u8] = b"12345678901234567890";

    #[test]
    fn codes_are_those_of_rfc_6238() {
        for (seconds, code) in [
            (59_u64, "94287082"),
            (1_111_111_109, "07081804"),
            (1_111_111_111, "14050471"),
            (1_234_567_890, "89005924"),
            (2_000_000_000, "69279037"),
            (20_000_000_000, "65353130"),
        ] {
            assert_eq!(hotp(SECRET, seconds / 30, 8), code, "at {seconds}");
        }
    }

    #[test]
    fn codes_are_those_of_rfc_4226() {
        let codes = [
            "755224", "287082", "359152", "969429", "338314", "254676", "287922", "162583", "399871",
            "520489",
        ];
        for (counter, code) in codes.into_iter().enumerate() {
            assert_eq!(hotp(SECRET, counter as u64, DIGITS), code);
        }
    }

    #[test]
    fn a_clock_may_be_one_step_off() {
        let now = Timestamp(1_234_567_890_000);
        let current = 1_234_567_890 / STEP;
        for (off, found) in [(-2, None), (-1, Some(-1)), (0, Some(0)), (1, Some(1)), (2, None)] {
            let code = hotp(SECRET, (current + off) as u64, DIGITS);
            assert_eq!(matching_step(SECRET, &code, now).map(|step| step - current), found, "{off}");
        }
        let code = hotp(SECRET, current as u64, DIGITS);
        let spaced = format!(" {} {}", &code[..3], &code[3..]);
        assert_eq!(matching_step(SECRET, &spaced, now), Some(current));
        assert_eq!(matching_step(SECRET, &code[1..], now), None);
    }

    #[test]
    fn base32_is_that_of_rfc_4648() {
        for (bytes, text) in [
            ("", ""),
            ("f", "MY"),
            ("fo", "MZXQ"),
            ("foo", "MZXW6"),
            ("foob", "MZXW6YQ"),
            ("fooba", "MZXW6YTB"),
            ("foobar", "MZXW6YTBOI"),
        ] {
            assert_eq!(base32(bytes.as_bytes()), text);
        }
    }

    #[test]
    fn a_recovery_code_is_the_same_however_it_is_typed() {
        let secret = InstanceSecret::new(*b"0123456789abcdef");
        let user = UserId::new(Timestamp(0), rand::random());
        let code = recovery_code();
        assert_eq!(code.len(), 19, "{code}");
        assert!(!is_code(&code));
        let hash = |text: &str| recovery_hash(&secret, user, text).unwrap();
        assert_eq!(hash(&code), hash(&code.to_uppercase().replace('-', " ")));
        assert_ne!(hash(&code), hash(&recovery_code()));
        let other = recovery_hash(&secret, UserId::new(Timestamp(0), rand::random()), &code).unwrap();
        assert_ne!(hash(&code), other);
    }
}
