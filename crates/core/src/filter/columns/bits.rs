//! A bit for each row.

/// Rows whose bits are in a word.
pub(super) const WORD: usize = 64;

/// A bit for each row: those that are set are the rows that something is true of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bits {
    words: Vec<u64>,
    /// How many rows there are; the bits after the last are not set.
    len: usize,
}

impl Bits {
    /// So many rows, of which nothing is true.
    pub(super) fn none(len: usize) -> Self {
        Self { words: vec![0; len.div_ceil(WORD)], len }
    }

    /// How many rows are set.
    pub fn count(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    pub(super) fn get(&self, row: usize) -> bool {
        self.words.get(row / WORD).is_some_and(|word| word >> (row % WORD) & 1 == 1)
    }

    pub(super) fn set(&mut self, row: usize, value: bool) {
        let (word, bit) = (&mut self.words[row / WORD], 1 << (row % WORD));
        if value {
            *word |= bit;
        } else {
            *word &= !bit;
        }
    }

    /// Makes room for a row, which is not set; those from there on move up by one.
    pub(super) fn insert(&mut self, row: usize) {
        self.len += 1;
        self.words.resize(self.len.div_ceil(WORD), 0);
        let (first, below) = (row / WORD, (1 << (row % WORD)) - 1);
        for at in (first + 1..self.words.len()).rev() {
            self.words[at] = self.words[at] << 1 | self.words[at - 1] >> (WORD - 1);
        }
        let word = self.words[first];
        self.words[first] = word & below | (word & !below) << 1;
    }

    /// Adds rows at the end.
    pub(super) fn extend(&mut self, rows: impl ExactSizeIterator<Item = bool>) {
        let before = self.len;
        self.len += rows.len();
        self.words.resize(self.len.div_ceil(WORD), 0);
        for (row, value) in (before..).zip(rows) {
            self.set(row, value);
        }
    }

    /// Keeps of the rows that are set those of which `holds` is true. It is asked about no others.
    pub(super) fn retain(&self, mut holds: impl FnMut(usize) -> bool) -> Self {
        let words = self.words.iter().enumerate().map(|(at, word)| {
            let (mut left, mut kept) = (*word, 0);
            while left != 0 {
                let bit = left.trailing_zeros();
                kept |= u64::from(holds(at * WORD + bit as usize)) << bit;
                left &= left - 1;
            }
            kept
        });
        Self { words: words.collect(), len: self.len }
    }

    /// The same where most rows are set and asking about one more costs nothing.
    pub(super) fn retain_of<T: Copy + Default>(&self, column: &[T], holds: impl Fn(T) -> bool) -> Self {
        self.retain_by(column, |cells| {
            let mut flags = [0; WORD];
            for (flag, cell) in flags.iter_mut().zip(cells) {
                *flag = u8::from(holds(*cell));
            }
            pack(&flags)
        })
    }

    /// The same where many cells are asked about at once. The answer for those that are not set does not matter.
    pub(super) fn retain_by<T: Copy + Default>(
        &self,
        column: &[T],
        holds: impl Fn(&[T; WORD]) -> u64,
    ) -> Self {
        let (whole, rest) = column.as_chunks::<WORD>();
        let mut words = Vec::with_capacity(self.words.len());
        words.extend(self.words.iter().zip(whole).map(|(word, cells)| {
            // what is empty costs nothing
            if *word == 0 { 0 } else { word & holds(cells) }
        }));
        if let (false, Some(last)) = (rest.is_empty(), self.words.last()) {
            let mut cells = [T::default(); WORD];
            cells[..rest.len()].copy_from_slice(rest);
            words.push(last & holds(&cells));
        }
        Self { words, len: self.len }
    }

    /// These rows alone, which become the first, the second and so on.
    pub(super) fn kept(&self, rows: &[usize]) -> Self {
        let mut kept = Self::none(rows.len());
        for (to, from) in rows.iter().enumerate() {
            kept.set(to, self.get(*from));
        }
        kept
    }

    pub(super) fn and(&self, other: &Self) -> Self {
        self.with(other, |one, other| one & other)
    }

    pub(super) fn and_not(&self, other: &Self) -> Self {
        self.with(other, |one, other| one & !other)
    }

    /// The rows that are set in one of both alone.
    #[must_use]
    pub fn differing(&self, other: &Self) -> Self {
        self.with(other, |one, other| one ^ other)
    }

    /// The rows that are set in one of both at least.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        self.with(other, |one, other| one | other)
    }

    fn with(&self, other: &Self, combine: fn(u64, u64) -> u64) -> Self {
        let words = self.words.iter().zip(&other.words).map(|(one, other)| combine(*one, *other));
        Self { words: words.collect(), len: self.len }
    }

    /// The rows that are set below `end`, from the last to the first.
    pub(super) fn backwards(&self, end: usize) -> impl Iterator<Item = usize> {
        let end = end.min(self.len);
        (0..end.div_ceil(WORD)).rev().flat_map(move |at| {
            let above = end - at * WORD;
            let word = self.words[at] & if above < WORD { (1 << above) - 1 } else { u64::MAX };
            Ones(word).map(move |bit| at * WORD + bit)
        })
    }

    /// Bytes of memory.
    pub(super) fn bytes(&self) -> usize {
        self.words.capacity() * size_of::<u64>()
    }
}

/// A word of flags that are 0 or 1, the first in the lowest bit.
pub(super) fn pack(flags: &[u8; WORD]) -> u64 {
    // takes each of eight bytes to its bit of the highest byte
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let eights = flags.as_chunks::<8>().0.iter().enumerate();
    eights
        .fold(0, |word, (at, eight)| word | u64::from_le_bytes(*eight).wrapping_mul(GATHER) >> 56 << (8 * at))
}

/// The bits of a word that are set, from the highest to the lowest.
struct Ones(u64);

impl Iterator for Ones {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let bit = self.0.checked_ilog2()?;
        self.0 ^= 1 << bit;
        Some(bit as usize)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bits(rows: &[bool]) -> Bits {
        let mut bits = Bits::none(rows.len());
        rows.iter().enumerate().for_each(|(row, set)| bits.set(row, *set));
        bits
    }

    proptest! {
        #[test]
        fn rows_are_inserted_and_walked(
            mut rows in proptest::collection::vec(any::<bool>(), 0..200),
            places in proptest::collection::vec(any::<proptest::sample::Index>(), 1..80),
        ) {
            let mut found = bits(&rows);
            for place in places {
                let row = place.index(rows.len() + 1);
                rows.insert(row, false);
                found.insert(row);
                prop_assert_eq!(&found, &bits(&rows));
            }
            let end = rows.len() / 2;
            let set = |rows: &[bool]| (0..rows.len()).rev().filter(|row| rows[*row]).collect::<Vec<_>>();
            prop_assert_eq!(found.backwards(usize::MAX).collect::<Vec<_>>(), set(&rows));
            prop_assert_eq!(found.backwards(end).collect::<Vec<_>>(), set(&rows[..end]));
            prop_assert_eq!(found.count(), set(&rows).len());
        }

        #[test]
        fn rows_are_kept(rows in proptest::collection::vec((any::<bool>(), 0u32..9), 0..200)) {
            let (set, cells): (Vec<bool>, Vec<u32>) = rows.into_iter().unzip();
            let wanted: Vec<bool> = set.iter().zip(&cells).map(|(set, cell)| *set && *cell > 4).collect();
            prop_assert_eq!(bits(&set).retain_of(&cells, |cell| cell > 4), bits(&wanted));
            prop_assert_eq!(bits(&set).retain(|row| cells[row] > 4), bits(&wanted));
        }
    }
}
