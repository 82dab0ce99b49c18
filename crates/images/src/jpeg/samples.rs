//! From the coefficients of a JPEG to its pixels: the inverse cosine transform and the colours (ITU-T T.81, A.3.3;
//! JFIF 1.02).

use super::apps::Apps;
use super::block::{Block, ZIGZAG};
use super::cosine;
use super::frame::{Coefficients, Frame};
use super::tables::Tables;
use crate::Refused;
use crate::limits::Size;
use crate::shrink::{Channels, Shrink};

/// Takes rows of blocks and makes pixels of them, scaled down. If the result is at most half as wide and high, only a
/// quarter of the samples of each block are worked out, of its coarse coefficients: the fine ones would be lost anyway.
pub(super) struct Samples {
    planes: Vec<Plane>,
    /// The size in samples: that of the picture, or half of it.
    size: Size,
    /// The samples of a block, across and down.
    side: u32,
    /// The rows of samples in a row of units.
    rows: u32,
    is_rgb: bool,
    shrink: Shrink,
    pixels: Vec<u8>,
    row: Vec<u8>,
}

struct Plane {
    across: u32,
    down: u32,
    /// Its number of samples side by side.
    stride: usize,
    /// In the order of rows.
    factors: [i32; 64],
    samples: Vec<u8>,
    /// One row of it, as wide as the picture.
    line: Vec<u8>,
}

impl Samples {
    pub(super) fn new(frame: &Frame, to: Size, apps: &Apps) -> Self {
        let (wide, _) = frame.units();
        let side = if to.width * 2 <= frame.size.width && to.height * 2 <= frame.size.height { 4 } else { 8 };
        let halved = |length: u32| (length * side).div_ceil(8);
        let samples = Size { width: halved(frame.size.width), height: halved(frame.size.height) };
        let plane = |component: &super::frame::Component| {
            let stride = (side * wide * component.across) as usize;
            Plane {
                across: component.across,
                down: component.down,
                stride,
                factors: [0; 64],
                samples: vec![0; stride * (side * component.down) as usize],
                line: vec![0; samples.width as usize],
            }
        };
        let channels = if frame.components.len() == 1 { Channels::Gray } else { Channels::Rgb };
        let ids: Vec<u8> = frame.components.iter().map(|component| component.id).collect();
        Self {
            planes: frame.components.iter().map(plane).collect(),
            size: samples,
            side,
            rows: side * frame.down,
            is_rgb: !apps.is_jfif && apps.adobe.map_or(ids == *b"RGB", |colors| colors == 0),
            shrink: Shrink::new(samples, to, channels),
            pixels: Vec::with_capacity(to.pixels() as usize * channels.count()),
            row: vec![0; samples.width as usize * channels.count()],
        }
    }

    /// Takes the factors of a component: those that hold at its first scan.
    pub(super) fn set_factors(&mut self, frame: &Frame, component: usize, tables: &Tables) {
        let number = frame.components.get(component).map(|component| component.quantization);
        let table = number.and_then(|number| tables.quantization(number));
        if let (Some(plane), Some(table)) = (self.planes.get_mut(component), table) {
            for (value, place) in table.values.iter().zip(ZIGZAG) {
                if let Some(factor) = plane.factors.get_mut(usize::from(place)) {
                    *factor = i32::from(*value);
                }
            }
        }
    }

    /// Takes a row of units.
    pub(super) fn row_of_units(&mut self, y: u32, coefficients: &Coefficients) -> Result<(), Refused> {
        for (component, plane) in self.planes.iter_mut().enumerate() {
            for below in 0..plane.down {
                let blocks = coefficients.row(component, y * plane.down + below);
                let start = (below * self.side) as usize * plane.stride;
                if self.side == 8 {
                    plane.fill::<8, 64>(start, blocks, cosine::samples_of);
                } else {
                    plane.fill::<4, 16>(start, blocks, cosine::quarter_of);
                }
            }
        }
        let left = self.size.height.saturating_sub(y * self.rows);
        for line in 0..self.rows.min(left) {
            self.line(line)?;
        }
        Ok(())
    }

    fn line(&mut self, y: u32) -> Result<(), Refused> {
        let (most_across, most_down) = self.most();
        for plane in &mut self.planes {
            let at = (y * plane.down / most_down) as usize * plane.stride;
            let samples = plane.samples.get(at..at + plane.stride).unwrap_or_default();
            widen(samples, plane.across, most_across, &mut plane.line);
        }
        match self.planes.as_slice() {
            [gray] => self.row.copy_from_slice(&gray.line),
            [a, b, c] => {
                let triples = a.line.iter().zip(&b.line).zip(&c.line);
                let (row, _) = self.row.as_chunks_mut::<3>();
                for (pixel, ((a, b), c)) in row.iter_mut().zip(triples) {
                    *pixel = if self.is_rgb { [*a, *b, *c] } else { rgb(*a, *b, *c) };
                }
            }
            _ => {}
        }
        let pixels = &mut self.pixels;
        self.shrink.push(&self.row, &mut |row: &[u8]| {
            pixels.extend_from_slice(row);
            Ok(())
        })
    }

    fn most(&self) -> (u32, u32) {
        let across = self.planes.iter().map(|plane| plane.across).max().unwrap_or(1);
        (across, self.rows / self.side)
    }

    /// All pixels.
    pub(super) fn finish(self) -> Vec<u8> {
        self.pixels
    }
}

impl Plane {
    /// Puts the samples of blocks side by side, `N` across and down of each.
    fn fill<const N: usize, const ALL: usize>(
        &mut self,
        start: usize,
        blocks: &[Block],
        samples_of: impl Fn(&Block, &[i32; 64]) -> [u8; ALL],
    ) {
        for (x, block) in blocks.iter().enumerate() {
            let samples = samples_of(block, &self.factors);
            for (line, of_block) in samples.as_chunks::<N>().0.iter().enumerate() {
                let at = start + line * self.stride + x * N;
                if let Some(place) = self.samples.get_mut(at..at + N) {
                    place.copy_from_slice(of_block);
                }
            }
        }
    }
}

/// Repeats the samples of a component that has fewer of them than the picture has pixels.
fn widen(samples: &[u8], across: u32, most: u32, line: &mut [u8]) {
    if across == most {
        for (to, from) in line.iter_mut().zip(samples) {
            *to = *from;
        }
    } else if across * 2 == most {
        for (to, from) in line.chunks_mut(2).zip(samples) {
            to.fill(*from);
        }
    } else {
        for (to, x) in line.iter_mut().zip(0_u32..) {
            *to = samples.get((x * across / most) as usize).copied().unwrap_or_default();
        }
    }
}

/// From brightness and two colours (JFIF 1.02), in units of 1/65536.
#[inline]
fn rgb(y: u8, cb: u8, cr: u8) -> [u8; 3] {
    let y = (i32::from(y) << 16) + (1 << 15);
    let (cb, cr) = (i32::from(cb) - 128, i32::from(cr) - 128);
    let red = y + 91_881 * cr;
    let green = y - 22_554 * cb - 46_802 * cr;
    let blue = y + 116_130 * cb;
    [red, green, blue].map(|value| (value >> 16).clamp(0, 255) as u8)
}
