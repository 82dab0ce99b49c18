//! The coefficients of one block of 8 × 8 samples: sequential (ITU-T T.81, F.2.2) and progressive (G.1.2, G.2).

use super::huffman::{Bits, Table};
use crate::Refused;

/// The coefficients of a block, in the order of rows.
pub(super) type Block = [i16; 64];

/// Where the coefficients of a block are that come in this order.
pub(super) const ZIGZAG: [u8; 64] = [
    0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5, 12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6, 7,
    14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39,
    46, 53, 60, 61, 54, 47, 55, 62, 63,
];

const TOO_MANY: Refused = Refused::Damaged("a block of it has too many values");

/// The place of the coefficient that comes as this one.
#[inline]
fn place(block: &mut Block, order: usize) -> Result<&mut i16, Refused> {
    let place = *ZIGZAG.get(order).ok_or(TOO_MANY)?;
    block.get_mut(usize::from(place)).ok_or(TOO_MANY)
}

/// The first value of a block, as a difference to that of the block before.
fn dc(bits: &mut Bits<'_>, table: &Table, before: &mut i16) -> Result<i16, Refused> {
    let length = bits.code(table)?;
    if length > 15 {
        return Err(Refused::Damaged("a value of it is too large"));
    }
    let difference = bits.signed(u32::from(length))?;
    *before = before.wrapping_add(difference as i16);
    Ok(*before)
}

/// Reads a whole block.
#[inline]
pub(super) fn sequential(
    bits: &mut Bits<'_>,
    (dc_table, ac_table): (&Table, &Table),
    before: &mut i16,
    block: &mut Block,
) -> Result<(), Refused> {
    block.fill(0);
    *place(block, 0)? = dc(bits, dc_table, before)?;
    let mut order = 1;
    while order < 64 {
        let code = bits.code(ac_table)?;
        let (zeros, length) = (usize::from(code >> 4), u32::from(code & 15));
        if length > 0 {
            order += zeros;
            *place(block, order)? = bits.signed(length)? as i16;
            order += 1;
        } else if zeros == 15 {
            order += 16;
        } else {
            break;
        }
    }
    if order > 64 { Err(TOO_MANY) } else { Ok(()) }
}

/// Which coefficients a progressive scan brings, and how precisely.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Band {
    pub(super) first: usize,
    pub(super) last: usize,
    /// The bit that the scan before went down to, 0 if this one is the first.
    pub(super) high: u8,
    /// The bit that this one goes down to.
    pub(super) low: u8,
}

impl Band {
    pub(super) const WHOLE: Self = Self { first: 0, last: 63, high: 0, low: 0 };

    /// T.81, G.1.1.1.
    pub(super) fn is_valid(self, components: usize) -> bool {
        let place = if self.first == 0 { self.last == 0 } else { components == 1 && self.first <= self.last };
        place && self.last < 64 && self.low <= 13 && (self.high == 0 || self.high == self.low + 1)
    }
}

/// The first bits of the first coefficient.
pub(super) fn dc_first(
    bits: &mut Bits<'_>,
    table: &Table,
    low: u8,
    before: &mut i16,
    block: &mut Block,
) -> Result<(), Refused> {
    *place(block, 0)? = dc(bits, table, before)?.wrapping_shl(u32::from(low));
    Ok(())
}

/// One more bit of the first coefficient.
pub(super) fn dc_more(bits: &mut Bits<'_>, low: u8, block: &mut Block) -> Result<(), Refused> {
    if bits.bit()? {
        *place(block, 0)? |= 1 << low;
    }
    Ok(())
}

/// The number of blocks that have no more values in this scan, from its code and the bits that follow.
fn run(bits: &mut Bits<'_>, code: usize) -> Result<u32, Refused> {
    Ok((1 << code) + bits.bits(code as u32)? as u32)
}

/// The first bits of the other coefficients. `ended` counts the blocks that have no more.
pub(super) fn ac_first(
    bits: &mut Bits<'_>,
    table: &Table,
    band: Band,
    ended: &mut u32,
    block: &mut Block,
) -> Result<(), Refused> {
    if *ended > 0 {
        *ended -= 1;
        return Ok(());
    }
    let mut order = band.first;
    while order <= band.last {
        let code = bits.code(table)?;
        let (zeros, length) = (usize::from(code >> 4), u32::from(code & 15));
        if length > 0 {
            order += zeros;
            if order > band.last {
                return Err(TOO_MANY);
            }
            *place(block, order)? = (bits.signed(length)? as i16).wrapping_shl(u32::from(band.low));
            order += 1;
        } else if zeros == 15 {
            order += 16;
        } else {
            *ended = run(bits, zeros)? - 1;
            break;
        }
    }
    Ok(())
}

/// One more bit of the other coefficients, and those that are new with it.
pub(super) fn ac_more(
    bits: &mut Bits<'_>,
    table: &Table,
    band: Band,
    ended: &mut u32,
    block: &mut Block,
) -> Result<(), Refused> {
    let one = 1_i16 << band.low;
    let mut order = band.first;
    while *ended == 0 && order <= band.last {
        let code = bits.code(table)?;
        let (zeros, length) = (usize::from(code >> 4), code & 15);
        let new = match length {
            0 if zeros < 15 => {
                *ended = run(bits, zeros)?;
                break;
            }
            0 => 0,
            1 => {
                if bits.bit()? {
                    one
                } else {
                    -one
                }
            }
            _ => return Err(Refused::Damaged("its data are no valid code")),
        };
        order = refine(bits, block, order, band.last, (zeros, one))?;
        if new != 0 {
            if order > band.last {
                return Err(TOO_MANY);
            }
            *place(block, order)? = new;
        }
        order += 1;
    }
    if *ended > 0 {
        refine(bits, block, order, band.last, (64, one))?;
        *ended -= 1;
    }
    Ok(())
}

/// Brings one more bit for each coefficient that is not zero, until so many zeros were passed. Says where it stopped.
fn refine(
    bits: &mut Bits<'_>,
    block: &mut Block,
    from: usize,
    last: usize,
    (mut zeros, one): (usize, i16),
) -> Result<usize, Refused> {
    let mut order = from;
    while order <= last {
        let value = place(block, order)?;
        if *value == 0 {
            if zeros == 0 {
                break;
            }
            zeros -= 1;
        } else if bits.bit()? && *value & one == 0 {
            *value = value.wrapping_add(if *value > 0 { one } else { -one });
        }
        order += 1;
    }
    Ok(order)
}
