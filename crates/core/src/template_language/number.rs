//! Numbers, and texts that read as numbers.

/// A number to calculate with.
#[derive(Debug, Clone, Copy)]
pub(super) enum Num {
    Int(i128),
    Float(f64),
}

impl Num {
    /// The number that `text` reads as.
    pub(super) fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        if let Ok(int) = text.parse() {
            return Some(Self::Int(int));
        }
        // `parse` also takes words such as `inf`, and as long a text as there is.
        let sign = |byte| matches!(byte, b'.' | b'-' | b'+' | b'e' | b'E');
        if text.len() > 400 || !text.bytes().all(|byte| byte.is_ascii_digit() || sign(byte)) {
            return None;
        }
        text.parse().ok().filter(|float: &f64| float.is_finite()).map(Self::Float)
    }

    /// The number with a fraction.
    pub(super) fn float(self) -> f64 {
        match self {
            Self::Int(value) => value as f64,
            Self::Float(value) => value,
        }
    }
}
