//! Patterns of user agents.

/// Stands before a user agent, so that a pattern can begin there.
const BEGINNING: u8 = 0x02;
/// Stands after a user agent, so that a pattern can end there.
const END: u8 = 0x03;
/// The longest part of a user agent that is looked at, in bytes.
const LONGEST: usize = 1024;

/// Patterns for a search in one pass: a bit for the three bytes that a pattern begins with tells where to look closer,
/// and only there.
#[derive(Debug)]
pub(super) struct Agents {
    /// Ascending.
    patterns: Vec<(Box<[u8]>, u16)>,
    /// The first three bytes of patterns, ascending, and the index of the first pattern that has them.
    beginnings: Vec<(u32, usize)>,
    /// A bit for each of the 65,536 values of [`place`].
    bits: Box<[u64; 1024]>,
}

/// A pattern of the table in the form in which it is searched.
pub(super) fn pattern(text: &str) -> Result<Box<[u8]>, String> {
    let (from_beginning, to_end, plain) = match text.split_at_checked(1) {
        Some(("^", rest)) => (true, false, rest),
        Some(("=", rest)) => (true, true, rest),
        _ => (false, false, text),
    };
    if !(3..=100).contains(&plain.len()) {
        return Err("a pattern has 3 to 100 bytes".to_owned());
    }
    if plain.bytes().any(|byte| byte.is_ascii_control()) {
        return Err("a pattern has no control characters".to_owned());
    }
    let marks = [from_beginning.then_some(BEGINNING), to_end.then_some(END)];
    let bytes = marks[0].into_iter().chain(plain.bytes()).chain(marks[1]);
    Ok(bytes.map(|byte| byte.to_ascii_lowercase()).collect())
}

impl Agents {
    /// From patterns as [`pattern`] makes them. Of equal ones the later holds.
    pub(super) fn new(mut patterns: Vec<(Box<[u8]>, u16)>) -> Self {
        patterns.reverse();
        patterns.sort_by(|a, b| a.0.cmp(&b.0));
        patterns.dedup_by(|later, kept| later.0 == kept.0);
        let mut bits = Box::new([0_u64; 1024]);
        let mut beginnings: Vec<(u32, usize)> = Vec::new();
        for (index, (pattern, _)) in patterns.iter().enumerate() {
            if let [first, second, third, ..] = **pattern {
                let key = key(first, second, third);
                let (word, bit) = place(key);
                bits[word] |= bit;
                if beginnings.last().is_none_or(|(last, _)| *last != key) {
                    beginnings.push((key, index));
                }
            }
        }
        Self { patterns, beginnings, bits }
    }

    /// What belongs to the longest pattern that a user agent contains; of equally long ones, the first in the alphabet.
    pub(super) fn find(&self, agent: &str) -> Option<u16> {
        let mut text = Vec::with_capacity(agent.len().min(LONGEST) + 2);
        text.push(BEGINNING);
        text.extend(agent.bytes().take(LONGEST).map(|byte| match byte {
            byte if byte.is_ascii_control() => b' ',
            byte => byte.to_ascii_lowercase(),
        }));
        text.push(END);
        let mut found: Option<(&[u8], u16)> = None;
        let mut rest = text.as_slice();
        while let [first, second, third, ..] = *rest {
            let key = key(first, second, third);
            let (word, bit) = place(key);
            if self.bits[word] & bit != 0
                && let Ok(beginning) = self.beginnings.binary_search_by_key(&key, |(key, _)| *key)
            {
                let from = self.beginnings[beginning].1;
                let to = self.beginnings.get(beginning + 1).map_or(self.patterns.len(), |(_, next)| *next);
                for (pattern, what) in &self.patterns[from..to] {
                    let is_better = found.is_none_or(|(best, _)| {
                        pattern.len() > best.len() || (pattern.len() == best.len() && **pattern < *best)
                    });
                    if is_better && rest.starts_with(pattern) {
                        found = Some((pattern, *what));
                    }
                }
            }
            rest = &rest[1..];
        }
        found.map(|(_, what)| what)
    }
}

/// Three bytes as a number, in the same order.
fn key(first: u8, second: u8, third: u8) -> u32 {
    u32::from_be_bytes([0, first, second, third])
}

/// Where the bit of three bytes is: the word, and the bit in it. Others may have the same.
fn place(key: u32) -> (usize, u64) {
    let mixed = key.wrapping_mul(0x9e37_79b1) >> 16;
    ((mixed >> 6) as usize, 1 << (mixed & 63))
}
