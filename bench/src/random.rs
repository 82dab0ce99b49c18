//! Numbers that look random and are the same in every run.

/// `SplitMix64` (Steele, Lea, Flood 2014): one addition and three multiplications a number.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    /// A sequence of its own for each seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    /// The next number.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }
}

/// Every number below a bound once, far from its neighbours.
#[derive(Debug, Clone)]
pub(crate) struct Shuffle {
    bound: u64,
    step: u64,
    at: u64,
}

impl Shuffle {
    /// The numbers below `bound`, beginning at `first`.
    pub(crate) fn new(bound: usize, first: u64) -> Self {
        let bound = bound.max(1) as u64;
        // near the golden section, so that neighbours in the sequence are far from each other
        let mut step = (bound * 618 / 1000).max(1);
        while gcd(step, bound) != 1 {
            step += 1;
        }
        Self { bound, step, at: first % bound }
    }

    /// The next number; after the last one they begin again.
    pub(crate) fn next(&mut self) -> usize {
        self.at = (self.at + self.step) % self.bound;
        self.at as usize
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shuffle_meets_every_number_once() {
        for bound in [1, 7, 100, 1000] {
            let mut shuffle = Shuffle::new(bound, 3);
            let seen: std::collections::BTreeSet<_> = (0..bound).map(|_| shuffle.next()).collect();
            assert_eq!(seen.len(), bound);
        }
    }
}
