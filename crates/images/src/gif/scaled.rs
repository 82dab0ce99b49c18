//! Scaling a still GIF down: the colours stay those of its palette.

use std::convert::Infallible;

use weezl::BitOrder;
use weezl::encode::Encoder;

use super::blocks::Frame;
use crate::Refused;
use crate::limits::Size;
use crate::shrink::{Channels, Shrink};

/// How the four passes of an interlaced frame lie in it: the first row, and how far the next ones are.
const PASSES: [(u32, usize); 4] = [(0, 8), (4, 8), (2, 4), (1, 2)];

/// Scales pixels down, and packs them.
pub(super) fn packed(
    pixels: &[u8],
    frame: &Frame<'_>,
    palette: &[u8],
    transparent: Option<u8>,
    to: Size,
) -> Result<Vec<u8>, Refused> {
    let mut colors = Colors::new(palette, transparent);
    let mut shrink = Shrink::new(frame.size, to, Channels::Rgba);
    let mut scaled = Vec::with_capacity(to.pixels() as usize);
    let mut row = Vec::with_capacity(frame.size.width as usize * 4);
    for number in order(frame) {
        let start = number as usize * frame.size.width as usize;
        row.clear();
        for pixel in pixels.get(start..start + frame.size.width as usize).unwrap_or_default() {
            row.extend_from_slice(&colors.of(*pixel)?);
        }
        let Ok(()) = shrink.push::<Infallible>(&row, &mut |row| {
            scaled.extend(row.as_chunks::<4>().0.iter().map(|color| colors.nearest(*color)));
            Ok(())
        });
    }
    Encoder::new(BitOrder::Lsb, frame.bits)
        .encode(&scaled)
        .map_err(|_| Refused::Damaged("a pixel of it has a colour that is not in its palette"))
}

/// Where the rows of the picture are in the data, from the first to the last.
fn order(frame: &Frame<'_>) -> Vec<u32> {
    if !frame.is_interlaced() {
        return (0..frame.size.height).collect();
    }
    let mut places = vec![0; frame.size.height as usize];
    let rows = PASSES.into_iter().flat_map(|(first, step)| (first..frame.size.height).step_by(step));
    for (place, row) in (0..).zip(rows) {
        if let Some(slot) = places.get_mut(row as usize) {
            *slot = place;
        }
    }
    places
}

/// The colours of a palette, and which of them is the nearest to another one.
struct Colors {
    palette: Vec<[u8; 3]>,
    transparent: Option<u8>,
    /// What was found, by the upper five bits of each colour.
    known: Vec<Option<u8>>,
}

impl Colors {
    fn new(palette: &[u8], transparent: Option<u8>) -> Self {
        Self { palette: palette.as_chunks::<3>().0.to_vec(), transparent, known: vec![None; 1 << 15] }
    }

    fn of(&self, pixel: u8) -> Result<[u8; 4], Refused> {
        if self.transparent == Some(pixel) {
            return Ok([0; 4]);
        }
        let color = self.palette.get(usize::from(pixel));
        let [red, green, blue] =
            *color.ok_or(Refused::Damaged("a pixel of it has a colour that is not in its palette"))?;
        Ok([red, green, blue, 255])
    }

    fn nearest(&mut self, [red, green, blue, alpha]: [u8; 4]) -> u8 {
        if let (true, Some(transparent)) = (alpha < 128, self.transparent) {
            return transparent;
        }
        let key = usize::from(red >> 3) << 10 | usize::from(green >> 3) << 5 | usize::from(blue >> 3);
        let Some(known) = self.known.get_mut(key) else { return 0 };
        *known.get_or_insert_with(|| {
            // the middle of all colours with these bits, so that the order of the pixels does not matter
            let middle = [red, green, blue].map(|part| i32::from(part & 0xf8 | 4));
            let distance = |color: &[u8; 3]| -> i32 {
                color.iter().zip(middle).map(|(a, b)| (i32::from(*a) - b).pow(2)).sum()
            };
            let opaque =
                (0_u8..=255).zip(&self.palette).filter(|(index, _)| Some(*index) != self.transparent);
            opaque.min_by_key(|(_, color)| distance(color)).map_or(0, |(index, _)| index)
        })
    }
}
