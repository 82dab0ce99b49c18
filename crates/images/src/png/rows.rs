//! The rows of a PNG: unpacked from its chunks, one at a time, to their exact end.

use flate2::{Decompress, FlushDecompress, Status};

use super::header::Header;
use crate::Refused;
use crate::limits::Size;

const CUT_OFF: Refused = Refused::Damaged("it ends before it is whole");
const TOO_MUCH: Refused = Refused::Damaged("it has more data than pixels");
const NOT_PACKED: Refused = Refused::Damaged("its data cannot be unpacked");

/// The rows of one picture or frame.
pub(super) struct Rows {
    unpack: Decompress,
    /// Bytes of a row and number of rows, the next ones last.
    groups: Vec<(usize, u32)>,
    step: usize,
    /// The row that is being unpacked, its filter first, and how much of it there is.
    row: Vec<u8>,
    filled: usize,
    /// The row before. Empty if filters are not undone.
    before: Vec<u8>,
    undoes_filters: bool,
    has_ended: bool,
}

impl Rows {
    /// The rows of a picture of this size. Filters are undone only if somebody looks at the pixels.
    pub(super) fn new(header: &Header, size: Size, undoes_filters: bool) -> Self {
        let mut groups = header.rows(size);
        groups.reverse();
        let mut rows = Self {
            unpack: Decompress::new(true),
            groups,
            step: header.step(),
            row: Vec::new(),
            filled: 0,
            before: Vec::new(),
            undoes_filters,
            has_ended: false,
        };
        rows.start_group();
        rows
    }

    fn start_group(&mut self) {
        self.filled = 0;
        let bytes = self.groups.last().map_or(0, |(bytes, _)| bytes + 1);
        self.row.resize(bytes, 0);
        if self.undoes_filters {
            self.before.clear();
            self.before.resize(bytes, 0);
        }
    }

    /// Takes the next packed bytes, gives each row that is whole to `done`, and says how many of the bytes belong to
    /// the picture.
    pub(super) fn take(
        &mut self,
        packed: &[u8],
        done: &mut impl FnMut(&[u8]) -> Result<(), Refused>,
    ) -> Result<usize, Refused> {
        let mut used = 0;
        while !self.has_ended {
            let rest = packed.get(used..).unwrap_or_default();
            let (read, written) = self.unpack(rest)?;
            used += read;
            if self.groups.is_empty() {
                if written > 0 {
                    return Err(TOO_MUCH);
                }
            } else {
                self.filled += written;
                if self.filled == self.row.len() {
                    self.row_is_whole(done)?;
                    continue;
                }
            }
            if read == 0 && written == 0 {
                break;
            }
        }
        Ok(used)
    }

    fn unpack(&mut self, packed: &[u8]) -> Result<(usize, usize), Refused> {
        // one byte of room shows whether there is more than the rows
        let mut more = [0];
        let room = if self.groups.is_empty() { Some(&mut more[..]) } else { self.row.get_mut(self.filled..) };
        let (read, written) = (self.unpack.total_in(), self.unpack.total_out());
        let status = self
            .unpack
            .decompress(packed, room.unwrap_or_default(), FlushDecompress::None)
            .map_err(|_| NOT_PACKED)?;
        self.has_ended = status == Status::StreamEnd;
        Ok(((self.unpack.total_in() - read) as usize, (self.unpack.total_out() - written) as usize))
    }

    fn row_is_whole(&mut self, done: &mut impl FnMut(&[u8]) -> Result<(), Refused>) -> Result<(), Refused> {
        if self.row.first().is_none_or(|filter| *filter > 4) {
            return Err(Refused::Damaged("a row of it has an unknown filter"));
        }
        if self.undoes_filters {
            undo(&mut self.row, &self.before, self.step);
            done(self.row.get(1..).unwrap_or_default())?;
            std::mem::swap(&mut self.row, &mut self.before);
        }
        self.filled = 0;
        if let Some((_, left)) = self.groups.last_mut() {
            *left -= 1;
            if *left == 0 {
                self.groups.pop();
                self.start_group();
            }
        }
        Ok(())
    }

    /// Whether all rows came, and the end of what they are packed in.
    pub(super) fn check_end(&self) -> Result<(), Refused> {
        if self.has_ended && self.groups.is_empty() { Ok(()) } else { Err(CUT_OFF) }
    }
}

/// Undoes the filter of a row (9.2). Both rows have their filter first.
fn undo(row: &mut [u8], before: &[u8], step: usize) {
    let (Some((filter, row)), Some((_, before))) = (row.split_first_mut(), before.split_first()) else {
        return;
    };
    match *filter {
        1 => undo_sideways(row, before, step, |left, _, _| left),
        2 => row.iter_mut().zip(before).for_each(|(byte, above)| *byte = byte.wrapping_add(*above)),
        3 => undo_sideways(row, before, step, |left, above, _| left.midpoint(above)),
        4 => undo_sideways(row, before, step, paeth),
        _ => {}
    }
}

/// Undoes a filter that looks at the pixel before.
#[inline]
fn undo_sideways(row: &mut [u8], before: &[u8], step: usize, filter: impl Fn(u8, u8, u8) -> u8) {
    match step {
        1 => undo_pixels::<1>(row, before, filter),
        2 => undo_pixels::<2>(row, before, filter),
        3 => undo_pixels::<3>(row, before, filter),
        4 => undo_pixels::<4>(row, before, filter),
        6 => undo_pixels::<6>(row, before, filter),
        _ => undo_pixels::<8>(row, before, filter),
    }
}

/// Pixels have `N` bytes, and rows are whole pixels.
#[inline]
fn undo_pixels<const N: usize>(row: &mut [u8], before: &[u8], filter: impl Fn(u8, u8, u8) -> u8) {
    let (mut left, mut corner) = ([0; N], [0; N]);
    for (pixel, above) in row.as_chunks_mut::<N>().0.iter_mut().zip(before.as_chunks::<N>().0) {
        // all bytes of a pixel at once, which do not depend on each other
        let guess: [u8; N] = std::array::from_fn(|byte| filter(left[byte], above[byte], corner[byte]));
        left = std::array::from_fn(|byte| pixel[byte].wrapping_add(guess[byte]));
        *pixel = left;
        corner = *above;
    }
}

/// The one of the three that is the nearest to `left + above - corner` (9.4). It is found without jumps, which nobody
/// could foresee: the nearest is the smaller or the larger of `left` and `above` when they lie beyond the sum, and
/// `corner` when it lies between.
#[inline]
pub(super) fn paeth(left: u8, above: u8, corner: u8) -> u8 {
    let (low, high) = (i16::from(left.min(above)), i16::from(left.max(above)));
    let corner = i16::from(corner);
    let bound = 3 * corner - (low + high);
    let not_high = if high <= bound { low } else { corner };
    (if bound <= low { high } else { not_high }) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the specification has it.
    fn nearest(left: u8, above: u8, corner: u8) -> u8 {
        let (a, b, c) = (i32::from(left), i32::from(above), i32::from(corner));
        let sum = a + b - c;
        let (near_a, near_b, near_c) = ((sum - a).abs(), (sum - b).abs(), (sum - c).abs());
        if near_a <= near_b && near_a <= near_c {
            left
        } else if near_b <= near_c {
            above
        } else {
            corner
        }
    }

    #[test]
    fn the_nearest_is_that_of_the_specification() {
        for left in 0..=255 {
            for above in 0..=255 {
                for corner in 0..=255 {
                    let found = paeth(left, above, corner);
                    assert_eq!(found, nearest(left, above, corner), "{left} {above} {corner}");
                }
            }
        }
    }
}
