//! The entropy coding of lossless WebP: bits from the lowest on, and prefix codes (RFC 9649, 3.7.2).

use crate::Refused;

pub(super) const CUT_OFF: Refused = Refused::Damaged("it ends before it is whole");
pub(super) const NO_CODE: Refused = Refused::Damaged("its data are no valid code");

/// The length of the codes that are looked up at once. Longer ones are rare.
const FAST: u32 = 8;

/// The length of the longest code.
const LONGEST: usize = 15;

/// The order in which the lengths of the codes of lengths come.
const ORDER: [u8; 19] = [17, 18, 0, 1, 2, 3, 4, 5, 16, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

/// Bits, read from the lowest of each byte on.
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

    #[inline]
    fn fill(&mut self) {
        while self.count <= 56 {
            let Some(byte) = self.bytes.get(self.at) else { return };
            self.held |= u64::from(*byte) << self.count;
            self.at += 1;
            self.count += 8;
        }
    }

    /// The next bits as a number, at most 24 of them.
    #[inline]
    pub(super) fn bits(&mut self, count: u32) -> Result<u32, Refused> {
        if self.count < count {
            self.fill();
        }
        self.count = self.count.checked_sub(count).ok_or(CUT_OFF)?;
        let bits = self.held & ((1 << count) - 1);
        self.held >>= count;
        Ok(bits as u32)
    }

    pub(super) fn bit(&mut self) -> Result<bool, Refused> {
        Ok(self.bits(1)? == 1)
    }

    /// What the next code stands for.
    #[inline]
    pub(super) fn code(&mut self, code: &Code) -> Result<u16, Refused> {
        if self.count < LONGEST as u32 {
            self.fill();
        }
        let (length, symbol) = code.look_up(self.held).ok_or(NO_CODE)?;
        self.count = self.count.checked_sub(length).ok_or(CUT_OFF)?;
        self.held >>= length;
        Ok(symbol)
    }

    /// The number of bytes that were begun.
    pub(super) fn end(&self) -> usize {
        self.at - (self.count / 8) as usize
    }
}

/// A prefix code.
pub(super) enum Code {
    /// Of one symbol, which takes no bits.
    One(u16),
    Many(Box<Many>),
}

/// A code of several symbols.
pub(super) struct Many {
    /// For the next bits: the length of their code in the upper 4, the symbol in the lower 12. 0 if it is longer.
    fast: [u16; 1 << FAST],
    /// How many codes there are of each length.
    counts: [u16; LONGEST + 1],
    /// In the order of their codes.
    symbols: Vec<u16>,
}

impl Code {
    /// Reads a code for an alphabet of this size.
    pub(super) fn read(bits: &mut Bits<'_>, alphabet: u16) -> Result<Self, Refused> {
        let mut lengths = vec![0; usize::from(alphabet)];
        if bits.bit()? {
            let two = bits.bit()?;
            let width = if bits.bit()? { 8 } else { 1 };
            for width in std::iter::once(width).chain(two.then_some(8)) {
                *lengths.get_mut(bits.bits(width)? as usize).ok_or(NO_CODE)? = 1;
            }
        } else {
            read_lengths(bits, &mut lengths)?;
        }
        Self::of(&lengths)
    }

    /// The number of symbols that are kept in memory.
    pub(super) fn symbols(&self) -> usize {
        match self {
            Self::One(_) => 0,
            Self::Many(many) => many.symbols.len(),
        }
    }

    fn of(lengths: &[u8]) -> Result<Self, Refused> {
        let mut counts = [0_u16; LONGEST + 1];
        for length in lengths {
            *counts.get_mut(usize::from(*length)).ok_or(NO_CODE)? += 1;
        }
        counts[0] = 0;
        let total: u16 = counts.iter().sum();
        if total == 1 {
            let symbol = lengths.iter().position(|length| *length > 0).ok_or(NO_CODE)?;
            return Ok(Self::One(symbol as u16));
        }
        let weight: u32 =
            counts.iter().zip(0..).map(|(count, length)| u32::from(*count) << (LONGEST - length)).sum();
        if weight != 1 << LONGEST {
            return Err(NO_CODE);
        }
        let mut symbols = Vec::with_capacity(total.into());
        for length in 1..=LONGEST as u8 {
            let of_length = (0..).zip(lengths).filter(|(_, other)| **other == length);
            symbols.extend(of_length.map(|(symbol, _)| symbol));
            if symbols.len() == usize::from(total) {
                break;
            }
        }
        let mut many = Many { fast: [0; 1 << FAST], counts, symbols };
        many.make_fast();
        Ok(Self::Many(Box::new(many)))
    }

    #[inline]
    fn look_up(&self, bits: u64) -> Option<(u32, u16)> {
        let many = match self {
            Self::One(symbol) => return Some((0, *symbol)),
            Self::Many(many) => many,
        };
        let entry = *many.fast.get((bits & ((1 << FAST) - 1)) as usize)?;
        if entry >> 12 > 0 {
            return Some((u32::from(entry >> 12), entry & 0xfff));
        }
        many.look_up_slowly(bits)
    }
}

impl Many {
    fn make_fast(&mut self) {
        let mut symbols = self.symbols.iter();
        let mut code = 0_u32;
        for (length, count) in (1..=FAST).zip(self.counts.iter().skip(1)) {
            for symbol in symbols.by_ref().take((*count).into()) {
                let start = code.reverse_bits() >> (32 - length);
                let entry = (length as u16) << 12 | symbol;
                for slot in self.fast.iter_mut().skip(start as usize).step_by(1 << length) {
                    *slot = entry;
                }
                code += 1;
            }
            code <<= 1;
        }
    }

    fn look_up_slowly(&self, bits: u64) -> Option<(u32, u16)> {
        let (mut code, mut first, mut index) = (0_u32, 0_u32, 0_u32);
        for (length, count) in (1..).zip(self.counts.iter().skip(1)) {
            code = code << 1 | (bits >> (length - 1) & 1) as u32;
            let count = u32::from(*count);
            if code < first + count {
                let symbol = self.symbols.get((index + code - first) as usize)?;
                return Some((length, *symbol));
            }
            index += count;
            first = (first + count) << 1;
        }
        None
    }
}

/// The lengths of codes, which are coded themselves.
fn read_lengths(bits: &mut Bits<'_>, lengths: &mut [u8]) -> Result<(), Refused> {
    let mut of_lengths = [0; ORDER.len()];
    let count = 4 + bits.bits(4)? as usize;
    for place in ORDER.iter().take(count) {
        let length = bits.bits(3)? as u8;
        *of_lengths.get_mut(usize::from(*place)).ok_or(NO_CODE)? = length;
    }
    let code = Code::of(&of_lengths)?;
    let mut left = lengths.len() as u32;
    if bits.bit()? {
        let width = 2 + 2 * bits.bits(3)?;
        left = 2 + bits.bits(width)?;
        if left > lengths.len() as u32 {
            return Err(NO_CODE);
        }
    }
    let (mut before, mut at) = (8, 0);
    while at < lengths.len() && left > 0 {
        left -= 1;
        let (length, times) = match bits.code(&code)? {
            16 => (before, 3 + bits.bits(2)?),
            17 => (0, 3 + bits.bits(3)?),
            18 => (0, 11 + bits.bits(7)?),
            length => {
                before = if length == 0 { before } else { length as u8 };
                (length as u8, 1)
            }
        };
        let end = at + times as usize;
        lengths.get_mut(at..end).ok_or(NO_CODE)?.fill(length);
        at = end;
    }
    Ok(())
}
