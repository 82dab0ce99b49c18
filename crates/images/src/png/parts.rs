//! What a PNG says of itself besides its pixels, and is kept: colours only, each checked (11.3.2).

use std::io::Read;

use flate2::read::ZlibDecoder;

use super::header::{Color, Header};
use super::writer;
use crate::Refused;
use crate::icc::{self, Space};

/// The greatest primary or white point, in units of 1/100,000: 1 is the greatest that means a colour.
const MAX_CHROMATICITY: u32 = 200_000;

/// The greatest gamma, in units of 1/100,000.
const MAX_GAMMA: u32 = 1_000_000;

/// Bytes before a profile in its chunk: a name of at most 79 letters, its end, and how it is packed.
const MAX_NAME: usize = 81;

/// The parts that are kept.
#[derive(Default)]
pub(super) struct Parts {
    /// Whole chunks, in the order in which they came.
    colors: Vec<u8>,
    seen: Vec<[u8; 4]>,
    pub(super) palette: Vec<u8>,
    pub(super) transparency: Option<Vec<u8>>,
}

const BAD_PALETTE: Refused = Refused::Damaged("its palette is not valid");

impl Parts {
    /// Takes what is needed of a chunk before the pixels.
    pub(super) fn read(&mut self, name: [u8; 4], content: &[u8], header: &Header) -> Result<(), Refused> {
        match &name {
            b"PLTE" => self.palette(content, header),
            b"tRNS" => self.transparency(content, header),
            b"cICP" | b"cHRM" | b"gAMA" | b"sRGB" | b"iCCP" => {
                if self.palette.is_empty() && !self.seen.contains(&name) {
                    self.seen.push(name);
                    self.color(name, content, header);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn palette(&mut self, content: &[u8], header: &Header) -> Result<(), Refused> {
        match header.color {
            // a palette that is but a suggestion
            Color::Rgb | Color::Rgba => return Ok(()),
            Color::Gray | Color::GrayAlpha => return Err(BAD_PALETTE),
            Color::Palette => {}
        }
        let most = 3 << header.depth;
        if !self.palette.is_empty()
            || content.is_empty()
            || content.len() > most
            || !content.len().is_multiple_of(3)
        {
            return Err(BAD_PALETTE);
        }
        self.palette = content.to_vec();
        Ok(())
    }

    fn transparency(&mut self, content: &[u8], header: &Header) -> Result<(), Refused> {
        let is_valid = match header.color {
            Color::Gray => content.len() == 2,
            Color::Rgb => content.len() == 6,
            Color::Palette => !content.is_empty() && content.len() <= self.palette.len() / 3,
            Color::GrayAlpha | Color::Rgba => false,
        };
        if !is_valid || self.transparency.is_some() {
            return Err(Refused::Damaged("its transparent colours are not valid"));
        }
        self.transparency = Some(content.to_vec());
        Ok(())
    }

    fn color(&mut self, name: [u8; 4], content: &[u8], header: &Header) {
        let numbers = |length: usize, most: u32| {
            content.len() == length
                && content.as_chunks::<4>().0.iter().all(|number| u32::from_be_bytes(*number) <= most)
        };
        let is_valid = match &name {
            b"cHRM" => numbers(32, MAX_CHROMATICITY),
            b"gAMA" => numbers(4, MAX_GAMMA),
            b"sRGB" => content.len() == 1 && content.first().is_some_and(|intent| *intent <= 3),
            b"cICP" => content.len() == 4,
            _ => return self.profile(content, header),
        };
        if is_valid {
            writer::chunk(&mut self.colors, name, &[content]);
        }
    }

    fn profile(&mut self, content: &[u8], header: &Header) {
        let end = content.iter().take(MAX_NAME).position(|byte| *byte == 0);
        let packed = end.and_then(|end| content.get(end + 2..));
        let Some(packed) = packed else { return };
        let mut profile = Vec::new();
        // one byte more than a profile has is enough to know that it is too long
        let most = icc::MAX_PROFILE as u64 + 1;
        if ZlibDecoder::new(packed).take(most).read_to_end(&mut profile).is_err() {
            return;
        }
        let space = if header.color.is_gray() { Space::Gray } else { Space::Rgb };
        if let Some(kept) = icc::rebuilt(&profile, space) {
            writer::chunk(&mut self.colors, *b"iCCP", &[b"ICC\0\0", &writer::packed(&kept)]);
        }
    }

    /// Writes what says what the colours are.
    pub(super) fn write_colors(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.colors);
    }

    /// Writes the colours that pixels name.
    pub(super) fn write_palette(&self, out: &mut Vec<u8>) {
        if !self.palette.is_empty() {
            writer::chunk(out, *b"PLTE", &[&self.palette]);
        }
        if let Some(transparency) = &self.transparency {
            writer::chunk(out, *b"tRNS", &[transparency]);
        }
    }
}
