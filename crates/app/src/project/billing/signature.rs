//! Signatures of events of the payment service: `Stripe-Signature: t=<seconds>,v1=<hex>`, HMAC-SHA256 of `<t>.<body>`.

use std::time::Duration;

use mailwright_core::time::Timestamp;
use ring::hmac;

/// By how much the time of a signature may differ from ours.
const TOLERANCE: Duration = Duration::from_mins(5);
/// Most signatures of a header that are looked at: there are two while the secret is replaced.
const MOST: usize = 8;

/// Whether a header signs a body with a secret, about now. The comparison takes the same time for every signature.
pub(super) fn is_valid(header: &str, body: &[u8], secret: &[u8], now: Timestamp) -> bool {
    let parts = || header.split(',').filter_map(|part| part.trim().split_once('='));
    let Some(text) = parts().find_map(|(name, value)| (name == "t").then_some(value)) else { return false };
    let Ok(at) = text.parse::<u32>() else { return false };
    let at = Timestamp(i64::from(at) * 1000);
    if now.since(at) > TOLERANCE || at.since(now) > TOLERANCE {
        return false;
    }
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
    let signed = [text.as_bytes(), b".", body].concat();
    parts()
        .filter(|(name, _)| *name == "v1")
        .take(MOST)
        .any(|(_, value)| bytes(value).is_some_and(|tag| hmac::verify(&key, &signed, &tag).is_ok()))
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    if hex.len() != 64 || !hex.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_800_000_000_000);
    const BODY: &[u8] = br#"{"id":"evt_1"}"#;

    fn signature(secret: &str, at: i64, body: &[u8]) -> String {
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
        let tag = hmac::sign(&key, &[at.to_string().as_bytes(), b".", body].concat());
        tag.as_ref().iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
    }

    #[test]
    fn a_signature_is_good_for_its_body_its_secret_and_five_minutes() {
        let at = NOW.0 / 1000;
        let good = signature("whsec_1", at, BODY);
        let header = |at: i64, tag: &str| format!("t={at},v1={tag}");
        let valid = |header: &str| is_valid(header, BODY, b"whsec_1", NOW);
        assert!(valid(&header(at, &good)));
        assert!(valid(&format!("v1={},v0=x, t={at} ,v1={good}", "0".repeat(64))), "one of several");
        for late in [-300, 300] {
            assert!(valid(&header(at + late, &signature("whsec_1", at + late, BODY))), "{late}");
        }
        for late in [-301, 301] {
            assert!(!valid(&header(at + late, &signature("whsec_1", at + late, BODY))), "{late}");
        }
        for wrong in [
            String::new(),
            header(at + 1, &good),
            header(at, &signature("whsec_2", at, BODY)),
            header(at, &signature("whsec_1", at, b"{}")),
            header(at, &good[..62]),
            header(at, &good.replace(|_: char| true, "g")),
            format!("v1={good}"),
            format!("t={at}"),
            format!("t={at},v0={good}"),
            format!("t=-5,v1={good}"),
        ] {
            assert!(!valid(&wrong), "{wrong}");
        }
    }
}
