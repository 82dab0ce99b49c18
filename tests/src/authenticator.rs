//! What an authenticator program does, apart from the service.

use std::time::{SystemTime, UNIX_EPOCH};

use ring::hmac;

/// Seconds that a code is shown.
const STEP: u64 = 30;

/// The bytes of a text in Base32.
pub fn bytes_of(base32: &str) -> Vec<u8> {
    let value =
        |c: char| "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".find(c).unwrap_or_else(|| panic!("{c} in {base32}"));
    let bits: Vec<bool> =
        base32.chars().map(value).flat_map(|v| (0..5).map(move |n| v >> (4 - n) & 1 == 1)).collect();
    bits.chunks_exact(8).map(|byte| byte.iter().fold(0, |all, bit| all << 1 | u8::from(*bit))).collect()
}

/// The time step that begins or goes on now.
pub fn step() -> u64 {
    #[expect(clippy::disallowed_methods, reason = "a device has a clock of its own")]
    let now = SystemTime::now();
    now.duration_since(UNIX_EPOCH).expect("a clock after 1970").as_secs() / STEP
}

/// What an authenticator program shows, written down apart from the service: RFC 4226 section 5.3.
pub fn code(secret: &str, step: u64) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, &bytes_of(secret));
    let tag = hmac::sign(&key, &step.to_be_bytes());
    let at = usize::from(tag.as_ref()[19] & 15);
    let bytes = tag.as_ref()[at..at + 4].try_into().expect("four bytes");
    let number = u32::from_be_bytes(bytes) & 0x7fff_ffff;
    format!("{:06}", number % 1_000_000)
}
