//! Pixels of any kind of PNG as bytes of 8 bits.

use super::header::{Color, Header};
use crate::Refused;
use crate::shrink::Channels;

/// Makes rows of 8 bits.
pub(super) struct Expand {
    header: Header,
    pub(super) channels: Channels,
    palette: Vec<[u8; 4]>,
    /// The samples that are transparent, of 16 bits each.
    key: Vec<u8>,
    row: Vec<u8>,
}

impl Expand {
    /// `palette` and `transparency` are the contents of `PLTE` and `tRNS`, which were checked.
    pub(super) fn new(header: &Header, palette: &[u8], transparency: Option<&[u8]>) -> Self {
        let alphas = transparency.unwrap_or_default().iter().copied().chain(std::iter::repeat(255));
        let entries = palette.as_chunks::<3>().0.iter().zip(alphas);
        Self {
            header: *header,
            channels: header.channels(transparency.is_some()),
            palette: entries.map(|([red, green, blue], alpha)| [*red, *green, *blue, alpha]).collect(),
            key: transparency.unwrap_or_default().to_vec(),
            row: Vec::new(),
        }
    }

    /// A row as it is scaled.
    pub(super) fn row<'a>(&'a mut self, row: &'a [u8]) -> Result<&'a [u8], Refused> {
        let has_key = self.header.color != Color::Palette && !self.key.is_empty();
        if self.header.depth == 8 && self.header.color != Color::Palette && !has_key {
            return Ok(row);
        }
        self.row.clear();
        match self.header.color {
            Color::Palette => self.push_colors(row)?,
            Color::Gray if self.header.depth < 8 => self.push_few_bits(row),
            _ => self.push_samples(row),
        }
        Ok(&self.row)
    }

    fn push_colors(&mut self, row: &[u8]) -> Result<(), Refused> {
        let count = self.channels.count();
        for index in samples(row, self.header.depth, self.header.size.width) {
            let color = self.palette.get(usize::from(index));
            let color =
                color.ok_or(Refused::Damaged("a pixel of it has a colour that is not in its palette"))?;
            self.row.extend_from_slice(color.get(..count).unwrap_or_default());
        }
        Ok(())
    }

    fn push_few_bits(&mut self, row: &[u8]) {
        let largest = (1_u16 << self.header.depth) - 1;
        let transparent = self.key.get(1).copied();
        for sample in samples(row, self.header.depth, self.header.size.width) {
            self.row.push((u16::from(sample) * 255 / largest) as u8);
            if let Some(transparent) = transparent {
                self.row.push(if sample == transparent { 0 } else { 255 });
            }
        }
    }

    /// Samples of 8 or 16 bits; of the latter, the upper 8 are taken.
    fn push_samples(&mut self, row: &[u8]) {
        let bytes = usize::from(self.header.depth / 8);
        for pixel in row.chunks_exact(self.header.step()) {
            self.row.extend(pixel.iter().step_by(bytes));
            if !self.key.is_empty() {
                let is_key = if bytes == 2 {
                    pixel == self.key
                } else {
                    pixel.iter().eq(self.key.iter().skip(1).step_by(2))
                };
                self.row.push(if is_key { 0 } else { 255 });
            }
        }
    }
}

/// The samples of a row that are not longer than a byte, from the highest bits on.
fn samples(row: &[u8], depth: u8, width: u32) -> impl Iterator<Item = u8> {
    let in_byte = 8 / depth;
    let mask = (1_u16 << depth) as u8;
    let mask = mask.wrapping_sub(1);
    row.iter()
        .flat_map(move |byte| (1..=in_byte).map(move |number| (byte >> (8 - number * depth)) & mask))
        .take(width as usize)
}
