//! Bytes in hexadecimal.

use std::fmt::Write as _;

/// Two lower-case digits for each byte.
pub fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_byte_has_two_digits() {
        assert_eq!(super::encode(&[0, 10, 255]), "000aff");
    }
}
