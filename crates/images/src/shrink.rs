//! Scaling down by the mean of the area that each pixel of the result covers, one row at a time: nothing but the row of
//! the result that is being added up is kept.
//!
//! All is counted in whole numbers, so that the result is the same on every machine. A pixel of the source is as wide as
//! the result has columns, a pixel of the result as wide as the source has columns; so every border is a whole number.

use crate::limits::Size;

/// Scales rows down as they come.
pub(crate) struct Shrink {
    from: Size,
    to: Size,
    channels: Channels,
    /// One row of the source, scaled in width: sums whose divisor is the width of the source.
    narrow: Vec<u32>,
    /// One row of the result: sums whose divisor is the pixels of the source.
    sums: Vec<u64>,
    /// The row of the source that comes next.
    row: u64,
    out: Vec<u8>,
}

/// What a pixel is made of: bytes, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Channels {
    Gray,
    GrayAlpha,
    Rgb,
    Rgba,
}

impl Channels {
    pub(crate) fn count(self) -> usize {
        match self {
            Self::Gray => 1,
            Self::GrayAlpha => 2,
            Self::Rgb => 3,
            Self::Rgba => 4,
        }
    }

    fn has_alpha(self) -> bool {
        matches!(self, Self::GrayAlpha | Self::Rgba)
    }
}

impl Shrink {
    /// `to` is at most as wide and as high as `from`.
    pub(crate) fn new(from: Size, to: Size, channels: Channels) -> Self {
        let to = Size { width: to.width.min(from.width).max(1), height: to.height.min(from.height).max(1) };
        let length = to.width as usize * channels.count();
        Self {
            from,
            to,
            channels,
            narrow: vec![0; length],
            sums: vec![0; length],
            row: 0,
            out: vec![0; length],
        }
    }

    /// Takes the next row of the source, and gives each row of the result that it completes to `done`.
    pub(crate) fn push<E>(
        &mut self,
        row: &[u8],
        done: &mut impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        match self.channels {
            Channels::Gray => self.narrow_plain::<1>(row),
            Channels::GrayAlpha => self.narrow_alpha::<2>(row),
            Channels::Rgb => self.narrow_plain::<3>(row),
            Channels::Rgba => self.narrow_alpha::<4>(row),
        }
        let (high, step) = (u64::from(self.from.height), u64::from(self.to.height));
        let start = self.row * step;
        let border = (start / high + 1) * high;
        self.row += 1;
        self.add(step.min(border - start));
        if start + step >= border {
            self.finish_row();
            done(&self.out)?;
            self.sums.fill(0);
            let over = start + step - border;
            if over > 0 {
                self.add(over);
            }
        }
        Ok(())
    }

    fn narrow_plain<const N: usize>(&mut self, row: &[u8]) {
        self.spread::<N>(row, |pixel, value| *value = pixel.map(u32::from));
    }

    /// Colours weigh as much as they are opaque: what is not seen has no colour.
    fn narrow_alpha<const N: usize>(&mut self, row: &[u8]) {
        self.spread::<N>(row, |pixel, value| {
            let alpha = u32::from(pixel[N - 1]);
            *value = pixel.map(|byte| u32::from(byte) * alpha);
            value[N - 1] = alpha;
        });
    }

    fn spread<const N: usize>(&mut self, row: &[u8], value_of: impl Fn([u8; N], &mut [u32; N])) {
        let (wide, step) = (self.from.width, self.to.width);
        self.narrow.fill(0);
        let (narrow, _) = self.narrow.as_chunks_mut::<N>();
        let (pixels, _) = row.as_chunks::<N>();
        let mut columns = narrow.iter_mut();
        let Some(mut column) = columns.next() else { return };
        let mut left = wide;
        let mut value = [0; N];
        for pixel in pixels.iter().take(wide as usize) {
            value_of(*pixel, &mut value);
            let here = step.min(left);
            for (sum, part) in column.iter_mut().zip(value) {
                *sum += part * here;
            }
            left -= here;
            if left == 0 {
                let Some(next) = columns.next() else { return };
                column = next;
                left = wide - (step - here);
                for (sum, part) in column.iter_mut().zip(value) {
                    *sum += part * (step - here);
                }
            }
        }
    }

    fn add(&mut self, weight: u64) {
        for (sum, part) in self.sums.iter_mut().zip(&self.narrow) {
            *sum += u64::from(*part) * weight;
        }
    }

    fn finish_row(&mut self) {
        let area = self.from.pixels();
        if self.channels.has_alpha() {
            let count = self.channels.count();
            for (sums, out) in self.sums.chunks_exact(count).zip(self.out.chunks_exact_mut(count)) {
                unweigh(sums, out, area);
            }
        } else {
            for (sum, out) in self.sums.iter().zip(&mut self.out) {
                *out = mean(*sum, area);
            }
        }
    }
}

fn unweigh(sums: &[u64], out: &mut [u8], area: u64) {
    let Some((alpha, colors)) = sums.split_last() else { return };
    let Some((alpha_out, colors_out)) = out.split_last_mut() else { return };
    *alpha_out = mean(*alpha, area);
    for (sum, out) in colors.iter().zip(colors_out) {
        *out = if *alpha == 0 { 0 } else { mean(*sum, *alpha) };
    }
}

fn mean(sum: u64, area: u64) -> u8 {
    ((sum + area / 2) / area).min(255) as u8
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use proptest::prelude::*;

    use super::*;

    fn shrink(pixels: &[u8], from: (u32, u32), to: (u32, u32), channels: Channels) -> Vec<u8> {
        let size = |(width, height)| Size { width, height };
        let mut shrink = Shrink::new(size(from), size(to), channels);
        let mut out = Vec::new();
        for row in pixels.chunks_exact(from.0 as usize * channels.count()) {
            let pushed: Result<(), Infallible> = shrink.push(row, &mut |row: &[u8]| {
                out.extend_from_slice(row);
                Ok(())
            });
            pushed.unwrap();
        }
        out
    }

    #[test]
    fn four_pixels_become_their_mean() {
        assert_eq!(shrink(&[0, 10, 20, 30], (2, 2), (1, 1), Channels::Gray), [15]);
        // the middle one of three counts half for each side
        assert_eq!(shrink(&[0, 90, 240], (3, 1), (2, 1), Channels::Gray), [30, 190]);
    }

    #[test]
    fn what_is_not_seen_has_no_colour() {
        let pixels = [255, 0, 0, 255, 0, 255, 0, 0];
        assert_eq!(shrink(&pixels, (2, 1), (1, 1), Channels::Rgba), [255, 0, 0, 128]);
    }

    proptest! {
        #[test]
        fn every_row_comes_and_a_plain_colour_stays(
            (from, to) in (1_u32..60, 1_u32..60).prop_flat_map(|from| (Just(from), (1..=from.0, 1..=from.1))),
            color: [u8; 3],
        ) {
            let pixels = color.repeat((from.0 * from.1) as usize);
            let out = shrink(&pixels, from, to, Channels::Rgb);
            prop_assert_eq!(out, color.repeat((to.0 * to.1) as usize));
        }

        #[test]
        fn the_same_size_changes_nothing(pixels in proptest::collection::vec(any::<u8>(), 5 * 7 * 3)) {
            prop_assert_eq!(shrink(&pixels, (5, 7), (5, 7), Channels::Rgb), pixels);
        }
    }
}
