//! The entropy coding of JPEG: bits with stuffed bytes (ITU-T T.81, B.1.1.5) and Huffman codes (annex C, F.2.2).

use crate::Refused;
use crate::bytes::Bytes;

/// It ends before it is whole.
pub(super) const CUT_OFF: Refused = Refused::Damaged("it ends before it is whole");
const NO_CODE: Refused = Refused::Damaged("its data are no valid code");

/// The length of the codes that are looked up at once. Longer ones are rare.
const FAST: u32 = 9;

/// A table of codes.
#[derive(Clone)]
pub(super) struct Table {
    /// As in the file: how many codes there are of each length, and what they stand for.
    pub(super) counts: [u8; 16],
    pub(super) values: Vec<u8>,
    /// For the next bits: the length of their code, and what it stands for. 0 if the code is longer.
    fast: Vec<u16>,
    /// For each length: the first number that is no code of it, and what leads from a code to its value.
    limits: [(u32, i32); 17],
}

impl Table {
    /// Reads a table, without the byte that says which it is.
    pub(super) fn read(bytes: &mut Bytes<'_>) -> Result<Self, Refused> {
        let counts: [u8; 16] = bytes.array().ok_or(CUT_OFF)?;
        let total = counts.iter().map(|count| usize::from(*count)).sum::<usize>();
        if total > 256 {
            return Err(NO_CODE);
        }
        let values = bytes.take(total).ok_or(CUT_OFF)?.to_vec();
        let mut table = Self { counts, values, fast: vec![0; 1 << FAST], limits: [(0, 0); 17] };
        table.number()?;
        Ok(table)
    }

    /// Whether it is the same table.
    pub(super) fn is(&self, other: &Self) -> bool {
        self.counts == other.counts && self.values == other.values
    }

    fn number(&mut self) -> Result<(), Refused> {
        let (mut code, mut next) = (0_u32, 0_usize);
        for ((count, limit), length) in self.counts.iter().zip(self.limits.iter_mut().skip(1)).zip(1_u32..) {
            let count = u32::from(*count);
            if code + count > 1 << length {
                return Err(NO_CODE);
            }
            *limit = (code + count, next as i32 - code as i32);
            for _ in 0..count {
                if let (true, Some(value)) = (length <= FAST, self.values.get(next)) {
                    let entry = (length as u16) << 8 | u16::from(*value);
                    let start = (code << (FAST - length)) as usize;
                    self.fast
                        .iter_mut()
                        .skip(start)
                        .take(1 << (FAST - length))
                        .for_each(|slot| *slot = entry);
                }
                code += 1;
                next += 1;
            }
            code <<= 1;
        }
        Ok(())
    }

    /// The length and the value of the code that these 16 bits start with.
    #[inline]
    fn look_up(&self, bits: u32) -> Option<(u32, u8)> {
        let entry = *self.fast.get((bits >> (16 - FAST)) as usize)?;
        if entry != 0 {
            return Some((u32::from(entry >> 8), entry as u8));
        }
        for length in FAST + 1..=16 {
            let code = bits >> (16 - length);
            let (limit, offset) = *self.limits.get(length as usize)?;
            if code < limit {
                let value = self.values.get((code as i32 + offset) as usize)?;
                return Some((length, *value));
            }
        }
        None
    }
}

/// The bits of a scan.
pub(super) struct Bits<'a> {
    bytes: &'a [u8],
    at: usize,
    held: u64,
    count: u32,
}

impl<'a> Bits<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, held: 0, count: 0 }
    }

    /// Holds 32 bits and more, unless a marker or the end comes before.
    #[inline]
    fn fill(&mut self) {
        while self.count <= 56 {
            let Some(byte) = self.bytes.get(self.at) else { return };
            if *byte == 0xff {
                if self.bytes.get(self.at + 1) != Some(&0) {
                    return;
                }
                self.at += 1;
            }
            self.at += 1;
            self.held = self.held << 8 | u64::from(*byte);
            self.count += 8;
        }
    }

    /// The next bits as a number, at most 16 of them.
    #[inline]
    pub(super) fn bits(&mut self, count: u32) -> Result<i32, Refused> {
        if self.count < count {
            self.fill();
        }
        self.count = self.count.checked_sub(count).ok_or(CUT_OFF)?;
        Ok((self.held >> self.count & ((1 << count) - 1)) as i32)
    }

    pub(super) fn bit(&mut self) -> Result<bool, Refused> {
        Ok(self.bits(1)? == 1)
    }

    /// What the next code stands for.
    #[inline]
    pub(super) fn code(&mut self, table: &Table) -> Result<u8, Refused> {
        if self.count < 16 {
            self.fill();
        }
        let next =
            if self.count >= 16 { self.held >> (self.count - 16) } else { self.held << (16 - self.count) };
        let (length, value) = table.look_up((next & 0xffff) as u32).ok_or(NO_CODE)?;
        self.count = self.count.checked_sub(length).ok_or(CUT_OFF)?;
        Ok(value)
    }

    /// The next bits as a signed number (T.81, F.2.2.1).
    #[inline]
    pub(super) fn signed(&mut self, count: u32) -> Result<i32, Refused> {
        if count == 0 {
            return Ok(0);
        }
        let bits = self.bits(count)?;
        Ok(if bits < 1 << (count - 1) { bits - (1 << count) + 1 } else { bits })
    }

    /// The place of the first byte that was not begun. What is held of it is given back.
    pub(super) fn end(&mut self) -> usize {
        for _ in 0..self.count / 8 {
            // a zero byte after 0xff was stuffed
            let stuffed = self.at >= 2 && self.bytes.get(self.at - 2..self.at) == Some(&[0xff, 0]);
            self.at = self.at.saturating_sub(if stuffed { 2 } else { 1 });
        }
        self.count = 0;
        self.at
    }

    /// Goes over the restart marker with this number, which has to come here.
    pub(super) fn restart(&mut self, number: u8) -> Result<(), Refused> {
        let at = self.end();
        if self.bytes.get(at..at + 2) != Some(&[0xff, 0xd0 | number & 7]) {
            return Err(Refused::Damaged("a part of it is missing"));
        }
        self.at += 2;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_found_behind_stuffed_bytes() {
        let mut bits = Bits::new(&[0xff, 0, 0xff, 0, 0x12, 0x34, 0xff, 0xd9]);
        assert_eq!(bits.bits(9).unwrap(), 0x1ff);
        assert_eq!(bits.end(), 4);
        assert_eq!(bits.bits(16).unwrap(), 0x1234);
        assert_eq!(bits.bits(1), Err(CUT_OFF));
        assert_eq!(bits.end(), 6);
    }
}
