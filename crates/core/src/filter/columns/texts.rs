//! The texts of a column, each stored once.

use std::hash::{BuildHasher, RandomState};

use hashbrown::HashTable;

/// From so many bytes on, texts that are not used any more are cleared away, if they are half of all.
const CLEARED_FROM: usize = 1 << 20;

/// Texts by number. A text that no cell has any more gives its number to another.
#[derive(Debug, Default)]
pub(super) struct Texts {
    bytes: Vec<u8>,
    spans: Vec<Span>,
    free: Vec<u32>,
    by_text: HashTable<u32>,
    hasher: RandomState,
    /// Bytes of texts that are not used any more.
    unused: usize,
}

/// Where a text is, and how many cells have it.
#[derive(Debug, Clone, Copy)]
struct Span {
    start: u32,
    len: u32,
    cells: u32,
}

impl Texts {
    /// The text of a number; empty for one that no cell has.
    pub(super) fn get(&self, number: u32) -> &str {
        let span = self.spans[number as usize];
        let bytes = &self.bytes[span.start as usize..][..span.len as usize];
        std::str::from_utf8(bytes).unwrap_or_default()
    }

    /// The number of a text that so many more cells have; `None` where no more texts fit in.
    pub(super) fn add(&mut self, text: &str, cells: u32) -> Option<u32> {
        let hash = self.hasher.hash_one(text);
        if let Some(number) = self.by_text.find(hash, |number| self.get(*number) == text).copied() {
            self.spans[number as usize].cells += cells;
            return Some(number);
        }
        let start = u32::try_from(self.bytes.len()).ok()?;
        let span = Span { start, len: u32::try_from(text.len()).ok()?, cells };
        u32::try_from(self.bytes.len() + text.len()).ok()?;
        self.bytes.extend_from_slice(text.as_bytes());
        let number = if let Some(number) = self.free.pop() {
            self.spans[number as usize] = span;
            number
        } else {
            self.spans.push(span);
            self.spans.len() as u32 - 1
        };
        let (bytes, spans, hasher) = (&self.bytes, &self.spans, &self.hasher);
        let hash_of = |number: &u32| {
            let Span { start, len, .. } = spans[*number as usize];
            hasher.hash_one(std::str::from_utf8(&bytes[start as usize..][..len as usize]).unwrap_or_default())
        };
        self.by_text.insert_unique(hash, number, hash_of);
        Some(number)
    }

    /// Takes a text away from one of the cells that have it.
    pub(super) fn take(&mut self, number: u32) {
        let span = &mut self.spans[number as usize];
        span.cells -= 1;
        if span.cells > 0 {
            return;
        }
        let hash = self.hasher.hash_one(self.get(number));
        if let Ok(entry) = self.by_text.find_entry(hash, |other| *other == number) {
            entry.remove();
        }
        self.unused += self.spans[number as usize].len as usize;
        self.spans[number as usize] = Span { start: 0, len: 0, cells: 0 };
        self.free.push(number);
        if self.unused >= CLEARED_FROM && self.unused * 2 > self.bytes.len() {
            self.clear_away();
        }
    }

    fn clear_away(&mut self) {
        let mut bytes = Vec::with_capacity(self.bytes.len() - self.unused);
        for span in &mut self.spans {
            let start = bytes.len() as u32;
            bytes.extend_from_slice(&self.bytes[span.start as usize..][..span.len as usize]);
            span.start = start;
        }
        self.bytes = bytes;
        self.unused = 0;
    }

    /// One more than the greatest number.
    pub(super) fn numbers(&self) -> u32 {
        self.spans.len() as u32
    }

    /// Bytes of memory.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.capacity()
            + self.spans.capacity() * size_of::<Span>()
            + self.free.capacity() * size_of::<u32>()
            + self.by_text.allocation_size()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_one_number_as_long_as_a_cell_has_it() {
        let mut texts = Texts::default();
        let [one, other] = ["one", "other"].map(|text| texts.add(text, 1).unwrap());
        assert_eq!(texts.add("one", 1), Some(one));
        texts.take(one);
        assert_eq!((texts.get(one), texts.get(other)), ("one", "other"));
        texts.take(one);
        assert_eq!(texts.add("third", 1), Some(one));
        assert_eq!((texts.get(one), texts.get(other), texts.numbers()), ("third", "other", 2));
        assert_eq!(texts.add("one", 1), Some(2));
    }

    #[test]
    fn what_is_not_used_any_more_is_cleared_away() {
        let mut texts = Texts::default();
        let kept = texts.add("kept", 1).unwrap();
        let mut last = None;
        for number in 0..100_000 {
            let text = texts.add(&format!("a text of some length, number {number}"), 1);
            if let Some(before) = std::mem::replace(&mut last, text) {
                texts.take(before);
            }
        }
        assert!(texts.bytes() < 4 * CLEARED_FROM, "{} bytes", texts.bytes());
        assert_eq!(texts.get(kept), "kept");
        assert_eq!(texts.get(last.unwrap()), "a text of some length, number 99999");
        assert_eq!(texts.add("kept", 1), Some(kept));
    }
}
