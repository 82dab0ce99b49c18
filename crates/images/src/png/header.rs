//! The header of a PNG (third edition, 11.2.1) and what follows from it.

use crate::Refused;
use crate::bytes::Bytes;
use crate::limits::{Limits, Size};
use crate::shrink::Channels;

/// The kinds of pixels of PNG.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Color {
    Gray,
    Rgb,
    Palette,
    GrayAlpha,
    Rgba,
}

impl Color {
    fn samples(self) -> u64 {
        match self {
            Self::Gray | Self::Palette => 1,
            Self::GrayAlpha => 2,
            Self::Rgb => 3,
            Self::Rgba => 4,
        }
    }

    pub(super) fn is_gray(self) -> bool {
        matches!(self, Self::Gray | Self::GrayAlpha)
    }
}

/// What the header says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) size: Size,
    /// Bits of a sample.
    pub(super) depth: u8,
    pub(super) color: Color,
    pub(super) is_interlaced: bool,
}

/// How the seven passes of an interlaced picture lie in it: first column and row, and how far the next ones are (8.1).
const PASSES: [(u32, u32, u32, u32); 7] =
    [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)];

impl Header {
    pub(super) fn read(content: &[u8], limits: &Limits) -> Result<Self, Refused> {
        let bad = Refused::Damaged("its header is not valid");
        let mut bytes = Bytes::new(content);
        let (width, height) = (bytes.u32_be().ok_or(bad)?, bytes.u32_be().ok_or(bad)?);
        let [depth, color, compression, filter, interlace] = bytes.array().ok_or(bad)?;
        let color = match (color, depth) {
            (0, 1 | 2 | 4 | 8 | 16) => Color::Gray,
            (2, 8 | 16) => Color::Rgb,
            (3, 1 | 2 | 4 | 8) => Color::Palette,
            (4, 8 | 16) => Color::GrayAlpha,
            (6, 8 | 16) => Color::Rgba,
            _ => return Err(bad),
        };
        if compression != 0 || filter != 0 || interlace > 1 || !bytes.rest().is_empty() {
            return Err(bad);
        }
        Ok(Self { size: limits.check(width, height)?, depth, color, is_interlaced: interlace == 1 })
    }

    /// Bits of a pixel.
    pub(super) fn bits(&self) -> u64 {
        self.color.samples() * u64::from(self.depth)
    }

    /// Bytes of a pixel, at least one: those that a filter looks back.
    pub(super) fn step(&self) -> usize {
        (self.bits() / 8).max(1) as usize
    }

    /// The rows that a picture of this size comes in, in groups: bytes of each (without its filter), and their number.
    pub(super) fn rows(&self, size: Size) -> Vec<(usize, u32)> {
        let bytes = |width: u32| (u64::from(width) * self.bits()).div_ceil(8) as usize;
        if !self.is_interlaced {
            return vec![(bytes(size.width), size.height)];
        }
        let pass = |(left, top, across, down): (u32, u32, u32, u32)| {
            let width = size.width.saturating_sub(left).div_ceil(across);
            let height = size.height.saturating_sub(top).div_ceil(down);
            (width > 0 && height > 0).then(|| (bytes(width), height))
        };
        PASSES.into_iter().filter_map(pass).collect()
    }

    /// What the pixels are in 8 bits, if some colour may be transparent.
    pub(super) fn channels(&self, has_transparency: bool) -> Channels {
        match (self.color, has_transparency) {
            (Color::Gray, false) => Channels::Gray,
            (Color::Gray, true) | (Color::GrayAlpha, _) => Channels::GrayAlpha,
            (Color::Rgb | Color::Palette, false) => Channels::Rgb,
            (Color::Rgb | Color::Palette, true) | (Color::Rgba, _) => Channels::Rgba,
        }
    }
}
