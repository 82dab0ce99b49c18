//! Base32 (RFC 4648 section 6) in small letters and without padding, for local parts: some hosts change their case.

const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
/// Bits of a character.
const BITS: usize = 5;

/// The characters of bytes whose bits fill them.
pub(super) fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity((bytes.len() * 8).div_ceil(BITS));
    let (mut buffer, mut bits) = (0_u32, 0);
    for byte in bytes {
        buffer = (buffer << 8) | u32::from(*byte);
        bits += 8;
        while bits >= BITS {
            bits -= BITS;
            text.push(char::from(ALPHABET[(buffer >> bits) as usize & 31]));
        }
    }
    text
}

/// The bytes that a text stands for; `None` where it stands for another number of them, or for none. Case does not matter.
pub(super) fn decode<const LENGTH: usize>(text: &str) -> Option<[u8; LENGTH]> {
    if text.len() * BITS != LENGTH * 8 {
        return None;
    }
    let mut bytes = [0; LENGTH];
    let (mut buffer, mut bits, mut place) = (0_u32, 0, 0);
    for letter in text.bytes() {
        let value = ALPHABET.iter().position(|known| *known == letter.to_ascii_lowercase())?;
        buffer = (buffer << BITS) | value as u32;
        bits += BITS;
        if bits >= 8 {
            bits -= 8;
            *bytes.get_mut(place)? = (buffer >> bits) as u8;
            place += 1;
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_in_any_case() {
        for bytes in [[0; 5], [255; 5], *b"Hello"] {
            let text = encode(&bytes);
            assert_eq!(text.len(), 8);
            assert_eq!((decode(&text), decode(&text.to_uppercase())), (Some(bytes), Some(bytes)));
        }
        for text in ["", "a", "aaaaaaa", "aaaaaaaaa", "aaaaaaa1", "aaaaaaé"] {
            assert_eq!(decode::<5>(text), None, "{text}");
        }
    }
}
