//! Random numbers that can be had again: a failing test prints the seed it began with.

use std::fmt::Write as _;
use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

/// A small generator (`SplitMix64`); good enough to choose moments and sizes.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A generator from `MAILWRIGHT_TEST_SEED` when it is set, from a new seed otherwise; prints the seed.
    #[expect(clippy::print_stderr, reason = "the seed is what repeats a failed run")]
    pub fn from_environment() -> Self {
        let seed = match std::env::var("MAILWRIGHT_TEST_SEED") {
            Ok(seed) => seed.parse().expect("MAILWRIGHT_TEST_SEED is a number"),
            Err(_) => RandomState::new().hash_one(0_u8),
        };
        eprintln!("random choices begin with MAILWRIGHT_TEST_SEED={seed}");
        Self(seed)
    }

    /// A generator that gives the same numbers each time.
    pub fn seeded(seed: u64) -> Self {
        Self(seed)
    }

    /// Another generator, independent of this one.
    #[must_use]
    pub fn fork(&mut self) -> Self {
        Self(self.next())
    }

    /// Any number.
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// A time of at most so many milliseconds.
    pub fn millis(&mut self, most: u64) -> Duration {
        Duration::from_millis(self.below(most + 1))
    }

    /// A text of lower-case hexadecimal digits.
    pub fn hex(&mut self, length: usize) -> String {
        let mut text = String::with_capacity(length + 16);
        while text.len() < length {
            write!(text, "{:016x}", self.next()).expect("writing to a string");
        }
        text.truncate(length);
        text
    }
}

/// A number that looks random and depends on the text alone.
pub fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| mix(hash ^ u64::from(byte)))
}

/// The finalizer of `SplitMix64`.
fn mix(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}
